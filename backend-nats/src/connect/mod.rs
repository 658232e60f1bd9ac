//! One attempt to connect, with the client's own reconnecting taken away from it.
//!
//! async-nats reconnects for ever and offers no value for "not at all". What stands here instead: its pool has the server
//! and a decoy, a local address that refuses at once; a callback chooses the server the first time and the decoy ever
//! after, and one attempt is all it has. So the death of a connection ends the client's task, and no server is dialled
//! that the engine did not dial.
//!
//! Each connection runs on a runtime of its own, see [`runtime`].

mod failed;
mod peek;
mod runtime;
mod voice;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_nats::{Client, ConnectOptions, ReconnectToServer, ServerAddr};
use backend_api::{Error, ErrorKind};
use tokio::time::Instant;

pub(crate) use peek::peek;
pub(crate) use runtime::Own;
pub(crate) use voice::{State, Voice};

use crate::config::Options;
use crate::target::{Address, Auth, Target};

/// A client that lives on a runtime of its own.
pub(crate) struct Opened {
    pub(crate) client: Client,
    pub(crate) runtime: Own,
    pub(crate) address: Address,
    pub(crate) state: Arc<State>,
}

/// Port 0 reaches nothing: the system refuses it without asking anybody.
const DECOY: &str = "nats://127.0.0.1:0";

/// Tries the addresses in their order, each with its share of the time that is left. Dropped, it leaves nothing behind.
pub(crate) async fn open(
    target: &Target,
    options: &Options,
    timeout: Duration,
    voice: impl Fn(&Address, Arc<State>) -> Voice,
) -> Result<Opened, Error> {
    let deadline = Instant::now() + timeout;
    let mut reasons: Vec<Error> = Vec::new();
    for (tried, address) in target.addresses.iter().enumerate() {
        let left = deadline.saturating_duration_since(Instant::now());
        let share = left / u32::try_from(target.addresses.len() - tried).unwrap_or(1);
        let state = Arc::<State>::default();
        let voice = Arc::new(voice(address, state.clone()));
        match tokio::time::timeout(share, open_one(target, address, options, share, &voice)).await {
            Ok(Ok((client, runtime))) => {
                voice.opened();
                return Ok(Opened {
                    client,
                    runtime,
                    address: address.clone(),
                    state,
                });
            }
            Ok(Err(error)) => reasons.push(error),
            Err(_elapsed) => reasons.push(failed::silent(address, share)),
        }
    }
    Err(failed::together(reasons))
}

async fn open_one(
    target: &Target,
    address: &Address,
    options: &Options,
    timeout: Duration,
    voice: &Arc<Voice>,
) -> Result<(Client, Own), Error> {
    let runtime = Own::start(voice.member())?;
    let prepared = prepare(target, address, options, timeout, voice).await?;
    let decoy = decoy()?;
    let pool = vec![address.server.clone(), decoy];
    let connecting = runtime.spawn(async move { prepared.connect(pool).await });
    match connecting.await {
        Ok(Ok(client)) => Ok((client, runtime)),
        Ok(Err(error)) => Err(failed::explain(address, &error)),
        Err(panicked) => Err(Error::new(
            ErrorKind::Panicked,
            format!("connecting to {address}: {panicked}"),
        )),
    }
}

fn decoy() -> Result<ServerAddr, Error> {
    DECOY
        .parse()
        .map_err(|_| Error::new(ErrorKind::Other, "the decoy is no address"))
}

/// Everything that the client is told.
async fn prepare(
    target: &Target,
    address: &Address,
    options: &Options,
    timeout: Duration,
    voice: &Arc<Voice>,
) -> Result<ConnectOptions, Error> {
    let mut prepared = authenticated(target)
        .await?
        .ping_interval(target.ping_interval)
        .connection_timeout(timeout)
        .request_timeout(None)
        .subscription_capacity(options.subscription_capacity)
        .client_capacity(options.client_capacity)
        .max_reconnects(1)
        .reconnect_delay_callback(|_| Duration::ZERO)
        .ignore_discovered_servers()
        .retain_servers_order();
    if let Some(name) = &target.client_name {
        prepared = prepared.name(name);
    }
    if let Some(prefix) = &target.inbox_prefix {
        prepared = prepared.custom_inbox_prefix(prefix);
    }
    if let Some(ca) = &target.ca_file {
        prepared = prepared.add_root_certificates(ca.clone()).require_tls(true);
    }
    if let Some((cert, key)) = &target.certificate {
        prepared = prepared
            .add_client_certificate(cert.clone(), key.clone())
            .require_tls(true);
    }
    if target.tls_first {
        prepared = prepared.tls_first();
    }
    let heard = voice.clone();
    prepared = prepared.event_callback(move |event| {
        heard.hear(event);
        std::future::ready(())
    });
    let (server, decoy) = (address.server.clone(), decoy()?);
    let (ending, dialled) = (voice.end(), AtomicBool::new(false));
    Ok(prepared.reconnect_to_server_callback(move |_pool, _info| {
        let addr = if dialled.swap(true, Ordering::Relaxed) {
            ending.begins();
            decoy.clone()
        } else {
            server.clone()
        };
        let delay = Some(Duration::ZERO);
        std::future::ready(Some(ReconnectToServer { addr, delay }))
    }))
}

async fn authenticated(target: &Target) -> Result<ConnectOptions, Error> {
    let plain = ConnectOptions::new();
    Ok(match &target.auth {
        Auth::Nobody => plain,
        Auth::Token(token) => plain.token(token.clone()),
        Auth::User(user, password) => plain.user_and_password(user.clone(), password.clone()),
        Auth::Nkey(seed) => plain.nkey(seed.clone()),
        Auth::CredentialsFile(path) => plain.credentials_file(path).await.map_err(|error| {
            // What the file holds must not be quoted: its kind says enough.
            let text = format!(
                "the credentials file {} cannot be used: {}",
                path.display(),
                error.kind()
            );
            Error::new(ErrorKind::Auth, text)
        })?,
    })
}
