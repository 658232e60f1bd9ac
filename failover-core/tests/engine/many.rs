//! A group of ten thousand members. How long that takes is a bench's matter; here it is what work it takes.

use std::fmt::Write as _;

use failover_core::Failover;
use failover_core::memory::Memory;

use crate::bench::{nothing_is_left, settle};

const MEMBERS: usize = 10_000;

#[tokio::test(start_paused = true)]
async fn ten_thousand_members_are_each_dialled_proven_and_armed_once() {
    let mut text = String::new();
    for number in 0..MEMBERS {
        let _ = writeln!(
            text,
            "[[member]]\nname = \"m{number}\"\nat = \"s{number}\"\nweight = {}.0",
            MEMBERS - number
        );
    }
    let group = Failover::<Memory>::builder()
        .seed(0)
        .open_toml(&text)
        .await
        .unwrap();
    settle().await;
    let world = group.backend().world().clone();
    let status = group.status();
    assert_eq!(status.active.as_ref().unwrap(), &"m0");
    assert_eq!(status.standbys().count(), MEMBERS - 1);
    let servers = world.servers();
    assert_eq!(servers.len(), MEMBERS);
    for server in servers {
        assert_eq!(server.dials(), 1);
        assert!(server.proofs() <= 2);
        // Two of three probes make one verdict.
        assert_eq!(server.checks(), 2);
        assert_eq!(server.armed(), u64::from(server.at() != "s0"));
    }
    group.close().await;
    nothing_is_left(&world).await;
}
