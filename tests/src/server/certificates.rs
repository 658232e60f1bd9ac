//! Certificates for servers that speak TLS: an authority, a server and a client, made for one test.
//!
//! By the openssl program, since a key pair is nothing that a test kit should compute itself. Elliptic keys: they are made
//! in milliseconds.
//!
//! Never to come in: a certificate that is kept, in the repository or on a disk. It would expire one day, and its key
//! would be found by whoever looks for keys.

use std::io;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

use super::folder::Folder;

const MAKE: &str = "
new='-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes'
openssl req -x509 $new -days 2 -subj /CN=authority -keyout ca.key -out ca.pem
printf 'subjectAltName=IP:127.0.0.1,DNS:localhost' > names
for who in server client; do
    openssl req $new -subj /CN=$who -keyout $who.key -out $who.csr
    openssl x509 -req -in $who.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile names -out $who.pem
done
";

/// PEM files of one authority: for a server on 127.0.0.1 (and `localhost`), and for a client.
///
/// The files are there as long as a clone of this is, and as long as a server uses them.
#[derive(Clone, Debug)]
pub struct Certificates {
    folder: Arc<Folder>,
}

impl Certificates {
    /// New ones, of an authority that nobody trusts yet.
    ///
    /// # Panics
    ///
    /// When openssl is missing or fails, with what it printed.
    #[track_caller]
    #[expect(
        clippy::new_without_default,
        reason = "it runs programs and writes files"
    )]
    pub fn new() -> Self {
        Self::try_new().unwrap_or_else(|error| panic!("certificates: {error}"))
    }

    /// Like [`new`](Self::new), for programs that report the reason themselves.
    pub fn try_new() -> io::Result<Self> {
        let folder = Folder::new("certificates")?;
        let mut make = Command::new("sh");
        let made = make
            .args(["-e", "-c", MAKE])
            .current_dir(folder.path())
            .output()?;
        if !made.status.success() {
            let said = String::from_utf8_lossy(&made.stderr);
            return Err(io::Error::other(format!("openssl failed: {said}")));
        }
        let folder = Arc::new(folder);
        Ok(Self { folder })
    }

    /// The authority's certificate: what a client has to trust.
    pub fn ca_file(&self) -> PathBuf {
        self.file("ca.pem")
    }

    /// The server's certificate.
    pub fn server_file(&self) -> PathBuf {
        self.file("server.pem")
    }

    /// The server's key.
    pub fn server_key_file(&self) -> PathBuf {
        self.file("server.key")
    }

    /// The client's certificate, for servers that ask for one.
    pub fn client_file(&self) -> PathBuf {
        self.file("client.pem")
    }

    /// The client's key.
    pub fn client_key_file(&self) -> PathBuf {
        self.file("client.key")
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}
