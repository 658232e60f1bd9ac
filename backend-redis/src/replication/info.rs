//! `INFO replication`, read, and two of them compared.
//!
//! Never to come in: clocks, or sockets beyond the one question.

use std::sync::{Mutex, PoisonError};

use redis::RedisResult;
use redis::aio::MultiplexedConnection;

use crate::probe;

/// What one server says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Replication {
    pub(crate) is_master: bool,
    /// The history of writes that the server's data come from.
    pub(crate) id: String,
    /// Up to where in that history it has them.
    pub(crate) offset: u64,
    /// The history that it left when it was promoted, and the first offset that it does not have of it.
    former: Option<(String, u64)>,
    /// Of a replica: for how many seconds it has been without its master. `None` while it has it.
    pub(crate) alone: Option<u64>,
    /// A replica that copies everything anew.
    pub(crate) copies: bool,
}

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

/// Asks one server. `None`: it does not say, or says nothing that can be understood.
pub(crate) async fn ask(link: &mut MultiplexedConnection) -> RedisResult<Option<Replication>> {
    let mut info = redis::cmd("INFO");
    info.arg("replication");
    let answer = link.send_packed_command(&info).await?;
    Ok(probe::text(&answer).and_then(Replication::parse))
}

impl Replication {
    fn parse(info: &str) -> Option<Self> {
        let field = |name: &str| {
            info.lines()
                .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
                .map(str::trim)
        };
        let is_master = match field("role")? {
            "master" => true,
            "slave" | "replica" => false,
            _ => return None,
        };
        // A replica's own place is where it has applied to; what it has merely received serves no read.
        let offset = match is_master {
            true => field("master_repl_offset"),
            false => field("slave_repl_offset"),
        };
        let former = field("second_repl_offset")
            .and_then(|at| at.parse().ok())
            .and_then(|at| Some((field("master_replid2")?.to_owned(), at)));
        let alone = match (is_master, field("master_link_status")) {
            (true, _) | (false, Some("up")) => None,
            (false, _) => Some(
                field("master_link_down_since_seconds")
                    .and_then(|seconds| seconds.parse().ok())
                    .unwrap_or(u64::MAX),
            ),
        };
        Some(Self {
            is_master,
            id: field("master_replid")?.to_owned(),
            offset: offset?.parse().ok()?,
            former,
            alone,
            copies: field("master_sync_in_progress") == Some("1"),
        })
    }

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
    use super::*;

    fn master(id: &str, offset: u64, former: Option<(&str, u64)>) -> Replication {
        Replication {
            is_master: true,
            id: id.to_owned(),
            offset,
            former: former.map(|(id, at)| (id.to_owned(), at)),
            alone: None,
            copies: false,
        }
    }

    #[test]
    fn masters_and_replicas_are_read() {
        let said = "# Replication\r\nrole:master\r\nconnected_slaves:0\r\nmaster_replid:aa\r\nmaster_replid2:bb\r\n\
                    master_repl_offset:29\r\nsecond_repl_offset:15\r\n";
        assert_eq!(
            Replication::parse(said),
            Some(master("aa", 29, Some(("bb", 15))))
        );
        let said = "role:slave\r\nmaster_link_status:down\r\nmaster_sync_in_progress:1\r\nslave_read_repl_offset:9\r\n\
                    slave_repl_offset:7\r\nmaster_link_down_since_seconds:3\r\nmaster_replid:aa\r\nmaster_replid2:00\r\n\
                    master_repl_offset:9\r\nsecond_repl_offset:-1\r\n";
        let replica = Replication::parse(said).unwrap();
        assert!(!replica.is_master && replica.copies && replica.former.is_none());
        assert_eq!((replica.offset, replica.alone), (7, Some(3)));
        assert_eq!(Replication::parse("role:sentinel\r\n"), None);
        assert_eq!(Replication::parse("role:master\r\n"), None);
    }

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
