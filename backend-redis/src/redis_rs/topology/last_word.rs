//! What the tasks have in common that look after a member which is several servers: one for a cluster, one for a master behind
//! sentinels. What a steward does stands with each.

use std::sync::Arc;
use std::time::Duration;

use backend_api::{Error, Signals};

use crate::redis_rs::line::Line;
use crate::settings::Settings;

/// What is over sooner is no news, and where the member is lost at once that is all there is to say.
pub(crate) const UNSAID: Duration = Duration::from_millis(250);

/// Says that the connection is lost when the steward is gone, whyever.
pub(crate) struct LastWord {
    pub(crate) line: Arc<Line>,
    pub(crate) signals: Signals<Settings>,
    pub(crate) reason: Error,
}

impl Drop for LastWord {
    fn drop(&mut self) {
        self.line.end(self.line.revision());
        if !self.line.is_retired() {
            self.signals.lost(self.reason.clone());
        }
    }
}
