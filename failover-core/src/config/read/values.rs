//! The engine's own kinds of values: times, numbers, words.
//!
//! Each answers what it expected, with an example, when it finds something else. The value itself is not repeated
//! unless it is a mistyped word: the error points at it.

use std::time::Duration;

use toml::Spanned;
use toml::de::{DeFloat, DeInteger, DeValue};

use crate::config::limits::{LONGEST, TOO_LONG};
use crate::config::suggest::hint;

/// A value of the file.
pub(super) type Value<'a> = Spanned<DeValue<'a>>;

pub(super) fn expected(what: &str, found: &DeValue<'_>) -> String {
    format!("expected {what}, found {}", kind_of(found))
}

/// The type of a value, for people.
pub(super) fn kind_of(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date or time",
        DeValue::Array(_) => "an array",
        DeValue::Table(_) => "a table",
    }
}

pub(super) fn string(value: &DeValue<'_>) -> Result<String, String> {
    match value {
        DeValue::String(text) => Ok(text.clone().into_owned()),
        other => Err(expected("a string", other)),
    }
}

pub(super) fn flag(value: &DeValue<'_>) -> Result<bool, String> {
    match value {
        DeValue::Boolean(flag) => Ok(*flag),
        other => Err(expected("true or false", other)),
    }
}

/// Any number, also a whole one.
pub(super) fn number(value: &DeValue<'_>) -> Result<f64, String> {
    match value {
        DeValue::Float(text) => float(text).ok_or_else(|| NO_NUMBER.to_owned()),
        DeValue::Integer(whole) => integer(whole)
            // Beyond 2^53 a weight or a rate may be rounded: none is meant to the unit.
            .map(|whole| whole as f64)
            .ok_or_else(|| NO_NUMBER.to_owned()),
        other => Err(expected("a number", other)),
    }
}

/// `inf` is a number of TOML, `1e999` is none.
pub(super) fn float(text: &DeFloat<'_>) -> Option<f64> {
    let number: f64 = text.as_str().parse().ok()?;
    (number.is_finite() || text.as_str().contains(['i', 'n'])).then_some(number)
}

pub(super) const NO_NUMBER: &str = "this number is out of range";

pub(super) fn count(value: &DeValue<'_>) -> Result<u32, String> {
    match value {
        DeValue::Integer(whole) => integer(whole)
            .and_then(|whole| u32::try_from(whole).ok())
            .ok_or_else(|| format!("expected a whole number from 0 to {}", u32::MAX)),
        other => Err(expected("a whole number", other)),
    }
}

/// Whatever the notation; TOML knows no more than 64 bits, some files do.
pub(super) fn integer(whole: &DeInteger<'_>) -> Option<i128> {
    i128::from_str_radix(whole.as_str(), whole.radix()).ok()
}

/// One of a few words.
pub(super) fn word<T: Clone>(value: &DeValue<'_>, words: &[(&str, T)]) -> Result<T, String> {
    let known = words.iter().map(|(word, _)| *word);
    let DeValue::String(text) = value else {
        let all: Vec<String> = known.map(|word| format!("\"{word}\"")).collect();
        return Err(expected(&all.join(" or "), value));
    };
    let found = words.iter().find(|(word, _)| word == text);
    found.map(|(_, meaning)| meaning.clone()).ok_or_else(|| {
        let hint = hint(text, "values", known);
        format!("unknown value `{text}`{hint}")
    })
}

const WRITE_A_DURATION: &str = "write a time like \"500ms\", \"1.5s\", \"2m\" or \"1h\"";

/// `"500ms"`, `"2s"`, `"1.5s"`, `"1m"`, `"1h"`.
pub(super) fn duration(value: &DeValue<'_>) -> Result<Duration, String> {
    match value {
        DeValue::String(text) => parse_duration(text),
        DeValue::Integer(_) | DeValue::Float(_) => {
            Err(format!("a time needs a unit: {WRITE_A_DURATION}"))
        }
        other => Err(format!(
            "expected a time, found {}: {WRITE_A_DURATION}",
            kind_of(other)
        )),
    }
}

fn parse_duration(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    let unit_at = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (amount, unit) = text.split_at(unit_at);
    let nanos_per_unit: u128 = match unit.trim_start() {
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        "" if !amount.is_empty() => return Err(format!("a time needs a unit: {WRITE_A_DURATION}")),
        _ => return Err(format!("this is no time: {WRITE_A_DURATION}")),
    };
    let (whole, fraction) = amount.split_once('.').unwrap_or((amount, "0"));
    // Decimal arithmetic, so that "0.1s" is a tenth to the nanosecond. Digits beyond the ninth decide nothing.
    let fraction = fraction.get(..9).unwrap_or(fraction);
    let (Ok(parts), Some(scale)) = (
        fraction.parse::<u128>(),
        10u128.checked_pow(fraction.len() as u32),
    ) else {
        return Err(format!("this is no time: {WRITE_A_DURATION}"));
    };
    if whole.is_empty() {
        return Err(format!("this is no time: {WRITE_A_DURATION}"));
    }
    // Only digits are left, so that what fails to parse is too large.
    let whole: u64 = whole.parse().map_err(|_| TOO_LONG.to_owned())?;
    let nanos = u128::from(whole) * nanos_per_unit + parts * nanos_per_unit / scale;
    let longest = LONGEST.as_nanos();
    if nanos > longest {
        return Err(TOO_LONG.to_owned());
    }
    u64::try_from(nanos)
        .map(Duration::from_nanos)
        .map_err(|_| TOO_LONG.to_owned())
}
