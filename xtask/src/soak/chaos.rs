//! Random faults, one after the other.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use cogworker_testing::{Fault, wait_until};
use fastrand::Rng;

use super::Failed;
use super::incidents::{Incident, Kind};
use super::ledger;
use super::site::Site;

/// The faults by how often they are drawn.
const FAULTS: [(Kind, u32); 14] = [
    (Kind::WorkerKilled, 18),
    (Kind::WorkerFrozen, 8),
    (Kind::WorkerRestarted, 10),
    (Kind::WorkerQuieted, 4),
    (Kind::QueuePaused, 4),
    (Kind::RedisRestarted, 5),
    (Kind::RedisKilled, 5),
    (Kind::RedisFrozen, 5),
    (Kind::ConnectionsCut, 10),
    (Kind::ConnectionsKilled, 8),
    (Kind::RepliesSwallowed, 8),
    (Kind::NetworkDead, 8),
    (Kind::ReplyLost, 12),
    (Kind::ScriptsFlushed, 8),
];

pub(crate) struct Chaos<'a> {
    site: &'a Site,
    rng: Rng,
    /// How often each fault was played, and the longest time until jobs ran again after it.
    pub(crate) played: BTreeMap<Kind, (u32, Duration)>,
    /// What was played, in this order.
    pub(crate) incidents: Vec<Incident>,
    /// Processes that ended though nobody told them to, or with an error.
    pub(crate) died: Vec<String>,
    /// Resident memory of the worker that is never killed, in KiB: after a third, and at the end.
    pub(crate) anchor: (Option<u64>, Option<u64>),
}

impl<'a> Chaos<'a> {
    pub(crate) fn new(site: &'a Site, seed: u64) -> Self {
        Self {
            site,
            rng: Rng::with_seed(seed ^ 0xc4a05),
            played: BTreeMap::new(),
            incidents: Vec::new(),
            died: Vec::new(),
            anchor: (None, None),
        }
    }

    pub(crate) fn run(&mut self, until: Instant) -> Result<(), Failed> {
        let begun = Instant::now();
        let third = begun + until.saturating_duration_since(begun) / 3;
        // Everything runs well before the first fault.
        self.runs_again(Duration::from_secs(20));
        while Instant::now() < until {
            std::thread::sleep(self.between(500, 2500));
            let kind = self.draw();
            println!("{:6.1} s  {kind}", begun.elapsed().as_secs_f64());
            let from_ms = ledger::now_ms();
            let pid = self.play(kind)?;
            self.incidents.push(Incident { kind, pid, from_ms, until_ms: ledger::now_ms() });
            let resumed = self.runs_again(Duration::from_secs(60));
            let entry = self.played.entry(kind).or_default();
            entry.0 += 1;
            entry.1 = entry.1.max(resumed);
            self.look_after_workers();
            if self.anchor.0.is_none() && Instant::now() > third {
                self.anchor.0 = self.site.places().first().and_then(|place| place.rss_kb());
            }
        }
        self.anchor.1 = self.site.places().first().and_then(|place| place.rss_kb());
        Ok(())
    }

    fn between(&mut self, from: u64, to: u64) -> Duration {
        Duration::from_millis(self.rng.u64(from..to))
    }

    fn draw(&mut self) -> Kind {
        let mut number = self.rng.u32(..FAULTS.iter().map(|(_, weight)| weight).sum::<u32>());
        for (kind, weight) in FAULTS {
            if number < weight {
                return kind;
            }
            number -= weight;
        }
        Kind::ScriptsFlushed
    }

    /// How long it takes until a job begins somewhere.
    fn runs_again(&self, limit: Duration) -> Duration {
        let (since, begun) = (Instant::now(), ledger::begun(self.site.ledger()));
        if !wait_until(limit, || ledger::begun(self.site.ledger()) > begun) {
            println!("nothing ran for {} s", limit.as_secs());
        }
        since.elapsed()
    }

    /// Plays it until it is lifted; the process that it befell, unless it befell all.
    fn play(&mut self, kind: Kind) -> Result<Option<u32>, Failed> {
        let site = self.site;
        match kind {
            Kind::WorkerKilled => {
                let index = self.victim();
                let fresh = site.spawn()?;
                let mut places = site.places();
                let pid = places[index].process.pid();
                places[index].process.kill();
                places[index].replace(fresh);
                return Ok(Some(pid));
            }
            Kind::WorkerFrozen => {
                let (index, long) = (self.victim(), self.between(500, 8000));
                let pid = site.places()[index].process.pid();
                site.places()[index].process.signal("STOP")?;
                std::thread::sleep(long);
                site.places()[index].process.signal("CONT")?;
                return Ok(Some(pid));
            }
            Kind::WorkerRestarted => {
                let index = self.victim();
                let fresh = site.spawn()?;
                let mut places = site.places();
                let pid = places[index].process.pid();
                places[index].process.signal("TERM")?;
                let status = places[index].process.wait(Duration::from_secs(30))?;
                if !status.success() {
                    self.died.push(format!("a worker that was told to stop ended with {status}"));
                }
                places[index].replace(fresh);
                return Ok(Some(pid));
            }
            Kind::WorkerQuieted => {
                let identities = site.texts(&["SMEMBERS", "cogworker:processes"])?;
                let Some(identity) = self.rng.choice(&identities) else { return Ok(None) };
                let channel = format!("cogworker:signal:{identity}");
                site.command(&["PUBLISH", &channel, "quiet"])?;
                std::thread::sleep(self.between(300, 2000));
                site.command(&["PUBLISH", &channel, "resume"])?;
            }
            Kind::QueuePaused => {
                site.command(&["SADD", "cogworker:paused_queues", "low"])?;
                std::thread::sleep(self.between(300, 3000));
                site.command(&["SREM", "cogworker:paused_queues", "low"])?;
            }
            Kind::RedisRestarted => {
                site.redis.stop();
                std::thread::sleep(self.between(0, 3000));
                site.redis.restart()?;
                site.wait_for_redis()?;
            }
            Kind::RedisKilled => {
                site.redis.kill();
                std::thread::sleep(self.between(0, 2000));
                site.redis.restart()?;
                site.wait_for_redis()?;
            }
            Kind::RedisFrozen => {
                site.redis.pause()?;
                std::thread::sleep(self.between(200, 7000));
                site.redis.resume()?;
            }
            Kind::ConnectionsCut => {
                for _ in 0..self.rng.u8(1..5) {
                    site.proxy.cut();
                    std::thread::sleep(self.between(0, 400));
                }
            }
            Kind::ConnectionsKilled => {
                for _ in 0..self.rng.u8(1..5) {
                    site.command(&["CLIENT", "KILL", "TYPE", "normal"])?;
                    std::thread::sleep(self.between(0, 400));
                }
            }
            Kind::RepliesSwallowed => self.network(Fault::SwallowReplies, 200, 7000),
            Kind::NetworkDead => self.network(Fault::BlackHole, 200, 7000),
            Kind::ReplyLost => {
                let needle: &[u8] = if self.rng.bool() { b"EVALSHA" } else { b"BLMOVE" };
                site.proxy.cut_before_reply_to(needle);
            }
            Kind::ScriptsFlushed => {
                for _ in 0..self.rng.u8(1..20) {
                    site.command(&["SCRIPT", "FLUSH"])?;
                    std::thread::sleep(self.between(0, 100));
                }
            }
        }
        Ok(None)
    }

    fn network(&mut self, fault: Fault, from: u64, to: u64) {
        self.site.proxy.set(fault);
        std::thread::sleep(self.between(from, to));
        if self.rng.bool() {
            self.site.proxy.cut();
        }
        self.site.proxy.set(Fault::Pass);
    }

    /// Any worker but the first, whose memory is watched.
    fn victim(&mut self) -> usize {
        let count = self.site.places().len();
        if count > 1 { self.rng.usize(1..count) } else { 0 }
    }

    fn look_after_workers(&mut self) {
        for place in self.site.places().iter_mut() {
            if place.process.is_running() {
                continue;
            }
            self.died.push(format!("worker {} ended by itself", place.process.pid()));
            if let Ok(fresh) = self.site.spawn() {
                place.replace(fresh);
            }
        }
    }
}
