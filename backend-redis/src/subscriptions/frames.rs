//! RESP2 answers out of the bytes of a socket, one by one, and none that is too deep or too long.
//!
//! `redis-protocol` parses them. It calls itself for each level of arrays, so a few thousand levels overflow the stack and
//! end the process; and it begins at the front again as long as an answer is not whole. So an answer is measured first:
//! its heads are looked at, each once, and the parser sees it when it is there as a whole and within the limits.
//!
//! The limits are far beyond what a server says to a socket that only subscribes: an array of at most four texts.

use redis_protocol::resp2::decode::decode;
use redis_protocol::resp2::types::OwnedFrame;

/// Arrays within arrays.
const DEEPEST: usize = 4;

/// Values in all arrays of one answer.
const MOST: u64 = 64;

/// Bytes of one answer: what Redis takes as one value by default (`proto-max-bulk-len`), and its surroundings.
const LONGEST: usize = (512 << 20) + (1 << 20);

/// Bytes of a line: an error, a number, the head of a text.
const LONGEST_LINE: usize = 16 << 10;

/// What cannot be read on. In words that follow the name of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unreadable(pub(super) &'static str);

const NO_RESP: Unreadable = Unreadable("sends what is no RESP2");
const TOO_DEEP: Unreadable = Unreadable("sends an answer that is nested too deep");
const TOO_LONG: Unreadable = Unreadable("sends an answer that is too long");

/// Bytes that came in, up to the first answer that is not whole.
pub(super) struct Frames {
    raw: Vec<u8>,
    /// Where the first answer that was not handed out begins.
    start: usize,
    measure: Measure,
}

/// How far one answer was looked at.
#[derive(Default)]
struct Measure {
    /// Where its next head is, from its beginning. It may not have come in yet.
    at: usize,
    /// For each array that is open, how many values it still lacks.
    open: Vec<u64>,
    /// Values announced so far.
    values: u64,
}

impl Frames {
    pub(super) fn new() -> Self {
        Self {
            raw: Vec::with_capacity(8192),
            start: 0,
            measure: Measure::default(),
        }
    }

    /// Where the socket reads to.
    pub(super) fn buffer(&mut self) -> &mut Vec<u8> {
        self.raw.drain(..self.start);
        self.start = 0;
        &mut self.raw
    }

    /// The next answer. `None` until more has come in.
    pub(super) fn next(&mut self) -> Result<Option<OwnedFrame>, Unreadable> {
        let bytes = &self.raw[self.start..];
        let Some(length) = self.measure.of(bytes)? else {
            return Ok(None);
        };
        self.measure = Measure::default();
        self.start += length;
        match decode(&bytes[..length]) {
            Ok(Some((frame, _length))) => Ok(Some(frame)),
            Ok(None) | Err(_) => Err(NO_RESP),
        }
    }
}

impl Measure {
    /// How long the first answer is, as soon as all of it is there.
    fn of(&mut self, bytes: &[u8]) -> Result<Option<usize>, Unreadable> {
        // Nothing was looked at yet, or something is still lacking.
        while self.at == 0 || !self.open.is_empty() {
            let Some(line) = line(bytes, self.at)? else {
                return Ok(None);
            };
            let (kind, rest) = line.split_first().ok_or(NO_RESP)?;
            self.at += line.len() + 2;
            match kind {
                b'$' => {
                    // Below zero there is none.
                    if let Ok(size) = usize::try_from(number(rest)?) {
                        let end = self.at.saturating_add(size).saturating_add(2);
                        self.at = end;
                    }
                    self.close();
                }
                b'*' => match u64::try_from(number(rest)?) {
                    Ok(0) | Err(_) => self.close(),
                    Ok(count) => {
                        self.values = self.values.saturating_add(count);
                        if self.open.len() == DEEPEST {
                            return Err(TOO_DEEP);
                        }
                        self.open.push(count);
                    }
                },
                b'+' | b'-' | b':' => self.close(),
                _ => return Err(NO_RESP),
            }
            if self.at > LONGEST || self.values > MOST {
                return Err(TOO_LONG);
            }
        }
        Ok((self.at <= bytes.len()).then_some(self.at))
    }

    /// A value is complete, and with it the arrays of which it is the last.
    fn close(&mut self) {
        while let Some(lacks) = self.open.last_mut() {
            *lacks -= 1;
            if *lacks > 0 {
                return;
            }
            self.open.pop();
        }
    }
}

/// The line that begins here, without its end. `None` until that has come in.
fn line(bytes: &[u8], at: usize) -> Result<Option<&[u8]>, Unreadable> {
    let Some(rest) = bytes.get(at..) else {
        return Ok(None);
    };
    let looked_at = &rest[..rest.len().min(LONGEST_LINE)];
    match looked_at.windows(2).position(|pair| pair == b"\r\n") {
        Some(length) => Ok(Some(&rest[..length])),
        None if rest.len() >= LONGEST_LINE => Err(TOO_LONG),
        None => Ok(None),
    }
}

fn number(digits: &[u8]) -> Result<i64, Unreadable> {
    let digits = std::str::from_utf8(digits).ok();
    digits.and_then(|digits| digits.parse().ok()).ok_or(NO_RESP)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> (Vec<OwnedFrame>, Option<Unreadable>) {
        let mut frames = Frames::new();
        frames.buffer().extend_from_slice(bytes);
        let mut read = Vec::new();
        loop {
            match frames.next() {
                Ok(Some(frame)) => read.push(frame),
                Ok(None) => return (read, None),
                Err(unreadable) => return (read, Some(unreadable)),
            }
        }
    }

    #[test]
    fn answers_come_one_by_one_and_what_is_not_whole_waits() {
        let text = |text: &str| OwnedFrame::BulkString(text.into());
        let all = b"+OK\r\n*2\r\n$1\r\na\r\n*1\r\n:7\r\n$-1\r\n*-1\r\n*0\r\n$0\r\n\r\n-ERR no\r\n$4\r\n1\r\n2\r\n";
        let expected = [
            OwnedFrame::SimpleString(b"OK".to_vec()),
            OwnedFrame::Array(vec![
                text("a"),
                OwnedFrame::Array(vec![OwnedFrame::Integer(7)]),
            ]),
            OwnedFrame::Null,
            OwnedFrame::Null,
            OwnedFrame::Array(Vec::new()),
            text(""),
            OwnedFrame::Error("ERR no".to_owned()),
            text("1\r\n2"),
        ];
        // However the bytes are cut.
        for size in [1, 2, 3, 7, 1000] {
            let (mut frames, mut read) = (Frames::new(), Vec::new());
            for part in all.chunks(size) {
                frames.buffer().extend_from_slice(part);
                while let Some(frame) = frames.next().unwrap() {
                    read.push(frame);
                }
            }
            assert_eq!(read, expected, "{size}");
        }
    }

    // F66
    #[test]
    fn what_is_too_deep_or_too_long_is_never_parsed() {
        let deep = |levels: usize| [b"*1\r\n".repeat(levels), b":1\r\n".to_vec()].concat();
        assert_eq!(read(&deep(DEEPEST)).1, None);
        assert_eq!(read(&deep(DEEPEST)).0.len(), 1);
        assert_eq!(read(&deep(DEEPEST + 1)).1, Some(TOO_DEEP));
        // The stack of a thread holds some thousand levels of the parser.
        assert_eq!(read(&deep(200_000)).1, Some(TOO_DEEP));
        for long in [
            format!("${LONGEST}\r\n").into_bytes(),
            format!("${}\r\n", i64::MAX).into_bytes(),
            format!("*{}\r\n", i64::MAX).into_bytes(),
            format!("*2\r\n*{MOST}\r\n").into_bytes(),
            vec![b'+'; LONGEST_LINE],
            [b"$", vec![b'1'; LONGEST_LINE].as_slice()].concat(),
        ] {
            assert_eq!(read(&long).1, Some(TOO_LONG));
        }
        // What was whole before it is there all the same.
        let (read_before, unreadable) = read(b"+OK\r\n?\r\n");
        assert_eq!((read_before.len(), unreadable), (1, Some(NO_RESP)));
        for no_resp in ["HTTP/1.1 400\r\n", "\r\n", "$x\r\n", "*\r\n", ":x\r\n"] {
            assert_eq!(read(no_resp.as_bytes()).1, Some(NO_RESP), "{no_resp}");
        }
    }
}
