//! What `${VARIABLE}` and `{ file = ".." }` stand for, and how it is kept out of every text.
//!
//! A value that came from outside the file is remembered here for as long as its table is read, so that it can be
//! struck out of errors whose texts come from serde or from a backend. It is in no log and no `Debug`. Only strings
//! are replaced: a table `{ file = ".." }` is a secret only where the backend's type wants a string.

use std::cell::RefCell;
use std::path::Path;

use super::Outside;
use toml::Spanned;
use toml::de::{DeTable, DeValue as Value};

/// What stands in a text instead of a secret.
const STRUCK_OUT: &str = "***";

/// The values that must not appear in errors about one table.
#[derive(Default)]
pub(super) struct Secrets(RefCell<Vec<String>>);

impl Secrets {
    fn keep(&self, value: &str) {
        let mut kept = self.0.borrow_mut();
        // Others print it quoted, or without the blanks around it.
        let quoted = format!("{value:?}");
        let quoted = &quoted[1..quoted.len() - 1];
        for form in [value, value.trim(), quoted] {
            if !form.is_empty() && !kept.iter().any(|known| known == form) {
                kept.push(form.to_owned());
            }
        }
        // The longest first, or a short one that is part of a longer leaves the rest of that in view.
        kept.sort_by_key(|form| std::cmp::Reverse(form.len()));
    }

    /// The text without secrets.
    pub(super) fn strike_out(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for secret in self.0.borrow().iter() {
            if text.contains(secret.as_str()) {
                text = text.replace(secret.as_str(), STRUCK_OUT);
            }
        }
        text
    }
}

/// Replaces `${VARIABLE}` in all strings below. `wrong` hears of what cannot be replaced, and where.
pub(super) fn expand(
    value: &mut Spanned<Value<'_>>,
    env: &dyn Fn(&str) -> Option<String>,
    secrets: &Secrets,
    wrong: &mut dyn FnMut(usize, &str),
) {
    let at = value.span().start;
    match value.get_mut() {
        Value::String(text) => {
            if !text.contains("${") {
                return;
            }
            match interpolate(text, env, secrets) {
                Ok(whole) => *text = whole.into(),
                Err(message) => wrong(at, &message),
            }
        }
        Value::Array(items) => {
            for item in items.iter_mut() {
                expand(item, env, secrets, wrong);
            }
        }
        Value::Table(table) => {
            for (_, item) in table.iter_mut() {
                expand(item, env, secrets, wrong);
            }
        }
        _ => {}
    }
}

/// `a${B}c` with B from the environment. `$${` is a literal `${`; what a variable holds is taken as it is.
fn interpolate(
    text: &str,
    env: &dyn Fn(&str) -> Option<String>,
    secrets: &Secrets,
) -> Result<String, String> {
    let mut whole = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("${") {
        let (before, from) = rest.split_at(start);
        if let Some(before) = before.strip_suffix('$') {
            whole.push_str(before);
            whole.push_str("${");
            rest = &from[2..];
            continue;
        }
        whole.push_str(before);
        let Some((name, after)) = from[2..].split_once('}') else {
            return Err("`${` without `}`; a literal `${` is written `$${`".to_owned());
        };
        if !is_variable(name) {
            return Err(
                "between `${` and `}` stands the name of an environment variable, like `${REDIS_PASSWORD}`; \
                 a literal `${` is written `$${`"
                    .to_owned(),
            );
        }
        let value =
            env(name).ok_or_else(|| format!("the environment variable `{name}` is not set"))?;
        secrets.keep(&value);
        whole.push_str(&value);
        rest = after;
    }
    whole.push_str(rest);
    Ok(whole)
}

fn is_variable(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes
        .next()
        .is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// The path in `{ file = ".." }`, if that is what the table is.
pub(super) fn file_of<'t>(table: &'t DeTable<'_>) -> Option<&'t str> {
    match (table.len(), table.get("file")) {
        (1, Some(path)) => path.get_ref().as_str(),
        _ => None,
    }
}

/// The content of a secret file, without the line end that editors leave at the end of it.
pub(super) fn read_secret(
    path: &str,
    outside: &Outside<'_>,
    secrets: &Secrets,
) -> Result<String, String> {
    let folder = outside.folder;
    let full = folder.map_or_else(|| Path::new(path).to_owned(), |folder| folder.join(path));
    let content = std::fs::read_to_string(&full);
    outside.saw(full, content.as_deref().ok());
    let content =
        content.map_err(|error| format!("the secret file `{path}` cannot be read: {error}"))?;
    let content = content.strip_suffix('\n').unwrap_or(&content);
    let content = content.strip_suffix('\r').unwrap_or(content);
    secrets.keep(content);
    Ok(content.to_owned())
}
