//! What kind of place a member is, from its settings: one server, a master behind sentinels, a cluster.
//!
//! Settings become checked values here, for whichever driver connects; each kind has a file. Here only that exactly one is
//! meant, and that it was built in. No driver's types.

#[cfg(feature = "cluster")]
pub(crate) mod cluster;
#[cfg(feature = "sentinel")]
pub(crate) mod sentinel;

use std::fmt;

use backend_api::{Error, ErrorKind};

use crate::settings::Settings;
use crate::target::Target;

pub(crate) enum Place {
    Server(Target),
    #[cfg(feature = "sentinel")]
    Sentinel(sentinel::NamedMaster),
    #[cfg(feature = "cluster")]
    Cluster(cluster::Seeds),
}

impl Place {
    pub(crate) fn parse(settings: &Settings) -> Result<Self, Error> {
        let refuse = |text: &str| Err(Error::new(ErrorKind::Config, text));
        let kinds = [
            !settings.url.is_empty(),
            !settings.urls.is_empty(),
            !settings.sentinels.is_empty(),
        ];
        match kinds.iter().filter(|given| **given).count() {
            0 if settings.master.is_some() => {
                return refuse(
                    "there is a master without sentinels: name them, sentinels = [\"redis://host:26379\", ..]",
                );
            }
            0 => {
                return refuse(
                    "the member is nowhere: give it a url, sentinels and a master, or the urls of a cluster",
                );
            }
            1 => {}
            _ => {
                return refuse(
                    "the member is several things: url is one server, sentinels and master follow one, urls is a cluster",
                );
            }
        }
        let rest = settings.rest_url.is_some() || settings.rest_username.is_some();
        if settings.url.is_empty() && rest {
            return refuse("rest_url is for members that are one server: give it a url");
        }
        if settings.sentinels.is_empty() {
            if settings.master.is_some() {
                return refuse(
                    "master is the name of what sentinels watch, and there are no sentinels",
                );
            }
            if settings.sentinel_username.is_some() || settings.sentinel_password.is_some() {
                return refuse("there are credentials for sentinels, and no sentinels");
            }
            if settings.tls {
                return refuse(
                    "tls is for the servers that sentinels tell of: write rediss:// in the url",
                );
            }
        }
        if !settings.sentinels.is_empty() {
            #[cfg(feature = "sentinel")]
            return sentinel::NamedMaster::parse(settings).map(Self::Sentinel);
            #[cfg(not(feature = "sentinel"))]
            return refuse(
                "sentinels are not built in: build failover-core with the feature `redis-sentinel`",
            );
        }
        if !settings.urls.is_empty() {
            #[cfg(feature = "cluster")]
            return cluster::Seeds::parse(settings).map(Self::Cluster);
            #[cfg(not(feature = "cluster"))]
            return refuse(
                "clusters are not built in: build failover-core with the feature `redis-cluster`",
            );
        }
        Target::parse(settings).map(Self::Server)
    }
}

/// Its address, without secrets.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Server(target) => target.address.fmt(f),
            #[cfg(feature = "sentinel")]
            Self::Sentinel(watched) => watched.fmt(f),
            #[cfg(feature = "cluster")]
            Self::Cluster(nodes) => nodes.fmt(f),
        }
    }
}

/// By hand: neither the password nor the URL, which may hold one. It stands here because only here settings become an address.
impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Settings");
        match Place::parse(self) {
            Ok(place) => out.field("address", &format_args!("{place}")),
            Err(_) => out.field("address", &format_args!("<not usable>")),
        };
        out.field("username", &self.username)
            .field("password", &self.password.as_ref().map(|_| "***"))
            .field("sentinel_username", &self.sentinel_username)
            .field(
                "sentinel_password",
                &self.sentinel_password.as_ref().map(|_| "***"),
            )
            .field("db", &self.db)
            .field("client_name", &self.client_name)
            .field("ca_file", &self.ca_file)
            .field("rest_url", &self.rest_url.as_ref().map(|_| "***"))
            .field("rest_username", &self.rest_username)
            .field("rest_password", &self.rest_password.as_ref().map(|_| "***"))
            .field("rest_ca_file", &self.rest_ca_file)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(table: &str) -> String {
        let settings: Settings = toml::from_str(table).unwrap();
        let error = Place::parse(&settings).err().expect("refused");
        assert_eq!(error.kind(), ErrorKind::Config);
        error.message().to_owned()
    }

    #[test]
    fn a_member_is_exactly_one_kind_of_place() {
        for (table, expected) in [
            ("", "nowhere"),
            ("master = \"m\"", "a master without sentinels"),
            (
                "url = \"redis://h\"\nurls = [\"redis://h\"]",
                "several things",
            ),
            (
                "url = \"redis://h\"\nsentinels = [\"redis://h\"]",
                "several things",
            ),
            (
                "url = \"redis://h\"\nmaster = \"m\"",
                "there are no sentinels",
            ),
            (
                "url = \"redis://h\"\nsentinel_password = \"hunter2\"",
                "no sentinels",
            ),
            ("url = \"redis://h\"\ntls = true", "rediss://"),
            (
                "urls = [\"redis://h\"]\nrest_url = \"https://h\"",
                "one server",
            ),
        ] {
            let text = refused(table);
            assert!(text.contains(expected), "{table}: {text}");
            assert!(!text.contains("hunter2"), "{text}");
        }
    }

    #[cfg(not(feature = "sentinel"))]
    #[test]
    fn sentinels_need_their_feature() {
        let text = refused("sentinels = [\"redis://h\"]\nmaster = \"m\"");
        assert!(text.contains("`redis-sentinel`"), "{text}");
    }
}
