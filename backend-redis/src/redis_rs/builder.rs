//! The options of checks and of what follows a switch, by code.

use std::time::Duration;

use crate::redis_rs::backend::RedisBuilder;

impl RedisBuilder {
    /// See [`Options::lag_bytes`](crate::Options::lag_bytes).
    pub fn lag_bytes(mut self, bytes: u64) -> Self {
        self.options.lag_bytes = Some(bytes);
        self
    }

    /// See [`Options::lag_time`](crate::Options::lag_time).
    pub fn lag_time(mut self, time: Duration) -> Self {
        self.options.lag_time = time;
        self
    }

    /// See [`Options::check_key`](crate::Options::check_key).
    pub fn check_key(mut self, key: impl Into<String>) -> Self {
        self.options.check_key = key.into();
        self
    }

    /// See [`Options::rest_lag_tolerance`](crate::Options::rest_lag_tolerance).
    pub fn rest_lag_tolerance(mut self, time: Duration) -> Self {
        self.options.rest_lag_tolerance = time;
        self
    }

    /// See [`Options::rest_local`](crate::Options::rest_local).
    pub fn rest_local(mut self, local: bool) -> Self {
        self.options.rest_local = local;
        self
    }

    /// See [`Options::maintenance_notices`](crate::Options::maintenance_notices).
    pub fn maintenance_notices(mut self, notices: bool) -> Self {
        self.options.maintenance_notices = notices;
        self
    }

    /// See [`Options::wait_for_replication`](crate::Options::wait_for_replication).
    pub fn wait_for_replication(mut self, time: Duration) -> Self {
        self.options.wait_for_replication = Some(time);
        self
    }
}
