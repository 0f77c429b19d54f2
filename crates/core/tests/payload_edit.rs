//! Editing fields of stored jobs leaves every other byte alone.

use cogworker_core::payload_edit::set_fields;
use cogworker_core::raw_job::RawJob;
use proptest::prelude::*;

/// JSON values as others may have written them: spaced, escaped, too large for a number type.
fn values() -> impl Strategy<Value = String> {
    let leaves = prop_oneof![
        Just("123456789012345678901234567890".to_owned()),
        Just("1.0".to_owned()),
        Just("1e400".to_owned()),
        Just("null".to_owned()),
        Just(r#""a \"}{][,:\\ \u00e9""#.to_owned()),
        any::<i64>().prop_map(|number| number.to_string()),
        any::<String>().prop_map(|text| serde_json::Value::from(text).to_string()),
    ];
    leaves.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            (proptest::collection::vec(inner.clone(), 0..4), spaces())
                .prop_map(|(values, space)| format!("[{space}{}{space}]", values.join(&format!(",{space}")))),
            (proptest::collection::vec((keys(), inner), 0..4), spaces())
                .prop_map(|(fields, space)| object(&fields, &space)),
        ]
    })
}

fn keys() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("args".to_owned()),
        Just("enqueued_at".to_owned()),
        Just("retry_count".to_owned()),
        any::<String>(),
    ]
}

fn spaces() -> impl Strategy<Value = String> {
    prop_oneof![Just(""), Just(" "), Just("\n\t")].prop_map(str::to_owned)
}

fn object(fields: &[(String, String)], space: &str) -> String {
    let fields: Vec<String> = fields
        .iter()
        .map(|(key, value)| format!("{}{space}:{space}{value}", serde_json::Value::from(key.as_str())))
        .collect();
    format!("{space}{{{space}{}{space}}}{space}", fields.join(&format!("{space},{space}")))
}

proptest! {
    #[test]
    fn a_set_field_keeps_its_place_and_every_other_byte_stays(
        before in proptest::collection::vec((keys(), values()), 0..4),
        after in proptest::collection::vec((any::<String>(), values()), 0..4),
        old in values(),
        new in values(),
        space in spaces(),
    ) {
        // Of a repeated key the last one counts, so none comes after it here.
        let after: Vec<_> = after.into_iter().filter(|(key, _)| key != "enqueued_at").collect();
        let with = |value: &str| {
            let mut fields = before.clone();
            fields.push(("enqueued_at".to_owned(), value.to_owned()));
            fields.extend(after.clone());
            object(&fields, &space)
        };
        let edited = set_fields(with(&old).as_bytes(), &[("enqueued_at", new.trim())]);
        // A value's own spacing is not a part of it.
        let expected = with(&old.replace(old.trim(), new.trim()));
        prop_assert_eq!(edited.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()), Ok(expected));
    }

    #[test]
    fn a_new_field_comes_last_and_every_other_byte_stays(
        fields in proptest::collection::vec((any::<String>(), values()), 0..5),
        value in values(),
        space in spaces(),
    ) {
        let fields: Vec<_> = fields.into_iter().filter(|(key, _)| key != "retry_count").collect();
        let raw = object(&fields, &space);
        let edited = set_fields(raw.as_bytes(), &[("retry_count", &value)]).map_err(|e| TestCaseError::fail(e.to_string()))?;
        let close = raw.rfind('}').unwrap_or(0);
        let comma = if fields.is_empty() { "" } else { "," };
        let expected = format!("{}{comma}\"retry_count\":{value}{}", &raw[..close], &raw[close..]);
        prop_assert_eq!(String::from_utf8_lossy(&edited), expected);
    }

    #[test]
    fn repeated_edits_of_the_failure_fields_never_touch_the_args(
        args in proptest::collection::vec(values(), 0..4),
        rounds in 1..6u32,
    ) {
        let args = format!("[{}]", args.join(" , "));
        let mut raw = format!(r#"{{"class":"AJob","args":{args},"jid":"j"}}"#).into_bytes();
        for round in 0..rounds {
            let count = round.to_string();
            raw = set_fields(&raw, &[("error_message", "\"}\""), ("retry_count", &count)])
                .map_err(|e| TestCaseError::fail(e.to_string()))?;
        }
        let job = RawJob::parse(&raw).map_err(|e| TestCaseError::fail(e.to_string()))?;
        prop_assert_eq!(job.args_json(), args);
        prop_assert_eq!(job.retry_count(), rounds - 1);
    }
}

#[test]
fn a_field_that_is_given_twice_is_set_to_the_last() -> Result<(), Box<dyn std::error::Error>> {
    let twice = [("a", "1"), ("a", "2")];
    assert_eq!(set_fields(br#"{"a":0,"b":0}"#, &twice)?, br#"{"a":2,"b":0}"#);
    assert_eq!(set_fields(br#"{"b":0}"#, &twice)?, br#"{"b":0,"a":2}"#);
    Ok(())
}

#[test]
fn a_field_name_is_escaped() -> Result<(), Box<dyn std::error::Error>> {
    assert_eq!(set_fields(b"{}", &[("a\"b", "1")])?, br#"{"a\"b":1}"#);
    Ok(())
}

#[test]
fn what_is_no_object_is_not_edited() {
    for (raw, error) in [
        (&b"[1]"[..], "expected a JSON object, got Array"),
        (b"{\"a\":1", "EOF while parsing an object at line 1 column 6"),
    ] {
        let edited = set_fields(raw, &[("a", "1")]);
        assert_eq!(edited.map_err(|error| error.to_string()), Err(error.to_owned()));
    }
}
