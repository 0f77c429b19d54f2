//! What a handler is given, and what becomes of it.

use cogworker_core::job::Job;
use cogworker_core::new_job::NewJob;
use cogworker_core::options::JobOptions;
use cogworker_server::{App, Context, ServerError};
use serde::{Deserialize, Serialize};

use crate::support::{Gate, Log, Numbered, Raw, Seen, Site, TestResult, Text, reach};

#[derive(Serialize, Deserialize)]
struct Report {
    section: String,
    pages: u32,
}

impl Job for Report {
    const CLASS: &'static str = "ReportJob";
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn async_and_blocking_handlers_run_positional_and_named_args_proc_01() -> TestResult {
    let site = Site::start().await?;
    let seen = Seen::default();
    let (text, report, number) = (seen.clone(), seen.clone(), seen.clone());
    let app = App::new(())
        .job(move |job: Text| {
            let text = text.clone();
            async move { text.add(job.0) }
        })
        .job(move |job: Report| {
            let report = report.clone();
            async move { report.add(format!("{} {}", job.section, job.pages)) }
        })
        .job_blocking(move |job: Numbered| number.add(job.0.to_string()));
    let worker = site.worker(app)?;
    site.client.perform_async(&Text("a".into())).await?;
    site.client.perform_async(&Report { section: "b".into(), pages: 3 }).await?;
    site.client.perform_async(&Numbered(7)).await?;
    reach("three runs", || site.processed() == 3)?;
    let mut seen = seen.all();
    seen.sort();
    assert_eq!(seen, ["7", "a", "b 3"]);
    assert_eq!((site.failed(), site.waiting("default"), site.in_progress(&worker)), (0, 0, 0));
    worker.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_context_tells_jid_class_queue_attempt_state_and_the_stored_bytes() -> TestResult {
    let site = Site::start().await?;
    let seen = Seen::default();
    let (from_async, from_blocking) = (seen.clone(), seen.clone());
    let tell = |ctx: &Context<&'static str>| {
        let raw = String::from_utf8_lossy(ctx.raw()).into_owned();
        (format!("{} {} {} {}", ctx.jid(), ctx.class(), ctx.queue(), ctx.attempt()), *ctx.state(), raw)
    };
    let app = App::new("shared")
        .job(move |_: Text, ctx: Context<&'static str>| {
            let seen = from_async.clone();
            async move { seen.add(tell(&ctx)) }
        })
        .job_blocking(move |_: Numbered, ctx: Context<&'static str>| from_blocking.add(tell(&ctx)));
    let worker = site.worker_with(app, |config| config.queues = vec!["low".into()])?;
    let text = r#"{"class":"TextJob","args":[ "x" ],"queue":"low","jid":"j1","retry_count":4,"tag":1.0}"#;
    let number = r#"{"class":"NumberedJob","args":[1],"queue":"low","jid":"j2"}"#;
    site.push_raw("low", text)?;
    reach("the first run", || seen.len() == 1)?;
    site.push_raw("low", number)?;
    reach("the second run", || seen.len() == 2)?;
    assert_eq!(
        seen.all(),
        [
            ("j1 TextJob low 5".to_owned(), "shared", text.to_owned()),
            ("j2 NumberedJob low 1".to_owned(), "shared", number.to_owned()),
        ]
    );
    worker.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handler_enqueues_further_jobs_by_its_context() -> TestResult {
    let site = Site::start().await?;
    let seen = Seen::default();
    let done = seen.clone();
    let app = App::new(())
        .job(|job: Numbered, ctx: Context| async move {
            ctx.client().perform_async(&Text(format!("after {}", job.0))).await.map(|_| ())
        })
        .job(move |job: Text| {
            let done = done.clone();
            async move { done.add(job.0) }
        });
    let worker = site.worker(app)?;
    site.client.perform_async(&Numbered(1)).await?;
    reach("both runs", || site.processed() == 2)?;
    assert_eq!(seen.all(), ["after 1"]);
    worker.stop().await
}

#[expect(clippy::panic, reason = "it is what the test is about")]
async fn panic_async(Text(text): Text) {
    tokio::task::yield_now().await;
    panic!("no luck with {text}");
}

#[expect(clippy::panic, reason = "it is what the test is about")]
fn panic_blocking(_: Raw) {
    std::panic::panic_any(7);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn panics_are_failures_and_cost_no_slot_p_57() -> TestResult {
    let site = Site::start().await?;
    let gate = Gate::closed();
    let (endless, seen) = (gate.clone(), Seen::default());
    let done = seen.clone();
    let app = App::new(()).job(panic_async).job_blocking(panic_blocking).job(move |job: Numbered| {
        let (done, endless) = (done.clone(), endless.clone());
        async move {
            if job.0 == 99 {
                endless.pass().await;
            }
            done.add(job.0);
        }
    });
    let worker = site.worker_with(app, |config| config.concurrency = 2)?;
    let panicking = (0..5).flat_map(|n| [NewJob::of(&Text(n.to_string())), NewJob::new("RawJob")]);
    site.client.push_all(panicking.collect()).await?;
    reach("ten failures", || site.failed() == 10)?;
    site.client.push_bulk(&(0..5).map(Numbered).collect::<Vec<_>>()).await?;
    reach("five good runs", || seen.len() == 5)?;

    assert_eq!(site.members("retry"), 10);
    let entries = site.texts(&["ZRANGE", "cogworker:retry", "0", "-1"]);
    assert!(entries.iter().all(|entry| entry.contains(r#""error_class":"Panic""#)), "{entries:?}");
    assert!(entries.iter().any(|entry| entry.contains("no luck with 3")), "{entries:?}");
    assert!(entries.iter().any(|entry| entry.contains("a panic without a text")), "{entries:?}");

    site.client.perform_async(&Numbered(99)).await?;
    reach("the endless job runs", || gate.arrived() == 1)?;
    worker.stop().await?;
    assert_eq!(site.waiting("default"), 1, "the endless job is back on its queue");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unknown_class_fails_and_names_the_nearest_known_ones_dead_04() -> TestResult {
    let site = Site::start().await?;
    let worker = site.worker(App::new(()).job(|_: Report| async {}).job(|_: Text| async {}))?;
    site.client.push(NewJob::new("ReprotJob").retry(false)).await?;
    reach("its death", || site.members("dead") == 1)?;
    let entry = site.only_entry("dead")?;
    assert_eq!(entry["error_class"], "NameError");
    assert_eq!(
        entry["error_message"],
        "uninitialized constant ReprotJob (no handler is registered for it; did you mean ReportJob?)"
    );
    worker.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn args_that_do_not_fit_fail_with_the_position_and_never_reach_the_handler() -> TestResult {
    let site = Site::start().await?;
    let seen = Seen::default();
    let ran = seen.clone();
    let app = App::new(()).job(move |job: Numbered| {
        let ran = ran.clone();
        async move { ran.add(job.0) }
    });
    let worker = site.worker(app)?;
    site.client.push(NewJob::new("NumberedJob").args(["seven"]).retry(false)).await?;
    reach("its death", || site.members("dead") == 1)?;
    let entry = site.only_entry("dead")?;
    assert_eq!(entry["error_class"], "ArgumentError");
    let message = entry["error_message"].as_str().unwrap_or_default();
    assert!(message.starts_with("NumberedJob argument 1: invalid type: string \"seven\""), "{message}");
    assert_eq!(seen.len(), 0);
    worker.stop().await
}

#[derive(Serialize, Deserialize)]
struct Copied();

impl Job for Copied {
    const CLASS: &'static str = Text::CLASS;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_with_two_handlers_for_one_class_takes_no_job_and_says_which() -> TestResult {
    let site = Site::start().await?;
    site.client.perform_async(&Text("x".into())).await?;
    let app = App::new(()).job(|_: Text| async {}).job(|_: Numbered| async {}).job_blocking(|_: Copied| ());
    let error = match site.worker(app)?.result().await? {
        Ok(()) => return Err("it ran".into()),
        Err(error) => error,
    };
    assert!(matches!(error, ServerError::TwoHandlers { class } if class == Text::CLASS));
    assert_eq!(error.to_string(), "start the worker: failed to register class TextJob: two handlers have it");
    assert_eq!((site.waiting("default"), site.int(&["SCARD", "cogworker:processes"])), (1, 0));
    Ok(())
}

#[derive(Serialize, Deserialize)]
struct Receipt();

impl Job for Receipt {
    const CLASS: &'static str = "ReceiptJob";

    fn options() -> JobOptions {
        JobOptions::new().queue("mail")
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handler_whose_queue_is_not_read_and_an_application_without_any_are_told_at_the_start() -> TestResult
{
    let log = Log::of_this_process();
    let site = Site::start().await?;
    let app = || App::new(()).job(|_: Receipt| async {}).job(|_: Text| async {});
    let unread = "INFO cogworker_server::server::unread: ReceiptJob goes to queue mail, which this process does not read";
    let empty = "WARN cogworker_server::server::unread: the application has no handlers: every job that is fetched will fail";
    // Other tests of this process have such applications too, but none has this class.
    for (app, queues, receipts, is_empty) in [
        (app(), &["default"][..], 1, false),
        (app(), &["mail", "default", "mail"], 1, false),
        (App::new(()), &["default"], 1, true),
    ] {
        let before = log.count(empty);
        let worker = site.worker_with(app, |config| {
            config.queues = queues.iter().map(|&queue| queue.to_owned()).collect();
        })?;
        reach("it works", || log.count(&format!("{} is working on", worker.identity)) == 1)?;
        worker.stop().await?;
        assert_eq!(log.count(unread), receipts, "{queues:?}");
        assert!(!is_empty || log.count(empty) > before, "{queues:?}");
    }
    Ok(())
}
