//! A job that is running now, as others see it.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::payload_edit::json_string;
use crate::time::EpochSeconds;

/// One value of a process's work hash (PROC-02).
#[derive(Debug, Clone, Deserialize)]
#[non_exhaustive]
pub struct Work {
    /// The queue the job came from.
    pub queue: String,
    /// The job, as stored.
    #[serde(rename = "payload")]
    pub raw: Box<RawValue>,
    /// When it started, to the second.
    pub run_at: EpochSeconds,
}

/// The value to store: the job's raw bytes stand in it unchanged. A job that is not valid text
/// has been buried before it could run.
pub fn work_json(queue: &str, raw: &[u8], run_at: EpochSeconds) -> Vec<u8> {
    let mut json = Vec::with_capacity(raw.len() + queue.len() + 48);
    json.extend_from_slice(b"{\"queue\":");
    json.extend_from_slice(json_string(queue).as_bytes());
    json.extend_from_slice(b",\"payload\":");
    json.extend_from_slice(raw);
    json.extend_from_slice(format!(",\"run_at\":{}}}", run_at.as_f64() as i64).as_bytes());
    json
}
