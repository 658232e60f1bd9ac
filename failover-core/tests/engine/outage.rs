//! A whole outage with one warm standby: one dialling loop, and the way back to whole.

use failover_core::config::Standby;
use failover_core::status::Link;

use crate::bench::{Group, Setup, after, ms, secs, settle};

const NAMES: [&str; 3] = ["a", "b", "c"];

async fn pair() -> Group {
    let setup = Setup::new(&NAMES).rules(|rules| rules.standby = Standby::Count(1));
    setup.open_whole().await
}

fn dials(group: &Group) -> u64 {
    NAMES.iter().map(|name| group.server(name).dials()).sum()
}

#[tokio::test(start_paused = true)]
async fn one_loop_dials_while_nothing_is_connected() {
    // N40: never two dials at a time. The servers do not answer, so every dial takes its two seconds.
    let group = pair().await;
    for name in NAMES {
        group.server(name).kill();
    }
    settle().await;
    // The dead standby is closed before anybody is dialled for good.
    for name in NAMES {
        assert_eq!(group.server(name).unretired(), 0);
        group.server(name).start();
        group.server(name).freeze();
    }
    let before = dials(&group);
    let mut most = 0;
    for _ in 0..6000 {
        after(ms(10)).await;
        let members = group.status().members;
        let dialling = members
            .iter()
            .filter(|member| member.link == Link::Connecting);
        most = most.max(dialling.count());
    }
    assert_eq!(most, 1);
    let during = dials(&group) - before;
    // A minute holds at most thirty of them.
    assert!((10..=30).contains(&during), "{during} dials");
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn refused_dials_back_off_by_the_round() {
    // N40
    let group = pair().await;
    for name in NAMES {
        group.server(name).kill();
    }
    settle().await;
    let before = dials(&group);
    after(secs(60)).await;
    // Three at once; then a rest after every dial, doubling until the three of a round add up to ten seconds.
    let during = dials(&group) - before;
    assert!((20..=28).contains(&during), "{during} dials");
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn afterwards_there_is_one_active_and_one_standby_elsewhere() {
    // N41
    let group = pair().await;
    for name in NAMES {
        group.server(name).kill();
    }
    after(secs(20)).await;
    for name in NAMES {
        group.server(name).start();
    }
    after(secs(40)).await;
    let active = group.active().unwrap();
    let standbys = group.standbys();
    assert_eq!(standbys.len(), 1);
    assert_ne!(standbys[0], active);
    let open = NAMES.map(|name| group.server(name).open_connections());
    assert_eq!(open.iter().sum::<usize>(), 2);
    // It is usable.
    group.server(&active).kill();
    settle().await;
    group.assert_active(&standbys[0]);
    group.client().set("k", "v").await.unwrap();
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_long_outage_empties_no_pool() {
    // N43
    for standby in [Standby::Count(1), Standby::All] {
        let group = Setup::new(&NAMES)
            .rules(|rules| rules.standby = standby)
            .open_whole()
            .await;
        for name in NAMES {
            group.server(name).kill();
        }
        after(secs(3600)).await;
        for name in NAMES {
            group.server(name).start();
        }
        after(secs(11)).await;
        assert!(group.active().is_some());
        group.end().await;
    }
}

#[tokio::test(start_paused = true)]
async fn with_all_warm_everybody_has_a_loop_of_its_own() {
    let group = Setup::new(&NAMES).open_whole().await;
    for name in NAMES {
        group.server(name).kill();
    }
    settle().await;
    for name in NAMES {
        group.server(name).start();
        group.server(name).freeze();
    }
    after(secs(1)).await;
    let members = group.status().members;
    let dialling = members
        .iter()
        .filter(|member| member.link == Link::Connecting);
    assert_eq!(dialling.count(), 3);
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_standby_is_armed_beside_the_active_one_at_a_time() {
    let group = pair().await;
    assert_eq!(group.link("a"), Link::Active);
    assert_eq!(group.standbys(), ["b"]);
    after(secs(1)).await;
    assert_eq!(group.server("c").open_connections(), 0);
    group.server("b").kill();
    after(ms(100)).await;
    assert_eq!(group.standbys(), ["c"]);
    group.end().await;
}
