//! Durations as configurations write them: `"500ms"`, `"2s"`, `"1m"`, for the options and settings of backends.
//!
//! ```
//! # use std::time::Duration;
//! #[derive(serde::Deserialize)]
//! struct Options {
//!     #[serde(default, deserialize_with = "backend_api::duration::optional")]
//!     keepalive: Option<Duration>,
//! }
//! ```
//!
//! A number without a unit is refused: nobody should have to guess it.

use std::time::Duration;

use serde::{Deserialize, Deserializer, de};

/// Reads `"500ms"`, `"1.5s"`, `"1m"` or `"1h"`. The error is a text for people.
pub fn parse(text: &str) -> Result<Duration, String> {
    let explain = || format!("{text:?} is not a duration: write \"500ms\", \"2s\" or \"1m\"");
    let split = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .ok_or_else(explain)?;
    let (number, unit) = text.split_at(split);
    let number: f64 = number.parse().map_err(|_| explain())?;
    let seconds = match unit.trim() {
        "ms" => number / 1e3,
        "s" => number,
        "m" => number * 60.0,
        "h" => number * 3600.0,
        _ => return Err(explain()),
    };
    Duration::try_from_secs_f64(seconds).map_err(|_| explain())
}

/// Reads a value that is there.
pub fn required<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
    parse(&String::deserialize(from)?).map_err(de::Error::custom)
}

/// Reads a value that may be absent.
pub fn optional<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
    Option::<String>::deserialize(from)?
        .map(|text| parse(&text).map_err(de::Error::custom))
        .transpose()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_a_unit() {
        assert_eq!(parse("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(parse("1.5s"), Ok(Duration::from_millis(1500)));
        assert_eq!(parse("2 m"), Ok(Duration::from_secs(120)));
        for wrong in ["", "5", "s", "-1s", "5 parsecs", "1e99h"] {
            assert!(parse(wrong).unwrap_err().contains("500ms"), "{wrong}");
        }
    }
}
