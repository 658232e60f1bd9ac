//! The faults of a server, and the switches for them.
//!
//! Faults are independent of each other and stay until they are taken back. Only what belongs to the running
//! process ends with it: a server that was killed and started is neither frozen nor a lame duck. What a fault does to
//! a request is not decided here, but where requests arrive.

use std::time::Duration;

use backend_api::{Error, ErrorKind, Health, Member};

use super::{Server, Settings};

/// The methods of a backend into which a fault can be put.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    /// [`Backend::connect`](backend_api::Backend::connect)
    Connect,
    /// [`Backend::prove`](backend_api::Backend::prove)
    Prove,
    /// [`Backend::arm`](backend_api::Backend::arm)
    Arm,
    /// [`Backend::promote`](backend_api::Backend::promote), of the connection that is promoted
    Promote,
    /// [`Backend::drain`](backend_api::Backend::drain)
    Drain,
    /// [`Backend::retire`](backend_api::Backend::retire)
    Retire,
    /// The check [`Status`](super::Status)
    Check,
}

const METHODS: usize = Method::Check as usize + 1;

#[derive(Clone, Debug, Default)]
pub(super) struct Faults {
    pub(super) frozen: bool,
    pub(super) lame_duck: bool,
    pub(super) unresolvable: bool,
    pub(super) refuse_dials: bool,
    pub(super) refuse_credentials: bool,
    pub(super) refuse_promotion: bool,
    pub(super) read_only: bool,
    pub(super) inconclusive: bool,
    pub(super) swallow_answers: bool,
    pub(super) fail_operations: bool,
    pub(super) fail_next: u64,
    pub(super) unhealthy: Option<String>,
    pub(super) unproven: Option<String>,
    pub(super) latency: Duration,
    delays: [Duration; METHODS],
    panics: [bool; METHODS],
}

impl Faults {
    pub(super) fn delay(&self, method: Method) -> Duration {
        self.delays[method as usize]
    }

    pub(super) fn panics(&self, method: Method) -> bool {
        self.panics[method as usize]
    }

    /// What a proof finds.
    pub(super) fn proof(&self) -> Result<(), Error> {
        if let Some(reason) = &self.unproven {
            return Err(Error::new(ErrorKind::Unhealthy, reason));
        }
        if self.read_only {
            return Err(read_only());
        }
        Ok(())
    }

    /// What the check `status` finds: all that a proof finds, and what the server was told to say of itself.
    pub(super) fn status(&self) -> Result<Health, Error> {
        self.proof()?;
        if let Some(reason) = &self.unhealthy {
            return Err(Error::new(ErrorKind::Unhealthy, reason));
        }
        Ok(if self.inconclusive {
            Health::Inconclusive
        } else {
            Health::Healthy
        })
    }

    /// Whether an operation fails before it does anything.
    pub(super) fn refuse_operation(&mut self, writes: bool) -> Result<(), Error> {
        if self.fail_operations || self.fail_next > 0 {
            self.fail_next = self.fail_next.saturating_sub(1);
            let reason = "the server answers that it cannot serve";
            return Err(Error::new(ErrorKind::Unhealthy, reason));
        }
        if writes && self.read_only {
            return Err(read_only());
        }
        Ok(())
    }
}

fn read_only() -> Error {
    Error::new(ErrorKind::ReadOnly, "the server is a read-only replica")
}

/// Death, silence and recovery.
impl Server {
    /// Ends the process: all connections are lost at once, and dials are refused until [`start`](Self::start). The
    /// data stays. A server that is already down stays so.
    pub fn kill(&self) {
        self.change(|state| {
            if state.up {
                state.up = false;
                state.deaths += 1;
                state.faults.frozen = false;
                state.faults.lame_duck = false;
                state.lose_all("the server was killed");
            }
        });
    }

    /// Starts a killed server, with the data it had.
    pub fn start(&self) {
        self.change(|state| state.up = true);
    }

    /// Stops the process without ending it (like SIGSTOP): connections stay open, and nothing is answered. Operations,
    /// proofs, checks, promotions and dials hang until [`thaw`](Self::thaw), or until whoever waits gives up. Without
    /// effect on a server that is down.
    pub fn freeze(&self) {
        self.change(|state| state.faults.frozen = state.up);
    }

    /// Lets a frozen server go on. It first does everything it was sent meanwhile, also what nobody waits for any
    /// more.
    pub fn thaw(&self) {
        self.change(|state| state.thaw());
    }

    /// Takes back all faults, delays and panics: the server is up and serves. Lost connections stay lost, and half-open
    /// ones half-open.
    pub fn heal(&self) {
        self.change(|state| {
            state.up = true;
            state.thaw();
            state.faults = Faults::default();
        });
    }

    /// All connections are lost at once; the server stays up and takes new ones.
    pub fn reset_connections(&self) {
        self.change(|state| state.lose_all("the connection was reset"));
    }

    /// Half-open connections: nothing passes over the present ones any more, in neither direction, and neither end is
    /// told, not even of the server's death. Operations on them hang until the engine retires them. New connections
    /// work.
    pub fn blackhole_connections(&self) {
        self.change(|state| state.audience().for_each(|line| line.sever()));
    }

    /// A round trip takes this long, half of it before the server acts. Zero by default. A whole [`Duration::MAX`]
    /// is for ever.
    pub fn set_latency(&self, latency: Duration) {
        self.change(|state| state.faults.latency = latency);
    }

    /// Requests are carried out, and their answers never arrive.
    pub fn swallow_answers(&self, swallow: bool) {
        self.change(|state| state.faults.swallow_answers = swallow);
    }
}

/// Refusals and announcements.
impl Server {
    /// The address does not resolve: dials fail at once with [`ErrorKind::Refused`]. Connections live on.
    pub fn set_unresolvable(&self, unresolvable: bool) {
        self.change(|state| state.faults.unresolvable = unresolvable);
    }

    /// Dials fail at once with [`ErrorKind::Refused`], while connections live on.
    pub fn refuse_dials(&self, refuse: bool) {
        self.change(|state| state.faults.refuse_dials = refuse);
    }

    /// Dials fail with [`ErrorKind::Auth`], at the end of the handshake.
    pub fn set_auth_refused(&self, refused: bool) {
        self.change(|state| state.faults.refuse_credentials = refused);
    }

    /// Tells all connections that it is about to shut down, and every new one as soon as it is open. It goes on
    /// serving: [`kill`](Self::kill) it when its time has come. A frozen server says it after the thaw. Without
    /// effect on a server that is down.
    pub fn announce_lame_duck(&self) {
        self.change(|state| {
            state.faults.lame_duck = state.up;
            state.announce();
        });
    }

    /// New connections hear of no shutdown any more. What was said was said.
    pub fn clear_lame_duck(&self) {
        self.change(|state| state.faults.lame_duck = false);
    }

    /// Tells all connections of members, as a clustered server does.
    pub fn tell_members(&self, members: &[Member<Settings>]) {
        self.change(|state| {
            for line in state.audience() {
                line.signals.discovered(members.to_vec());
            }
        });
    }

    /// With a reason, the check [`Status`](super::Status) finds the server unhealthy; proofs and operations go on
    /// well.
    pub fn set_unhealthy(&self, reason: Option<&str>) {
        self.change(|state| state.faults.unhealthy = reason.map(str::to_owned));
    }

    /// The check [`Status`](super::Status) cannot tell how the server is.
    pub fn set_inconclusive(&self, inconclusive: bool) {
        self.change(|state| state.faults.inconclusive = inconclusive);
    }

    /// With a reason, proofs (and so the checks) fail with [`ErrorKind::Unhealthy`], while operations are served.
    pub fn fail_proofs(&self, reason: Option<&str>) {
        self.change(|state| state.faults.unproven = reason.map(str::to_owned));
    }

    /// A read-only replica: proofs, checks and writes fail with [`ErrorKind::ReadOnly`], reads are served. A refused
    /// write condemns the member, as [`Signals::condemned`](backend_api::Signals::condemned) has it.
    pub fn set_read_only(&self, read_only: bool) {
        self.change(|state| state.faults.read_only = read_only);
    }

    /// Operations are answered with a failure of kind [`ErrorKind::Unhealthy`] and do nothing; pings, proofs and
    /// checks go on well.
    pub fn fail_operations(&self, fail: bool) {
        self.change(|state| state.faults.fail_operations = fail);
    }

    /// The same for so many operations from now on.
    pub fn fail_next_operations(&self, count: u64) {
        self.change(|state| state.faults.fail_next = count);
    }

    /// Promotions of connections to this server fail with [`ErrorKind::Unhealthy`].
    pub fn refuse_promotion(&self, refuse: bool) {
        self.change(|state| state.faults.refuse_promotion = refuse);
    }
}

/// Faults of the backend's own code.
impl Server {
    /// A method takes so much longer, on connections of this server. [`Duration::MAX`] is for ever. A death of the
    /// server or the connection interrupts it, except that of [`Method::Retire`] and [`Method::Drain`].
    pub fn set_delay(&self, method: Method, delay: Duration) {
        self.change(|state| state.faults.delays[method as usize] = delay);
    }

    /// A method panics, on connections of this server.
    pub fn set_panic(&self, method: Method, panic: bool) {
        self.change(|state| state.faults.panics[method as usize] = panic);
    }
}
