//! A job value to its args.

use serde::ser::{self, Impossible, Serialize};
use serde_json::value::RawValue;

use super::ArgsError;
use super::error::without_place;
use super::finite::find_non_finite;

/// The args of `job` as a compact JSON array.
///
/// # Errors
/// When the value has no JSON form: a number that is not finite, a map whose keys are not texts, or
/// whatever its own `Serialize` refuses.
pub fn encode<T: Serialize + ?Sized>(job: &T) -> Result<Box<RawValue>, ArgsError> {
    let unwritable = |error: serde_json::Error| ArgsError::Unwritable { reason: without_place(&error) };
    let shape = match job.serialize(Probe) {
        Err(Probed::Shape(shape)) => shape,
        Err(Probed::Refused(reason)) => return Err(ArgsError::Unwritable { reason }),
        Ok(never) => match never {},
    };
    if let Some(number) = find_non_finite(job) {
        // serde_json would make `null` of it.
        return Err(ArgsError::Unwritable { reason: format!("expected finite numbers, found {number}") });
    }
    let json = match shape {
        Shape::Nothing => "[]".to_owned(),
        Shape::Positional => serde_json::to_string(job).map_err(unwritable)?,
        Shape::One => format!("[{}]", serde_json::to_string(job).map_err(unwritable)?),
    };
    RawValue::from_string(json).map_err(unwritable)
}

/// What the outermost type is.
#[derive(Debug)]
enum Shape {
    Nothing,
    Positional,
    One,
}

/// Carries the shape out of [`Probe`], which ends at the outermost type.
#[derive(Debug)]
enum Probed {
    Shape(Shape),
    Refused(String),
}

impl std::fmt::Display for Probed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self:?}")
    }
}

impl std::error::Error for Probed {}

impl ser::Error for Probed {
    fn custom<T: std::fmt::Display>(message: T) -> Self {
        Self::Refused(message.to_string())
    }
}

#[derive(Debug)]
enum Never {}

/// A serializer that only looks at the outermost type.
struct Probe;

macro_rules! shapes {
    ($($shape:ident: $($method:ident($($arg:ty),*))*;)*) => {
        $($(fn $method(self, $(_: $arg),*) -> Result<Never, Probed> {
            Err(Probed::Shape(Shape::$shape))
        })*)*
    };
}

impl ser::Serializer for Probe {
    type Ok = Never;
    type Error = Probed;
    type SerializeSeq = Impossible<Never, Probed>;
    type SerializeTuple = Impossible<Never, Probed>;
    type SerializeTupleStruct = Impossible<Never, Probed>;
    type SerializeTupleVariant = Impossible<Never, Probed>;
    type SerializeMap = Impossible<Never, Probed>;
    type SerializeStruct = Impossible<Never, Probed>;
    type SerializeStructVariant = Impossible<Never, Probed>;

    shapes! {
        Nothing: serialize_unit() serialize_unit_struct(&'static str);
        One:
            serialize_bool(bool) serialize_i8(i8) serialize_i16(i16) serialize_i32(i32) serialize_i64(i64)
            serialize_i128(i128) serialize_u8(u8) serialize_u16(u16) serialize_u32(u32) serialize_u64(u64)
            serialize_u128(u128) serialize_f32(f32) serialize_f64(f64) serialize_char(char)
            serialize_str(&str) serialize_bytes(&[u8]) serialize_none()
            serialize_unit_variant(&'static str, u32, &'static str);
    }

    fn serialize_some<T: Serialize + ?Sized>(self, _: &T) -> Result<Never, Probed> {
        Err(Probed::Shape(Shape::One))
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: &T,
    ) -> Result<Never, Probed> {
        Err(Probed::Shape(Shape::One))
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<Never, Probed> {
        Err(Probed::Shape(Shape::One))
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Self::SerializeSeq, Probed> {
        Err(Probed::Shape(Shape::Positional))
    }

    fn serialize_tuple(self, _: usize) -> Result<Self::SerializeTuple, Probed> {
        Err(Probed::Shape(Shape::Positional))
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Self::SerializeTupleStruct, Probed> {
        Err(Probed::Shape(Shape::Positional))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleVariant, Probed> {
        Err(Probed::Shape(Shape::One))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Self::SerializeMap, Probed> {
        Err(Probed::Shape(Shape::One))
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self::SerializeStruct, Probed> {
        Err(Probed::Shape(Shape::One))
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeStructVariant, Probed> {
        Err(Probed::Shape(Shape::One))
    }
}
