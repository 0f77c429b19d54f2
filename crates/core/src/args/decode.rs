//! Args to a job value.

use serde::de::{self, Deserialize, DeserializeSeed, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::ArgsError;
use super::error::{arguments, without_place};

/// Reads a job of class `class` from its args, a JSON array.
///
/// # Errors
/// When the args do not fit the type; the error names the class, the position, and what was
/// expected and found.
pub fn decode<'de, T: Deserialize<'de>>(class: &str, args_json: &'de str) -> Result<T, ArgsError> {
    T::deserialize(Outermost { args: args_json }).map_err(|misfit| misfit.name(class, args_json))
}

/// A misfit before the class is known.
#[derive(Debug)]
enum Misfit {
    NotAnArray,
    Argument { position: usize, reason: String },
    Count { expected: String },
    Custom(String),
}

impl Misfit {
    fn name(self, class: &str, args: &str) -> ArgsError {
        let class = class.to_owned();
        let found = || serde_json::from_str::<Vec<&RawValue>>(args).map_or(0, |args| args.len());
        match self {
            Self::NotAnArray => ArgsError::NotAnArray { class, found: excerpt(args) },
            Self::Argument { position, reason } => ArgsError::WrongType { class, position, reason },
            Self::Count { expected } => ArgsError::WrongCount { class, expected, found: found() },
            // serde's own "invalid length 1, expected tuple struct Resize with 2 elements".
            Self::Custom(reason) if reason.starts_with("invalid length ") => {
                let expected = reason.split_once("expected ").map_or("more", |(_, expected)| expected);
                ArgsError::WrongCount { class, expected: expected.to_owned(), found: found() }
            }
            Self::Custom(reason) => ArgsError::WrongType { class, position: 1, reason },
        }
    }
}

fn excerpt(text: &str) -> String {
    const SHOWN: usize = 40;
    let shown: String = text.chars().take(SHOWN).collect();
    if shown.len() < text.len() { format!("{shown}…") } else { shown }
}

impl std::fmt::Display for Misfit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self:?}")
    }
}

impl std::error::Error for Misfit {}

impl de::Error for Misfit {
    fn custom<T: std::fmt::Display>(message: T) -> Self {
        Self::Custom(message.to_string())
    }
}

/// Deserialises the outermost type; everything inside is plain JSON.
struct Outermost<'de> {
    args: &'de str,
}

impl<'de> Outermost<'de> {
    fn elements(&self) -> Result<Vec<&'de RawValue>, Misfit> {
        serde_json::from_str(self.args).map_err(|_| Misfit::NotAnArray)
    }

    /// Hands the only argument to `read`.
    fn one<T>(
        self,
        read: impl FnOnce(&mut serde_json::Deserializer<serde_json::de::StrRead<'de>>) -> serde_json::Result<T>,
    ) -> Result<T, Misfit> {
        match *self.elements()? {
            [only] => read(&mut serde_json::Deserializer::from_str(only.get()))
                .map_err(|error| Misfit::Argument { position: 1, reason: without_place(&error) }),
            _ => Err(Misfit::Count { expected: arguments(1) }),
        }
    }

    fn none<T>(self, visit: impl FnOnce() -> Result<T, Misfit>) -> Result<T, Misfit> {
        if self.elements()?.is_empty() { visit() } else { Err(Misfit::Count { expected: arguments(0) }) }
    }

    fn positional<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        let elements = self.elements()?;
        let mut positions = Positions { elements: elements.iter(), position: 0 };
        let value = visitor.visit_seq(&mut positions)?;
        if positions.elements.next().is_some() {
            return Err(Misfit::Count { expected: arguments(positions.position) });
        }
        Ok(value)
    }
}

struct Positions<'a, 'de> {
    elements: std::slice::Iter<'a, &'de RawValue>,
    position: usize,
}

impl<'de> SeqAccess<'de> for &mut Positions<'_, 'de> {
    type Error = Misfit;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Misfit> {
        let Some(element) = self.elements.next() else { return Ok(None) };
        self.position += 1;
        let position = self.position;
        seed.deserialize(&mut serde_json::Deserializer::from_str(element.get()))
            .map(Some)
            .map_err(|error| Misfit::Argument { position, reason: without_place(&error) })
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.elements.len())
    }
}

/// Kinds that are one argument, read by the same method of serde_json's.
macro_rules! one_argument {
    ($($method:ident($($arg:ident: $kind:ty),*))*) => {
        $(fn $method<V: Visitor<'de>>(self, $($arg: $kind,)* visitor: V) -> Result<V::Value, Misfit> {
            self.one(|argument| de::Deserializer::$method(argument, $($arg,)* visitor))
        })*
    };
}

impl<'de> de::Deserializer<'de> for Outermost<'de> {
    type Error = Misfit;

    one_argument! {
        deserialize_bool() deserialize_i8() deserialize_i16() deserialize_i32() deserialize_i64()
        deserialize_i128() deserialize_u8() deserialize_u16() deserialize_u32() deserialize_u64()
        deserialize_u128() deserialize_f32() deserialize_f64() deserialize_char() deserialize_str()
        deserialize_string() deserialize_bytes() deserialize_byte_buf() deserialize_option()
        deserialize_map() deserialize_identifier()
        deserialize_newtype_struct(name: &'static str)
        deserialize_struct(name: &'static str, fields: &'static [&'static str])
        deserialize_enum(name: &'static str, variants: &'static [&'static str])
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        self.none(|| visitor.visit_unit())
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Misfit> {
        self.none(|| visitor.visit_unit())
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        self.positional(visitor)
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Misfit> {
        self.positional(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, Misfit> {
        self.positional(visitor)
    }

    /// For types that look at what is there: enums that are untagged or tagged inside, and plain
    /// JSON values. A lone argument is the value itself, unless it is an array.
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        match *self.elements()? {
            [only] if !only.get().starts_with('[') => {
                self.one(|argument| de::Deserializer::deserialize_any(argument, visitor))
            }
            _ => self.positional(visitor),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        visitor.visit_unit()
    }
}
