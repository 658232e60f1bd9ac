//! What a new configuration changed, for people and programs.

use std::fmt;

use backend_api::MemberName;
use serde::Serialize;

/// What a new configuration changed. A member stands in several lists if several things of it changed.
///
/// What is listed was accepted: removals and replacements are under way, and events tell how they go.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Reloaded {
    /// The keys and tables of `[group]` that differ, such as `failback` and `standby`.
    pub group: Vec<&'static str>,
    /// Members that are new.
    pub added: Vec<MemberName>,
    /// Members that go, as soon as the group can do without them.
    pub removed: Vec<MemberName>,
    /// Members that are not configured any more, and stay because other members tell of them.
    pub discovered: Vec<MemberName>,
    /// Members with other connection settings: a new connection takes the old one's place once it is proven.
    pub replaced: Vec<MemberName>,
    /// Members with another weight or other rules.
    pub changed: Vec<MemberName>,
    /// Members that take part from now on.
    pub enabled: Vec<MemberName>,
    /// Members that are kept out, as soon as the group can do without them.
    pub disabled: Vec<MemberName>,
}

impl Reloaded {
    /// Nothing differed.
    pub fn is_unchanged(&self) -> bool {
        *self == Self::default()
    }
}

impl fmt::Display for Reloaded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut comma = "";
        if !self.group.is_empty() {
            write!(f, "group.{}", self.group.join(", group."))?;
            comma = "; ";
        }
        for (what, names) in [
            ("added", &self.added),
            ("removed", &self.removed),
            ("left to discovery", &self.discovered),
            ("replaced", &self.replaced),
            ("changed", &self.changed),
            ("enabled", &self.enabled),
            ("disabled", &self.disabled),
        ] {
            for (index, name) in names.iter().enumerate() {
                match index {
                    0 => write!(f, "{comma}{what} {name}")?,
                    _ => write!(f, ", {name}")?,
                }
                comma = "; ";
            }
        }
        if comma.is_empty() {
            f.write_str("nothing differs")?;
        }
        Ok(())
    }
}
