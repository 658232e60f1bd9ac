//! The suite bites: every mistake of a backend is found, and by the lines that are about it and no others.
//!
//! A suite that passes everybody proves nothing. So each line is shown to fail for some mistake, and each mistake is shown
//! to fail the lines that it should.

mod broken;
mod expected;
mod flaw;
#[path = "../in_memory/mod.rs"]
mod in_memory;

use broken::{Broken, Place};
use expected::{Case, EXPECTED, NEED_NO_CONNECTION};
use failover_core::api::async_trait;
use failover_core::memory::{Client, Server};
use failover_core::{Error, ErrorKind};
use failover_testkit::conformance::{self, Harness, Report};
use flaw::Flaw;
use in_memory::InMemory;

struct Hurt {
    members: InMemory,
    flaw: Flaw,
}

#[async_trait]
impl Harness for Hurt {
    type Backend = Broken;
    type Member = Server;

    fn backend(&self) -> Broken {
        Broken::new(self.members.backend(), self.flaw)
    }

    async fn start(&self) -> Server {
        self.members.start().await
    }

    fn settings(&self, server: &Server) -> Place {
        Place {
            settings: self.members.settings(server),
            all_equal: self.flaw == Flaw::EqualSettings,
        }
    }

    async fn kill(&self, server: &Server) {
        self.members.kill(server).await;
    }

    async fn restart(&self, server: &Server) {
        self.members.restart(server).await;
    }

    async fn freeze(&self, server: &Server) {
        self.members.freeze(server).await;
    }

    async fn thaw(&self, server: &Server) {
        self.members.thaw(server).await;
    }

    async fn announce_lame_duck(&self, server: &Server) -> bool {
        self.members.announce_lame_duck(server).await
    }

    async fn connections(&self, server: &Server) -> Option<usize> {
        self.members.connections(server).await
    }

    async fn operate(&self, client: &Client) -> Result<(), Error> {
        let answer = in_memory::operate(client).await;
        match answer {
            Err(error) if self.flaw == Flaw::MumbledEnd && error.kind() == ErrorKind::Retired => {
                Err(Error::new(ErrorKind::Other, "it did not work out"))
            }
            answer => answer,
        }
    }
}

async fn run(flaw: Flaw) -> Report {
    let harness = Hurt {
        members: InMemory::default(),
        flaw,
    };
    conformance::run(&harness).await
}

fn failures(report: &Report) -> Vec<&'static str> {
    report.failed().map(|line| line.behaviour).collect()
}

#[tokio::test(start_paused = true)]
async fn the_wrapper_alone_passes() {
    run(Flaw::None).await.assert();
}

#[tokio::test(start_paused = true)]
async fn every_flaw_is_found_by_its_lines_and_no_others() {
    let mut wrong = Vec::new();
    for case in EXPECTED {
        let report = run(case.flaw).await;
        if failures(&report) != case.lines() {
            let lines: Vec<_> = report.failed().map(|line| format!("    {line}")).collect();
            wrong.push(format!("{:?}:\n{}", case.flaw, lines.join("\n")));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// Nothing passes because nothing was tried: without a connection only those lines are left that ask for none.
#[tokio::test(start_paused = true)]
async fn a_backend_that_connects_nobody_fails_wherever_a_connection_is_needed() {
    let report = run(Flaw::Hermit).await;
    let failed = failures(&report);
    let passed: Vec<_> = report
        .lines()
        .iter()
        .map(|line| line.behaviour)
        .filter(|behaviour| !failed.contains(behaviour))
        .collect();
    assert_eq!(passed, NEED_NO_CONNECTION);
}

/// A line that no flaw fails might as well not be there.
#[tokio::test(start_paused = true)]
async fn every_line_fails_for_some_flaw() {
    let hermit = run(Flaw::Hermit).await;
    let mut found = failures(&hermit);
    found.extend(EXPECTED.iter().flat_map(Case::lines));
    let toothless: Vec<_> = hermit
        .lines()
        .iter()
        .map(|line| line.behaviour)
        .filter(|behaviour| !found.contains(behaviour))
        .collect();
    assert!(toothless.is_empty(), "{toothless:#?}");
}
