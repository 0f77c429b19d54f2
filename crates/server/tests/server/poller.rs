//! Scheduled and retried jobs reach their queues when they are due.

use std::collections::HashSet;
use std::time::Duration;

use cogworker_core::new_job::NewJob;
use cogworker_core::time::EpochSeconds;
use cogworker_server::App;
use cogworker_testing::wait_until;
use serde_json::{Value, json};

use crate::support::{Numbered, Seen, Site, TestResult, reach, seconds_from_now};

/// A worker that polls and runs nothing: its queue stays empty.
fn poller(site: &Site) -> Result<crate::support::Worker, Box<dyn std::error::Error>> {
    site.worker_with(App::new(()), |config| config.queues = vec!["unused".into()])
}

fn add(site: &Site, set: &str, score: f64, entry: &str) -> TestResult {
    site.run(&["ZADD", &format!("cogworker:{set}"), &score.to_string(), entry])?;
    Ok(())
}

fn job(jid: &str, queue: &str) -> String {
    format!(r#"{{"class":"NumberedJob","args":[1],"queue":"{queue}","jid":"{jid}","enqueued_at":1.5}}"#)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn due_entries_of_both_sets_move_with_a_fresh_stamp_and_later_ones_stay_sched_01_to_04() -> TestResult {
    let site = Site::start().await?;
    let now = EpochSeconds::now().as_f64();
    add(&site, "schedule", now - 1.0, &job("s", "a"))?;
    add(&site, "schedule", now + 3600.0, &job("later", "b"))?;
    add(&site, "retry", now - 1.0, &job("r", "a"))?;
    let worker = poller(&site)?;
    reach("both moved", || site.waiting("a") == 2)?;
    assert_eq!((site.members("schedule"), site.members("retry"), site.waiting("b")), (1, 0, 0));
    for raw in site.texts(&["LRANGE", "cogworker:queue:a", "0", "-1"]) {
        let entry: Value = serde_json::from_str(&raw)?;
        assert!(seconds_from_now(&entry["enqueued_at"].to_string())?.abs() < 5.0, "{raw}");
        let jid = entry["jid"].as_str().unwrap_or_default();
        // Only the stamp, which stands last, differs.
        assert!(raw.starts_with(job(jid, "a").trim_end_matches("1.5}")), "{raw}");
    }
    assert!(site.texts(&["SMEMBERS", "cogworker:queues"]).contains(&"a".to_owned()));
    assert!(site.client.queue("a").info().await?.latency < Duration::from_secs(5));
    worker.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn jobs_scheduled_while_the_poller_sleeps_run_on_time_sched_11() -> TestResult {
    let site = Site::start().await?;
    let seen = Seen::default();
    let ran = seen.clone();
    let worker = site.worker(App::new(()).job(move |job: Numbered| {
        ran.add((job.0, EpochSeconds::now().as_f64()));
        async {}
    }))?;
    reach("the control channel is heard", || {
        site.texts(&["PUBSUB", "NUMSUB", "cogworker:wake"]).get(1).is_some_and(|count| count == "1")
    })?;
    // Each is known by another way: the first one wakes the poller, the others are the next it knows of.
    let begun = EpochSeconds::now();
    let due = |number: usize| begun.plus(Duration::from_millis(230 * (number as u64 + 1)));
    for number in 0..6 {
        site.client.push(NewJob::of(&Numbered(number)).at(due(number))).await?;
    }
    reach("the runs", || seen.len() == 6)?;
    let late: Vec<f64> = seen.all().iter().map(|(number, at)| at - due(*number).as_f64()).collect();
    assert!(late.iter().all(|late| *late >= 0.0), "early: {late:?}");
    // One may be held up by the machine; a poller that looks once a second is late with most of them.
    let on_time = late.iter().filter(|late| **late < 0.25).count();
    assert!(on_time >= 5, "{late:?}");
    worker.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_due_entry_that_is_no_job_is_buried_and_the_rest_still_moves_sched_05() -> TestResult {
    let site = Site::start().await?;
    let unusable = ["not json", r#"{"class":"NoQueue"}"#];
    for entry in unusable {
        add(&site, "retry", 1.0, entry)?;
    }
    add(&site, "retry", 2.0, &job("good", "a"))?;
    let worker = poller(&site)?;
    reach("the good one moved", || site.waiting("a") == 1)?;
    let mut raw = Vec::new();
    for entry in site.texts(&["ZRANGE", "cogworker:dead", "0", "-1"]) {
        let entry: Value = serde_json::from_str(&entry)?;
        assert_eq!((&entry["class"], &entry["queue"]), (&json!("(unparseable)"), &Value::Null));
        raw.push(entry["raw_payload"].as_str().unwrap_or_default().to_owned());
    }
    raw.sort();
    assert_eq!(raw, unusable);
    assert_eq!((site.members("retry"), site.failed()), (0, 2));
    worker.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_schedule_of_the_wrong_type_does_not_keep_retries_from_moving_sched_07() -> TestResult {
    let site = Site::start().await?;
    site.keep_damage()?;
    site.run(&["SET", "cogworker:schedule", "no set"])?;
    add(&site, "retry", 1.0, &job("r", "a"))?;
    let worker = poller(&site)?;
    reach("the retry moved", || site.waiting("a") == 1)?;
    worker.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_entry_whose_queue_is_no_list_waits_a_minute_and_starves_nobody_sched_08() -> TestResult {
    let site = Site::start().await?;
    site.keep_damage()?;
    site.run(&["SET", "cogworker:queue:bad", "no list"])?;
    add(&site, "schedule", 1.0, &job("stuck", "bad"))?;
    add(&site, "schedule", 2.0, &job("good", "a"))?;
    let worker = poller(&site)?;
    reach("the good one moved", || site.waiting("a") == 1)?;
    let scored = site.texts(&["ZRANGE", "cogworker:schedule", "0", "-1", "WITHSCORES"]);
    assert_eq!(scored[0], job("stuck", "bad"));
    let again_in = seconds_from_now(&scored[1])?;
    assert!((55.0..=65.0).contains(&again_in), "{again_in}");
    worker.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_quiet_process_moves_nothing_until_it_is_resumed_and_then_at_once_sched_10() -> TestResult {
    let site = Site::start().await?;
    let worker = poller(&site)?;
    worker.handle.quiet();
    reach("a beat shows it quiet", || site.text(&["HGET", &worker.key("process"), "quiet"]) == "true")?;
    add(&site, "schedule", 1.0, &job("s", "a"))?;
    site.run(&["PUBLISH", "cogworker:wake", ""])?;
    let moved = wait_until(Duration::from_millis(500), || site.waiting("a") > 0);
    assert!(!moved, "moved by a quiet process");
    worker.handle.resume();
    let moved = wait_until(Duration::from_secs(1), || site.waiting("a") == 1);
    assert!(moved, "not moved within a second of the resume");
    worker.stop().await
}

/// More due entries than a poller moves in the time of a few looks.
async fn long_drain(site: &Site) -> Result<i64, Box<dyn std::error::Error>> {
    let count = 40_000;
    let at = EpochSeconds::now();
    let jobs = (0..count).map(|n| NewJob::of(&Numbered(n)).queue("many").at(at)).collect();
    site.client.push_all(jobs).await?;
    Ok(count as i64)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_told_to_be_quiet_leaves_a_long_drain_sched_10() -> TestResult {
    let site = Site::start().await?;
    let count = long_drain(&site).await?;
    let worker = poller(&site)?;
    reach("the first are moved", || site.waiting("many") > 0)?;
    worker.handle.quiet();
    let drained = wait_until(Duration::from_millis(700), || site.members("schedule") == 0);
    assert!(!drained, "moved all though quiet");
    let left = site.members("schedule");
    let goes_on = wait_until(Duration::from_millis(300), || site.members("schedule") != left);
    assert!(!goes_on, "goes on though quiet");
    worker.handle.resume();
    reach("all are moved", || site.waiting("many") == count)?;
    worker.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_does_not_wait_for_a_long_drain_sched_10() -> TestResult {
    let site = Site::start().await?;
    let count = long_drain(&site).await?;
    let worker = poller(&site)?;
    reach("the first are moved", || site.waiting("many") > 0)?;
    worker.stop().await?;
    let (left, moved) = (site.members("schedule"), site.waiting("many"));
    assert!(left > 0, "moved all before it stopped");
    assert_eq!(left + moved, count);
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn four_pollers_move_each_of_ten_thousand_due_jobs_once_p_21() -> TestResult {
    let site = Site::start().await?;
    let at = EpochSeconds::now().plus(Duration::from_secs(1));
    let jobs = (0..10_000).map(|n| NewJob::of(&Numbered(n)).queue("many").at(at)).collect();
    site.client.push_all(jobs).await?;
    let workers = (0..4).map(|_| poller(&site)).collect::<Result<Vec<_>, _>>()?;
    reach("all moved", || site.members("schedule") == 0)?;
    let raw = site.texts(&["LRANGE", "cogworker:queue:many", "0", "-1"]);
    let numbers: HashSet<String> = raw
        .iter()
        .map(|raw| serde_json::from_str::<Value>(raw).map(|job| job["args"][0].to_string()))
        .collect::<Result<_, _>>()?;
    assert_eq!((raw.len(), numbers.len()), (10_000, 10_000));
    for worker in workers {
        worker.stop().await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requeueing_page_by_page_misses_none_p_22_claim_01() -> TestResult {
    let site = Site::start().await?;
    for number in 0..250 {
        add(&site, "retry", 4e9, &job(&number.to_string(), "a"))?;
    }
    let retries = site.client.retries();
    // Twice at the same time: each entry moves once.
    let requeue_all = async || -> TestResult {
        loop {
            let page = retries.page(0, 50).await?;
            if page.entries.is_empty() {
                return Ok(());
            }
            for entry in page.entries {
                retries.requeue(&entry.raw).await?;
            }
        }
    };
    let (first, second) = tokio::join!(requeue_all(), requeue_all());
    first?;
    second?;
    assert_eq!((site.members("retry"), site.waiting("a")), (0, 250));
    Ok(())
}
