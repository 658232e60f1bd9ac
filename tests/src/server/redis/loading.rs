//! A server that is up and says `LOADING`, for as long as a test needs.
//!
//! The real thing, not an imitation: the server has saved some keys and reads them back at its start, slowed down by
//! its own `key-load-delay`. While it loads it accepts connections, refuses commands, and calls itself a master.

use std::time::Duration;

use super::RedisServer;

/// So many that the delay of one key is short, and few enough to be made in milliseconds.
const KEYS: u32 = 2000;

impl RedisServer {
    /// Restarts it with its data, so that it answers `LOADING` for at least `lasting` from now; then it serves.
    /// Everything it holds is saved, and some keys named `loading:*` are added.
    ///
    /// # Panics
    ///
    /// When it does not come up, or when it is not running.
    #[track_caller]
    pub fn restart_loading(&self, lasting: Duration) {
        let fill = "for i = 1, tonumber(ARGV[1]) do redis.call('SET', 'loading:' .. i, i) end";
        self.cli(&["EVAL", fill, "0", &KEYS.to_string()]);
        self.cli(&["SAVE"]);
        self.kill();
        // The second makes the server look at its clients between any two keys, not after every 2 MiB.
        let further = format!(
            "key-load-delay {}\nloading-process-events-interval-bytes 1024\n",
            lasting.as_micros() / u128::from(KEYS)
        );
        self.launch(&further, true)
            .unwrap_or_else(|error| panic!("{error}"));
    }
}
