//! Does what the plan says: lane by lane, each fault from its begin to its end, and notes what was done when.
//!
//! The network's faults are done here, by the proxy in front of each member; so are those of the group and of this
//! process. What is done to a server is the target's.
//!
//! What must never come in: chance. What a kind leaves open is decided by the twist of the plan.

use std::ops::Range;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use failover_core::Failover;
use failover_testkit::server::{Mode, Proxy, Shape, Way};
use tokio::task::JoinSet;

use crate::dice::Dice;
use crate::kinds::FaultKind as K;
use crate::plan::Planned;
use crate::record::{Fault, Member, Micros};
use crate::stop;
use crate::targets::{Course, Harm, Target};

/// A fault that would begin later than this is left out: its time belongs to the one before.
const LATE: Micros = 2_000_000;
/// How long a drain may take that the plan orders.
pub(crate) const DRAIN: Duration = Duration::from_millis(500);

/// Everything that faults are done to.
pub(crate) struct Scene<T: Target> {
    pub(crate) target: Arc<T>,
    pub(crate) group: Failover<T::Backend>,
    pub(crate) gates: Vec<Proxy>,
    pub(crate) course: Course,
    pub(crate) done: Mutex<Done>,
}

/// What was done.
#[derive(Default)]
pub(crate) struct Done {
    pub(crate) faults: Vec<Fault>,
    /// When a member could not serve because of a fault, the time to come back included.
    pub(crate) unfit: Vec<(Member, Range<Micros>)>,
    /// When a member's port refused.
    pub(crate) refused: Vec<(Member, Range<Micros>)>,
    /// How many are going on.
    pub(crate) active: usize,
    pub(crate) begun: usize,
}

/// Does the whole plan. When it returns every fault is over.
pub(crate) async fn carry_out<T: Target>(
    scene: &Arc<Scene<T>>,
    plan: &[Planned],
) -> Result<(), String> {
    let mut lanes = JoinSet::new();
    let members = (0..T::NAME.members()).map(Some);
    for lane in members.chain([None]) {
        let faults: Vec<_> = plan.iter().copied().filter(|f| f.member == lane).collect();
        lanes.spawn(in_turn(Arc::clone(scene), faults));
    }
    while let Some(ended) = lanes.join_next().await {
        ended.map_err(|error| format!("a fault cannot be done: {error}"))??;
    }
    Ok(())
}

async fn in_turn<T: Target>(scene: Arc<Scene<T>>, faults: Vec<Planned>) -> Result<(), String> {
    let clock = scene.course.clock;
    for fault in faults {
        tokio::time::sleep_until(clock.at(fault.begin).into()).await;
        if clock.now() > fault.begin + LATE || clock.now() >= fault.end {
            continue;
        }
        let did = scene.one(&fault).await;
        did.map_err(|problem| format!("{} {:?}: {problem}", fault.kind.name(), fault.member))?;
    }
    Ok(())
}

impl<T: Target> Scene<T> {
    async fn one(&self, fault: &Planned) -> Result<(), String> {
        let clock = self.course.clock;
        let begin = clock.now();
        self.note(|done| {
            done.active += 1;
            done.begun += 1;
        });
        let refused = match fault.member {
            Some(member) => self.to_member(fault, member).await?,
            None => {
                self.to_group(fault).await?;
                None
            }
        };
        let during = begin..clock.now().max(begin + 1);
        self.note(|done| {
            done.active -= 1;
            if let Some(member) = fault.member {
                done.unfit.push((member, during.clone()));
                done.refused.extend(refused.map(|during| (member, during)));
            }
            done.faults.push(Fault {
                kind: fault.kind.name(),
                member: fault.member,
                ends_connections: fault.kind.ends_connections(),
                planned: fault.kind.is_planned(),
                during,
            });
        });
        Ok(())
    }

    fn note(&self, what: impl FnOnce(&mut Done)) {
        what(
            &mut self
                .done
                .lock()
                .unwrap_or_else(|broken| broken.into_inner()),
        );
    }

    async fn until(&self, end: Micros) {
        tokio::time::sleep_until(self.course.clock.at(end).into()).await;
    }

    /// When the member's port refused, if it did.
    async fn to_member(
        &self,
        fault: &Planned,
        member: Member,
    ) -> Result<Option<Range<Micros>>, String> {
        let (gate, clock) = (&self.gates[usize::from(member)], self.course.clock);
        let harm = Harm {
            kind: fault.kind,
            member: member.into(),
            twist: fault.twist,
            lasts: Duration::from_micros(fault.end.saturating_sub(clock.now()).into()),
        };
        let mut dice = Dice::new(fault.twist);
        match fault.kind {
            K::Kill | K::LameDuck => {
                let refused = clock.now();
                gate.set(match fault.kind {
                    K::Kill => Mode::Refuse,
                    _ => Mode::RefuseNew,
                })
                .await;
                self.target.begin(harm, &self.course).await?;
                self.until(fault.end).await;
                gate.set(Mode::Refuse).await;
                self.target.heal(harm, &self.course).await?;
                let refused = refused..clock.now();
                gate.set(Mode::Forward).await;
                if fault.kind == K::LameDuck {
                    // An operator who has started it again says so: otherwise it is left alone for two minutes.
                    let name = T::MEMBERS[usize::from(member)];
                    let _ = self.group.clear_lame_duck(name).await;
                }
                self.target.afterwards(harm, &self.course).await?;
                return Ok(Some(refused));
            }
            K::Drop => {
                gate.set(match dice.below(3) {
                    0 => Mode::Blackhole,
                    1 => Mode::HoldRequests,
                    _ => Mode::HoldReplies,
                })
                .await;
                self.until(fault.end).await;
                gate.set(Mode::Forward).await;
            }
            K::Cut => {
                gate.set(Mode::CutReplyAfter(1 + dice.below(4000) as usize))
                    .await;
                self.until(fault.end).await;
                gate.set(Mode::Forward).await;
            }
            K::Delay => {
                let delay = Duration::from_millis(10 + dice.below(190));
                let shape = Shape {
                    delay,
                    ..Shape::default()
                };
                self.shaped(gate, shape, &mut dice, fault.end).await;
            }
            K::Slow => {
                let rate = 2000 + dice.below(60_000) as u32;
                let shape = Shape {
                    bytes_per_second: Some(rate),
                    ..Shape::default()
                };
                self.shaped(gate, shape, &mut dice, fault.end).await;
            }
            _ => {
                self.target.begin(harm, &self.course).await?;
                self.until(fault.end).await;
                self.target.heal(harm, &self.course).await?;
                self.target.afterwards(harm, &self.course).await?;
            }
        }
        Ok(None)
    }

    async fn shaped(&self, gate: &Proxy, shape: Shape, dice: &mut Dice, end: Micros) {
        let ways: &[Way] = match dice.below(3) {
            0 => &[Way::Request, Way::Reply],
            1 => &[Way::Request],
            _ => &[Way::Reply],
        };
        for way in ways {
            gate.shape(*way, shape);
        }
        self.until(end).await;
        for way in ways {
            gate.shape(*way, Shape::default());
        }
    }

    async fn to_group(&self, fault: &Planned) -> Result<(), String> {
        let mut dice = Dice::new(fault.twist);
        match fault.kind {
            K::Reload => {
                let ports: Vec<_> = self.gates.iter().map(Proxy::port).collect();
                let text = self.target.config(&ports, dice.below(4));
                let reloaded = self.group.reload_toml(&text).await;
                reloaded
                    .map_err(|error| format!("the group refuses its configuration: {error}"))?;
                self.until(fault.end).await;
            }
            K::Move => {
                let to = T::MEMBERS[dice.below(T::MEMBERS.len() as u64) as usize];
                // A refusal is an answer: the member may be down.
                let _ = match dice.below(2) {
                    0 => self.group.switch_to(to).await,
                    _ => self.group.drain_to(to, DRAIN).await,
                };
                self.until(fault.end).await;
                let released = self.group.release().await;
                released.map_err(|error| format!("the group cannot be released: {error}"))?;
            }
            K::Stop => {
                let lasts = fault.end.saturating_sub(self.course.clock.now());
                let lasts = Duration::from_micros(lasts.into());
                stop::this_process(lasts).await?;
            }
            kind => return Err(format!("{kind:?} is not done to a group")),
        }
        Ok(())
    }
}
