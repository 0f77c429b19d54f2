//! What the workers ran, written down outside of Redis.
//!
//! Each worker appends a line at the begin and at the end of a run, so that a line is there even
//! if the process is killed in the next moment.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// The end of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Done,
    Failed,
}

/// A worker's own page of the ledger.
#[derive(Debug)]
pub(crate) struct Page {
    file: File,
}

impl Page {
    pub(crate) fn open(folder: &Path) -> io::Result<Self> {
        let path = folder.join(format!("{}.ledger", std::process::id()));
        Ok(Self { file: OpenOptions::new().create(true).append(true).open(path)? })
    }

    pub(crate) fn begin(&self, jid: &str, attempt: u32) {
        self.write(format!("B {jid} {attempt} {}\n", now_ms()));
    }

    pub(crate) fn end(&self, jid: &str, attempt: u32, end: End) {
        let letter = if end == End::Done { 'D' } else { 'F' };
        self.write(format!("{letter} {jid} {attempt} {}\n", now_ms()));
    }

    /// One write is one line, whole even when processes and threads append at once.
    fn write(&self, line: String) {
        if let Err(error) = (&self.file).write_all(line.as_bytes()) {
            eprintln!("soak: failed to write the ledger: {error}");
        }
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

/// How much has been written so far, in bytes.
pub(crate) fn size(folder: &Path) -> u64 {
    pages(folder).iter().filter_map(|path| fs::metadata(path).ok()).map(|file| file.len()).sum()
}

pub(crate) fn read(folder: &Path) -> io::Result<Runs> {
    let mut runs = Runs::new();
    for path in pages(folder) {
        let pid = path.file_stem().and_then(|stem| stem.to_str()?.parse().ok()).unwrap_or(0);
        for line in fs::read_to_string(&path)?.lines() {
            let mut words = line.split(' ');
            let (Some(letter), Some(jid), Some(attempt)) = (words.next(), words.next(), words.next()) else {
                return Err(io::Error::other(format!("read the ledger: expected a run, found {line:?}")));
            };
            let attempt = attempt.parse().unwrap_or(0);
            let begun_ms = words.next().and_then(|word| word.parse().ok()).unwrap_or(0);
            let of_job = runs.entry(jid.to_owned()).or_default();
            let end = match letter {
                "D" => End::Done,
                "F" => End::Failed,
                _ => {
                    of_job.push(Run { pid, attempt, begun_ms, end: None });
                    continue;
                }
            };
            let open = of_job
                .iter_mut()
                .rev()
                .find(|run| run.pid == pid && run.attempt == attempt && run.end.is_none());
            if let Some(run) = open {
                run.end = Some(end);
            }
        }
    }
    for of_job in runs.values_mut() {
        of_job.sort_by_key(|run| run.begun_ms);
    }
    Ok(runs)
}

fn pages(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|it| it == "ledger"))
        .collect()
}

pub(crate) fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}
