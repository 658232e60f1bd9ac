//! The report for people: what happened second by second, then the figures beside what they are measured against.

use std::fmt::Write;

use crate::Results;
use crate::figures::ideal;
use crate::record::PerSecond;

/// How wide a bar can be.
const WIDTH: f64 = 56.0;

/// All of it.
pub(crate) fn text(results: &Results) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = outage(results, &mut out)
        .and_then(|()| rolling(results, &mut out))
        .and_then(|()| failback(results, &mut out));
    out
}

fn outage(results: &Results, out: &mut String) -> std::fmt::Result {
    let settings = &results.settings;
    let (ours, naive) = (&results.outage.figures, &results.naive);
    writeln!(
        out,
        "{} clients; three brokers that together accept {} connections a second; seed {}\n\n\
         Whole outage: all brokers are down for {} s\n\n\
         Dials per second at the brokers (log scale; # the engine, - two loops that retry every 0-21 ms)\n\n\
         second    engine  two loops",
        settings.clients, settings.accept_rate, settings.seed, settings.outage_s
    )?;
    let seconds = ours.dials.0.len().max(naive.dials.0.len());
    let top = ours.dials.peak().max(naive.dials.peak());
    for second in 0..seconds {
        let (a, b) = (ours.dials.at(second), naive.dials.at(second));
        let (engine, loops) = (log_bar(a, top), log_bar(b, top));
        let bar = "#".repeat(engine) + &"-".repeat(loops.saturating_sub(engine));
        let up = if second == settings.outage_s as usize {
            "  < brokers are back"
        } else {
            ""
        };
        writeln!(out, "{second:6} {a:9} {b:10}  {bar}{up}")?;
    }
    let best = ideal(settings.clients, settings.accept_rate);
    let (a, b) = (ours.back, naive.back);
    let (peak_a, peak_b) = (ours.dials.peak(), naive.dials.peak());
    writeln!(
        out,
        "\n{:<28} {:>10} {:>10} {:>12}",
        "", "engine", "two loops", "ideal queue"
    )?;
    writeln!(
        out,
        "{:<28} {peak_a:>10} {peak_b:>10} {:>12}",
        "peak, dials a second", "-"
    )?;
    for (name, a, b, best) in [
        ("50 % have an active after", a.p50, b.p50, best.p50),
        ("99 % have an active after", a.p99, b.p99, best.p99),
        ("all have an active after", a.max, b.max, best.max),
    ] {
        writeln!(out, "{name:<28} {a:>8.2} s {b:>8.2} s {best:>10.2} s")?;
    }
    let standbys = results.outage.standbys_s;
    writeln!(
        out,
        "\nThe peak is {:.1} times lower (target: at least 20); 99 % are back in {:.2} times the ideal (target: at most 2).\n\
         Most dials at once of a client without an active: {}. All have a standby again {:.1} s after the return (50 %: {:.1} s).",
        peak_b as f64 / peak_a.max(1) as f64,
        a.p99 / best.p99,
        results.outage.most_in_flight,
        standbys.max,
        standbys.p50,
    )?;
    incomplete(results.outage.complete, out)
}

fn rolling(results: &Results, out: &mut String) -> std::fmt::Result {
    let rolling = &results.rolling;
    writeln!(
        out,
        "\nRolling restart: each broker in turn announces it, goes 10 s later, is back after 5 s; the next one 45 s later\n"
    )?;
    rows(&rolling.switches, "switches", out)?;
    writeln!(
        out,
        "\nPeak {} dials and {} switches a second. {} clients were without an active, for {:.2} s at most.\n\
         All are complete {:.1} s after the last return.",
        rolling.dials.peak(),
        rolling.switches.peak(),
        rolling.interrupted,
        rolling.longest_gap_s,
        rolling.whole_s,
    )?;
    incomplete(rolling.complete, out)
}

fn failback(results: &Results, out: &mut String) -> std::fmt::Result {
    let failback = &results.failback;
    writeln!(
        out,
        "\nFailback: the heaviest member dies with everybody on it, and is back after {} s\n",
        results.settings.outage_s
    )?;
    rows(&failback.failbacks, "switches back", out)?;
    writeln!(
        out,
        "\nPeak {} switches back a second, of {}. Nobody was without an active for more than {:.3} s.",
        failback.failbacks.peak(),
        failback.failbacks.total(),
        failback.longest_gap_s,
    )?;
    incomplete(failback.complete, out)
}

/// Only the seconds in which something happened.
fn rows(counts: &PerSecond, name: &str, out: &mut String) -> std::fmt::Result {
    writeln!(out, "second {name:>14}")?;
    let top = counts.peak().max(1) as f64;
    for (second, count) in counts.0.iter().enumerate().filter(|(_, count)| **count > 0) {
        let bar = "#".repeat((*count as f64 / top * WIDTH).ceil() as usize);
        writeln!(out, "{second:6} {count:14}  {bar}")?;
    }
    Ok(())
}

fn incomplete(complete: bool, out: &mut String) -> std::fmt::Result {
    if !complete {
        writeln!(out, "Given up after an hour: not everybody had recovered.")?;
    }
    Ok(())
}

/// One dial is a bar of one.
fn log_bar(count: u64, top: u64) -> usize {
    if count == 0 {
        return 0;
    }
    let share = (count as f64).ln() / (top.max(2) as f64).ln();
    1 + (share * (WIDTH - 1.0)).round() as usize
}
