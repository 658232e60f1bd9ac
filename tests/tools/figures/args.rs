//! The command line: which figures, how thoroughly, and for whom.

use std::ffi::OsString;

use lexopt::prelude::*;

use crate::program::Program;

/// What `--help` prints.
pub(crate) const USAGE: &str = "\
Usage: tests/figures [options]

Measures every figure that README.md and ARCHITECTURE.md claim, and prints each with its target and whether it is met. It
takes some ten minutes on two cores that do nothing else.

Options:
  --quick        fewer rounds: for trying it out, in two minutes or so. Its figures are no figures to write down
  --only WORDS   only the measurements whose command has these words, such as 'drill nats' or 'footprint'
  --json         one JSON object on stdout, and nothing else
  --help         this text

The exit code is 1 if something could not be measured, whatever the other figures are; a target that is missed is printed.";

#[derive(Debug, Default)]
pub(crate) struct Args {
    pub(crate) quick: bool,
    pub(crate) json: bool,
    pub(crate) only: Option<String>,
}

impl Args {
    pub(crate) fn wants(&self, program: &Program) -> bool {
        let only = self.only.as_deref().unwrap_or_default();
        let command = program.words(self.quick);
        only.split_whitespace().all(|word| command.contains(word))
    }
}

/// `None`: only the help is wanted.
pub(crate) fn parse(args: impl Iterator<Item = OsString>) -> Result<Option<Args>, String> {
    read(args).map_err(|error| error.to_string())
}

fn read(args: impl Iterator<Item = OsString>) -> Result<Option<Args>, lexopt::Error> {
    let mut parser = lexopt::Parser::from_args(args);
    let mut parsed = Args::default();
    while let Some(arg) = parser.next()? {
        match arg {
            Short('h') | Long("help") => return Ok(None),
            Long("quick") => parsed.quick = true,
            Long("json") => parsed.json = true,
            Long("only") => parsed.only = Some(parser.value()?.string()?),
            arg => return Err(arg.unexpected()),
        }
    }
    Ok(Some(parsed))
}
