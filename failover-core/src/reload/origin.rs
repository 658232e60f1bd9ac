//! Where a group's configuration came from, and how it is read again from there.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use backend_api::{Backend, Error, ErrorKind, FromOptions};

use crate::config::{Footprint, GroupConfig, Known, Reread, Source, reread, reread_file};

/// See the [module](self).
pub(crate) struct Origin {
    known: Known,
    /// What `[backend]` said, as a number to compare.
    options: Option<u64>,
    file: Option<PathBuf>,
    /// What was read last, applied or not: the same is not looked at twice by a watcher.
    seen: Mutex<Footprint>,
}

impl Origin {
    pub(crate) fn new(known: Known) -> Self {
        Self {
            known,
            options: None,
            file: None,
            seen: Mutex::default(),
        }
    }

    /// From a text: what its `[backend]` said.
    pub(crate) fn text(&mut self, options: Option<u64>) {
        self.options = options;
    }

    /// From a file, wherever this process goes later.
    pub(crate) fn file(&mut self, path: &Path, footprint: Footprint) {
        self.file = Some(std::path::absolute(path).unwrap_or_else(|_| path.to_owned()));
        self.seen = Mutex::new(footprint);
    }

    /// The file to read again.
    pub(crate) fn path(&self) -> Result<&Path, Error> {
        self.file.as_deref().ok_or_else(|| {
            Error::new(
                ErrorKind::Config,
                "the group was not opened from a file: use open_file, or reload_toml and apply",
            )
        })
    }

    pub(crate) fn read_text<B: Backend + FromOptions>(
        &self,
        text: &str,
        backend: &B,
    ) -> Result<GroupConfig<B::Settings>, Error> {
        let source = Source {
            folder: self.file.as_deref().and_then(Path::parent),
            ..Source::new("configuration", text)
        };
        self.take(reread(source, &self.known, backend)).0
    }

    pub(crate) fn read_file<B: Backend + FromOptions>(
        &self,
        backend: &B,
    ) -> Result<GroupConfig<B::Settings>, Error> {
        let (group, footprint) = self.take(reread_file(self.path()?, &self.known, backend));
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = footprint;
        group
    }

    #[cfg(feature = "watch")]
    pub(crate) fn seen(&self) -> Footprint {
        let seen = self.seen.lock();
        seen.unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn take<S>(&self, read: Reread<S>) -> (Result<GroupConfig<S>, Error>, Footprint) {
        let group = match read.group {
            Err(error) => Err(error.into()),
            Ok(_) if read.options != self.options => Err(Error::new(
                ErrorKind::Config,
                "[backend]: the options of a running backend cannot be changed; restart to apply them",
            )),
            Ok(group) => Ok(group),
        };
        (group, read.footprint)
    }
}
