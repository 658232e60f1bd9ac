//! Configuration files of running groups: read again on demand, and watched. On real files, in real time: everything here
//! waits for a condition, with a bound.

use std::path::{Path, PathBuf};
use std::time::Duration;

use failover_core::api::ErrorKind;
use failover_core::event::{Event, EventKind, Events};
use failover_core::{Failover, memory::Memory};

use crate::reload::{table, two};

/// A folder of its own, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("failover-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, text).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

async fn open(path: &Path) -> Failover<Memory> {
    Failover::<Memory>::builder()
        .seed(0)
        .open_file(path)
        .await
        .unwrap()
}

#[tokio::test]
async fn the_file_is_read_again() {
    // F20
    let folder = Folder::new("reload");
    let path = folder.write("f.toml", &two());
    let group = open(&path).await;
    assert!(group.reload().await.unwrap().is_unchanged());
    folder.write("f.toml", &table("a", 2.0, "a"));
    assert_eq!(group.reload().await.unwrap().to_string(), "removed b");
    let mut events = group.events();
    std::fs::remove_file(&path).unwrap();
    let error = group.reload().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config);
    assert!(error.to_string().contains("f.toml"), "{error}");
    reported(&mut events).await;
    group.close().await;
    assert_eq!(group.reload().await.unwrap_err().kind(), ErrorKind::Closed);
}

/// The next event that a kind is looked for in.
async fn next(events: &mut Events, is: impl Fn(&EventKind) -> bool) -> Event {
    let looking = async {
        loop {
            let event = events.next().await.expect("the group is there");
            if is(&event.kind) {
                return event;
            }
        }
    };
    let found = tokio::time::timeout(Duration::from_secs(20), looking).await;
    found.expect("an event within 20 s")
}

async fn reported(events: &mut Events) -> Event {
    next(events, |kind| {
        matches!(kind, EventKind::ReloadFailed { .. })
    })
    .await
}

#[cfg(feature = "watch")]
mod watched {
    use std::time::Instant;

    use super::*;

    async fn reloaded(events: &mut Events) -> String {
        let event = next(events, |kind| {
            matches!(kind, EventKind::ConfigReloaded { .. })
        })
        .await;
        event.to_string()
    }

    /// As editors and deployments do it.
    fn rename_into_place(folder: &Folder, name: &str, text: &str) {
        let new = folder.write("new", text);
        std::fs::rename(new, folder.path(name)).unwrap();
    }

    #[tokio::test]
    async fn a_file_that_changes_is_applied_and_a_broken_one_reported_once() {
        // F21
        let folder = Folder::new("watch");
        let path = folder.write("f.toml", &two());
        let group = Failover::<Memory>::builder()
            .seed(0)
            .watch(true)
            .open_file(&path)
            .await
            .unwrap();
        group.watch().unwrap();
        let mut events = group.events();
        rename_into_place(&folder, "f.toml", &table("a", 2.0, "a"));
        assert!(reloaded(&mut events).await.contains("removed b"));
        folder.write("f.toml", "[[member]\n");
        reported(&mut events).await;
        // The next news is the good content, not the broken one again.
        tokio::time::sleep(Duration::from_millis(2500)).await;
        folder.write("f.toml", &two());
        let event = next(&mut events, |kind| {
            matches!(
                kind,
                EventKind::ReloadFailed { .. } | EventKind::ConfigReloaded { .. }
            )
        })
        .await;
        assert!(event.to_string().contains("added b"), "{event}");
        group.close().await;
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn a_swapped_link_and_a_new_secret_are_seen() {
        // F21: the way of Kubernetes, where the file is a link into a folder that is a link.
        use std::os::unix::fs::symlink;
        let folder = Folder::new("links");
        for (version, weight) in [("one", 1.0), ("two", 3.0)] {
            std::fs::create_dir(folder.path(version)).unwrap();
            let text = table("a", 2.0, "a")
                + &format!("[[member]]\nname = \"b\"\nweight = {weight:?}\nat.file = \"secret\"\n");
            folder.write(&format!("{version}/f.toml"), &text);
            folder.write(&format!("{version}/secret"), "b\n");
        }
        symlink("one", folder.path("data")).unwrap();
        symlink("data/f.toml", folder.path("f.toml")).unwrap();
        symlink("data/secret", folder.path("secret")).unwrap();
        let group = open(&folder.path("f.toml")).await;
        group.watch().unwrap();
        let mut events = group.events();
        symlink("two", folder.path("data-new")).unwrap();
        std::fs::rename(folder.path("data-new"), folder.path("data")).unwrap();
        assert!(reloaded(&mut events).await.contains("changed b"));
        folder.write("two/secret", "another server\n");
        assert!(reloaded(&mut events).await.contains("replaced b"));
        group.close().await;
    }

    #[tokio::test]
    async fn watching_ends_with_the_group_and_does_not_keep_it() {
        // F22
        let folder = Folder::new("ends");
        let path = folder.write("f.toml", &two());
        for closed in [true, false] {
            let group = open(&path).await;
            group.watch().unwrap();
            let mut events = group.events();
            if closed {
                group.close().await;
                assert_eq!(group.watch().unwrap_err().kind(), ErrorKind::Closed);
            }
            drop(group);
            next(&mut events, |kind| matches!(kind, EventKind::Closed)).await;
            let began = Instant::now();
            let alive = || {
                tokio::runtime::Handle::current()
                    .metrics()
                    .num_alive_tasks()
            };
            while alive() > 0 {
                assert!(began.elapsed() < Duration::from_secs(5), "tasks are left");
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        }
        let without_file = Failover::<Memory>::open_toml(&two()).await.unwrap();
        assert_eq!(without_file.watch().unwrap_err().kind(), ErrorKind::Config);
        without_file.close().await;
    }
}
