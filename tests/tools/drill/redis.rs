//! Redis: two real redis-servers, and calls that tell which of them answered. The servers are the same for every driver,
//! and so is the configuration.
//!
//! The client does not say where a command ran, and ought not to: so each server holds its own number under a key, and a
//! counter that starts at its number times a large one. Both are saved, since a killed server comes back with what it had
//! saved, and traffic may reach it before anybody could fill it again.

use failover_core::Error;
use failover_core::redis::{FailoverConnection, Messages, Redis as Backend};
use failover_testkit::server::RedisServer;
use redis::AsyncCommands;

use crate::calls::Calls;
use crate::scenario::{Answers, Fault, Op, Service};

#[path = "fred.rs"]
pub(crate) mod fred;
#[path = "pubsub.rs"]
pub(crate) mod pubsub;

/// As the command line calls it.
pub(crate) const NAME: &str = "redis";

/// The heavier one comes first.
const MEMBERS: [&str; 2] = ["east", "west"];
const NUMBER: &str = "drill:number";
const COUNTER: &str = "drill:counter";
/// More than a drill counts.
const SPAN: usize = 1_000_000_000;

/// What `--tuned` adds: a member is given up when a call and then a proof had no answer within 50 ms each, and a redial
/// within 10 ms did not bring it back. Sensible between hosts of one region, where a connection takes a millisecond or
/// two; anything much shorter condemns members for a pause of a process or a retransmission.
const TUNED: &str = r#"
[group.timeouts]
connect = "500ms"
prove = "50ms"
operation = "50ms"

[group.health]
interval = "250ms"
timeout = "50ms"
probes = 2
probe_delay = "20ms"
policy = "any"

[group.loss]
redial = "10ms"

[group.reconnect]
initial = "10ms"
max = "1s"
"#;

/// The two servers, whoever speaks to them.
pub(crate) struct Servers([RedisServer; 2]);

impl Servers {
    fn start() -> Result<Self, String> {
        let start = |number: usize| {
            let server = RedisServer::builder().try_start();
            let server = server.map_err(|error| error.to_string())?;
            server.cli(&["SET", NUMBER, &number.to_string()]);
            server.cli(&["SET", COUNTER, &(number * SPAN).to_string()]);
            server.cli(&["SAVE"]);
            Ok::<_, String>(server)
        };
        Ok(Self([start(0)?, start(1)?]))
    }

    fn config(&self, tuned: bool) -> String {
        let mut toml = String::from("[group]\nname = \"drill\"\n");
        if tuned {
            toml.push_str(TUNED);
        }
        for ((name, server), weight) in MEMBERS.iter().zip(&self.0).zip(["1.0", "0.5"]) {
            let url = server.url();
            toml.push_str(&format!(
                "\n[[member]]\nname = \"{name}\"\nweight = {weight}\nurl = \"{url}\"\n"
            ));
        }
        toml
    }

    /// Beyond what the counters began with.
    fn writes(&self) -> usize {
        let counted = |(number, server): (usize, &RedisServer)| {
            let counter: usize = server.cli(&["GET", COUNTER]).parse().unwrap_or_default();
            counter.saturating_sub(number * SPAN)
        };
        self.0.iter().enumerate().map(counted).sum()
    }

    fn inflict(&self, fault: Fault, member: usize) {
        match fault {
            Fault::Kill => self.0[member].kill(),
            Fault::Freeze => self.0[member].freeze(),
            // Of nobody who is there: it keeps its data, and what was written to it can be counted afterwards.
            Fault::ReadOnly => {
                self.0[member].cli(&["REPLICAOF", "127.0.0.1", "1"]);
            }
            Fault::LameDuck => unreachable!("it announces nothing"),
        }
    }

    fn heal(&self, fault: Fault, member: usize) {
        match fault {
            Fault::Kill | Fault::LameDuck => self.0[member].restart(),
            Fault::Freeze => self.0[member].thaw(),
            Fault::ReadOnly => self.0[member].make_master(),
        }
    }
}

/// What is asked for where there is none: it names those of this build.
pub(crate) fn unknown_driver(name: &str) -> String {
    format!("there is no driver {name:?} for redis: there are redis and fred")
}

/// Redis through some driver: everything but the call.
macro_rules! through {
    ($driver:ident) => {
        const NAME: &'static str = $crate::redis::NAME;
        const REPLICATES: bool = true;

        fn start() -> Result<Self, String> {
            Servers::start().map($driver)
        }

        fn members(&self) -> &[&'static str] {
            &MEMBERS
        }

        fn config(&self, tuned: bool) -> String {
            self.0.config(tuned)
        }

        fn writes(&self) -> Option<usize> {
            Some(self.0.writes())
        }

        fn inflict(&self, fault: Fault, member: usize) {
            self.0.inflict(fault, member);
        }

        fn heal(&self, fault: Fault, member: usize) {
            self.0.heal(fault, member);
        }
    };
}
use through;

/// Through redis-rs.
pub(crate) struct Redis(Servers);

impl Service for Redis {
    type Backend = Backend;
    type Load = Calls;
    const DRIVER: Option<&'static str> = Some("redis");
    through!(Redis);
}

impl Answers for Redis {
    async fn call(mut client: FailoverConnection, op: Op) -> Result<usize, String> {
        let answer: Result<usize, _> = match op {
            Op::Get => client.get(NUMBER).await,
            Op::Incr => client
                .incr(COUNTER, 1)
                .await
                .map(|count: usize| count / SPAN),
        };
        answer.map_err(|error| match FailoverConnection::cause(&error) {
            Some(cause) => cause.to_string(),
            None => error.to_string(),
        })
    }
}

impl pubsub::Talks for Redis {
    async fn listen(client: &FailoverConnection) -> Result<Messages, Error> {
        client.subscribe([pubsub::CHANNEL]).await
    }

    async fn publish(mut client: FailoverConnection, text: String) -> Result<i64, String> {
        let answer = client.publish(pubsub::CHANNEL, text).await;
        answer.map_err(|error| error.to_string())
    }
}
