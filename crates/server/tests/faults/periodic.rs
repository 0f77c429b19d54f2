//! A slot for each second, fired by processes that are frozen, killed and cut off all the while.
//!
//! The jobs stay on their queue, so what is counted is what was fired, whatever becomes of a run.

use std::collections::BTreeMap;
use std::error::Error;
use std::ops::Range;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use cogworker_testing::{Fault, FaultProxy, wait_until};

use crate::program::{Program, TICK};
use crate::support::{SOON, Site, TestResult, reach};

const PROCESSES: usize = 6;
/// A process counts as there again so long after its first request that reached Redis, s: it has to look
/// around for dead processes before it fires (TICK-12), and its other calls have to come through too.
const SETTLED: f64 = 0.5;

/// What is done to a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Harm {
    Freeze,
    Kill,
    Cut,
    Refuse,
    BlackHole,
    SwallowReplies,
}

const HARMS: [Harm; 6] =
    [Harm::Freeze, Harm::Kill, Harm::Cut, Harm::Refuse, Harm::BlackHole, Harm::SwallowReplies];

/// A process, its own way to Redis, and when it was not alive and connected (epoch s).
struct Ticking {
    proxy: FaultProxy,
    program: Program,
    harmed: Vec<(Harm, Range<f64>)>,
}

impl Ticking {
    fn start(site: &Site) -> Result<Self, Box<dyn Error>> {
        let proxy = FaultProxy::start(&site.redis)?;
        let program = Program::ticking(&proxy.url())?;
        Ok(Self { proxy, program, harmed: Vec::new() })
    }

    /// Harms it for a while, and waits until it reaches Redis again.
    fn harm(&mut self, harm: Harm, lasting: Duration) -> TestResult {
        let begun = now();
        let fault = match harm {
            Harm::Freeze => {
                self.program.process.pause()?;
                thread::sleep(lasting);
                self.program.process.resume()?;
                Fault::Pass
            }
            Harm::Kill => {
                self.program.process.kill();
                self.program = Program::ticking(&self.proxy.url())?;
                Fault::Pass
            }
            Harm::Cut => Fault::Pass,
            Harm::Refuse => Fault::Refuse,
            Harm::BlackHole => Fault::BlackHole,
            Harm::SwallowReplies => Fault::SwallowReplies,
        };
        if !matches!(harm, Harm::Freeze | Harm::Kill) {
            self.proxy.set(fault);
            if matches!(harm, Harm::Cut | Harm::Refuse) {
                self.proxy.cut();
            }
            if harm != Harm::Cut {
                thread::sleep(lasting);
            }
            if harm == Harm::BlackHole {
                // What was on its way is lost, as behind a router that went away.
                self.proxy.cut();
            }
            self.proxy.set(Fault::Pass);
        }
        let before = self.proxy.requests_seen();
        if !wait_until(SOON, || self.proxy.requests_seen() > before) {
            return Err(format!("not back after {harm:?}: {:?}", self.program.process.log()).into());
        }
        self.harmed.push((harm, begun..now() + SETTLED));
        Ok(())
    }

    /// Alive and connected throughout the second that begins at `slot`.
    fn was_there(&self, slot: i64) -> bool {
        let (begin, end) = (slot as f64, (slot + 1) as f64);
        !self.harmed.iter().any(|(_, harmed)| harmed.start < end && begin < harmed.end)
    }

    /// One harm after the other, with pauses in which it can fire; the one `together` hits all
    /// processes at the same time.
    fn harm_until(
        &mut self,
        end: f64,
        mut together: Option<f64>,
        mut chance: fastrand::Rng,
    ) -> Result<(), String> {
        loop {
            let pause = 1.5 + 5.0 * chance.f64();
            let at = now() + pause;
            let common = together.filter(|together| *together <= at);
            let at = common.unwrap_or(at);
            if at >= end {
                return Ok(());
            }
            thread::sleep(Duration::from_secs_f64((at - now()).max(0.0)));
            let done = if common.is_some() {
                together = None;
                self.harm(Harm::Freeze, Duration::from_millis(2500))
            } else {
                let harm = chance.choice(HARMS).unwrap_or(Harm::Cut);
                self.harm(harm, Duration::from_secs_f64(0.2 + 1.6 * chance.f64()))
            };
            done.map_err(|error| error.to_string())?;
        }
    }
}

fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}

/// Each slot that was fired, and how often.
fn fired(site: &Site) -> Result<BTreeMap<i64, usize>, Box<dyn Error>> {
    let mut slots = BTreeMap::new();
    for job in site.texts(&["LRANGE", "cogworker:queue:default", "0", "-1"]) {
        let job: serde_json::Value = serde_json::from_str(&job)?;
        *slots.entry(job["periodic_slot"].as_i64().ok_or("no slot")?).or_insert(0) += 1;
    }
    Ok(slots)
}

/// No slot is fired twice. One is not fired at all only if in its second no process was there: each was
/// frozen, killed or cut off for a part of it, or had not been back for [`SETTLED`]. All are frozen at the
/// same time once, so long after the begin as `together` says, s.
async fn each_slot_is_fired_once(seconds: f64, together: Option<f64>) -> TestResult {
    let site = Site::start().await?;
    let mut processes = Vec::new();
    for _ in 0..PROCESSES {
        processes.push(Ticking::start(&site)?);
    }
    reach("they fire", || site.waiting("default") >= 2)?;
    let seed = fastrand::u64(..);
    let begin = now();
    let end = begin + seconds;
    let harmed: Result<Vec<()>, String> = thread::scope(|scope| {
        let threads: Vec<_> = processes
            .iter_mut()
            .zip(seed..)
            .map(|(process, seed)| {
                let chance = fastrand::Rng::with_seed(seed);
                scope.spawn(move || process.harm_until(end, together.map(|after| begin + after), chance))
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().map_err(|_| "panicked".to_owned())?).collect()
    });
    harmed?;
    let (first, last) = (begin.ceil() as i64 + 1, now().floor() as i64);
    let is_past = |fired: &BTreeMap<i64, usize>| fired.keys().last().is_some_and(|slot| *slot > last);
    reach("the last slot is past", || fired(&site).is_ok_and(|fired| is_past(&fired)))?;
    let slots = fired(&site)?;
    let twice: Vec<_> = slots.iter().filter(|(_, times)| **times > 1).collect();
    let missed: Vec<i64> = (first..=last).filter(|slot| !slots.contains_key(slot)).collect();
    let alone: Vec<i64> =
        (first..=last).filter(|slot| !processes.iter().any(|process| process.was_there(*slot))).collect();
    let mut harms = BTreeMap::new();
    for (harm, _) in processes.iter().flat_map(|process| &process.harmed) {
        *harms.entry(*harm).or_insert(0) += 1;
    }
    println!(
        "measured: seed {seed}: {} slots, {} fired, {} twice, {} missed, {} without a process; harms: {harms:?}",
        last - first + 1,
        slots.range(first..=last).count(),
        twice.len(),
        missed.len(),
        alone.len(),
    );
    assert_eq!(twice, [], "seed {seed}");
    let unexcused: Vec<_> = missed.iter().filter(|slot| !alone.contains(slot)).collect();
    assert_eq!(unexcused, [&0; 0], "seed {seed}: {harms:?}");
    for process in processes {
        process.program.stop()?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slot_is_fired_once_while_processes_are_frozen_killed_and_cut_off_tick_19_tick_28() -> TestResult {
    each_slot_is_fired_once(6.0, None).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes 40 s"]
async fn a_slot_is_fired_once_through_half_a_minute_of_harm_tick_19_tick_28() -> TestResult {
    each_slot_is_fired_once(30.0, Some(14.0)).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_until_executed_keeps_its_lock_through_a_crash_and_its_recovery_tick_25_runlk_02() -> TestResult
{
    let site = Site::start().await?;
    let lock = || site.texts(&["KEYS", "periodic:running:*"]).first().map(|key| site.text(&["GET", key]));
    let mut first = Program::ticking_one_at_a_time(&site.redis.url())?;
    reach("a slot's job runs", || first.said("waits") == 1)?;
    let jid = lock().ok_or("no running lock")?;
    let second = Program::ticking_one_at_a_time(&site.redis.url())?;
    let both_live = now();
    reach("slots go by", || now() >= both_live + 2.0)?;
    first.process.kill();
    reach("the other one runs the job", || second.said("waits") == 1)?;
    assert_eq!(lock(), Some(jid.clone()), "nobody else had the lock meanwhile");
    assert_eq!((first.said("waits"), site.waiting("default"), site.processed()), (1, 0, 0));
    second.open_gate()?;
    reach("later slots fire again", || second.said(&format!("ran {TICK}")) >= 2)?;
    let fired = |program: &Program| program.lines("fired a periodic job").len();
    assert_eq!(fired(&first), 1);
    // The job may run before it is logged that it was fired.
    reach("it is told", || fired(&second) >= 1)?;
    second.stop()?;
    assert_ne!(lock(), Some(jid), "the recovered run gave it back");
    Ok(())
}
