//! The drills over Redis, through either driver. What the README says holds for redis-rs.

use super::{Measurement, Row, Target};
use crate::program::{Program, Size};

const HOW: &str = "two real servers, a call every millisecond; from the fault to the first answer of the other member; the \
                   median of the rounds";

struct Drill {
    /// The name of its figures.
    name: &'static str,
    args: &'static str,
    rounds: u32,
    /// What the README says of the gap, and of the calls that fail.
    gap: Option<&'static str>,
    failed: Option<&'static str>,
}

const DRILLS: [Drill; 6] = [
    Drill {
        name: "kill",
        args: "kill",
        rounds: 15,
        gap: Some("| `kill` (SIGKILL) | {} ms | # |"),
        failed: Some("| `kill` (SIGKILL) | # ms | {} |"),
    },
    Drill {
        name: "freeze",
        args: "freeze",
        rounds: 5,
        gap: Some("| `freeze` (SIGSTOP) | {} ms | # |"),
        failed: Some("| `freeze` (SIGSTOP) | # ms | {} |"),
    },
    Drill {
        name: "freeze_tuned",
        args: "freeze --tuned",
        rounds: 7,
        gap: Some("| `freeze --tuned` | {} ms | # |"),
        failed: Some("| `freeze --tuned` | # ms | {} |"),
    },
    Drill {
        name: "switch",
        args: "switch",
        rounds: 15,
        gap: Some("| `switch` | {} ms | # |"),
        failed: Some("| `switch` | # ms | {} |"),
    },
    Drill {
        name: "drain",
        args: "drain",
        rounds: 15,
        gap: Some("| `drain` | {} ms | # |"),
        failed: Some("| `drain` | # ms | {} |"),
    },
    Drill {
        name: "readonly",
        args: "readonly",
        rounds: 7,
        gap: None,
        failed: None,
    },
];

pub(super) fn all() -> Vec<Measurement> {
    let drivers = [("redis", "redis"), ("fred", "redis_fred")];
    let each = drivers
        .into_iter()
        .flat_map(|driver| DRILLS.iter().map(move |drill| (driver, drill)));
    each.map(|((driver, backend), drill)| {
        let documented = driver == "redis";
        let row = |figure: &str, unit, at: &str| {
            Row::new(format!("{backend}.{}.{figure}", drill.name), unit, at)
        };
        let say = |row: Row, claim: Option<&'static str>| match claim.filter(|_| documented) {
            Some(claim) => row.said(claim),
            None => row,
        };
        let mut rows = vec![
            say(row("gap", "ms", "/gap_ms/p50"), drill.gap),
            row("gap_p99", "ms", "/gap_ms/p99"),
            say(
                row("failed", "calls", "/errors").target(Target::Exactly(0.0)),
                drill.failed,
            ),
        ];
        if drill.name == "kill" {
            let startup = row("startup", "ms", "/startup_ms");
            rows.push(say(
                startup,
                Some("A startup on two healthy local servers takes {} ms."),
            ));
        }
        Measurement {
            program: Program::Tool(
                "drill",
                Size {
                    always: format!("redis {} --driver {driver}", drill.args),
                    full: format!("--rounds {}", drill.rounds),
                    quick: "--rounds 1".to_owned(),
                },
            ),
            how: HOW,
            rows,
        }
    })
    .collect()
}
