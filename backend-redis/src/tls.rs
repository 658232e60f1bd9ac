//! TLS around a stream: rustls with the ring provider and the system's root certificates.
//!
//! Certificates are always verified. The provider is named here, so that an application that links a second one does not
//! make the connect panic.

use std::sync::Arc;

use backend_api::{Error, ErrorKind};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::target::Address;

pub(crate) async fn wrap(
    host: &str,
    stream: TcpStream,
    address: &Address,
) -> Result<TlsStream<TcpStream>, Error> {
    let failed = |text: String| {
        Error::new(ErrorKind::Tls, format!("{address}: {text}")).with_operation("connect")
    };
    let name = ServerName::try_from(host.to_owned())
        .map_err(|_invalid| failed("its name cannot stand in a certificate".to_owned()))?;
    // Reading the system's certificates blocks.
    let config = tokio::task::spawn_blocking(config)
        .await
        .map_err(|error| failed(format!("TLS could not be set up: {error}")))?
        .map_err(failed)?;
    TlsConnector::from(config)
        .connect(name, stream)
        .await
        .map_err(|error| failed(format!("TLS failed: {error}")))
}

/// The certificates are read anew for each dial: they are a file that operators replace.
fn config() -> Result<Arc<ClientConfig>, String> {
    let mut roots = RootCertStore::empty();
    let found = rustls_native_certs::load_native_certs();
    let (added, _ignored) = roots.add_parsable_certificates(found.certs);
    if added == 0 {
        return Err("the system has no root certificates".to_owned());
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Arc::new(config))
}
