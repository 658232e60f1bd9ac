//! The report for programs: one object on one line. Its keys are a promise; further ones may be added. Written by hand:
//! it is nothing but numbers.

use crate::Results;
use crate::figures::{Back, Figures, ideal};

/// Ends with a line break.
pub(crate) fn object(results: &Results) -> String {
    let settings = &results.settings;
    let ideal = ideal(settings.clients, settings.accept_rate);
    let rolling = &results.rolling;
    let failback = &results.failback;
    let outage = &results.outage;
    let all = [
        ("clients", settings.clients.to_string()),
        ("accept_rate", settings.accept_rate.to_string()),
        ("outage_s", settings.outage_s.to_string()),
        ("ours", figures(&outage.figures)),
        ("naive", figures(&results.naive)),
        ("ideal_back_s", fields(&[("p99", number(ideal.p99))])),
        ("standby_s", back(outage.standbys_s)),
        ("most_dials_in_flight", outage.most_in_flight.to_string()),
        (
            "rolling_restart",
            fields(&[
                ("peak_dials_per_s", rolling.dials.peak().to_string()),
                ("peak_switches_per_s", rolling.switches.peak().to_string()),
                ("interrupted", rolling.interrupted.to_string()),
                ("longest_gap_s", number(rolling.longest_gap_s)),
                ("whole_s", number(rolling.whole_s)),
            ]),
        ),
        (
            "failback",
            fields(&[
                ("peak_dials_per_s", failback.dials.peak().to_string()),
                ("peak_switches_per_s", failback.failbacks.peak().to_string()),
                ("switches", failback.failbacks.total().to_string()),
                ("longest_gap_s", number(failback.longest_gap_s)),
            ]),
        ),
    ];
    fields(&all) + "\n"
}

fn figures(figures: &Figures) -> String {
    fields(&[
        ("peak_dials_per_s", figures.dials.peak().to_string()),
        ("back_s", back(figures.back)),
    ])
}

fn back(back: Back) -> String {
    fields(&[
        ("p50", number(back.p50)),
        ("p99", number(back.p99)),
        ("max", number(back.max)),
    ])
}

fn number(seconds: f64) -> String {
    format!("{seconds:.3}")
}

/// The values are JSON already; the keys need no escaping.
fn fields(fields: &[(&str, String)]) -> String {
    let inner: Vec<String> = fields
        .iter()
        .map(|(key, value)| format!("\"{key}\": {value}"))
        .collect();
    format!("{{{}}}", inner.join(", "))
}
