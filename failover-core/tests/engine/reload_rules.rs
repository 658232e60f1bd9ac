//! New rules for a group that runs: they hold from now on, and what only a restart can change is refused.

use failover_core::api::ErrorKind;
use failover_core::status::Link;

use crate::bench::{Group, Setup, after, member, ms, secs, settle};
use crate::reload::{failures, table, two};

#[tokio::test(start_paused = true)]
async fn group_rules_hold_from_now_on() {
    // F6
    let group = Setup::new(&["a", "b", "c"]).open_whole().await;
    let members = table("a", 3.0, "a") + &table("b", 2.0, "b") + &table("c", 1.0, "c");
    let rules = "[group]\nstandby = 1\nfailback = { grace = \"1s\", stable = \"1s\", jitter = \"0s\" }\n\
                 loss = { redial = \"0s\" }\nhealth = { interval = \"100ms\" }\n";
    let changes = group
        .reload_toml(&(rules.to_owned() + &members))
        .await
        .unwrap();
    assert_eq!(
        changes.to_string(),
        "group.standby, group.health, group.failback, group.loss; changed a, b, c"
    );
    settle().await;
    assert_eq!(group.standbys(), ["b"]);
    let checks = group.server("a").checks();
    after(secs(2)).await;
    assert!(group.server("a").checks() - checks > 30);
    group.server("a").reset_connections();
    group.until_active("b", ms(50)).await;
    let back = group.until_active("a", secs(5)).await;
    assert!(back < secs(3), "{back:?}");
    // A member that is added later has the rules of now.
    group.add(member("d").weight(0.1)).await.unwrap();
    settle().await;
    assert_eq!(group.link("d"), Link::Cold);
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn what_only_a_restart_can_change_is_refused_by_name() {
    // F7
    let group = Setup::new(&["a", "b"]).open_whole().await;
    let text = "[group]\nname = \"other\"\nunavailable = { wait = \"9s\" }\n".to_owned()
        + &table("c", 1.0, "c");
    let error = group.reload_toml(&text).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config);
    for part in ["group.name", "group.unavailable.wait", "restart"] {
        assert!(error.to_string().contains(part), "{error}");
    }
    settle().await;
    assert_eq!(failures(&group), 1);
    assert_eq!(group.status().members.len(), 2);
    // What is for the next start only is no difference.
    let text = "[group]\nstartup = \"all\"\n".to_owned() + &two();
    assert!(group.reload_toml(&text).await.unwrap().is_unchanged());
    group.end().await;
}

/// Holds a lease for so long, gives it up, and says how often the connection was doubted for that.
async fn given_up_after(group: &Group, held: std::time::Duration) -> u64 {
    let lease = group.client().lease().await.unwrap();
    after(held).await;
    let before = group.server("a").proofs();
    drop(lease);
    settle().await;
    group.server("a").proofs() - before
}

#[tokio::test(start_paused = true)]
async fn another_operation_timeout_holds_for_the_leases_of_now() {
    // F6
    let group = Setup::new(&["a", "b"]).open_whole().await;
    assert_eq!(given_up_after(&group, ms(200)).await, 0);
    assert_eq!(given_up_after(&group, secs(1)).await, 1);
    for (timeout, expected) in [("10s", 0), ("100ms", 1)] {
        let rules = format!("[group]\ntimeouts = {{ operation = \"{timeout}\" }}\n");
        let changes = group.reload_toml(&(rules + &two())).await.unwrap();
        // The connections know it too, so there are others.
        assert_eq!(changes.to_string(), "group.timeouts; replaced a, b");
        after(secs(1)).await;
        group.assert_active("a");
        let held = if expected == 0 { secs(5) } else { ms(200) };
        assert_eq!(given_up_after(&group, held).await, expected, "{timeout}");
    }
    group.end().await;
}
