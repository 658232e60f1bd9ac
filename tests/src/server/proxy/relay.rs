//! One connection through the proxy.
//!
//! The two directions are two futures of one task: a server that stops reading because its replies are not taken must
//! not keep those replies from being taken. Each asks for the mode before it reads and again before it passes on what it
//! read, so that a mode holds from the moment it was set.
//!
//! An end on one side ends the other side at once, without half-open states: the count of open connections is what
//! tests look at, and a frozen server never closes its half.

use std::future;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt, Interest};
use tokio::net::TcpStream;
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::sync::watch;

use super::{Mode, Open, Shape, Shared, Way, lock, reset};

/// How often a held connection looks whether its client is still there.
const LOOK: Duration = Duration::from_millis(5);

/// A connection that may send so many bytes a second sends them in this many pieces: not all of them at once, and then
/// nothing for a second.
const PIECES: u32 = 20;

/// How a connection ends.
enum End {
    /// Orderly: the other side sees an end of file.
    Closed,
    /// The other side sees a reset.
    Reset,
    /// The client left while everything was held.
    LeftUnheard,
}

/// Serves one client. It counts, and hears of resets, from this call on and not only from its first poll: a reset must
/// also end what was accepted a moment before.
pub(super) fn serve(
    client: TcpStream,
    shared: Arc<Shared>,
) -> impl Future<Output = ()> + Send + 'static {
    let open = Open::new(&shared);
    let resets = shared.resets.subscribe();
    run(client, shared, open, resets)
}

async fn run(
    mut client: TcpStream,
    shared: Arc<Shared>,
    open: Open,
    mut resets: watch::Receiver<u64>,
) {
    let _ = client.set_nodelay(true);
    let server = tokio::select! {
        server = TcpStream::connect(shared.target) => server,
        _ = resets.changed() => Err(io::ErrorKind::ConnectionReset.into()),
    };
    let Ok(mut server) = server else {
        return reset(&client);
    };
    let _ = server.set_nodelay(true);

    let end = {
        let (client_reads, client_writes) = client.split();
        let (server_reads, server_writes) = server.split();
        tokio::select! {
            biased;
            _ = resets.changed() => End::Reset,
            end = pump(client_reads, server_writes, Way::Request, &shared) => end,
            end = pump(server_reads, client_writes, Way::Reply, &shared) => end,
        }
    };
    match end {
        End::Closed => {}
        End::Reset => {
            reset(&client);
            reset(&server);
        }
        End::LeftUnheard => {
            drop((client, open));
            let mut mode = shared.mode.subscribe();
            tokio::select! {
                _ = resets.changed() => {}
                _ = mode.wait_for(|mode| !mode.holds(Way::Request)) => {}
            }
        }
    }
}

async fn pump(mut from: ReadHalf<'_>, mut to: WriteHalf<'_>, way: Way, shared: &Shared) -> End {
    let mut mode = shared.mode.subscribe();
    let mut buffer = vec![0; 64 * 1024];
    let mut hole = false;
    // Bytes that went on since replies are cut after so many.
    let mut passed = 0;
    loop {
        // Held bytes stay in the kernel, so that a sender who goes on sending is held up too.
        if let Held::UntilTheClientLeft = held(&from, way, &mut mode).await {
            return End::LeftUnheard;
        }
        let rate = lock(&shared.shapes)[way as usize].bytes_per_second;
        let most = rate.map_or(buffer.len(), |rate| piece(rate, buffer.len()));
        let count = tokio::select! {
            read = from.read(&mut buffer[..most]) => match read {
                Ok(0) => return End::Closed,
                Ok(count) => count,
                Err(_) => return End::Reset,
            },
            _ = mode.changed() => continue,
        };
        // Looked at after the read, which may have waited: what comes now is shaped as asked for by now.
        let Shape {
            delay,
            bytes_per_second,
        } = lock(&shared.shapes)[way as usize];
        let owed = bytes_per_second.map_or(Duration::ZERO, |rate| {
            Duration::from_secs_f64(count as f64 / f64::from(rate.max(1)))
        });
        if !(delay + owed).is_zero() {
            tokio::time::sleep(delay + owed).await;
        }
        // What was read before the silence began waits here for its end.
        if let Held::UntilTheClientLeft = held(&from, way, &mut mode).await {
            return End::LeftUnheard;
        }
        let now = *mode.borrow_and_update();
        let mut part = count;
        match (way, now) {
            (Way::Reply, Mode::EatReplies) => {
                hole = true;
                continue;
            }
            (Way::Reply, Mode::CutBeforeReply) => return End::Closed,
            (Way::Reply, Mode::CutOneReply) => {
                shared.mode.send_if_modified(|mode| {
                    let mine = *mode == Mode::CutOneReply;
                    if mine {
                        *mode = Mode::Forward;
                    }
                    mine
                });
                return End::Closed;
            }
            (Way::Reply, _) if hole => return End::Closed,
            (Way::Reply, Mode::CutReplyAfter(bytes)) => {
                part = count.min(bytes.saturating_sub(passed));
                passed += part;
            }
            _ => passed = 0,
        }
        if to.write_all(&buffer[..part]).await.is_err() {
            return End::Reset;
        }
        if part < count {
            return End::Closed;
        }
    }
}

/// How many bytes are read at once at this rate.
fn piece(rate: u32, most: usize) -> usize {
    usize::try_from(rate / PIECES).map_or(most, |piece| piece.clamp(1, most))
}

/// How a wait ended, if there was one.
enum Held {
    Over,
    UntilTheClientLeft,
}

/// Waits while nothing is to pass. Meanwhile the end that sends requests is looked at now and then, since its close is
/// seen by reading at all other times, after the bytes that it sent before. Waiting for it would not do: bytes that are
/// not taken keep a socket "ready" all the time.
async fn held(from: &ReadHalf<'_>, way: Way, mode: &mut watch::Receiver<Mode>) -> Held {
    while mode.borrow_and_update().holds(way) {
        tokio::select! {
            changed = mode.changed() => {
                if changed.is_err() {
                    // The proxy is gone, and with it, at once, this task.
                    future::pending::<()>().await;
                }
            }
            () = tokio::time::sleep(LOOK) => {
                if way == Way::Request && read_closed(from).await {
                    return Held::UntilTheClientLeft;
                }
            }
        }
    }
    Held::Over
}

async fn read_closed(end: &ReadHalf<'_>) -> bool {
    tokio::select! {
        biased;
        ready = end.ready(Interest::READABLE) => ready.is_ok_and(|ready| ready.is_read_closed()),
        () = future::ready(()) => false,
    }
}
