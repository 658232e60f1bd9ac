//! Free loopback ports for servers.
//!
//! Not "bind port 0 and look": the kernel hands those out of the range from which it also takes the local ports of
//! outgoing connections. A server that is killed to be restarted on its port may then find it taken by some client, and a
//! client that dials the dead server again and again may even be connected to itself. So ports come from below that
//! range, tried one after the other from a random place, since several test processes look at the same time.
//!
//! A port is only free when it is looked at. Whoever uses it must be ready to ask again: [`super::redis`] does.

use std::collections::hash_map::RandomState;
use std::fs;
use std::hash::{BuildHasher, Hasher};
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU16, Ordering};

const LOWEST: u16 = 12_000;

/// A port on 127.0.0.1 that nobody listens on at the moment.
pub(super) fn free() -> io::Result<u16> {
    static NEXT: OnceLock<AtomicU16> = OnceLock::new();
    let span = first_ephemeral().saturating_sub(LOWEST).max(1);
    let next =
        NEXT.get_or_init(|| AtomicU16::new(RandomState::new().build_hasher().finish() as u16));
    for _ in 0..span {
        let port = LOWEST + next.fetch_add(1, Ordering::Relaxed) % span;
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return Ok(port);
        }
    }
    Err(io::Error::new(
        io::ErrorKind::AddrInUse,
        "no free loopback port",
    ))
}

/// Where the range of outgoing connections begins.
fn first_ephemeral() -> u16 {
    let range = fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap_or_default();
    let first = range.split_whitespace().next().and_then(|n| n.parse().ok());
    // A machine that was told to use nearly all ports for them leaves no room below: then there is no better choice.
    first
        .filter(|first| *first > LOWEST + 1000)
        .unwrap_or(32_768)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_below_the_ephemeral_range_and_not_the_one_before() {
        let (one, two) = (free().unwrap(), free().unwrap());
        assert_ne!(one, two);
        assert!((LOWEST..first_ephemeral()).contains(&one));
    }
}
