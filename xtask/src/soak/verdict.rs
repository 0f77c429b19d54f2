//! Balancing the books.

use std::collections::HashMap;
use std::time::Duration;

use cogworker_core::raw_job::RawJob;
use cogworker_core::unparseable::UNPARSEABLE_CLASS;

use super::Failed;
use super::books::{Books, DeadEntry};
use super::chaos::Chaos;
use super::incidents::Kind;
use super::ledger::{self, Runs};
use super::load::{Fate, Load};
use super::site::Site;

/// Jobs must run again so soon after an outage.
const RESUME_LIMIT: Duration = Duration::from_secs(5);

/// Keys that may be there when everything has come to its end.
const EXPECTED: [&str; 9] = [
    "cogworker:settling:",
    "cogworker:queues",
    "cogworker:live_queues",
    "cogworker:dead",
    "cogworker:stats:",
    "cogworker:throughput:",
    "cogworker:job_attempts:",
    "cogworker:process:",
    "cogworker:workers:",
];

/// Those of them that must expire.
const EXPIRING: [&str; 5] = [
    "cogworker:settling:",
    "cogworker:throughput:",
    "cogworker:job_attempts:",
    "cogworker:process:",
    "cogworker:workers:",
];

pub(crate) struct Verdict {
    lines: Vec<String>,
    pub(crate) faults: Vec<String>,
}

impl Verdict {
    pub(crate) fn draw(site: &Site, chaos: &Chaos<'_>, load: &Load) -> Result<Self, Failed> {
        let runs = ledger::read(site.ledger())?;
        let dead = read_dead(site)?;
        let mut verdict = Self { lines: Vec::new(), faults: chaos.died.clone() };
        let unparseable = dead.values().filter(|entry| entry.is_junk).count() as u64;
        let mut books = Books::new(&chaos.incidents);
        books.failures = unparseable;
        for job in &load.jobs {
            books.enter(job, runs.get(&job.jid).map_or(&[], Vec::as_slice), dead.get(&job.jid));
        }
        verdict.tell_load(load, &books, &runs, unparseable);
        verdict.check_counters(site, &books)?;
        verdict.check_keys(site, load)?;
        verdict.tell_chaos(chaos);
        Ok(verdict)
    }

    fn expect(&mut self, holds: bool, fault: impl FnOnce() -> String) {
        if !holds {
            self.faults.push(fault());
        }
    }

    fn tell_load(&mut self, load: &Load, books: &Books<'_>, runs: &Runs, unparseable: u64) {
        let of = |fate| load.jobs.iter().filter(|job| job.fate == fate).count();
        self.lines.push(format!(
            "pushed {} jobs for sure, {} perhaps, {} refused; {} runs of {} jobs",
            of(Fate::Pushed),
            of(Fate::Unknown),
            of(Fate::Refused),
            runs.values().map(Vec::len).sum::<usize>(),
            runs.len()
        ));
        self.lines.push(format!(
            "done {}, dead {} (and {unparseable} entries that were no jobs), lost {}",
            books.done,
            books.dead,
            books.lost.len()
        ));
        let excused: Vec<String> =
            books.doubles.iter().map(|(excuse, count)| format!("{excuse}: {count}")).collect();
        self.lines.push(format!(
            "attempts begun twice: {} ({}); of all attempts, {} ended twice",
            books.doubles.values().sum::<u64>(),
            excused.join(", "),
            books.double_ended
        ));
        self.expect(books.lost.is_empty(), || format!("lost: {}", sample(&books.lost)));
        self.expect(books.unexcused.is_empty(), || {
            format!("{} without excuse: {}", books.unexcused.len(), sample(&books.unexcused))
        });
        let (sure, perhaps) = load.junk;
        self.expect((sure..=sure + perhaps).contains(&unparseable), || {
            format!(
                "{sure} to {} entries that were no jobs were pushed, {unparseable} are dead",
                sure + perhaps
            )
        });
    }

    fn check_counters(&mut self, site: &Site, books: &Books<'_>) -> Result<(), Failed> {
        let processed = site.int(&["GET", "cogworker:stats:processed"])?;
        let failed = site.int(&["GET", "cogworker:stats:failed"])?;
        self.lines.push(format!("counters: processed {processed}, failed {failed}"));
        self.expect(processed == books.done as i64, || {
            format!("{} jobs were done and {processed} counted as processed", books.done)
        });
        self.expect(failed == books.failures as i64, || {
            format!("{} attempts failed and {failed} were counted", books.failures)
        });
        Ok(())
    }

    fn check_keys(&mut self, site: &Site, load: &Load) -> Result<(), Failed> {
        for key in site.texts(&["KEYS", "*"])? {
            let known = EXPECTED.iter().any(|head| key.starts_with(head)) || load.stray_locks.contains(&key);
            let value = || site.redis.cli(&["DUMP", &key]);
            self.expect(known, || {
                format!("left in redis: {key} ({:?} long)", value().as_str().map(str::len))
            });
            if EXPIRING.iter().any(|head| key.starts_with(head)) {
                let ttl = site.int(&["PTTL", &key])?;
                self.expect(expires(ttl), || format!("{key} does not expire"));
            }
        }
        Ok(())
    }

    fn tell_chaos(&mut self, chaos: &Chaos<'_>) {
        for (kind, (count, resumed)) in &chaos.played {
            self.lines.push(format!(
                "{kind}: {count}, jobs ran again after at most {:.2} s",
                resumed.as_secs_f64()
            ));
            let outage = !matches!(kind, Kind::QueuePaused | Kind::WorkerQuieted);
            self.expect(!outage || *resumed <= RESUME_LIMIT, || format!("jobs stood still after: {kind}"));
        }
        if let (Some(early), Some(late)) = chaos.anchor {
            self.lines.push(format!(
                "memory of the first worker: {early} KiB after a third, {late} KiB at the end"
            ));
            self.expect(late < early + early / 4 + 4096, || "memory grows".to_owned());
        }
    }

    pub(crate) fn report(self) -> Result<(), Failed> {
        println!();
        for line in &self.lines {
            println!("{line}");
        }
        if self.faults.is_empty() {
            println!("soak: everything is accounted for");
            return Ok(());
        }
        Err(format!("balance the books:\n  {}", self.faults.join("\n  ")).into())
    }
}

/// What PTTL tells: the milliseconds left, 0 within the last one, -1 for a key without an end, -2
/// for one that ended after its name was read.
fn expires(pttl: i64) -> bool {
    pttl != -1
}

fn read_dead(site: &Site) -> Result<HashMap<String, DeadEntry>, Failed> {
    let mut dead = HashMap::new();
    for entry in site.texts(&["ZRANGE", "cogworker:dead", "0", "-1"])? {
        let job = RawJob::parse(entry.as_bytes())?;
        let read = DeadEntry {
            failures: job.retry_count(),
            is_junk: job.class() == UNPARSEABLE_CLASS,
            process_died: job.field_as::<String>("error_class").as_deref() == Some("Cogworker::ProcessDied"),
        };
        if dead.insert(job.jid().to_owned(), read).is_some() {
            return Err(format!("find each dead job once: {} is there twice", job.jid()).into());
        }
    }
    Ok(dead)
}

fn sample(all: &[String]) -> String {
    let shown = all.iter().take(5).cloned().collect::<Vec<_>>().join("; ");
    if all.len() > 5 { format!("{shown}; and {} more", all.len() - 5) } else { shown }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_key_without_an_end_does_not_expire() -> Result<(), Failed> {
        let redis = cogworker_testing::TestRedis::start()?;
        let pttl = |key| redis.cli(&["PTTL", key]).as_int();
        redis.cli(&["MSET", "endless", "x", "ending", "x"]);
        redis.cli(&["PEXPIRE", "ending", "400"]);
        assert!(
            redis.cli(&["TTL", "ending"]).as_int() <= Some(0),
            "whole seconds, rounded down below a half"
        );
        assert!(pttl("ending").is_some_and(expires));
        assert!(pttl("gone").is_some_and(expires));
        assert!(!pttl("endless").is_some_and(expires));
        Ok(())
    }
}
