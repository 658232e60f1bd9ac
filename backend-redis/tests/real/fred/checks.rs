//! The checks `lag`, `write-read` and `lag-aware` through fred, and the options that are not there.

use std::time::Duration;

use backend_api::{ErrorKind, FromOptions};
use backend_redis::{Fred, Options};

use super::with;
use crate::checks::{in_step, without_master, write_read};

// F60
#[tokio::test]
async fn through_fred_masters_and_replicas_in_step_with_them_pass() {
    in_step(with(Options {
        lag_bytes: Some(0),
        ..Options::default()
    }))
    .await;
}

// F60
#[tokio::test]
async fn through_fred_a_replica_without_its_master_fails_after_a_while() {
    without_master(with(Options {
        lag_time: Duration::from_millis(500),
        ..Options::default()
    }))
    .await;
}

// F61
#[tokio::test]
async fn through_fred_write_read_finds_full_and_read_only_servers() {
    write_read(with(Options {
        check_key: "probe:{member}".to_owned(),
        ..Options::default()
    }))
    .await;
}

#[test]
fn through_fred_what_is_not_there_is_refused_by_name() {
    let waiting = Options {
        wait_for_replication: Some(Duration::from_secs(1)),
        ..Options::default()
    };
    let listening = Options {
        maintenance_notices: true,
        ..Options::default()
    };
    for (options, name) in [
        (waiting, "wait_for_replication"),
        (listening, "maintenance_notices"),
    ] {
        let error = Fred::from_options(options).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config);
        assert!(error.message().starts_with(name), "{error}");
    }
}
