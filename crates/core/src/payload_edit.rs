//! Changing fields of a stored job without touching any other byte.

use crate::failure::{Failure, MESSAGE_LIMIT, limited};
use crate::raw_job::{NotAJobError, RawJob, fields_of, json_text};
use crate::time::EpochSeconds;

/// Sets top-level fields (key, JSON) of a stored job. An existing key keeps its place; a new one
/// comes last; of a key given twice the last counts. Every other byte stays as it is: numbers, spacing and key order inside the args
/// survive any number of edits.
///
/// # Errors
/// When the bytes are not a JSON object.
pub fn set_fields(raw: &[u8], fields: &[(&str, &str)]) -> Result<Vec<u8>, NotAJobError> {
    let text = json_text(raw)?;
    let present = fields_of(raw)?;
    let mut replaced: Vec<(usize, usize, &str)> = Vec::new();
    let mut added = String::new();
    for (index, (key, json)) in fields.iter().enumerate() {
        if fields[index + 1..].iter().any(|(later, _)| later == key) {
            continue;
        }
        match present.iter().rev().find(|(name, _)| name == key) {
            Some((_, value)) => {
                // The value is a part of `text`, so its address tells where it stands.
                let start = value.get().as_ptr() as usize - text.as_ptr() as usize;
                replaced.push((start, start + value.get().len(), json));
            }
            None => {
                if !present.is_empty() || !added.is_empty() {
                    added.push(',');
                }
                added.push_str(&json_string(key));
                added.push(':');
                added.push_str(json);
            }
        }
    }
    replaced.sort_unstable_by_key(|(start, ..)| *start);
    let growth: usize = added.len() + replaced.iter().map(|(.., json)| json.len()).sum::<usize>();
    let mut edited = Vec::with_capacity(raw.len() + growth);
    let mut at = 0;
    for (start, end, json) in replaced {
        edited.extend_from_slice(&raw[at..start]);
        edited.extend_from_slice(json.as_bytes());
        at = end;
    }
    let close = text.rfind('}').unwrap_or(text.len());
    edited.extend_from_slice(&raw[at..close]);
    edited.extend_from_slice(added.as_bytes());
    edited.extend_from_slice(&raw[close..]);
    Ok(edited)
}

/// The job with a fresh `enqueued_at`, as it goes onto a queue (SCHED-04).
///
/// # Errors
/// When the bytes are not a JSON object.
pub fn stamp_enqueued_at(raw: &[u8], now: EpochSeconds) -> Result<Vec<u8>, NotAJobError> {
    set_fields(raw, &[("enqueued_at", &now.to_string())])
}

/// The job as it goes into retry or dead: with what went wrong, when it first did, and how often
/// it has by now (RETRY-01, RETRY-05, RETRY-11).
///
/// # Errors
/// When the bytes are not a JSON object.
pub fn failed_payload(raw: &[u8], failure: &Failure, now: EpochSeconds) -> Result<Vec<u8>, NotAJobError> {
    let job = RawJob::parse(raw)?;
    let class = json_string(&failure.class);
    let message = json_string(limited(&failure.message, MESSAGE_LIMIT));
    let count = job.retry_count().saturating_add(1).to_string();
    let failed_at = now.to_string();
    let mut fields = vec![("error_class", class.as_str()), ("error_message", message.as_str())];
    if job.failed_at().is_none() {
        fields.push(("failed_at", &failed_at));
    }
    fields.push(("retry_count", &count));
    set_fields(raw, &fields)
}

/// A text as JSON.
pub fn json_string(text: &str) -> String {
    let mut json = String::with_capacity(text.len() + 2);
    push_json_string(&mut json, text);
    json
}

/// Adds a text as JSON.
pub(crate) fn push_json_string(json: &mut String, text: &str) {
    if text.bytes().all(|byte| byte >= 0x20 && byte != b'"' && byte != b'\\') {
        json.push('"');
        json.push_str(text);
        json.push('"');
    } else {
        json.push_str(&serde_json::Value::from(text).to_string());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_written_as_serde_writes_it() {
        for text in ["", "plain é \u{7f} \u{2028} 🦀", "a\"b", "a\\b", "\n", "\0"] {
            assert_eq!(json_string(text), serde_json::to_string(text).unwrap());
        }
    }

    fn edited(raw: &str, fields: &[(&str, &str)]) -> String {
        String::from_utf8(set_fields(raw.as_bytes(), fields).unwrap()).unwrap()
    }

    #[test]
    fn an_existing_field_keeps_its_place_and_a_new_one_comes_last() {
        let raw = r#"{"a": 1.0 ,"b":[1e20, {} ],"c":null}"#;
        assert_eq!(
            edited(raw, &[("d", "4"), ("b", "2"), ("e", "5")]),
            r#"{"a": 1.0 ,"b":2,"c":null,"d":4,"e":5}"#
        );
        assert_eq!(edited("{ }", &[("a", "1"), ("b", "2")]), r#"{ "a":1,"b":2}"#);
        assert_eq!(edited("{\"a\":\"}\"}\n", &[("b", "2")]), "{\"a\":\"}\",\"b\":2}\n");
    }

    #[test]
    fn the_last_of_a_repeated_key_is_the_one_that_is_set() {
        assert_eq!(edited(r#"{"a":1,"a":2}"#, &[("a", "3")]), r#"{"a":1,"a":3}"#);
    }

    #[test]
    fn a_nested_key_of_the_same_name_is_left_alone_p_04() {
        let raw = r#"{"args":[{"enqueued_at":"2023-05-23T19:58:15Z"}],"enqueued_at":1.2e3}"#;
        let stamped = stamp_enqueued_at(raw.as_bytes(), EpochSeconds::new(2.5)).unwrap();
        assert_eq!(
            String::from_utf8(stamped).unwrap(),
            r#"{"args":[{"enqueued_at":"2023-05-23T19:58:15Z"}],"enqueued_at":2.5}"#
        );
    }

    #[test]
    fn a_failure_adds_exactly_four_keys_retry_05() {
        let raw = br#"{"class":"A","args":[1.0]}"#;
        let first = failed_payload(raw, &Failure::new("E", "boom"), EpochSeconds::new(5.0)).unwrap();
        let text = String::from_utf8(first.clone()).unwrap();
        assert_eq!(
            text,
            r#"{"class":"A","args":[1.0],"error_class":"E","error_message":"boom","failed_at":5.0,"retry_count":1}"#
        );
        let second = failed_payload(&first, &Failure::new("F", "again"), EpochSeconds::new(9.0)).unwrap();
        let text = String::from_utf8(second).unwrap();
        assert!(
            text.ends_with(r#""error_class":"F","error_message":"again","failed_at":5.0,"retry_count":2}"#)
        );
    }
}
