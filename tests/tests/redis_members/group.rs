//! A group over one member of several servers, and one plain server that stands by.

use std::time::Duration;

use failover_core::redis::{FailoverConnection, Redis};
use failover_core::status::Link;
use failover_core::{EventKind, Events, Failover, Status};
use failover_testkit::server::RedisServer;
use failover_testkit::wait_until;
use futures_util::FutureExt;
use redis::AsyncCommands;

/// The longest that anything here may take on a busy machine.
pub(crate) const BOUND: Duration = Duration::from_secs(20);

pub(crate) struct Group {
    pub(crate) group: Failover<Redis>,
    pub(crate) client: FailoverConnection,
    pub(crate) events: Events,
    /// `region`: where the group goes when its first member, `home`, cannot help itself.
    pub(crate) region: RedisServer,
}

impl Group {
    /// `home` is what the member's table says beside its name and weight, `more` what the configuration says besides.
    pub(crate) async fn over(home: &str, more: &str) -> Self {
        let region = RedisServer::start();
        // Where a test is about no time, none ends anything.
        let patient = if more.contains("[group.timeouts]") {
            ""
        } else {
            "[group.timeouts]\nprove = \"60s\"\noperation = \"60s\"\n"
        };
        let config = format!(
            "{more}\n{patient}[[member]]\nname = \"home\"\nweight = 1.0\n{home}\n\
             [[member]]\nname = \"region\"\nweight = 0.5\nurl = \"{}\"\n",
            region.url()
        );
        let group = Failover::<Redis>::open_toml(&config).await.unwrap();
        let this = Self {
            client: group.client(),
            events: group.events(),
            group,
            region,
        };
        this.until("home is active, region stands by", |status| {
            status.active.as_ref().is_some_and(|name| *name == "home")
                && status.member("region").unwrap().link == Link::Standby
        })
        .await;
        this
    }

    pub(crate) async fn until(&self, what: &str, condition: impl Fn(&Status) -> bool) {
        wait_until(BOUND, what, || condition(&self.group.status())).await;
    }

    pub(crate) async fn is_active(&self, name: &str) {
        self.until(&format!("{name} is active"), |status| {
            status.active.as_ref().is_some_and(|active| *active == name)
        })
        .await;
    }

    pub(crate) fn generation(&self) -> u64 {
        let status = self.group.status();
        status.member("home").unwrap().generation.unwrap().0
    }

    /// Writes until one is acknowledged again.
    pub(crate) async fn writes_again(&self, key: &str) {
        let mut client = self.client.clone();
        let deadline = tokio::time::Instant::now() + BOUND;
        while client.set::<_, _, ()>(key, "written").await.is_err() {
            assert!(
                tokio::time::Instant::now() < deadline,
                "writes do not work again"
            );
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Waits for the next notice with this word; the group must not have moved before.
    pub(crate) async fn hears(&mut self, word: &str) -> String {
        loop {
            let event = tokio::time::timeout(BOUND, self.events.next()).await;
            let event = event.unwrap_or_else(|_| panic!("a notice {word}"));
            if let Some(text) = of(event.expect("an open group").kind, word) {
                return text;
            }
        }
    }

    /// No event so far says that the group moved.
    pub(crate) fn stayed(&mut self) {
        self.heard("");
    }

    /// How many more of them there are by now.
    pub(crate) fn heard(&mut self, word: &str) -> usize {
        let more = std::iter::from_fn(|| self.events.next().now_or_never().flatten());
        more.filter_map(|event| of(event.kind, word)).count()
    }
}

fn of(kind: EventKind, word: &str) -> Option<String> {
    match kind {
        EventKind::Notice { what, text, .. } if what == word => Some(text),
        EventKind::Switched { to, .. } if to != "home" => panic!("the group moved to {to:?}"),
        _ => None,
    }
}
