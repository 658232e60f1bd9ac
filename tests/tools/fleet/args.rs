//! The command line. Four numbers and two outputs, read by hand: whoever builds this program builds no argument parser.

use std::ops::RangeInclusive;
use std::path::PathBuf;

/// What `--help` prints.
pub(crate) const USAGE: &str = "\
Usage: fleet [options]

Simulates a fleet of clients, each with the engine's own decisions, against three brokers in virtual time: a whole
outage (beside two loops per client that retry every 0-21 ms), a rolling restart and a failback.

Options:
  --clients N      how many clients [10000]
  --accept-rate N  connections a second that the brokers accept together [1000]
  --outage S       seconds for which all brokers are down [10]
  --seed N         another run of the same odds [1]
  --json           one JSON object on stdout, and nothing else
  --plot FILE.svg  dials per second over time, both fleets, as a picture
  --help           this text";

/// Brokers that take longer than the connect timeout for one connection would never accept anybody.
const SLOWEST: u32 = 10;

/// What is simulated.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub(crate) clients: u32,
    pub(crate) accept_rate: u32,
    pub(crate) outage_s: u32,
    pub(crate) seed: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            clients: 10_000,
            accept_rate: 1_000,
            outage_s: 10,
            seed: 1,
        }
    }
}

/// What is simulated, and who reads the result.
#[derive(Debug, Default)]
pub(crate) struct Args {
    pub(crate) settings: Settings,
    pub(crate) json: bool,
    pub(crate) plot: Option<PathBuf>,
}

/// `None`: only the help is wanted.
pub(crate) fn parse(args: impl IntoIterator<Item = String>) -> Result<Option<Args>, String> {
    let mut parsed = Args::default();
    let mut args = args.into_iter();
    while let Some(arg) = args.next() {
        // Both `--clients 5` and `--clients=5`.
        let (name, mut value) = match arg.split_once('=') {
            Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
            None => (arg, None),
        };
        let mut text = || {
            value
                .take()
                .or_else(|| args.next())
                .ok_or_else(|| format!("{name} needs a value"))
        };
        let settings = &mut parsed.settings;
        match name.as_str() {
            "--clients" => settings.clients = number(&name, &text()?, 1..=100_000)?,
            "--accept-rate" => settings.accept_rate = number(&name, &text()?, SLOWEST..=1_000_000)?,
            "--outage" => settings.outage_s = number(&name, &text()?, 1..=600)?,
            "--seed" => settings.seed = number(&name, &text()?, 1..=u32::MAX)?.into(),
            "--plot" => parsed.plot = Some(text()?.into()),
            "--json" => parsed.json = true,
            "--help" => return Ok(None),
            _ => return Err(format!("there is no option {name}")),
        }
        if value.is_some() {
            return Err(format!("{name} takes no value"));
        }
    }
    Ok(Some(parsed))
}

fn number(name: &str, text: &str, sound: RangeInclusive<u32>) -> Result<u32, String> {
    match text.parse() {
        Ok(number) if sound.contains(&number) => Ok(number),
        _ => Err(format!(
            "{name} must be a whole number from {} to {}",
            sound.start(),
            sound.end()
        )),
    }
}
