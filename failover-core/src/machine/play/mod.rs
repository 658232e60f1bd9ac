//! Timed plays: the pure machine among servers that lie, with promises that have bounds in virtual time.
//!
//! The exhaustive search looks at every order of few events. Its world never lies, and it measures no time. A play is the
//! opposite: one group, servers whose behaviour is scripted, an application that operates at a pace, and every millisecond
//! of it. A driver that behaves as the real one does stands between them: batches, a tick that samples outcomes, a
//! suspicion with the first operation that fails, deadlines, stalls. Nothing is asynchronous, and a play is the same each
//! time.
//!
//! | where | what |
//! |---|---|
//! | `script` | a case as data: group, servers, application, what happens when |
//! | `host` | servers and connections, and the ways in which they lie |
//! | `application` | operations, and what they report |
//! | `stage`, `changes`, `checking`, `ticks`, `observing` | the driver, and time |
//! | `record` | what was seen: the only thing that checkers read |
//! | `promises` | what a group promises, as checkers of a record, with all bounds in one place |
//! | `plays` | the catalogue |
//! | `explore` | all cases of a play, and the shortest history that breaks a promise |
//!
//! Each play is tried over a small grid: when a fault comes relative to ticks and checks, how long it lasts, whom it
//! concerns, how much traffic there is. `weather` draws everything at random. A broken promise is shown with the shortest
//! history found, without every change that it does not need.
//!
//! # Ordinary life
//!
//! What every group lives through. Weights are 2 and 1, or 1 each; all rules are the default ones; time is in seconds.
//!
//! A rolling restart of three brokers, 30 s or 4 s apart (`a rolling restart, ..`):
//!
//! ```text
//!   5.0   server 0 announces its end      traffic leaves m0 at once
//!   7.0   server 0 dies                   and is back 0.2, 1.0 or 2.5 s later
//!  35.0   server 1 announces its end      (9.0 where they are 4 s apart)
//!  37.0   server 1 dies
//!  65.0   server 2 announces its end      (13.0): now only members in grace can serve
//!  67.0   server 2 dies
//! ```
//!
//! A stall of 700 ms every 10 s, of the active or of both (`a stall of 700 ms every 10 s`): nothing moves, and no
//! connection is made anew.
//!
//! ```text
//!   5.0   server 0 falls silent
//!   5.7   server 0 answers again          what it was sent is answered now
//!  15.0   server 0 falls silent           and so on, up to 60 s
//! ```
//!
//! Both members slow (`both members slow`): a round trip takes 200 ms and one packet of twenty is lost, which costs another
//! 400 ms, or a second where it is the first one of a connection. Operations time out now and then. Nothing moves.
//!
//! This process is frozen (`this process frozen for 20 s`), and blocked for 300 ms every 0.4 to 3 s (`this process blocked
//! often`). What arrived meanwhile is read before the engine has its turn, or after it.
//!
//! ```text
//!   5.0   this process stops
//!  25.0   it goes on                      deadlines have passed, answers are there: nothing moves
//! ```
//!
//! A sentinel failover (`a sentinel failover of 12 s`): the backend holds the connection of the member meanwhile, and says
//! nothing against it. Nothing moves.
//!
//! ```text
//!   5.0   operations on m0 are not answered; proofs and checks are
//!  17.0   operations are answered again
//! ```

mod application;
mod changes;
mod checking;
mod dice;
pub(in crate::machine) mod explore;
mod host;
mod observing;
mod plays;
mod promises;
mod record;
mod script;
mod stage;
#[cfg(test)]
mod tests;
mod ticks;
