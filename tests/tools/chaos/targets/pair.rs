//! Two redis-servers of which one replicates the other, through redis-rs, and an operator from outside who decides which.
//!
//! `demote` turns the roles round: in good order, so that nothing is lost, or at once, so that what was not yet replicated
//! is. A server that was killed comes back as a primary with what it had kept, as its own file says; the operator makes it
//! a replica before it can be reached, or a while after. A primary that is replaced while it stands still goes on as one
//! when it is thawed, until the operator has seen it.
//!
//! Who followed whom is written down as turns. They tell what replication lost, and what was lost because the traffic
//! had moved to old data.

use std::ops::Range;
use std::sync::{Arc, Mutex as Lock, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use failover_core::Failover;
use failover_core::redis::Redis as Backend;
use tokio::sync::Mutex;

use super::calls;
use super::servers::{self, Servers};
use super::{Applied, Course, Harm, Load, Target, blocking};
use crate::kinds::FaultKind as K;
use crate::record::{History, Member, Micros, Target as Name, Turn};

/// A careless operator sees an old primary so much later.
const CARELESS: Duration = Duration::from_millis(1500);
/// How long a promotion in good order waits for the replica, with writes paused.
const IN_ORDER: Duration = Duration::from_secs(2);
const POLL: Duration = Duration::from_millis(2);

/// See the [module](self).
pub(crate) struct Pair {
    servers: Servers,
    roles: Mutex<Roles>,
    story: Lock<Story>,
}

struct Roles {
    primary: usize,
    /// Killed, frozen, or without room for another client: no operator reaches it.
    down: [bool; 2],
    /// It takes itself for a primary and is none.
    stale: [bool; 2],
}

#[derive(Default)]
struct Story {
    turns: Vec<Turn>,
    /// From when on who is the primary.
    reigns: Vec<(Micros, usize)>,
}

impl Target for Pair {
    type Backend = Backend;
    const NAME: Name = Name::Pair;
    const MEMBERS: &'static [&'static str] = &["east", "west"];
    const WORKERS: u16 = calls::WORKERS;

    fn start() -> Result<Self, String> {
        let servers = Servers::start()?;
        let [east, west] = &servers.servers;
        west.make_replica_of(east);
        west.wait_synced();
        Ok(Self {
            servers,
            roles: Mutex::new(Roles {
                primary: 0,
                down: [false; 2],
                stale: [false; 2],
            }),
            story: Lock::new(Story {
                turns: vec![Turn {
                    member: 1,
                    during: 0..0,
                    into: History::Of(0),
                }],
                reigns: vec![(0, 0)],
            }),
        })
    }

    fn port(&self, member: usize) -> u16 {
        self.servers.servers[member].port()
    }

    fn config(&self, ports: &[u16], variant: u64) -> String {
        servers::config(Self::MEMBERS, ports, variant)
    }

    async fn prepare(&self) -> Result<(), String> {
        self.servers.fill(0).await
    }

    async fn begin(self: &Arc<Self>, harm: Harm, course: &Course) -> Result<(), String> {
        match harm.kind {
            K::Demote => self.turn_round(harm, course).await,
            K::Kill | K::Freeze | K::Limits => {
                let mut roles = self.roles.lock().await;
                roles.down[harm.member] = true;
                self.servers.begin(harm).await
            }
            _ => self.servers.begin(harm).await,
        }
    }

    async fn heal(self: &Arc<Self>, harm: Harm, course: &Course) -> Result<(), String> {
        if harm.kind == K::Demote {
            return Ok(());
        }
        let begun = course.clock.now();
        let mut roles = self.roles.lock().await;
        self.servers.heal(harm).await?;
        if !matches!(harm.kind, K::Kill | K::Freeze | K::Limits) {
            return Ok(());
        }
        roles.down[harm.member] = false;
        if harm.kind == K::Kill {
            let into = self.came_back(harm.member).await?;
            self.turned(harm.member, begun..course.clock.now(), into);
            roles.stale[harm.member] = harm.member != roles.primary;
        }
        if roles.stale[harm.member] && harm.twist.is_multiple_of(2) {
            self.subordinate(&mut roles, harm.member, course).await?;
        }
        Ok(())
    }

    async fn afterwards(self: &Arc<Self>, harm: Harm, course: &Course) -> Result<(), String> {
        if !self.roles.lock().await.stale[harm.member] {
            return Ok(());
        }
        tokio::time::sleep(CARELESS).await;
        let mut roles = self.roles.lock().await;
        if roles.stale[harm.member] && harm.member != roles.primary {
            self.subordinate(&mut roles, harm.member, course).await?;
        }
        roles.stale[harm.member] = false;
        Ok(())
    }

    async fn load(
        self: &Arc<Self>,
        group: &Failover<Backend>,
        course: &Course,
    ) -> Result<Load, String> {
        calls::start(&group.client(), course).await
    }

    async fn kept(self: &Arc<Self>, course: &Course) -> Result<Applied, String> {
        let primary = self.roles.lock().await.primary;
        let mut applied = Applied::new(&course.logs);
        self.servers.writes(primary, &mut applied).await?;
        Ok(applied)
    }

    fn unfit(&self, length: Micros) -> Vec<(Member, Range<Micros>)> {
        let reigns = self.story().reigns.clone();
        let ends = reigns.iter().skip(1).map(|(at, _)| *at).chain([length]);
        let spans = reigns.iter().zip(ends);
        spans
            .map(|((from, primary), to)| (1 - *primary as Member, *from..to))
            .collect()
    }

    fn turns(&self) -> Vec<Turn> {
        std::mem::take(&mut self.story().turns)
    }
}

impl Pair {
    fn story(&self) -> MutexGuard<'_, Story> {
        self.story.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn turned(&self, member: usize, during: Range<Micros>, into: History) {
        let member = member as Member;
        self.story().turns.push(Turn {
            member,
            during,
            into,
        });
    }

    /// The member becomes what it was not, primary or replica, if the other server allows it.
    async fn turn_round(&self, harm: Harm, course: &Course) -> Result<(), String> {
        let mut roles = self.roles.lock().await;
        let old = roles.primary;
        let new = 1 - old;
        if roles.down[new] || roles.stale[new] {
            // Nobody can take over.
            return Ok(());
        }
        let in_order = harm.twist.is_multiple_of(2) && !roles.down[old];
        if in_order {
            self.wait_level(old, new).await?;
        }
        let begun = course.clock.now();
        self.servers.cli(new, &["REPLICAOF", "NO", "ONE"]).await?;
        let now = course.clock.now();
        self.turned(new, begun..now, History::Own);
        self.story().reigns.push((now, new));
        roles.primary = new;
        if roles.down[old] {
            roles.stale[old] = true;
            return Ok(());
        }
        self.subordinate(&mut roles, old, course).await?;
        if in_order {
            self.servers.cli(old, &["CLIENT", "UNPAUSE"]).await?;
        }
        Ok(())
    }

    /// Pauses writes on one server until the other one has all of them.
    async fn wait_level(&self, old: usize, new: usize) -> Result<(), String> {
        let pause = (2 * IN_ORDER).as_millis().to_string();
        self.servers
            .cli(old, &["CLIENT", "PAUSE", &pause, "WRITE"])
            .await?;
        let [old, new] = [old, new].map(|member| self.servers.servers[member].clone());
        blocking(move || {
            let offset = |server: &failover_testkit::server::RedisServer, field: &str| {
                let info = server.cli(&["INFO", "replication"]);
                let found = info.lines().find_map(|line| line.strip_prefix(field));
                found.and_then(|offset| offset.trim().parse::<u64>().ok())
            };
            let begun = Instant::now();
            while begun.elapsed() < IN_ORDER {
                let written = offset(&old, "master_repl_offset:");
                if written.is_some() && offset(&new, "slave_repl_offset:") == written {
                    return;
                }
                std::thread::sleep(POLL);
            }
        })
        .await
    }

    /// Makes a server the replica of the primary.
    async fn subordinate(
        &self,
        roles: &mut Roles,
        member: usize,
        course: &Course,
    ) -> Result<(), String> {
        let port = self.servers.servers[roles.primary].port().to_string();
        let begun = course.clock.now();
        let follow = ["REPLICAOF", "127.0.0.1", &port];
        self.servers.cli(member, &follow).await?;
        let into = History::Of(roles.primary as Member);
        self.turned(member, begun..course.clock.now(), into);
        roles.stale[member] = false;
        Ok(())
    }

    /// What a server has that was started again. Killed amid a copy of the other's data it may have nothing.
    async fn came_back(&self, member: usize) -> Result<History, String> {
        let server = self.servers.servers[member].clone();
        let (key, _) = calls::known(0);
        let has = blocking(move || server.cli(&["EXISTS", &key]) == "1").await?;
        if !has {
            self.servers.fill(member).await?;
            return Ok(History::Nothing);
        }
        Ok(History::Own)
    }
}
