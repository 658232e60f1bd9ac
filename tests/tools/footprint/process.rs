//! What the operating system says about this process. Linux only, as the servers of the testkit are.

use std::fs;
use std::time::Duration;

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike as _;

/// Memory that is in use, in KiB.
pub(crate) fn memory_kib() -> Result<u64, String> {
    let path = "/proc/self/status";
    let status = fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
    status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB"))
        .and_then(|number| number.trim().parse().ok())
        .ok_or_else(|| format!("{path} does not tell VmRSS"))
}

/// Processor time that was used so far, by all threads, in user and in kernel mode.
pub(crate) fn cpu() -> Result<Duration, String> {
    let usage = getrusage(UsageWho::RUSAGE_SELF).map_err(|error| error.to_string())?;
    let micros = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
    u64::try_from(micros)
        .map(Duration::from_micros)
        .map_err(|error| error.to_string())
}

/// Open network sockets. The sockets with which the runtime wakes itself up are none of the network's.
pub(crate) fn sockets() -> Result<u64, String> {
    let mut of_network = std::collections::HashSet::new();
    for table in ["/proc/self/net/tcp", "/proc/self/net/tcp6"] {
        let Ok(text) = fs::read_to_string(table) else {
            continue;
        };
        // The inode is the tenth column.
        of_network.extend(
            text.lines()
                .filter_map(|line| line.split_whitespace().nth(9))
                .map(str::to_owned),
        );
    }
    let mut count = 0;
    for entry in entries("/proc/self/fd")? {
        let target = fs::read_link(entry.path()).unwrap_or_default();
        let target = target.to_string_lossy();
        let inode = target
            .strip_prefix("socket:[")
            .and_then(|rest| rest.strip_suffix(']'));
        count += u64::from(inode.is_some_and(|inode| of_network.contains(inode)));
    }
    Ok(count)
}

/// Threads, the first one included.
pub(crate) fn threads() -> Result<u64, String> {
    Ok(entries("/proc/self/task")?.len() as u64)
}

fn entries(path: &str) -> Result<Vec<fs::DirEntry>, String> {
    fs::read_dir(path)
        .and_then(Iterator::collect)
        .map_err(|error| format!("{path}: {error}"))
}
