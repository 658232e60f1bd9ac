//! What a connection keeps between two probes of `lag-aware`. Nothing is asked here.

use http_body_util::Empty;
use hyper::body::Bytes;
use hyper::client::conn::http1::SendRequest;
use tokio::sync::Mutex;

/// An open socket to the REST interface, idle.
pub(super) type Line = SendRequest<Empty<Bytes>>;

/// What a connection keeps for its next probe.
#[derive(Default)]
pub(crate) struct Session(pub(super) Mutex<Kept>);

#[derive(Default)]
pub(super) struct Kept {
    /// The number of the database, once it was found.
    pub(super) uid: Option<u64>,
    pub(super) line: Option<Line>,
}
