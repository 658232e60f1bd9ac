//! Two redis-servers, whoever speaks to them: how they start, what can be done to them, and what they kept.
//!
//! They write every command to their file before they answer it. So a SIGKILL loses nothing that was acknowledged, and what
//! is missing in the end was lost by somebody else.

use std::sync::Arc;
use std::time::{Duration, Instant};

use failover_testkit::server::{RedisBuilder, RedisServer};
use redis::aio::MultiplexedConnection;
use tokio::sync::Mutex;

use super::{Applied, Harm, blocking, calls};
use crate::kinds::FaultKind as K;

/// How long a server may take to answer again.
const ANSWERS: Duration = Duration::from_secs(20);
const LOOK: Duration = Duration::from_millis(500);
const POLL: Duration = Duration::from_millis(5);
/// How many keys are read at once.
const BATCH: usize = 100;

/// What a run's group is over. `weights` says which configuration it is.
pub(super) fn config(members: &[&str], ports: &[u16], variant: u64) -> String {
    // Each number another mixture: weights the other way round, checks more often, operations with less time. The last
    // makes every member connect anew.
    let (swapped, often, shorter) = (variant & 1 == 1, variant == 2, variant == 3);
    let mut toml = String::from("[group]\nname = \"chaos\"\n");
    toml.push_str("[group.failback]\ngrace = \"5s\"\nstable = \"2s\"\njitter = \"1s\"\n");
    toml.push_str("[group.reconnect]\ninitial = \"50ms\"\nmax = \"500ms\"\n");
    if often {
        toml.push_str("[group.health]\ninterval = \"700ms\"\n");
    }
    if shorter {
        toml.push_str("[group.timeouts]\noperation = \"450ms\"\n");
    }
    for (place, (name, port)) in members.iter().zip(ports).enumerate() {
        let heavy = (place == 0) != swapped;
        let weight = if heavy { "1.0" } else { "0.5" };
        toml.push_str(&format!(
            "\n[[member]]\nname = \"{name}\"\nweight = {weight}\nurl = \"redis://127.0.0.1:{port}\"\n"
        ));
    }
    toml
}

/// The two servers.
pub(super) struct Servers {
    pub(super) servers: [Arc<RedisServer>; 2],
    /// A connection for each server that was made before its number of clients was limited.
    held: [Mutex<Option<MultiplexedConnection>>; 2],
}

fn builder() -> RedisBuilder {
    RedisServer::builder()
        .config("appendonly", "yes")
        // Written before the answer, and by nobody else: with `everysec` a write may wait for two seconds.
        .config("appendfsync", "no")
        .config("auto-aof-rewrite-percentage", "0")
        .config("hash-max-listpack-entries", &calls::FIELDS.to_string())
}

impl Servers {
    pub(super) fn start() -> Result<Self, String> {
        let start = || {
            let server = builder().try_start();
            server.map(Arc::new).map_err(|error| error.to_string())
        };
        Ok(Self {
            servers: [start()?, start()?],
            held: [Mutex::new(None), Mutex::new(None)],
        })
    }

    /// The keys whose values are known.
    pub(super) async fn fill(&self, member: usize) -> Result<(), String> {
        let server = self.servers[member].clone();
        blocking(move || {
            let mut words = vec!["MSET".to_owned()];
            for (key, value) in (0..calls::KNOWN).map(calls::known) {
                words.extend([key, value]);
            }
            let words: Vec<_> = words.iter().map(String::as_str).collect();
            server.cli(&words);
        })
        .await
    }

    pub(super) async fn begin(&self, harm: Harm) -> Result<(), String> {
        let server = self.servers[harm.member].clone();
        match harm.kind {
            K::Kill => blocking(move || server.kill()).await,
            K::Freeze => blocking(move || server.freeze()).await,
            K::ClientKill => {
                self.cli(harm.member, &["CLIENT", "KILL", "TYPE", "normal"])
                    .await
            }
            K::PauseWrite => {
                let millis = harm.lasts.as_millis().to_string();
                self.cli(harm.member, &["CLIENT", "PAUSE", &millis, "WRITE"])
                    .await
            }
            K::Limits if harm.twist.is_multiple_of(2) => {
                self.cli(harm.member, &["CONFIG", "SET", "maxmemory", "1"])
                    .await
            }
            K::Limits => {
                let connection = self.connection(harm.member).await?;
                let mut held = self.held[harm.member].lock().await;
                let held = held.insert(connection);
                told(held, &["CONFIG", "SET", "maxclients", "1"]).await?;
                // Who is connected stays so, and would not notice.
                told(held, &["CLIENT", "KILL", "TYPE", "normal"]).await
            }
            other => Err(format!("{other:?} is not done to a redis-server")),
        }
    }

    pub(super) async fn heal(&self, harm: Harm) -> Result<(), String> {
        let server = self.servers[harm.member].clone();
        match harm.kind {
            K::Kill => blocking(move || server.restart()).await?,
            K::Freeze => blocking(move || server.thaw()).await?,
            K::PauseWrite => self.cli(harm.member, &["CLIENT", "UNPAUSE"]).await?,
            K::Limits if harm.twist.is_multiple_of(2) => {
                self.cli(harm.member, &["CONFIG", "SET", "maxmemory", "0"])
                    .await?;
            }
            K::Limits => {
                if let Some(mut held) = self.held[harm.member].lock().await.take() {
                    told(&mut held, &["CONFIG", "SET", "maxclients", "10000"]).await?;
                }
            }
            _ => {}
        }
        self.answers(harm.member).await
    }

    /// Waits until a server answers.
    pub(super) async fn answers(&self, member: usize) -> Result<(), String> {
        let server = self.servers[member].clone();
        blocking(move || {
            let begun = Instant::now();
            while server.try_cli(&["PING"], LOOK).is_err() {
                assert!(begun.elapsed() < ANSWERS, "it does not answer again");
                std::thread::sleep(POLL);
            }
        })
        .await
    }

    pub(super) async fn cli(&self, member: usize, command: &[&str]) -> Result<(), String> {
        let server = self.servers[member].clone();
        let command: Vec<_> = command.iter().map(|word| (*word).to_owned()).collect();
        blocking(move || {
            let words: Vec<_> = command.iter().map(String::as_str).collect();
            server.cli(&words);
        })
        .await
    }

    /// A plain connection, past every proxy.
    pub(super) async fn connection(&self, member: usize) -> Result<MultiplexedConnection, String> {
        let client = redis::Client::open(self.servers[member].url());
        let settings = redis::AsyncConnectionConfig::new().set_response_timeout(Some(ANSWERS));
        let client = client.map_err(|error| error.to_string())?;
        let connection = client.get_multiplexed_async_connection_with_config(&settings);
        connection.await.map_err(|error| error.to_string())
    }

    /// Adds all writes that a server has.
    pub(super) async fn writes(&self, member: usize, applied: &mut Applied) -> Result<(), String> {
        let mut connection = self.connection(member).await?;
        let keys = redis::cmd("KEYS")
            .arg("w:*")
            .query_async(&mut connection)
            .await;
        let keys: Vec<String> = keys.map_err(|error| error.to_string())?;
        for keys in keys.chunks(BATCH) {
            let mut pipeline = redis::pipe();
            for key in keys {
                pipeline.hgetall(key);
            }
            let hashes = pipeline.query_async(&mut connection).await;
            let hashes: Vec<Vec<(u32, u32)>> = hashes.map_err(|error| error.to_string())?;
            for (key, fields) in keys.iter().zip(hashes) {
                for (field, count) in fields {
                    if let Some(id) = calls::operation(key, field) {
                        applied.add(id, count);
                    }
                }
            }
        }
        Ok(())
    }
}

async fn told(connection: &mut MultiplexedConnection, words: &[&str]) -> Result<(), String> {
    let mut command = redis::cmd(words[0]);
    for word in &words[1..] {
        command.arg(*word);
    }
    let answer = command.query_async::<()>(connection).await;
    answer.map_err(|error| format!("{words:?}: {error}"))
}
