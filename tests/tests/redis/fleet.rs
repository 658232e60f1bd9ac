//! Some servers and a group over them.

use std::time::{Duration, Instant};

use failover_core::api::{Backend, FromOptions};
use failover_core::redis::Redis;
use failover_core::status::Link;
use failover_core::{EventKind, Events, Failover, Reason, Status};
use failover_testkit::server::RedisServer;
use failover_testkit::wait_until;

/// The longest that anything here may take on a busy machine.
pub(crate) const BOUND: Duration = Duration::from_secs(10);

const PATIENT: &str = "[group.timeouts]\nprove = \"60s\"\noperation = \"60s\"\n";

/// For planned moves: what is promised of them holds within the times of the configuration, and no machine is too busy for
/// these.
pub(crate) const CALM: &str = "[group.timeouts]\nprove = \"60s\"\noperation = \"60s\"\nswitch_grace = \"60s\"\n\
                               [group.health]\ntimeout = \"60s\"\n";
/// Only what an operation meets on the first member is found out, and that quickly.
pub(crate) const FIRST_IS_QUICK: &str = "[group.health]\ninterval = \"600s\"\n[group.loss]\nredial = \"60s\"\n\
    [group.timeouts]\nprove = \"60s\"\noperation = \"60s\"\n\
    [[first]]\ntimeouts = { operation = \"100ms\", prove = \"100ms\" }";
/// A drain ends by itself.
pub(crate) const WINDOW: Duration = Duration::from_secs(60);

/// Members are called by their place: `m0` is the heaviest. What `more` has behind a line `[[first]]` belongs to the first
/// member alone: the others wait as long as a busy machine needs.
pub(crate) fn config(urls: &[String], more: &str) -> String {
    let (more, first) = more.split_once("[[first]]").unwrap_or((more, ""));
    // Where a test is about no time, none ends anything.
    let patient = if more.contains("[group.timeouts]") {
        ""
    } else {
        PATIENT
    };
    let mut text = format!("{more}\n{patient}");
    for (place, url) in urls.iter().enumerate() {
        let weight = 1.0 / (place + 1) as f64;
        text += &format!("[[member]]\nname = \"m{place}\"\nweight = {weight}\nurl = \"{url}\"\n");
        if place == 0 {
            text += &format!("{first}\n");
        }
    }
    text
}

pub(crate) struct Fleet<B: Backend = Redis> {
    pub(crate) servers: Vec<RedisServer>,
    pub(crate) group: Failover<B>,
    pub(crate) client: B::Client,
    pub(crate) events: Events,
}

impl Fleet {
    /// `more` is what the configuration says beside the members.
    pub(crate) async fn over(servers: Vec<RedisServer>, more: &str) -> Self {
        Self::through(servers, more).await
    }

    /// The same, once every other member stands by.
    pub(crate) async fn whole(count: usize, more: &str) -> Self {
        Self::whole_through(count, more).await
    }
}

impl<B: Backend + FromOptions> Fleet<B> {
    /// Through whichever driver.
    pub(crate) async fn through(servers: Vec<RedisServer>, more: &str) -> Self {
        let urls: Vec<_> = servers.iter().map(RedisServer::url).collect();
        let group = Failover::<B>::open_toml(&config(&urls, more))
            .await
            .unwrap();
        let (client, events) = (group.client(), group.events());
        Self {
            servers,
            group,
            client,
            events,
        }
    }

    pub(crate) async fn whole_through(count: usize, more: &str) -> Self {
        let servers = (0..count).map(|_| RedisServer::start()).collect();
        let fleet = Self::through(servers, more).await;
        fleet.is_whole().await;
        fleet
    }

    pub(crate) async fn is_whole(&self) {
        let count = self.servers.len() - 1;
        self.until("every other member stands by", |status| {
            status.active.is_some() && status.standbys().count() == count
        })
        .await;
    }

    pub(crate) fn active(&self) -> Option<String> {
        let active = self.group.status().active;
        active.map(|name| name.as_str().to_owned())
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

    pub(crate) async fn is(&self, name: &str, link: Link) {
        self.until(&format!("{name} is {link:?}"), |status| {
            status
                .member(name)
                .is_some_and(|member| member.link == link)
        })
        .await;
    }

    /// The next move: from, to and why.
    pub(crate) async fn moved(&mut self) -> (Option<String>, String, Reason) {
        self.moved_and_stalled().await.0
    }

    /// The same, and whether the group said before that this process stood still. What timed out meanwhile says nothing
    /// about a member, so the engine asks again; whoever waits for its verdict may have had his time by then.
    pub(crate) async fn moved_and_stalled(&mut self) -> ((Option<String>, String, Reason), bool) {
        let name = |name: &failover_core::api::MemberName| name.as_str().to_owned();
        let mut stalled = false;
        loop {
            let event = tokio::time::timeout(BOUND, self.events.next());
            match event.await.expect("a move").expect("an open group").kind {
                EventKind::Switched {
                    from, to, reason, ..
                } => return ((from.as_ref().map(name), name(&to), reason), stalled),
                EventKind::Stalled => stalled = true,
                _ => {}
            }
        }
    }
}

/// How long something took, and what came of it.
pub(crate) async fn timed<T>(what: impl Future<Output = T>) -> (Duration, T) {
    let begun = Instant::now();
    let answer = what.await;
    (begun.elapsed(), answer)
}
