//! Redis for the failover engine, through redis-rs.
