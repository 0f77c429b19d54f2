//! A process that may be taken for dead stops what it runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use cogworker_server::middleware::{Next, from_fn};
use cogworker_server::{App, Config, Context, Run};
use cogworker_testing::{Fault, FaultProxy};

use crate::support::{Gate, Numbered, Seen, Site, TestResult, reach, start_worker};

/// Others would act after two seconds of silence; this process does after one.
fn short_lease(config: &mut Config) {
    config.timings.beat = Duration::from_millis(100);
    config.timings.presence = Duration::from_secs(2);
    config.orphan_threshold = Duration::from_secs(2);
}

/// How long the process of the test below is silent before the other one takes its jobs.
const SILENCE: Duration = Duration::from_secs(4);

/// Job 1 runs through an outage in which it is asked to end, and cut off a second later where it can be; job 2 is taken
/// and done after it.
async fn outlast_an_outage(site: &Site, entered: &Gate) -> TestResult {
    site.client.perform_async(&Numbered(1)).await?;
    reach("it runs", || entered.arrived() == 1)?;
    site.redis.pause()?;
    tokio::time::sleep(Duration::from_millis(3500)).await;
    site.redis.resume()?;
    site.client.perform_async(&Numbered(2)).await?;
    reach("jobs are taken again", || site.processed() == 1)
}

/// Counts what is alive of the runs of a job, and the most there ever was.
#[derive(Clone, Default)]
struct Alive(Arc<(AtomicUsize, AtomicUsize)>);

impl Alive {
    fn enter(&self) -> Self {
        let now = self.0.0.fetch_add(1, Ordering::SeqCst) + 1;
        self.0.1.fetch_max(now, Ordering::SeqCst);
        self.clone()
    }

    fn now_and_most(&self) -> (usize, usize) {
        (self.0.0.load(Ordering::SeqCst), self.0.1.load(Ordering::SeqCst))
    }
}

/// One run.
struct Life(Alive);

impl Drop for Life {
    fn drop(&mut self) {
        self.0.0.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_heartbeat_running_jobs_are_stopped_before_others_take_them() -> TestResult {
    let site = Site::start().await?;
    let proxy = FaultProxy::start(&site.redis)?;
    let (alive, told) = (Alive::default(), Seen::default());
    let app = |stubborn: bool| {
        let (alive, told) = (alive.clone(), told.clone());
        App::new(()).job(move |job: Numbered, ctx: Context| {
            let (life, told) = (Life(alive.enter()), told.clone());
            async move {
                let _life = life;
                if stubborn && job.0 == 1 {
                    told.add("runs".to_owned());
                    ctx.cancelled().await;
                    told.add("asked to end".to_owned());
                    std::future::pending::<()>().await;
                }
                told.add(format!("ran {}", job.0));
            }
        })
    };
    let configure = |config: &mut Config| {
        // One job fills it: a wait for another would take a job from Redis until that ends the wait, which
        // is long before others act where the silence is not so short.
        config.concurrency = 1;
        config.timings.beat = Duration::from_millis(100);
        config.timings.presence = SILENCE;
        config.timings.check = Duration::from_millis(100);
        config.orphan_threshold = SILENCE;
    };
    let first = start_worker(&proxy.url(), app(true), configure)?;
    site.client.perform_async(&Numbered(1)).await?;
    reach("it runs", || told.len() == 1)?;
    let second = site.worker_with(app(false), configure)?;
    reach("the other takes jobs too", || site.int(&["SCARD", "cogworker:processes"]) == 2)?;
    proxy.set(Fault::BlackHole);
    let cut_off = Instant::now();
    reach("it is gone", || alive.now_and_most().0 == 0)?;
    assert!(cut_off.elapsed() < SILENCE, "{:?}", cut_off.elapsed());
    reach("the other one runs it", || site.processed() == 1)?;
    assert_eq!(told.all(), ["runs", "asked to end", "ran 1"]);
    assert_eq!(alive.now_and_most(), (0, 1), "never two at the same time");

    // Back again, the first gives back nothing that is no longer its own.
    second.stop().await?;
    proxy.set(Fault::Pass);
    site.client.perform_async(&Numbered(2)).await?;
    reach("the first takes jobs again", || site.processed() == 2)?;
    assert_eq!((site.failed(), site.in_progress(&first), site.waiting("default")), (0, 0, 0));
    first.stop().await?;
    assert_eq!(told.all(), ["runs", "asked to end", "ran 1", "ran 2"]);
    assert_eq!(site.waiting("default"), 0);
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_blocking_run_that_outlives_its_ownership_writes_nothing() -> TestResult {
    let site = Site::start().await?;
    let (entered, leave) = (Gate::closed(), Arc::new(std::sync::Barrier::new(2)));
    entered.let_pass(10);
    let (inside, gate) = (entered.clone(), leave.clone());
    let app = App::new(()).job_blocking(move |_: Numbered| {
        inside.enter();
        gate.wait();
    });
    let worker = site.worker_with(app, short_lease)?;
    site.client.perform_async(&Numbered(1)).await?;
    reach("it runs", || entered.arrived() == 1)?;
    // As another process does that takes this one for dead.
    site.run(&["DEL", &worker.key("inprogress")])?;
    leave.wait();
    site.client.perform_async(&Numbered(2)).await?;
    reach("the next runs", || entered.arrived() == 2)?;
    leave.wait();
    reach("only the next is counted", || site.processed() == 1)?;
    assert_eq!((site.failed(), site.members("retry")), (0, 0));
    worker.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_that_is_taken_away_while_it_runs_is_asked_to_end() -> TestResult {
    let site = Site::start().await?;
    let (entered, asked) = (Gate::closed(), Gate::closed());
    let (inside, outside) = (entered.clone(), asked.clone());
    entered.let_pass(1);
    asked.let_pass(1);
    let app = App::new(()).job(move |_: Numbered, ctx: Context| {
        let (inside, outside) = (inside.clone(), outside.clone());
        async move {
            inside.pass().await;
            ctx.cancelled().await;
            assert!(ctx.is_cancelled() && ctx.cancellation().is_cancelled());
            outside.pass().await;
        }
    });
    let worker = site.worker(app)?;
    site.client.perform_async(&Numbered(1)).await?;
    reach("it runs", || entered.arrived() == 1)?;
    site.run(&["DEL", &worker.key("inprogress")])?;
    reach("it is asked to end", || asked.arrived() == 1)?;
    worker.stop().await?;
    assert_eq!(site.int(&["EXISTS", "cogworker:stats:processed", "cogworker:stats:failed"]), 0);
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_that_is_gone_long_after_it_was_stopped_frees_its_slot_p_57() -> TestResult {
    let site = Site::start().await?;
    let (entered, release) = (Gate::closed(), Arc::new(AtomicUsize::new(0)));
    entered.let_pass(100);
    let (inside, released) = (entered.clone(), release.clone());
    // Holds its thread, so that it cannot be aborted for as long.
    let app = App::new(()).job(move |job: Numbered| {
        let (inside, released) = (inside.clone(), released.clone());
        async move {
            if job.0 == 2 {
                return;
            }
            inside.enter();
            let _ = cogworker_testing::wait_until(Duration::from_secs(20), || {
                released.load(Ordering::SeqCst) > 0
            });
            tokio::task::yield_now().await;
        }
    });
    let worker = site.worker_with(app, |config| {
        short_lease(config);
        config.concurrency = 2;
    })?;
    outlast_an_outage(&site, &entered).await?;
    release.store(1, Ordering::SeqCst);
    reach("it runs again", || site.processed() == 2)?;
    assert_eq!((site.in_progress(&worker), site.waiting("default")), (0, 0));
    worker.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_blocking_run_behind_a_middleware_is_not_begun_again_while_it_goes_on() -> TestResult {
    let site = Site::start().await?;
    let (entered, release) = (Gate::closed(), Arc::new(AtomicUsize::new(0)));
    let (inside, released) = (entered.clone(), release.clone());
    let app = App::new(())
        .middleware(from_fn(|run: Run, next: Next| async move { next.run(run).await }))
        .job_blocking(move |job: Numbered| {
            if job.0 == 1 {
                inside.enter();
                let _ = cogworker_testing::wait_until(Duration::from_secs(20), || {
                    released.load(Ordering::SeqCst) > 0
                });
            }
        });
    let worker = site.worker_with(app, |config| {
        short_lease(config);
        config.concurrency = 2;
    })?;
    outlast_an_outage(&site, &entered).await?;
    assert_eq!((site.in_progress(&worker), site.waiting("default")), (1, 0), "it is still running");
    release.store(1, Ordering::SeqCst);
    reach("it ends", || site.processed() == 2)?;
    assert_eq!(entered.arrived(), 1);
    worker.stop().await
}
