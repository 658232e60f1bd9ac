//! What the failover client costs: publishing and subscribing through it beside a plain client of async-nats, in turns on
//! one server and in one run, so that a busy machine is as busy for both.
//!
//! `cargo bench -p failover-testkit --features nats --bench nats`. A round publishes as fast as one server and one reader
//! take it, and ends when the reader has the last. The ratio is ours by theirs, the median over the rounds; a ratio above
//! one is noise or luck.

#[cfg(not(feature = "nats"))]
fn main() {
    eprintln!("nothing to measure: build with `--features nats`");
    std::process::exit(1);
}

#[cfg(feature = "nats")]
fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(bench::run());
}

#[cfg(feature = "nats")]
mod bench {
    use std::time::{Duration, Instant};

    use async_nats::Client;
    use bytes::Bytes;
    use failover_core::Failover;
    use failover_core::nats::{FailoverClient, Nats};
    use failover_testkit::server::NatsServer;
    use futures_util::StreamExt as _;

    const MESSAGES: usize = 60_000;
    const ROUNDS: usize = 121;
    const PATIENCE: Duration = Duration::from_secs(10);

    pub(super) async fn run() {
        let server = NatsServer::start();
        let (publisher, reader) = (plain(&server).await, plain(&server).await);
        let text = format!("[[member]]\nname = \"one\"\nurl = \"{}\"\n", server.url());
        // Two groups, as there are two plain clients.
        let ours = [
            Failover::<Nats>::open_toml(&text).await.unwrap(),
            Failover::<Nats>::open_toml(&text).await.unwrap(),
        ];
        let (our_publisher, our_reader) = (ours[0].client(), ours[1].client());
        println!("{MESSAGES} messages of 100 bytes a round, medians of {ROUNDS} rounds in turns");
        println!(
            "{:>6} {:>14} {:>14} {:>8}",
            "tasks", "plain msg/s", "ours msg/s", "ratio"
        );
        for tasks in [1, 8, 64] {
            let (mut theirs, mut mine, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
            for round in 0..ROUNDS {
                // Whoever comes second finds the machine as the first has left it.
                let (plain, failover);
                if round % 2 == 0 {
                    plain = plain_round(&publisher, &reader, tasks).await;
                    failover = our_round(&our_publisher, &our_reader, tasks).await;
                } else {
                    failover = our_round(&our_publisher, &our_reader, tasks).await;
                    plain = plain_round(&publisher, &reader, tasks).await;
                }
                theirs.push(plain);
                mine.push(failover);
                ratios.push(failover / plain);
            }
            println!(
                "{tasks:>6} {:>14.0} {:>14.0} {:>8.3}",
                median(&mut theirs),
                median(&mut mine),
                median(&mut ratios)
            );
        }
        for group in ours {
            group.close().await;
        }
    }

    async fn plain(server: &NatsServer) -> Client {
        async_nats::connect(server.url()).await.unwrap()
    }

    fn payload() -> Bytes {
        Bytes::from_static(&[7; 100])
    }

    async fn plain_round(publisher: &Client, reader: &Client, tasks: usize) -> f64 {
        let mut subscriber = reader.subscribe("load").await.unwrap();
        let _ = reader.request("nobody", Bytes::new()).await;
        let begun = Instant::now();
        for _ in 0..tasks {
            let publisher = publisher.clone();
            tokio::spawn(async move {
                for _ in 0..MESSAGES / tasks {
                    publisher.publish("load", payload()).await.unwrap();
                }
            });
        }
        for _ in 0..MESSAGES / tasks * tasks {
            tokio::time::timeout(PATIENCE, subscriber.next())
                .await
                .expect("they arrive")
                .unwrap();
        }
        rate(begun)
    }

    async fn our_round(publisher: &FailoverClient, reader: &FailoverClient, tasks: usize) -> f64 {
        let mut subscription = reader.subscribe("load").await.unwrap();
        let begun = Instant::now();
        for _ in 0..tasks {
            let publisher = publisher.clone();
            tokio::spawn(async move {
                for _ in 0..MESSAGES / tasks {
                    publisher.publish("load", payload()).await.unwrap();
                }
            });
        }
        for _ in 0..MESSAGES / tasks * tasks {
            tokio::time::timeout(PATIENCE, subscription.next())
                .await
                .expect("they arrive")
                .unwrap();
        }
        rate(begun)
    }

    fn rate(begun: Instant) -> f64 {
        MESSAGES as f64 / begun.elapsed().as_secs_f64()
    }

    fn median(values: &mut [f64]) -> f64 {
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    }
}
