//! The log of a worker: one line an event, to standard output or a file.
//!
//! ```text
//! 2026-11-30T05:01:38.123Z pid=123 INFO: message key=value
//! ```
//!
//! Times are UTC. Every line is written at once and as a whole (LOG-14), so nothing is lost in a crash and
//! several processes can share a file. Control characters are escaped: an event is always one line.
//! With [`LogFormat::Json`] a line is a JSON object: `time`, `pid`, `level`, `message`, `target`, and the fields.
//! What a job logs itself carries its jid, class and queue, if it is logged on the job's own task or thread.
//! `RUST_LOG` chooses what is logged; without it, everything from `info` up but the warnings of the Redis library.

mod current_run;
mod format;
mod json;
mod sink;

use std::path::PathBuf;
use std::sync::Arc;

use tracing::Subscriber;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::layer;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt;

pub(crate) use self::current_run::as_run;
use self::format::{LineFields, LineFormat};
use self::json::{JsonFields, JsonFormat};
use self::sink::{LogFile, Sink};
use crate::config::{Config, LogFormat};

/// What is logged when nothing else is asked for. The Redis library warns of each connection that breaks,
/// where we tell an outage once.
const DEFAULT_FILTER: &str = "info,fred=error";

/// The variable that chooses what is logged.
const FILTER_VAR: &str = "RUST_LOG";

/// A log that cannot be set up or reopened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoggingError {
    /// The log file cannot be opened.
    #[error("open log file {path}: {source}", path = path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        r#source: std::io::Error,
    },
    /// The filter is not understood.
    #[error(
        "read {place}: expected directives such as info or cogworker_server=debug, found {filter:?}: {source}"
    )]
    Filter {
        /// Where it was given: `RUST_LOG`, or `the log's filter`.
        place: &'static str,
        /// As it was given.
        filter: String,
        /// The parser's reason.
        r#source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The program has set up a log already.
    #[error("set up the log: {0}")]
    AlreadySet(Box<dyn std::error::Error + Send + Sync>),
}

/// A hold on the log, to reopen its file.
#[derive(Clone, Debug, Default)]
pub struct LogHandle {
    file: Option<Arc<LogFile>>,
}

impl LogHandle {
    /// Opens the log file again under its name, as after it was renamed by a log rotation. Without a file,
    /// does nothing.
    ///
    /// # Errors
    ///
    /// When the file cannot be opened; the log then goes on into the old one.
    pub fn reopen(&self) -> Result<(), LoggingError> {
        match &self.file {
            None => Ok(()),
            Some(file) => {
                file.reopen().map_err(|source| LoggingError::File { path: file.path().to_owned(), source })
            }
        }
    }
}

/// Where the log goes and what is in it.
///
/// ```
/// use cogworker_server::LogFormat;
/// use cogworker_server::logging::LogOptions;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let log = LogOptions::new().format(LogFormat::Json).init()?;
/// log.reopen()?; // after a rotation; nothing to do for standard output
/// # Ok(()) }
/// ```
#[derive(Debug, Clone, Default)]
pub struct LogOptions {
    file: Option<PathBuf>,
    format: LogFormat,
    filter: Option<String>,
}

impl LogOptions {
    /// Text on standard output, and of it what `RUST_LOG` chooses.
    pub fn new() -> Self {
        Self::default()
    }

    /// As a worker with this configuration logs.
    pub fn of(config: &Config) -> Self {
        Self { file: config.logfile.clone(), format: config.log_format, filter: None }
    }

    /// Appends to this file instead.
    #[must_use]
    pub fn file(mut self, path: impl Into<PathBuf>) -> Self {
        self.file = Some(path.into());
        self
    }

    /// How lines are written.
    #[must_use]
    pub fn format(mut self, format: LogFormat) -> Self {
        self.format = format;
        self
    }

    /// Directives such as `info` or `warn,my_app=debug` in place of those in `RUST_LOG`; without any,
    /// `info,fred=error`.
    #[must_use]
    pub fn filter(mut self, directives: impl Into<String>) -> Self {
        self.filter = Some(directives.into());
        self
    }

    /// Sets up the log of this process.
    ///
    /// # Errors
    ///
    /// When the file cannot be opened, the filter is not understood, or the program has a log already (which
    /// a program that embeds a worker may want to ignore).
    pub fn init(self) -> Result<LogHandle, LoggingError> {
        let (subscriber, handle) = self.subscriber()?;
        subscriber.try_init().map_err(|error| LoggingError::AlreadySet(error.into()))?;
        Ok(handle)
    }

    /// The log as a subscriber, for a program that composes its own: it takes further layers.
    ///
    /// # Errors
    ///
    /// When the file cannot be opened, or the filter is not understood.
    pub fn subscriber(
        self,
    ) -> Result<(impl Subscriber + for<'a> LookupSpan<'a> + Send + Sync + 'static, LogHandle), LoggingError>
    {
        let filter = self.read_filter()?;
        let file = match self.file {
            None => None,
            Some(path) => {
                let opened = LogFile::open(&path);
                Some(Arc::new(opened.map_err(|source| LoggingError::File { path, source })?))
            }
        };
        let sink = match &file {
            Some(file) => Sink::File(Arc::clone(file)),
            None => Sink::Stdout,
        };
        // A line that cannot be written is lost: the report would go to standard error and panic if that is
        // closed too.
        let (text, json) = match self.format {
            LogFormat::Text => {
                let layer =
                    layer().log_internal_errors(false).with_ansi(sink.is_terminal()).fmt_fields(LineFields);
                (Some(layer.event_format(LineFormat::new()).with_writer(sink)), None)
            }
            LogFormat::Json => {
                let layer = layer().log_internal_errors(false).with_ansi(false).fmt_fields(JsonFields);
                (None, Some(layer.event_format(JsonFormat::new()).with_writer(sink)))
            }
        };
        Ok((tracing_subscriber::registry().with(filter).with(text).with(json), LogHandle { file }))
    }

    fn read_filter(&self) -> Result<EnvFilter, LoggingError> {
        let place = if self.filter.is_some() { "the log's filter" } else { FILTER_VAR };
        let given = self.filter.clone().or_else(|| std::env::var(FILTER_VAR).ok());
        let filter =
            given.filter(|text| !text.trim().is_empty()).unwrap_or_else(|| DEFAULT_FILTER.to_owned());
        EnvFilter::try_new(&filter).map_err(|source| LoggingError::Filter {
            place,
            filter,
            source: source.into(),
        })
    }
}
