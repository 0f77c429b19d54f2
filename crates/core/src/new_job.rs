//! A job before it is pushed: its fields, in order.

use std::borrow::Cow;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::args::{self, ArgsError};
use crate::failure::limited;
use crate::jid::Jid;
use crate::job::Job;
use crate::options::Retry;
use crate::payload_edit::push_json_string;
use crate::queue_name::{self, is_queue_name};
use crate::raw_job::{NotAJobError, fields_of};
use crate::time::EpochSeconds;

/// Why a job cannot be pushed. Nothing was written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NewJobError {
    /// A field holds something else than it must.
    #[error("push a job: {field} must be {expected}, found {found}")]
    BadField {
        /// The field's name.
        field: &'static str,
        /// What it must be.
        expected: &'static str,
        /// What it is.
        found: String,
    },
    /// A field's value has no JSON form.
    #[error("push a job: write {field} as JSON: {reason}")]
    Unwritable {
        /// The field's name.
        field: String,
        /// What serde says.
        reason: String,
    },
    /// The args have no JSON form.
    #[error("push a job: {0}")]
    Args(ArgsError),
    /// The text given as a whole job is none.
    #[error("push a job: {0}")]
    NotAJob(NotAJobError),
}

impl From<ArgsError> for NewJobError {
    fn from(error: ArgsError) -> Self {
        Self::Args(error)
    }
}

impl From<NotAJobError> for NewJobError {
    fn from(error: NotAJobError) -> Self {
        Self::NotAJob(error)
    }
}

/// A job to push: an ordered list of top-level fields. The order is kept, so that what lands in
/// Redis is byte for byte what the gem writes.
///
/// ```
/// use cogworker_core::new_job::NewJob;
///
/// let job = NewJob::new("GreetingJob").args(["world"]).queue("low").set("tags", ["api"]);
/// assert_eq!(job.field("queue").map(|raw| raw.get()), Some(r#""low""#));
/// ```
#[derive(Debug, Clone)]
pub struct NewJob {
    fields: Vec<(Cow<'static, str>, Box<RawValue>)>,
    problem: Option<NewJobError>,
}

impl NewJob {
    fn empty() -> Self {
        // What a job has when it is pushed, without options.
        Self { fields: Vec::with_capacity(6), problem: None }
    }

    /// A job of class `class`, which need not exist in this program (PUSH-08).
    pub fn new(class: &str) -> Self {
        Self::empty().set("class", class)
    }

    /// A typed job: its class's options, then class and args.
    pub fn of<J: Job>(job: &J) -> Self {
        let mut new = Self::empty();
        for (key, value) in J::options().into_fields() {
            match value {
                Ok(value) => new.set_raw(&key, value),
                Err(problem) => new.note(problem),
            }
        }
        new.set("class", J::CLASS).args(job)
    }

    /// A whole job as a JSON object; the values keep their exact bytes.
    ///
    /// # Errors
    /// When the text is not a JSON object.
    pub fn from_json(text: &str) -> Result<Self, NewJobError> {
        let mut job = Self::empty();
        for (key, value) in fields_of(text.as_bytes())? {
            job.set_raw(&key, value.to_owned());
        }
        Ok(job)
    }

    /// The args, by the [codec](crate::args): an array or tuple is positional, a struct one object.
    #[must_use]
    pub fn args<T: Serialize>(mut self, args: T) -> Self {
        match args::encode(&args) {
            Ok(json) => self.set_raw("args", json),
            Err(problem) => self.note(problem.into()),
        }
        self
    }

    /// The queue it goes to.
    #[must_use]
    pub fn queue(self, name: &str) -> Self {
        self.set("queue", name)
    }

    /// How often it is tried again when it fails.
    #[must_use]
    pub fn retry(self, retry: impl Into<Retry>) -> Self {
        self.set("retry", retry.into())
    }

    /// When it is due, as a time and not as a delay; without, at once.
    ///
    /// ```
    /// use std::time::{Duration, SystemTime};
    /// use cogworker_core::new_job::NewJob;
    ///
    /// let tomorrow = SystemTime::now() + Duration::from_secs(24 * 3600);
    /// let job = NewJob::new("ReportJob").at(tomorrow);
    /// ```
    #[must_use]
    pub fn at(self, at: impl Into<EpochSeconds>) -> Self {
        self.set("at", at.into())
    }

    /// Its id; without, a random one.
    #[must_use]
    pub fn jid(self, jid: impl AsRef<str>) -> Self {
        self.set("jid", jid.as_ref())
    }

    /// Any top-level field. A value that has no JSON form is reported when the job is pushed.
    #[must_use]
    pub fn set(mut self, key: &str, value: impl Serialize) -> Self {
        match serde_json::value::to_raw_value(&value) {
            Ok(value) => self.set_raw(key, value),
            Err(error) => {
                self.note(NewJobError::Unwritable { field: key.to_owned(), reason: error.to_string() });
            }
        }
        self
    }

    /// True when it has a unique lock (UNIQ-01).
    pub fn is_unique(&self) -> bool {
        self.field("unique").and_then(text_of).as_deref() == Some("until_executed")
    }

    /// A field's JSON, as it will be stored.
    pub fn field(&self, key: &str) -> Option<&RawValue> {
        self.fields.iter().find(|(name, _)| name == key).map(|(_, value)| &**value)
    }

    /// A field's value; `None` when there is none, or one of another type.
    ///
    /// ```
    /// use cogworker_core::new_job::NewJob;
    ///
    /// let job = NewJob::new("GreetingJob").queue("low").set("tenant", 7);
    /// assert_eq!(job.field_as::<String>("queue").as_deref(), Some("low"));
    /// assert_eq!(job.field_as::<u32>("tenant"), Some(7));
    /// assert_eq!(job.field_as::<u32>("queue"), None);
    /// ```
    pub fn field_as<T: DeserializeOwned>(&self, key: &str) -> Option<T> {
        serde_json::from_str(self.field(key)?.get()).ok()
    }

    /// Sets a field to exactly this JSON; a new field comes last.
    pub fn set_raw(&mut self, key: &str, value: Box<RawValue>) {
        match self.fields.iter_mut().find(|(name, _)| name == key) {
            Some((_, slot)) => *slot = value,
            None => self.fields.push((field_name(key), value)),
        }
    }

    /// Takes a field away.
    pub fn remove(&mut self, key: &str) -> Option<Box<RawValue>> {
        let at = self.fields.iter().position(|(name, _)| name == key)?;
        Some(self.fields.remove(at).1)
    }

    fn note(&mut self, problem: NewJobError) {
        self.problem.get_or_insert(problem);
    }

    /// Checks the job and fills what is missing: jid, queue, retry, args, created_at (PUSH-14).
    /// What it will go by comes back.
    ///
    /// # Errors
    /// Names the field that is not as it must be.
    #[doc(hidden)]
    pub fn prepare(&mut self, now: EpochSeconds) -> Result<Prepared, NewJobError> {
        if let Some(problem) = &self.problem {
            return Err(problem.clone());
        }
        self.text("class", "a class name")?.ok_or_else(|| NewJobError::BadField {
            field: "class",
            expected: "a class name",
            found: "nothing".into(),
        })?;
        match self.present("args") {
            None => self.fill("args", &[(); 0])?,
            Some(args) if args.get().starts_with('[') => {}
            Some(args) => return Err(bad_field("args", "an array", args)),
        }
        let at = match self.present("at") {
            None => None,
            Some(raw) => {
                let at: f64 =
                    serde_json::from_str(raw.get()).map_err(|_| bad_field("at", "epoch seconds", raw))?;
                Some(EpochSeconds::new(at))
            }
        };
        let jid = match self.text("jid", "a text")? {
            Some(jid) => Jid::from(&*jid),
            None => {
                let jid = Jid::random();
                self.fill("jid", &jid)?;
                jid
            }
        };
        let queue = match self.text("queue", queue_name::EXPECTED)? {
            Some(queue) if !is_queue_name(&queue) => {
                return Err(NewJobError::BadField {
                    field: "queue",
                    expected: queue_name::EXPECTED,
                    found: format!("{:?}", limited(&queue, 60)),
                });
            }
            Some(queue) => queue.into_owned(),
            None => {
                self.fill("queue", "default")?;
                "default".to_owned()
            }
        };
        if self.field("retry").is_none() {
            self.fill("retry", &true)?;
        }
        if self.field("created_at").is_none() {
            self.fill("created_at", &now)?;
        }
        Ok(Prepared { jid, queue, at })
    }

    /// A field that is there and not null, which is as good as absent.
    fn present(&self, key: &str) -> Option<&RawValue> {
        self.field(key).filter(|raw| raw.get() != "null")
    }

    /// A field that must be a text that is not empty.
    fn text(&self, field: &'static str, expected: &'static str) -> Result<Option<Cow<'_, str>>, NewJobError> {
        let Some(raw) = self.present(field) else { return Ok(None) };
        match text_of(raw) {
            Some(text) if !text.is_empty() => Ok(Some(text)),
            _ => Err(bad_field(field, expected, raw)),
        }
    }

    fn fill<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<(), NewJobError> {
        let value = serde_json::value::to_raw_value(value)
            .map_err(|error| NewJobError::Unwritable { field: key.to_owned(), reason: error.to_string() })?;
        self.set_raw(key, value);
        Ok(())
    }

    /// The job as stored. `enqueued_at` is added for one that goes onto a queue, not for one
    /// that is scheduled.
    #[doc(hidden)]
    pub fn payload(&self, enqueued_at: Option<EpochSeconds>) -> Vec<u8> {
        let enqueued_at = enqueued_at.map(|at| at.to_string());
        let fields = || self.fields.iter().filter(|(key, _)| key != ENQUEUED_AT);
        // Quotes, colon and comma of each, and the braces: to the byte, unless a key needs escapes.
        let length: usize = fields().map(|(key, value)| key.len() + value.get().len() + 4).sum();
        let added = enqueued_at.as_ref().map_or(0, |at| ENQUEUED_AT.len() + at.len() + 4);
        let mut json = String::with_capacity(length + added + 1);
        json.push('{');
        for (key, value) in fields() {
            push_field(&mut json, key, value.get());
        }
        if let Some(at) = &enqueued_at {
            push_field(&mut json, ENQUEUED_AT, at);
        }
        json.push('}');
        json.into_bytes()
    }
}

/// Set anew whenever a job goes onto a queue.
const ENQUEUED_AT: &str = "enqueued_at";

/// Names that nearly every job has need no memory of their own.
fn field_name(key: &str) -> Cow<'static, str> {
    const USUAL: [&str; 8] = ["class", "args", "jid", "queue", "retry", "created_at", "at", "unique"];
    match USUAL.into_iter().find(|usual| *usual == key) {
        Some(usual) => Cow::Borrowed(usual),
        None => Cow::Owned(key.to_owned()),
    }
}

/// What a JSON text says, if it is one.
fn text_of(raw: &RawValue) -> Option<Cow<'_, str>> {
    let inner = raw.get().strip_prefix('"')?.strip_suffix('"')?;
    if !inner.contains('\\') {
        return Some(Cow::Borrowed(inner));
    }
    serde_json::from_str(raw.get()).ok().map(Cow::Owned)
}

impl<J: Job> From<&J> for NewJob {
    fn from(job: &J) -> Self {
        Self::of(job)
    }
}

impl From<&NewJob> for NewJob {
    fn from(job: &NewJob) -> Self {
        job.clone()
    }
}

fn push_field(json: &mut String, key: &str, value: &str) {
    if json.len() > 1 {
        json.push(',');
    }
    push_json_string(json, key);
    json.push(':');
    json.push_str(value);
}

fn bad_field(field: &'static str, expected: &'static str, found: &RawValue) -> NewJobError {
    let found: String = found.get().chars().take(60).collect();
    NewJobError::BadField { field, expected, found }
}

/// What a prepared job goes by.
#[doc(hidden)]
#[derive(Debug, Clone, PartialEq)]
pub struct Prepared {
    /// Its id.
    pub jid: Jid,
    /// The queue it is for.
    pub queue: String,
    /// When it is due, if later.
    pub at: Option<EpochSeconds>,
}

#[cfg(test)]
mod tests;
