//! The lines a started process has written.

use std::io::{BufRead, BufReader, Read};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Collects the lines of several streams, in order of arrival, on a thread each.
#[derive(Clone, Debug, Default)]
pub(crate) struct WorkerLog {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    lines: Mutex<Lines>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Lines {
    lines: Vec<String>,
    open_streams: usize,
}

/// How a wait for a line ended.
pub(crate) enum Found {
    Line(String),
    /// Every stream is closed: the line cannot come any more.
    Closed,
    Late,
}

impl WorkerLog {
    /// Reads a stream until it closes. The thread is not joined: a grandchild may hold the stream open.
    pub(crate) fn collect(&self, stream: impl Read + Send + 'static) -> std::io::Result<()> {
        self.lock().open_streams += 1;
        let log = self.clone();
        let spawned = thread::Builder::new().name("worker-log".into()).spawn(move || {
            let mut stream = BufReader::new(stream);
            let mut line = Vec::new();
            while matches!(stream.read_until(b'\n', &mut line), Ok(read) if read > 0) {
                let text = String::from_utf8_lossy(&line);
                let text = text.trim_end_matches(['\n', '\r']).to_owned();
                log.lock().lines.push(text);
                log.shared.changed.notify_all();
                line.clear();
            }
            log.close();
        });
        if spawned.is_err() {
            self.close();
        }
        spawned.map(drop)
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.lock().lines.clone()
    }

    /// Waits for a line that contains `text`, from line number `from` on; gives the number after it too.
    pub(crate) fn wait_for(&self, text: &str, from: usize, deadline: Duration) -> (Found, usize) {
        let end = Instant::now() + deadline;
        let mut seen = from;
        let mut guard = self.lock();
        loop {
            let fresh = guard.lines.iter().enumerate().skip(seen).find(|(_, line)| line.contains(text));
            if let Some((number, line)) = fresh {
                return (Found::Line(line.clone()), number + 1);
            }
            seen = guard.lines.len().max(seen);
            if guard.open_streams == 0 {
                return (Found::Closed, seen);
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return (Found::Late, seen);
            }
            guard = self.shared.changed.wait_timeout(guard, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn close(&self) {
        self.lock().open_streams -= 1;
        self.shared.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, Lines> {
        self.shared.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
