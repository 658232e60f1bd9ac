//! scratch
fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(run());
}
use async_nats::Client;
use bytes::Bytes;
use failover_core::Failover;
use failover_core::nats::{FailoverClient, Nats};
use failover_testkit::server::NatsServer;
use futures_util::StreamExt as _;
use std::time::{Duration, Instant};
const N: usize = 20_000;
async fn group(url: &str, carry: &str) -> Failover<Nats> {
    Failover::<Nats>::open_toml(&format!(
        "[backend]\ncarry = \"{carry}\"\n[[member]]\nname = \"one\"\nurl = \"{url}\"\n"
    ))
    .await
    .unwrap()
}
enum P {
    Plain(Client),
    Ours(FailoverClient),
}
enum R {
    Plain(Client),
    Ours(FailoverClient),
}
async fn round(p: &P, r: &R, tasks: usize) -> f64 {
    let begun;
    macro_rules! publish {
        () => {
            for _ in 0..tasks {
                match p {
                    P::Plain(c) => {
                        let c = c.clone();
                        tokio::spawn(async move {
                            for _ in 0..N / tasks {
                                c.publish("load", Bytes::from_static(&[7; 100]))
                                    .await
                                    .unwrap();
                            }
                        });
                    }
                    P::Ours(c) => {
                        let c = c.clone();
                        tokio::spawn(async move {
                            for _ in 0..N / tasks {
                                c.publish("load", Bytes::from_static(&[7; 100]))
                                    .await
                                    .unwrap();
                            }
                        });
                    }
                }
            }
        };
    }
    match r {
        R::Plain(c) => {
            let mut s = c.subscribe("load").await.unwrap();
            let _ = c.request("nobody", Bytes::new()).await;
            begun = Instant::now();
            publish!();
            for _ in 0..N / tasks * tasks {
                tokio::time::timeout(Duration::from_secs(10), s.next())
                    .await
                    .unwrap()
                    .unwrap();
            }
        }
        R::Ours(c) => {
            let mut s = c.subscribe("load").await.unwrap();
            begun = Instant::now();
            publish!();
            for _ in 0..N / tasks * tasks {
                tokio::time::timeout(Duration::from_secs(10), s.next())
                    .await
                    .unwrap()
                    .unwrap();
            }
        }
    }
    N as f64 / begun.elapsed().as_secs_f64()
}
async fn run() {
    let server = NatsServer::start();
    let url = server.url();
    let (g1, g2, g3) = (
        group(&url, "unsent").await,
        group(&url, "none").await,
        group(&url, "unsent").await,
    );
    let plain = async || async_nats::connect(&url).await.unwrap();
    let own = |g: &Failover<Nats>| {
        let s = g.slot();
        async move { s.lease().await.unwrap().connection().client().clone() }
    };
    let cases: Vec<(&str, P, R)> = vec![
        (
            "plain plain",
            P::Plain(plain().await),
            R::Plain(plain().await),
        ),
        ("own pub", P::Plain(own(&g1).await), R::Plain(plain().await)),
        ("own sub", P::Plain(plain().await), R::Plain(own(&g3).await)),
        (
            "our pub none",
            P::Ours(g2.client()),
            R::Plain(plain().await),
        ),
        (
            "our pub unsent",
            P::Ours(g1.client()),
            R::Plain(plain().await),
        ),
        ("our sub", P::Plain(plain().await), R::Ours(g3.client())),
        ("ours", P::Ours(g1.client()), R::Ours(g3.client())),
    ];
    let only: Option<usize> = std::env::var("CASE").ok().and_then(|c| c.parse().ok());
    if let Some(i) = only {
        for _ in 0..4 {
            round(
                &cases[i].1,
                &cases[i].2,
                std::env::var("TASKS").unwrap().parse().unwrap(),
            )
            .await;
        }
        return;
    }
    for tasks in [1, 64] {
        let mut all = vec![Vec::new(); cases.len()];
        for _ in 0..25 {
            for (i, (_, p, r)) in cases.iter().enumerate() {
                all[i].push(round(p, r, tasks).await);
            }
        }
        let base = all[0].clone();
        for (i, (name, ..)) in cases.iter().enumerate() {
            let mut q: Vec<f64> = all[i].iter().zip(&base).map(|(a, b)| a / b).collect();
            q.sort_by(f64::total_cmp);
            println!("{tasks} {name}: {:.3}", q[q.len() / 2]);
        }
    }
}
