//! A periodic entry, as it is published.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::payload_edit::json_string;

/// One value of `periodic:schedule` (PENT-04).
#[derive(Debug, Clone, Deserialize)]
#[non_exhaustive]
pub struct PeriodicEntry {
    /// When it is due, as it was written.
    pub cron: String,
    /// The class of its jobs.
    pub class: String,
    /// Their `retry`, as JSON.
    #[serde(default = "no_retries")]
    pub retry: Box<RawValue>,
    /// `until_executed`, or nothing.
    #[serde(default)]
    pub unique: Option<String>,
    /// Their args, as JSON.
    #[serde(default = "no_args")]
    pub args: Box<RawValue>,
}

fn no_retries() -> Box<RawValue> {
    RawValue::NULL.to_owned()
}

fn no_args() -> Box<RawValue> {
    RawValue::from_string("[]".into()).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

impl PeriodicEntry {
    /// Reads an entry; `None` when it is none.
    pub fn parse(raw: &[u8]) -> Option<Self> {
        serde_json::from_slice(raw).ok()
    }

    /// True when no second run may begin before the first has ended (PENT-03).
    pub fn is_until_executed(&self) -> bool {
        self.unique.as_deref() == Some("until_executed")
    }
}

/// An entry as it is stored; `retry` and `args` are JSON.
pub fn periodic_entry_json(cron: &str, class: &str, retry: &str, until_executed: bool, args: &str) -> String {
    let unique = if until_executed { "\"until_executed\"" } else { "null" };
    let (cron, class) = (json_string(cron), json_string(class));
    format!(r#"{{"cron":{cron},"class":{class},"retry":{retry},"unique":{unique},"args":{args}}}"#)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_written_as_the_gem_writes_it_and_read_again_pent_04() {
        let json = periodic_entry_json("* * * * *", "DemoCronJob", "0", true, r#"[{"n":1}]"#);
        assert_eq!(
            json,
            r#"{"cron":"* * * * *","class":"DemoCronJob","retry":0,"unique":"until_executed","args":[{"n":1}]}"#
        );
        let entry = PeriodicEntry::parse(json.as_bytes()).unwrap();
        assert!(entry.is_until_executed());
        assert_eq!((entry.args.get(), entry.retry.get()), (r#"[{"n":1}]"#, "0"));
        assert!(PeriodicEntry::parse(b"[]").is_none());
    }
}
