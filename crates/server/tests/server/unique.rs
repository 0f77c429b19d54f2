//! The lock of a unique job on every path that it can take: held until it has been executed, then freed.
//!
//! Each path is taken by a job that was pushed here and by one that the Ruby gem pushed, whose numbers and
//! texts are spelled differently (P-33).

mod outages;
mod path;

use std::time::Duration;

use cogworker_client::Requeued;
use cogworker_core::time::EpochSeconds;
use cogworker_server::{App, Context, JobError, RetryIn};

use self::path::{Path, Pusher, equal, gems_job};
use crate::support::{Gate, Raw, TestResult, reach};

const DAY: i64 = 86_400;
/// What a hook says of retries.
const DELAY: Duration = Duration::from_secs(10_000);

/// Lets each run wait at a gate; the first `failures` attempts fail.
fn app(gate: &Gate, failures: u32) -> App {
    let gate = gate.clone();
    App::new(()).job(move |_: Raw, ctx: Context| {
        let gate = gate.clone();
        async move {
            gate.pass().await;
            if ctx.attempt() <= failures { Err(JobError::new("Boom", "no luck")) } else { Ok(()) }
        }
    })
}

fn open() -> Gate {
    let gate = Gate::closed();
    gate.let_pass(100);
    gate
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pushed_it_is_locked_until_it_has_been_executed_uniq_09_uniq_14_p_33() -> TestResult {
    for pusher in [Pusher::Here, Pusher::Gem] {
        let (path, gate) = (Path::begin(pusher, 0).await?, Gate::closed());
        path.assert_held("while queued").await?;
        let worker = path.site.worker(app(&gate, 0))?;
        reach("it runs", || gate.arrived() == 1)?;
        path.assert_held("while running").await?;
        gate.let_pass(1);
        path.ends_free(worker).await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scheduled_its_lock_counts_from_when_it_is_due_uniq_11_p_33() -> TestResult {
    for pusher in [Pusher::Here, Pusher::Gem] {
        let path = Path::begin(pusher, 0).await?;
        path.site.client.queue("default").clear().await?;
        let due = EpochSeconds::now().plus(Duration::from_secs(3 * DAY as u64));
        match pusher {
            Pusher::Here => {
                path.site.client.push(equal("first")?.retry(0).at(due)).await?;
            }
            Pusher::Gem => {
                path.site.run(&["SET", path.lock, "first", "EX", &(4 * DAY).to_string()])?;
                path.site.run(&["ZADD", "cogworker:schedule", &due.to_string(), &gems_job(0)])?;
            }
        }
        assert!((3 * DAY..=4 * DAY).contains(&path.seconds_left()), "{}", path.seconds_left());
        path.assert_held("while scheduled").await?;
        let worker = path.site.worker(app(&open(), 0))?;
        path.site.make_due("schedule")?;
        path.ends_free(worker).await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn waiting_for_its_retry_it_is_locked_over_the_delay_uniq_12_uniq_13_p_33_p_34() -> TestResult {
    for pusher in [Pusher::Here, Pusher::Gem] {
        let path = Path::begin(pusher, 5).await?;
        let worker = path.site.worker(app(&open(), 2).retry_in::<Raw>(|_, _, _| RetryIn::After(DELAY)))?;
        for failures in 1..=2 {
            reach("it failed", || path.site.failed() == failures && path.site.members("retry") == 1)?;
            path.assert_held("while in retry").await?;
            let expected = DELAY.as_secs() as i64 + DAY;
            let left = path.seconds_left();
            assert!((expected - 5..=expected).contains(&left), "{left}");
            path.site.make_due("retry")?;
        }
        path.ends_free(worker).await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failed_for_good_killed_or_discarded_it_is_free_uniq_16_uniq_20_p_33() -> TestResult {
    for pusher in [Pusher::Here, Pusher::Gem] {
        let ends = [(0, RetryIn::Default, 1), (3, RetryIn::Kill, 1), (3, RetryIn::Discard, 0)];
        for (retry, decision, dead) in ends {
            let path = Path::begin(pusher, retry).await?;
            let app = app(&open(), u32::MAX)
                .retry_in::<Raw>(move |_, _, _| decision)
                .death_handler(|_, _| async { panic!("the hook's own") });
            let worker = path.site.worker(app)?;
            reach("it failed", || path.site.failed() == 1)?;
            worker.stop().await?;
            assert_eq!((path.site.members("dead"), path.site.members("retry")), (dead, 0));
            path.assert_free("after the end").await?;
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn put_back_from_dead_it_takes_its_lock_again_unless_a_twin_has_it_p_33() -> TestResult {
    for pusher in [Pusher::Here, Pusher::Gem] {
        let path = Path::begin(pusher, 0).await?;
        let worker = path.site.worker(app(&open(), 1))?;
        reach("it died", || path.site.members("dead") == 1)?;
        worker.stop().await?;
        path.assert_free("while dead").await?;
        let dead = path.site.client.dead();
        let entry = dead.page(0, 1).await?.entries.pop().ok_or("nothing in dead")?.raw;
        assert_eq!(dead.requeue(&entry).await?, Requeued::Duplicate);
        path.site.client.queue("default").clear().await?;
        assert_eq!(dead.requeue(&entry).await?, Requeued::Requeued);
        path.assert_held("while queued again").await?;
        let worker = path.site.worker(app(&open(), 1))?;
        path.ends_free(worker).await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn recovered_from_a_dead_process_it_stays_locked_until_it_is_executed_p_33() -> TestResult {
    for pusher in [Pusher::Here, Pusher::Gem] {
        let (path, gate) = (Path::begin(pusher, 0).await?, Gate::closed());
        path.orphan()?;
        path.assert_held("while orphaned").await?;
        let worker = path.site.worker_with(app(&gate, 0), |config| {
            config.timings.check = Duration::from_millis(200);
        })?;
        reach("it runs here", || gate.arrived() == 1)?;
        path.assert_held("while it runs again").await?;
        gate.let_pass(1);
        path.ends_free(worker).await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn orphaned_too_often_or_filed_from_a_record_it_is_free_uniq_21_p_33() -> TestResult {
    for pusher in [Pusher::Here, Pusher::Gem] {
        for from_record in [false, true] {
            let path = Path::begin(pusher, 0).await?;
            if from_record {
                let job = path.take_off()?;
                let record =
                    serde_json::json!({"set": "cogworker:dead", "score": 1_796_004_601.5, "payload": job});
                path.site.run(&["RPUSH", "cogworker:unsettled", &record.to_string()])?;
            } else {
                path.orphan()?;
                path.site.run(&["SET", "cogworker:orphanings:first", "3"])?;
            }
            let worker = path.site.worker_with(app(&open(), 0), |config| {
                config.timings.check = Duration::from_millis(200);
                config.max_orphanings = 3;
            })?;
            reach("it is dead", || path.site.members("dead") == 1 && path.owner().is_empty())?;
            worker.stop().await?;
            path.assert_free("after its burial").await?;
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cut_off_or_interrupted_by_a_stop_it_stays_locked_uniq_19_p_33() -> TestResult {
    for pusher in [Pusher::Here, Pusher::Gem] {
        for heeds in [false, true] {
            let (path, gate) = (Path::begin(pusher, 0).await?, Gate::closed());
            let inside = gate.clone();
            let app_that_waits = App::new(()).job(move |_: Raw, ctx: Context| {
                inside.enter();
                async move {
                    if !heeds {
                        std::future::pending::<()>().await;
                    }
                    ctx.cancelled().await;
                    Err::<(), _>(JobError::interrupted())
                }
            });
            let worker = path.site.worker(app_that_waits)?;
            reach("it runs", || gate.arrived() == 1)?;
            worker.stop().await?;
            assert_eq!((path.site.waiting("default"), path.site.failed().max(0)), (1, 0));
            path.assert_held("while given back").await?;
            let worker = path.site.worker(app(&open(), 0))?;
            path.ends_free(worker).await?;
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn anothers_lock_is_never_freed_uniq_17() -> TestResult {
    for failures in [0, 1] {
        let (path, gate) = (Path::begin(Pusher::Here, 0).await?, Gate::closed());
        let worker = path.site.worker(app(&gate, failures))?;
        reach("it runs", || gate.arrived() == 1)?;
        path.site.run(&["SET", path.lock, "other", "EX", "500"])?;
        gate.let_pass(1);
        reach("it is settled", || path.site.in_progress(&worker) == 0)?;
        worker.stop().await?;
        assert_eq!(path.owner(), "other");
    }
    Ok(())
}
