//! Two sets of rules side by side: what differs, and what can only differ after a restart.

use backend_api::{Error, ErrorKind};

use crate::config::Rules;

/// What of a group is fixed while it runs, and differs: an error that names all of it.
///
/// `startup` is not among it: it has done its part, and the next start will follow the new one.
pub(crate) fn fixed(now: &Rules, new: &Rules) -> Result<(), Error> {
    let mut problems = Vec::new();
    for (key, same) in [
        ("name", now.name == new.name),
        (
            "unavailable.wait",
            now.unavailable_wait == new.unavailable_wait,
        ),
    ] {
        if !same {
            problems.push(format!(
                "group.{key}: cannot be changed while the group runs; restart to apply it"
            ));
        }
    }
    if problems.is_empty() {
        Ok(())
    } else {
        Err(Error::new(ErrorKind::Config, problems.join("\n")))
    }
}

/// The keys of `[group]` that differ.
pub(crate) fn differences(now: &Rules, new: &Rules) -> Vec<&'static str> {
    let (ours, theirs) = (&now.member, &new.member);
    [
        ("standby", now.standby == new.standby),
        ("pool", now.pool.name() == new.pool.name()),
        ("health", ours.health == theirs.health),
        ("breaker", ours.breaker == theirs.breaker),
        ("failback", now.failback == new.failback),
        ("lame_duck", now.lame_duck == new.lame_duck),
        ("reconnect", ours.reconnect == theirs.reconnect),
        (
            "timeouts",
            ours.timeouts == theirs.timeouts && now.switch_grace == new.switch_grace,
        ),
        ("loss", now.loss_redial == new.loss_redial),
    ]
    .into_iter()
    .filter(|(_, same)| !same)
    .map(|(key, _)| key)
    .collect()
}
