//! What an application says about failures, and hears of deaths.

use std::time::Duration;

use cogworker_core::job::Job;
use cogworker_core::new_job::NewJob;
use cogworker_server::middleware::{Next, from_fn};
use cogworker_server::{App, FailedJob, JobError, RetryIn, Run};

use crate::support::{Log, Numbered, Seen, Site, TestResult, Text, reach, seconds_from_now};

/// Every run fails.
fn failing() -> App {
    App::new(()).job(|_: Numbered| async { Err::<(), _>(JobError::new("Boom", "no luck")) })
}

fn retry_score(site: &Site) -> Result<f64, Box<dyn std::error::Error>> {
    let entry = site.texts(&["ZRANGE", "cogworker:retry", "0", "-1", "WITHSCORES"]);
    seconds_from_now(entry.get(1).ok_or("nothing in retry")?)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_delay_is_kept_exactly_and_the_hook_is_told_what_happened_hook_01() -> TestResult {
    let site = Site::start().await?;
    let asked = Seen::default();
    let note = asked.clone();
    let app = failing().retry_in::<Numbered>(move |count, failure, job| {
        let args = job.read::<Numbered>().map(|job| job.0).unwrap_or_default();
        note.add((count, failure.class.clone(), failure.message.clone(), job.jid(), args));
        RetryIn::After(Duration::from_secs(600 << count))
    });
    let worker = site.worker(app)?;
    site.client.push(NewJob::of(&Numbered(5)).jid("j")).await?;
    for round in 0..3u32 {
        reach("it waits for its retry", || {
            site.failed() == i64::from(round) + 1 && site.members("retry") == 1
        })?;
        let (seconds, expected) = (retry_score(&site)?, f64::from(600 << round));
        assert!((seconds - expected).abs() < 2.0, "{seconds} after {round}");
        assert_eq!(site.only_entry("retry")?["retry_count"], round + 1);
        site.make_due("retry")?;
    }
    reach("the fourth", || site.failed() == 4)?;
    let expected = |count: u32| (count, "Boom".to_owned(), "no luck".to_owned(), "j".to_owned(), 5);
    assert_eq!(asked.all(), [0, 1, 2, 3].map(expected));
    worker.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fraction_of_a_second_is_kept_and_none_is_at_once_hook_02() -> TestResult {
    let site = Site::start().await?;
    let app = failing().retry_in::<Numbered>(|_, _, job| {
        RetryIn::After(Duration::from_millis(job.read::<Numbered>().map_or(0, |job| job.0 as u64)))
    });
    let worker = site.worker(app)?;
    site.client.push(NewJob::of(&Numbered(3_600_500)).retry(1)).await?;
    reach("it waits for its retry", || site.members("retry") == 1)?;
    let failed_at = site.only_entry("retry")?["failed_at"].as_f64().ok_or("no time")?;
    let score: f64 = site.texts(&["ZRANGE", "cogworker:retry", "0", "0", "WITHSCORES"])[1].parse()?;
    assert!((score - failed_at - 3600.5).abs() < 0.4, "{}", score - failed_at);
    site.client.push(NewJob::of(&Numbered(0)).jid("j").retry(1)).await?;
    reach("the second attempt failed too", || site.members("dead") == 1)?;
    let attempts = site.texts(&["LRANGE", "cogworker:job_attempts:j", "0", "-1"]);
    let time =
        |attempt: &String| serde_json::from_str::<serde_json::Value>(attempt).ok()?["failed_at"].as_f64();
    let times: Vec<f64> = attempts.iter().filter_map(time).collect();
    let [first, last] = times[..] else { return Err(format!("two attempts: {attempts:?}").into()) };
    assert!(last - first < 4.0, "before the next ordinary poll: {}", last - first);
    worker.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_delay_of_over_a_year_is_kept_with_a_warning_hook_08() -> TestResult {
    let (log, site) = (Log::of_this_process(), Site::start().await?);
    let days = |days: u64| Duration::from_secs(days * 24 * 3600);
    let app = failing().retry_in::<Numbered>(move |_, _, job| {
        RetryIn::After(days(job.read::<Numbered>().map_or(0, |job| job.0 as u64)))
    });
    let worker = site.worker(app)?;
    for (number, warnings) in [(365, 0), (400, 1)] {
        site.client.push(NewJob::of(&Numbered(number)).jid(format!("j{number}"))).await?;
        reach("it waits for its retry", || site.members("retry") == 1)?;
        let seconds = retry_score(&site)?;
        assert!((seconds - days(number as u64).as_secs_f64()).abs() < 2.0, "{seconds}");
        assert_eq!(log.count("retry_in: again in over a year"), warnings);
        site.run(&["DEL", "cogworker:retry"])?;
    }
    assert_eq!(log.lines("over a year")[0].matches("j400").count(), 1, "it names the job");
    worker.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_job_has_failed_whoever_raised_the_error_hook_11_hook_15_stat_07() -> TestResult {
    let site = Site::start().await?;
    let strict = from_fn(|run: Run, next: Next| async move {
        if run.jid().as_str() == "stopped" {
            return Err(JobError::new("Refused", "by the middleware"));
        }
        next.run(run).await
    });
    let app = || failing().status(Duration::from_secs(600)).retry_in::<Numbered>(|_, _, _| RetryIn::Kill);
    for (jid, app, class) in [("own", app(), "Boom"), ("stopped", app().middleware(strict), "Refused")] {
        let worker = site.worker(app)?;
        site.client.push(NewJob::of(&Numbered(1)).jid(jid).retry(10)).await?;
        reach("it is dead", || site.members("dead") == 1)?;
        assert_eq!(site.only_entry("dead")?["error_class"], class);
        let field = |name: &str| site.text(&["HGET", &format!("status:{jid}"), name]);
        assert_eq!((field("status"), field("error_class")), ("failed".to_owned(), class.to_owned()));
        assert_eq!(site.members("retry"), 0);
        worker.stop().await?;
        assert_eq!(field("status"), "failed", "and stays so");
        site.run(&["DEL", "cogworker:dead"])?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kill_buries_discard_forgets_and_a_panicking_hook_changes_nothing_hook_04_to_06() -> TestResult {
    let site = Site::start().await?;
    let deaths = Seen::default();
    let note = deaths.clone();
    let app = failing()
        .retry_in::<Numbered>(|_, _, job| match job.read::<Numbered>() {
            Ok(Numbered(1)) => RetryIn::Kill,
            Ok(Numbered(2)) => RetryIn::Discard,
            _ => panic!("the hook's own"),
        })
        .death_handler(move |job, _| {
            note.add(job.jid());
            async {}
        });
    let worker = site.worker(app)?;
    for number in 1..=3 {
        let job = NewJob::of(&Numbered(number)).jid(format!("j{number}")).set("unique", "until_executed");
        let args = format!("[{number}]");
        let digest = cogworker_core::digest::unique_digest("NumberedJob", "default", &args);
        site.run(&["SET", &format!("cogworker:unique:{digest}"), &format!("j{number}")])?;
        site.push_raw("default", {
            let mut job = job;
            job.prepare(cogworker_core::time::EpochSeconds::now())?;
            job.payload(None)
        })?;
    }
    reach("all are settled", || site.failed() == 3)?;
    let entry = site.only_entry("dead")?;
    assert_eq!(
        (&entry["jid"], &entry["retry_count"], &entry["error_class"]),
        (&"j1".into(), &1.into(), &"Boom".into())
    );
    assert_eq!(entry.get("failure_outcome"), None);
    assert_eq!(site.only_entry("retry")?["jid"], "j3");
    let seconds = retry_score(&site)?;
    assert!((14.0..=75.0).contains(&seconds), "{seconds}");
    assert_eq!(site.in_progress(&worker), 0);
    let outcome = |jid: &str| site.text(&["LINDEX", &format!("cogworker:job_attempts:{jid}"), "-1"]);
    assert!(outcome("j1").contains(r#""outcome":"killed""#), "{}", outcome("j1"));
    assert!(outcome("j2").contains(r#""outcome":"discarded""#), "{}", outcome("j2"));
    assert_eq!(site.texts(&["KEYS", "cogworker:unique:*"]).len(), 1, "only the retry holds its lock");
    worker.stop().await?;
    assert_eq!(deaths.all(), ["j1"]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_hook_is_not_asked_about_the_last_failure_hook_07() -> TestResult {
    let site = Site::start().await?;
    let asked = Seen::default();
    let note = asked.clone();
    let app = failing().retry_in::<Numbered>(move |count, _, _| {
        note.add(count);
        RetryIn::After(Duration::ZERO)
    });
    let worker = site.worker(app)?;
    site.client.push(NewJob::of(&Numbered(1)).retry(1)).await?;
    site.client.push(NewJob::of(&Numbered(2)).retry(false)).await?;
    reach("both are dead", || site.members("dead") == 2)?;
    assert_eq!(asked.all(), [0]);
    worker.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deaths_are_told_once_after_the_fact_and_in_order_death_01_to_10() -> TestResult {
    let site = Site::start().await?;
    let told = Seen::default();
    let (own, first, last) = (told.clone(), told.clone(), told.clone());
    let url = site.redis.url();
    let app = failing()
        .retries_exhausted::<Numbered, _, _>(move |job: FailedJob, failure| {
            let (own, url) = (own.clone(), url.clone());
            async move {
                let Ok(redis) = cogworker_core::redis_config::RedisConfig::new(&url) else { return };
                let Ok(client) = cogworker_client::Client::connect(&redis).await else { return };
                let stats = client.stats().await.ok();
                let dead = stats.and_then(|stats| stats.dead);
                own.add(format!("own {} {} {dead:?}", failure.message, String::from_utf8_lossy(job.raw())));
                client.close().await;
            }
        })
        .death_handler(move |job, _| {
            first.add(format!("first {}", job.jid()));
            async { panic!("a hook's own") }
        })
        .death_handler(move |job, _| {
            last.add(format!("last {}", job.class()));
            async {}
        });
    let worker = site.worker(app)?;
    site.client.push(NewJob::of(&Numbered(1)).jid("j").retry(false)).await?;
    site.push_raw("default", "no job at all")?;
    reach("both are dead", || site.members("dead") == 2)?;
    let entries = site.texts(&["ZRANGE", "cogworker:dead", "0", "-1"]);
    let entry = entries.iter().find(|entry| entry.contains("NumberedJob")).ok_or("the job is dead")?;
    worker.stop().await?;
    let own = told.all().first().cloned().unwrap_or_default();
    assert!(own.starts_with(&format!("own no luck {entry} Some(")), "{own}");
    assert_eq!(
        told.all()[1..],
        ["first j".to_owned(), format!("last {}", Numbered::CLASS)],
        "none for what is no job"
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deaths_filed_later_are_told_too_by_a_class_of_their_own_death_06_death_07_death_18() -> TestResult {
    let site = Site::start().await?;
    let job = |jid: &str| format!(r#"{{"class":"TextJob","args":["x"],"queue":"default","jid":"{jid}"}}"#);
    let died = |jid: &str| {
        let job = job(jid);
        format!(r#"{},"error_class":"Boom","error_message":"long ago"}}"#, job.trim_end_matches('}'))
    };
    for (set, jid) in [("dead", "filed"), ("retry", "retried")] {
        let payload = serde_json::to_string(&died(jid))?;
        let record = format!(r#"{{"set":"cogworker:{set}","score":9999999999,"payload":{payload}}}"#);
        site.run(&["RPUSH", "cogworker:unsettled", &record])?;
    }
    // What is no job has no death.
    site.run(&["RPUSH", "cogworker:repeat_orphans", &job("parked"), "no job at all"])?;
    site.run(&["SADD", "cogworker:inprogress_identities", "dead:1:aaaaaaaaaaaa"])?;
    site.run(&["LPUSH", "cogworker:inprogress:dead:1:aaaaaaaaaaaa", &job("again")])?;
    site.run(&["SET", "cogworker:orphanings:again", "3"])?;
    let told = Seen::default();
    let note = told.clone();
    let app = App::new(()).job(|_: Text| async {}).death_handler(move |job, failure| {
        let stored = job.field("error_class").unwrap_or_default();
        note.add(format!("{} {stored} {}: {}", job.jid(), failure.class, failure.message));
        async {}
    });
    let worker = site.worker(app)?;
    reach("all are told", || told.len() == 3)?;
    reach("all are dead", || site.members("dead") == 4)?;
    worker.stop().await?;
    let mut told = told.all();
    told.sort();
    let orphaned = r#""Cogworker::ProcessDied" Cogworker::JobOrphanedError: orphaned more than 3 times"#;
    assert!(told[0].starts_with(&format!("again {orphaned}")), "{told:?}");
    assert_eq!(told[1], r#"filed "Boom" Cogworker::JobFailedError: long ago"#);
    assert!(told[2].starts_with(&format!("parked {orphaned}")), "{told:?}");
    Ok(())
}
