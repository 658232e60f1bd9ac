//! The deserializer itself: one value of the file, offered to serde.
//!
//! Three things differ from toml's own. A struct is asked for its fields, and every key that it does not know is
//! reported and passed over, so that the rest is still read. An array is no struct. A table `{ file = ".." }` where a string
//! is wanted is the content of that file.

use serde::de::{self, Deserializer, IntoDeserializer, Visitor};
use toml::de::{DeTable, DeValue};

use super::access::{Choice, Entries, Key};
use super::reject::{Reject, Why};
use super::{EngineKeys, Foreign};
use crate::config::read::secrets::{file_of, read_secret};
use crate::config::read::values::{NO_NUMBER, Value, expected, float, integer};
use crate::config::suggest::{hint, nearest};

#[derive(Clone, Copy)]
pub(super) struct De<'a, 'f> {
    pub(super) value: &'a Value<'a>,
    /// The key of this value in a table whose type did not name its keys.
    pub(super) unnamed: Option<&'a Key<'a>>,
    pub(super) engine: EngineKeys,
    pub(super) foreign: &'f Foreign<'a>,
}

impl<'a, 'f> De<'a, 'f> {
    pub(super) fn outermost(value: &'a Value<'a>, foreign: &'f Foreign<'a>) -> Self {
        Self {
            value,
            unnamed: None,
            engine: foreign.engine,
            foreign,
        }
    }

    pub(super) fn inner(value: &'a Value<'a>, foreign: &'f Foreign<'a>) -> Self {
        Self {
            value,
            unnamed: None,
            engine: EngineKeys::default(),
            foreign,
        }
    }

    fn start(&self) -> usize {
        self.value.span().start
    }

    /// Errors from in here point here, unless they point deeper already.
    fn placed<T>(&self, result: Result<T, Reject>) -> Result<T, Reject> {
        result.map_err(|mut reject| {
            reject.at.get_or_insert(self.start());
            reject
        })
    }

    pub(super) fn unexpected<T>(&self, wanted: &str) -> Result<T, Reject> {
        self.placed(Err(Reject::text(expected(wanted, self.value.get_ref()))))
    }

    fn unknown(&self, key: &Key<'_>, hint: &str) {
        let name = key.get_ref().as_ref();
        let message = if self.engine.group_only.contains(&name) {
            format!("`{name}` belongs to the whole group, not to a member")
        } else {
            format!("unknown key `{name}`{hint}")
        };
        let foreign = self.foreign;
        let at = Some(key.span().start);
        foreign
            .report
            .say(at, foreign.scope, &foreign.path(), &message);
    }

    /// A table for a type that knows its keys.
    fn read_struct<V: Visitor<'a>>(
        self,
        table: &'a DeTable<'a>,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Reject> {
        let mut meant = Vec::new();
        for key in table.keys() {
            let name = key.get_ref().as_ref();
            if !fields.contains(&name) && !self.engine.here.contains(&name) {
                let known = fields.iter().chain(self.engine.here).copied();
                meant.extend(nearest(name, known.clone()));
                self.unknown(key, &hint(name, "keys", known));
            }
        }
        let entries = Entries::new(self, table, Some(fields));
        let read = visitor.visit_map(entries).map_err(|mut reject| {
            // Who wrote `urll` for `url` need not be told that `url` is missing.
            if matches!(&reject.why, Why::Missing(key) if meant.contains(key)) {
                reject.why = Why::Reported;
            }
            reject
        });
        self.placed(read)
    }

    fn read_string<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Reject> {
        let DeValue::Table(table) = self.value.get_ref() else {
            return self.deserialize_any(visitor);
        };
        let Some(path) = file_of(table) else {
            return self.unexpected("a string or { file = \"..\" }");
        };
        let foreign = self.foreign;
        let read = read_secret(path, foreign.outside, foreign.secrets)
            .map_err(Reject::text)
            .and_then(|content| visitor.visit_string(content));
        self.placed(read)
    }
}

impl<'a> Deserializer<'a> for De<'a, '_> {
    type Error = Reject;

    fn deserialize_any<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Reject> {
        let read = match self.value.get_ref() {
            DeValue::String(text) => visitor.visit_borrowed_str(text),
            DeValue::Integer(whole) => match integer(whole) {
                None => Err(Reject::text(NO_NUMBER)),
                Some(whole) => match (i64::try_from(whole), u64::try_from(whole)) {
                    (Ok(whole), _) => visitor.visit_i64(whole),
                    (_, Ok(whole)) => visitor.visit_u64(whole),
                    _ => visitor.visit_i128(whole),
                },
            },
            DeValue::Float(number) => match float(number) {
                Some(number) => visitor.visit_f64(number),
                None => Err(Reject::text(NO_NUMBER)),
            },
            DeValue::Boolean(flag) => visitor.visit_bool(*flag),
            DeValue::Datetime(time) => visitor.visit_string(time.to_string()),
            DeValue::Array(items) => {
                let items = items.iter().map(|item| De::inner(item, self.foreign));
                visitor.visit_seq(de::value::SeqDeserializer::new(items))
            }
            DeValue::Table(table) => visitor.visit_map(Entries::new(self, table, None)),
        };
        self.placed(read)
    }

    fn deserialize_option<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Reject> {
        // TOML has no null: what is there is some.
        let read = visitor.visit_some(self);
        self.placed(read)
    }

    fn deserialize_newtype_struct<V: Visitor<'a>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Reject> {
        let read = visitor.visit_newtype_struct(self);
        self.placed(read)
    }

    fn deserialize_struct<V: Visitor<'a>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Reject> {
        match self.value.get_ref() {
            DeValue::Table(table) => self.read_struct(table, fields, visitor),
            // A derived struct would take an array as its fields in order.
            _ => self.unexpected("a table"),
        }
    }

    /// `()` and empty structs: settings of a backend that has none.
    fn deserialize_unit<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Reject> {
        let DeValue::Table(table) = self.value.get_ref() else {
            return self.unexpected("an empty table");
        };
        for key in table.keys() {
            let name = key.get_ref().as_ref();
            if !self.engine.here.contains(&name) {
                let known = self.engine.here.iter().copied();
                self.unknown(key, &hint(name, "keys", known));
            }
        }
        let read = visitor.visit_unit();
        self.placed(read)
    }

    fn deserialize_unit_struct<V: Visitor<'a>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Reject> {
        self.deserialize_unit(visitor)
    }

    fn deserialize_str<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Reject> {
        self.read_string(visitor)
    }

    fn deserialize_string<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Reject> {
        self.read_string(visitor)
    }

    fn deserialize_enum<V: Visitor<'a>>(
        self,
        _name: &'static str,
        known: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Reject> {
        let read = match self.value.get_ref() {
            DeValue::String(word) => visitor.visit_enum(word.as_ref().into_deserializer()),
            DeValue::Table(table) => match table.iter().next() {
                Some((key, value)) if table.len() == 1 => visitor.visit_enum(Choice {
                    key,
                    value: De::inner(value, self.foreign),
                }),
                _ => self.unexpected("a table with exactly one key"),
            },
            _ => self.unexpected(&format!("one of {}", known.join(", "))),
        };
        self.placed(read)
    }

    fn deserialize_ignored_any<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Reject> {
        // The type takes keys as they come and throws this one away.
        if let Some(key) = self.unnamed {
            let mut trail = self.foreign.trail.borrow_mut();
            let own = trail.pop();
            drop(trail);
            self.unknown(key, "");
            self.foreign.trail.borrow_mut().extend(own);
        }
        visitor.visit_unit()
    }

    serde::forward_to_deserialize_any! {
        <V: Visitor<'a>>
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char bytes byte_buf seq tuple tuple_struct map identifier
    }
}

impl<'a> IntoDeserializer<'a, Reject> for De<'a, '_> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}
