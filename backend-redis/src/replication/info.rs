//! `INFO replication`, read.
//!
//! Never to come in: clocks, or sockets beyond the one question.

use backend_api::Error;

use crate::probe::{Ask, INFO, Said, one};

/// What one server says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Replication {
    pub(crate) is_master: bool,
    /// The history of writes that the server's data come from.
    pub(crate) id: String,
    /// Up to where in that history it has them.
    pub(crate) offset: u64,
    /// The history that it left when it was promoted, and the first offset that it does not have of it.
    pub(super) former: Option<(String, u64)>,
    /// Of a replica: for how many seconds it has been without its master. `None` while it has it.
    pub(crate) alone: Option<u64>,
    /// A replica that copies everything anew.
    pub(crate) copies: bool,
}

/// Asks one server. `None`: it does not say, or says nothing that can be understood.
pub(crate) async fn ask(link: &impl Ask) -> Result<Option<Replication>, Error> {
    Ok(match one(link, INFO).await? {
        Said::Text(info) => Replication::parse(&info),
        _ => None,
    })
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
}

#[cfg(test)]
pub(super) fn master(id: &str, offset: u64, former: Option<(&str, u64)>) -> Replication {
    Replication {
        is_master: true,
        id: id.to_owned(),
        offset,
        former: former.map(|(id, at)| (id.to_owned(), at)),
        alone: None,
        copies: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
