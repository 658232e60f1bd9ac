//! What a configuration must say, and what it says when it is wrong.
//!
//! The backend here does nothing but have settings of every shape. Errors are read as people read them: as text.

mod accepts;
mod builders;
mod names;
mod refuses;
mod refuses_settings;
mod secrets;
mod text;

use std::fmt;

use backend_api::{Backend, Capabilities, Dial, Error, ErrorKind, FromOptions, Slot, async_trait};
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::{ConfigError, Known, Loaded, Source, read};

#[derive(Clone, Debug, PartialEq, Deserialize)]
struct Settings {
    url: String,
    nested: Option<Nested>,
    port: Option<u16>,
    mode: Option<Mode>,
    #[serde(default)]
    routes: Vec<Nested>,
    user: Option<String>,
    load: Option<f64>,
    loose: Option<Loose>,
    tag: Option<Tag>,
}

/// Takes any key and throws away what it does not need.
#[derive(Clone, Debug, PartialEq)]
struct Loose;

impl<'de> Deserialize<'de> for Loose {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = Loose;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("anything")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Loose, A::Error> {
                while let Some(key) = map.next_key::<String>()? {
                    if key == "used" {
                        map.next_value::<bool>()?;
                    } else {
                        map.next_value::<IgnoredAny>()?;
                    }
                }
                Ok(Loose)
            }
        }
        deserializer.deserialize_map(Any)
    }
}

/// Refuses every text, and repeats it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "String")]
struct Tag(String);

impl TryFrom<String> for Tag {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Err(format!("`{text}` is no tag"))
    }
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
struct Nested {
    depth: u32,
    deeper: Option<Box<Nested>>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Mode {
    Plain,
    Tls { ca: String },
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Options {
    replay: String,
    discovers: bool,
    refuse: Option<String>,
}

#[derive(Debug)]
struct Test {
    options: Options,
}

impl FromOptions for Test {
    type Options = Options;

    fn from_options(options: Options) -> Result<Self, Error> {
        match &options.refuse {
            Some(why) => Err(Error::new(ErrorKind::Config, format!("refused: {why}"))),
            None => Ok(Self { options }),
        }
    }
}

#[async_trait]
impl Backend for Test {
    type Settings = Settings;
    type Connection = ();
    type Client = ();

    fn client(&self, _: Slot<()>) {}

    async fn connect(&self, _: Dial<'_, Settings>) -> Result<(), Error> {
        Ok(())
    }

    async fn prove(&self, (): &()) -> Result<(), Error> {
        Ok(())
    }

    async fn retire(&self, (): ()) {}

    fn capabilities(&self) -> Capabilities {
        let capabilities = Capabilities::new();
        if self.options.discovers {
            capabilities.discovering_members()
        } else {
            capabilities
        }
    }

    fn validate(&self, settings: &Settings) -> Result<(), Error> {
        if settings.url.starts_with("test://") {
            Ok(())
        } else {
            // As a careless backend would: with the value and with its options.
            let replay = &self.options.replay;
            let text = format!("{:?} is no test:// URL (replay {replay})", settings.url);
            Err(Error::new(ErrorKind::Config, text))
        }
    }
}

const NO_ENVIRONMENT: &dyn Fn(&str) -> Option<String> = &|_| None;

fn load(text: &str) -> Result<Loaded<Test>, ConfigError> {
    read(Source::new("f.toml", text), NO_ENVIRONMENT, &Known::new())
}

fn accepted(text: &str) -> Loaded<Test> {
    load(text).unwrap_or_else(|error| panic!("refused:\n{error}\nin\n{text}"))
}

fn refused(text: &str) -> String {
    match load(text) {
        Ok(_) => panic!("accepted:\n{text}"),
        Err(error) => error.to_string(),
    }
}

/// A group with one good member, after some lines of a test.
fn with_member(head: &str) -> String {
    format!("{head}\n[[member]]\nname = \"east\"\nurl = \"test://east\"\n")
}
