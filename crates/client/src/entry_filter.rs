//! Which jobs are meant.

use std::time::Duration;

use bytes::Bytes;
use cogworker_core::raw_job::RawJob;
use cogworker_core::time::EpochSeconds;

use crate::failures::message_pattern;
use crate::job_set::SetKind;

/// Clocks may differ by so much. What is further ahead is no time at which something came.
const CLOCKS_DIFFER: Duration = Duration::from_secs(3600);

/// Which entries of a [`Queue`](crate::Queue) or a [`JobSet`](crate::JobSet) are meant: all of them, but for what is
/// asked.
///
/// ```
/// use std::time::Duration;
/// use cogworker_client::EntryFilter;
///
/// let old_timeouts = EntryFilter::new().class("ImportJob").error("timeout").older_than(Duration::from_secs(86_400));
/// ```
#[derive(Debug, Clone, Default)]
pub struct EntryFilter {
    class: Option<String>,
    jid: Option<String>,
    queue: Option<String>,
    /// In lower case.
    text: Option<String>,
    /// In lower case.
    error: Option<String>,
    /// The error's class, and its message as [`message_pattern`] levels it.
    error_group: Option<(String, String)>,
    older_than: Option<Duration>,
    came_by: Option<EpochSeconds>,
    damaged: bool,
    args_are_hidden: bool,
}

impl EntryFilter {
    /// Every entry.
    pub fn new() -> Self {
        Self::default()
    }

    /// Only jobs of this class.
    #[must_use]
    pub fn class(mut self, class: &str) -> Self {
        self.class = Some(class.to_owned());
        self
    }

    /// Only the job with this id; there may be several.
    #[must_use]
    pub fn jid(mut self, jid: impl AsRef<str>) -> Self {
        self.jid = Some(jid.as_ref().to_owned());
        self
    }

    /// Only jobs that belong on this queue.
    #[must_use]
    pub fn queue(mut self, queue: &str) -> Self {
        self.queue = Some(queue.to_owned());
        self
    }

    /// Only jobs that have this text in their class, jid, args or last error; of what is no job, anywhere. Case does not
    /// matter.
    #[must_use]
    pub fn text(mut self, text: &str) -> Self {
        self.text = Some(text.to_lowercase());
        self
    }

    /// [`text`](Self::text) is not looked for in args, nor in what is no job: for those who may not know them.
    #[must_use]
    pub fn hide_args(mut self) -> Self {
        self.args_are_hidden = true;
        self
    }

    /// Only jobs of one [group](crate::failures::FailureGroup) of failures: with an error of this class, and a message
    /// that [`message_pattern`] levels to `message`.
    #[must_use]
    pub fn error_group(mut self, error_class: &str, message: &str) -> Self {
        self.error_group = Some((error_class.to_owned(), message.to_owned()));
        self
    }

    /// Only jobs whose last error, as `Class: message`, has this part. Case does not matter.
    #[must_use]
    pub fn error(mut self, part: &str) -> Self {
        self.error = Some(part.to_lowercase());
        self
    }

    /// Only jobs that died, first failed or were scheduled, depending on the set, longer than `age` ago.
    #[must_use]
    pub fn older_than(mut self, age: Duration) -> Self {
        self.older_than = Some(age);
        self
    }

    /// Only entries that came no later than `moment`: that died, failed last, were scheduled or enqueued by then. What
    /// was counted can so be treated without what came after. These times are of the clocks of those who wrote them;
    /// an entry without one, or with one over an hour ahead, is meant.
    #[must_use]
    pub fn came_by(mut self, moment: EpochSeconds) -> Self {
        self.came_by = Some(moment);
        self
    }

    /// Only entries that are no JSON object, which nobody can run.
    #[must_use]
    pub fn damaged(mut self) -> Self {
        self.damaged = true;
        self
    }

    /// A text that each match holds, so that Redis sends no others; empty when there is none that is sure to be
    /// written in one way only.
    pub(crate) fn needle(&self) -> String {
        let text = self.jid.as_ref().filter(is_plain).or_else(|| self.class.as_ref().filter(is_plain));
        text.or_else(|| self.queue.as_ref().filter(is_plain))
            .map(|text| format!("\"{text}\""))
            .unwrap_or_default()
    }

    /// Texts in lower case that each match holds, so that Redis sends no others.
    pub(crate) fn texts(&self) -> Vec<String> {
        let quoted = [&self.class, &self.jid, &self.queue].into_iter().flatten();
        let quoted = quoted.filter(is_plain).map(|text| format!("\"{}\"", text.to_ascii_lowercase()));
        quoted.chain(self.text.iter().filter(is_plain).cloned()).collect()
    }

    /// Whether a job that runs, with these bytes, is meant. Those in sets have an age too.
    pub fn is_met_by(&self, raw: &Bytes) -> bool {
        self.means(None, raw, EpochSeconds::EPOCH)
    }

    /// Whether an entry of a set, or of a queue, is meant.
    pub(crate) fn means(&self, kind: Option<SetKind>, raw: &Bytes, score: EpochSeconds) -> bool {
        self.means_at(EpochSeconds::now(), kind, raw, score)
    }

    /// True when it means every entry, whose bytes are then not looked at.
    fn is_empty(&self) -> bool {
        let Self {
            class,
            jid,
            queue,
            text,
            error,
            error_group,
            older_than,
            came_by,
            damaged,
            args_are_hidden: _,
        } = self;
        let texts = [class, jid, queue, text, error];
        texts.into_iter().all(Option::is_none)
            && error_group.is_none()
            && older_than.is_none()
            && came_by.is_none()
            && !damaged
    }

    fn means_at(&self, now: EpochSeconds, kind: Option<SetKind>, raw: &Bytes, score: EpochSeconds) -> bool {
        if self.is_empty() {
            return true;
        }
        let job = RawJob::parse(raw);
        if self.damaged && job.is_ok() {
            return false;
        }
        let job = job.as_ref().ok();
        let is = |wanted: &Option<String>, text: fn(&RawJob<'_>) -> String| {
            wanted.as_ref().is_none_or(|wanted| job.is_some_and(|job| text(job) == *wanted))
        };
        is(&self.class, |job| job.class().to_owned())
            && is(&self.jid, |job| job.jid().to_owned())
            && is(&self.queue, |job| job.queue().unwrap_or_default().to_owned())
            && self.text.as_ref().is_none_or(|text| has_text(job, raw, text, self.args_are_hidden))
            && self.error.as_ref().is_none_or(|part| job.is_some_and(|job| has_error(job, part)))
            && self.error_group.as_ref().is_none_or(|group| job.is_some_and(|job| is_of_group(job, group)))
            && self.older_than.is_none_or(|age| {
                let since = match (kind, job) {
                    (Some(SetKind::Dead), _) => Some(score),
                    (Some(SetKind::Retry), job) => job.and_then(|job| job.failed_at()),
                    (Some(SetKind::Schedule) | None, job) => {
                        job.and_then(|job| job.field_as::<f64>("created_at")).map(EpochSeconds::new)
                    }
                };
                since.is_some_and(|since| now.since(since) > age)
            })
            && self.came_by.is_none_or(|moment| {
                let field = |name| job.and_then(|job| job.field_as::<f64>(name)).map(EpochSeconds::new);
                let came = match kind {
                    Some(SetKind::Dead) => Some(score),
                    Some(SetKind::Retry) => field("retried_at").or_else(|| field("failed_at")),
                    Some(SetKind::Schedule) => field("created_at"),
                    None => field("enqueued_at").or_else(|| field("created_at")),
                };
                let is_time = |came: &EpochSeconds| *came <= now.plus(CLOCKS_DIFFER);
                came.filter(is_time).is_none_or(|came| came <= moment)
            })
    }
}

/// True for a text that stands in JSON in one way only.
fn is_plain(text: &&String) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\' | b'/');
    !text.is_empty() && text.bytes().all(is_plain)
}

fn has_text(job: Option<&RawJob<'_>>, raw: &Bytes, text: &str, args_are_hidden: bool) -> bool {
    let Some(job) = job else {
        return !args_are_hidden && String::from_utf8_lossy(raw).to_lowercase().contains(text);
    };
    let has = |part: &str| part.to_lowercase().contains(text);
    if has(job.class()) || has(job.jid()) || has_error(job, text) {
        return true;
    }
    if args_are_hidden {
        return false;
    }
    let args = job.args_json();
    // What is written with escapes is searched as it reads.
    let unescaped =
        || serde_json::from_str::<serde_json::Value>(args).is_ok_and(|args| has(&args.to_string()));
    has(args) || args.contains("\\u") && unescaped()
}

fn is_of_group(job: &RawJob<'_>, (error_class, message): &(String, String)) -> bool {
    let field = |name| job.field_as::<String>(name).unwrap_or_default();
    field("error_class") == *error_class && message_pattern(&field("error_message")) == *message
}

fn has_error(job: &RawJob<'_>, part: &str) -> bool {
    let field = |name| job.field_as::<String>(name).unwrap_or_default();
    format!("{}: {}", field("error_class"), field("error_message")).to_lowercase().contains(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redis_searches_only_for_what_is_written_in_one_way() {
        let needle = |filter: EntryFilter| filter.needle();
        assert_eq!(needle(EntryFilter::new()), "");
        assert_eq!(needle(EntryFilter::new().class("Billing::Charge")), "\"Billing::Charge\"");
        assert_eq!(needle(EntryFilter::new().class("A").jid("ab12")), "\"ab12\"");
        for odd in ["", "größe", "a/b", "a\"b", "a b", "a\\b"] {
            assert_eq!(needle(EntryFilter::new().class(odd)), "", "{odd}");
        }
    }

    #[test]
    fn an_entry_has_to_meet_all_that_is_asked() {
        let now = EpochSeconds::new(10_000.0);
        let entry = |raw: &'static str| Bytes::from_static(raw.as_bytes());
        let died = EpochSeconds::new(9_000.0);
        let job = entry(
            r#"{"class":"A","jid":"1","created_at":1.0,"failed_at":5000.0,"error_class":"IOError","error_message":"Timed OUT"}"#,
        );
        let is = |filter: EntryFilter, kind| filter.means_at(now, Some(kind), &job, died);
        let hours = |seconds| EntryFilter::new().older_than(Duration::from_secs(seconds));
        assert!(is(EntryFilter::new().class("A").jid("1").error("ioerror: timed out"), SetKind::Retry));
        assert!(!is(EntryFilter::new().class("A").error("refused"), SetKind::Retry));
        assert!(!is(EntryFilter::new().class("a"), SetKind::Retry));
        assert!(is(hours(999), SetKind::Dead) && !is(hours(1000), SetKind::Dead));
        assert!(is(hours(4999), SetKind::Retry) && !is(hours(5000), SetKind::Retry));
        assert!(is(hours(9998), SetKind::Schedule) && !is(hours(9999), SetKind::Schedule));
        assert!(!is(EntryFilter::new().damaged(), SetKind::Dead));
        let damaged = entry("[1]");
        assert!(EntryFilter::new().means_at(now, Some(SetKind::Dead), &damaged, died));
        assert!(EntryFilter::new().damaged().means_at(now, Some(SetKind::Dead), &damaged, died));
        assert!(!EntryFilter::new().class("").means_at(now, Some(SetKind::Dead), &damaged, died));
        assert!(!EntryFilter::new().error("").means_at(now, Some(SetKind::Dead), &damaged, died));
    }

    #[test]
    fn what_came_after_a_moment_is_told_by_the_time_that_its_place_writes() {
        let now = EpochSeconds::new(10_000.0);
        let job = Bytes::from_static(
            br#"{"class":"A","jid":"1","created_at":100.5,"enqueued_at":200.5,"failed_at":300.5,"retried_at":400.5}"#,
        );
        let by = |moment| EntryFilter::new().came_by(EpochSeconds::new(moment));
        let is = |moment, kind, score| by(moment).means_at(now, kind, &job, EpochSeconds::new(score));
        for (kind, came) in [
            (Some(SetKind::Schedule), 100.5),
            (None, 200.5),
            (Some(SetKind::Retry), 400.5),
            (Some(SetKind::Dead), 500.5),
        ] {
            assert!(is(came, kind, 500.5) && !is(came - 0.25, kind, 500.5), "{kind:?}");
        }
        assert!(is(1.0, Some(SetKind::Dead), 13_601.0), "further ahead than clocks differ");
        assert!(!is(1.0, Some(SetKind::Dead), 13_600.0));
        let damaged = Bytes::from_static(b"[1]");
        assert!(by(1.0).means_at(now, None, &damaged, EpochSeconds::EPOCH), "without a time");
    }

    #[test]
    fn a_text_is_searched_in_class_jid_args_and_error_webj_20() {
        let job = Bytes::from_static(
            br#"{"class":"MailJob","jid":"AB12","queue":"q","args":["Gr\u00fc\u00dfe","x/y"]}"#,
        );
        let is = |filter: EntryFilter| filter.means(None, &job, EpochSeconds::EPOCH);
        for text in ["mailj", "ab12", "GRÜSSE".to_lowercase().as_str(), "grüße", "x/Y"] {
            assert_eq!(is(EntryFilter::new().text(text)), text != "grüsse", "{text}");
        }
        assert!(!is(EntryFilter::new().text("\"q\"")), "neither keys nor other fields");
        let failed = Bytes::from_static(
            br#"{"class":"A","jid":"1","args":["secret"],"error_class":"IOError","error_message":"Gr\u00fc\u00dfe, \"x\""}"#,
        );
        let is = |filter: EntryFilter| filter.means(None, &failed, EpochSeconds::EPOCH);
        for text in ["ioerr", "IOError: gr\u{fc}", "\u{df}e, \"X\""] {
            assert!(is(EntryFilter::new().text(text).hide_args()), "{text}");
        }
        assert!(
            !is(EntryFilter::new().text("secret").hide_args()) && !is(EntryFilter::new().text("error_class"))
        );
        let is = |filter: EntryFilter| filter.means(None, &job, EpochSeconds::EPOCH);
        assert!(is(EntryFilter::new().queue("q").class("MailJob")) && !is(EntryFilter::new().queue("p")));
        assert_eq!(EntryFilter::new().queue("Q").text("Ab").texts(), ["\"q\"", "ab"]);
        assert!(EntryFilter::new().text("no JOB").means(
            None,
            &Bytes::from_static(b"\xff No Job"),
            EpochSeconds::EPOCH
        ));
    }

    #[test]
    fn a_group_of_failures_is_told_by_class_and_levelled_message() {
        let job = Bytes::from_static(br#"{"class":"A","error_class":"E","error_message":"after 24 s"}"#);
        let is = |class, message| {
            EntryFilter::new().error_group(class, message).means(None, &job, EpochSeconds::EPOCH)
        };
        assert!(is("E", "after N s") && !is("E", "after 24 s") && !is("e", "after N s"));
    }
}
