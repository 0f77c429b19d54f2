//! Where lines go.

use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use tracing_subscriber::fmt::MakeWriter;

/// Where lines go.
#[derive(Debug)]
pub(super) enum Sink {
    Stdout,
    File(Arc<LogFile>),
}

impl Sink {
    /// Whether colour helps the reader: only on a terminal, and not if `NO_COLOR` is set.
    pub(super) fn is_terminal(&self) -> bool {
        let wanted = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        matches!(self, Self::Stdout) && wanted && io::stdout().is_terminal()
    }
}

impl<'a> MakeWriter<'a> for Sink {
    type Writer = Line;

    fn make_writer(&'a self) -> Line {
        match self {
            Self::Stdout => Line::Stdout(io::stdout()),
            Self::File(file) => Line::File(file.current()),
        }
    }
}

/// Writes one line. Neither kind keeps anything back: standard output is flushed at the end of each line,
/// and a file has no buffer.
#[derive(Debug)]
pub(super) enum Line {
    Stdout(io::Stdout),
    File(Arc<File>),
}

impl Write for Line {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Stdout(stdout) => stdout.write(bytes),
            Self::File(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Stdout(stdout) => stdout.flush(),
            Self::File(file) => file.flush(),
        }
    }
}

/// A file that can be opened again while others write to it.
#[derive(Debug)]
pub(super) struct LogFile {
    path: PathBuf,
    file: RwLock<Arc<File>>,
}

impl LogFile {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self { path: path.to_owned(), file: RwLock::new(Arc::new(append(path)?)) })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn reopen(&self) -> io::Result<()> {
        let file = Arc::new(append(&self.path)?);
        *self.file.write().unwrap_or_else(PoisonError::into_inner) = file;
        Ok(())
    }

    fn current(&self) -> Arc<File> {
        Arc::clone(&self.file.read().unwrap_or_else(PoisonError::into_inner))
    }
}

fn append(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).append(true).open(path)
}
