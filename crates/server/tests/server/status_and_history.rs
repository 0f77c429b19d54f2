//! What is kept of a job's course and of every run.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::Duration;

use cogworker_core::formats::Status;
use cogworker_core::new_job::NewJob;
use cogworker_core::redis_config::RedisConfig;
use cogworker_server::middleware::{Next, from_fn};
use cogworker_server::{App, Context, HistoryLimits, JobError, ProgressError, RetryIn};
use cogworker_testing::TestRedisOptions;

use crate::support::{Gate, Log, Numbered, Seen, Site, TestResult, Text, reach};

fn status(site: &Site, jid: &str) -> HashMap<String, String> {
    let flat = site.texts(&["HGETALL", &format!("status:{jid}")]);
    flat.chunks_exact(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect()
}

fn field(site: &Site, jid: &str, name: &str) -> String {
    site.text(&["HGET", &format!("status:{jid}"), name])
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_status_tells_working_progress_and_complete_stat_02_stat_05() -> TestResult {
    let site = Site::start().await?;
    let (gate, told) = (Gate::closed(), Gate::closed());
    let (inside, outside) = (gate.clone(), told.clone());
    told.let_pass(1);
    let app = App::new(()).status(Duration::from_secs(1800)).job(move |_: Numbered, ctx: Context| {
        let (inside, outside) = (inside.clone(), outside.clone());
        async move {
            for percent in 0..=42 {
                ctx.at(percent, "halfway").await;
            }
            ctx.store(&[("rows", "1000")]).await?;
            outside.pass().await;
            inside.pass().await;
            ctx.at(99, "nearly").await;
            Ok::<(), ProgressError>(())
        }
    });
    let worker = site.worker(app)?;
    site.client.push(NewJob::of(&Numbered(1)).jid("j").queue("default")).await?;
    reach("it reports", || told.arrived() == 1)?;
    reach("it works, and the last values are there", || {
        let status = status(&site, "j");
        let has = |name: &str, value: &str| status.get(name).is_some_and(|it| it == value);
        has("status", "working") && has("pct", "42") && has("message", "halfway") && has("rows", "1000")
    })?;
    assert!((1700..=1800).contains(&site.int(&["TTL", "status:j"])));
    gate.let_pass(1);
    reach("it is complete", || field(&site, "j", "status") == "complete")?;
    let status = status(&site, "j");
    assert_eq!((status["pct"].as_str(), status["message"].as_str()), ("99", "nearly"));
    assert_eq!((status["class"].as_str(), status["queue"].as_str()), ("NumberedJob", "default"));
    assert!(status["update_time"].parse::<f64>()? > 1.7e9);
    worker.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_blocking_run_and_the_threads_it_starts_tell_their_progress_stat_05() -> TestResult {
    let site = Site::start().await?;
    let (told, seen) = (Gate::closed(), Seen::default());
    let (inside, results) = (told.clone(), seen.clone());
    // Dropped with the test, whatever becomes of that.
    let (may_end, end) = mpsc::channel::<()>();
    let end = Arc::new(Mutex::new(end));
    let report = move |job: Numbered, ctx: Context| {
        ctx.at_blocking(42, "halfway");
        let own = ctx.clone();
        let stored = std::thread::spawn(move || own.store_blocking(&[("rows", "1000")])).join();
        results.add(matches!(stored, Ok(Ok(()))));
        inside.enter();
        if job.0 == 1 {
            let _ = end.lock().unwrap_or_else(PoisonError::into_inner).recv();
        }
    };
    // Behind middleware it is started another way.
    let layered = || from_fn(|run, next: Next| next.run(run));
    let app = || App::new(()).status(Duration::from_secs(1800)).job_blocking(report.clone());
    let worker = site.worker(app())?;
    site.client.push(NewJob::of(&Numbered(1)).jid("j")).await?;
    reach("it reports", || told.arrived() == 1)?;
    assert_eq!(field(&site, "j", "pct"), "42");
    reach("it works", || field(&site, "j", "status") == "working")?;
    drop(may_end);
    reach("it is complete", || field(&site, "j", "status") == "complete")?;
    assert_eq!(field(&site, "j", "rows"), "1000");
    worker.stop().await?;
    let worker = site.worker(app().middleware(layered()))?;
    site.client.push(NewJob::of(&Numbered(2)).jid("k")).await?;
    reach("the other is complete", || field(&site, "k", "status") == "complete")?;
    assert_eq!((field(&site, "k", "message"), field(&site, "k", "rows")), ("halfway".into(), "1000".into()));
    assert_eq!(seen.all(), [true; 2]);
    worker.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redis_that_is_away_fails_no_job_that_tells_its_progress_and_shows_it_when_it_is_back() -> TestResult
{
    let site = Site::on(TestRedisOptions::new().appendonly(true).start()?).await?;
    let (begun, told) = (Gate::closed(), Gate::closed());
    let gates = (begun.clone(), told.clone());
    let app = App::new(()).status(Duration::from_secs(1800)).job(move |_: Numbered, ctx: Context| {
        let (begun, told) = gates.clone();
        async move {
            ctx.store(&[("rows", "1000")]).await?;
            begun.pass().await;
            for percent in 1..=60 {
                ctx.at(percent, "rowing").await;
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            told.pass().await;
            ctx.at(61, "the last").await;
            Ok::<(), ProgressError>(())
        }
    });
    let worker = site.worker(app)?;
    site.client.push(NewJob::of(&Numbered(1)).jid("j").retry(false)).await?;
    reach("it runs", || begun.arrived() == 1)?;
    reach("it is shown", || field(&site, "j", "status") == "working")?;
    site.redis.kill();
    begun.let_pass(1);
    reach("it went on without redis", || told.arrived() == 1)?;
    site.redis.restart()?;
    reach("what it told meanwhile is there", || {
        (field(&site, "j", "pct"), field(&site, "j", "rows")) == ("60".into(), "1000".into())
    })?;
    told.let_pass(1);
    reach("it is complete", || field(&site, "j", "status") == "complete")?;
    assert_eq!((field(&site, "j", "pct"), field(&site, "j", "message")), ("61".into(), "the last".into()));
    assert_eq!((site.processed(), site.members("dead"), site.members("retry")), (1, 0, 0));
    worker.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn progress_that_redis_refuses_is_told_once_and_fails_no_job_mw_08() -> TestResult {
    let log = Log::of_this_process();
    let site = Site::start().await?;
    site.run(&["SET", "status:j", "of another type"])?;
    let app = App::new(()).status(Duration::from_secs(60)).job(|_: Numbered, ctx: Context| async move {
        for percent in 0..3 {
            ctx.at(percent, "").await;
            // Longer than writes are apart.
            tokio::time::sleep(Duration::from_millis(300)).await;
        }
    });
    site.keep_damage()?;
    let worker = site.worker(app)?;
    site.client.push(NewJob::of(&Numbered(1)).jid("j").retry(false)).await?;
    reach("it is done", || site.processed() == 1)?;
    worker.stop().await?;
    assert_eq!(log.count("writing a job's progress: failed to use a redis key"), 1, "{:?}", log.lines(""));
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_cannot_overwrite_what_the_worker_keeps_in_its_status() -> TestResult {
    let site = Site::start().await?;
    let app = App::new(())
        .status(Duration::from_secs(1800))
        .job(|job: Text, ctx: Context| async move { ctx.store(&[("rows", "1"), (&job.0, "mine")]).await });
    let worker = site.worker(app)?;
    for &name in Status::OWN_FIELDS {
        site.client.push(NewJob::of(&Text(name.into())).jid(name).retry(false)).await?;
        reach("it failed", || field(&site, name, "status") == "failed")?;
        let told = field(&site, name, "error_message");
        assert!(told.contains(&format!("{name:?}")), "{told}");
        let status = status(&site, name);
        assert!(!status.contains_key("rows") && !status.values().any(|value| value == "mine"), "{status:?}");
    }
    site.client.push(NewJob::of(&Text("message".into())).jid("j")).await?;
    reach("it is complete", || field(&site, "j", "status") == "complete")?;
    assert_eq!((field(&site, "j", "message"), field(&site, "j", "rows")), ("mine".into(), "1".into()));
    worker.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_status_tells_retrying_and_failed_with_the_error_stat_03_stat_06() -> TestResult {
    let site = Site::start().await?;
    let app = App::new(())
        .status(Duration::from_secs(1800))
        .job(|_: Numbered| async { Err::<(), _>(JobError::new("Boom", "no luck")) });
    let worker = site.worker(app)?;
    site.client.push(NewJob::of(&Numbered(1)).jid("retried")).await?;
    site.client.push(NewJob::of(&Numbered(1)).jid("failed").retry(false)).await?;
    site.client.push(NewJob::new("NoSuchJob").jid("unknown").retry(false)).await?;
    reach("all are settled", || site.failed() == 3)?;
    for (jid, expected, class) in
        [("retried", "retrying", "Boom"), ("failed", "failed", "Boom"), ("unknown", "failed", "NameError")]
    {
        assert_eq!(
            (field(&site, jid, "status"), field(&site, jid, "error_class")),
            (expected.into(), class.into())
        );
    }
    assert_eq!(field(&site, "failed", "error_message"), "no luck");
    worker.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_run_leaves_a_record_and_a_count_hist_01_to_03_hist_07() -> TestResult {
    let site = Site::start().await?;
    let app = App::new(()).history(HistoryLimits::default()).job(|job: Numbered| async move {
        tokio::time::sleep(Duration::from_millis(20)).await;
        if job.0 == 2 { Err(JobError::new("Boom", "no luck")) } else { Ok(()) }
    });
    let worker = site.worker(app)?;
    site.client.push(NewJob::of(&Numbered(1)).jid("good").queue("default")).await?;
    site.client.push(NewJob::of(&Numbered(2)).jid("bad")).await?;
    reach("both ended", || site.processed() == 1 && site.failed() == 1)?;
    let records = |list: &str| -> Result<Vec<serde_json::Value>, serde_json::Error> {
        let records = site.texts(&["ZRANGE", &format!("cogworker:history:{list}"), "0", "-1"]);
        records.iter().map(|record| serde_json::from_str(record)).collect()
    };
    let good = &records("success")?[0];
    assert_eq!(
        (&good["jid"], &good["class"], &good["args"]),
        (&"good".into(), &"NumberedJob".into(), &serde_json::json!([1]))
    );
    assert_eq!(
        (&good["queue"], &good["status"], good.get("backtrace")),
        (&"default".into(), &"success".into(), None)
    );
    let lasted =
        good["finished_at"].as_f64().zip(good["started_at"].as_f64()).map(|(end, begin)| end - begin);
    assert!(lasted.is_some_and(|lasted| (0.015..5.0).contains(&lasted)), "{lasted:?}");
    let bad = &records("failed")?[0];
    assert_eq!(
        (&bad["status"], &bad["error_class"], &bad["error_message"]),
        (&"failed".into(), &"Boom".into(), &"no luck".into())
    );
    assert!(bad["backtrace"].as_array().is_some_and(|lines| !lines.is_empty()));
    assert_eq!(records("all")?.len(), 2);
    let days = site.texts(&["KEYS", "cogworker:history:daily:*"]);
    let counts: i64 = ["success", "failed"]
        .iter()
        .flat_map(|name| days.iter().map(|day| site.int(&["HGET", day, name])))
        .sum();
    assert_eq!(counts, 2);
    worker.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_kept_of_a_run_changes_nothing_for_it_mw_08_mw_09() -> TestResult {
    let site = Site::start().await?;
    for key in ["cogworker:history:all", "status:good", "status:bad"] {
        site.run(&["SET", key, "of another type"])?;
    }
    let app = App::new(()).history(HistoryLimits::default()).status(Duration::from_secs(60)).job(
        |job: Text| async move {
            if job.0 == "bad" { Err(JobError::new("ArgumentError", "job boom")) } else { Ok(()) }
        },
    );
    let worker = site.worker(app)?;
    for jid in ["good", "bad"] {
        site.client.push(NewJob::of(&Text(jid.into())).jid(jid)).await?;
    }
    reach("both are settled", || site.processed() == 1 && site.failed() == 1)?;
    assert_eq!(site.only_entry("retry")?["error_message"], "job boom");
    assert_eq!(site.in_progress(&worker), 0);
    worker.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_goes_back_to_its_queue_is_queued_again() -> TestResult {
    let site = Site::start().await?;
    let gate = Gate::closed();
    let inside = gate.clone();
    let app = App::new(()).status(Duration::from_secs(1800)).job(move |job: Numbered, ctx: Context| {
        let inside = inside.clone();
        async move {
            if job.0 == 1 {
                return Err(JobError::new("Boom", "no luck"));
            }
            for row in ["first", "last"] {
                ctx.store(&[("row", row)]).await?;
            }
            inside.pass().await;
            Ok(())
        }
    });
    let worker = site.worker(app)?;
    site.client.push(NewJob::of(&Numbered(1)).jid("dead").retry(false)).await?;
    site.client.push(NewJob::of(&Numbered(2)).jid("cut off")).await?;
    reach("one is dead, and the other runs", || {
        field(&site, "dead", "status") == "failed" && gate.arrived() == 1
    })?;
    worker.stop().await?;
    assert_eq!(
        (field(&site, "cut off", "status"), field(&site, "cut off", "row")),
        ("queued".into(), "last".into())
    );
    assert_eq!(site.client.dead().requeue_all().await?.requeued, 1);
    assert_eq!(field(&site, "dead", "status"), "queued");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn limits_of_any_size_are_kept_as_long_as_redis_can() -> TestResult {
    let site = Site::start().await?;
    let history =
        HistoryLimits::new().max_entries(u64::MAX).retention(Duration::MAX).daily_retention(Duration::MAX);
    let app = App::new(())
        .status(Duration::MAX)
        .history(history)
        .retry_in::<Numbered>(|_, _, _| RetryIn::After(Duration::MAX))
        .job(|job: Numbered, ctx: Context| async move {
            ctx.at(50, "half").await;
            if job.0 == 1 { Err(JobError::new("Boom", "no luck")) } else { Ok(()) }
        });
    let worker = site.worker_with(app, |config| config.unique_lock_ttl = Duration::MAX)?;
    let client = cogworker_client::Client::connect(&RedisConfig::new(&site.redis.url())?).await?;
    let client = client.with_status(Duration::MAX).with_unique_lock_ttl(Duration::MAX);
    for number in [1, 2] {
        let job = NewJob::of(&Numbered(number)).jid(format!("j{number}")).set("unique", "until_executed");
        client.push(job).await?;
    }
    reach("both ended", || (site.processed(), site.failed()) == (1, 1))?;
    assert_eq!(site.int(&["ZCARD", "cogworker:history:all"]), 2);
    assert_eq!((field(&site, "j1", "status"), field(&site, "j2", "pct")), ("retrying".into(), "50".into()));
    let day = site.texts(&["KEYS", "cogworker:history:daily:*"]);
    let lock = site.texts(&["KEYS", "cogworker:unique:*"]);
    assert_eq!((day.len(), lock.len(), site.members("retry")), (1, 1, 1));
    for key in ["status:j1", "status:j2", &day[0], &lock[0]] {
        assert!(site.int(&["TTL", key]) > 99_000_000_000, "{key}: {}", site.int(&["TTL", key]));
    }
    worker.stop().await
}
