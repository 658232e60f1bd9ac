//! Which commands only read, in the words of the server itself.
//!
//! The table comes from `COMMAND`, in the background and away from startup. Until it is there a short list of plain reads
//! stands in: what is not known to read counts as a write.
//!
//! The reply is large: some hundred KiB, which take a millisecond to read and leave a socket with a buffer of that size. So a
//! process asks each [`kind`] of server once, and all its groups share the table.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use redis::{Cmd, Value};
use tokio::sync::OnceCell;

use crate::redis_rs::link::Link;
use crate::redis_rs::values::{text, word};

/// Nothing at startup waits for the table, and it must not be in the way of the first proofs.
const PAUSE: Duration = Duration::from_millis(200);

/// So long another group may take to ask.
const PATIENCE: Duration = Duration::from_secs(2);

/// A server whose kind is another one at each dial must not fill the memory: beyond these, each connection asks for itself.
const KINDS: usize = 64;

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

/// The commands of a server that only read.
type Table = Arc<HashSet<String>>;

/// What is known of the server's commands.
#[derive(Default)]
pub(crate) struct Commands {
    reads: OnceLock<Table>,
}

/// The tables of this process, by the kind of server. There are as many as there are builds of servers, and [`KINDS`] at most.
static TABLES: LazyLock<Mutex<HashMap<String, Arc<OnceCell<Table>>>>> =
    LazyLock::new(Mutex::default);

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

    /// Asks a server, unless another group has asked one of its kind. Fails silently: the next connection asks again. It takes
    /// the socket and not the connection, which owns the task that this runs in.
    pub(crate) async fn learn(&self, mut link: Link) {
        tokio::time::sleep(PAUSE).await;
        if self.is_known() {
            return;
        }
        let table = match kind(&mut link).await {
            Some(kind) => shared(kind),
            None => Arc::default(),
        };
        // Whoever comes while another one asks waits for that answer, and asks if it comes to nothing. The other one may live
        // in a runtime that stands still.
        let asking = table.get_or_try_init(|| ask(&mut link));
        let table = match tokio::time::timeout(PATIENCE, asking).await {
            Ok(answer) => answer.cloned(),
            Err(_elapsed) => ask(&mut link).await,
        };
        if let Ok(table) = table {
            let _ = self.reads.set(table);
        }
    }
}

fn shared(kind: String) -> Arc<OnceCell<Table>> {
    let mut tables = TABLES.lock().unwrap_or_else(PoisonError::into_inner);
    if tables.len() >= KINDS && !tables.contains_key(&kind) {
        return Arc::default();
    }
    tables.entry(kind).or_default().clone()
}

/// What tells servers with the same commands from others: the build, the modules with their versions, and the number of
/// commands, since a configuration may take some away. None where a server does not tell, or may not.
async fn kind(link: &mut Link) -> Option<String> {
    let mut questions = redis::pipe();
    questions.cmd("INFO").arg("server");
    questions.cmd("INFO").arg("modules");
    questions.cmd("COMMAND").arg("COUNT");
    let answers = link.pipeline(&questions, 0, 3).await.ok()?;
    let [server, modules, count] = <[Value; 3]>::try_from(answers).ok()?;
    let Value::Int(count) = count else {
        return None;
    };
    of_kind(text(&server)?, text(&modules)?, count)
}

fn of_kind(server: &str, modules: &str, count: i64) -> Option<String> {
    let mut kind = count.to_string();
    let mut told = 0;
    for line in server.lines() {
        let build = ["redis_version:", "redis_build_id:"];
        if build.iter().any(|field| line.starts_with(field)) {
            told += 1;
            let _ = write!(kind, "\n{line}");
        }
    }
    let _ = write!(kind, "\n{modules}");
    (told == 2).then_some(kind)
}

/// What the server itself says; an error without words where it does not.
async fn ask(link: &mut Link) -> Result<Table, ()> {
    let answer = link.command(&redis::cmd("COMMAND")).await;
    let Ok(Value::Array(entries)) = answer else {
        return Err(());
    };
    let mut reads = HashSet::new();
    collect(&entries, &mut reads);
    match reads.is_empty() {
        true => Err(()),
        false => Ok(Arc::new(reads)),
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
        commands.reads.set(Arc::new(reads)).unwrap();
        assert!(commands.reads(&command(&["JSON.GET", "k"])));
        assert!(commands.reads(&command(&["XINFO", "STREAM", "k"])));
        assert!(!commands.reads(&command(&["XINFO", "OTHER", "k"])));
        assert!(!commands.reads(&command(&["GET", "k"])));
    }

    #[test]
    fn no_server_fills_the_memory_with_kinds() {
        for number in 0..10 * KINDS {
            shared(format!("kind {number}"));
        }
        let tables = TABLES.lock().unwrap();
        assert!(tables.len() <= KINDS);
        assert!(tables.contains_key("kind 0"));
    }

    #[test]
    fn a_kind_is_a_build_its_modules_and_the_number_of_commands() {
        let server = |version: &str, port: u16| {
            format!(
                "# Server\r\nredis_version:{version}\r\nredis_build_id:b1\r\ntcp_port:{port}\r\n"
            )
        };
        let json = "# Modules\r\nmodule:name=ReJSON,ver=20608\r\n";
        let first = of_kind(&server("7.0.15", 1), "", 241);
        assert!(first.is_some());
        assert_eq!(first, of_kind(&server("7.0.15", 2), "", 241));
        for other in [
            of_kind(&server("8.2.0", 1), "", 241),
            of_kind(&server("7.0.15", 1), json, 241),
            // One was taken away by `rename-command`.
            of_kind(&server("7.0.15", 1), "", 240),
        ] {
            assert!(other.is_some());
            assert_ne!(first, other);
        }
        // What does not say which build it is could be anything.
        assert_eq!(of_kind("redis_version:7.0.15\r\n", "", 241), None);
    }
}
