//! The fleet, and what the conformance suite counts.

use super::{Measurement, Row, Target};
use crate::program::{Program, Size};

pub(super) fn all() -> Vec<Measurement> {
    let mut all = vec![fleet()];
    for (backend, features, test) in [
        ("memory", "", "conformance_memory"),
        ("redis", "redis", "conformance_redis"),
        ("fred", "fred", "conformance_fred"),
        ("nats", "nats", "conformance_nats"),
    ] {
        let row = |name: &str| {
            Row::new(
                format!("conformance.{backend}.{name}"),
                "behaviours",
                format!("/{name}"),
            )
        };
        all.push(Measurement {
            program: Program::Conformance { features, test },
            how: "the lines that the conformance suite prints, over all runs of the test",
            rows: vec![
                row("ok").target(Target::AtLeast(1.0)),
                row("failed").target(Target::Exactly(0.0)),
                row("not_applicable"),
            ],
        });
    }
    all
}

fn fleet() -> Measurement {
    Measurement {
        program: Program::Tool(
            "fleet",
            Size {
                quick: "--clients 1000 --accept-rate 100".to_owned(),
                ..Size::default()
            },
        ),
        how: "ten thousand clients of three brokers and an outage of ten seconds, in virtual time",
        rows: vec![
            Row::new(
                "fleet.peak_dials",
                "thousand a second",
                "/ours/peak_dials_per_s",
            )
            .scaled(1e3)
            .said("in virtual time: {} thousand dials a second at the peak"),
            Row::new(
                "fleet.peak_dials_of_loops",
                "million a second",
                "/naive/peak_dials_per_s",
            )
            .scaled(1e6)
            .said("retry every 0-21 ms make {} million"),
            Row::new("fleet.back", "s", "/ours/back_s/p99")
                .said("are back {} s after the brokers, where a perfect queue takes # s"),
            Row::new("fleet.back_of_a_perfect_queue", "s", "/ideal_back_s/p99")
                .said("are back # s after the brokers, where a perfect queue takes {} s"),
        ],
    }
}
