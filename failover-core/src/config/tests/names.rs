//! Checks and pools that the user registered in code.

use std::cmp::Ordering;
use std::sync::Arc;

use backend_api::{Candidate, Error, ErrorKind, Pool, Role};

use super::{NO_ENVIRONMENT, Test, refused, with_member};
use crate::config::{ConfigError, Known, Loaded, Source, read};

struct Mine;

impl Pool for Mine {
    fn name(&self) -> &'static str {
        "mine"
    }

    fn compare(&self, _: Role, a: &Candidate, b: &Candidate) -> Ordering {
        a.declared.cmp(&b.declared)
    }
}

fn load(head: &str) -> Result<Loaded<Test>, ConfigError> {
    let known = Known::new().check("lag").pool(Arc::new(Mine));
    let text = with_member(head);
    read(Source::new("f.toml", &text), NO_ENVIRONMENT, &known)
}

#[test]
fn registered_checks_and_pools_can_be_named() {
    let group = load("[group]\npool = \"mine\"\nhealth.check = [\"lag\", \"ping\"]")
        .unwrap()
        .group;
    assert_eq!(group.rules.pool.name(), "mine");
    assert_eq!(
        group.members[0].rules.health.checks.as_ref().unwrap(),
        &["lag", "ping"]
    );
}

#[test]
fn they_are_suggested_too() {
    let error = load("[group]\npool = \"mime\"\nhealth.check = [\"leg\"]").unwrap_err();
    assert_eq!(
        error.to_string(),
        "f.toml:2:8: group.pool: unknown pool `mime`, did you mean `mine`?\n\
         f.toml:3:17: group.health.check: unknown check `leg`, did you mean `lag`?"
    );
    let problem = &error.problems()[1];
    assert_eq!(problem.file.as_deref(), Some("f.toml"));
    assert_eq!(problem.at, Some((3, 17)));
}

#[test]
fn the_error_becomes_one_of_the_contract() {
    let error = Error::from(load("[group]\npool = \"mime\"").unwrap_err());
    assert_eq!(error.kind(), ErrorKind::Config);
    assert!(error.to_string().starts_with("f.toml:2:8: "), "{error}");
}

#[test]
fn a_backend_that_cannot_be_made_does_not_make_its_checks_unknown() {
    let text = with_member("[backend]\nrefuse = \"so\"\n[group]\nhealth.check = [\"anything\"]");
    assert_eq!(refused(&text), "f.toml:1:1: backend: refused: so");
}
