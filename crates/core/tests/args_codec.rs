//! Every shape of a job to its args and back, and what does not fit.

use std::error::Error;
use std::fmt::Debug;

use cogworker_core::args::{decode, encode};
use cogworker_core::payload_edit::set_fields;
use proptest::prelude::*;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

type Outcome = Result<(), Box<dyn Error>>;

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Newtype(String);
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Pair(String, u32);
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct List(Vec<u8>);
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
struct Anything(Vec<i64>);
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Named {
    name: String,
    #[serde(default)]
    size: Option<u32>,
}
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Unit;
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Nothing();
#[derive(Debug, PartialEq, Serialize, Deserialize)]
enum Choice {
    Plain,
    Value(u8),
    Pair(u8, u8),
    Named { x: f64 },
}

fn round_trip<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: T, json: &str) -> Outcome {
    let args = encode(&value)?;
    assert_eq!(args.get(), json);
    assert_eq!(decode::<T>("TestJob", json)?, value);
    Ok(())
}

#[test]
fn every_shape_has_its_args() -> Outcome {
    round_trip(Newtype("world".into()), r#"["world"]"#)?;
    round_trip(Pair("é/\n".into(), 7), r#"["é/\n",7]"#)?;
    round_trip(List(vec![1, 2]), "[[1,2]]")?;
    round_trip(Anything(vec![1, -2, 3]), "[1,-2,3]")?;
    round_trip(Named { name: "n".into(), size: None }, r#"[{"name":"n","size":null}]"#)?;
    round_trip(Unit, "[]")?;
    round_trip(Nothing(), "[]")?;
    round_trip((), "[]")?;
    round_trip((1u8, "x".to_owned()), r#"[1,"x"]"#)?;
    round_trip(Some(5u8), "[5]")?;
    round_trip(Option::<u8>::None, "[null]")?;
    round_trip(Choice::Plain, r#"["Plain"]"#)?;
    round_trip(Choice::Value(3), r#"[{"Value":3}]"#)?;
    round_trip(Choice::Pair(1, 2), r#"[{"Pair":[1,2]}]"#)?;
    round_trip(Choice::Named { x: 1.0 }, r#"[{"Named":{"x":1.0}}]"#)?;
    round_trip("text".to_owned(), r#"["text"]"#)?;
    round_trip(std::collections::BTreeMap::from([("k".to_owned(), 1u8)]), r#"[{"k":1}]"#)
}

#[test]
fn raw_elements_keep_their_exact_bytes() -> Outcome {
    #[derive(Serialize, Deserialize)]
    #[serde(transparent)]
    struct Raw(Vec<Box<RawValue>>);
    let json = r#"[123456789012345678901234567890,1.0,{"b": 2,  "a":1e5},[],"é"]"#;
    let raw: Raw = decode("RawJob", json)?;
    assert_eq!(raw.0.len(), 5);
    assert_eq!(encode(&raw)?.get(), json);
    Ok(())
}

#[test]
fn a_misfit_names_class_position_expected_and_found() {
    fn error<T: DeserializeOwned + Debug>(json: &str) -> String {
        decode::<T>("TestJob", json).map_or_else(|error| error.to_string(), |value| format!("{value:?}"))
    }
    let cases = [
        (error::<Newtype>("[1]"), "TestJob argument 1: invalid type: integer `1`, expected a string"),
        (error::<Newtype>("[]"), "TestJob: expected 1 argument, found 0"),
        (error::<Newtype>(r#"["a","b"]"#), "TestJob: expected 1 argument, found 2"),
        (error::<Pair>(r#"["a","b"]"#), "TestJob argument 2: invalid type: string \"b\", expected u32"),
        (error::<Pair>(r#"["a"]"#), "TestJob: expected tuple struct Pair with 2 elements, found 1"),
        (error::<Pair>(r#"["a",1,2]"#), "TestJob: expected 2 arguments, found 3"),
        (error::<Named>(r#"[{"size":1}]"#), "TestJob argument 1: missing field `name`"),
        (error::<Unit>("[1]"), "TestJob: expected 0 arguments, found 1"),
        (error::<Newtype>("{}"), "TestJob: expected args to be an array, found {}"),
        (error::<Newtype>("null"), "TestJob: expected args to be an array, found null"),
    ];
    for (found, expected) in cases {
        assert_eq!(found, expected);
    }
}

#[test]
fn what_has_no_json_form_is_refused() {
    let odd = std::collections::HashMap::from([(vec![1u8], 1u8)]);
    let error = encode(&odd).map_or_else(|error| error.to_string(), |args| args.to_string());
    assert_eq!(error, "write the args as JSON: key must be a string");
}

fn any_json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        any::<f64>().prop_filter("finite", |number| number.is_finite()).prop_map(Into::into),
        ".{0,12}".prop_map(Into::into),
    ];
    leaf.prop_recursive(3, 24, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Into::into),
            prop::collection::btree_map(".{0,6}", inner, 0..5)
                .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn any_tuple_survives_a_round_trip(text in ".{0,40}", number in any::<i64>(), list in prop::collection::vec(any::<u16>(), 0..8)) {
        let args = encode(&(&text, number, &list)).map_err(|error| TestCaseError::fail(error.to_string()))?;
        let back: (String, i64, Vec<u16>) =
            decode("TestJob", args.get()).map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert_eq!(back, (text, number, list));
    }

    #[test]
    fn setting_a_field_leaves_every_other_byte_alone(args in any_json(), spare in any_json()) {
        let raw = format!("{{ \"args\":{args} ,\"class\": \"A\",\"spare\":{spare}}}");
        let edited = set_fields(raw.as_bytes(), &[("class", "\"Other\""), ("added", "1")])
            .map_err(|error| TestCaseError::fail(error.to_string()))?;
        let expected = format!("{{ \"args\":{args} ,\"class\": \"Other\",\"spare\":{spare},\"added\":1}}");
        prop_assert_eq!(String::from_utf8_lossy(&edited), expected);
    }
}
