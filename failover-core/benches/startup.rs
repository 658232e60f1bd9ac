//! How long a group of many members takes from its TOML text to its first active, and to the last standby.
//!
//! `cargo bench -p failover-core --bench startup`. It measures, and asserts nothing that depends on the machine; run as
//! a test (`--test`) it only shows that it works.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use failover_core::Failover;
use failover_core::config::{Known, Source, read};
use failover_core::memory::Memory;
use tokio::runtime::{Builder, Runtime};

fn configuration(members: usize) -> String {
    let mut text = String::from("[group]\nname = \"many\"\n");
    for number in 0..members {
        let weight = members - number;
        let _ = write!(
            text,
            "\n[[member]]\nname = \"member-{number}\"\nweight = {weight}.0\nat = \"server-{number}\"\n"
        );
    }
    text
}

struct Times {
    read: Duration,
    active: Duration,
    whole: Duration,
    close: Duration,
}

async fn once(members: usize) -> Times {
    let text = configuration(members);
    let began = Instant::now();
    read::<Memory>(Source::new("bench", &text), &|_| None, &Known::new()).expect("it is valid");
    let read = began.elapsed();

    let began = Instant::now();
    let group = Failover::<Memory>::open_toml(&text)
        .await
        .expect("it starts");
    let active = began.elapsed();
    while group.status().standbys().count() < members - 1 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let whole = began.elapsed();
    let began = Instant::now();
    group.close().await;
    Times {
        read,
        active,
        whole,
        close: began.elapsed(),
    }
}

fn runtimes() -> [(&'static str, Runtime); 2] {
    let one = Builder::new_current_thread().enable_all().build();
    let many = Builder::new_multi_thread().enable_all().build();
    [
        ("one thread", one.expect("a runtime")),
        ("all threads", many.expect("a runtime")),
    ]
}

fn main() {
    let test = std::env::args().any(|argument| argument == "--test");
    let sizes: &[usize] = if test {
        &[10]
    } else {
        &[10, 100, 1_000, 10_000]
    };
    println!(
        "{:>12} {:>8} {:>10} {:>12} {:>12} {:>10}",
        "runtime", "members", "read", "active", "all warm", "close"
    );
    for (name, runtime) in runtimes() {
        for &members in sizes {
            let times = runtime.block_on(once(members));
            println!(
                "{name:>12} {members:>8} {:>10.1?} {:>12.1?} {:>12.1?} {:>10.1?}",
                times.read, times.active, times.whole, times.close
            );
        }
    }
}
