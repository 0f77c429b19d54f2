//! The worker's log: one line an event, written at once (LOG-14).

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use tracing::{Event, Subscriber};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields, MakeWriter};
use tracing_subscriber::registry::LookupSpan;

/// Reopens the log file, after it was rotated away.
#[derive(Debug, Clone)]
pub struct LogHandle {
    target: Arc<Target>,
}

impl LogHandle {
    /// Opens the file anew; lines go on into the old one if that fails.
    ///
    /// # Errors
    /// When the file cannot be opened.
    pub fn reopen(&self) -> io::Result<()> {
        if let Target::File { path, file } = &*self.target {
            let opened = open(path)?;
            *file.lock().unwrap_or_else(PoisonError::into_inner) = opened;
        }
        Ok(())
    }
}

#[derive(Debug)]
enum Target {
    Stdout,
    File { path: PathBuf, file: Mutex<File> },
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).append(true).open(path)
}

/// Installs the log for the whole process: to `path`, or to standard output. `RUST_LOG` chooses
/// what is logged; by default everything from `info` up. A subscriber that is installed already
/// stays.
///
/// # Errors
/// When the file cannot be opened.
pub fn install(path: Option<&Path>) -> io::Result<LogHandle> {
    let target = Arc::new(match path {
        Some(path) => Target::File { path: path.to_owned(), file: Mutex::new(open(path)?) },
        None => Target::Stdout,
    });
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(path.is_none() && io::stdout().is_terminal())
        .event_format(Line)
        .with_writer(LineWriter(target.clone()))
        .finish();
    let _ = tracing::subscriber::set_global_default(subscriber);
    Ok(LogHandle { target })
}

/// `2026-11-30T05:01:38.123456Z pid=123 INFO: message key=value`
struct Line;

impl<S, N> FormatEvent<S, N> for Line
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut line: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        SystemTime.format_time(&mut line)?;
        write!(line, " pid={} {}: ", std::process::id(), event.metadata().level())?;
        context.field_format().format_fields(line.by_ref(), event)?;
        writeln!(line)
    }
}

#[derive(Clone)]
struct LineWriter(Arc<Target>);

impl Write for LineWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_all(bytes).map(|()| bytes.len())
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &*self.0 {
            Target::Stdout => {
                let mut stdout = io::stdout().lock();
                stdout.write_all(bytes)?;
                stdout.flush()
            }
            Target::File { file, .. } => file.lock().unwrap_or_else(PoisonError::into_inner).write_all(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for LineWriter {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}
