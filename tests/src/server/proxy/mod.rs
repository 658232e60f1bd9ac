//! A TCP proxy that does to a connection what networks do, on command.
//!
//! A killed or frozen server is only half of what goes wrong. The other half lies between: bytes that go nowhere while
//! both ends are well, a reply that is lost after the request was carried out, a reset. Those need something in the
//! middle that is told what to do, and that counts what it saw: how often was dialled, how many sockets are left.
//!
//! Never to come in: knowledge of a protocol. It forwards bytes, or does not.

mod relay;

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

use super::ports;

/// What a [`Proxy`] does with the bytes, on open connections and new ones alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Forwards both ways.
    Forward,
    /// Accepts and holds: nothing is forwarded either way, nothing is closed. Bytes sent meanwhile arrive afterwards, as
    /// after an outage of the network. A client that closes its end is counted as gone; the server does not hear of it.
    Blackhole,
    /// Forwards requests and drops the replies. A connection that lost one is cut at the next reply in another mode: to
    /// go on would give the next request the wrong answer, which no network does.
    EatReplies,
    /// Forwards the request, and closes the connection when the reply comes: the request was carried out, and the client
    /// cannot know.
    CutBeforeReply,
    /// As [`CutBeforeReply`](Self::CutBeforeReply) for one reply only, then [`Forward`](Self::Forward).
    CutOneReply,
    /// Forwards so many bytes of replies on each connection, new ones too, and then closes it: in the middle of a reply, as
    /// a rule.
    CutReplyAfter(usize),
    /// As [`Blackhole`](Self::Blackhole) for requests alone: replies to what was sent before still arrive.
    HoldRequests,
    /// As [`Blackhole`](Self::Blackhole) for replies alone: requests arrive and are carried out.
    HoldReplies,
    /// The port refuses, and open connections go on: a server that is about to shut down.
    RefuseNew,
    /// What a killed server looks like: the port refuses, and open connections are reset.
    Refuse,
}

impl Mode {
    /// Whether bytes that go this way are held.
    fn holds(self, way: Way) -> bool {
        match self {
            Self::Blackhole => true,
            Self::HoldRequests => way == Way::Request,
            Self::HoldReplies => way == Way::Reply,
            _ => false,
        }
    }
}

/// Which way bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// From the client to the server.
    Request,
    /// From the server to the client.
    Reply,
}

/// How fast bytes go one way: see [`Proxy::shape`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    /// Each piece of data waits this long before it goes on.
    pub delay: Duration,
    /// At most so many bytes a second on each connection; none: as many as there are.
    pub bytes_per_second: Option<u32>,
}

/// A proxy on a free port of 127.0.0.1. When it is dropped, its tasks and sockets go with it.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    shared: Arc<Shared>,
    acceptor: tokio::sync::Mutex<Option<JoinHandle<()>>>,
}

/// What the proxy and its tasks know in common.
#[derive(Debug)]
struct Shared {
    target: SocketAddr,
    mode: watch::Sender<Mode>,
    /// The number of resets so far: a change ends every connection.
    resets: watch::Sender<u64>,
    shapes: Mutex<[Shape; 2]>,
    accepted: AtomicU64,
    open: AtomicUsize,
    /// None once the proxy is gone, so that nothing is added behind its back.
    connections: Mutex<Option<JoinSet<()>>>,
}

impl Proxy {
    /// A proxy to `target`, forwarding. A port of this machine is given as `([127, 0, 0, 1], port)`.
    ///
    /// # Errors
    ///
    /// When no port can be had.
    pub async fn start(target: impl Into<SocketAddr>) -> io::Result<Self> {
        let (listener, address) = listen_somewhere().await?;
        let shared = Arc::new(Shared {
            target: target.into(),
            mode: watch::Sender::new(Mode::Forward),
            resets: watch::Sender::new(0),
            shapes: Mutex::default(),
            accepted: AtomicU64::new(0),
            open: AtomicUsize::new(0),
            connections: Mutex::new(Some(JoinSet::new())),
        });
        let acceptor = tokio::spawn(accept(listener, Arc::clone(&shared)));
        Ok(Self {
            address,
            shared,
            acceptor: tokio::sync::Mutex::new(Some(acceptor)),
        })
    }

    /// Where to connect to.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// What it does at the moment.
    pub fn mode(&self) -> Mode {
        *self.shared.mode.borrow()
    }

    /// Does this from now on. When it returns, it is so: after `Refuse`, say, no connection is open and none can be made.
    ///
    /// # Panics
    ///
    /// When the port was taken by somebody else while it refused.
    pub async fn set(&self, mode: Mode) {
        let mut acceptor = self.acceptor.lock().await;
        self.shared.mode.send_replace(mode);
        if matches!(mode, Mode::Refuse | Mode::RefuseNew) {
            if let Some(acceptor) = acceptor.take() {
                acceptor.abort();
                // Its end closes the listener; only then is it certain that no new connection follows the reset.
                let _ = acceptor.await;
            }
            if mode == Mode::Refuse {
                self.reset_connections().await;
            }
        } else if acceptor.is_none() {
            let listener = TcpListener::bind(self.address).await;
            let listener = listener.expect("the proxy's port was taken while it refused");
            *acceptor = Some(tokio::spawn(accept(listener, Arc::clone(&self.shared))));
        }
    }

    /// Resets every open connection, and returns when they are closed. New ones are served as before.
    pub async fn reset_connections(&self) {
        let old = lock(&self.shared.connections).replace(JoinSet::new());
        self.shared.resets.send_modify(|resets| *resets += 1);
        if let Some(mut old) = old {
            while old.join_next().await.is_some() {}
        }
    }

    /// Each piece of data waits this long before it goes on, in both directions: a distant server.
    pub fn delay(&self, delay: Duration) {
        for shape in lock(&self.shared.shapes).iter_mut() {
            shape.delay = delay;
        }
    }

    /// From now on the bytes of one direction go like this, on open connections and new ones alike. The default shape is as
    /// fast as can be.
    pub fn shape(&self, way: Way, shape: Shape) {
        lock(&self.shared.shapes)[way as usize] = shape;
    }

    /// How many clients' connections are open now.
    pub fn connections(&self) -> usize {
        self.shared.open.load(Ordering::Acquire)
    }

    /// How many connections were ever accepted: how often was dialled.
    pub fn accepted(&self) -> u64 {
        self.shared.accepted.load(Ordering::Acquire)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        if let Some(acceptor) = self.acceptor.get_mut().take() {
            acceptor.abort();
        }
        // Dropping the set aborts them all.
        drop(lock(&self.shared.connections).take());
    }
}

async fn listen_somewhere() -> io::Result<(TcpListener, SocketAddr)> {
    let mut tries = 10;
    loop {
        tries -= 1;
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, ports::free()?));
        match TcpListener::bind(address).await {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse && tries > 0 => {}
            bound => return bound.map(|listener| (listener, address)),
        }
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    loop {
        let Ok((client, _)) = listener.accept().await else {
            // Out of file descriptors, say: others may close theirs.
            tokio::time::sleep(Duration::from_millis(10)).await;
            continue;
        };
        shared.accepted.fetch_add(1, Ordering::AcqRel);
        let connection = relay::serve(client, Arc::clone(&shared));
        let mut connections = lock(&shared.connections);
        let Some(connections) = connections.as_mut() else {
            return;
        };
        connections.spawn(connection);
        while connections.try_join_next().is_some() {}
    }
}

/// Counts a connection for as long as it lives, however it ends.
struct Open(Arc<Shared>);

impl Open {
    fn new(shared: &Arc<Shared>) -> Self {
        shared.open.fetch_add(1, Ordering::AcqRel);
        Self(Arc::clone(shared))
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::AcqRel);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Closes so that the other end sees a reset, not an orderly end.
fn reset(stream: &TcpStream) {
    let _ = stream.set_zero_linger();
}
