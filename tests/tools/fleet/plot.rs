//! The outage as a picture: dials per second over time, both fleets, on a log scale. An SVG by hand, which every browser
//! shows and every diff can read.

use std::fmt::Write;

use crate::Results;
use crate::record::PerSecond;

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 520.0;
/// The plot itself, within the picture.
const LEFT: f64 = 90.0;
const RIGHT: f64 = 930.0;
const TOP: f64 = 80.0;
const BOTTOM: f64 = 450.0;

const ENGINE: &str = "#1a6fb5";
const LOOPS: &str = "#c2402a";

/// From seconds and counts to places.
struct Scale {
    seconds: f64,
    decades: f64,
}

impl Scale {
    fn x(&self, second: f64) -> f64 {
        LEFT + second / self.seconds * (RIGHT - LEFT)
    }

    /// Nothing at all lies on the axis, as one does.
    fn y(&self, count: u64) -> f64 {
        let decade = (count.max(1) as f64).log10();
        BOTTOM - decade / self.decades * (BOTTOM - TOP)
    }

    /// A step for each second.
    fn path(&self, counts: &PerSecond) -> String {
        let mut path = format!("M{:.1} {BOTTOM}", self.x(0.0));
        for (second, count) in counts.0.iter().enumerate() {
            let (from, to) = (self.x(second as f64), self.x(second as f64 + 1.0));
            let y = self.y(*count);
            let _ = write!(path, " L{from:.1} {y:.1} L{to:.1} {y:.1}");
        }
        let _ = write!(path, " L{:.1} {BOTTOM}", self.x(counts.0.len() as f64));
        path
    }
}

/// The whole picture.
pub(crate) fn svg(results: &Results) -> String {
    let settings = &results.settings;
    let (ours, naive) = (&results.outage.figures.dials, &results.naive.dials);
    let peak = ours.peak().max(naive.peak());
    let scale = Scale {
        seconds: ours.0.len().max(naive.0.len()).max(1) as f64,
        decades: (peak.max(10) as f64).log10().ceil(),
    };
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         font-family=\"sans-serif\" font-size=\"14\" fill=\"#222\">\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"white\"/>\n"
    );
    let title = format!(
        "{} clients, brokers down for {} s, {} connections accepted a second",
        settings.clients, settings.outage_s, settings.accept_rate
    );
    text(&mut out, LEFT, 30.0, "start", &title, "font-size=\"18\"");
    // The outage, so that one sees what is before and after it.
    let until = scale.x(f64::from(settings.outage_s));
    let _ = writeln!(
        out,
        "<rect x=\"{LEFT}\" y=\"{TOP}\" width=\"{:.1}\" height=\"{}\" fill=\"#f1eee6\"/>",
        until - LEFT,
        BOTTOM - TOP
    );
    axes(&mut out, &scale);
    for (counts, colour) in [(naive, LOOPS), (ours, ENGINE)] {
        let _ = writeln!(
            out,
            "<path d=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>",
            scale.path(counts)
        );
    }
    let legend = [
        ("the engine", ours.peak(), ENGINE, LEFT),
        (
            "two loops that retry every 0-21 ms",
            naive.peak(),
            LOOPS,
            LEFT + 290.0,
        ),
    ];
    for (name, peak, colour, x) in legend {
        let label = format!("{name}: peak {peak} dials/s");
        let fill = format!("fill=\"{colour}\" font-weight=\"bold\"");
        text(&mut out, x, 60.0, "start", &label, &fill);
    }
    out + "</svg>\n"
}

fn axes(out: &mut String, scale: &Scale) {
    for decade in 0..=scale.decades as u32 {
        let count = 10_u64.pow(decade);
        let y = scale.y(count);
        line(out, (LEFT, y), (RIGHT, y));
        text(out, LEFT - 8.0, y + 5.0, "end", &grouped(count), "");
    }
    // About ten marks, at round seconds.
    let step = [1, 2, 5, 10, 20, 50, 100, 200, 500]
        .into_iter()
        .find(|step| scale.seconds / f64::from(*step) <= 12.0)
        .unwrap_or(1_000);
    for second in (0..=scale.seconds as u32).step_by(step as usize) {
        let x = scale.x(f64::from(second));
        line(out, (x, BOTTOM), (x, BOTTOM + 6.0));
        text(out, x, BOTTOM + 24.0, "middle", &second.to_string(), "");
    }
    let below = "seconds since the brokers went down (shaded: until they are back)";
    text(
        out,
        (LEFT + RIGHT) / 2.0,
        HEIGHT - 18.0,
        "middle",
        below,
        "",
    );
    let middle = (TOP + BOTTOM) / 2.0;
    let turned = format!("transform=\"rotate(-90 20 {middle})\"");
    text(out, 20.0, middle, "middle", "dials per second", &turned);
}

fn line(out: &mut String, from: (f64, f64), to: (f64, f64)) {
    let _ = writeln!(
        out,
        "<line x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" stroke=\"#bbb\"/>",
        from.0, from.1, to.0, to.1
    );
}

/// `more`: further attributes. Nothing that is written here needs escaping.
fn text(out: &mut String, x: f64, y: f64, anchor: &str, text: &str, more: &str) {
    let _ = writeln!(
        out,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" {more}>{text}</text>"
    );
}

/// 1000000 is hard to read.
fn grouped(count: u64) -> String {
    match count {
        1_000_000.. => format!("{} M", count / 1_000_000),
        1_000.. => format!("{} k", count / 1_000),
        _ => count.to_string(),
    }
}
