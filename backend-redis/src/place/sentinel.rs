//! A member that is the master of a name: its sentinels, and everything about the servers but where they are.

use std::fmt;

use backend_api::{Error, ErrorKind};

use crate::settings::Settings;
use crate::target::Target;

/// Where sentinels listen unless a URL says otherwise.
const PORT: u16 = 26379;

/// The settings of such a member, checked. [`Display`](fmt::Display) shows its address, without secrets.
pub(crate) struct NamedMaster {
    pub(crate) master: String,
    pub(crate) sentinels: Vec<Target>,
    /// Everything about the servers but where they are.
    pub(crate) server: Target,
    /// The servers speak TLS.
    pub(crate) tls: bool,
}

impl NamedMaster {
    pub(crate) fn parse(settings: &Settings) -> Result<Self, Error> {
        let refuse = |text: &str| Err(Error::new(ErrorKind::Config, text));
        let Some(master) = settings.master.clone().filter(|name| !name.is_empty()) else {
            return refuse(
                "there are sentinels without a master: name what they watch, master = \"mymaster\"",
            );
        };
        let any_tls = settings.tls || settings.sentinels.iter().any(|url| is_tls(url));
        if settings.ca_file.is_some() && !any_tls {
            return refuse(
                "ca_file is for TLS: say tls = true, or begin the sentinels' urls with rediss://",
            );
        }
        let mut sentinels = Vec::new();
        for url in &settings.sentinels {
            let mut of_one = Settings::new(with_port(url));
            of_one.username.clone_from(&settings.sentinel_username);
            of_one.password.clone_from(&settings.sentinel_password);
            of_one.ca_file = settings.ca_file.clone().filter(|_| is_tls(url));
            let target = Target::parse(&of_one).map_err(|error| {
                Error::new(ErrorKind::Config, format!("sentinels: {}", error.message()))
            })?;
            if target.db != 0 {
                return refuse(
                    "sentinels: a sentinel has no databases; db stands beside the sentinels",
                );
            }
            sentinels.push(target);
        }
        let scheme = if settings.tls { "rediss" } else { "redis" };
        let server = Target::parse(&Settings {
            url: format!("{scheme}://master"),
            ca_file: settings.ca_file.clone().filter(|_| settings.tls),
            ..settings.server()
        })?;
        Ok(Self {
            master,
            sentinels,
            server,
            tls: settings.tls,
        })
    }
}

impl fmt::Display for NamedMaster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of", self.master)?;
        for (place, sentinel) in self.sentinels.iter().enumerate() {
            let separator = if place == 0 { " " } else { ", " };
            write!(f, "{separator}{}", sentinel.address)?;
        }
        Ok(())
    }
}

fn is_tls(url: &str) -> bool {
    url.starts_with("rediss://") || url.starts_with("valkeys://")
}

/// A sentinel's own port where the URL has none. What is no URL is left for the parser to refuse.
fn with_port(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return url.to_owned();
    };
    if scheme.contains("unix") {
        return url.to_owned();
    }
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (place, tail) = rest.split_at(end);
    let host = place.rsplit_once('@').map_or(place, |(_, host)| host);
    let has_port = host
        .rsplit_once(']')
        .map_or(host, |(_, after)| after)
        .contains(':');
    if host.is_empty() || has_port {
        url.to_owned()
    } else {
        format!("{scheme}://{place}:{PORT}{tail}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(table: &str) -> Result<NamedMaster, Error> {
        NamedMaster::parse(&toml::from_str(table).unwrap())
    }

    #[test]
    fn sentinels_have_their_own_port_and_credentials() {
        let watched = parse(
            "sentinels = [\"redis://a\", \"redis://u:p@b:7\", \"redis://[::1]\"]\nmaster = \"m\"\n\
             username = \"app\"\npassword = \"hunter2\"\ndb = 3\nsentinel_password = \"hunter3\"",
        );
        // A password beside them is the one for all.
        let watched = watched.unwrap();
        assert_eq!(watched.to_string(), "m of a:26379, b:7, [::1]:26379");
        assert_eq!(watched.server.db, 3);
        assert_eq!(watched.server.password.as_deref(), Some("hunter2"));
        for sentinel in &watched.sentinels {
            assert_eq!(sentinel.password.as_deref(), Some("hunter3"));
            assert_eq!(sentinel.db, 0);
        }
        let settings = Settings::sentinel("m", ["redis://u:hunter4@b"]).password("hunter2");
        let text = format!("{settings:?}");
        assert!(
            text.contains("m of b:26379") && !text.contains("hunter"),
            "{text}"
        );
    }

    #[test]
    fn what_cannot_be_used_is_refused_by_name() {
        for (table, expected) in [
            ("sentinels = [\"redis://a\"]", "without a master"),
            (
                "sentinels = [\"redis://a\"]\nmaster = \"\"",
                "without a master",
            ),
            (
                "sentinels = [\"a:1\"]\nmaster = \"m\"",
                "sentinels: the url has no scheme",
            ),
            (
                "sentinels = [\"redis://a/2\"]\nmaster = \"m\"",
                "no databases",
            ),
            (
                "sentinels = [\"redis://a\"]\nmaster = \"m\"\nca_file = \"/ca\"",
                "tls = true",
            ),
            (
                "sentinels = [\"redis://a\"]\nmaster = \"m\"\nusername = \"u\"",
                "without a password",
            ),
        ] {
            let error = parse(table).err().expect("refused");
            assert_eq!(error.kind(), ErrorKind::Config);
            assert!(error.message().contains(expected), "{table}: {error}");
        }
    }
}
