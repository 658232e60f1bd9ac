//! The real engine over the backend: what the contract is for.
//!
//! A backend that keeps the contract passes here too; where one does not, these lines show what that costs an
//! application. Behaviours of the engine itself are not tried here: it has its own tests, in virtual time.

mod ending;
mod moving;
mod starting;

use std::time::Duration;

use failover_core::api::{Backend, Error};
use failover_core::config::{GroupConfig, NewMember};
use failover_core::status::Link;
use failover_core::{Failover, Status};

use super::suite::{Check, Must, Suite, failed, within};
use super::{Bounds, Harness};

pub(super) async fn run<H: Harness>(suite: &mut Suite<'_, H>) {
    starting::run(suite).await;
    moving::run(suite).await;
    ending::run(suite).await;
}

const HEAVY: &str = "heavy";
const LIGHT: &str = "light";

/// A group of two members. Nothing moves by itself that a behaviour did not cause: no failback, no jitter.
pub(super) struct Group<'h, H: Harness> {
    harness: &'h H,
    bounds: Bounds,
    heavy: H::Member,
    light: H::Member,
    failover: Failover<H::Backend>,
    client: <H::Backend as Backend>::Client,
}

impl<'h, H: Harness> Group<'h, H> {
    /// A group whose members are both well, and stand as they should.
    async fn open(harness: &'h H) -> Check<Self> {
        let (heavy, light) = (harness.start().await, harness.start().await);
        let group = Self::over(harness, heavy, light).await?;
        group.stands(HEAVY, Link::Active).await?;
        group.stands(LIGHT, Link::Standby).await?;
        Ok(group)
    }

    /// A group over members in whatever state they are.
    async fn over(harness: &'h H, heavy: H::Member, light: H::Member) -> Check<Self> {
        let bounds = harness.bounds();
        let config = GroupConfig::builder()
            .name("conformance")
            .rules(|rules| {
                rules.failback.enabled = false;
                rules.failback.jitter = Duration::ZERO;
                rules.unavailable_wait = bounds.failover;
                let member = &mut rules.member;
                member.timeouts.connect = bounds.connect;
                member.timeouts.prove = bounds.prove;
                member.timeouts.operation = bounds.operation;
                member.health.timeout = bounds.prove;
                member.health.interval = bounds.prove.max(Duration::from_millis(100));
                member.health.probes = 1;
                member.reconnect.initial = Duration::from_millis(20);
                member.reconnect.max = Duration::from_millis(200);
            })
            .member(NewMember::new(HEAVY, harness.settings(&heavy)).weight(1.0))
            .member(NewMember::new(LIGHT, harness.settings(&light)).weight(0.5))
            .build()
            .map_err(|error| failed(format_args!("the configuration: {error}")))?;
        let opening = Failover::builder().seed(1).open(harness.backend(), config);
        let failover = within(bounds.failover, "opening the group", opening)
            .await?
            .must("opening the group")?;
        Ok(Self {
            harness,
            bounds,
            heavy,
            light,
            client: failover.client(),
            failover,
        })
    }

    fn status(&self) -> Status {
        self.failover.status()
    }

    async fn operate(&self) -> Result<(), Error> {
        self.harness.operate(&self.client).await
    }

    /// Waits until a member's connection is what it should be.
    async fn stands(&self, name: &str, link: Link) -> Check {
        let look = || {
            let status = self.status();
            let now = status.member(name).map(|member| member.link);
            async move { now == Some(link) }
        };
        let what = format!("{name} is {link:?}");
        super::suite::until(self.bounds.failover, &what, look).await
    }

    /// Operates until it works, as an application that does not give up.
    async fn works_again(&self) -> Check {
        let mut last = None;
        let working = async {
            while let Err(error) = self.operate().await {
                last = Some(error);
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let bound = self.bounds.failover;
        match tokio::time::timeout(bound, working).await {
            Ok(()) => Ok(()),
            Err(_elapsed) => Err(failed(match last {
                Some(error) => format!("after {bound:?} operations still fail: {error}"),
                None => format!("an operation did not end within {bound:?}"),
            })),
        }
    }

    fn is_active(&self, name: &str) -> Check {
        match self.status().active {
            Some(active) if active == *name => Ok(()),
            Some(active) => Err(failed(format_args!("{active} is active instead of {name}"))),
            None => Err(failed("there is no active")),
        }
    }

    /// Ends the group; for behaviours that are about something else.
    async fn close(self) -> Check {
        within(self.bounds.failover, "closing", self.failover.close()).await
    }
}
