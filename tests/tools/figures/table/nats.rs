//! The drills over NATS.

use super::{Measurement, Row, Target};
use crate::program::{Program, Size};

const HOW: &str = "a cluster of three real servers, 20,000 messages a second to one subscription; from the last message \
                   before to the first after; the median of the rounds";

const GAP: &str = "/gap_ms/p50";
const LOST: &str = "/lost";
const DOUBLED: &str = "/duplicated";

fn drill(args: &str, rounds: u32, rows: Vec<Row>) -> Measurement {
    Measurement {
        program: Program::Tool(
            "drill",
            Size {
                always: format!("nats {args}"),
                full: format!("--rounds {rounds}"),
                quick: "--rounds 1".to_owned(),
            },
        ),
        how: HOW,
        rows,
    }
}

pub(super) fn all() -> Vec<Measurement> {
    let none = |row: Row| row.target(Target::Exactly(0.0));
    let millis = |name: &str, at: &str| Row::new(name, "ms", at);
    let each_round = |name: &str, at: &str| Row::new(name, "messages a round", at).per("/rounds");
    vec![
        drill(
            "kill --delivery mirrored --dedupe header",
            15,
            vec![
                millis("nats.kill_mirrored.silence", GAP).said("| `kill`, mirrored | {} ms | # |"),
                none(Row::new("nats.kill_mirrored.lost", "messages", LOST))
                    .said("| `kill`, mirrored | # ms | {} |"),
                none(Row::new("nats.kill_mirrored.doubled", "messages", DOUBLED)),
            ],
        ),
        drill(
            "kill --delivery at-most-once",
            15,
            vec![
                millis("nats.kill_at_most_once.silence", GAP)
                    .said("| `kill`, at most once | {} ms |"),
                each_round("nats.kill_at_most_once.lost", LOST)
                    .said("| `kill`, at most once | # ms | {} a kill |")
                    .said("and the gap are lost (some {} messages)"),
                none(Row::new(
                    "nats.kill_at_most_once.doubled",
                    "messages",
                    DOUBLED,
                )),
            ],
        ),
        drill(
            "freeze",
            3,
            vec![millis("nats.freeze.silence", GAP).said("| `freeze` | {} ms | what")],
        ),
        drill(
            "freeze --tuned",
            7,
            vec![
                millis("nats.freeze_tuned.silence", GAP).said("| `freeze --tuned` | {} ms | what"),
            ],
        ),
        drill(
            "lame-duck --dedupe header",
            5,
            vec![
                millis("nats.lame_duck.silence", GAP)
                    .said("| `lame-duck` | {} ms, moved # ms after the notice | # |"),
                millis("nats.lame_duck.moved", "/switched_after_notice_ms")
                    .said("| `lame-duck` | # ms, moved {} ms after the notice | # |"),
                none(Row::new("nats.lame_duck.lost", "messages", LOST))
                    .said("| `lame-duck` | # ms, moved # ms after the notice | {} |"),
            ],
        ),
        drill(
            "switch --dedupe header",
            15,
            vec![
                millis("nats.switch.silence", GAP).said("| `switch`, `drain` | {} ms | # |"),
                none(Row::new("nats.switch.lost", "messages", LOST))
                    .said("| `switch`, `drain` | # ms | {} |"),
                none(Row::new("nats.switch.doubled", "messages", DOUBLED)),
            ],
        ),
        drill(
            "switch",
            5,
            vec![
                each_round("nats.switch_at_least_once.doubled", DOUBLED)
                    .said("what arrives on both is doubled (some {})"),
            ],
        ),
    ]
}
