//! A short run on real servers, and what it wrote down.

use std::time::Instant;

use failover_core::Failover;
use failover_core::redis::Redis;
use failover_testkit::server::RedisServer;
use redis::AsyncCommands;

use crate::args::{self, Args, Command};
use crate::log::{Answer, Clock, Logs};
use crate::record::{Kind, Outcome, Record};
use crate::{Failed, recorded, run};

fn args(line: &str) -> Args {
    match args::parse(line.split_whitespace().map(Into::into)) {
        Ok(Command::Run(args)) => args,
        _ => panic!("{line}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_seconds_of_kills_and_moves_give_a_plausible_record() {
    let begun = Instant::now();
    let record = recorded(&args("redis --minutes 0.17 --seed 3 --faults kill,move"))
        .await
        .unwrap();
    let Record {
        workers,
        faults,
        fit,
        length,
        ..
    } = &record;
    let operations: Vec<_> = workers.iter().flatten().collect();
    assert!(operations.len() > 3000, "{} operations", operations.len());
    let right = operations
        .iter()
        .filter(|op| op.outcome == Outcome::Right)
        .count();
    assert!(
        right * 10 > operations.len() * 8,
        "{right} of {}: {:#?}",
        operations.len(),
        record.errors
    );
    for kind in [
        Kind::Read,
        Kind::Write,
        Kind::Pipeline,
        Kind::Transaction,
        Kind::Script,
        Kind::Blocking,
    ] {
        assert!(operations.iter().any(|op| op.kind == kind), "{kind:?}");
    }
    // What is acknowledged is there, and a write is there at most once: on servers that are killed and keep everything.
    let mut checked = 0;
    for (worker, log) in workers.iter().enumerate() {
        for (number, op) in log.iter().enumerate() {
            let counts = matches!(
                op.kind,
                Kind::Write | Kind::Pipeline | Kind::Transaction | Kind::Script
            );
            if counts && op.outcome == Outcome::Right {
                assert_eq!(
                    record.applied[worker][number], 1,
                    "{worker} {number} {op:?}"
                );
                checked += 1;
            }
        }
    }
    assert!(checked > 1000, "{checked}");
    for kind in ["kill", "move"] {
        assert!(
            faults.iter().any(|fault| fault.kind == kind),
            "{kind}: {faults:?}"
        );
    }
    assert!(
        faults
            .iter()
            .all(|fault| fault.during.end <= *length + 5_000_000)
    );
    // A member that was killed was not fit meanwhile, and both were at the ends.
    for fault in faults.iter().filter(|fault| fault.member.is_some()) {
        let overlaps = fit.iter().filter(|fit| {
            Some(fit.member) == fault.member
                && fit.during.start < fault.during.end
                && fault.during.start < fit.during.end
        });
        assert_eq!(overlaps.count(), 0, "{fault:?}");
    }
    assert!(
        fit.iter().filter(|fit| fit.during.start == 0).count() == 2,
        "{fit:?}"
    );
    // The first active, and at least one move from a member that refused.
    assert!(record.moves.len() >= 2, "{:?}", record.moves);
    assert!(record.links.iter().any(|link| link.opened) && !record.dials.is_empty());
    assert!(record.samples.len() >= 9, "{:?}", record.samples);
    assert!(
        record
            .samples
            .iter()
            .all(|s| s.tasks > 60 && s.sockets > 1 && s.threads > 1 && s.kibibytes > 1000)
    );
    assert!(begun.elapsed().as_secs() < 60);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_report_for_programs_is_one_object() {
    let mut out = Vec::new();
    let line = "redis --minutes 0.1 --seed 2 --faults move --json";
    run(line.split_whitespace().map(Into::into), &mut out)
        .await
        .unwrap();
    let report: serde_json::Value = serde_json::from_slice(&out).expect("one JSON object");
    for field in ["faults", "operations", "violations", "moves", "seed"] {
        assert!(!report[field].is_null(), "{field}: {report:#}");
    }
    assert_eq!(report["seed"], 2);
    assert!(report["operations"].as_u64() > Some(1000), "{report:#}");
}

#[tokio::test]
async fn a_wrong_command_line_is_told_apart() {
    let line = ["redis", "--faults", "flood"].map(Into::into);
    match run(line.into_iter(), &mut Vec::new()).await {
        Err(Failed::Usage(problem)) => assert!(problem.contains("pause-write"), "{problem}"),
        other => panic!("{other:?}"),
    }
}

/// With and without the recorder in turns, one operation each: whatever else this machine does hits both alike.
#[tokio::test(flavor = "multi_thread")]
async fn the_recorder_slows_an_operation_by_less_than_a_twentieth() {
    const PAIRS: usize = 6000;
    let server = RedisServer::start();
    let toml = format!("[[member]]\nname = \"one\"\nurl = \"{}\"\n", server.url());
    let group = Failover::<Redis>::open_toml(&toml).await.unwrap();
    let mut client = group.client();
    let clock = Clock::start();
    let mut log = Logs::new(clock, 1).log(0, PAIRS);
    let mut took = [Vec::new(), Vec::new()];
    for number in 0..2 * PAIRS {
        let recorded = number % 2 == 1;
        let begun = Instant::now();
        if recorded {
            log.begin(Kind::Write);
        }
        let counted: i64 = client.hincr("key", number, 1).await.unwrap();
        assert_eq!(counted, 1);
        if recorded {
            log.end(Answer::Right);
        }
        took[usize::from(recorded)].push(begun.elapsed());
    }
    let [without, with] = took.map(|mut took| {
        took.sort_unstable();
        took[PAIRS / 2].as_secs_f64()
    });
    let ratio = with / without;
    assert!(
        ratio < 1.05,
        "{with} s recorded, {without} s not: {ratio:.3}"
    );
}
