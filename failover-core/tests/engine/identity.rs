//! Members that are one server under two names, as the backend tells it.

use failover_core::config::{NewMember, Standby};
use failover_core::event::{EventKind, Kind, Reason};
use failover_core::memory::{Settings, World};
use failover_core::status::Link;

use crate::bench::{Group, Setup, after, moved, secs, settle};

/// Members at servers, the first one being the heaviest, with one standby.
async fn open(members: &[(&str, &str)]) -> Group {
    let mut setup = Setup::empty(&World::new());
    for (rank, (name, at)) in members.iter().enumerate() {
        let weight = 1.0 - 0.1 * f64::from(u32::try_from(rank).unwrap());
        setup = setup.member(NewMember::new(*name, Settings::at(*at)).weight(weight));
    }
    let one = setup.rules(|rules| rules.standby = Standby::Count(1));
    one.open_whole().await
}

#[tokio::test(start_paused = true)]
async fn one_server_under_two_names_is_shared() {
    // F32: as N3 has it.
    let group = open(&[("localhost", "one"), ("127.0.0.1", "one")]).await;
    after(secs(60)).await;
    assert_eq!(group.standbys(), ["127.0.0.1"]);
    assert_eq!(group.server("one").connections_ever(), 2);
    group.switch_to_passive().await.unwrap();
    settle().await;
    group.assert_active("127.0.0.1");
    assert_eq!(group.standbys(), ["localhost"]);
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn two_servers_are_never_both_active_and_standby() {
    // F33: as N4 has it.
    let members = [
        ("localhost", "one"),
        ("127.0.0.1", "one"),
        ("other", "two"),
        ("alias", "two"),
    ];
    let group = open(&members).await;
    group.pin().await.unwrap();
    let server = |name: &str| members.iter().find(|(one, _)| *one == name).unwrap().1;
    for to in ["localhost", "other", "127.0.0.1", "alias", "localhost"] {
        group.switch_to(to).await.unwrap();
        after(secs(30)).await;
        group.assert_active(to);
        let standbys = group.standbys();
        let apart = |name: &&String| server(name) != server(to);
        assert!(standbys.iter().any(|name| apart(&name)), "{standbys:?}");
        // A heavier name is connected so that traffic can go back to it.
        let weight = group.member(to).weight;
        let sharing = standbys.iter().filter(|name| !apart(name));
        assert!(
            sharing
                .into_iter()
                .all(|name| group.member(name).weight > weight)
        );
    }
    // No name was asked in a loop.
    for at in ["one", "two"] {
        assert!(
            group.server(at).dials() < 15,
            "{}",
            group.server(at).dials()
        );
    }
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn the_death_of_a_server_with_two_names_is_survived_at_once() {
    // F35
    let group = open(&[("a", "one"), ("also a", "one"), ("b", "two")]).await;
    group.hush();
    group.server("one").kill();
    group.until_active("b", secs(1)).await;
    assert!(group.took() < secs(1) / 10, "{:?}", group.took());
    assert_eq!(
        group.moves(),
        [moved("a", "b", Reason::Lost, Kind::Failover)]
    );
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_replaced_standby_stays_apart() {
    // F33
    let group = open(&[("a", "one"), ("also a", "one"), ("b", "two")]).await;
    for _ in 0..3 {
        group.rehome_standby().await.unwrap();
        after(secs(5)).await;
        assert_eq!(group.standbys(), ["b"]);
    }
    group.server("two").kill();
    after(secs(30)).await;
    assert_eq!(group.standbys(), ["also a"]);
    assert!(group.status().degraded);
    group.server("two").start();
    after(secs(30)).await;
    assert_eq!(group.standbys(), ["b"]);
    assert_eq!(group.link("also a"), Link::Cold);
    let degraded = |kind: &EventKind| matches!(kind, EventKind::Degraded);
    let whole = |kind: &EventKind| matches!(kind, EventKind::WholeAgain);
    assert!(group.count(degraded) >= 1 && group.count(degraded) == group.count(whole));
    group.end().await;
}
