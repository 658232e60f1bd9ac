//! A cluster of three nats-servers with JetStream.
//!
//! - [`work`]: who publishes and who asks.
//! - [`listen`]: who hears it.
//!
//! What stays outside the group, such as the service that is asked, has plain clients that go past the proxies.

mod listen;
mod work;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use async_nats::jetstream::{self, consumer, stream};
use async_nats::{Client, ConnectOptions};
use failover_core::Failover;
use failover_core::nats::Nats as Backend;
use failover_testkit::server::{NatsCluster, NatsServer};
use futures_util::StreamExt;

use super::{Applied, Course, Harm, Load, Target, blocking};
use crate::kinds::FaultKind as K;
use crate::record::{Kind, Micros, Target as Name};

const STREAM: &str = "CHAOS";
const READER: &str = "reader";
const ECHO: &str = "chaos.echo";
/// A plain client comes back as soon as it can.
const AGAIN: Duration = Duration::from_millis(20);
/// A message that was on its way to a connection that ended comes again so much later: well within the quiet spell.
const ACK_WAIT: Duration = Duration::from_secs(2);
/// How long JetStream may take to be there, at the beginning and at the end.
const READY: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(100);
/// A node that answers again needs so long until its routes carry everything.
const JOINS: Duration = Duration::from_millis(1500);
/// The limits while they are small, and what they are otherwise.
const SMALL: u32 = 1024;
const USUAL: u32 = 1024 * 1024;
const MANY: u32 = 65_536;

/// See the [module](self).
pub(crate) struct Nats {
    cluster: NatsCluster,
    /// The clients of the service, which end with the target.
    services: Mutex<Vec<tokio::task::AbortHandle>>,
}

impl Target for Nats {
    type Backend = Backend;
    const NAME: Name = Name::Nats;
    const MEMBERS: &'static [&'static str] = &["n0", "n1", "n2"];
    const WORKERS: u16 = work::WORKERS;

    fn start() -> Result<Self, String> {
        let cluster = NatsServer::builder().jetstream().try_start_cluster(3);
        Ok(Self {
            cluster: cluster.map_err(|error| error.to_string())?,
            services: Mutex::default(),
        })
    }

    fn port(&self, member: usize) -> u16 {
        self.cluster[member].port()
    }

    fn config(&self, ports: &[u16], variant: u64) -> String {
        let mut toml = String::from("[group]\nname = \"chaos\"\n");
        toml.push_str("[group.failback]\ngrace = \"5s\"\nstable = \"2s\"\njitter = \"1s\"\n");
        toml.push_str("[group.reconnect]\ninitial = \"50ms\"\nmax = \"500ms\"\n");
        if variant == 2 {
            toml.push_str("[group.health]\ninterval = \"700ms\"\n");
        }
        if variant == 3 {
            toml.push_str("[group.timeouts]\noperation = \"450ms\"\n");
        }
        let weights = if variant == 1 {
            ["0.5", "0.25", "1.0"]
        } else {
            ["0.25", "1.0", "0.5"]
        };
        for ((name, weight), port) in Self::MEMBERS.iter().zip(weights).zip(ports) {
            toml.push_str(&format!(
                "\n[[member]]\nname = \"{name}\"\nweight = {weight}\nurl = \"nats://127.0.0.1:{port}\"\n"
            ));
        }
        toml
    }

    async fn prepare(&self) -> Result<(), String> {
        let client = self.plain(0).await?;
        let jetstream = jetstream::new(client);
        let settings = stream::Config {
            name: STREAM.to_owned(),
            subjects: vec![work::STREAMED.to_owned()],
            num_replicas: 3,
            storage: stream::StorageType::File,
            ..stream::Config::default()
        };
        let begun = Instant::now();
        let stream = loop {
            match jetstream.create_stream(settings.clone()).await {
                Ok(stream) => break stream,
                Err(error) if begun.elapsed() > READY => {
                    return Err(format!("there is no stream: {error}"));
                }
                Err(_) => tokio::time::sleep(POLL).await,
            }
        };
        let reader = consumer::pull::Config {
            durable_name: Some(READER.to_owned()),
            ack_wait: ACK_WAIT,
            ..consumer::pull::Config::default()
        };
        let made = stream.create_consumer(reader).await;
        made.map_err(|error| format!("there is no consumer: {error}"))?;
        for member in 0..Self::MEMBERS.len() {
            let client = self.plain(member).await?;
            let asked = client.queue_subscribe(ECHO, "echo".to_owned()).await;
            let mut asked = asked.map_err(|error| format!("there is no service: {error}"))?;
            let service = tokio::spawn(async move {
                while let Some(question) = asked.next().await {
                    if let Some(reply) = question.reply {
                        let _ = client.publish(reply, question.payload).await;
                    }
                }
            });
            let mut services = self.services.lock().unwrap_or_else(PoisonError::into_inner);
            services.push(service.abort_handle());
        }
        Ok(())
    }

    async fn begin(self: &Arc<Self>, harm: Harm, _course: &Course) -> Result<(), String> {
        let this = Arc::clone(self);
        blocking(move || {
            let node = &this.cluster[harm.member];
            match harm.kind {
                K::Kill => node.kill(),
                K::Freeze => node.freeze(),
                K::LameDuck => node.lame_duck(),
                K::Limits if harm.twist.is_multiple_of(2) => {
                    node.reload_with(|settings| settings.max_payload(SMALL));
                }
                K::Limits => {
                    node.reload_with(|settings| settings.config("max_connections", "1"));
                }
                other => unreachable!("{other:?} is not done to a nats-server"),
            }
        })
        .await
    }

    async fn heal(self: &Arc<Self>, harm: Harm, _course: &Course) -> Result<(), String> {
        let this = Arc::clone(self);
        blocking(move || {
            let node = &this.cluster[harm.member];
            match harm.kind {
                K::Kill | K::LameDuck => node.restart(),
                K::Freeze => node.thaw(),
                K::Limits if harm.twist.is_multiple_of(2) => {
                    node.reload_with(|settings| settings.max_payload(USUAL));
                }
                K::Limits => {
                    let many = MANY.to_string();
                    node.reload_with(|settings| settings.config("max_connections", &many));
                }
                _ => {}
            }
        })
        .await
    }

    async fn afterwards(self: &Arc<Self>, harm: Harm, _course: &Course) -> Result<(), String> {
        if matches!(harm.kind, K::Kill | K::LameDuck) {
            tokio::time::sleep(JOINS).await;
        }
        Ok(())
    }

    async fn load(
        self: &Arc<Self>,
        group: &Failover<Backend>,
        course: &Course,
    ) -> Result<Load, String> {
        let client = group.client();
        let listeners = listen::start(&client, course).await?;
        let workers = work::start(&client, course);
        Ok(Load { workers, listeners })
    }

    async fn kept(self: &Arc<Self>, course: &Course) -> Result<Applied, String> {
        let this = Arc::clone(self);
        blocking(move || this.cluster.wait_formed()).await?;
        let mut applied = Applied::new(&course.logs);
        let jetstream = jetstream::new(self.plain(0).await?);
        let read = self.read(&jetstream, &mut applied);
        let read = tokio::time::timeout(READY, read).await;
        read.map_err(|_elapsed| format!("the stream was not read within {READY:?}"))??;
        Ok(applied)
    }

    fn patience() -> BTreeMap<Kind, Micros> {
        let patience = work::WITHIN + Duration::from_millis(500);
        BTreeMap::from([(Kind::StreamPublish, patience.as_micros() as Micros)])
    }
}

impl Nats {
    /// A plain client on one node, past its proxy.
    async fn plain(&self, member: usize) -> Result<Client, String> {
        let options = ConnectOptions::new()
            .ignore_discovered_servers()
            .reconnect_delay_callback(|_attempt| AGAIN);
        let client = options.connect(self.cluster[member].url()).await;
        client.map_err(|error| format!("a plain client cannot connect: {error}"))
    }

    /// All that the stream has.
    async fn read(
        &self,
        jetstream: &jetstream::Context,
        applied: &mut Applied,
    ) -> Result<(), String> {
        let mut stream = loop {
            match jetstream.get_stream(STREAM).await {
                Ok(stream) => break stream,
                Err(_) => tokio::time::sleep(POLL).await,
            }
        };
        let info = stream.info().await.map_err(|error| error.to_string())?;
        let mut left = info.state.messages;
        let all = consumer::pull::OrderedConfig::default();
        let all = stream.create_consumer(all).await;
        let all = all.map_err(|error| error.to_string())?.messages().await;
        let mut all = all.map_err(|error| error.to_string())?;
        while left > 0 {
            let message = all.next().await.ok_or("the stream ends early")?;
            let message = message.map_err(|error| error.to_string())?;
            if let Some(id) = work::operation(&message.payload) {
                applied.add(id, 1);
            }
            left -= 1;
        }
        Ok(())
    }
}

impl Drop for Nats {
    fn drop(&mut self) {
        let services = self.services.lock().unwrap_or_else(PoisonError::into_inner);
        for service in services.iter() {
            service.abort();
        }
    }
}
