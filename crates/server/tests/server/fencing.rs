//! A process that may be taken for dead stops what it runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use cogworker_server::{App, Config, Context};

use crate::support::{Gate, Numbered, Seen, Site, TestResult, reach};

/// Others would act after two seconds of silence; this process does after one.
fn short_lease(config: &mut Config) {
    config.timings.beat = Duration::from_millis(100);
    config.timings.presence = Duration::from_secs(2);
    config.orphan_threshold = Duration::from_secs(2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_heartbeat_running_jobs_are_stopped_before_others_may_take_them() -> TestResult {
    let site = Site::start().await?;
    let (runs, now) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let told = Seen::default();
    let (inside, alive, noted) = (runs.clone(), now.clone(), told.clone());
    let app = App::new(()).job(move |job: Numbered, ctx: Context| {
        let (inside, alive, noted) = (inside.clone(), alive.clone(), noted.clone());
        async move {
            struct Leave(Arc<AtomicUsize>);
            impl Drop for Leave {
                fn drop(&mut self) {
                    self.0.fetch_sub(1, Ordering::SeqCst);
                }
            }
            if inside.fetch_add(1, Ordering::SeqCst) > 0 {
                return noted.add(format!("ran again: {}", job.0));
            }
            alive.fetch_add(1, Ordering::SeqCst);
            let _leave = Leave(alive.clone());
            ctx.cancelled().await;
            noted.add("asked to end".to_owned());
            std::future::pending::<()>().await;
        }
    });
    let worker = site.worker_with(app, short_lease)?;
    site.client.perform_async(&Numbered(1)).await?;
    reach("it runs", || now.load(Ordering::SeqCst) == 1)?;
    site.redis.pause()?;
    reach("it is asked to end", || told.len() == 1)?;
    reach("it is gone", || now.load(Ordering::SeqCst) == 0)?;
    assert_eq!(runs.load(Ordering::SeqCst), 1);
    site.redis.resume()?;
    reach("it runs again", || site.processed() == 1)?;
    assert_eq!(told.all(), ["asked to end", "ran again: 1"]);
    assert_eq!((site.failed(), site.in_progress(&worker), site.waiting("default")), (0, 0, 0));
    worker.stop().await
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
    site.client.perform_async(&Numbered(1)).await?;
    reach("it runs", || entered.arrived() == 1)?;
    // An outage in which the job is asked to end, and aborted a second later.
    site.redis.pause()?;
    tokio::time::sleep(Duration::from_millis(3500)).await;
    site.redis.resume()?;
    site.client.perform_async(&Numbered(2)).await?;
    reach("jobs are taken again", || site.processed() == 1)?;
    release.store(1, Ordering::SeqCst);
    reach("it runs again", || site.processed() == 2)?;
    assert_eq!((site.in_progress(&worker), site.waiting("default")), (0, 0));
    worker.stop().await
}
