//! What the workers ran, written down outside of Redis.
//!
//! Each worker appends a line at the begin and at the end of a run, so that a line is there even
//! if the process is killed in the next moment. Each run has a number of its own in its process:
//! two runs of one job at the same time are told apart.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// The two files of a process.
const BEGUN: &str = "begun";
const ENDED: &str = "ended";

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Done,
    Failed,
    /// Its future was dropped before it came to anything.
    CutOff,
}

impl End {
    fn letter(self) -> char {
        match self {
            Self::Done => 'D',
            Self::Failed => 'F',
            Self::CutOff => 'X',
        }
    }
}

/// A worker's own page of the ledger.
#[derive(Debug)]
pub(crate) struct Page {
    begun: File,
    ended: File,
    runs: AtomicU64,
}

impl Page {
    pub(crate) fn open(folder: &Path) -> io::Result<Self> {
        let open = |kind: &str| {
            let path = folder.join(format!("{}.{kind}", std::process::id()));
            OpenOptions::new().create(true).append(true).open(path)
        };
        Ok(Self { begun: open(BEGUN)?, ended: open(ENDED)?, runs: AtomicU64::new(0) })
    }

    /// Writes down that a run begins. It is cut off unless [`Entry::end`] says otherwise.
    pub(crate) fn begin(&self, jid: &str, attempt: u32) -> Entry<'_> {
        let number = self.runs.fetch_add(1, Ordering::Relaxed);
        write(&self.begun, &format!("B {number} {} {jid} {attempt}\n", now_ms()));
        Entry { page: self, number, end: End::CutOff }
    }
}

/// A run that goes on; its end is written when this is dropped.
#[derive(Debug)]
pub(crate) struct Entry<'a> {
    page: &'a Page,
    number: u64,
    end: End,
}

impl Entry<'_> {
    pub(crate) fn end(mut self, end: End) {
        self.end = end;
    }
}

impl Drop for Entry<'_> {
    fn drop(&mut self) {
        write(&self.page.ended, &format!("{} {} {}\n", self.end.letter(), self.number, now_ms()));
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
    /// How and when it ended; `None` when its process did not live to say.
    pub(crate) end: Option<(End, u64)>,
}

/// Every run of every job, those of a job in the order of their begin.
pub(crate) type Runs = BTreeMap<String, Vec<Run>>;

/// Grows with every run that begins, anywhere.
pub(crate) fn begun(folder: &Path) -> u64 {
    pages(folder, BEGUN).iter().filter_map(|path| fs::metadata(path).ok()).map(|file| file.len()).sum()
}

pub(crate) fn read(folder: &Path) -> io::Result<Runs> {
    let mut runs = Runs::new();
    for path in pages(folder, BEGUN) {
        let ended = match fs::read_to_string(path.with_extension(ENDED)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            read => read?,
        };
        enter_page(&mut runs, pid_of(&path), &fs::read_to_string(&path)?, &ended)?;
    }
    for of_job in runs.values_mut() {
        of_job.sort_by_key(|run| run.begun_ms);
    }
    Ok(runs)
}

/// Enters what one process wrote.
fn enter_page(runs: &mut Runs, pid: u32, begun: &str, ended: &str) -> io::Result<()> {
    let fault = |what: &str, line: &str| io::Error::other(format!("read the ledger: {what}: {line:?}"));
    let mut ends: HashMap<u64, (End, u64)> = HashMap::new();
    for line in ended.lines() {
        let (number, end) = parse_end(line).ok_or_else(|| fault("expected an end", line))?;
        if ends.insert(number, end).is_some() {
            return Err(fault("a run ended twice", line));
        }
    }
    for line in begun.lines() {
        let (number, jid, mut run) = parse_begin(line, pid).ok_or_else(|| fault("expected a run", line))?;
        run.end = ends.remove(&number);
        runs.entry(jid).or_default().push(run);
    }
    match ends.keys().next() {
        None => Ok(()),
        Some(number) => Err(io::Error::other(format!("read the ledger: run {number} ended and never began"))),
    }
}

fn parse_begin(line: &str, pid: u32) -> Option<(u64, String, Run)> {
    let mut words = line.strip_prefix("B ")?.split(' ');
    let (number, begun_ms) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    let (jid, attempt) = (words.next()?.to_owned(), words.next()?.parse().ok()?);
    Some((number, jid, Run { pid, attempt, begun_ms, end: None }))
}

fn parse_end(line: &str) -> Option<(u64, (End, u64))> {
    let mut words = line.split(' ');
    let letter = words.next()?;
    let end =
        [End::Done, End::Failed, End::CutOff].into_iter().find(|end| letter == end.letter().to_string())?;
    Some((words.next()?.parse().ok()?, (end, words.next()?.parse().ok()?)))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn page(begun: &str, ended: &str) -> Result<Vec<Option<(End, u64)>>, String> {
        let mut runs = Runs::new();
        enter_page(&mut runs, 7, begun, ended).map_err(|error| error.to_string())?;
        Ok(runs.remove("j").unwrap_or_default().into_iter().map(|run| run.end).collect())
    }

    #[test]
    fn runs_of_one_job_at_the_same_time_in_one_process_keep_their_own_ends() {
        let begun = "B 0 10 j 1\nB 1 10 j 1\nB 2 12 j 1\n";
        let ends = page(begun, "F 2 110\nD 0 112\n");
        assert_eq!(ends, Ok(vec![Some((End::Done, 112)), None, Some((End::Failed, 110))]));
    }

    #[test]
    fn a_run_that_ends_twice_or_never_began_is_an_error() {
        let twice = page("B 0 10 j 1\n", "D 0 11\nX 0 12\n");
        assert_eq!(twice, Err(r#"read the ledger: a run ended twice: "X 0 12""#.into()));
        let never = page("B 0 10 j 1\n", "D 1 11\n");
        assert_eq!(never, Err("read the ledger: run 1 ended and never began".into()));
    }

    #[test]
    fn what_is_written_is_read() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let page = Page::open(folder.path())?;
        let (dropped, done) = (page.begin("j", 1), page.begin("j", 1));
        done.end(End::Done);
        drop(dropped);
        let _goes_on = page.begin("other", 3);
        let runs = read(folder.path())?;
        let ends: Vec<_> = runs["j"].iter().map(|run| run.end.map(|(end, _)| end)).collect();
        assert_eq!(ends, [Some(End::CutOff), Some(End::Done)]);
        assert_eq!((runs["other"][0].attempt, runs["other"][0].end), (3, None));
        assert_eq!(runs["j"][0].pid, std::process::id());
        Ok(())
    }
}
