//! How serde walks through tables and choices: entry by entry, keeping track of where it is.

use serde::de::{self, DeserializeSeed, Deserializer, IntoDeserializer, Visitor};
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use super::deserializer::De;
use super::reject::Reject;
use crate::config::read::values::Value;

pub(super) type Key<'a> = Spanned<DeString<'a>>;

/// The entries of a table that are the type's business.
pub(super) struct Entries<'a, 'f> {
    table: De<'a, 'f>,
    entries: toml::map::Iter<'a, Key<'a>, Value<'a>>,
    fields: Option<&'static [&'static str]>,
    next: Option<(&'a Key<'a>, &'a Value<'a>)>,
}

impl<'a, 'f> Entries<'a, 'f> {
    pub(super) fn new(
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
        !self.table.engine.here.contains(&key)
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
pub(super) struct Choice<'a, 'f> {
    pub(super) key: &'a Key<'a>,
    pub(super) value: De<'a, 'f>,
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
