//! What goes around every run.

use std::time::Duration;

use cogworker_core::job::Job;
use cogworker_core::new_job::NewJob;
use cogworker_core::options::JobOptions;
use cogworker_server::middleware::{Next, from_fn};
use cogworker_server::{App, Context, JobError, Run};
use serde::{Deserialize, Serialize};

use crate::support::{Gate, Numbered, Seen, Site, TestResult, Text, reach};

/// Notes before and after.
fn noting(
    name: &'static str,
    seen: &Seen<String>,
) -> impl Fn(Run, Next) -> std::pin::Pin<Box<dyn Future<Output = Result<(), JobError>> + Send>>
+ Clone
+ Send
+ Sync
+ 'static {
    let seen = seen.clone();
    move |run, next| {
        let seen = seen.clone();
        Box::pin(async move {
            seen.add(format!("before {name}: {} {} {}", run.class(), run.queue(), run.args_json()));
            let result = next.run(run).await;
            seen.add(format!(
                "after {name}: {}",
                result.as_ref().map_or_else(|e| e.class().to_owned(), |()| "ok".into())
            ));
            result
        })
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_is_the_outermost_and_each_sees_the_run_mw_01_mw_05() -> TestResult {
    let site = Site::start().await?;
    let seen = Seen::default();
    let inside = seen.clone();
    let app = App::new(())
        .middleware(from_fn(noting("a", &seen)))
        .middleware(from_fn(noting("b", &seen)))
        .job(move |job: Numbered| {
            inside.add(format!("perform {}", job.0));
            async {}
        });
    let worker = site.worker(app)?;
    site.client.perform_async(&Numbered(7)).await?;
    reach("it ran", || site.processed() == 1)?;
    let run = "NumberedJob default [7]";
    let expected = [
        format!("before a: {run}"),
        format!("before b: {run}"),
        "perform 7".into(),
        "after b: ok".into(),
        "after a: ok".into(),
    ];
    assert_eq!(seen.all(), expected);
    worker.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unknown_class_passes_through_and_fails_inside_mw_06() -> TestResult {
    let site = Site::start().await?;
    let seen = Seen::default();
    let worker = site.worker(App::new(()).middleware(from_fn(noting("a", &seen))))?;
    site.client.push(NewJob::new("NoSuchJob").retry(false)).await?;
    reach("it is dead", || site.members("dead") == 1)?;
    assert_eq!(seen.all(), ["before a: NoSuchJob default []", "after a: NameError"]);
    assert_eq!(site.only_entry("dead")?["error_class"], "NameError");
    worker.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_error_or_panic_of_a_middleware_is_the_jobs_failure_mw_07() -> TestResult {
    let site = Site::start().await?;
    let ran = Seen::default();
    let inside = ran.clone();
    let app = App::new(())
        .middleware(from_fn(|run: Run, next: Next| async move {
            match run.field("trouble").as_deref() {
                Some("1") => Err(JobError::new("Forbidden", "not today")),
                Some(_) => panic!("a middleware's own"),
                None => next.run(run).await,
            }
        }))
        .job(move |job: Numbered| {
            inside.add(job.0);
            async {}
        });
    let worker = site.worker(app)?;
    for trouble in [1, 2] {
        site.client.push(NewJob::of(&Numbered(trouble)).set("trouble", trouble)).await?;
    }
    site.client.perform_async(&Numbered(3)).await?;
    reach("all are settled", || site.members("retry") == 2 && site.processed() == 1)?;
    let mut classes: Vec<_> = site
        .texts(&["ZRANGE", "cogworker:retry", "0", "-1"])
        .iter()
        .filter_map(|job| {
            serde_json::from_str::<serde_json::Value>(job).ok()?["error_class"].as_str().map(str::to_owned)
        })
        .collect();
    classes.sort();
    assert_eq!((classes, ran.all()), (vec!["Forbidden".to_owned(), "Panic".to_owned()], vec![3]));
    worker.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn layers_of_tower_work_around_async_and_blocking_handlers() -> TestResult {
    let site = Site::start().await?;
    let gate = Gate::closed();
    let inside = gate.clone();
    let app = App::new(())
        .middleware(tower::timeout::TimeoutLayer::new(Duration::from_millis(300)))
        .middleware(tower::limit::ConcurrencyLimitLayer::new(1))
        .job(move |_: Numbered| {
            let inside = inside.clone();
            async move { inside.pass().await }
        })
        .job_blocking(|job: Text| if job.0 == "bad" { Err(JobError::new("Bad", "text")) } else { Ok(()) });
    let worker = site.worker(app)?;
    for text in ["good", "bad"] {
        site.client.push(NewJob::of(&Text(text.into())).retry(false)).await?;
    }
    reach("both ended", || site.processed() == 1 && site.members("dead") == 1)?;
    assert_eq!(site.only_entry("dead")?["error_class"], "Bad");
    site.client.push_bulk(&[Numbered(1), Numbered(2)]).await?;
    reach("both ran out of time, one after the other", || site.members("retry") == 2)?;
    let entries = site.texts(&["ZRANGE", "cogworker:retry", "0", "-1"]);
    assert!(entries.iter().all(|entry| entry.contains(r#""error_class":"Timeout""#)), "{entries:?}");
    worker.stop().await
}

/// A job that may take a tenth of a second.
#[derive(Serialize, Deserialize)]
struct Limited(String);

impl Job for Limited {
    const CLASS: &'static str = "LimitedJob";

    fn options() -> JobOptions {
        JobOptions::new().retry(false).timeout(Duration::from_millis(100))
    }
}

#[derive(Serialize, Deserialize)]
struct LimitedBlocking();

impl Job for LimitedBlocking {
    const CLASS: &'static str = "LimitedBlockingJob";

    fn options() -> JobOptions {
        JobOptions::new().timeout(Duration::from_millis(100))
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_takes_too_long_is_ended_and_a_blocking_one_is_asked_to_end() -> TestResult {
    let site = Site::start().await?;
    let seen = Seen::default();
    let asked = seen.clone();
    let app = App::new(())
        .job(|job: Limited| async move {
            if job.0 == "slow" {
                std::future::pending::<()>().await;
            }
        })
        .job_blocking(move |_: LimitedBlocking, ctx: Context| {
            while !ctx.is_cancelled() {
                std::thread::yield_now();
            }
            asked.add("asked");
        });
    let worker = site.worker(app)?;
    for text in ["quick", "slow"] {
        site.client.perform_async(&Limited(text.into())).await?;
    }
    site.client.perform_async(&LimitedBlocking()).await?;
    reach("all ended", || site.processed() == 2 && site.members("dead") == 1)?;
    let entry = site.only_entry("dead")?;
    assert_eq!(
        (&entry["error_class"], &entry["error_message"]),
        (&"Timeout".into(), &"ran longer than 0.1 s".into())
    );
    assert_eq!((entry.get("timeout"), seen.len()), (None, 1));
    worker.stop().await
}

#[derive(Serialize, Deserialize)]
struct Twice();

impl Job for Twice {
    const CLASS: &'static str = "TwiceJob";

    fn options() -> JobOptions {
        JobOptions::new().retry(false).timeout(Duration::from_millis(100))
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_middleware_that_calls_again_after_a_timeout_begins_afresh() -> TestResult {
    let site = Site::start().await?;
    let calls = Seen::default();
    let noted = calls.clone();
    let app = App::new(())
        .middleware(from_fn(|run: Run, next: Next| async move {
            match next.clone().run(run.clone()).await {
                Err(failure) if failure.class() == "Timeout" => next.run(run).await,
                other => other,
            }
        }))
        .job(move |_: Twice, ctx: Context| {
            noted.add(ctx.is_cancelled());
            let first = noted.len() == 1;
            async move {
                if first {
                    std::future::pending::<()>().await;
                }
            }
        });
    let worker = site.worker(app)?;
    site.client.perform_async(&Twice()).await?;
    reach("the second call ends well", || site.processed() == 1)?;
    assert_eq!(calls.all(), [false, false]);
    worker.stop().await
}
