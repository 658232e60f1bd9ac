//! From samples to figures, on made-up samples.

use crate::report::Report;
use crate::sample::{Idle, Order, Sample};
use crate::subject::Subject;

fn order(subject: Subject, parallel: bool) -> Order {
    Order {
        subject,
        groups: 10,
        parallel,
        idle_s: 1,
        urls: ["a".to_owned(), "b".to_owned()],
    }
}

fn sample(open_ms: f64, memory_kib: u64) -> Sample {
    Sample {
        open_ms,
        sockets: 20,
        idle: Some(Idle {
            memory_kib,
            threads: 3,
            cpu_percent: 1.5,
            commands_per_s: 40.0,
        }),
    }
}

#[test]
fn figures_are_medians_and_ratios_are_of_one_round() {
    let mut report = Report::new(10);
    for (ours, plain) in [(20.0, 10.0), (90.0, 30.0), (40.0, 10.0)] {
        report.add(&order(Subject::Groups, false), sample(ours, 1000));
        report.add(&order(Subject::Plain, false), sample(plain, 200));
        report.add(&order(Subject::Groups, true), sample(6.0, 1000));
        report.add(&order(Subject::Plain, true), sample(4.0, 200));
    }
    let json = report.json();
    assert_eq!(json["open_times_plain"], 3.0);
    assert_eq!(json["open_parallel_times_plain"], 1.5);
    assert_eq!(json["ours"]["open_ms"], 40.0);
    assert_eq!(json["above_plain_kib_per_group"], 80.0);
    assert_eq!(json["plain"]["sockets"], 20.0);
    assert!(report.text().contains("80.0 KiB a group above plain"));
}

#[test]
fn a_sample_is_ordered_in_words_that_this_program_understands() {
    let order = order(Subject::Plain, true);
    let args = order.args().into_iter().map(Into::into);
    let Ok(crate::args::Command::Sample(read)) = crate::args::parse(args) else {
        panic!("{:?} is not understood", order.args());
    };
    assert_eq!(format!("{read:?}"), format!("{order:?}"));
}
