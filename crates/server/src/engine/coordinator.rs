//! The loop that owns the slots. What it does at each turn stands in a file for each duty.

mod board;
mod ending;
mod fencing;
mod fetches;
mod fetching;
mod progress;
mod running;
mod settling;
mod strays;

use std::collections::{HashSet, VecDeque};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use bytes::Bytes;
use cogworker_core::history_limits::HistoryLimits;
use cogworker_core::redis::{Redis, RedisError};
use cogworker_core::scripts::{self, Fetched, Held, Settled};
use cogworker_core::time::ttl_seconds;
use tokio::sync::Notify;
use tokio::sync::mpsc::{self, UnboundedReceiver};
use tokio::time::{Instant as TokioInstant, sleep_until, timeout};
use tracing::{error, warn};

use self::fencing::Fencing;
use self::fetches::{Fetch, Fetches};
use super::claim::Claim;
use super::command::Command;
use super::gauges::Gauges;
use super::lease::Lease;
use super::outcome::Rules;
use super::pace::Pace;
use super::parts::EngineParts;
use super::pulse::Pulse;
use super::queues::Queues;
use super::reconcile::Reconciler;
use super::runner::{Finished, Runner};
use super::settler::Settler;
use super::shutdown::Shutdown;
use super::slots::{RunId, Slots};
use super::waits::{WaitEnd, Waits};
use crate::deaths::Deaths;
use crate::health::HealthLimits;
use crate::outage::Outage;

/// Jobs run in place between two looks at the sockets.
const IN_PLACE_BURST: usize = 64;
/// All slots busy for so long: what was taken ahead is given back, and the waits are ended.
const STARVED_AFTER: Duration = Duration::from_millis(20);
/// The pause after a failed call.
const RETRY_PAUSE: Duration = Duration::from_millis(100);
/// The pause after an outcome was refused by its destination.
const REFUSED_PAUSE: Duration = Duration::from_secs(1);
/// How often the work hash is brought up to date while jobs run.
const BOARD_PERIOD: Duration = Duration::from_millis(100);
/// The shortest sleep of the loop.
const SHORTEST_SLEEP: Duration = Duration::from_millis(1);
/// How often strays are looked for; the second is used after a call of unknown fate.
const RECONCILE_PERIODS: (Duration, Duration) = (Duration::from_secs(5), Duration::from_secs(1));
/// So many looks may only count; then one compares job by job.
const GLANCES: u32 = 11;
/// The most strays one look finds.
const LOOK_LIMIT: usize = 10_000;

type InFlight<T> = Option<Pin<Box<dyn Future<Output = Result<T, RedisError>> + Send>>>;

pub(crate) struct Engine {
    redis: Redis,
    identity: Arc<str>,
    lock_ttl: u64,
    status_ttl: Option<u64>,
    history: Option<HistoryLimits>,
    deaths: Deaths,
    queues: Queues,
    slots: Slots,
    pace: Pace,
    buffer: VecDeque<Claim>,
    runner: Runner,
    settler: Settler,
    reconciler: Reconciler,
    waits: Waits,
    jobs: tokio::runtime::Handle,
    gauges: Arc<Gauges>,
    outage: Arc<Outage>,
    lease: Arc<Lease>,
    poller_wake: Arc<Notify>,
    pulse: Arc<Pulse>,
    limits: HealthLimits,

    commands: UnboundedReceiver<Command>,
    finished: UnboundedReceiver<Finished>,
    wait_ends: UnboundedReceiver<WaitEnd>,

    fetches: Fetches,
    settle: InFlight<Settled>,
    look: InFlight<Option<Vec<Bytes>>>,
    board: InFlight<Option<RedisError>>,

    /// There may be a backlog: fetch rather than wait.
    hungry: bool,
    quiet: bool,
    /// How jobs are taken.
    held: Held,
    stopping: Option<Shutdown>,
    /// The lease has lapsed: running jobs are brought to an end.
    fencing: Option<Fencing>,
    slot_freed: Instant,
    fetch_not_before: Instant,
    next_board: Instant,
    next_look: Instant,
    next_glance: Instant,
    /// Between two looks at queues that have no wait: paused ones, and those one too many.
    glance_period: Duration,
    suspicious: bool,
    /// Looks since the last that compared job by job.
    glances: u32,
    /// A wait failed since the last look for strays.
    wait_failed: bool,
    /// Strays taken over lately: their own delivery may still come.
    adopted: VecDeque<(Bytes, Instant)>,
    /// Runs whose job the last look did not find on the list.
    missing: HashSet<RunId>,
}

enum Event {
    Fetched(Fetch, Result<Fetched, RedisError>),
    Settled(Result<Settled, RedisError>),
    Looked(Result<Option<Vec<Bytes>>, RedisError>),
    BoardWritten(Result<Option<RedisError>, RedisError>),
    Finished(Finished),
    WaitEnded(WaitEnd),
    Command(Command),
    Tick,
}

impl Engine {
    /// Must be called on the runtime that is to drive the connections.
    pub(crate) fn new(parts: EngineParts) -> Result<Self, RedisError> {
        let queues = Queues::new(&parts.config.queues);
        let (finished_sender, finished) = mpsc::unbounded_channel();
        let (ends_sender, wait_ends) = mpsc::unbounded_channel();
        let held = if parts.gauges.basic.load(Ordering::Relaxed) { Held::Popped } else { Held::Listed };
        let waits = Waits::start(
            &parts.redis,
            &parts.identity,
            queues.names(),
            held,
            (&parts.pulse, &parts.limits),
            &ends_sender,
        )?;
        let now = Instant::now();
        Ok(Self {
            lock_ttl: ttl_seconds(parts.config.unique_lock_ttl),
            status_ttl: parts.registry.status_ttl.map(ttl_seconds),
            history: parts.registry.history,
            deaths: parts.deaths,
            runner: Runner::new(
                parts.registry,
                parts.scope,
                parts.jobs.clone(),
                parts.pulse.clone(),
                finished_sender,
            ),
            jobs: parts.jobs,
            slots: Slots::new(parts.config.concurrency),
            pace: Pace::new(),
            buffer: VecDeque::new(),
            settler: Settler::default(),
            reconciler: Reconciler::default(),
            redis: parts.redis,
            identity: parts.identity,
            queues,
            waits,
            gauges: parts.gauges,
            outage: parts.outage,
            lease: parts.lease,
            poller_wake: parts.poller_wake,
            pulse: parts.pulse,
            limits: parts.limits,
            commands: parts.commands,
            finished,
            wait_ends,
            fetches: Fetches::default(),
            settle: None,
            look: None,
            board: None,
            hungry: true,
            quiet: false,
            held,
            stopping: None,
            fencing: None,
            slot_freed: now,
            fetch_not_before: now,
            next_board: now,
            next_look: now + RECONCILE_PERIODS.0,
            next_glance: now,
            glance_period: parts.config.fetch_idle_max_interval,
            suspicious: false,
            glances: 0,
            wait_failed: false,
            adopted: VecDeque::new(),
            missing: HashSet::new(),
        })
    }

    /// Runs until told to stop, and everything is settled or given back. How many jobs could be
    /// neither.
    pub(crate) async fn run(mut self) -> usize {
        loop {
            self.watch_lease();
            self.start_jobs();
            self.give_back_untaken();
            self.plan_settle();
            self.plan_fetch();
            self.plan_waits();
            self.plan_board();
            self.plan_look();
            self.show_progress();
            if self.may_end() {
                break;
            }
            let event = self.next_event().await;
            self.handle(event);
            self.take_what_is_ready();
        }
        self.pulse.loop_ended();
        if timeout(last_calls(&self.outage), self.give_back_leftovers()).await.is_err() {
            warn!("could not look for jobs left on this process's list");
        }
        let uncounted = self.settler.uncounted();
        if uncounted != (0, 0) {
            error!(
                "failed to count {} processed and {} failed runs before the end",
                uncounted.0, uncounted.1
            );
        }
        self.settler.count()
    }

    /// True while jobs are taken and started.
    fn takes_jobs(&self) -> bool {
        !self.quiet && self.fencing.is_none()
    }

    fn rules(&self) -> Rules<'_> {
        Rules {
            keys: self.redis.keys(),
            lock_ttl: self.lock_ttl,
            status_ttl: self.status_ttl,
            history: self.history.is_some(),
            deaths: self.deaths.are_heard(),
        }
    }

    async fn next_event(&mut self) -> Event {
        let more_to_start = self.may_start();
        let wake_at = TokioInstant::from_std(self.next_wake());
        tokio::select! {
            biased;
            Some(command) = self.commands.recv() => Event::Command(command),
            result = arrival(&mut self.settle) => Event::Settled(result),
            (fetch, result) = self.fetches.next(), if !self.fetches.is_empty() => Event::Fetched(fetch, result),
            Some(finished) = self.finished.recv() => Event::Finished(finished),
            Some(end) = self.wait_ends.recv() => Event::WaitEnded(end),
            result = arrival(&mut self.board) => Event::BoardWritten(result),
            result = arrival(&mut self.look) => Event::Looked(result),
            // Lets the connection's own tasks run between two bursts of jobs.
            () = tokio::task::yield_now(), if more_to_start => Event::Tick,
            () = sleep_until(wake_at) => Event::Tick,
        }
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Command(command) => self.obey(command),
            Event::Settled(result) => self.settled(result),
            Event::Fetched(fetch, result) => self.fetched(fetch, result),
            Event::Finished(finished) => self.finished(finished),
            Event::WaitEnded(end) => self.wait_ended(end),
            Event::BoardWritten(result) => self.board_written(result),
            Event::Looked(result) => self.looked(result),
            Event::Tick => {}
        }
    }

    /// Further ends of runs that are there already go into the same settlement.
    fn take_what_is_ready(&mut self) {
        for _ in 0..scripts::BATCH_LIMIT {
            match self.finished.try_recv() {
                Ok(finished) => self.finished(finished),
                Err(_) => break,
            }
        }
    }

    /// The next moment at which something is due by the clock.
    fn next_wake(&self) -> Instant {
        let now = Instant::now();
        let mut wake = self.next_look.min(now + self.limits.turn);
        let mut sooner = |at: Instant| wake = wake.min(at);
        if self.board.is_none() && self.slots.board_is_live() {
            sooner(self.next_board);
        }
        if let Some(at) = self.settler.held_until() {
            sooner(at);
        }
        if self.fetch_not_before > now {
            sooner(self.fetch_not_before);
        }
        // What no fetch may follow now waits for the event that allows one.
        if self.takes_jobs() && self.fetches.is_empty() && !self.settler.fate_is_open() {
            if self.needs_glances() {
                sooner(self.next_glance);
            }
            if let Some(at) = self.queues.next_admission() {
                sooner(at);
            }
        }
        if let Some(at) = self.next_fencing() {
            sooner(at);
        }
        let starved_at = self.slot_freed + STARVED_AFTER;
        if self.slots.free() == 0 && starved_at > now {
            sooner(starved_at);
        }
        if let Some(shutdown) = &self.stopping {
            sooner(shutdown.next_wake());
        }
        // What is overdue waits for an event, not for the clock: looking again at once would only spin.
        wake.max(now + SHORTEST_SLEEP)
    }

    fn obey(&mut self, command: Command) {
        match command {
            Command::Quiet => self.set_quiet(true),
            Command::Resume => self.set_quiet(false),
            Command::Paused(names) => {
                self.queues.set_all_paused(&names);
                for index in 0..self.queues.count() {
                    if self.queues.is_paused(index) {
                        self.waits.disarm(index);
                    }
                }
            }
            Command::LogRunning => self.log_running(),
            Command::Stop { limit } => {
                self.set_quiet(true);
                self.stopping.get_or_insert_with(|| Shutdown::new(limit));
            }
        }
    }

    fn set_quiet(&mut self, quiet: bool) {
        if self.stopping.is_some() {
            return;
        }
        self.quiet = quiet;
        self.gauges.quiet.store(quiet, Ordering::Relaxed);
        if quiet {
            self.waits.disarm_all();
        } else {
            self.hungry = true;
            // What fell due meanwhile was left alone.
            self.poller_wake.notify_one();
        }
    }
}

/// How long the last calls of a process may take: little, when Redis is known to be away.
pub(crate) fn last_calls(outage: &Outage) -> Duration {
    Duration::from_secs(if outage.is_ongoing() { 1 } else { 10 })
}

/// The result of a call under way; never, when there is none.
async fn arrival<T>(call: &mut InFlight<T>) -> Result<T, RedisError> {
    match call {
        Some(call) => call.as_mut().await,
        None => std::future::pending().await,
    }
}
