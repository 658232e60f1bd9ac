//! What can be subscribed to, and what comes of it.
//!
//! Plain values. Nothing here knows a driver, a socket or a member's state.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use backend_api::MemberName;

/// The three kinds of subscription that Redis knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    Channel,
    Pattern,
    Shard,
}

/// One subscription as a server knows it.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Topic {
    pub(crate) kind: Kind,
    pub(crate) name: Arc<[u8]>,
}

impl Topic {
    pub(crate) fn new(kind: Kind, name: impl Into<Arc<[u8]>>) -> Self {
        let name = name.into();
        Self { kind, name }
    }
}

impl fmt::Debug for Topic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {}", self.kind, String::from_utf8_lossy(&self.name))
    }
}

/// A published message as it came from a server.
pub(crate) struct Published {
    /// What it was subscribed to by.
    pub(crate) topic: Topic,
    /// Where it was published; for channels the same as the topic's name.
    pub(crate) channel: Arc<[u8]>,
    pub(crate) payload: Vec<u8>,
}

/// One message that came in on a subscription. Cheap to clone.
#[derive(Clone)]
pub struct Message(Arc<Inner>);

struct Inner {
    published: Published,
    member: MemberName,
}

impl Message {
    pub(crate) fn new(published: Published, member: MemberName) -> Self {
        Self(Arc::new(Inner { published, member }))
    }

    /// The channel that it was published to.
    pub fn channel(&self) -> &[u8] {
        &self.0.published.channel
    }

    /// The channel as text; what is not UTF-8 in it is replaced.
    pub fn channel_name(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(self.channel())
    }

    /// The pattern that matched, where the subscription was to a pattern.
    pub fn pattern(&self) -> Option<&[u8]> {
        let topic = &self.0.published.topic;
        (topic.kind == Kind::Pattern).then_some(&*topic.name)
    }

    /// Whether it came from a sharded channel (SPUBLISH).
    pub fn is_sharded(&self) -> bool {
        self.0.published.topic.kind == Kind::Shard
    }

    /// What was published.
    pub fn payload(&self) -> &[u8] {
        &self.0.published.payload
    }

    /// What was published, as text; what is not UTF-8 in it is replaced.
    pub fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(self.payload())
    }

    /// The member that it came from.
    pub fn member(&self) -> &MemberName {
        &self.0.member
    }
}

/// Without the payload, which may be anything.
impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Message")
            .field("topic", &self.0.published.topic)
            .field("channel", &self.channel_name())
            .field("bytes", &self.payload().len())
            .field("member", &self.0.member)
            .finish()
    }
}

/// What a planned move may do to the messages of a stream.
///
/// No choice makes Redis keep messages: what is published while nobody listens is gone, and so is what a killed server
/// had not yet sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Delivery {
    /// The old and the new active are both listened to for a while. A planned move loses nothing; a message that reaches
    /// both servers (the new one is a replica of the old, or the publisher sends to both) comes twice.
    #[default]
    AtLeastOnce,
    /// Only one member is listened to at a time: from just before the move only what the new one sends counts. A message
    /// published on the old one at that moment may be lost. The same message comes twice only where the new member is a
    /// replica that passes it on after the move.
    AtMostOnce,
}
