//! Keys of the wrong type are moved away, and work goes on with fresh ones.

use std::time::Duration;

use cogworker_client::Client;
use cogworker_core::redis_config::RedisConfig;
use cogworker_server::{App, Config, JobError};
use cogworker_testing::TestRedis;

use crate::support::{Log, Numbered, Seen, Site, TestResult, Worker, reach, seconds_from_now, start_worker};

const PJID: &str = "0123456789abcdef0123456789abcdef01234567";

/// Checks so often that a test need not wait.
fn often(config: &mut Config) {
    config.timings.check = Duration::from_millis(50);
}

/// A worker on a queue that nothing is pushed to.
fn idle_worker(
    site: &Site,
    configure: impl FnOnce(&mut Config),
) -> Result<Worker, Box<dyn std::error::Error>> {
    site.worker_with(App::new(()), configure)
}

fn noting(seen: &Seen<usize>) -> App {
    let seen = seen.clone();
    App::new(()).job(move |job: Numbered| {
        let seen = seen.clone();
        async move { seen.add(job.0) }
    })
}

/// The copies of exactly this key, oldest first.
fn copies(site: &Site, key: &str) -> Vec<String> {
    let start = format!("cogworker:quarantine:{key}:");
    let is_copy = |name: &String| {
        let rest = name.strip_prefix(&start).and_then(|rest| rest.split_once(':'));
        rest.is_some_and(|(ms, hex)| ms.parse::<u64>().is_ok() && hex.len() == 8)
    };
    let mut found = site.texts(&["KEYS", "cogworker:quarantine:*"]);
    found.retain(is_copy);
    found.sort_by_key(|name| name.rsplit(':').nth(1).and_then(|ms| ms.parse::<u64>().ok()));
    found
}

fn exists(site: &Site, key: &str) -> bool {
    site.int(&["EXISTS", key]) == 1
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fixed_keys_of_the_wrong_type_are_moved_with_their_data_at_boot_guard_01_09() -> TestResult {
    let site = Site::start().await?;
    let damaged = [
        "schedule",
        "retry",
        "dead",
        "live_queues",
        "queues",
        "processes",
        "paused_queues",
        "inprogress_identities",
        "last_beat",
        "repeat_orphans",
        "unsettled",
        "stats:processed",
        "stats:failed",
    ];
    let damaged = damaged.map(|name| format!("cogworker:{name}"));
    let periodic = ["periodic:schedule", "periodic:disabled"].map(String::from);
    let all: Vec<&String> = damaged.iter().chain(&periodic).collect();
    for key in &all {
        site.run(&["XADD", key, "*", "is", "data"])?;
    }
    site.run(&["SET", "cogworker:job_attempts:j", "another's business"])?;
    let worker = idle_worker(&site, |_| {})?;
    reach("all are moved", || all.iter().all(|key| copies(&site, key).len() == 1))?;
    for key in all {
        let copy = &copies(&site, key)[0];
        assert_eq!(site.int(&["XLEN", copy]), 1, "{copy}");
        assert!((2_591_000..=2_592_000).contains(&site.int(&["TTL", copy])), "{copy}");
        let named: Vec<&str> = copy.rsplitn(3, ':').collect();
        let seconds = named[1].parse::<f64>()? / 1000.0;
        assert!(seconds_from_now(&seconds.to_string())?.abs() < 30.0, "{copy}");
        assert!(named[0].chars().all(|c| c.is_ascii_digit() || ('a'..='f').contains(&c)), "{copy}");
    }
    assert_eq!(site.text(&["TYPE", "cogworker:job_attempts:j"]), "string");
    worker.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_of_the_right_type_are_left_alone_guard_01() -> TestResult {
    let site = Site::start().await?;
    site.run(&["ZADD", "cogworker:dead", "1", "entry"])?;
    site.run(&["RPUSH", "cogworker:unsettled", "record"])?;
    site.run(&["SET", "cogworker:retry", "the only damage"])?;
    let worker = idle_worker(&site, |_| {})?;
    reach("the damage is moved", || copies(&site, "cogworker:retry").len() == 1)?;
    assert_eq!(site.texts(&["KEYS", "cogworker:quarantine:*"]).len(), 1);
    assert_eq!((site.members("dead"), site.int(&["LLEN", "cogworker:unsettled"])), (1, 1));
    worker.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn queues_are_checked_that_are_read_or_listed_guard_02() -> TestResult {
    let site = Site::start().await?;
    site.run(&["SADD", "cogworker:queues", "listed", "a:b", "a*b"])?;
    for queue in ["read", "listed", "a:b", "a*b", "a", "aXb", "unknown"] {
        site.run(&["SET", &format!("cogworker:queue:{queue}"), queue])?;
    }
    let worker = idle_worker(&site, |config| config.queues = vec!["read".into()])?;
    for queue in ["read", "listed", "a:b", "a*b"] {
        let key = format!("cogworker:queue:{queue}");
        reach(queue, || copies(&site, &key).len() == 1)?;
        assert_eq!(site.text(&["GET", &copies(&site, &key)[0]]), queue);
    }
    for queue in ["a", "aXb", "unknown"] {
        assert!(exists(&site, &format!("cogworker:queue:{queue}")), "{queue} is no one's queue");
    }
    worker.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn more_queues_than_one_page_holds_are_all_checked_guard_02() -> TestResult {
    let site = Site::start().await?;
    let names: Vec<String> = (0..1200).map(|number| format!("queue-{number}")).collect();
    let mut add = vec!["SADD".to_owned(), "cogworker:queues".to_owned()];
    add.extend(names.iter().cloned());
    site.run(&add)?;
    let mut set = vec!["MSET".to_owned()];
    set.extend(names.iter().flat_map(|name| [format!("cogworker:queue:{name}"), "x".to_owned()]));
    site.run(&set)?;
    let worker = idle_worker(&site, |_| {})?;
    reach("all are moved", || site.texts(&["KEYS", "cogworker:quarantine:*"]).len() == 1200)?;
    assert!(site.texts(&["KEYS", "cogworker:queue:*"]).is_empty());
    worker.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_of_every_registered_process_are_checked_guard_03() -> TestResult {
    let site = Site::start().await?;
    site.run(&["SADD", "cogworker:processes", "alive:1:abc"])?;
    site.run(&["SADD", "cogworker:inprogress_identities", "gone:1:abc"])?;
    let mut damaged = Vec::new();
    for identity in ["alive:1:abc", "gone:1:abc"] {
        for kind in ["inprogress", "process", "workers"] {
            damaged.push(format!("cogworker:{kind}:{identity}"));
        }
    }
    for key in &damaged {
        site.run(&["SET", key, "x"])?;
    }
    site.run(&["SET", "cogworker:inprogress:stranger:1:abc", "x"])?;
    let worker = idle_worker(&site, |_| {})?;
    for key in &damaged {
        reach(key, || copies(&site, key).len() == 1 && !exists(&site, key))?;
    }
    assert!(exists(&site, "cogworker:inprogress:stranger:1:abc"));
    worker.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_damaged_registry_is_moved_and_what_it_named_is_not_looked_at_guard_04() -> TestResult {
    let site = Site::start().await?;
    site.run(&["RPUSH", "cogworker:queues", "named"])?;
    site.run(&["SET", "cogworker:queue:named", "x"])?;
    let worker = idle_worker(&site, often)?;
    reach("the registry is moved", || copies(&site, "cogworker:queues").len() == 1)?;
    // When this is moved, the check that moved the registry has ended.
    site.run(&["SET", "cogworker:dead", "x"])?;
    reach("a later check", || copies(&site, "cogworker:dead").len() == 1)?;
    assert!(exists(&site, "cogworker:queue:named"));
    site.run(&["SADD", "cogworker:queues", "named"])?;
    reach("the listed queue is moved", || copies(&site, "cogworker:queue:named").len() == 1)?;
    worker.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_locks_and_slots_of_published_periodic_entries_are_checked_guard_05() -> TestResult {
    let site = Site::start().await?;
    site.run(&["HSET", "periodic:schedule", PJID, r#"{"cron":"* * * * *"}"#])?;
    let damaged = [format!("periodic:running:{PJID}"), format!("periodic:last_slot:{PJID}")];
    for key in damaged.iter().map(String::as_str).chain(["periodic:running:unpublished"]) {
        site.run(&["RPUSH", key, "x"])?;
    }
    let worker = idle_worker(&site, |_| {})?;
    for key in &damaged {
        reach(key, || copies(&site, key).len() == 1 && !exists(&site, key))?;
    }
    assert!(exists(&site, "periodic:running:unpublished"));
    assert!(exists(&site, "periodic:schedule"));
    worker.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_the_five_newest_copies_of_exactly_that_key_are_kept_guard_06_07_08() -> TestResult {
    let site = Site::start().await?;
    let queue = "cogworker:queue:";
    // Neighbours: names that start the same, or that its name matches as a pattern.
    let neighbours = ["a*b:c", "aXb", "a*b:1796004601196:0123abcd", "a"];
    for name in neighbours.iter().chain(&["a*b"]) {
        for ms in 1..=7 {
            site.run(&["SET", &format!("cogworker:quarantine:{queue}{name}:{ms}:0123abc{ms}"), "old"])?;
        }
    }
    let records = "cogworker:quarantine:cogworker:unsettled:records";
    site.run(&["RPUSH", records, "record"])?;
    let key = format!("{queue}a*b");
    let worker = idle_worker(&site, |config| {
        often(config);
        config.queues = vec!["a*b".into()];
    })?;
    let mut newest = Vec::new();
    for round in 1..=7 {
        site.run(&["SET", &key, &round.to_string()])?;
        reach("it is moved and the oldest are gone", || {
            !exists(&site, &key) && copies(&site, &key).len() == 5
        })?;
        newest = copies(&site, &key);
        assert_eq!(site.text(&["GET", &newest[4]]), round.to_string(), "GUARD-06: each has its own copy");
    }
    let kept: Vec<String> = newest.iter().map(|copy| site.text(&["GET", copy])).collect();
    assert_eq!(kept, ["3", "4", "5", "6", "7"]);
    for name in neighbours {
        assert_eq!(copies(&site, &format!("{queue}{name}")).len(), 7, "{name}");
    }
    assert!(exists(&site, records));
    worker.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_prefix_with_glob_characters_moves_and_prunes_only_its_own_keys_guard_08() -> TestResult {
    let redis = TestRedis::start()?;
    let url = redis.url();
    let site = Site { client: Client::connect(&RedisConfig::new(&url)?).await?, redis };
    site.run(&["SET", "cogworker:dead", "another installation's"])?;
    for prefix in ["[c]*:", "c!:"] {
        for ms in 1..=7 {
            let copy = format!("{prefix}cogworker:quarantine:cogworker:dead:{ms}:0123abc{ms}");
            site.run(&["SET", &copy, "old"])?;
        }
    }
    let own = |site: &Site| site.texts(&["KEYS", r"\[c\]\*:cogworker:quarantine:*"]);
    site.run(&["SET", "[c]*:cogworker:dead", "new"])?;
    let worker = start_worker(&url, App::new(()), |config| {
        often(config);
        config.redis.key_prefix = Some("[c]*:".into());
    })?;
    reach("it is moved and the oldest are gone", || own(&site).len() == 5)?;
    let values: Vec<String> = own(&site).iter().map(|copy| site.text(&["GET", copy])).collect();
    assert_eq!(values.iter().filter(|value| *value == "new").count(), 1);
    assert_eq!(site.texts(&["KEYS", "c!:cogworker:quarantine:*"]).len(), 7);
    assert!(exists(&site, "cogworker:dead"));
    worker.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_fetched_before_the_check_at_boot_and_the_registration_it_made_possible_guard_09()
-> TestResult {
    let site = Site::start().await?;
    let damaged = ["cogworker:queue:default", "cogworker:processes"];
    for key in damaged {
        site.run(&["SET", key, "x"])?;
    }
    let mut monitor = site.redis.connect()?;
    monitor.command(&["MONITOR"])?;
    let seen = Seen::default();
    let worker = site.worker(noting(&seen))?;
    let mut steps = Vec::new();
    loop {
        let reply = monitor.read()?;
        let line = reply.as_str().unwrap_or_default();
        // Scripts are sent as text once: only what they run counts.
        let runs = |command: &str| line.contains("lua]") && line.contains(command);
        if damaged.iter().any(|key| runs(&format!(r#""RENAMENX" "{key}""#))) {
            steps.push("moved");
        } else if runs(r#""SADD" "cogworker:processes""#) {
            steps.push("registered");
        } else if runs(r#""LRANGE" "cogworker:queue:default""#)
            || ["blmove", "brpop"].iter().any(|wait| line.to_lowercase().contains(&format!(r#""{wait}""#)))
        {
            break;
        }
    }
    assert_eq!(steps, ["registered", "moved", "moved", "registered"], "the first registration is refused");
    site.client.perform_async(&Numbered(1)).await?;
    reach("the run", || seen.len() == 1)?;
    worker.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_queue_damaged_while_the_worker_runs_is_served_again_after_the_next_check() -> TestResult {
    let site = Site::start().await?;
    let seen = Seen::default();
    let worker = site.worker_with(noting(&seen), often)?;
    for round in 1..=2 {
        site.client.perform_async(&Numbered(round)).await?;
        reach("the run", || seen.len() == round)?;
        site.run(&["SET", "cogworker:queue:default", "x"])?;
        reach("it is moved", || copies(&site, "cogworker:queue:default").len() == round)?;
    }
    site.client.perform_async(&Numbered(3)).await?;
    reach("the run after it", || seen.len() == 3)?;
    worker.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deaths_are_filed_in_a_fresh_set_after_a_damaged_one_was_moved_dead_09() -> TestResult {
    let site = Site::start().await?;
    let app = App::new(()).job(|_: Numbered| async { Err::<(), _>(JobError::new("Broken", "always")) });
    let worker = site.worker_with(app, often)?;
    reach("it works", || exists(&site, &worker.key("process")))?;
    site.run(&["SET", "cogworker:dead", "x"])?;
    site.push_raw(
        "default",
        r#"{"class":"NumberedJob","args":[1],"queue":"default","jid":"j","retry":false}"#,
    )?;
    reach("the death is filed", || site.members("dead") == 1)?;
    assert_eq!(site.only_entry("dead")?["error_class"], "Broken");
    assert_eq!(site.text(&["GET", &copies(&site, "cogworker:dead")[0]]), "x");
    reach("nothing is held", || site.in_progress(&worker) == 0 && site.failed() == 1)?;
    worker.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redis_that_refuses_the_check_does_not_keep_the_worker_from_working() -> TestResult {
    let site = Site::start().await?;
    site.run(&["SET", "cogworker:retry", "x"])?;
    site.run(&["ACL", "SETUSER", "default", "-sscan", "-type"])?;
    let seen = Seen::default();
    let worker = site.worker_with(noting(&seen), often)?;
    site.client.perform_async(&Numbered(1)).await?;
    reach("the run", || seen.len() == 1)?;
    // The keys of each registry are a part for itself: the others are still checked.
    site.run(&["ACL", "SETUSER", "default", "+type"])?;
    site.run(&["HSET", "periodic:schedule", PJID, "{}"])?;
    let running = format!("periodic:running:{PJID}");
    site.run(&["RPUSH", &running, "x"])?;
    reach("both are moved", || {
        ["cogworker:retry", &running].iter().all(|key| copies(&site, key).len() == 1)
    })?;
    worker.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn checks_go_on_after_redis_was_away() -> TestResult {
    let site = Site::start().await?;
    let worker = idle_worker(&site, often)?;
    reach("it works", || exists(&site, &worker.key("process")))?;
    for _ in 0..2 {
        site.redis.stop();
        site.redis.restart()?;
        site.run(&["SET", "cogworker:dead", "x"])?;
        reach("it is moved", || copies(&site, "cogworker:dead").len() == 1)?;
    }
    worker.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_moved_key_is_logged_with_the_type_found_and_the_type_expected_log_07() -> TestResult {
    let log = Log::of_this_process();
    let site = Site::start().await?;
    site.run(&["SET", "cogworker:queue:logged", "x"])?;
    let worker = idle_worker(&site, |config| config.queues = vec!["logged".into()])?;
    let mut lines = Vec::new();
    reach("the line", || {
        lines = log.lines("cogworker:queue:logged");
        !lines.is_empty()
    })?;
    assert_eq!(lines.len(), 1, "{lines:?}");
    let copy = copies(&site, "cogworker:queue:logged").remove(0);
    for part in ["ERROR", r#"found="string""#, "expected=list", &copy] {
        assert!(lines[0].contains(part), "{part}: {}", lines[0]);
    }
    worker.stop().await
}
