//! The loop that owns the slots.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use cogworker_core::failure::Failure;
use cogworker_core::raw_job::RawJob;
use cogworker_core::redis::{Redis, RedisError};
use cogworker_core::scripts::{self, Fetched, Settled};
use cogworker_core::time::EpochSeconds;
use tokio::sync::Notify;
use tokio::sync::mpsc::{self, UnboundedReceiver};
use tokio::time::{Instant as TokioInstant, sleep_until};
use tracing::{error, info, warn};

use super::claim::Claim;
use super::outcome::Outcome;
use super::pace::Pace;
use super::queues::Queues;
use super::reconcile::Reconciler;
use super::runner::{Finished, Runner, Started};
use super::settler::Settler;
use super::shutdown::{Shutdown, ShutdownStep};
use super::slots::{Running, Slots};
use super::waits::{WaitEnd, Waits};
use crate::app::Registry;
use crate::config::Config;
use crate::context::RunScope;
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
/// How often paused queues are looked at, and queues beyond the number of waits.
const LOOK_AGAIN: Duration = Duration::from_millis(500);
/// The most strays one look finds.
const LOOK_LIMIT: usize = 10_000;

/// What the engine is told from outside.
#[derive(Debug)]
pub(crate) enum Command {
    /// Take no further jobs.
    Quiet,
    /// Take jobs again.
    Resume,
    /// The pause set, as a heartbeat read it.
    Paused(Vec<String>),
    /// Say what is running (signal TTIN).
    LogRunning,
    /// Finish: wait for the running jobs up to the limit, then give the rest back.
    Stop { limit: Duration },
}

/// Numbers that others read while the engine runs.
#[derive(Debug, Default)]
pub(crate) struct Gauges {
    pub(crate) busy: AtomicUsize,
    pub(crate) quiet: AtomicBool,
}

/// What an engine is made of.
pub(crate) struct EngineParts {
    pub(crate) redis: Redis,
    pub(crate) identity: Arc<str>,
    pub(crate) config: Config,
    pub(crate) registry: Registry,
    pub(crate) scope: Arc<RunScope>,
    pub(crate) jobs: tokio::runtime::Handle,
    pub(crate) gauges: Arc<Gauges>,
    pub(crate) outage: Arc<Outage>,
    pub(crate) commands: UnboundedReceiver<Command>,
    /// Told the due time of each new retry.
    pub(crate) poller_wake: Arc<Notify>,
}

type InFlight<T> = Option<Pin<Box<dyn Future<Output = Result<T, RedisError>> + Send>>>;

pub(crate) struct Engine {
    redis: Redis,
    identity: Arc<str>,
    lock_ttl: u64,
    queues: Queues,
    slots: Slots,
    pace: Pace,
    buffer: VecDeque<Claim>,
    runner: Runner,
    settler: Settler,
    reconciler: Reconciler,
    waits: Waits,
    scope: Arc<RunScope>,
    jobs: tokio::runtime::Handle,
    gauges: Arc<Gauges>,
    outage: Arc<Outage>,
    poller_wake: Arc<Notify>,

    commands: UnboundedReceiver<Command>,
    finished: UnboundedReceiver<Finished>,
    wait_ends: UnboundedReceiver<WaitEnd>,

    fetch: InFlight<Fetched>,
    fetch_order: Vec<usize>,
    fetch_asked: usize,
    fetch_begun: Instant,
    settle: InFlight<Settled>,
    look: InFlight<Vec<Bytes>>,
    board: InFlight<()>,

    /// There may be a backlog: fetch rather than wait.
    hungry: bool,
    quiet: bool,
    stopping: Option<Shutdown>,
    slot_freed: Instant,
    fetch_not_before: Instant,
    next_board: Instant,
    next_look: Instant,
    next_glance: Instant,
    suspicious: bool,
}

enum Event {
    Fetched(Result<Fetched, RedisError>),
    Settled(Result<Settled, RedisError>),
    Looked(Result<Vec<Bytes>, RedisError>),
    BoardWritten(Result<(), RedisError>),
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
        let waits = Waits::start(&parts.redis, &parts.identity, queues.names(), &ends_sender)?;
        let now = Instant::now();
        Ok(Self {
            lock_ttl: parts.config.unique_lock_ttl.as_secs_f64().ceil() as u64,
            runner: Runner::new(parts.registry, parts.scope.clone(), parts.jobs.clone(), finished_sender),
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
            scope: parts.scope,
            gauges: parts.gauges,
            outage: parts.outage,
            poller_wake: parts.poller_wake,
            commands: parts.commands,
            finished,
            wait_ends,
            fetch: None,
            fetch_order: Vec::new(),
            fetch_asked: 0,
            fetch_begun: now,
            settle: None,
            look: None,
            board: None,
            hungry: true,
            quiet: false,
            stopping: None,
            slot_freed: now,
            fetch_not_before: now,
            next_board: now,
            next_look: now + RECONCILE_PERIODS.0,
            next_glance: now,
            suspicious: false,
        })
    }

    /// Runs until told to stop, and everything is settled or given back.
    pub(crate) async fn run(mut self) {
        loop {
            self.start_jobs();
            self.plan_settle();
            self.plan_fetch();
            self.plan_waits();
            self.plan_board();
            self.plan_look();
            if self.may_end() {
                break;
            }
            let event = self.next_event().await;
            self.handle(event);
            self.take_what_is_ready();
        }
        self.give_back_leftovers().await;
    }

    async fn next_event(&mut self) -> Event {
        let more_to_start = self.may_start();
        let wake_at = TokioInstant::from_std(self.next_wake());
        tokio::select! {
            biased;
            Some(command) = self.commands.recv() => Event::Command(command),
            result = arrival(&mut self.settle) => Event::Settled(result),
            result = arrival(&mut self.fetch) => Event::Fetched(result),
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
            Event::Fetched(result) => self.fetched(result),
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
        let mut wake = self.next_look;
        let mut sooner = |at: Instant| wake = wake.min(at);
        if self.board.is_none() && self.slots.board_is_live() {
            sooner(self.next_board);
        }
        if let Some(at) = self.settler.held_until() {
            sooner(at);
        }
        if self.fetch.is_none() && self.fetch_not_before > now {
            sooner(self.fetch_not_before);
        }
        if self.needs_glances() && self.fetch.is_none() {
            sooner(self.next_glance);
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
            self.give_back_buffer();
        } else {
            self.hungry = true;
        }
    }

    fn log_running(&self) {
        info!("{} of {} slots are busy", self.slots.busy(), self.slots.count());
        for running in self.slots.running() {
            let Ok(job) = RawJob::parse(&running.claim.raw) else { continue };
            info!(
                jid = job.jid(),
                class = job.class(),
                queue = &*running.claim.queue,
                "running for {:.1} s",
                running.elapsed().as_secs_f64()
            );
        }
    }

    // ---- running -------------------------------------------------------------------------

    fn may_start(&self) -> bool {
        !self.buffer.is_empty() && self.slots.free() > 0 && !self.quiet
    }

    fn start_jobs(&mut self) {
        if !self.may_start() {
            return;
        }
        // What jobs spawn or wait on belongs to the job runtime, wherever they are polled first.
        let jobs = self.jobs.clone();
        let _entered = jobs.enter();
        let mut burst = 0;
        while burst < IN_PLACE_BURST && self.may_start() {
            let Some(claim) = self.buffer.pop_front() else { break };
            burst += 1;
            self.start(claim);
        }
        self.gauges.busy.store(self.slots.busy(), Ordering::Relaxed);
    }

    fn start(&mut self, claim: Claim) {
        let begun = Instant::now();
        let job = match RawJob::parse(&claim.raw) {
            Ok(job) => job,
            Err(reason) => {
                error!(queue = &*claim.queue, "buried something that is no job: {reason}");
                let outcome = Outcome::unparseable(claim.clone(), &reason, self.redis.keys());
                self.settler.add(outcome);
                return;
            }
        };
        let class = self.runner.class_of(&job);
        let mut run = None;
        let slots = &mut self.slots;
        let started = self.runner.start(&claim, &job, class, || {
            run = slots.occupy(claim.clone(), class).ok();
            run
        });
        match started {
            Started::Ended(result) => {
                self.pace.ran(begun.elapsed());
                self.slot_freed = begun;
                let jid = job.jid();
                let outcome = match &result {
                    Ok(()) => Outcome::done(claim.clone(), jid, self.redis.keys()),
                    Err(failure) => {
                        log_failure(&job, failure);
                        Outcome::failed(claim.clone(), failure, self.redis.keys())
                    }
                };
                self.settler.add(outcome);
            }
            Started::GoesOn(abort) => {
                if let (Some(run), Some(abort)) = (run, abort) {
                    self.slots.set_abort(run, abort);
                }
            }
        }
    }

    fn finished(&mut self, finished: Finished) {
        let Some(running) = self.slots.release(finished.run) else { return };
        self.slot_freed = Instant::now();
        self.pace.ran(running.elapsed());
        self.runner.polled(running.class, finished.longest_poll);
        let Running { claim, .. } = running;
        let outcome = match &finished.result {
            Ok(()) => {
                let jid = RawJob::parse(&claim.raw).map(|job| job.jid().to_owned()).unwrap_or_default();
                Outcome::done(claim, &jid, self.redis.keys())
            }
            Err(failure) => {
                if let Ok(job) = RawJob::parse(&claim.raw) {
                    log_failure(&job, failure);
                }
                Outcome::failed(claim, failure, self.redis.keys())
            }
        };
        self.settler.add(outcome);
    }

    // ---- settling ------------------------------------------------------------------------

    fn plan_settle(&mut self) {
        if self.settle.is_some() {
            return;
        }
        let Some(batch) = self.settler.next_batch(Instant::now()) else { return };
        let (redis, identity) = (self.redis.clone(), self.identity.clone());
        self.settle = Some(Box::pin(async move {
            scripts::settle_jobs(&redis, &identity, EpochSeconds::now(), batch).await
        }));
    }

    fn settled(&mut self, result: Result<Settled, RedisError>) {
        self.settle = None;
        match result {
            Ok(settled) => {
                self.outage.recovered("settling jobs");
                let effects = self.settler.settled(settled);
                for jid in effects.lost {
                    warn!(
                        jid,
                        "lost ownership of a job: it is no longer on this process's list, so nothing was written for it"
                    );
                }
                if let Some(error) = effects.error {
                    self.outage.report("settling a job", &error);
                    self.settler.hold_until(Instant::now() + REFUSED_PAUSE);
                }
                if effects.next_retry.is_some() {
                    self.poller_wake.notify_one();
                }
            }
            Err(error) => {
                self.outage.report("settling jobs", &error);
                self.suspicious |= error.fate_is_unknown();
                self.settler.failed(error.fate_is_unknown(), Instant::now() + RETRY_PAUSE);
            }
        }
    }

    // ---- fetching ------------------------------------------------------------------------

    /// True when no slot has become free for so long that others can run what is taken ahead here
    /// sooner than this process.
    fn is_starved(&self) -> bool {
        self.slots.free() == 0 && self.slot_freed.elapsed() >= STARVED_AFTER
    }

    /// How many further jobs to take now.
    fn room(&self) -> usize {
        if self.is_starved() {
            return 0;
        }
        let wanted = self.slots.free() + self.pace.surplus(self.slots.count());
        // Settling must keep up: what waits there is held on the list too.
        let unsettled = self.settler.waiting().saturating_sub(scripts::BATCH_LIMIT);
        wanted.saturating_sub(self.buffer.len() + unsettled)
    }

    fn plan_fetch(&mut self) {
        let now = Instant::now();
        if self.fetch.is_some() || self.quiet || now < self.fetch_not_before || self.settler.fate_is_open() {
            return;
        }
        if self.needs_glances() && now >= self.next_glance {
            self.next_glance = now + LOOK_AGAIN;
            self.hungry = true;
        }
        if !self.hungry {
            return;
        }
        let room = self.room();
        let idle_slots = self.slots.free() > self.buffer.len();
        // Small surpluses are not worth a call of their own while every slot has work.
        if room == 0 || (!idle_slots && room * 2 < self.pace.surplus(self.slots.count())) {
            return;
        }
        self.fetch_order = self.queues.draw_order();
        self.fetch_asked = room.min(scripts::BATCH_LIMIT);
        self.fetch_begun = now;
        let names: Vec<Arc<str>> =
            self.fetch_order.iter().map(|index| self.queues.name(*index).clone()).collect();
        let (redis, identity, asked) = (self.redis.clone(), self.identity.clone(), self.fetch_asked);
        self.fetch =
            Some(Box::pin(async move { scripts::fetch_jobs(&redis, &identity, &names, asked).await }));
    }

    fn fetched(&mut self, result: Result<Fetched, RedisError>) {
        self.fetch = None;
        let fetched = match result {
            Ok(fetched) => fetched,
            Err(error) => {
                self.outage.report("fetching jobs", &error);
                self.suspicious |= error.fate_is_unknown();
                self.fetch_not_before = Instant::now() + RETRY_PAUSE;
                self.hungry = true;
                return;
            }
        };
        self.outage.recovered("fetching jobs");
        self.pace.answered(self.fetch_begun.elapsed());
        for refused in &fetched.errors {
            if let Some(index) = self.fetch_order.get(refused.queue) {
                let name = self.queues.name(*index).clone();
                error!(queue = &*name, "failed to read a queue: {}", refused.error);
                // Its wait would fail as fast as it begins.
                self.fetch_not_before = Instant::now() + REFUSED_PAUSE;
            }
        }
        for index in 0..self.queues.count() {
            self.queues.set_paused(index, false);
        }
        for position in &fetched.paused {
            if let Some(index) = self.fetch_order.get(*position).copied() {
                self.queues.set_paused(index, true);
            }
        }
        // Everything that waits has been taken when less came than was asked for.
        self.hungry = fetched.count() >= self.fetch_asked;
        for taken in fetched.taken {
            let Some(index) = self.fetch_order.get(taken.queue) else { continue };
            let queue = self.queues.name(*index).clone();
            self.buffer.extend(taken.jobs.into_iter().map(|raw| Claim { raw, queue: queue.clone() }));
        }
        if self.quiet {
            self.give_back_buffer();
        }
    }

    /// True while some queue has no wait: paused, or one too many.
    fn needs_glances(&self) -> bool {
        !self.quiet && (self.queues.any_paused() || self.queues.count() > self.waits.count())
    }

    fn plan_waits(&mut self) {
        if self.is_starved() {
            // Others can run these at once; here they would wait for a slot.
            self.waits.disarm_all();
            self.give_back_buffer();
            self.hungry = true;
        } else if !self.quiet
            && !self.hungry
            && self.slots.free() > 0
            && Instant::now() >= self.fetch_not_before
            && !self.settler.fate_is_open()
        {
            for index in 0..self.queues.count() {
                if !self.queues.is_paused(index) {
                    self.waits.arm(index);
                }
            }
        }
    }

    fn wait_ended(&mut self, end: WaitEnd) {
        self.waits.ended(end.queue);
        match end.result {
            Ok(None) => {}
            Ok(Some(waited)) => {
                self.outage.recovered("waiting for jobs");
                let claim = Claim { raw: waited.element, queue: self.queues.name(end.queue).clone() };
                if waited.paused {
                    self.queues.set_paused(end.queue, true);
                }
                if waited.paused || self.quiet {
                    self.give_back(claim);
                } else {
                    self.buffer.push_back(claim);
                    // Where one job came there may be more.
                    self.hungry = true;
                }
            }
            Err(error) => {
                self.outage.report("waiting for jobs", &error);
                self.suspicious |= error.fate_is_unknown();
                self.fetch_not_before = Instant::now() + RETRY_PAUSE;
                self.hungry = true;
            }
        }
    }

    fn give_back(&mut self, claim: Claim) {
        self.settler.add(Outcome::given_back(claim, self.redis.keys(), self.lock_ttl));
    }

    /// The youngest first, so that the oldest ends up next to be taken.
    fn give_back_buffer(&mut self) {
        while let Some(claim) = self.buffer.pop_back() {
            self.give_back(claim);
        }
    }

    // ---- what others see -----------------------------------------------------------------

    fn plan_board(&mut self) {
        let now = Instant::now();
        if self.board.is_some() || now < self.next_board || !self.slots.board_is_live() {
            return;
        }
        self.next_board = now + BOARD_PERIOD;
        let (show, clear) = self.slots.board_changes();
        if show.is_empty() && clear.is_empty() {
            return;
        }
        let (redis, identity) = (self.redis.clone(), self.identity.clone());
        let ttl = cogworker_core::formats::PRESENCE_TTL.as_secs();
        self.board =
            Some(Box::pin(async move { scripts::publish_work(&redis, &identity, ttl, show, &clear).await }));
    }

    fn board_written(&mut self, result: Result<(), RedisError>) {
        self.board = None;
        match result {
            Ok(()) => self.outage.recovered("showing running jobs"),
            Err(error) => {
                self.outage.report("showing running jobs", &error);
                self.slots.forget_board();
                self.next_board = Instant::now() + REFUSED_PAUSE;
            }
        }
    }

    // ---- strays --------------------------------------------------------------------------

    fn plan_look(&mut self) {
        let now = Instant::now();
        if self.look.is_some() || now < self.next_look {
            return;
        }
        // Never due while it is away: the reply sets the next time.
        self.next_look = now + RECONCILE_PERIODS.0;
        let (redis, identity) = (self.redis.clone(), self.identity.clone());
        self.look =
            Some(Box::pin(async move { scripts::list_inprogress(&redis, &identity, LOOK_LIMIT).await }));
    }

    fn looked(&mut self, result: Result<Vec<Bytes>, RedisError>) {
        self.look = None;
        match result {
            Ok(listed) => {
                self.outage.recovered("looking for strays");
                let buffered = self.buffer.iter().map(|claim| &claim.raw);
                let running = self.slots.running().map(|running| &running.claim.raw);
                let held = buffered.chain(running).chain(self.settler.held());
                let strays = self.reconciler.look(&listed, held);
                self.suspicious = self.reconciler.has_suspects();
                if !strays.is_empty() {
                    info!("took over {} jobs whose delivery got lost", strays.len());
                }
                for raw in strays {
                    let queue = RawJob::parse(&raw)
                        .ok()
                        .and_then(|job| job.queue().map(|name| self.queues.shared_name(name)))
                        .unwrap_or_else(|| self.queues.shared_name("default"));
                    let claim = Claim { raw, queue };
                    if self.quiet { self.give_back(claim) } else { self.buffer.push_back(claim) }
                }
            }
            Err(error) => self.outage.report("looking for strays", &error),
        }
        let (calm, suspicious) = RECONCILE_PERIODS;
        self.next_look = Instant::now() + if self.suspicious { suspicious } else { calm };
    }

    // ---- the end -------------------------------------------------------------------------

    /// Moves a shutdown on by what is due; true once nothing is left to do.
    fn may_end(&mut self) -> bool {
        let Some(shutdown) = &mut self.stopping else { return false };
        let running = self.slots.busy();
        let held = !self.buffer.is_empty() || self.fetch.is_some() || self.waits.any_under_way();
        match shutdown.advance(running, self.slots.tasks_are_gone(), held || !self.settler.is_empty()) {
            ShutdownStep::Wait => false,
            ShutdownStep::CancelJobs => {
                info!("{running} jobs are still running at the shutdown limit: asking them to end");
                self.scope.cancelled.cancel();
                false
            }
            ShutdownStep::AbortJobs => {
                self.slots.abort_all();
                false
            }
            ShutdownStep::GiveBackJobs => {
                // A run that ended in the last moment is settled, not given back.
                while let Ok(finished) = self.finished.try_recv() {
                    self.finished(finished);
                }
                let unfinished = self.slots.take_all();
                if !unfinished.is_empty() {
                    info!("put {} unfinished jobs back on their queues", unfinished.len());
                }
                for running in unfinished {
                    self.give_back(running.claim);
                }
                false
            }
            ShutdownStep::End => true,
            ShutdownStep::GiveUp => {
                error!(
                    "failed to settle {} jobs before the end: they stay on this process's list until another \
                     process recovers them",
                    self.settler.waiting()
                );
                true
            }
        }
    }

    /// Whatever is still on the list now was delivered to nobody.
    async fn give_back_leftovers(&mut self) {
        let (redis, identity) = (self.redis.clone(), self.identity.clone());
        while self.settler.is_empty() {
            let mut batch = scripts::SettleBatch::new((0, 0));
            match scripts::list_inprogress(&redis, &identity, scripts::BATCH_LIMIT).await {
                Ok(listed) if listed.is_empty() => return,
                Ok(listed) => {
                    for raw in listed {
                        let claim = Claim { raw, queue: self.queues.shared_name("default") };
                        Outcome::given_back(claim, redis.keys(), self.lock_ttl).add_to(&mut batch);
                    }
                }
                Err(error) => return self.outage.report("looking for strays", &error),
            }
            match scripts::settle_jobs(&redis, &identity, EpochSeconds::now(), batch).await {
                Ok(settled) if settled.error.is_none() => {}
                Ok(settled) => {
                    if let Some(error) = settled.error {
                        self.outage.report("giving jobs back", &error);
                    }
                    return;
                }
                Err(error) => return self.outage.report("giving jobs back", &error),
            }
        }
    }
}

/// The result of a call under way; never, when there is none.
async fn arrival<T>(call: &mut InFlight<T>) -> Result<T, RedisError> {
    match call {
        Some(call) => call.as_mut().await,
        None => std::future::pending().await,
    }
}

fn log_failure(job: &RawJob<'_>, failure: &Failure) {
    let attempt = job.retry_count().saturating_add(1);
    warn!(jid = job.jid(), class = job.class(), attempt, "failed: {}: {}", failure.class, failure.message);
    for line in &failure.backtrace {
        tracing::debug!(jid = job.jid(), "  {line}");
    }
}
