//! A run's record in the history.

use std::fmt::Write;

use crate::failure::{Failure, MESSAGE_LIMIT, limited};
use crate::payload_edit::{json_string, push_json_string};
use crate::time::EpochSeconds;

/// A record has at most so many lines of backtrace (HIST-10).
const BACKTRACE_LIMIT: usize = 200;

/// Names, quotes and times of a successful run's record, with some room.
const FIELDS_LENGTH: usize = 140;

/// A run that ended, as the history keeps it (HIST-01, HIST-02).
#[derive(Debug, Clone, Copy)]
pub struct RunRecord<'a> {
    /// The job's id.
    pub jid: &'a str,
    /// Its class.
    pub class: &'a str,
    /// The queue that it came from.
    pub queue: &'a str,
    /// Its args, as stored.
    pub args_json: &'a str,
    /// When the run began.
    pub started_at: EpochSeconds,
    /// When it ended.
    pub finished_at: EpochSeconds,
    /// What went wrong, if it failed.
    pub failure: Option<&'a Failure>,
}

impl RunRecord<'_> {
    /// As stored. The args keep their bytes.
    pub fn to_json(&self) -> Vec<u8> {
        let status = if self.failure.is_none() { "success" } else { "failed" };
        let texts = self.jid.len() + self.class.len() + self.queue.len() + self.args_json.len();
        let mut json = String::with_capacity(texts + FIELDS_LENGTH);
        for (before, text) in
            [(r#"{"jid":"#, self.jid), (r#","class":"#, self.class), (r#","queue":"#, self.queue)]
        {
            json.push_str(before);
            push_json_string(&mut json, text);
        }
        json.push_str(r#","args":"#);
        json.push_str(self.args_json);
        let (started_at, finished_at) = (self.started_at, self.finished_at);
        // Writing to a text cannot fail.
        let _ = write!(json, r#","status":"{status}","started_at":{started_at},"finished_at":{finished_at}"#);
        if let Some(failure) = self.failure {
            let backtrace: Vec<_> = match failure.backtrace.as_slice() {
                // A failure always shows where it came from, if only by itself.
                [] => vec![json_string(&failure.class)],
                lines => lines.iter().take(BACKTRACE_LIMIT).map(|line| json_string(line)).collect(),
            };
            json.push_str(&format!(
                r#","error_class":{},"error_message":{},"backtrace":[{}]"#,
                json_string(&failure.class),
                json_string(limited(&failure.message, MESSAGE_LIMIT)),
                backtrace.join(","),
            ));
        }
        json.push('}');
        json.into_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(failure: Option<&Failure>) -> String {
        let record = RunRecord {
            jid: "j",
            class: "A",
            queue: "q",
            args_json: r#"[1.0,123456789012345678901]"#,
            started_at: EpochSeconds::new(1.5),
            finished_at: EpochSeconds::new(2.0),
            failure,
        };
        String::from_utf8(record.to_json()).unwrap()
    }

    #[test]
    fn a_success_has_no_backtrace_hist_01() {
        assert_eq!(
            record(None),
            r#"{"jid":"j","class":"A","queue":"q","args":[1.0,123456789012345678901],"status":"success","started_at":1.5,"finished_at":2.0}"#
        );
    }

    #[test]
    fn a_failure_has_its_error_and_a_backtrace_that_is_never_empty_hist_02_hist_10() {
        let mut failure = Failure::new("E", "boom \"x\"");
        assert!(record(Some(&failure)).ends_with(
            r#""status":"failed","started_at":1.5,"finished_at":2.0,"error_class":"E","error_message":"boom \"x\"","backtrace":["E"]}"#
        ));
        failure.backtrace = (0..300).map(|line| line.to_string()).collect();
        assert!(record(Some(&failure)).ends_with(r#""199"]}"#));
    }
}
