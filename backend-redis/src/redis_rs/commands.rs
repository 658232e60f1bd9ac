//! Which commands only read, in the words of the server itself.
//!
//! The table comes from `COMMAND`, whose reply is large, so it is asked for once per group, in the background and away
//! from startup. Until it is there a short list of plain reads stands in: what is not known to read counts as a write.

use std::collections::HashSet;
use std::sync::OnceLock;
use std::time::Duration;

use redis::{Cmd, Value};

use crate::redis_rs::link::Link;
use crate::redis_rs::values::word;

/// Nothing at startup waits for the table, and it must not be in the way of the first proofs.
const PAUSE: Duration = Duration::from_millis(200);

/// Reads of every Redis since 2.6, in order.
const PLAIN_READS: &[&str] = &[
    "bitcount",
    "bitpos",
    "dbsize",
    "exists",
    "get",
    "getbit",
    "getrange",
    "hexists",
    "hget",
    "hgetall",
    "hkeys",
    "hlen",
    "hmget",
    "hscan",
    "hvals",
    "keys",
    "lindex",
    "llen",
    "lrange",
    "mget",
    "pttl",
    "scan",
    "scard",
    "sdiff",
    "sinter",
    "sismember",
    "smembers",
    "sscan",
    "strlen",
    "sunion",
    "ttl",
    "type",
    "zcard",
    "zcount",
    "zrange",
    "zrangebyscore",
    "zrank",
    "zrevrange",
    "zrevrangebyscore",
    "zrevrank",
    "zscan",
    "zscore",
];

/// What is known of the server's commands.
#[derive(Default)]
pub(crate) struct Commands {
    reads: OnceLock<HashSet<String>>,
}

impl Commands {
    /// Whether a command only reads. For the path after a failure: it builds strings.
    pub(crate) fn reads(&self, command: &Cmd) -> bool {
        let mut words = command.args_iter().map(|word| match word {
            redis::Arg::Simple(word) => String::from_utf8_lossy(word).to_lowercase(),
            _ => String::new(),
        });
        let Some(name) = words.next() else {
            return false;
        };
        match self.reads.get() {
            None => PLAIN_READS.binary_search(&name.as_str()).is_ok(),
            Some(reads) => {
                reads.contains(&name)
                    || words
                        .next()
                        .is_some_and(|sub| reads.contains(&format!("{name}|{sub}")))
            }
        }
    }

    pub(crate) fn is_known(&self) -> bool {
        self.reads.get().is_some()
    }

    /// Asks a server. Fails silently: the next connection asks again. It takes the socket and not the connection, which
    /// owns the task that this runs in.
    pub(crate) async fn learn(&self, mut link: Link) {
        tokio::time::sleep(PAUSE).await;
        if self.is_known() {
            return;
        }
        let answer = link.command(&redis::cmd("COMMAND")).await;
        if let Ok(Value::Array(entries)) = answer {
            let mut reads = HashSet::new();
            collect(&entries, &mut reads);
            if !reads.is_empty() {
                let _ = self.reads.set(reads);
            }
        }
    }
}

/// Each entry: name, arity, flags, .. and as its tenth field the subcommands, in the same form.
fn collect(entries: &[Value], reads: &mut HashSet<String>) {
    for entry in entries {
        let Value::Array(fields) = entry else {
            continue;
        };
        let read = match fields.get(2) {
            Some(Value::Array(flags) | Value::Set(flags)) => {
                flags.iter().any(|flag| word(flag) == Some("readonly"))
            }
            _ => false,
        };
        if read && let Some(name) = fields.first().and_then(word) {
            reads.insert(name.to_lowercase());
        }
        if let Some(Value::Array(subcommands)) = fields.get(9) {
            collect(subcommands, reads);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(words: &[&str]) -> Cmd {
        let mut command = Cmd::new();
        for word in words {
            command.arg(*word);
        }
        command
    }

    #[test]
    fn until_the_table_is_known_only_plain_reads_are_reads() {
        assert!(PLAIN_READS.is_sorted());
        let commands = Commands::default();
        assert!(commands.reads(&command(&["GET", "k"])));
        assert!(!commands.reads(&command(&["INCR", "k"])));
        assert!(!commands.reads(&command(&["EVAL_RO", "return 1", "0"])));
        assert!(!commands.reads(&Cmd::new()));
    }

    #[test]
    fn the_servers_table_decides_once_it_is_known() {
        let entry = |name: &str, flag: &str, subcommands: Vec<Value>| {
            let mut fields = vec![Value::Nil; 10];
            fields[0] = Value::BulkString(name.into());
            fields[2] = Value::Set(vec![Value::SimpleString(flag.into())]);
            fields[9] = Value::Array(subcommands);
            Value::Array(fields)
        };
        let mut reads = HashSet::new();
        collect(
            &[
                entry("json.get", "readonly", vec![]),
                entry("get", "write", vec![]),
                entry("xinfo", "", vec![entry("xinfo|stream", "readonly", vec![])]),
            ],
            &mut reads,
        );
        let commands = Commands::default();
        commands.reads.set(reads).unwrap();
        assert!(commands.reads(&command(&["JSON.GET", "k"])));
        assert!(commands.reads(&command(&["XINFO", "STREAM", "k"])));
        assert!(!commands.reads(&command(&["XINFO", "OTHER", "k"])));
        assert!(!commands.reads(&command(&["GET", "k"])));
    }
}
