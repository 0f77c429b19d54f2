//! What workers write, passed on line by line, the last lines of each remembered.

use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// So many last lines tell why a worker ended.
const LINES_KEPT: usize = 10;

/// Of each line so many characters.
const CHARS_KEPT: usize = 500;

/// A longer line is passed on in pieces.
const LONGEST_LINE: u64 = 256 * 1024;

/// The last lines of one worker, from both its outputs.
#[derive(Debug, Clone, Default)]
pub(crate) struct LastLines(Arc<(Mutex<Tail>, Condvar)>);

#[derive(Debug, Default)]
struct Tail {
    lines: VecDeque<String>,
    open: usize,
}

impl LastLines {
    /// Passes what comes from `source` on to `target`, on a thread of its own, until it ends. The thread is never
    /// waited for: what a job left behind may hold the stream open for ever.
    pub(crate) fn pass_on(
        &self,
        source: impl Read + Send + 'static,
        target: impl Fn(&[u8]) + Send + 'static,
    ) -> io::Result<()> {
        self.lock().open += 1;
        let this = self.clone();
        let spawned = thread::Builder::new().name("swarm-output".into()).spawn(move || {
            let mut source = BufReader::new(source);
            let mut line = Vec::new();
            while matches!(source.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line), Ok(1..)) {
                target(&line);
                this.note(&line);
                line.clear();
            }
            this.close();
        });
        if spawned.is_err() {
            self.close();
        }
        spawned.map(drop)
    }

    /// The lines, once both outputs have ended; at the latest after `limit`.
    pub(crate) fn take(&self, limit: Duration) -> Vec<String> {
        let until = Instant::now() + limit;
        let mut tail = self.lock();
        while tail.open > 0 {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            tail = self.0.1.wait_timeout(tail, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        tail.lines.drain(..).collect()
    }

    fn note(&self, line: &[u8]) {
        let text = String::from_utf8_lossy(line);
        let text = text.trim_end();
        if text.is_empty() {
            return;
        }
        let mut tail = self.lock();
        if tail.lines.len() == LINES_KEPT {
            tail.lines.pop_front();
        }
        tail.lines.push_back(text.chars().take(CHARS_KEPT).collect());
    }

    fn close(&self) {
        self.lock().open -= 1;
        self.0.1.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, Tail> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Each line at once and as a whole; one that cannot be written is lost, as in a worker's own log.
pub(crate) fn to_stdout(line: &[u8]) {
    let mut stdout = io::stdout().lock();
    let _ = stdout.write_all(line).and_then(|()| stdout.flush());
}

/// As [`to_stdout`].
pub(crate) fn to_stderr(line: &[u8]) {
    let _ = io::stderr().lock().write_all(line);
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn everything_is_passed_on_and_the_last_lines_are_kept() {
        let lines = LastLines::default();
        let text = (0..25).map(|n| format!("line {n}\n\n")).collect::<String>() + "no end";
        let (sender, passed) = channel();
        lines
            .pass_on(io::Cursor::new(text.clone()), move |line| sender.send(line.to_vec()).unwrap())
            .unwrap();
        let kept = lines.take(Duration::from_secs(10));
        assert_eq!(passed.iter().flatten().collect::<Vec<u8>>(), text.as_bytes());
        assert_eq!((kept.len(), kept[0].as_str(), kept[9].as_str()), (10, "line 16", "no end"));
    }

    #[test]
    fn an_output_that_is_held_open_is_not_waited_for() {
        let (reader, _writer) = io::pipe().unwrap();
        let lines = LastLines::default();
        lines.pass_on(reader, |_| {}).unwrap();
        assert_eq!(lines.take(Duration::from_millis(20)), [""; 0]);
    }
}
