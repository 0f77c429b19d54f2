//! A run's record in the history.

use crate::failure::{Failure, MESSAGE_LIMIT, limited};
use crate::payload_edit::json_string;
use crate::time::EpochSeconds;

/// A record has at most so many lines of backtrace (HIST-10).
const BACKTRACE_LIMIT: usize = 200;

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
        let mut json = format!(
            r#"{{"jid":{},"class":{},"queue":{},"args":{},"status":"{status}","started_at":{},"finished_at":{}"#,
            json_string(self.jid),
            json_string(self.class),
            json_string(self.queue),
            self.args_json,
            self.started_at,
            self.finished_at,
        );
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
