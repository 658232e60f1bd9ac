//! Every figure that README.md and ARCHITECTURE.md claim, and those that this project holds itself to, measured in one run.
//!
//! `tests/figures` builds what is needed and starts this program; `tests/figures --help` says what can be changed. It measures
//! nothing itself: it runs the drills, the benches, the fleet, the footprint and the conformance tests, and puts what they
//! say beside what the documents say.
//!
//! - [`args`]: the command line.
//! - [`table`]: the table of figures. Whoever writes a figure into a document adds a row there; a test holds the two together.
//! - [`claims`]: what the documents say, read from their text.
//! - [`program`]: what is run for a figure, and how its answer becomes JSON.
//! - [`report`]: what came out, for people and for programs.
//!
//! Never to come in: a measurement, and a number that a document claims.

mod args;
mod claims;
mod program;
mod report;
mod table;
#[cfg(test)]
mod tests;

use std::process::ExitCode;
use std::time::Instant;

use report::Report;

fn main() -> ExitCode {
    let args = match args::parse(std::env::args_os().skip(1)) {
        Ok(Some(args)) => args,
        Ok(None) => {
            println!("{}", args::USAGE);
            return ExitCode::SUCCESS;
        }
        Err(problem) => {
            eprintln!("figures: {problem}\n\n{}", args::USAGE);
            return ExitCode::from(2);
        }
    };
    let began = Instant::now();
    let mut report = Report::default();
    for measurement in table::all() {
        if !args.wants(&measurement.program) {
            continue;
        }
        let words = measurement.program.words(args.quick);
        eprintln!("figures: {:>4} s  {words}", began.elapsed().as_secs());
        let answer = measurement.program.run(args.quick);
        report.add(&measurement, &words, &answer);
    }
    if report.is_empty() {
        eprintln!("figures: nothing here is called {:?}", args.only);
        return ExitCode::from(2);
    }
    match args.json {
        true => println!("{}", report.json(args.quick)),
        false => print!("{}", report.text()),
    }
    // A target that is missed says something about this machine too; a figure that could not be measured says nothing.
    match report.failed() {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}
