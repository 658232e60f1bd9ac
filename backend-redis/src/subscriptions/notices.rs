//! What happens to subscriptions, in the words that events have for it.

/// Subscriptions that are wanted are not there, and it is tried again.
pub(super) const RESUBSCRIBE_FAILED: &str = "resubscribe_failed";
/// They are there again.
pub(super) const RESUBSCRIBED: &str = "resubscribed";
/// The socket of the subscriptions ended or fell silent, and is opened anew.
pub(super) const PUBSUB_LOST: &str = "pubsub_lost";
/// A stream is full.
pub(super) const SLOW_SUBSCRIBER: &str = "slow_subscriber";
