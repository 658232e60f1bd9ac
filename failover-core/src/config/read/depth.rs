//! Keeps a text from ending the process by its depth alone.
//!
//! toml bounds how deep brackets nest and how long a dotted key is, but not the product of both, and a tree that deep
//! overflows the stack when it is merely dropped. So it is taken apart here, level by level, before anything
//! recursive sees it.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::values::Value;

/// How deep tables and arrays may nest. No configuration comes near it.
const DEEPEST: usize = 64;

/// The table, or where it nests too deeply.
pub(super) fn bounded(table: DeTable<'_>) -> Result<DeTable<'_>, usize> {
    let Some(at) = too_deep(&table) else {
        return Ok(table);
    };
    let mut left: Vec<Value<'_>> = table.into_iter().map(|(_, value)| value).collect();
    while let Some(value) = left.pop() {
        match Spanned::into_inner(value) {
            DeValue::Table(table) => left.extend(table.into_iter().map(|(_, value)| value)),
            DeValue::Array(items) => left.extend(items),
            _ => {}
        }
    }
    Err(at)
}

fn too_deep(table: &DeTable<'_>) -> Option<usize> {
    let mut left: Vec<(usize, &Value<'_>)> = table.values().map(|value| (1, value)).collect();
    while let Some((depth, value)) = left.pop() {
        if depth > DEEPEST {
            return Some(value.span().start);
        }
        match value.get_ref() {
            DeValue::Table(table) => left.extend(table.values().map(|value| (depth + 1, value))),
            DeValue::Array(items) => left.extend(items.iter().map(|value| (depth + 1, value))),
            _ => {}
        }
    }
    None
}
