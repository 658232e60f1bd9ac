//! What is held open: groups, or the plain connections that a program without groups would hold.

use std::time::{Duration, Instant};

use failover_core::Failover;
use failover_core::redis::Redis;
use redis::aio::ConnectionManager;
use tokio::task::JoinSet;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    /// Groups of two members.
    Groups,
    /// Two connection managers in place of each group. They speak RESP3, as the groups do.
    Plain,
}

/// What is held. Dropping it closes it.
pub(crate) enum Held {
    Groups(Vec<Failover<Redis>>),
    Plain(Vec<ConnectionManager>),
}

impl Subject {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        [Self::Groups, Self::Plain]
            .into_iter()
            .find(|subject| subject.name() == text)
            .ok_or_else(|| format!("there is no subject {text:?}"))
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Groups => "groups",
            Self::Plain => "plain",
        }
    }

    /// Opens all of it and says how long that took.
    pub(crate) async fn open(
        self,
        groups: u32,
        parallel: bool,
        urls: &[String; 2],
    ) -> Result<(Held, Duration), String> {
        let began = Instant::now();
        let held = match self {
            Self::Groups => {
                let configuration = configuration(urls);
                let openings = (0..groups).map(|_| group(configuration.clone()));
                Held::Groups(all(openings, parallel).await?)
            }
            Self::Plain => {
                let openings = (0..groups).flat_map(|_| urls.clone().map(manager));
                Held::Plain(all(openings, parallel).await?)
            }
        };
        Ok((held, began.elapsed()))
    }
}

impl Held {
    /// How many connections it holds once all is warm, or an error that says what is missing.
    pub(crate) async fn warm(&self) -> Result<u64, String> {
        match self {
            Self::Plain(managers) => Ok(managers.len() as u64),
            Self::Groups(groups) => {
                for group in groups {
                    // A group is open once its active serves; its standby may come a moment later.
                    let deadline = Instant::now() + Duration::from_secs(10);
                    while group.status().standbys().count() != 1 {
                        if Instant::now() > deadline {
                            return Err(format!("a group has no standby: {:?}", group.status()));
                        }
                        tokio::time::sleep(Duration::from_millis(5)).await;
                    }
                }
                Ok(2 * groups.len() as u64)
            }
        }
    }
}

fn configuration(urls: &[String; 2]) -> String {
    let [east, west] = urls;
    format!(
        "[[member]]\nname = \"east\"\nweight = 1.0\nurl = \"{east}\"\n\n[[member]]\nname = \"west\"\nweight = 0.5\nurl = \"{west}\"\n"
    )
}

async fn group(configuration: String) -> Result<Failover<Redis>, String> {
    let opened = Failover::<Redis>::open_toml(&configuration).await;
    opened.map_err(|error| error.to_string())
}

async fn manager(url: String) -> Result<ConnectionManager, String> {
    let client = redis::Client::open(format!("{url}?protocol=resp3"));
    let client = client.map_err(|error| error.to_string())?;
    let opened = ConnectionManager::new(client).await;
    opened.map_err(|error| error.to_string())
}

/// One after the other, or all at once.
async fn all<T: Send + 'static>(
    openings: impl Iterator<Item = impl Future<Output = Result<T, String>> + Send + 'static>,
    parallel: bool,
) -> Result<Vec<T>, String> {
    let mut held = Vec::new();
    if parallel {
        let mut running: JoinSet<_> = openings.collect();
        while let Some(opened) = running.join_next().await {
            held.push(opened.map_err(|error| error.to_string())??);
        }
    } else {
        for opening in openings {
            held.push(opening.await?);
        }
    }
    Ok(held)
}
