//! Who is meant: the names and numbers by which engine and backends speak about members and connections.
//!
//! These are plain values. Nothing here may know how a connection is made or what state a member is in.

use std::fmt;
use std::sync::Arc;

use crate::{Error, ErrorKind};

/// The name of a member as the configuration gives it. Cheap to clone.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MemberName(Arc<str>);

impl MemberName {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for MemberName {
    fn from(name: &str) -> Self {
        Self(name.into())
    }
}

impl From<String> for MemberName {
    fn from(name: String) -> Self {
        Self(name.into())
    }
}

impl fmt::Display for MemberName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for MemberName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", &*self.0)
    }
}

impl PartialEq<str> for MemberName {
    fn eq(&self, other: &str) -> bool {
        &*self.0 == other
    }
}

impl PartialEq<&str> for MemberName {
    fn eq(&self, other: &&str) -> bool {
        &*self.0 == *other
    }
}

impl serde::Serialize for MemberName {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

/// The priority of a member: a positive, finite number. The highest weight among the eligible members is
/// active; a weight is no share of the load.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
#[serde(transparent)]
pub struct Weight(f64);

impl Weight {
    /// Checks a weight: zero, negative, infinite and NaN are refused with [`ErrorKind::Config`].
    pub fn new(value: f64) -> Result<Self, Error> {
        if value.is_finite() && value > 0.0 {
            Ok(Self(value))
        } else {
            Err(Error::new(
                ErrorKind::Config,
                format!("the weight {value} is not a positive finite number"),
            ))
        }
    }

    /// The number.
    pub fn get(self) -> f64 {
        self.0
    }
}

impl Default for Weight {
    /// 1.0
    fn default() -> Self {
        Self(1.0)
    }
}

// A checked weight is never NaN and never a negative zero, so equality, order and hash agree on its bits.
impl Eq for Weight {}

impl PartialOrd for Weight {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Weight {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl std::hash::Hash for Weight {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.0.to_bits().hash(state);
    }
}

/// One configured place to connect to: a name, a weight, and the backend's own settings.
#[derive(Clone, PartialEq)]
pub struct Member<S> {
    /// Unique within its group.
    pub name: MemberName,
    /// See [`Weight`].
    pub weight: Weight,
    /// What the backend reads from the member's table beyond the engine's keys.
    pub settings: S,
}

impl<S> Member<S> {
    /// A member of the default weight, 1.0.
    pub fn new(name: impl Into<MemberName>, settings: S) -> Self {
        Self {
            name: name.into(),
            weight: Weight::default(),
            settings,
        }
    }
}

// By hand: settings may hold secrets, so they are never printed from here.
impl<S> fmt::Debug for Member<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Member")
            .field("name", &self.name)
            .field("weight", &self.weight.get())
            .finish_non_exhaustive()
    }
}

/// Numbers the connections of a group: every new connection, to whichever member, has a number of its own,
/// so that whatever is heard late can be told from what is heard of the connection in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
#[serde(transparent)]
pub struct Generation(pub u64);

impl fmt::Display for Generation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

/// Counts how often the active slot was filled. It only rises; unlike a generation it also tells a
/// connection that is active again, after it was drained, from its first time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
#[serde(transparent)]
pub struct Epoch(pub u64);
