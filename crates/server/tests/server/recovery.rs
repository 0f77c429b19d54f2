//! What dead and stopped processes leave comes back.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use cogworker_core::new_job::NewJob;
use cogworker_server::{App, Config, JobError};

use crate::support::{Gate, Numbered, Seen, Site, TestResult, Text, reach};

const DEAD: &str = "dead-host:1:aaaaaaaaaaaa";
const LIST: &str = "cogworker:inprogress:dead-host:1:aaaaaaaaaaaa";

/// Looks for orphans several times a second.
pub(crate) fn often(config: &mut Config) {
    config.timings.check = Duration::from_millis(200);
}

/// Notes the numbers it runs.
pub(crate) fn noting(seen: &Seen<usize>) -> App {
    let seen = seen.clone();
    App::new(()).job(move |job: Numbered| {
        let seen = seen.clone();
        async move { seen.add(job.0) }
    })
}

pub(crate) fn job(number: usize, queue: &str) -> String {
    format!(r#"{{"class":"NumberedJob","args":[{number}],"queue":"{queue}","jid":"j{number}"}}"#)
}

/// Lets a dead process hold jobs, the first being the oldest.
pub(crate) fn leave(site: &Site, jobs: &[String]) -> TestResult {
    for jobs in jobs.chunks(500) {
        let jobs = jobs.iter().map(String::as_str);
        site.run(&["LPUSH", LIST].into_iter().chain(jobs).collect::<Vec<_>>())?;
    }
    site.run(&["SADD", "cogworker:inprogress_identities", DEAD])?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn jobs_of_a_dead_process_run_elsewhere_oldest_first_orph_04_orph_05() -> TestResult {
    let site = Site::start().await?;
    // More than one call takes.
    let jobs: Vec<_> = (0..1203).map(|number| job(number, "default")).collect();
    leave(&site, &jobs)?;
    site.run(&["HSET", "cogworker:last_beat", DEAD, "1000"])?;
    site.run(&["SADD", "cogworker:processes", DEAD])?;
    let seen = Seen::default();
    let worker = site.worker_with(noting(&seen), |config| {
        often(config);
        config.concurrency = 1;
        config.queues = vec!["other".into()];
    })?;
    reach("they are back on their queue", || site.waiting("default") == 1203)?;
    let order = site.texts(&["LRANGE", "cogworker:queue:default", "-2", "-1"]);
    assert_eq!(order, [job(1, "default"), job(0, "default")], "the oldest is taken next");
    reach("the process is signed off", || {
        site.int(&["SISMEMBER", "cogworker:inprogress_identities", DEAD]) == 0
            && site.int(&["HEXISTS", "cogworker:last_beat", DEAD]) == 0
            && site.int(&["SISMEMBER", "cogworker:processes", DEAD]) == 0
    })?;
    worker.stop().await?;
    let worker = site.worker(noting(&seen))?;
    reach("all run", || site.processed() == 1203)?;
    assert_eq!(seen.len(), 1203);
    worker.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn several_processes_recover_the_same_dead_one_and_put_each_job_back_once() -> TestResult {
    const JOBS: usize = 5000;
    let site = Site::start().await?;
    let seen = Seen::default();
    let mut workers = Vec::new();
    for _ in 0..4 {
        workers.push(site.worker_with(noting(&seen), |config| {
            config.timings.check = Duration::from_millis(50);
            config.queues = vec!["other".into()];
        })?);
    }
    reach("all look for orphans", || site.int(&["SCARD", "cogworker:processes"]) == 4)?;
    leave(&site, &(0..JOBS).map(|number| job(number, "default")).collect::<Vec<_>>())?;
    reach("the process is signed off", || {
        site.int(&["SISMEMBER", "cogworker:inprogress_identities", DEAD]) == 0
    })?;
    let jobs = site.texts(&["LRANGE", "cogworker:queue:default", "0", "-1"]);
    assert_eq!((jobs.iter().collect::<HashSet<_>>().len(), jobs.len()), (JOBS, JOBS));
    assert_eq!(site.int(&["EXISTS", LIST, "cogworker:repeat_orphans", "cogworker:dead"]), 0);
    for number in [0, JOBS / 2, JOBS - 1] {
        let counter = format!("cogworker:orphanings:j{number}");
        assert_eq!(site.text(&["GET", &counter]), "1", "counted once");
    }
    for worker in workers {
        worker.stop().await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_list_without_a_registration_is_found_once_by_a_scan_orph_01_orph_15_sched_17() -> TestResult {
    let site = Site::start().await?;
    leave(&site, &[job(1, "default")])?;
    // Neither a registry of the wrong type nor a list of the wrong type stops the others.
    site.run(&["DEL", "cogworker:inprogress_identities"])?;
    site.keep_damage()?;
    site.run(&["SET", "cogworker:inprogress_identities", "x"])?;
    site.run(&["SET", "cogworker:inprogress:a:1:bbbbbbbbbbbb", "x"])?;
    let seen = Seen::default();
    let worker = site.worker_with(noting(&seen), often)?;
    reach("it runs here", || seen.len() == 1)?;
    worker.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_that_beat_lately_keeps_its_jobs_until_the_threshold_orph_06_orph_09() -> TestResult {
    let site = Site::start().await?;
    leave(&site, &[job(1, "default")])?;
    let now: i64 = site.texts(&["TIME"])[0].parse()?;
    let seen = Seen::default();
    let worker = site.worker_with(noting(&seen), |config| {
        often(config);
        config.orphan_threshold = Duration::from_secs(60);
    })?;
    let stamp = |age: i64| site.run(&["HSET", "cogworker:last_beat", DEAD, &(now - age).to_string()]);
    stamp(20)?;
    // A second dead process shows that a pass went by.
    site.run(&["SADD", "cogworker:inprogress_identities", "other:1:bbbbbbbbbbbb"])?;
    reach("a pass", || {
        site.int(&["SISMEMBER", "cogworker:inprogress_identities", "other:1:bbbbbbbbbbbb"]) == 0
    })?;
    assert_eq!((site.int(&["LLEN", LIST]), seen.len()), (1, 0));
    assert_eq!(site.int(&["SISMEMBER", "cogworker:inprogress_identities", DEAD]), 1);
    stamp(61)?;
    reach("it runs here", || seen.len() == 1)?;
    worker.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_whose_process_keeps_dying_ends_in_dead_maxo_01_dead_11() -> TestResult {
    let site = Site::start().await?;
    let worker = site.worker_with(noting(&Seen::default()), |config| {
        often(config);
        config.max_orphanings = 2;
        config.queues = vec!["other".into()];
    })?;
    for round in 1..=2 {
        leave(&site, &[job(7, "default")])?;
        reach("it is requeued", || site.waiting("default") == 1)?;
        assert_eq!(site.text(&["GET", "cogworker:orphanings:j7"]), round.to_string());
        site.run(&["DEL", "cogworker:queue:default"])?;
    }
    leave(&site, &[job(7, "default")])?;
    reach("it is dead", || site.members("dead") == 1)?;
    let entry = site.only_entry("dead")?;
    assert_eq!(entry["error_class"], "Cogworker::ProcessDied");
    assert!(entry["error_message"].as_str().is_some_and(|text| text.contains("orphaned more than 2 times")));
    assert_eq!((&entry["jid"], &entry["retry_count"]), (&"j7".into(), &1.into()));
    assert!(entry["failed_at"].is_f64());
    assert_eq!((site.waiting("default"), site.failed()), (0, 1));
    assert_eq!(site.int(&["EXISTS", "cogworker:orphanings:j7"]), 0);
    worker.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn parked_and_half_buried_orphans_are_filed_maxo_03_maxo_10() -> TestResult {
    let site = Site::start().await?;
    site.run(&["RPUSH", "cogworker:repeat_orphans", &job(1, "default")])?;
    site.run(&["ZADD", "cogworker:dead", "12", &job(2, "default")])?;
    for jid in ["j1", "j2"] {
        site.run(&["SET", &format!("cogworker:orphanings:{jid}"), "4"])?;
    }
    let worker = site.worker_with(noting(&Seen::default()), often)?;
    reach("both are counted", || site.failed() == 2)?;
    let entries = site.texts(&["ZRANGE", "cogworker:dead", "0", "-1"]);
    assert_eq!(entries.len(), 2);
    assert!(
        entries.iter().all(|entry| entry.contains(r#""error_class":"Cogworker::ProcessDied""#)),
        "{entries:?}"
    );
    assert_eq!(
        site.int(&[
            "EXISTS",
            "cogworker:repeat_orphans",
            "cogworker:orphanings:j1",
            "cogworker:orphanings:j2"
        ]),
        0
    );
    worker.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_death_that_cannot_be_filed_is_handed_over_and_filed_later_uns_01_int_11() -> TestResult {
    let site = Site::start().await?;
    site.keep_damage()?;
    site.run(&["SET", "cogworker:dead", "no set"])?;
    let ran = Gate::closed();
    ran.let_pass(1);
    let inside = ran.clone();
    let app = App::new(()).job(move |_: Text| {
        let inside = inside.clone();
        async move {
            inside.pass().await;
            Err::<(), _>(JobError::new("Boom", "no"))
        }
    });
    let worker = site.worker(app)?;
    site.client.push(NewJob::of(&Text("x".into())).jid("j").retry(false)).await?;
    reach("it ran", || ran.arrived() == 1)?;
    let list = worker.key("inprogress");
    worker.stop().await?;
    assert_eq!((site.int(&["LLEN", &list]), site.waiting("default")), (0, 0));
    let records = site.texts(&["LRANGE", "cogworker:unsettled", "0", "-1"]);
    let record: serde_json::Value = serde_json::from_str(&records[0])?;
    assert_eq!((records.len(), &record["set"]), (1, &"cogworker:dead".into()));
    assert_eq!(site.failed(), 1);

    site.run(&["DEL", "cogworker:dead"])?;
    site.run(&[
        "RPUSH",
        "cogworker:unsettled",
        "junk",
        r#"{"set":"cogworker:queues","score":1,"payload":"{}"}"#,
    ])?;
    let worker = site.worker_with(noting(&Seen::default()), often)?;
    reach("it is filed", || site.members("dead") == 1)?;
    reach("unusable records are set aside", || {
        site.int(&["LLEN", "cogworker:quarantine:cogworker:unsettled:records"]) == 2
    })?;
    let entry = site.only_entry("dead")?;
    assert_eq!((&entry["jid"], &entry["error_class"]), (&"j".into(), &"Boom".into()));
    assert_eq!((site.failed(), site.int(&["EXISTS", "cogworker:unsettled"])), (1, 0), "counted once");
    worker.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_outcome_holds_up_no_other() -> TestResult {
    let site = Site::start().await?;
    site.keep_damage()?;
    site.run(&["SET", "cogworker:dead", "no set"])?;
    let app = App::new(()).job(|job: Numbered| async move {
        if job.0 == 0 { Err(JobError::new("Boom", "no")) } else { Ok(()) }
    });
    let worker = site.worker(app)?;
    site.client.push(NewJob::of(&Numbered(0)).retry(false)).await?;
    reach("its outcome was refused", || site.in_progress(&worker) == 1)?;
    let begun = std::time::Instant::now();
    for round in 1..=5 {
        site.client.perform_async(&Numbered(round)).await?;
        reach("the next is settled", || site.processed() == round as i64)?;
    }
    // Each would have waited up to a second for its turn.
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
    site.run(&["DEL", "cogworker:dead"])?;
    reach("it is filed", || site.members("dead") == 1 && site.in_progress(&worker) == 0)?;
    assert_eq!(site.failed(), 1);
    worker.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_queue_that_cannot_be_read_holds_up_no_other_orph_10_orph_11() -> TestResult {
    let site = Site::start().await?;
    site.keep_damage()?;
    site.run(&["SET", "cogworker:queue:bad", "no list"])?;
    leave(&site, &[job(1, "default"), job(2, "bad"), job(3, "default")])?;
    let seen = Seen::default();
    let worker = site.worker_with(noting(&seen), |config| {
        often(config);
        config.queues = vec!["bad".into(), "default".into()];
    })?;
    reach("the others run", || seen.len() == 2)?;
    assert_eq!(site.texts(&["LRANGE", LIST, "0", "-1"]), [job(2, "bad")]);
    site.run(&["DEL", "cogworker:queue:bad"])?;
    reach("it runs in the end", || seen.len() == 3)?;
    worker.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn large_jobs_of_a_dead_process_come_back_while_small_ones_run_on_time() -> TestResult {
    const JOBS: usize = 300;
    const TOO_OFTEN: usize = 20;
    let site = Site::start().await?;
    let padding = "x".repeat(1 << 20);
    for number in 0..JOBS {
        let large = job(number, "large").replacen('{', &format!(r#"{{"padding":"{padding}","#), 1);
        site.run(&["LPUSH", LIST, &large])?;
        if number < TOO_OFTEN {
            site.run(&["SET", &format!("cogworker:orphanings:j{number}"), "3"])?;
        }
    }
    let seen = Seen::default();
    let worker = site.worker_with(noting(&seen), often)?;
    site.client.perform_async(&Numbered(0)).await?;
    reach("it works", || seen.len() == 1)?;
    site.run(&["SADD", "cogworker:inprogress_identities", DEAD])?;
    let (mut rounds, mut slowest) = (1, Duration::ZERO);
    let begun = Instant::now();
    while site.int(&["SISMEMBER", "cogworker:inprogress_identities", DEAD]) != 0 {
        rounds += 1;
        let pushed = Instant::now();
        site.client.perform_async(&Numbered(rounds)).await?;
        reach("it runs", || seen.len() == rounds)?;
        slowest = slowest.max(pushed.elapsed());
        assert!(begun.elapsed() < Duration::from_secs(60), "not recovered: {}", site.int(&["LLEN", LIST]));
    }
    assert!(slowest < Duration::from_secs(1), "the slowest of {rounds} took {slowest:?}");
    assert_eq!(site.waiting("large") as usize, JOBS - TOO_OFTEN);
    assert_eq!((site.members("dead") as usize, site.failed() as usize), (TOO_OFTEN, TOO_OFTEN));
    worker.stop().await
}

/// How often a command was called, also inside scripts.
fn calls(site: &Site, command: &str) -> u64 {
    let stats = site.text(&["INFO", "commandstats"]);
    let line = stats.lines().find_map(|line| line.strip_prefix(&format!("cmdstat_{command}:calls=")));
    line.and_then(|line| line.split(',').next()).and_then(|calls| calls.parse().ok()).unwrap_or(0)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pass_makes_no_call_of_its_own_for_each_live_process_and_reads_none_of_its_jobs() -> TestResult {
    const LIVE: u64 = 300;
    let site = Site::start().await?;
    for number in 0..LIVE {
        let identity = format!("live:{number}:aaaaaaaaaaaa");
        site.run(&["SADD", "cogworker:inprogress_identities", &identity])?;
        site.run(&["HSET", &format!("cogworker:process:{identity}"), "busy", "1"])?;
        site.run(&["LPUSH", &format!("cogworker:inprogress:{identity}"), &job(1, "default")])?;
    }
    let worker = site.worker_with(noting(&Seen::default()), often)?;
    reach("it waits", || site.text(&["CLIENT", "LIST"]).contains("cmd=blmove"))?;
    let before = (calls(&site, "evalsha"), calls(&site, "lindex"));
    for pass in 1..=3 {
        site.run(&["SADD", "cogworker:inprogress_identities", DEAD])?;
        reach("a pass", || site.int(&["SISMEMBER", "cogworker:inprogress_identities", DEAD]) == 0)?;
        let (sent, read) = (calls(&site, "evalsha") - before.0, calls(&site, "lindex") - before.1);
        assert!(sent < LIVE / 3 * pass && read < LIVE / 3 * pass, "{pass}: {sent} calls, {read} reads");
    }
    worker.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn raw_burials_are_completed_however_many_entries_are_newer_maxo_10() -> TestResult {
    let site = Site::start().await?;
    let now: i64 = site.texts(&["TIME"])[0].parse()?;
    let bury_under_600 = |number: usize, score: i64| {
        site.run(&["SET", &format!("cogworker:orphanings:j{number}"), "4"])?;
        for newer in 0..600 {
            let entry = format!(r#"{{"class":"A","jid":"n{newer}","error_class":"E","number":{number}}}"#);
            site.run(&["ZADD", "cogworker:dead", &(score + 1).to_string(), &entry])?;
        }
        site.run(&["ZADD", "cogworker:dead", &score.to_string(), &job(number, "default")])
    };
    bury_under_600(1, now - 86_400)?;
    let worker = site.worker_with(noting(&Seen::default()), often)?;
    reach("an old one is completed at the start", || site.failed() == 1)?;
    // A mass failure since the last pass.
    bury_under_600(2, now - 30)?;
    reach("a new one is completed by a later pass", || site.failed() == 2)?;
    let entries = site.texts(&["ZRANGE", "cogworker:dead", "0", "-1"]);
    let completed = entries.iter().filter(|entry| entry.contains("Cogworker::ProcessDied")).count();
    assert_eq!((entries.len(), completed), (1202, 2));
    worker.stop().await
}
