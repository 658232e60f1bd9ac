//! The report for programs: one object on one line. Its keys are a promise; further ones may be added.

use serde_json::{Value, json};

use crate::Results;
use crate::figures::{Back, Figures, ideal};

/// Ends with a line break.
pub(crate) fn object(results: &Results) -> String {
    let settings = &results.settings;
    let rolling = &results.rolling;
    let failback = &results.failback;
    let outage = &results.outage;
    let object = json!({
        "clients": settings.clients,
        "accept_rate": settings.accept_rate,
        "outage_s": settings.outage_s,
        "ours": figures(&outage.figures),
        "naive": figures(&results.naive),
        "ideal_back_s": { "p99": seconds(ideal(settings.clients, settings.accept_rate).p99) },
        "standby_s": back(outage.standbys_s),
        "most_dials_in_flight": outage.most_in_flight,
        "rolling_restart": {
            "peak_dials_per_s": rolling.dials.peak(),
            "peak_switches_per_s": rolling.switches.peak(),
            "interrupted": rolling.interrupted,
            "longest_gap_s": seconds(rolling.longest_gap_s),
            "whole_s": seconds(rolling.whole_s),
        },
        "failback": {
            "peak_dials_per_s": failback.dials.peak(),
            "peak_switches_per_s": failback.failbacks.peak(),
            "switches": failback.failbacks.total(),
            "longest_gap_s": seconds(failback.longest_gap_s),
        },
    });
    format!("{object}\n")
}

fn figures(figures: &Figures) -> Value {
    json!({ "peak_dials_per_s": figures.dials.peak(), "back_s": back(figures.back) })
}

fn back(back: Back) -> Value {
    json!({ "p50": seconds(back.p50), "p99": seconds(back.p99), "max": seconds(back.max) })
}

/// To the millisecond: more digits would claim more than a simulation knows.
fn seconds(seconds: f64) -> f64 {
    (seconds * 1e3).round() / 1e3
}
