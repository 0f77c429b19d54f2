//! A stored job, read in place.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, DeserializeOwned, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::time::EpochSeconds;

/// Retries of a job that does not say how many (OPT-07).
pub const DEFAULT_RETRIES: u32 = 25;

/// Why stored bytes are no job. The text is the gem's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotAJobError {
    /// The bytes are not JSON.
    #[error("{0}")]
    NotJson(String),
    /// The JSON is no object.
    #[error("expected a JSON object, got {0}")]
    NotAnObject(&'static str),
}

/// A borrowed view of a stored job.
///
/// A field of a type it should not have never makes the job unreadable: it reads as absent, and
/// the job fails, if at all, when it runs.
#[derive(Debug, Clone, Default)]
pub struct RawJob<'a> {
    known: Known<'a>,
    raw: &'a str,
}

#[derive(Debug, Clone, Default)]
struct Known<'a> {
    class: Cow<'a, str>,
    jid: Cow<'a, str>,
    queue: Cow<'a, str>,
    args: Option<&'a RawValue>,
    retry: Option<&'a RawValue>,
    retry_count: Option<&'a RawValue>,
    enqueued_at: Option<&'a RawValue>,
    failed_at: Option<&'a RawValue>,
    until_executed: Option<&'a RawValue>,
    pjid: Cow<'a, str>,
    unique: Cow<'a, str>,
}

impl<'a> RawJob<'a> {
    /// Reads a stored job. When a key occurs twice, the last one counts.
    ///
    /// # Errors
    /// When the bytes are not one JSON object.
    pub fn parse(raw: &'a [u8]) -> Result<Self, NotAJobError> {
        let text = json_text(raw)?;
        match serde_json::from_str::<Known<'a>>(text) {
            Ok(known) => Ok(Self { known, raw: text }),
            Err(error) => Err(why_not(text, &error)),
        }
    }

    /// The class name; empty when it is missing or no text.
    pub fn class(&self) -> &str {
        &self.known.class
    }

    /// The id; empty when it is missing or no text.
    pub fn jid(&self) -> &str {
        &self.known.jid
    }

    /// The queue it belongs on; `None` when that is missing, empty or no text (CLAIM-03).
    pub fn queue(&self) -> Option<&str> {
        (!self.known.queue.is_empty()).then_some(&*self.known.queue)
    }

    /// The args as stored; `[]` when there are none.
    pub fn args_json(&self) -> &'a str {
        self.known.args.map_or("[]", RawValue::get)
    }

    /// How many retries it has in all (OPT-07).
    pub fn retry_budget(&self) -> u32 {
        let Some(raw) = self.known.retry else { return DEFAULT_RETRIES };
        let text = raw.get();
        match text.as_bytes().first() {
            Some(b't' | b'n') => DEFAULT_RETRIES,
            Some(b'-' | b'0'..=b'9') => whole(text.parse().unwrap_or(0.0)),
            Some(b'"') => serde_json::from_str::<Cow<'_, str>>(text)
                .ok()
                .and_then(|text| text.parse::<i64>().ok())
                .map_or(0, |number| number.clamp(0, i64::from(u32::MAX)) as u32),
            _ => 0,
        }
    }

    /// How many attempts have failed so far.
    pub fn retry_count(&self) -> u32 {
        number(self.known.retry_count).map_or(0, whole)
    }

    /// True when a failure now would be the last (OPT-08).
    pub fn is_final_failure(&self) -> bool {
        self.retry_count() >= self.retry_budget()
    }

    /// When it came onto its queue.
    pub fn enqueued_at(&self) -> Option<EpochSeconds> {
        number(self.known.enqueued_at).map(EpochSeconds::new)
    }

    /// When it first failed.
    pub fn failed_at(&self) -> Option<EpochSeconds> {
        number(self.known.failed_at).map(EpochSeconds::new)
    }

    /// True when equal jobs may not be enqueued until it has been executed (UNIQ-01).
    pub fn is_unique(&self) -> bool {
        self.known.unique == "until_executed"
    }

    /// True for a run of an `until_executed` periodic entry.
    pub fn periodic_until_executed(&self) -> bool {
        self.known.until_executed.is_some_and(|raw| !matches!(raw.get(), "false" | "null"))
    }

    /// The id of the periodic entry it is a run of.
    pub fn periodic_pjid(&self) -> Option<&str> {
        (!self.known.pjid.is_empty()).then_some(&*self.known.pjid)
    }

    /// Any top-level field, as stored.
    pub fn field(&self, key: &str) -> Option<&'a RawValue> {
        let fields = fields_of(self.raw.as_bytes()).ok()?;
        fields.into_iter().rev().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// A top-level field's value; `None` when there is none, or one of another type.
    ///
    /// ```
    /// use cogworker_core::raw_job::RawJob;
    ///
    /// let job = RawJob::parse(br#"{"class":"A","tenant":7,"error_class":"IOError"}"#)?;
    /// assert_eq!(job.field_as::<u32>("tenant"), Some(7));
    /// assert_eq!(job.field_as::<String>("error_class").as_deref(), Some("IOError"));
    /// assert_eq!(job.field_as::<String>("tenant"), None);
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// ```
    pub fn field_as<T: DeserializeOwned>(&self, key: &str) -> Option<T> {
        serde_json::from_str(self.field(key)?.get()).ok()
    }
}

fn number(raw: Option<&RawValue>) -> Option<f64> {
    raw?.get().parse().ok().filter(|number: &f64| number.is_finite())
}

/// Truncated and clamped to what a count can be.
fn whole(number: f64) -> u32 {
    number as u32
}

pub(crate) fn json_text(raw: &[u8]) -> Result<&str, NotAJobError> {
    std::str::from_utf8(raw)
        .map_err(|error| NotAJobError::NotJson(format!("source sequence is not UTF-8: {error}")))
}

/// Every top-level field in order, duplicates included.
pub(crate) fn fields_of(raw: &[u8]) -> Result<Vec<(Cow<'_, str>, &RawValue)>, NotAJobError> {
    struct Fields<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

    impl<'de> Deserialize<'de> for Fields<'de> {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            struct FieldsVisitor;
            impl<'de> Visitor<'de> for FieldsVisitor {
                type Value = Fields<'de>;

                fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    f.write_str("a JSON object")
                }

                fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
                    let mut fields = Vec::with_capacity(12);
                    while let Some(Key(key)) = map.next_key()? {
                        fields.push((key, map.next_value()?));
                    }
                    Ok(Fields(fields))
                }
            }
            deserializer.deserialize_map(FieldsVisitor)
        }
    }

    let text = json_text(raw)?;
    serde_json::from_str::<Fields<'_>>(text).map(|fields| fields.0).map_err(|error| why_not(text, &error))
}

fn why_not(text: &str, error: &serde_json::Error) -> NotAJobError {
    match serde_json::from_str::<IgnoredAny>(text) {
        Err(_) => NotAJobError::NotJson(error.to_string()),
        Ok(IgnoredAny) => NotAJobError::NotAnObject(match text.trim_start().as_bytes().first() {
            Some(b'[') => "Array",
            Some(b'"') => "String",
            Some(b't') => "TrueClass",
            Some(b'f') => "FalseClass",
            Some(b'n') => "NilClass",
            _ if text.contains(['.', 'e', 'E']) => "Float",
            _ => "Integer",
        }),
    }
}

/// A key without a copy, unless it is written with escapes.
struct Key<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct KeyVisitor;
        impl<'de> Visitor<'de> for KeyVisitor {
            type Value = Key<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a key")
            }

            fn visit_borrowed_str<E>(self, key: &'de str) -> Result<Self::Value, E> {
                Ok(Key(Cow::Borrowed(key)))
            }

            fn visit_str<E>(self, key: &str) -> Result<Self::Value, E> {
                Ok(Key(Cow::Owned(key.to_owned())))
            }
        }
        deserializer.deserialize_str(KeyVisitor)
    }
}

impl<'de> Deserialize<'de> for Known<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct KnownVisitor;
        impl<'de> Visitor<'de> for KnownVisitor {
            type Value = Known<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
                let mut known = Known::default();
                while let Some(Key(key)) = map.next_key()? {
                    match &*key {
                        "class" => known.class = text(map.next_value()?),
                        "jid" => known.jid = text(map.next_value()?),
                        "queue" => known.queue = text(map.next_value()?),
                        "args" => known.args = Some(map.next_value()?),
                        "retry" => known.retry = Some(map.next_value()?),
                        "retry_count" => known.retry_count = Some(map.next_value()?),
                        "enqueued_at" => known.enqueued_at = Some(map.next_value()?),
                        "failed_at" => known.failed_at = Some(map.next_value()?),
                        "periodic_until_executed" => known.until_executed = Some(map.next_value()?),
                        "periodic_pjid" => known.pjid = text(map.next_value()?),
                        "unique" => known.unique = text(map.next_value()?),
                        _ => {
                            map.next_value::<IgnoredAny>()?;
                        }
                    }
                }
                Ok(known)
            }
        }
        deserializer.deserialize_map(KnownVisitor)
    }
}

/// A text value without a copy, unless it is written with escapes; anything else is empty.
fn text(raw: &RawValue) -> Cow<'_, str> {
    let json = raw.get();
    match json.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(plain) if !plain.contains('\\') => Cow::Borrowed(plain),
        Some(_) => serde_json::from_str::<String>(json).map_or(Cow::Borrowed(""), Cow::Owned),
        None => Cow::Borrowed(""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budget(retry: &str) -> u32 {
        let raw = format!(r#"{{"class":"A","retry":{retry}}}"#);
        RawJob::parse(raw.as_bytes()).unwrap().retry_budget()
    }

    #[test]
    fn the_retry_budget_is_the_gems_opt_07() {
        for (retry, expected) in [
            ("false", 0),
            ("true", 25),
            ("null", 25),
            ("7", 7),
            ("2.0", 2),
            ("2.9", 2),
            ("\"4\"", 4),
            ("\"lots\"", 0),
            ("{}", 0),
            ("[]", 0),
            ("-3", 0),
            ("1e400", u32::MAX),
        ] {
            assert_eq!(budget(retry), expected, "retry {retry}");
        }
        assert_eq!(RawJob::parse(b"{}").unwrap().retry_budget(), 25);
    }

    #[test]
    fn a_failure_is_final_when_the_budget_is_used_up_opt_08() {
        let is_final = |json: &str| RawJob::parse(json.as_bytes()).unwrap().is_final_failure();
        assert!(is_final(r#"{"retry":2,"retry_count":2}"#));
        assert!(!is_final(r#"{"retry":2,"retry_count":1}"#));
        assert!(is_final(r#"{"retry":false}"#));
    }

    #[test]
    fn the_last_of_a_repeated_key_counts_and_escaped_keys_are_read() {
        let job = RawJob::parse(br#"{"class":"A","jid":"1","\u0063lass":"B\u0021"}"#).unwrap();
        assert_eq!(job.class(), "B!");
    }

    #[test]
    fn fields_of_a_wrong_type_read_as_absent() {
        let job = RawJob::parse(br#"{"class":5,"jid":null,"queue":[],"retry_count":"x"}"#).unwrap();
        assert_eq!((job.class(), job.jid(), job.queue(), job.retry_count()), ("", "", None, 0));
    }

    #[test]
    fn what_is_no_object_is_told_as_the_gem_tells_it() {
        let reason = |raw: &[u8]| RawJob::parse(raw).unwrap_err().to_string();
        assert_eq!(reason(b"[1,2]"), "expected a JSON object, got Array");
        assert_eq!(reason(b"null"), "expected a JSON object, got NilClass");
        assert_eq!(reason(b"1.5"), "expected a JSON object, got Float");
        assert!(reason(b"{\"class\":").contains("EOF"));
        assert!(reason(b"\xFF\xFE\x00").contains("UTF-8"));
    }

    #[test]
    fn args_of_any_depth_are_carried_unread() {
        let deep = format!("{}{}", "[".repeat(50_000), "]".repeat(50_000));
        let raw = format!(r#"{{"class":"A","args":{deep}}}"#);
        assert_eq!(RawJob::parse(raw.as_bytes()).unwrap().args_json(), deep);
    }
}
