//! Looks through a value for numbers that JSON cannot hold.

use std::fmt;

use serde::ser::{
    self, Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant, Serializer,
};

/// The number that was found, if any: JSON would silently make `null` of it.
pub(super) fn find_non_finite<T: Serialize + ?Sized>(value: &T) -> Option<f64> {
    match value.serialize(Search) {
        Err(Found::NonFinite(number)) => Some(number),
        // What cannot be written at all is told by whoever writes it.
        Ok(()) | Err(Found::Unwritable) => None,
    }
}

#[derive(Debug)]
enum Found {
    NonFinite(f64),
    Unwritable,
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("found")
    }
}

impl std::error::Error for Found {}

impl ser::Error for Found {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self::Unwritable
    }
}

#[derive(Clone, Copy)]
struct Search;

type Outcome = Result<(), Found>;

/// Values without numbers of interest in them.
macro_rules! plain {
    ($($name:ident($($kind:ty),*);)*) => {
        $(fn $name(self $(, _: $kind)*) -> Outcome {
            Ok(())
        })*
    };
}

impl Serializer for Search {
    type Ok = ();
    type Error = Found;
    type SerializeSeq = Self;
    type SerializeTuple = Self;
    type SerializeTupleStruct = Self;
    type SerializeTupleVariant = Self;
    type SerializeMap = Self;
    type SerializeStruct = Self;
    type SerializeStructVariant = Self;

    plain! {
        serialize_bool(bool);
        serialize_i8(i8);
        serialize_i16(i16);
        serialize_i32(i32);
        serialize_i64(i64);
        serialize_i128(i128);
        serialize_u8(u8);
        serialize_u16(u16);
        serialize_u32(u32);
        serialize_u64(u64);
        serialize_u128(u128);
        serialize_char(char);
        serialize_str(&str);
        serialize_bytes(&[u8]);
        serialize_none();
        serialize_unit();
        serialize_unit_struct(&'static str);
        serialize_unit_variant(&'static str, u32, &'static str);
    }

    fn serialize_f32(self, number: f32) -> Outcome {
        self.serialize_f64(f64::from(number))
    }

    fn serialize_f64(self, number: f64) -> Outcome {
        if number.is_finite() { Ok(()) } else { Err(Found::NonFinite(number)) }
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Outcome {
        value.serialize(self)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Outcome {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        value: &T,
    ) -> Outcome {
        value.serialize(self)
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Self, Found> {
        Ok(self)
    }

    fn serialize_tuple(self, _: usize) -> Result<Self, Found> {
        Ok(self)
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Self, Found> {
        Ok(self)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self, Found> {
        Ok(self)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Self, Found> {
        Ok(self)
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self, Found> {
        Ok(self)
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self, Found> {
        Ok(self)
    }
}

/// The parts of a compound: each is looked through.
macro_rules! parts {
    ($($of:ident: $method:ident($($name:ty)?);)*) => {
        $(impl $of for Search {
            type Ok = ();
            type Error = Found;

            fn $method<T: Serialize + ?Sized>(&mut self, $(_: $name,)? value: &T) -> Outcome {
                value.serialize(*self)
            }

            fn end(self) -> Outcome {
                Ok(())
            }
        })*
    };
}

parts! {
    SerializeSeq: serialize_element();
    SerializeTuple: serialize_element();
    SerializeTupleStruct: serialize_field();
    SerializeTupleVariant: serialize_field();
    SerializeStruct: serialize_field(&'static str);
    SerializeStructVariant: serialize_field(&'static str);
}

impl SerializeMap for Search {
    type Ok = ();
    type Error = Found;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, _: &T) -> Outcome {
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Outcome {
        value.serialize(*self)
    }

    fn end(self) -> Outcome {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;

    #[test]
    fn a_number_that_json_cannot_hold_is_found_however_deep() {
        #[derive(serde::Serialize)]
        enum Price {
            Known { cents: Option<f64> },
            Of(Vec<f32>),
        }
        for found in [
            find_non_finite(&f64::NAN),
            find_non_finite(&Price::Known { cents: Some(f64::INFINITY) }),
            find_non_finite(&(1, "x", Price::Of(vec![1.0, f32::NEG_INFINITY]))),
            find_non_finite(&BTreeMap::from([("a", [f64::NAN])])),
        ] {
            assert!(found.is_some_and(|number| !number.is_finite()));
        }
    }

    #[test]
    fn what_json_can_hold_passes() {
        assert_eq!(find_non_finite(&json!([1.5, null, {"a": [true, "NaN"]}])), None);
        assert_eq!(find_non_finite(&(f64::MAX, f64::MIN_POSITIVE, Some(-0.0), ())), None);
    }
}
