//! What a configuration says about NATS: the options of the group and the settings of each member.
//!
//! Everything is checked here or in [`target`](crate::target), before anything is connected. Secrets come in here and
//! leave only towards the server: no Debug, no error and no log may show them.

mod options;
mod settings;

pub use options::{Carry, Options};
pub use settings::Settings;
