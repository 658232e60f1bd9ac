//! What a thousand groups cost a process that holds them and does nothing: memory, processor, sockets, threads, and the time
//! to open them.
//!
//! `cargo footprint` starts two redis-servers and measures groups of two members beside as many plain connections: two
//! connection managers of redis-rs for each group. Each measurement runs in a process of its own, so that none inherits
//! memory from another, and all run over the same servers in turn. `cargo footprint --help` says what can be changed.
//!
//! - [`args`]: the command line.
//! - [`subject`]: what is held open, the groups or the plain connections, and how it is opened.
//! - [`process`]: what the operating system says about this process.
//! - [`sample`]: the course of one measurement, inside its own process.
//! - [`report`]: from the samples to figures, and to paper. Each figure is defined there.
//!
//! Nothing here may tune a group: the settings are those that a user has who sets nothing.

mod args;
mod process;
mod report;
mod sample;
mod subject;
#[cfg(test)]
mod tests;

use std::process::{ExitCode, Stdio};

use args::{Args, Command};
use failover_testkit::server::RedisServer;
use report::Report;
use sample::{Order, Sample};
use subject::Subject;

#[tokio::main]
async fn main() -> ExitCode {
    let done = match args::parse(std::env::args_os().skip(1)) {
        Err(problem) => {
            eprintln!("footprint: {problem}\n\n{}", args::USAGE);
            return ExitCode::from(2);
        }
        Ok(Command::Help) => {
            println!("{}", args::USAGE);
            Ok(())
        }
        Ok(Command::Sample(order)) => sample::take(&order).await.map(|sample| {
            println!("{}", serde_json::json!(sample));
        }),
        Ok(Command::Compare(args)) => compare(&args).await.map(|report| {
            match args.json {
                true => println!("{}", report.json()),
                false => print!("{}", report.text()),
            };
        }),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("footprint: {problem}");
            ExitCode::FAILURE
        }
    }
}

/// All measurements, each in a fresh process. Who goes first changes with every round: the second finds a warmer machine.
async fn compare(args: &Args) -> Result<Report, String> {
    let start = || RedisServer::builder().try_start();
    let servers = [start(), start()].map(|server| server.map_err(|error| error.to_string()));
    let [east, west] = servers;
    let (east, west) = (east?, west?);
    let urls = [east.url(), west.url()];
    let mut report = Report::new(args.groups);
    for round in 0..args.rounds {
        let mut subjects = [Subject::Groups, Subject::Plain];
        subjects.rotate_left(usize::from(round % 2 == 1));
        for parallel in [false, true] {
            for subject in subjects {
                // What is held is the same however it was opened, so it is looked at once.
                let idle = if parallel { 0 } else { args.idle_s };
                let order = Order {
                    subject,
                    groups: args.groups,
                    parallel,
                    idle_s: idle,
                    urls: urls.clone(),
                };
                eprintln!("footprint: {}", order.text());
                report.add(&order, in_a_process(&order).await?);
            }
        }
    }
    Ok(report)
}

async fn in_a_process(order: &Order) -> Result<Sample, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut command = tokio::process::Command::new(program);
    command.args(order.args()).stdin(Stdio::null());
    command.kill_on_drop(true);
    let output = command.output().await.map_err(|error| error.to_string())?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{} failed: {}", order.text(), said.trim_end()));
    }
    serde_json::from_slice(&output.stdout)
        .map_err(|error| format!("{} printed no sample: {error}", order.text()))
}
