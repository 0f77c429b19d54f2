//! What a stop does with running jobs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use cogworker_core::new_job::NewJob;
use cogworker_server::{App, Context};
use cogworker_testing::wait_until;

use crate::support::{Gate, Numbered, Seen, Site, TestResult, Text, reach};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_waits_for_running_jobs_and_starts_no_further_ones_proc_13() -> TestResult {
    let site = Site::start().await?;
    let gate = Gate::closed();
    let inside = gate.clone();
    let app = App::new(()).job(move |_: Numbered| {
        let inside = inside.clone();
        async move { inside.pass().await }
    });
    let worker = site.worker_with(app, |config| {
        config.concurrency = 1;
        config.shutdown_timeout = Duration::from_secs(10);
    })?;
    site.client.push_bulk(&[Numbered(1), Numbered(2), Numbered(3)]).await?;
    let listens = || !site.texts(&["PUBSUB", "CHANNELS", "cogworker:signal:*"]).is_empty();
    reach("the first runs and the worker listens", || gate.arrived() == 1 && listens())?;
    worker.handle.stop();
    // The control channel is closed just before the engine is told.
    reach("the worker stops", || site.texts(&["PUBSUB", "CHANNELS", "cogworker:signal:*"]).is_empty())?;
    gate.let_pass(3);
    worker.ended().await?;
    assert_eq!((site.processed(), gate.arrived(), site.waiting("default")), (1, 1, 2));
    let next = site.texts(&["LRANGE", "cogworker:queue:default", "-1", "-1"]);
    assert!(next[0].contains(r#""args":[2]"#), "the oldest comes next: {next:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stuck_job_is_put_back_at_the_limit_and_never_counts_as_an_orphan_req_05_req_06() -> TestResult {
    let site = Site::start().await?;
    site.client.push(NewJob::of(&Text("stuck".into())).jid("stuck")).await?;
    // More often than orphanings are allowed.
    for _ in 0..5 {
        let worker = site.worker(App::new(()).job(|_: Text| std::future::pending::<()>()))?;
        let list = worker.key("inprogress");
        reach("it runs", || site.in_progress(&worker) == 1)?;
        let begun = Instant::now();
        worker.stop().await?;
        assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
        assert_eq!((site.waiting("default"), site.int(&["LLEN", &list])), (1, 0));
    }
    assert_eq!(
        (site.members("dead"), site.failed(), site.int(&["EXISTS", "cogworker:orphanings:stuck"])),
        (0, 0, 0)
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_that_heeds_its_cancellation_ends_as_done() -> TestResult {
    let site = Site::start().await?;
    let begun = Seen::default();
    let note = begun.clone();
    let app = App::new(()).job(move |job: Text, ctx: Context| {
        note.add(job.0);
        async move { ctx.cancelled().await }
    });
    let worker = site.worker(app)?;
    site.client.perform_async(&Text("x".into())).await?;
    reach("it runs", || begun.len() == 1)?;
    worker.stop().await?;
    assert_eq!((site.processed(), site.waiting("default")), (1, 0));
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_blocking_job_past_the_limit_is_put_back_and_its_late_end_writes_nothing() -> TestResult {
    let site = Site::start().await?;
    let (release, ended) = (Arc::new(AtomicBool::new(false)), Seen::default());
    let begun = Seen::default();
    let (released, late, note) = (release.clone(), ended.clone(), begun.clone());
    let app = App::new(()).job_blocking(move |job: Numbered| {
        note.add(job.0);
        let _ = wait_until(Duration::from_secs(30), || released.load(Ordering::SeqCst));
        late.add(job.0);
    });
    let worker = site.worker(app)?;
    site.client.perform_async(&Numbered(1)).await?;
    reach("it runs", || begun.len() == 1)?;
    worker.stop().await?;
    assert_eq!(site.waiting("default"), 1);
    release.store(true, Ordering::SeqCst);
    reach("it ended at last", || ended.len() == 1)?;
    assert_eq!((site.waiting("default"), site.processed().max(0), site.failed().max(0)), (1, 0, 0));
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn putting_a_periodic_run_back_takes_its_running_lock_again_req_07_req_08() -> TestResult {
    let site = Site::start().await?;
    site.run(&["SET", "periodic:running:newer", "another", "EX", "500"])?;
    site.run(&["SET", "periodic:running:own", "jown", "EX", "500"])?;
    let worker = site.worker(App::new(()).job(|_: Text| std::future::pending::<()>()))?;
    for pjid in ["lapsed", "own", "newer"] {
        let job = format!(
            r#"{{"class":"TextJob","args":["x"],"queue":"default","jid":"j{pjid}","periodic_pjid":"{pjid}","periodic_slot":1,"periodic_until_executed":true}}"#
        );
        site.push_raw("default", job)?;
    }
    reach("all run", || site.in_progress(&worker) == 3)?;
    worker.stop().await?;
    assert_eq!(site.waiting("default"), 3);
    let lock = |pjid: &str| {
        let key = format!("periodic:running:{pjid}");
        (site.text(&["GET", &key]), site.int(&["TTL", &key]) > 80_000)
    };
    assert_eq!(lock("lapsed"), ("jlapsed".to_owned(), true));
    assert_eq!(lock("own"), ("jown".to_owned(), true));
    assert_eq!(lock("newer"), ("another".to_owned(), false));
    Ok(())
}
