//! The kinds of faults, by the names that `--faults` takes, and which target has which.
//!
//! What must never come in: how a fault is done. That is [`harm`](crate::harm)'s for the network and this process, and the
//! target's for its servers.

use crate::record::Target;

/// One kind of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum FaultKind {
    Kill,
    Freeze,
    LameDuck,
    Demote,
    Drop,
    Delay,
    Slow,
    Cut,
    ClientKill,
    PauseWrite,
    Limits,
    Reload,
    Move,
    Stop,
}

use FaultKind as K;

/// All kinds, in the order in which they are listed.
pub(crate) const ALL: [FaultKind; 14] = [
    K::Kill,
    K::Freeze,
    K::LameDuck,
    K::Demote,
    K::Drop,
    K::Delay,
    K::Slow,
    K::Cut,
    K::ClientKill,
    K::PauseWrite,
    K::Limits,
    K::Reload,
    K::Move,
    K::Stop,
];

impl FaultKind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            K::Kill => "kill",
            K::Freeze => "freeze",
            K::LameDuck => "lame-duck",
            K::Demote => "demote",
            K::Drop => "drop",
            K::Delay => "delay",
            K::Slow => "slow",
            K::Cut => "cut",
            K::ClientKill => "client-kill",
            K::PauseWrite => "pause-write",
            K::Limits => "limits",
            K::Reload => "reload",
            K::Move => "move",
            K::Stop => "stop",
        }
    }

    /// Whether it is done to one member. The others are done to the group, or to this process.
    pub(crate) fn hits_a_member(self) -> bool {
        !matches!(self, K::Reload | K::Move | K::Stop)
    }

    /// The shortest and the longest time that it lasts, in milliseconds.
    pub(crate) fn lasts(self) -> (u32, u32) {
        match self {
            K::Kill => (300, 3000),
            K::Freeze | K::Drop => (200, 4000),
            K::LameDuck => (1000, 3000),
            K::Demote => (500, 2000),
            K::Delay | K::Slow => (500, 4000),
            K::Cut => (50, 1000),
            K::ClientKill | K::Reload => (10, 20),
            K::PauseWrite => (100, 3000),
            K::Limits | K::Move => (500, 3000),
            K::Stop => (300, 1200),
        }
    }

    /// Whether it ends connections as soon as it begins.
    pub(crate) fn ends_connections(self) -> bool {
        matches!(
            self,
            K::Kill | K::LameDuck | K::Demote | K::Cut | K::ClientKill | K::Limits
        )
    }

    /// Whether the framework knows of it beforehand.
    pub(crate) fn is_planned(self) -> bool {
        matches!(self, K::LameDuck | K::Reload | K::Move)
    }

    /// How long a member takes to come back after it, in milliseconds, on a slow machine. Nothing else is planned for it
    /// until then.
    pub(crate) fn recovers(self, target: Target) -> u32 {
        match (self, target) {
            (K::Kill | K::LameDuck, Target::Nats) => 3000,
            (K::Kill, _) => 1500,
            (K::Demote, _) => 1000,
            _ => 0,
        }
    }

    /// Why a target does not have this kind, if it does not.
    pub(crate) fn refused_by(self, target: Target) -> Option<&'static str> {
        match (self, target) {
            (K::LameDuck, Target::Redis | Target::Fred | Target::Pair) => {
                Some("a redis-server does not announce its shutdown")
            }
            (K::Demote, Target::Redis | Target::Fred) => {
                Some("its servers are independent of each other; take the target pair")
            }
            (K::Demote, Target::Nats) => Some("a node of a cluster has no role that it could lose"),
            (K::ClientKill, Target::Nats) => {
                Some("a nats-server has no such command for clients; `cut` ends their connections")
            }
            (K::PauseWrite, Target::Nats) => Some("a nats-server has no such command"),
            _ => None,
        }
    }

    /// All that a target has.
    pub(crate) fn of(target: Target) -> Vec<Self> {
        let has = |kind: &Self| kind.refused_by(target).is_none();
        ALL.into_iter().filter(has).collect()
    }

    /// Reads `kill,freeze,..`: the kinds in the order of [`ALL`], each once.
    pub(crate) fn list(text: &str, target: Target) -> Result<Vec<Self>, String> {
        let mut kinds = Vec::new();
        for name in text.split(',').map(str::trim) {
            let Some(kind) = ALL.into_iter().find(|kind| kind.name() == name) else {
                let known = ALL.map(Self::name).join(", ");
                return Err(format!("there is no fault {name:?}: there are {known}"));
            };
            if let Some(reason) = kind.refused_by(target) {
                return Err(format!("{name} is no fault of {}: {reason}", target.name()));
            }
            kinds.push(kind);
        }
        kinds.sort_unstable();
        kinds.dedup();
        Ok(kinds)
    }
}
