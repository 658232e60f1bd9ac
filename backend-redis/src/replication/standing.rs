//! How the data of two servers stand to each other, by what each says of its replication.
//!
//! Never to come in: clocks and sockets.

use std::sync::{Mutex, PoisonError};

use super::Replication;

/// How one server's data stand to what another one acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// It has all of it.
    Complete,
    /// So many bytes are missing, and may still come.
    Behind(u64),
    /// So many bytes are missing and never come: it left that history before them.
    Lost(u64),
    /// They have no history in common: independent databases, or a server that started anew.
    Unrelated,
}

impl Replication {
    /// How this server's data stand to what `old`, a master, had acknowledged.
    pub(crate) fn standing(&self, old: &Self) -> Standing {
        let (missing, may_come) = if self.id == old.id {
            (old.offset.saturating_sub(self.offset), !self.is_master)
        } else if let Some((id, first_missing)) = &self.former
            && *id == old.id
        {
            (old.offset.saturating_sub(first_missing - 1), false)
        } else if let Some((id, first_own)) = &old.former
            && *id == self.id
        {
            // The other way round: `old` was promoted away from the history that this one still has.
            (old.offset.saturating_sub(first_own - 1), !self.is_master)
        } else {
            return Standing::Unrelated;
        };
        match missing {
            0 => Standing::Complete,
            missing if may_come => Standing::Behind(missing),
            missing => Standing::Lost(missing),
        }
    }
}

/// What one connection's server last said of itself while it was a master: what it acknowledged.
#[derive(Default)]
pub(crate) struct Noted(Mutex<Option<Replication>>);

impl Noted {
    /// A replica acknowledges nothing, so what it said as a master stays: what it then lost by following another is lost.
    pub(crate) fn note(&self, said: Replication) {
        if said.is_master {
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(said);
        }
    }

    pub(crate) fn get(&self) -> Option<Replication> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

#[cfg(test)]
mod tests {
    use super::super::info::master;
    use super::*;

    // F62
    #[test]
    fn standing_follows_histories_and_offsets() {
        let old = master("a", 100, None);
        let replica = |offset| Replication {
            is_master: false,
            ..master("a", offset, None)
        };
        for (new, expected) in [
            (replica(100), Standing::Complete),
            (replica(130), Standing::Complete),
            (replica(90), Standing::Behind(10)),
            // Promoted: it left the history of the old one behind its offset 100, or before.
            (master("b", 300, Some(("a", 101))), Standing::Complete),
            (master("b", 300, Some(("a", 91))), Standing::Lost(10)),
            (master("c", 300, None), Standing::Unrelated),
            (master("c", 300, Some(("d", 7))), Standing::Unrelated),
        ] {
            assert_eq!(new.standing(&old), expected, "{new:?}");
        }
        // Back to the master of before, which knows nothing of what came after it.
        let promoted = master("b", 120, Some(("a", 101)));
        assert_eq!(
            master("a", 150, None).standing(&promoted),
            Standing::Lost(20)
        );
        assert_eq!(replica(100).standing(&promoted), Standing::Behind(20));
    }

    #[test]
    fn what_a_master_said_outlives_its_demotion() {
        let noted = Noted::default();
        noted.note(master("a", 100, None));
        noted.note(Replication {
            is_master: false,
            ..master("b", 7, None)
        });
        assert_eq!(noted.get().unwrap().offset, 100);
    }
}
