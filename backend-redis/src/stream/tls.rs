//! TLS around a stream: rustls with the ring provider.
//!
//! Certificates are always verified, against the member's `ca_file` or the system's. The provider is named here, so that an
//! application that links a second one does not make the connect panic.

use std::path::PathBuf;
use std::sync::Arc;

use backend_api::{Error, ErrorKind};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::ServerName;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio_rustls::{TlsConnector, client::TlsStream};

use crate::target::Target;

pub(crate) async fn wrap(
    host: &str,
    stream: TcpStream,
    target: &Target,
) -> Result<TlsStream<TcpStream>, Error> {
    over(host, stream, target.ca_file.clone())
        .await
        .map_err(|text| failed(target, &text))
}

/// The same for whoever reports the reason himself.
pub(crate) async fn over(
    host: &str,
    stream: TcpStream,
    ca_file: Option<PathBuf>,
) -> Result<TlsStream<TcpStream>, String> {
    let name = ServerName::try_from(host.to_owned())
        .map_err(|_invalid| "its name cannot stand in a certificate".to_owned())?;
    TlsConnector::from(read(ca_file).await?)
        .connect(name, stream)
        .await
        .map_err(|error| format!("TLS failed: {error}"))
}

/// Whom to trust for this member, for a driver that wraps its streams itself.
#[cfg(feature = "fred")]
pub(crate) async fn config_of(target: &Target) -> Result<Arc<ClientConfig>, Error> {
    let config = read(target.ca_file.clone()).await;
    config.map_err(|text| failed(target, &text))
}

/// Reading certificates blocks. They are read anew for each dial: they are files that operators replace.
async fn read(ca_file: Option<PathBuf>) -> Result<Arc<ClientConfig>, String> {
    tokio::task::spawn_blocking(move || config(ca_file))
        .await
        .map_err(|error| format!("TLS could not be set up: {error}"))?
}

fn failed(target: &Target, text: &str) -> Error {
    Error::new(ErrorKind::Tls, format!("{}: {text}", target.address)).with_operation("connect")
}

fn config(ca_file: Option<PathBuf>) -> Result<Arc<ClientConfig>, String> {
    let mut roots = RootCertStore::empty();
    let (certificates, whose) = match ca_file {
        None => (
            rustls_native_certs::load_native_certs().certs,
            "the system".to_owned(),
        ),
        Some(path) => {
            let whose = path.display().to_string();
            let read = CertificateDer::pem_file_iter(&path)
                .and_then(Iterator::collect)
                .map_err(|error| format!("{whose} cannot be read: {error}"))?;
            (read, whose)
        }
    };
    let (added, _ignored) = roots.add_parsable_certificates(certificates);
    if added == 0 {
        return Err(format!("{whose} has no root certificates"));
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Arc::new(config))
}
