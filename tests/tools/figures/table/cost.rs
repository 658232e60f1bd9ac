//! What the engine costs where nothing fails: an operation, a lease, an input of the machine, a group that nobody uses.

use super::{Measurement, Row, Target};
use crate::program::{Program, Size};

const TASKS: [u32; 4] = [1, 10, 64, 512];
const LOADS: [&str; 5] = [
    "get_100",
    "set_100",
    "get_10240",
    "set_10240",
    "pipeline_16",
];

fn size(always: &str, full: &str, quick: &str) -> Size {
    Size {
        always: always.to_owned(),
        full: full.to_owned(),
        quick: quick.to_owned(),
    }
}

pub(super) fn all() -> Vec<Measurement> {
    vec![throughput(), lease(), machine(), footprint()]
}

fn throughput() -> Measurement {
    let mut rows = Vec::new();
    for driver in ["redis", "fred"] {
        for tasks in TASKS {
            for load in LOADS {
                rows.push(
                    Row::new(
                        format!("throughput.{driver}.{load}.tasks_{tasks}"),
                        "of a raw client",
                        format!("/{driver}/{load}/{tasks}/ratio"),
                    )
                    .target(Target::AtLeast(0.95)),
                );
            }
        }
    }
    rows.push(
        Row::new(
            "throughput.least_cost",
            "% of a raw client",
            "/least_cost_percent",
        )
        .said("and {} to # % of the throughput of a raw connection"),
    );
    rows.push(
        Row::new(
            "throughput.most_cost",
            "% of a raw client",
            "/most_cost_percent",
        )
        .said("and # to {} % of the throughput of a raw connection"),
    );
    Measurement {
        program: Program::Bench {
            package: "failover-testkit",
            features: "redis,fred",
            bench: "throughput",
            size: size("", "--rounds 31 --slice 50", "--rounds 3 --slice 20"),
        },
        how: "a raw client and the group's to one real server, in turn; the median of the ratios round by round",
        rows,
    }
}

fn lease() -> Measurement {
    let mut rows = vec![
        Row::new("lease.time", "ns", "/1/1/lease_ns").said("An operation costs a lease, {} ns"),
    ];
    for (threads, target) in [(1, 0.7), (2, 0.35)] {
        for outstanding in [1, 64, 512] {
            rows.push(
                Row::new(
                    format!("lease.threads_{threads}.outstanding_{outstanding}"),
                    "of the obvious way",
                    format!("/{threads}/{outstanding}/ratio"),
                )
                .target(Target::AtMost(target)),
            );
        }
    }
    Measurement {
        program: Program::Bench {
            package: "failover-core",
            features: "",
            bench: "lease",
            size: size("", "", "--rounds 3"),
        },
        how: "the obvious way counts on the connection itself; in turn, the median of each",
        rows,
    }
}

fn machine() -> Measurement {
    let mut rows = Vec::new();
    for members in [3, 100, 1000] {
        for kind in ["routine", "decision"] {
            for (figure, name) in [("median", ""), ("p99", "_p99")] {
                rows.push(Row::new(
                    format!("machine.members_{members}.{kind}{name}"),
                    "us an input",
                    format!("/all/{members}/{kind}_{figure}_us"),
                ));
            }
        }
    }
    Measurement {
        program: Program::Bench {
            package: "failover-core",
            features: "",
            bench: "machine",
            size: size("--members 3,100,1000", "", ""),
        },
        how: "a group at rest, all members connected; one input after another",
        rows,
    }
}

fn footprint() -> Measurement {
    let row = |name: &str, unit, at: &str| Row::new(format!("footprint.{name}"), unit, at);
    let mut rows = vec![
        row(
            "memory_above_plain",
            "KiB a group",
            "/above_plain_kib_per_group",
        )
        .target(Target::AtMost(96.0)),
        row("idle_processor", "% of a core", "/ours/cpu_percent").target(Target::AtMost(20.0)),
        row("open", "times plain", "/open_times_plain").target(Target::AtMost(2.5)),
        row("open_at_once", "times plain", "/open_parallel_times_plain")
            .target(Target::AtMost(2.5)),
    ];
    for side in ["ours", "plain"] {
        for (name, unit, at) in [
            ("memory", "KiB a group", "memory_kib_per_group"),
            ("processor", "% of a core", "cpu_percent"),
            ("commands", "a second", "commands_per_s"),
            ("sockets", "", "sockets"),
            ("threads", "", "threads"),
            ("open_time", "ms", "open_ms"),
            ("open_at_once_time", "ms", "open_parallel_ms"),
        ] {
            rows.push(row(
                &format!("{side}.{name}"),
                unit,
                &format!("/{side}/{at}"),
            ));
        }
    }
    Measurement {
        program: Program::Tool(
            "footprint",
            size("", "--rounds 3 --idle 5", "--idle 3 --groups 300"),
        ),
        how: "a thousand groups of two Redis members in one process, beside two plain connection managers each",
        rows,
    }
}
