//! What a stop does with running jobs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use cogworker_core::new_job::NewJob;
use cogworker_server::{App, Config, Context, JobError, RetryIn};
use cogworker_testing::{TestRedisOptions, wait_until};

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

/// How many workers are stopped at a time, and how often; `COGWORKER_ROUNDS` repeats it more often.
const AT_A_TIME: usize = 8;
const ROUNDS: usize = 3;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_that_fails_just_when_it_is_cut_off_ends_up_in_exactly_one_place() -> TestResult {
    let site = Site::start().await?;
    let rounds = std::env::var("COGWORKER_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(ROUNDS);
    let mut failures = 0;
    for round in 0..rounds {
        let mut stopped = Vec::new();
        for place in 0..AT_A_TIME {
            stopped.push(fails_at_the_limit(&site, round, place).await?);
        }
        for (worker, queue) in stopped {
            worker.ended().await?;
            let waiting = site.texts(&["LRANGE", &format!("cogworker:queue:{queue}"), "0", "-1"]);
            let retried = site.texts(&["ZRANGE", "cogworker:retry", "0", "-1"]);
            let retried: Vec<_> = retried.iter().filter(|job| job.contains(&queue)).collect();
            assert_eq!(waiting.len() + retried.len(), 2, "{queue}: {waiting:?} {retried:?}");
            failures += retried.len() as i64;
            for jid in ["heeds", "stubborn"] {
                let found =
                    waiting.iter().chain(retried.iter().copied()).filter(|job| job.contains(jid)).count();
                assert_eq!(found, 1, "{queue}: {waiting:?} {retried:?}");
            }
        }
        assert_eq!(site.texts(&["KEYS", "cogworker:inprogress:*"]), Vec::<String>::new());
        assert_eq!(site.failed().max(0), failures);
    }
    Ok(())
}

/// A worker that is stopping, with two jobs that fail about when it gives them up: one when it is
/// asked to end, one when it is aborted a second later.
async fn fails_at_the_limit(
    site: &Site,
    round: usize,
    place: usize,
) -> Result<(crate::support::Worker, String), Box<dyn std::error::Error>> {
    let queue = format!("q{round}x{place}");
    let begun = Seen::default();
    let note = begun.clone();
    let spread = Duration::from_millis(995 + 2 * place as u64);
    let app = App::new(()).job(move |job: Text, ctx: Context| {
        note.add(job.0.clone());
        async move {
            ctx.cancelled().await;
            if job.0 == "stubborn" {
                tokio::time::sleep(spread).await;
            }
            Err::<(), _>(JobError::new("Late", "at the limit"))
        }
    });
    let worker = site.worker_with(app, |config| {
        config.queues = vec![queue.clone()];
        config.shutdown_timeout = Duration::from_millis(50);
    })?;
    for kind in ["heeds", "stubborn"] {
        site.client.push(NewJob::of(&Text(kind.into())).queue(&queue).jid(format!("{kind}-{queue}"))).await?;
    }
    reach("both run", || begun.len() == 2)?;
    worker.handle.stop();
    Ok((worker, queue))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn jobs_that_are_cut_off_go_back_in_order_and_to_where_they_came_from_req_01() -> TestResult {
    let site = Site::start().await?;
    let begun = Seen::default();
    let note = begun.clone();
    let app = App::new(()).job(move |job: Text| {
        note.add(job.0);
        std::future::pending::<()>()
    });
    let worker = site.worker_with(app, |config| config.queues = vec!["low".into()])?;
    for number in 1..=4 {
        // Without a queue of its own.
        site.push_raw("low", format!(r#"{{"class":"TextJob","args":["{number}"],"jid":"j{number}"}}"#))?;
        reach("it runs", || begun.len() == number)?;
    }
    worker.stop().await?;
    let waiting = site.texts(&["LRANGE", "cogworker:queue:low", "0", "-1"]);
    let jids: Vec<_> = waiting.iter().filter_map(|job| job.split(r#""jid":""#).nth(1)?.get(..2)).collect();
    assert_eq!(jids, ["j4", "j3", "j2", "j1"], "the oldest is taken next");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_whose_future_is_dropped_stops_all_the_same_and_gives_its_job_back() -> TestResult {
    let site = Site::start().await?;
    let gate = Gate::closed();
    let inside = gate.clone();
    let worker = site.worker(App::new(()).job(move |_: Numbered| {
        let inside = inside.clone();
        async move { inside.pass().await }
    }))?;
    site.client.perform_async(&Numbered(1)).await?;
    reach("it runs", || gate.arrived() == 1)?;
    worker.abandon().await;
    reach("its job is back", || site.waiting("default") == 1)?;
    reach("it has signed off", || site.int(&["SCARD", "cogworker:processes"]) == 0)?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_without_redis_ends_soon_and_says_what_it_could_not_settle() -> TestResult {
    let site = Site::start().await?;
    let gate = Gate::closed();
    let inside = gate.clone();
    let app = App::new(()).job(move |_: Numbered| {
        let inside = inside.clone();
        async move { inside.pass().await }
    });
    let worker = site.worker(app)?;
    site.client.perform_async(&Numbered(1)).await?;
    reach("it runs", || gate.arrived() == 1)?;
    site.redis.kill();
    gate.let_pass(1);
    let begun = Instant::now();
    worker.handle.stop();
    let error = worker.result().await?.err().map(|error| error.to_string()).unwrap_or_default();
    assert!(error.contains("settle 1 job before the end"), "{error}");
    assert!(begun.elapsed() < Duration::from_secs(12), "{:?}", begun.elapsed());
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_stop_without_redis_could_not_settle_runs_once_more() -> TestResult {
    let site = Site::on(TestRedisOptions::new().appendonly(true).start()?).await?;
    let gate = Gate::closed();
    let app = || {
        let inside = gate.clone();
        App::new(()).job(move |_: Numbered| {
            let inside = inside.clone();
            async move { inside.pass().await }
        })
    };
    // Others take over soon what a dead process leaves.
    let soon = |config: &mut Config| {
        config.timings.presence = Duration::from_secs(1);
        config.timings.check = Duration::from_millis(100);
        config.orphan_threshold = Duration::from_secs(1);
    };
    let worker = site.worker_with(app(), soon)?;
    site.client.perform_async(&Numbered(1)).await?;
    reach("it runs", || gate.arrived() == 1)?;
    site.redis.kill();
    gate.let_pass(2);
    worker.handle.stop();
    assert!(worker.result().await?.is_err());
    site.redis.restart()?;
    let next = site.worker_with(app(), soon)?;
    reach("it runs once more", || site.processed() == 1)?;
    assert_eq!(gate.arrived(), 2);
    assert_eq!((site.failed(), site.in_progress(&next), site.waiting("default")), (0, 0, 0));
    next.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn runs_that_could_not_be_counted_are_counted_without_a_further_job() -> TestResult {
    let site = Site::start().await?;
    site.keep_damage()?;
    site.run(&["SET", "cogworker:stats:processed", "no number"])?;
    let worker = site.worker(App::new(()).job(|_: Numbered| async {}))?;
    // Goes when the job is acknowledged.
    site.run(&["SET", "cogworker:orphanings:j", "1"])?;
    site.client.push(NewJob::of(&Numbered(1)).jid("j")).await?;
    reach("it is settled", || site.int(&["EXISTS", "cogworker:orphanings:j"]) == 0)?;
    assert_eq!(site.text(&["GET", "cogworker:stats:processed"]), "no number");
    site.run(&["DEL", "cogworker:stats:processed"])?;
    reach("it is counted", || site.processed() == 1)?;
    worker.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_that_ends_as_interrupted_goes_back_and_only_if_it_was_asked_to_end() -> TestResult {
    let site = Site::start().await?;
    let (begun, asked) = (Seen::default(), Seen::default());
    let (note, blocking, hook) = (begun.clone(), begun.clone(), asked.clone());
    let app = App::new(())
        .retry_in::<Text>(move |_, failure, _| {
            hook.add(failure.class.clone());
            RetryIn::Default
        })
        .job(move |job: Text, ctx: Context| {
            note.add(job.0.clone());
            async move {
                if job.0 == "waits" {
                    ctx.cancelled().await;
                }
                Err::<(), _>(JobError::interrupted())
            }
        })
        .job_blocking(move |_: Numbered, ctx: Context| {
            blocking.add("blocks".into());
            let _ = wait_until(Duration::from_secs(20), || ctx.is_cancelled());
            Err::<(), _>(JobError::interrupted())
        });
    let worker = site.worker(app)?;
    site.client.push(NewJob::of(&Text("waits".into()))).await?;
    site.client.push(NewJob::of(&Text("does not wait".into())).retry(false)).await?;
    site.client.push(NewJob::of(&Numbered(1)).retry(false)).await?;
    reach("all began, and the one that nobody asked is dead", || {
        begun.len() == 3 && site.members("dead") == 1
    })?;
    assert_eq!(site.only_entry("dead")?["error_class"], "Cogworker::Interrupted");
    worker.stop().await?;
    assert_eq!((site.waiting("default"), site.members("dead"), site.failed()), (2, 1, 1));
    assert_eq!(asked.all(), Vec::<String>::new(), "one goes back, and the other is dead");
    Ok(())
}
