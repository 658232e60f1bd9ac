//! The files of the workspace, for the tests that look at sources instead of running them.
//!
//! Walked, not listed: a new crate or folder is under the rules from its first file. What is built, fetched or hidden is
//! not ours and is left out.

use std::fs;
use std::path::{Path, PathBuf};

/// One file: its path from the root of the workspace, with `/`, and its text.
pub(crate) struct Source {
    pub(crate) path: String,
    pub(crate) text: String,
}

/// All files whose name ends with one of `endings`, in the order of their paths.
pub(crate) fn files(endings: &[&str]) -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the workspace")
        .to_owned();
    let mut folders = vec![root.clone()];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder of the workspace") {
            let path: PathBuf = entry.expect("an entry").path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if path.is_dir() {
                if name != "target" && !name.starts_with('.') {
                    folders.push(path);
                }
            } else if endings.iter().any(|ending| name.ends_with(ending)) {
                let text = fs::read_to_string(&path).expect("a text");
                let path = path.strip_prefix(&root).expect("below the root");
                let path = path.to_string_lossy().replace('\\', "/");
                found.push(Source { path, text });
            }
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    assert!(
        !found.is_empty(),
        "no sources where the workspace should be"
    );
    found
}
