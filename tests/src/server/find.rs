//! Finding the server programs.
//!
//! On PATH first: whoever installed a server wants that one tested. Then `target/servers`, where `tests/run` unpacks
//! what is missing. Servers whose version a test relies on are pinned, and taken from `target/servers` alone. There is no
//! third way, and above all no skip: a run that silently tested nothing looks green.

use std::env;
use std::fmt;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// A server program that is not on this machine. Its text says how to get it.
#[derive(Clone, Debug)]
pub struct Missing {
    program: String,
    folders: Vec<PathBuf>,
    /// Whether another version on PATH would not do.
    pinned: bool,
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (program, cure) = (&self.program, "run `tests/run` (or `tests/servers` alone)");
        if self.pinned {
            write!(
                f,
                "{program} is not in target/servers. The tests need the real server in its pinned version, which PATH \
                 may not have: {cure} in the workspace, which fetches it. Looked in:"
            )?;
        } else {
            write!(
                f,
                "{program} is neither on PATH nor in target/servers. The tests need the real server: {cure} in the \
                 workspace, which unpacks it there, or install it (Debian: `apt-get install {program}`). Looked in:"
            )?;
        }
        for folder in &self.folders {
            write!(f, " {}", folder.display())?;
        }
        Ok(())
    }
}

impl std::error::Error for Missing {}

/// Where `program` is: on PATH, or in `target/servers` of the workspace or of the current folder.
pub fn find(program: &str) -> Result<PathBuf, Missing> {
    let path = env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = env::split_paths(&path).collect();
    folders.extend(unpacked());
    find_in(program, folders, false)
}

/// Where `program` is in `target/servers` of the workspace or of the current folder, whatever is on PATH: for servers
/// that `tests/servers` fetches in one version.
pub fn find_pinned(program: &str) -> Result<PathBuf, Missing> {
    find_in(program, unpacked(), true)
}

/// The second is for a program that was moved off the machine that built it, or that uses this crate from elsewhere.
fn unpacked() -> Vec<PathBuf> {
    vec![
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/servers"),
        PathBuf::from("target/servers"),
    ]
}

fn find_in(program: &str, folders: Vec<PathBuf>, pinned: bool) -> Result<PathBuf, Missing> {
    let found = folders
        .iter()
        .map(|folder| folder.join(program))
        .find(|file| executable(file));
    found.ok_or_else(|| Missing {
        program: program.to_owned(),
        folders,
        pinned,
    })
}

fn executable(file: &Path) -> bool {
    fs::metadata(file).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_on_path_is_found() {
        assert!(find("sh").unwrap().ends_with("sh"));
    }

    #[test]
    fn a_missing_program_says_how_to_get_it() {
        let text = find("no-such-server").unwrap_err().to_string();
        assert!(text.starts_with("no-such-server is neither on PATH nor in target/servers"));
        assert!(text.contains("`tests/run`"), "{text}");
        assert!(text.contains("apt-get install no-such-server"), "{text}");
    }

    #[test]
    fn a_pinned_program_is_not_taken_from_path() {
        let text = find_pinned("sh").unwrap_err().to_string();
        assert!(text.starts_with("sh is not in target/servers"), "{text}");
        assert!(text.contains("`tests/run`"), "{text}");
    }

    #[test]
    fn a_file_that_cannot_run_is_not_a_program() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR")).to_owned();
        assert!(find_in("Cargo.toml", vec![here], false).is_err());
    }
}
