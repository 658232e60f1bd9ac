//! The servers of a play and the connections to them: how a request is answered, and when.
//!
//! A server may lie. It answers one kind of request and not another, it ends connections, or it drips. What it does is set
//! by the script; nothing here looks at the machine. Times are milliseconds.

use std::collections::BTreeMap;

use backend_api::Generation;

use super::dice::Dice;
use crate::machine::Failure;

/// What a connection, or a dial, is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Ask {
    Dial,
    Prove,
    Check,
    Arm,
    Promote,
    Read,
    Write,
}

const ASKS: usize = Ask::Write as usize + 1;

impl Ask {
    pub(super) fn is_operation(self) -> bool {
        matches!(self, Ask::Read | Ask::Write)
    }
}

/// How a request is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// Answered, so much later than a round trip takes.
    Well(u64),
    /// Answered at once with a failure.
    Badly(Failure),
    /// Never answered. What comes behind it is.
    Never,
    /// Never answered, and what comes behind it on the connection neither: the server works off one by one.
    Blocks,
    /// Not answered, because the member is busy with a failover of its own; the backend knows, and blames nobody.
    Waits,
    /// The server ends the connection instead of an answer.
    Closes,
    /// Whoever asked is told that all is well, and then the server ends the connection.
    ClosesUntold,
    /// The answer takes so long to arrive, byte by byte. Everything else on the connection waits behind it.
    Drips(u64),
}

/// What a request comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reply {
    Well,
    Badly(Failure),
    /// The connection ended.
    Closed,
    /// It went well, and the connection ended.
    WellAndClosed,
}

/// What a server says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Master,
    Replica,
    /// It answers proofs, checks and writes with an error, and serves reads.
    Sick,
}

/// After a round trip and this much, a kernel sends a lost packet again.
const RESENT: u64 = 200;

/// The same for the first packet of a connection, of which no round trip is known.
const DIALLED_AGAIN: u64 = 1000;

/// A strained server has had traffic within this.
const STRAINED: u64 = 500;

#[derive(Clone, Debug)]
pub(super) struct Host {
    pub(super) alive: bool,
    /// Frozen or cut off: nothing is answered and nothing refused, and nobody is told.
    pub(super) silent: bool,
    pub(super) state: State,
    pub(super) round: u64,
    /// Packets lost, in percent.
    pub(super) loss: u64,
    ways: [Way; ASKS],
    /// Connections end with this operation.
    pub(super) endurance: Option<u32>,
    /// Its name has two addresses, of which the one that is tried first is silent.
    pub(super) two_addresses: bool,
    pub(super) lame: bool,
    /// Its checks fail while it has traffic.
    pub(super) strained: bool,
    busy: u64,
    dials: u64,
}

impl Host {
    pub(super) fn new() -> Self {
        Self {
            alive: true,
            silent: false,
            state: State::Master,
            round: 2,
            loss: 0,
            ways: [Way::Well(0); ASKS],
            endurance: None,
            two_addresses: false,
            lame: false,
            strained: false,
            busy: 0,
            dials: 0,
        }
    }

    /// The next dial meets the silent address, and every second one after it.
    pub(super) fn take_two_addresses(&mut self) {
        self.two_addresses = true;
        self.dials = 0;
    }

    pub(super) fn take(&mut self, ask: Ask, way: Way) {
        self.ways[ask as usize] = way;
    }

    pub(super) fn way(&self, ask: Ask) -> Way {
        let set = self.ways[ask as usize];
        let refused = match (self.state, ask) {
            (State::Replica, Ask::Prove | Ask::Check | Ask::Write) => Failure::ReadOnly,
            (State::Sick, Ask::Prove | Ask::Check | Ask::Write) => Failure::Unhealthy,
            _ => return set,
        };
        if matches!(set, Way::Well(_)) {
            Way::Badly(refused)
        } else {
            set
        }
    }

    /// Whether a new connection would be made now.
    pub(super) fn takes_dials(&self) -> bool {
        self.alive && !self.silent && self.is_well(Ask::Dial)
    }

    /// It answers after little more than a round trip.
    fn is_well(&self, ask: Ask) -> bool {
        matches!(self.way(ask), Way::Well(after) if after < 20)
    }

    /// Whether it looks fit to whoever proves and checks it.
    pub(super) fn looks_fit(&self) -> bool {
        let asks = [Ask::Prove, Ask::Check, Ask::Arm, Ask::Promote];
        self.takes_dials() && !self.lame && asks.into_iter().all(|ask| self.is_well(ask))
    }

    /// Whether it serves, too. Nobody can know before trying.
    pub(super) fn is_fit(&self) -> bool {
        self.looks_fit()
            && self.is_well(Ask::Read)
            && self.is_well(Ask::Write)
            && self.endurance.is_none()
    }

    /// Whether it serves reads and answers proofs, though perhaps not well.
    pub(super) fn serves_reads(&self) -> bool {
        let answers = |ask| matches!(self.way(ask), Way::Well(0) | Way::Badly(Failure::Unhealthy));
        let answers = answers(Ask::Prove) && answers(Ask::Check);
        let promotes = self.is_well(Ask::Promote) && self.endurance.is_none();
        self.takes_dials() && self.is_well(Ask::Read) && answers && promotes && !self.lame
    }
}

/// One connection, at both ends.
#[derive(Clone, Debug)]
pub(super) struct Line {
    pub(super) member: u32,
    pub(super) host: usize,
    /// The server ended it, or died.
    pub(super) ended: bool,
    /// It passed a proof.
    pub(super) proven: bool,
    /// Half open: nothing passes, and nobody is told.
    pub(super) severed: bool,
    blocked: bool,
    /// What comes before this waits behind what is on its way.
    busy: u64,
    /// Until then bytes arrive.
    drips: u64,
    heard: u64,
    operations: u32,
    /// What was sent and not answered yet, by number, and when; whether anybody still waits does not matter.
    awaited: BTreeMap<u64, u64>,
    /// When the server last answered with a failure.
    pub(super) refused: Option<u64>,
}

impl Line {
    /// Since when it is silent: nothing arrived since then, although something was awaited.
    pub(super) fn silent_since(&self, now: u64) -> Option<u64> {
        let awaited = self.awaited.values().min()?;
        let heard = self.heard.max(self.drips.min(now));
        Some(heard.max(*awaited))
    }

    /// Whether it can carry an operation now.
    pub(super) fn serves(&self, host: &Host) -> bool {
        !self.ended && !self.severed && !self.blocked && host.alive && !host.silent && {
            host.is_well(Ask::Read) && host.is_well(Ask::Write)
        }
    }
}

/// All servers and connections, and which server each member's name leads to.
#[derive(Clone, Debug)]
pub(super) struct World {
    pub(super) hosts: Vec<Host>,
    pub(super) names: Vec<usize>,
    pub(super) lines: BTreeMap<Generation, Line>,
    dice: Dice,
}

impl World {
    pub(super) fn new(hosts: Vec<Host>, names: Vec<usize>, seed: u64) -> Self {
        Self {
            hosts,
            names,
            lines: BTreeMap::new(),
            dice: Dice::new(seed),
        }
    }

    /// The server to which a member's name leads now.
    pub(super) fn host_of(&self, member: u32) -> &Host {
        &self.hosts[self.names[member as usize]]
    }

    /// A dial begins: when its first answer is due, if one comes at all.
    pub(super) fn dial(&mut self, now: u64, member: u32) -> Option<u64> {
        let host = &mut self.hosts[self.names[member as usize]];
        host.dials += 1;
        let silent = host.two_addresses && host.dials % 2 == 1;
        match host.way(Ask::Dial) {
            _ if !host.alive => Some(now + 1),
            _ if silent => None,
            Way::Well(after) => {
                let lost = self.dice.percent(host.loss);
                Some(now + host.round + after + if lost { DIALLED_AGAIN } else { 0 })
            }
            Way::Badly(_) | Way::Closes | Way::ClosesUntold => Some(now + host.round),
            Way::Never | Way::Blocks | Way::Waits => None,
            Way::Drips(after) => Some(now + after),
        }
    }

    /// The end of a handshake. `None`: the server is silent by now, and answers when it is not any more.
    pub(super) fn accept(&mut self, now: u64, member: u32, generation: Generation) -> Option<bool> {
        let at = self.names[member as usize];
        let host = &self.hosts[at];
        if host.silent {
            return None;
        }
        let well = host.alive && matches!(host.way(Ask::Dial), Way::Well(_) | Way::Drips(_));
        if well {
            self.lines.insert(
                generation,
                Line {
                    member,
                    host: at,
                    ended: false,
                    proven: false,
                    severed: false,
                    blocked: false,
                    busy: 0,
                    drips: 0,
                    heard: now,
                    operations: 0,
                    awaited: BTreeMap::new(),
                    refused: None,
                },
            );
        }
        Some(well)
    }

    /// Sends a request over a connection: when the answer is due and what it is, if one comes. `way` in place of what the
    /// server would do, where the request itself is to blame.
    pub(super) fn ask(
        &mut self,
        now: u64,
        generation: Generation,
        number: u64,
        ask: Ask,
        way: Option<Way>,
    ) -> Option<(u64, Reply)> {
        let line = self.lines.get_mut(&generation)?;
        let host = &mut self.hosts[line.host];
        if line.ended {
            return None;
        }
        line.awaited.insert(number, now);
        if ask.is_operation() {
            line.operations += 1;
            host.busy = now;
        }
        let strained = ask == Ask::Check && host.strained && now - host.busy < STRAINED;
        let worn = ask.is_operation() && host.endurance.is_some_and(|most| line.operations >= most);
        let way = if worn {
            Way::Closes
        } else if strained {
            Way::Badly(Failure::Unhealthy)
        } else {
            way.unwrap_or(host.way(ask))
        };
        if line.severed || line.blocked {
            return None;
        }
        let lost = self.dice.percent(host.loss);
        let mut due = now + host.round;
        if lost {
            due += host.round + RESENT;
        }
        let reply = match way {
            Way::Well(after) => {
                due += after;
                Reply::Well
            }
            Way::Badly(failure) => Reply::Badly(failure),
            Way::Never | Way::Waits => return None,
            Way::Blocks => {
                line.blocked = true;
                return None;
            }
            Way::Closes => Reply::Closed,
            Way::ClosesUntold => Reply::WellAndClosed,
            Way::Drips(long) => {
                due = line.busy.max(now + host.round) + long;
                line.drips = due;
                Reply::Well
            }
        };
        due = due.max(line.busy);
        if lost || matches!(way, Way::Drips(_)) {
            line.busy = due;
        }
        Some((due, reply))
    }

    /// An answer arrives at this end. `None`: it does not arrive at all. `Some(false)`: the server is silent, and it comes
    /// later.
    pub(super) fn arrives(
        &mut self,
        now: u64,
        generation: Generation,
        number: u64,
    ) -> Option<bool> {
        let line = self.lines.get_mut(&generation)?;
        if line.ended || line.severed {
            return None;
        }
        if self.hosts[line.host].silent {
            return Some(false);
        }
        line.heard = now;
        line.awaited.remove(&number);
        Some(true)
    }

    /// Whether anything was heard since a time over any other connection.
    pub(super) fn heard_since(&self, since: u64, except: Generation) -> bool {
        let others = self.lines.iter().filter(|(of, _)| **of != except);
        others.into_iter().any(|(_, line)| line.heard > since)
    }

    /// The server ends one connection. Whether this end hears of it.
    pub(super) fn end(&mut self, generation: Generation) -> bool {
        let Some(line) = self.lines.get_mut(&generation) else {
            return false;
        };
        let told = !line.ended && !line.severed;
        line.ended = true;
        told
    }

    /// The open connections to a server.
    pub(super) fn lines_of(&self, host: usize) -> Vec<(Generation, u32)> {
        self.lines
            .iter()
            .filter(|(_, line)| line.host == host && !line.ended)
            .map(|(generation, line)| (*generation, line.member))
            .collect()
    }
}
