//! Which active issued which cursor.
//!
//! A cursor is a position in the hash tables of one server process; anywhere else it silently skips and repeats. So a scan
//! that would go on under another active than the one that issued its cursor ends with an error of kind `Moved`.
//!
//! A cursor is just a number, and the numbers of two servers overlap. Each handle remembers what it was told last, which
//! settles the usual scan; for scans that take each page on another clone, the clones share the last [`SHARED`] cursors.
//! There a cursor known from an older turn is refused once even if a newer turn issued the same number since: an error too
//! many, never a silent gap. A cursor that nobody here knows (of another process, or too old) goes through for as long as
//! there was no switch, and is refused afterwards, because it may come from before.

use std::collections::VecDeque;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::sync::{Mutex, PoisonError};

use backend_api::{Epoch, Error, ErrorKind};
use redis::{Cmd, Value};
use redis_protocol::resp2::decode::decode_range;
use redis_protocol::resp2::types::RangeFrame;

const SHARED: usize = 128;
const OWN: usize = 8;

/// What a cursor is good for: one server's turn as the active.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Turn {
    pub(super) epoch: Epoch,
    /// Which server of the member it was, where there are several: they are counted.
    pub(super) revision: u64,
}

impl Turn {
    /// No other server of the group was active before.
    fn is_first(self) -> bool {
        // The first epoch of a group has the number 1.
        self.epoch.0 <= 1 && self.revision == 0
    }
}

/// Cursor, command and key as one number, and the turn in which it was issued.
type Issued = (u64, Turn);

/// What one handle was told.
#[derive(Clone, Debug, Default)]
pub(super) struct Own(VecDeque<Issued>);

/// What all clones of a client were told.
#[derive(Debug, Default)]
pub(super) struct Cursors(Mutex<VecDeque<Issued>>);

impl Cursors {
    /// May this command run while `now` is active?
    pub(super) fn check(&self, own: &mut Own, command: &Cmd, now: Turn) -> Result<(), Error> {
        let Some(asked) = asked(command) else {
            return Ok(());
        };
        if asked.cursor == 0 {
            return Ok(());
        }
        let id = asked.identity(asked.cursor);
        if let Some(&(_, issued)) = own.0.iter().rev().find(|(known, _)| *known == id) {
            own.0.retain(|(known, turn)| *known != id || *turn == now);
            return if issued == now { Ok(()) } else { Err(moved()) };
        }
        let mut shared = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = shared.len();
        shared.retain(|(known, turn)| *known != id || *turn == now);
        if shared.len() < before {
            return Err(moved());
        }
        if now.is_first() || shared.iter().any(|(known, _)| *known == id) {
            Ok(())
        } else {
            Err(moved())
        }
    }

    /// Remembers what the server answered.
    pub(super) fn note(&self, own: &mut Own, command: &Cmd, answer: &Value, now: Turn) {
        let (Some(asked), Value::Array(fields)) = (asked(command), answer) else {
            return;
        };
        let next = match fields.first() {
            Some(Value::BulkString(digits)) => digit_value(digits),
            Some(Value::Int(number)) => u64::try_from(*number).ok(),
            _ => None,
        };
        let Some(next) = next.filter(|next| *next != 0) else {
            return;
        };
        let issued = (asked.identity(next), now);
        push(&mut own.0, issued, OWN);
        let mut shared = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        push(&mut shared, issued, SHARED);
    }
}

fn push(known: &mut VecDeque<Issued>, issued: Issued, limit: usize) {
    known.retain(|other| *other != issued);
    if known.len() == limit {
        known.pop_front();
    }
    known.push_back(issued);
}

fn moved() -> Error {
    Error::new(
        ErrorKind::Moved,
        "the active changed since this cursor was issued: start the scan again",
    )
    .with_fate(backend_api::Fate::NotApplied)
}

struct Asked {
    /// Command and, except for SCAN, key.
    what: u64,
    cursor: u64,
}

impl Asked {
    fn identity(&self, cursor: u64) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.what, cursor).hash(&mut hasher);
        hasher.finish()
    }
}

fn asked(command: &Cmd) -> Option<Asked> {
    // redis-rs keeps the cursor of an iterator apart and shows it only in the encoded command.
    let packed = command.get_packed_command();
    let mut words = words(&packed)?.into_iter();
    let name = words.next()?.to_ascii_lowercase();
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    match name.as_slice() {
        b"scan" => {}
        b"sscan" | b"hscan" | b"zscan" => words.next()?.hash(&mut hasher),
        _ => return None,
    }
    Some(Asked {
        what: hasher.finish(),
        cursor: digit_value(words.next()?)?,
    })
}

fn digit_value(digits: &[u8]) -> Option<u64> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// The words of an encoded command, which is an array of texts.
fn words(packed: &[u8]) -> Option<Vec<&[u8]>> {
    let (RangeFrame::Array(words), _length) = decode_range(packed).ok()?? else {
        return None;
    };
    words
        .into_iter()
        .map(|word| match word {
            RangeFrame::BulkString((start, end)) => packed.get(start..end),
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(epoch: u64) -> Turn {
        Turn {
            epoch: Epoch(epoch),
            revision: 0,
        }
    }

    fn scan(cursor: u64) -> Cmd {
        redis::cmd("SCAN").cursor_arg(cursor).take()
    }

    fn answer(cursor: u64) -> Value {
        let cursor = Value::BulkString(cursor.to_string().into_bytes());
        Value::Array(vec![cursor, Value::Array(vec![])])
    }

    // P151
    #[test]
    fn a_cursor_stays_with_the_turn_that_issued_it() {
        let cursors = Cursors::default();
        let mut own = Own::default();
        let (first, second) = (turn(1), turn(2));
        cursors.check(&mut own, &scan(0), first).unwrap();
        cursors.note(&mut own, &scan(0), &answer(48), first);
        cursors.check(&mut own, &scan(48), first).unwrap();
        let error = cursors.check(&mut own, &scan(48), second).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Moved);
        cursors.check(&mut own, &scan(0), second).unwrap();
    }

    #[test]
    fn another_server_of_the_same_member_is_another_turn() {
        let cursors = Cursors::default();
        let mut own = Own::default();
        let next = Turn {
            revision: 1,
            ..turn(1)
        };
        cursors.note(&mut own, &scan(0), &answer(48), turn(1));
        let error = cursors.check(&mut own, &scan(48), next).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Moved);
        // Nobody here knows where this one comes from, and turn(1) is over.
        assert!(cursors.check(&mut own, &scan(9), next).is_err());
    }

    #[test]
    fn another_clone_knows_the_cursor_too_and_other_keys_do_not_mix() {
        let cursors = Cursors::default();
        let keyed = |key: &str, cursor: u64| redis::cmd("HSCAN").arg(key).arg(cursor).take();
        cursors.note(&mut Own::default(), &keyed("a", 0), &answer(7), turn(1));
        cursors.note(&mut Own::default(), &keyed("b", 0), &answer(7), turn(2));
        let mut other = Own::default();
        cursors.check(&mut other, &keyed("b", 7), turn(2)).unwrap();
        assert!(cursors.check(&mut other, &keyed("a", 7), turn(2)).is_err());
    }

    #[test]
    fn an_unknown_cursor_passes_only_before_the_first_switch() {
        let cursors = Cursors::default();
        cursors
            .check(&mut Own::default(), &scan(9), turn(1))
            .unwrap();
        assert!(
            cursors
                .check(&mut Own::default(), &scan(9), turn(2))
                .is_err()
        );
    }

    #[test]
    fn an_old_cursor_whose_number_is_new_again_is_refused_once() {
        let cursors = Cursors::default();
        cursors.note(&mut Own::default(), &scan(0), &answer(5), turn(1));
        cursors.note(&mut Own::default(), &scan(0), &answer(5), turn(2));
        assert!(
            cursors
                .check(&mut Own::default(), &scan(5), turn(2))
                .is_err()
        );
        cursors
            .check(&mut Own::default(), &scan(5), turn(2))
            .unwrap();
    }

    #[test]
    fn memory_is_bounded() {
        let cursors = Cursors::default();
        let mut own = Own::default();
        for cursor in 1..1000 {
            cursors.note(&mut own, &scan(0), &answer(cursor), turn(1));
        }
        assert_eq!(own.0.len(), OWN);
        assert_eq!(cursors.0.lock().unwrap().len(), SHARED);
    }
}
