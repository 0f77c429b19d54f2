//! Periodic entries, fired by workers.

use std::time::Duration;

use cogworker_core::job::Job;
use cogworker_core::options::JobOptions;
use cogworker_server::{App, Periodic};

use crate::support::{Gate, Numbered, Seen, Site, TestResult, Text, reach};

/// Notes the slots of the jobs that it runs.
fn noting(slots: &Seen<String>) -> App {
    let slots = slots.clone();
    App::new(()).job(move |job: Text, ctx: cogworker_server::Context| {
        slots.add(format!("{} {}", job.0, ctx.run().field("periodic_slot").unwrap_or_default()));
        async {}
    })
}

/// A job whose queue cannot be read.
#[derive(serde::Serialize, serde::Deserialize)]
struct OnABadQueue();

impl Job for OnABadQueue {
    const CLASS: &'static str = "OnABadQueueJob";

    fn options() -> JobOptions {
        JobOptions::new().queue("bad")
    }
}

fn every_second(text: &str) -> Periodic {
    Periodic::cron("* * * * * *", &Text(text.into()))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_slot_fires_once_over_several_processes_tick_19_tick_29() -> TestResult {
    let site = Site::start().await?;
    let slots = Seen::default();
    let mut workers = Vec::new();
    for _ in 0..3 {
        workers.push(site.worker(noting(&slots).periodic(every_second("a")).periodic(every_second("b")))?);
    }
    reach("some slots went by", || slots.len() >= 8)?;
    for worker in workers {
        worker.stop().await?;
    }
    let mut seen = slots.all();
    let count = seen.len();
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), count, "none twice");
    // Each second of either entry, without a gap.
    for text in ["a", "b"] {
        let of: Vec<i64> =
            seen.iter().filter_map(|slot| slot.strip_prefix(&format!("{text} "))?.parse().ok()).collect();
        assert!(of.windows(2).all(|pair| pair[1] == pair[0] + 1), "{of:?}");
    }
    assert_eq!(site.int(&["HLEN", "periodic:schedule"]), 2, "PENT-04");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_until_executed_entry_waits_for_its_run_and_its_lock_is_released_and_kept_runlk_02_runlk_08()
-> TestResult {
    let site = Site::start().await?;
    let gate = Gate::closed();
    let inside = gate.clone();
    let app = App::new(())
        .job(move |_: Numbered| {
            let inside = inside.clone();
            async move { inside.pass().await }
        })
        .periodic(Periodic::cron("* * * * * *", &Numbered(1)).until_executed());
    let worker = site.worker_with(app, |config| config.timings.beat = Duration::from_millis(200))?;
    reach("it runs", || gate.arrived() == 1)?;
    let lock = site.texts(&["KEYS", "periodic:running:*"]);
    let [lock] = lock.as_slice() else { return Err(format!("one lock: {lock:?}").into()) };
    reach("a beat shortens its time to that of a live run (RUNLK-04)", || {
        (1..=420).contains(&site.int(&["TTL", lock]))
    })?;
    site.run(&["EXPIRE", lock, "5"])?;
    reach("a beat keeps it alive", || site.int(&["TTL", lock]) > 100)?;
    assert_eq!((gate.arrived(), site.waiting("default")), (1, 0), "further slots wait");
    gate.let_pass(1);
    reach("the next slot fires at once", || gate.arrived() == 2)?;
    assert_eq!(site.int(&["EXISTS", lock]), 1, "the second run holds it");
    // No slot fires after that run.
    worker.handle.quiet();
    reach("it is quiet", || site.text(&["HGET", &worker.key("process"), "quiet"]) == "true")?;
    gate.let_pass(1);
    reach("the second run has ended", || site.processed() == 2)?;
    assert_eq!((site.int(&["EXISTS", lock]), site.waiting("default")), (0, 0));
    worker.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_entry_that_is_switched_off_rests_and_a_failing_one_stops_no_other_tick_14_tick_16() -> TestResult
{
    let site = Site::start().await?;
    site.keep_damage()?;
    let slots = Seen::default();
    let refused = Periodic::cron("* * * * * *", &OnABadQueue());
    let app = noting(&slots).periodic(refused).periodic(every_second("off")).periodic(every_second("on"));
    let pjid = |class: &str, args: &str| cogworker_core::digest::periodic_id("* * * * * *", class, args);
    let off = pjid("TextJob", r#"["off"]"#);
    site.run(&["SADD", "periodic:disabled", &off])?;
    site.run(&["SET", "cogworker:queue:bad", "no list"])?;
    let worker = site.worker(app)?;
    reach("the others fire", || slots.len() >= 3)?;
    assert!(slots.all().iter().all(|slot| slot.starts_with("on ")), "{:?}", slots.all());
    let refused = pjid("OnABadQueueJob", "[]");
    let claimed = [format!("periodic:last_slot:{off}"), format!("periodic:last_slot:{refused}")];
    assert_eq!(site.int(&["EXISTS", &claimed[0], &claimed[1]]), 0);
    site.run(&["DEL", "periodic:disabled"])?;
    reach("it fires when switched on", || slots.all().iter().any(|slot| slot.starts_with("off ")))?;
    worker.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_catch_up_a_cold_start_fires_nothing_old_and_with_it_the_newest_slot_tick_20_tick_21()
-> TestResult {
    for catch_up in [false, true] {
        let site = Site::start().await?;
        let slots = Seen::default();
        // Once a year: its newest slot is long past.
        let app = noting(&slots).periodic(Periodic::cron("0 0 1 1 *", &Text("yearly".into())));
        let worker = site.worker_with(app, |config| config.periodic_catch_up = catch_up)?;
        reach("the slot is dealt with", || !site.texts(&["KEYS", "periodic:last_slot:*"]).is_empty())?;
        site.client.perform_async(&Text("after".into())).await?;
        reach("a later job ran", || slots.all().contains(&"after ".to_owned()))?;
        assert_eq!(slots.len(), if catch_up { 2 } else { 1 });
        worker.stop().await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cron_that_cannot_be_read_keeps_the_worker_from_starting_and_says_why() -> TestResult {
    let site = Site::start().await?;
    let worker = site.worker(App::new(()).periodic(Periodic::cron("0 0 30 2 *", &Numbered(1))))?;
    let error = worker.result().await?.err().map(|error| error.to_string()).unwrap_or_default();
    assert!(error.contains("NumberedJob") && error.contains("0 0 30 2 *"), "{error}");
    assert_eq!(site.texts(&["KEYS", "*"]), Vec::<String>::new());
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_quiet_process_fires_nothing_tick_27() -> TestResult {
    let site = Site::start().await?;
    let slots = Seen::default();
    let worker = site.worker(noting(&slots).periodic(every_second("a")))?;
    reach("it fires", || slots.len() >= 2)?;
    worker.handle.quiet();
    reach("it is quiet", || site.waiting("default") == 0 && site.in_progress(&worker) == 0)?;
    let fired = || site.texts(&["KEYS", "periodic:last_slot:*"]).first().map(|key| site.text(&["GET", key]));
    let mut last = fired();
    // One that was under way may still come.
    reach("nothing fires for two seconds", || {
        let (before, since) = (last.clone(), std::time::Instant::now());
        let still = cogworker_testing::wait_until(Duration::from_secs(2), || fired() != before);
        last = fired();
        !still && since.elapsed() >= Duration::from_secs(2)
    })?;
    worker.handle.resume();
    reach("it fires again", || fired() != last)?;
    worker.stop().await
}
