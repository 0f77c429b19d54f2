//! The schedule: what is published of it, and what its entries fire through.

use std::time::Duration;

use cogworker_client::middleware::{Next as ClientNext, from_fn};
use cogworker_core::digest::periodic_id;
use cogworker_core::job::Job;
use cogworker_core::new_job::NewJob;
use cogworker_server::{App, Context, Periodic};
use cogworker_testing::FaultProxy;
use serde_json::{Value, json};

use crate::support::{Log, Seen, Site, TestResult, Text, reach, start_worker};

/// A job without args or options.
#[derive(serde::Serialize, serde::Deserialize)]
struct Plain();

impl Job for Plain {
    const CLASS: &'static str = "PlainJob";
}

const EVERY_SECOND: &str = "* * * * * *";

/// Notes the texts and slots of the jobs that it runs, and has an entry for every second.
fn noting(seen: &Seen<(String, i64)>) -> App {
    let seen = seen.clone();
    App::new(())
        .job(move |job: Text, ctx: Context| {
            let slot = ctx.run().field("periodic_slot").and_then(|slot| slot.parse().ok());
            seen.add((job.0, slot.unwrap_or_default()));
            async {}
        })
        .periodic(Periodic::cron(EVERY_SECOND, &Text("second".into())))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_entry_is_published_with_its_defaults_and_so_is_its_job_pent_04_pent_08() -> TestResult {
    let site = Site::start().await?;
    // Nobody runs the jobs here.
    let app = App::new(()).periodic(Periodic::cron("0 0 1 1 *", &Plain()));
    let worker = site.worker_with(app, |config| config.queues = vec!["other".into()])?;
    reach("it fires", || site.waiting("default") == 1)?;
    let pjid = periodic_id("0 0 1 1 *", "PlainJob", "[]");
    let published: Value = serde_json::from_str(&site.text(&["HGET", "periodic:schedule", &pjid]))?;
    let expected = json!({"cron": "0 0 1 1 *", "class": "PlainJob", "retry": 0, "unique": null, "args": []});
    assert_eq!(published, expected);
    let job: Value = serde_json::from_str(&site.text(&["LINDEX", "cogworker:queue:default", "0"]))?;
    assert_eq!((&job["retry"], &job["args"], &job["periodic_pjid"]), (&json!(0), &json!([]), &json!(pjid)));
    assert!(job.get("periodic_until_executed").is_none() && job.get("unique").is_none(), "{job}");
    worker.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_schedule_that_cannot_be_published_is_told_and_fires_all_the_same_pent_05() -> TestResult {
    let log = Log::of_this_process();
    let site = Site::start().await?;
    site.keep_damage()?;
    site.run(&["SET", "periodic:schedule", "of another type"])?;
    let seen = Seen::default();
    let worker = site.worker(noting(&seen))?;
    reach("it fires", || seen.len() >= 2)?;
    assert_eq!(log.count("publishing the schedule: failed to use a redis key"), 1);
    assert_eq!(site.text(&["GET", "periodic:schedule"]), "of another type");
    worker.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_fires_before_dead_processes_were_looked_for_tick_12() -> TestResult {
    let site = Site::start().await?;
    // Neither the registry nor the keys can be read, so no look for dead processes is complete.
    site.run(&["ACL", "SETUSER", "default", "-renamenx", "-scan"])?;
    site.run(&["SET", "cogworker:inprogress_identities", "of another type"])?;
    let seen = Seen::default();
    let app = noting(&seen);
    let worker = site.worker_with(app, |config| config.timings.check = Duration::from_millis(100))?;
    site.client.push(NewJob::of(&Text("pushed".into()))).await?;
    reach("jobs run meanwhile", || seen.len() == 1)?;
    let claimed = || !site.texts(&["KEYS", "periodic:last_slot:*"]).is_empty();
    assert!(!cogworker_testing::wait_until(Duration::from_millis(2500), claimed), "it fired");
    site.run(&["DEL", "cogworker:inprogress_identities"])?;
    site.run(&["ACL", "SETUSER", "default", "+scan"])?;
    reach("it fires", || seen.all().iter().any(|(text, _)| text == "second"))?;
    worker.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slot_that_was_due_while_off_is_claimed_by_a_process_that_has_not_seen_it_tick_17() -> TestResult {
    let site = Site::start().await?;
    let seen = Seen::default();
    // Its newest slot is long past, and no other comes.
    let app = |seen: &Seen<_>| {
        let yearly = Periodic::cron("0 0 1 1 *", &Text("yearly".into()));
        let every_second = Periodic::cron(EVERY_SECOND, &Text("after".into()));
        noting(seen).periodic(yearly).periodic(every_second)
    };
    let count = |wanted: &str| seen.all().iter().filter(|(text, _)| text == wanted).count();
    let pjid = periodic_id("0 0 1 1 *", "TextJob", r#"["yearly"]"#);
    site.run(&["SADD", "periodic:disabled", &pjid])?;
    let first = site.worker(app(&seen))?;
    reach("the entries after it fire", || count("after") >= 1)?;
    site.client.periodic().enable(&pjid).await?;
    let before = count("after");
    reach("they go on", || count("after") >= before + 2)?;
    assert_eq!(count("yearly"), 0, "the first process has seen the slot");
    let second = site.worker(app(&seen))?;
    reach("the second fires it", || count("yearly") == 1)?;
    let before = count("after");
    reach("they go on", || count("after") >= before + 2)?;
    first.stop().await?;
    second.stop().await?;
    assert_eq!(count("yearly"), 1);
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_connection_is_no_failure_of_the_entry_and_brings_no_pause_tick_23() -> TestResult {
    let log = Log::of_this_process();
    let site = Site::start().await?;
    let proxy = FaultProxy::start(&site.redis)?;
    let seen = Seen::default();
    let worker = start_worker(&proxy.url(), noting(&seen), |_| {})?;
    reach("it fires", || seen.len() >= 1)?;
    proxy.cut_before_request(b"periodic:last_slot");
    reach("a look at the entry is lost", || proxy.requests_lost() >= 1)?;
    let before = seen.len();
    reach("it goes on", || seen.len() >= before + 3)?;
    worker.stop().await?;
    let slots: Vec<i64> = seen.all().iter().map(|(_, slot)| *slot).collect();
    // A failure of its own would be followed by a pause of five seconds.
    assert!(slots.windows(2).all(|pair| pair[1] - pair[0] < 5), "{slots:?}");
    // Other tests of this process have entries that fail.
    let pjid = periodic_id(EVERY_SECOND, "TextJob", r#"["second"]"#);
    let failed: Vec<_> =
        log.lines("failed to fire").into_iter().filter(|line| line.contains(&pjid)).collect();
    assert!(failed.is_empty(), "{failed:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_worker_pushes_passes_its_client_middleware_periodic_jobs_too_tick_06() -> TestResult {
    let site = Site::start().await?;
    // Changes what it may, and what it may not.
    let tag = from_fn(|job: NewJob, next: ClientNext| {
        let job = job
            .set("tags", ["worker"])
            .queue("tagged")
            .jid("chosen")
            .set("periodic_pjid", "x")
            .set("at", 5e9);
        next.run(job)
    });
    let app =
        App::new(()).client_middleware(tag).periodic(Periodic::cron("0 0 1 1 *", &Plain()).until_executed());
    let worker = site.worker(app)?;
    reach("it fires", || site.waiting("tagged") == 1)?;
    worker.stop().await?;
    let pjid = periodic_id("0 0 1 1 *", "PlainJob", "[]");
    let job: Value = serde_json::from_str(&site.text(&["LINDEX", "cogworker:queue:tagged", "0"]))?;
    assert_eq!(
        (&job["tags"], &job["queue"], &job["jid"]),
        (&json!(["worker"]), &json!("tagged"), &json!("chosen"))
    );
    assert_eq!((&job["periodic_pjid"], &job["periodic_until_executed"]), (&json!(pjid), &json!(true)));
    assert_eq!((job.get("at"), site.members("schedule")), (None, 0));
    assert_eq!(
        site.text(&["GET", &format!("periodic:running:{pjid}")]),
        "chosen",
        "its lock is that of the job"
    );

    // And what its jobs push.
    let tag = from_fn(|job: NewJob, next: ClientNext| next.run(job.set("tags", ["worker"])));
    let app = App::new(()).client_middleware(tag).job(async |_: Text, ctx: Context| {
        ctx.client().push(NewJob::new("Pushed").queue("idle")).await.map(|_| ())
    });
    let worker = site.worker(app)?;
    site.client.push(NewJob::of(&Text("x".into()))).await?;
    reach("it pushed", || site.waiting("idle") == 1)?;
    assert!(site.text(&["LINDEX", "cogworker:queue:idle", "0"]).contains(r#""tags":["worker"]"#));
    worker.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_periodic_job_that_a_middleware_stops_uses_its_slot_up_tick_04() -> TestResult {
    let site = Site::start().await?;
    let app = || App::new(()).periodic(Periodic::cron("0 0 1 1 *", &Plain()).until_executed());
    let stopping = from_fn(async |_: NewJob, _: ClientNext| Ok(None));
    let worker = site.worker(app().client_middleware(stopping))?;
    reach("the slot is claimed", || !site.texts(&["KEYS", "periodic:last_slot:*"]).is_empty())?;
    worker.stop().await?;
    assert_eq!(site.texts(&["KEYS", "periodic:running:*"]), Vec::<String>::new());
    // Nor does another process fire it, whose middleware would let it pass.
    let seen = Seen::default();
    let yearly = Periodic::cron("0 0 1 1 *", &Plain()).until_executed();
    let worker = site.worker(
        noting(&seen).periodic(yearly).periodic(Periodic::cron(EVERY_SECOND, &Text("after".into()))),
    )?;
    reach("the entries after it fire", || seen.all().iter().any(|(text, _)| text == "after"))?;
    worker.stop().await?;
    assert_eq!((site.waiting("default"), site.members("retry"), site.members("dead")), (0, 0, 0));
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_middleware_that_fails_or_panics_leaves_the_slot_to_be_fired_later_and_stops_no_other_entry_tick_07()
-> TestResult {
    let (log, site) = (Log::of_this_process(), Site::start().await?);
    let (seen, asked) = (Seen::default(), Seen::default());
    let note = asked.clone();
    let failing = from_fn(move |job: NewJob, next: ClientNext| {
        let args = job.field("args").map(|args| args.get().to_owned()).unwrap_or_default();
        let first = !note.all().contains(&args);
        note.add(args.clone());
        async move {
            match args.as_str() {
                r#"["fails"]"# if first => Err("not now".into()),
                r#"["panics"]"# if first => panic!("not yet"),
                _ => next.run(job).await,
            }
        }
    });
    let yearly = |text: &str| Periodic::cron("0 0 1 1 *", &Text(text.into()));
    let app = noting(&seen).client_middleware(failing).periodic(yearly("fails")).periodic(yearly("panics"));
    let worker = site.worker(app)?;
    reach("both failed", || {
        log.count("failed to pass a job through the client middleware: not now") == 1
            && log.count("failed to pass a job through the client middleware: it panicked") == 1
    })?;
    for text in ["fails", "panics"] {
        let pjid = periodic_id("0 0 1 1 *", "TextJob", &format!(r#"["{text}"]"#));
        assert_eq!(site.int(&["EXISTS", &format!("periodic:last_slot:{pjid}")]), 0, "{text}");
    }
    let count = |wanted: &str| seen.all().iter().filter(|(text, _)| text == wanted).count();
    reach("others fire", || count("second") >= 2)?;
    reach("both fire after a pause", || (count("fails"), count("panics")) == (1, 1))?;
    worker.stop().await
}
