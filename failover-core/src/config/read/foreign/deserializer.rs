//! The deserializer itself: one value of the file, offered to serde.
//!
//! Three things differ from toml's own. A struct is asked for its fields, and every key that it does not know is
//! reported and passed over, so that the rest is still read. An array is no struct. A table `{ file = ".." }` where a string
//! is wanted is the content of that file.

use serde::de::{self, DeserializeSeed, Deserializer, IntoDeserializer, Visitor};
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use super::Foreign;
use super::reject::{Reject, Why};
use crate::config::read::secrets::{file_of, read_secret};
use crate::config::read::values::{Value, expected, integer};
use crate::config::suggest::{hint, nearest};

type Key<'a> = Spanned<DeString<'a>>;

#[derive(Clone, Copy)]
pub(super) struct De<'a, 'f> {
    value: &'a Value<'a>,
    /// The key of this value in a table whose type did not name its keys.
    unnamed: Option<&'a Key<'a>>,
    /// Keys here that are not the type's business.
    passed_over: &'static [&'static str],
    foreign: &'f Foreign<'a>,
}

impl<'a, 'f> De<'a, 'f> {
    pub(super) fn outermost(value: &'a Value<'a>, foreign: &'f Foreign<'a>) -> Self {
        Self {
            value,
            unnamed: None,
            passed_over: foreign.engine_keys,
            foreign,
        }
    }

    fn inner(value: &'a Value<'a>, foreign: &'f Foreign<'a>) -> Self {
        Self {
            value,
            unnamed: None,
            passed_over: &[],
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

    fn unexpected<T>(&self, wanted: &str) -> Result<T, Reject> {
        self.placed(Err(Reject::text(expected(wanted, self.value.get_ref()))))
    }

    fn unknown(&self, key: &Key<'_>, hint: &str) {
        let message = format!("unknown key `{}`{hint}", key.get_ref());
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
            if !fields.contains(&name) && !self.passed_over.contains(&name) {
                let known = fields.iter().chain(self.passed_over).copied();
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
        let read = read_secret(path, foreign.folder, foreign.secrets)
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
                None => Err(Reject::text("this number is out of range")),
                Some(whole) => match (i64::try_from(whole), u64::try_from(whole)) {
                    (Ok(whole), _) => visitor.visit_i64(whole),
                    (_, Ok(whole)) => visitor.visit_u64(whole),
                    _ => visitor.visit_i128(whole),
                },
            },
            DeValue::Float(number) => match number.as_str().parse() {
                Ok(number) => visitor.visit_f64(number),
                Err(_) => Err(Reject::text("this number is out of range")),
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
            if !self.passed_over.contains(&name) {
                let known = self.passed_over.iter().copied();
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

/// The entries of a table that are the type's business.
struct Entries<'a, 'f> {
    table: De<'a, 'f>,
    entries: toml::map::Iter<'a, Key<'a>, Value<'a>>,
    fields: Option<&'static [&'static str]>,
    next: Option<(&'a Key<'a>, &'a Value<'a>)>,
}

impl<'a, 'f> Entries<'a, 'f> {
    fn new(
        table: De<'a, 'f>,
        entries: &'a DeTable<'a>,
        fields: Option<&'static [&'static str]>,
    ) -> Self {
        Self {
            table,
            entries: entries.iter(),
            fields,
            next: None,
        }
    }

    fn concerns(&self, key: &str) -> bool {
        !self.table.passed_over.contains(&key)
            && self.fields.is_none_or(|fields| fields.contains(&key))
    }
}

impl<'a> de::MapAccess<'a> for Entries<'a, '_> {
    type Error = Reject;

    fn next_key_seed<K: DeserializeSeed<'a>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Reject> {
        loop {
            let Some((key, value)) = self.entries.next() else {
                return Ok(None);
            };
            let name = key.get_ref().as_ref();
            if self.concerns(name) {
                self.next = Some((key, value));
                let name: de::value::BorrowedStrDeserializer<'a, Reject> =
                    de::value::BorrowedStrDeserializer::new(name);
                return seed.deserialize(name).map(Some).map_err(|mut reject| {
                    reject.at.get_or_insert(key.span().start);
                    reject
                });
            }
        }
    }

    fn next_value_seed<S: DeserializeSeed<'a>>(&mut self, seed: S) -> Result<S::Value, Reject> {
        let Some((key, value)) = self.next.take() else {
            // A type that asks for a value without its key, which no derived one does.
            return Err(Reject::text("the type reads its table out of order"));
        };
        let foreign = self.table.foreign;
        foreign.trail.borrow_mut().push(key.get_ref().as_ref());
        let de = De {
            unnamed: self.fields.is_none().then_some(key),
            ..De::inner(value, foreign)
        };
        let read = seed.deserialize(de).map_err(|mut reject| {
            reject.at.get_or_insert(value.span().start);
            reject.path.get_or_insert_with(|| foreign.path());
            reject
        });
        foreign.trail.borrow_mut().pop();
        read
    }

    fn size_hint(&self) -> Option<usize> {
        None
    }
}

/// `{ variant = value }`
struct Choice<'a, 'f> {
    key: &'a Key<'a>,
    value: De<'a, 'f>,
}

impl<'a, 'f> de::EnumAccess<'a> for Choice<'a, 'f> {
    type Error = Reject;
    type Variant = De<'a, 'f>;

    fn variant_seed<S: DeserializeSeed<'a>>(
        self,
        seed: S,
    ) -> Result<(S::Value, De<'a, 'f>), Reject> {
        let name: de::value::StrDeserializer<'_, Reject> =
            self.key.get_ref().as_ref().into_deserializer();
        let read = seed.deserialize(name).map_err(|mut reject| {
            reject.at.get_or_insert(self.key.span().start);
            reject
        })?;
        Ok((read, self.value))
    }
}

impl<'a> de::VariantAccess<'a> for De<'a, '_> {
    type Error = Reject;

    fn unit_variant(self) -> Result<(), Reject> {
        match self.value.get_ref() {
            DeValue::Table(table) if table.is_empty() => Ok(()),
            _ => self.unexpected("no value beside this word"),
        }
    }

    fn newtype_variant_seed<S: DeserializeSeed<'a>>(self, seed: S) -> Result<S::Value, Reject> {
        seed.deserialize(self)
    }

    fn tuple_variant<V: Visitor<'a>>(self, _len: usize, visitor: V) -> Result<V::Value, Reject> {
        match self.value.get_ref() {
            DeValue::Array(_) => self.deserialize_any(visitor),
            _ => self.unexpected("an array"),
        }
    }

    fn struct_variant<V: Visitor<'a>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Reject> {
        self.deserialize_struct("", fields, visitor)
    }
}
