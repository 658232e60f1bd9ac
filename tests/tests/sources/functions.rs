//! Finds a function in the text of a file, for the tests that hold lists and documents against what they name.
//!
//! By the layout that rustfmt guarantees, not by parsing: good enough for test functions, and nothing else is asked.

/// The function `name` in a file, with the comments and attributes above it. It ends with the first line that closes at
/// its own indentation, which rustfmt guarantees.
pub(crate) fn function<'a>(text: &'a str, name: &str) -> Option<Vec<&'a str>> {
    let lines: Vec<&str> = text.lines().collect();
    let start = lines.iter().position(|line| {
        let declared = line
            .split_once("fn ")
            .and_then(|(_, rest)| rest.strip_prefix(name));
        declared.is_some_and(|rest| rest.starts_with(['(', '<']))
            && !line.trim_start().starts_with("//")
    })?;
    let above = lines[..start].iter().rev().take_while(|line| {
        let line = line.trim();
        line.starts_with("//") || !(line.is_empty() || line.ends_with(['}', ';', '{']))
    });
    let indent = lines[start].len() - lines[start].trim_start().len();
    let closes = |line: &&str| {
        line.get(indent..).is_some_and(|rest| rest.starts_with('}'))
            && line[..indent].trim().is_empty()
    };
    let end = match lines[start].ends_with('}') {
        true => start,
        false => start + lines[start..].iter().position(closes)?,
    };
    Some(lines[start - above.count()..=end].to_vec())
}
