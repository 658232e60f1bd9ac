//! The keys that a type knows, asked of the type itself.
//!
//! A derived `Deserialize` names its fields before it reads anything. This deserializer only listens to that and
//! then gives up. A type that names none (a map, or one with `flatten`) knows no keys.

use serde::de::{DeserializeOwned, Deserializer, Visitor, value::Error};

struct Listener<'a>(&'a mut &'static [&'static str]);

/// The field names of a struct, aliases included.
pub(in crate::config::read) fn fields_of<T: DeserializeOwned>() -> &'static [&'static str] {
    let mut heard: &'static [&'static str] = &[];
    // Always an error: nothing is there to read.
    let _ = T::deserialize(Listener(&mut heard));
    heard
}

fn give_up<T>() -> Result<T, Error> {
    Err(serde::de::Error::custom("only the names are wanted"))
}

impl<'de> Deserializer<'de> for Listener<'_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, _visitor: V) -> Result<V::Value, Error> {
        give_up()
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        _visitor: V,
    ) -> Result<V::Value, Error> {
        *self.0 = fields;
        give_up()
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        seq tuple tuple_struct map enum identifier ignored_any
    }
}
