//! What the workers ran, written down outside of Redis.
//!
//! Each worker appends a line at the begin and at the end of a run, so that a line is there even
//! if the process is killed in the next moment.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// The two files of a process.
const BEGUN: &str = "begun";
const ENDED: &str = "ended";

/// The end of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Done,
    Failed,
}

/// A worker's own page of the ledger.
#[derive(Debug)]
pub(crate) struct Page {
    begun: File,
    ended: File,
}

impl Page {
    pub(crate) fn open(folder: &Path) -> io::Result<Self> {
        let open = |kind: &str| {
            let path = folder.join(format!("{}.{kind}", std::process::id()));
            OpenOptions::new().create(true).append(true).open(path)
        };
        Ok(Self { begun: open(BEGUN)?, ended: open(ENDED)? })
    }

    pub(crate) fn begin(&self, jid: &str, attempt: u32) {
        write(&self.begun, &format!("B {jid} {attempt} {}\n", now_ms()));
    }

    pub(crate) fn end(&self, jid: &str, attempt: u32, end: End) {
        let letter = if end == End::Done { 'D' } else { 'F' };
        write(&self.ended, &format!("{letter} {jid} {attempt} {}\n", now_ms()));
    }
}

/// One write is one line, whole even when processes and threads append at once.
fn write(mut file: &File, line: &str) {
    if let Err(error) = file.write_all(line.as_bytes()) {
        eprintln!("soak: failed to write the ledger: {error}");
    }
}

/// One run of one job.
#[derive(Debug, Clone)]
pub(crate) struct Run {
    pub(crate) pid: u32,
    pub(crate) attempt: u32,
    pub(crate) begun_ms: u64,
    /// `None` when it was cut off.
    pub(crate) end: Option<End>,
}

/// Every run of every job.
pub(crate) type Runs = BTreeMap<String, Vec<Run>>;

/// Grows with every run that begins, anywhere.
pub(crate) fn begun(folder: &Path) -> u64 {
    pages(folder, BEGUN).iter().filter_map(|path| fs::metadata(path).ok()).map(|file| file.len()).sum()
}

pub(crate) fn read(folder: &Path) -> io::Result<Runs> {
    let mut runs = Runs::new();
    for path in pages(folder, BEGUN) {
        for (_, jid, attempt, at_ms) in lines(&path)? {
            runs.entry(jid).or_default().push(Run {
                pid: pid_of(&path),
                attempt,
                begun_ms: at_ms,
                end: None,
            });
        }
    }
    for of_job in runs.values_mut() {
        of_job.sort_by_key(|run| run.begun_ms);
    }
    for path in pages(folder, ENDED) {
        let pid = pid_of(&path);
        for (letter, jid, attempt, at_ms) in lines(&path)? {
            // The last run of that attempt here which had begun by then.
            let run = runs.get_mut(&jid).and_then(|of_job| {
                let begun =
                    |run: &&mut Run| run.pid == pid && run.attempt == attempt && run.begun_ms <= at_ms;
                of_job.iter_mut().rev().find(begun)
            });
            match run {
                Some(run) => run.end = Some(if letter == "D" { End::Done } else { End::Failed }),
                None => {
                    return Err(io::Error::other(format!("read the ledger: {jid} ended and never began")));
                }
            }
        }
    }
    Ok(runs)
}

/// Letter, jid, attempt and time of each line.
fn lines(path: &Path) -> io::Result<Vec<(String, String, u32, u64)>> {
    let read = |line: &str| {
        let mut words = line.split(' ');
        let (letter, jid) = (words.next()?.to_owned(), words.next()?.to_owned());
        Some((letter, jid, words.next()?.parse().ok()?, words.next()?.parse().ok()?))
    };
    fs::read_to_string(path)?
        .lines()
        .map(|line| {
            read(line)
                .ok_or_else(|| io::Error::other(format!("read the ledger: expected a run, found {line:?}")))
        })
        .collect()
}

fn pid_of(path: &Path) -> u32 {
    path.file_stem().and_then(|stem| stem.to_str()?.parse().ok()).unwrap_or(0)
}

fn pages(folder: &Path, kind: &str) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    paths.filter(|path| path.extension().is_some_and(|it| it == kind)).collect()
}

pub(crate) fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}
