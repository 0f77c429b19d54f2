//! What was found where a job should be, wrapped so that it can be kept among the dead.

use base64::Engine;

use crate::jid::Jid;
use crate::payload_edit::json_string;
use crate::raw_job::NotAJobError;
use crate::time::EpochSeconds;

/// The class such an entry goes by (DEAD-10).
pub const UNPARSEABLE_CLASS: &str = "(unparseable)";

/// At most so many characters of the original are shown.
const RAW_LIMIT: usize = 100_000;

/// The dead entry for bytes that are no job (DEAD-06, DEAD-10). Where making the original valid
/// text changed or cut it, `raw_payload_base64` has the exact bytes.
pub fn wrap(raw: &[u8], queue: Option<&str>, reason: &NotAJobError, now: EpochSeconds) -> Vec<u8> {
    let text = String::from_utf8_lossy(raw);
    let shown = crate::failure::limited(&text, RAW_LIMIT);
    let queue = queue.map_or_else(|| "null".to_owned(), json_string);
    let mut entry = format!(
        r#"{{"class":{},"args":[],"queue":{queue},"jid":"{}","retry":false,"retry_count":0,"enqueued_at":{now},"failed_at":{now},"error_class":"JSON::ParserError","error_message":{},"raw_payload":{}"#,
        json_string(UNPARSEABLE_CLASS),
        Jid::random(),
        json_string(&reason.to_string()),
        json_string(shown),
    );
    if shown.as_bytes() != raw {
        entry.push_str(r#","raw_payload_base64":""#);
        base64::engine::general_purpose::STANDARD.encode_string(raw, &mut entry);
        entry.push('"');
    }
    entry.push('}');
    entry.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raw_job::RawJob;

    #[test]
    fn the_wrapper_is_a_job_that_keeps_the_original() {
        let reason = RawJob::parse(b"{\"class\":").unwrap_err();
        let entry = wrap(b"{\"class\":", Some("default"), &reason, EpochSeconds::new(5.0));
        let job = RawJob::parse(&entry).unwrap();
        assert_eq!((job.class(), job.queue()), ("(unparseable)", Some("default")));
        assert_eq!(job.field_as::<String>("raw_payload").as_deref(), Some("{\"class\":"));
        assert!(job.field("raw_payload_base64").is_none());
        assert_eq!(job.retry_budget(), 0);
    }

    #[test]
    fn bytes_that_are_no_text_are_kept_exactly_p_09() {
        let reason = RawJob::parse(b"\xFF\xFE\x00").unwrap_err();
        let entry = wrap(b"\xFF\xFE\x00", None, &reason, EpochSeconds::EPOCH);
        let job = RawJob::parse(&entry).unwrap();
        assert_eq!(job.field_as::<String>("raw_payload_base64").as_deref(), Some("//4A"));
        assert_eq!(job.queue(), None);
    }
}
