//! Jobs before the push: their fields, checks and bytes.

use super::*;

const NOW: EpochSeconds = EpochSeconds::EPOCH;

#[test]
fn missing_fields_are_filled_in_the_gems_order() {
    let mut job = NewJob::new("A").jid("j");
    let prepared = job.prepare(NOW).unwrap();
    assert_eq!(prepared.queue, "default");
    let payload = String::from_utf8(job.payload(Some(NOW))).unwrap();
    let expected = r#"{"class":"A","jid":"j","args":[],"queue":"default","retry":true,"created_at":0.0,"enqueued_at":0.0}"#;
    assert_eq!(payload, expected);
}

#[test]
fn field_names_and_texts_with_escapes_are_written_and_read_as_json() {
    let mut job = NewJob::new("A").queue("a\"b\\c").jid("j").set("k\"\n", 1);
    assert_eq!(job.prepare(NOW).unwrap().queue, "a\"b\\c");
    let payload = String::from_utf8(job.payload(None)).unwrap();
    assert!(payload.contains(r#""queue":"a\"b\\c","#) && payload.contains(r#""k\"\n":1,"#), "{payload}");
}

#[test]
fn a_payload_takes_no_more_memory_than_its_bytes() {
    let mut job = NewJob::new("A").args(("x", 5)).set("tags", ["a"]).set("enqueued_at", 1.5);
    job.prepare(NOW).unwrap();
    for enqueued_at in [None, Some(NOW)] {
        let payload = job.payload(enqueued_at);
        assert_eq!(payload.capacity(), payload.len());
    }
}

#[test]
fn a_bad_field_is_named_with_what_was_found() {
    let errors = [
        (NewJob::new(""), r#"push a job: class must be a class name, found """#),
        (NewJob::new("A").set("args", 5), "push a job: args must be an array, found 5"),
        (
            NewJob::new("A").queue(""),
            "push a job: queue must be a queue name of 1 to 255 bytes without commas, control characters or spaces \
             at its ends, found \"\"",
        ),
        (
            NewJob::new("A").queue("a,b"),
            "push a job: queue must be a queue name of 1 to 255 bytes without commas, control characters or spaces \
             at its ends, found \"a,b\"",
        ),
        (NewJob::new("A").set("at", "soon"), r#"push a job: at must be epoch seconds, found "soon""#),
        (NewJob::new("A").set("jid", 7), "push a job: jid must be a text, found 7"),
    ];
    for (mut job, text) in errors {
        assert_eq!(job.prepare(NOW).unwrap_err().to_string(), text);
    }
}

#[test]
fn a_cause_that_the_message_tells_is_not_told_by_the_source_again() {
    let error = NewJob::from_json("[1]").unwrap_err();
    assert_eq!(error.to_string(), "push a job: expected a JSON object, got Array");
    assert!(std::error::Error::source(&error).is_none());
}

#[test]
fn null_is_as_good_as_absent_but_for_retry() {
    let mut job =
        NewJob::from_json(r#"{"class":"A","args":null,"queue":null,"jid":null,"at":null,"retry":null}"#)
            .unwrap();
    let prepared = job.prepare(NOW).unwrap();
    assert_eq!((prepared.queue.as_str(), prepared.at, prepared.jid.as_str().len()), ("default", None, 24));
    assert_eq!(job.field("retry").map(RawValue::get), Some("null"));
    assert_eq!(job.field("args").map(RawValue::get), Some("[]"));
}

#[test]
fn a_job_given_as_text_keeps_its_values_bytes() {
    let text =
        r#"{"class":"RawJob","args":[123456789012345678901234567890,1.0, {"b":1,"a":2}],"custom":null}"#;
    let mut job = NewJob::from_json(text).unwrap();
    job.prepare(NOW).unwrap();
    let payload = String::from_utf8(job.payload(None)).unwrap();
    assert!(payload.starts_with(text.trim_end_matches('}')), "{payload}");
}
