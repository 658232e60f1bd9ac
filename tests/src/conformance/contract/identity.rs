//! `identity`: which server a connection ended at, where a backend tells it.

use failover_core::api::Backend;

use crate::conformance::Harness;
use crate::conformance::stage::{Link, Stage};
use crate::conformance::suite::{Check, Suite, failed, not_applicable};

pub(super) async fn run<H: Harness>(suite: &mut Suite<'_, H>) {
    let harness = suite.harness;
    suite
        .check(
            "identity: all connections to a member name one server, and those to another member another",
            one_server(harness),
        )
        .await;
}

/// The engine keeps active and standby on different servers by it. One that changes hides that two names are one server;
/// one that all members share leaves a group without a standby that it trusts.
async fn one_server<H: Harness>(harness: &H) -> Check {
    let mut stage = Stage::new(harness);
    let (member, another) = (harness.start().await, harness.start().await);
    let first = stage.connect("one", &member).await?;
    let second = stage.connect("also one", &member).await?;
    let other = stage.connect("other", &another).await?;
    let identity = |link: &Link<_>| stage.backend.identity(&link.connection);
    let (one, two, three) = (identity(&first), identity(&second), identity(&other));
    let again = identity(&first);
    for link in [first, second, other] {
        stage.retire(link).await?;
    }
    if one.is_none() && two.is_none() && three.is_none() {
        return Err(not_applicable("the backend names no servers"));
    }
    if one.is_none() || one != again {
        return Err(failed(format_args!(
            "one connection says {one:?}, and then {again:?}"
        )));
    }
    if one != two {
        return Err(failed(format_args!(
            "two connections to one member say {one:?} and {two:?}"
        )));
    }
    if one == three {
        return Err(failed(format_args!("two members both say {one:?}")));
    }
    Ok(())
}
