//! The machine stays pure: nothing in this room knows a clock, a runtime or a source of randomness.

use std::path::{Path, PathBuf};

fn sources(room: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(room).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn no_clock_no_runtime_no_randomness() {
    let room = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/machine");
    let mut found = Vec::new();
    sources(&room, &mut found);
    assert!(found.len() > 40);
    let here = room.join("tests/purity.rs");
    for path in found.iter().filter(|path| **path != here) {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        assert!(!text.is_empty(), "{path:?}");
        for banned in [
            "tokio::",
            "Instant",
            "SystemTime",
            "fastrand",
            "std::net",
            "std::thread",
        ] {
            assert!(!text.contains(banned), "{banned} in {}", path.display());
        }
    }
}
