//! What others see of a worker, and what they can tell it.

use std::time::Duration;

use cogworker_server::App;
use cogworker_testing::{Fault, FaultProxy, wait_until};
use serde_json::{Value, json};

use crate::support::{Gate, Numbered, Seen, Site, TestResult, Worker, reach, seconds_from_now, start_worker};

fn gated(gate: &Gate) -> App {
    let gate = gate.clone();
    App::new(()).job(move |_: Numbered| {
        let gate = gate.clone();
        async move { gate.pass().await }
    })
}

fn listening(site: &Site, worker: &Worker) -> bool {
    let counts = site.texts(&["PUBSUB", "NUMSUB", &worker.key("signal")]);
    counts.get(1).is_some_and(|count| count == "1")
}

async fn tell(site: &Site, worker: &Worker, message: &str) -> TestResult {
    reach("it listens", || listening(site, worker))?;
    site.run(&["PUBLISH", &worker.key("signal"), message])?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_heartbeat_tells_who_lives_and_what_it_reads_beat_01_to_05_pset_01() -> TestResult {
    let site = Site::start().await?;
    let day_ago = format!("{}", seconds_from_now("0")?.abs() - 90_000.0);
    site.run(&["ZADD", "cogworker:live_queues", &day_ago, "old"])?;
    let queues = ["default", "default", "low"].map(String::from);
    let read = queues.to_vec();
    let worker = site.worker_with(App::new(()), |config| config.queues = read)?;
    reach("the first beat", || site.int(&["SISMEMBER", "cogworker:processes", &worker.identity]) == 1)?;

    let process = worker.key("process");
    let info: Value = serde_json::from_str(&site.text(&["HGET", &process, "info"]))?;
    assert_eq!(info["concurrency"], 4);
    assert_eq!(info["queues"], json!(queues));
    assert_eq!(info["pid"], std::process::id());
    assert!(seconds_from_now(&info["started_at"].to_string())?.abs() < 10.0);
    assert!(info["rss_kb"].as_u64().is_some_and(|kb| kb > 0), "{info}");
    let parts: Vec<&str> = worker.identity.rsplitn(3, ':').collect();
    assert_eq!((parts[0].len(), parts[1]), (12, std::process::id().to_string().as_str()));
    assert_eq!(info["hostname"], parts[2]);
    let fields = ["busy", "quiet"].map(|field| site.text(&["HGET", &process, field]));
    assert_eq!(fields, ["0", "false"]);
    assert!((50..=60).contains(&site.int(&["TTL", &process])));

    assert_eq!(site.int(&["SISMEMBER", "cogworker:inprogress_identities", &worker.identity]), 1);
    let beat = site.text(&["HGET", "cogworker:last_beat", &worker.identity]);
    assert!(seconds_from_now(&beat)?.abs() < 10.0, "{beat}");
    let mut listed = site.texts(&["SMEMBERS", "cogworker:queues"]);
    listed.sort();
    assert_eq!(listed, ["default", "low"]);
    assert_eq!(site.texts(&["ZRANGE", "cogworker:live_queues", "0", "-1"]), ["default", "low"]);

    let seen = site.client.processes().await?;
    assert_eq!((seen.len(), seen[0].busy, seen[0].quiet), (1, 0, false));
    assert_eq!((seen[0].info.pid, &seen[0].identity), (std::process::id(), &worker.identity));
    worker.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_during_the_first_beat_leaves_no_trace_of_a_process_that_is_gone() -> TestResult {
    let site = Site::start().await?;
    let proxy = FaultProxy::start(&site.redis)?;
    // So that Redis knows the script, and one call is enough.
    let earlier = site.worker(App::new(()))?;
    reach("an earlier worker's beat", || site.int(&["EXISTS", &earlier.key("process")]) == 1)?;
    earlier.stop().await?;
    site.run(&["CLIENT", "PAUSE", "60000", "WRITE"])?;
    let worker = start_worker(&proxy.url(), App::new(()), |_| {})?;
    let process = worker.key("process");
    reach("the beat is under way", || {
        site.text(&["CLIENT", "LIST"]).lines().any(|client| client.contains("flags=b"))
    })?;
    // It is carried out, and its process does not hear of it.
    proxy.set(Fault::SwallowReplies);
    site.run(&["CLIENT", "UNPAUSE"])?;
    reach("the first beat", || site.int(&["EXISTS", &process]) == 1)?;
    worker.stop().await?;
    for set in ["cogworker:processes", "cogworker:inprogress_identities"] {
        reach("it is signed off", || site.int(&["SCARD", set]) == 0)?;
    }
    assert_eq!(site.int(&["EXISTS", &process]), 0);
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clean_stop_takes_every_trace_away_beat_10_beat_11_beat_13() -> TestResult {
    let site = Site::start().await?;
    let gate = Gate::closed();
    let worker = site.worker(gated(&gate))?;
    reach("it listens", || listening(&site, &worker))?;
    site.client.perform_async(&Numbered(1)).await?;
    reach("the job shows", || site.int(&["HLEN", &worker.key("workers")]) == 1)?;
    gate.let_pass(1);
    let (identity, channel) = (worker.identity.clone(), worker.key("signal"));
    let keys = ["process", "workers", "inprogress"].map(|kind| worker.key(kind));
    worker.stop().await?;
    assert_eq!(site.int(&["EXISTS", &keys[0], &keys[1], &keys[2]]), 0);
    assert_eq!(site.int(&["SISMEMBER", "cogworker:processes", &identity]), 0);
    assert_eq!(site.int(&["SISMEMBER", "cogworker:inprogress_identities", &identity]), 0);
    assert_eq!(site.int(&["HEXISTS", "cogworker:last_beat", &identity]), 0);
    assert_eq!(site.texts(&["PUBSUB", "NUMSUB", &channel])[1], "0");
    assert_eq!(site.processed(), 1);
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_refuses_the_time_is_told_the_hosts_clock_beat_04() -> TestResult {
    let site = Site::start().await?;
    site.run(&["ACL", "SETUSER", "default", "-time"])?;
    let worker = site.worker(App::new(()))?;
    reach("the beat", || site.int(&["HEXISTS", "cogworker:last_beat", &worker.identity]) == 1)?;
    let beat = site.text(&["HGET", "cogworker:last_beat", &worker.identity]);
    assert!(seconds_from_now(&beat)?.abs() < 10.0, "{beat}");
    worker.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn registries_of_the_wrong_type_fail_no_beat_beat_09() -> TestResult {
    let site = Site::start().await?;
    site.keep_damage()?;
    for registry in ["processes", "inprogress_identities", "last_beat", "queues", "live_queues"] {
        site.run(&["SET", &format!("cogworker:{registry}"), "odd"])?;
    }
    let gate = Gate::closed();
    gate.let_pass(1);
    let worker = site.worker(gated(&gate))?;
    reach("the presence", || site.int(&["EXISTS", &worker.key("process")]) == 1)?;
    site.client.perform_async(&Numbered(1)).await?;
    reach("the run", || site.processed() == 1)?;
    worker.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn running_jobs_show_in_the_work_set_until_they_end_proc_02() -> TestResult {
    let site = Site::start().await?;
    let gate = Gate::closed();
    let worker = site.worker(gated(&gate))?;
    let raw =
        r#"{"class":"NumberedJob","args":[12345678901234567890],"queue":"default","jid":"j","retry":0}"#;
    site.push_raw("default", raw.replace("12345678901234567890", "1"))?;
    reach("the job shows", || site.int(&["HLEN", &worker.key("workers")]) == 1)?;
    let shown = site.texts(&["HGETALL", &worker.key("workers")]);
    assert!(shown[0].len() == 12 && shown[0].bytes().all(|byte| byte.is_ascii_hexdigit()), "{shown:?}");
    let work: Value = serde_json::from_str(&shown[1])?;
    assert_eq!((&work["queue"], &work["payload"]["jid"]), (&json!("default"), &json!("j")));
    assert!(work["run_at"].is_i64() && seconds_from_now(&work["run_at"].to_string())?.abs() < 10.0);
    assert!((1..=60).contains(&site.int(&["TTL", &worker.key("workers")])));
    let running = site.client.running_jobs().await?;
    assert_eq!((running.len(), &running[0].identity), (1, &worker.identity));
    reach("a beat shows it busy", || site.text(&["HGET", &worker.key("process"), "busy"]) == "1")?;
    gate.let_pass(1);
    reach("it shows no more", || site.int(&["HLEN", &worker.key("workers")]) == 0)?;
    worker.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_equal_jobs_one_may_end_and_the_other_still_counts_as_running_proc_11() -> TestResult {
    let site = Site::start().await?;
    let gate = Gate::closed();
    let worker = site.worker(gated(&gate))?;
    let raw = r#"{"class":"NumberedJob","args":[1],"queue":"default","jid":"twin"}"#;
    site.push_raw("default", raw)?;
    site.push_raw("default", raw)?;
    reach("both run and show", || gate.arrived() == 2 && site.int(&["HLEN", &worker.key("workers")]) == 2)?;
    gate.let_pass(1);
    reach("one ended", || site.int(&["HLEN", &worker.key("workers")]) == 1)?;
    reach("it is settled", || (site.in_progress(&worker), site.processed()) == (1, 1))?;
    // Longer than two looks for strays: the running twin must not be started again.
    let again = wait_until(Duration::from_secs(7), || gate.arrived() > 2);
    assert!(!again, "the twin was taken for a stray");
    gate.let_pass(1);
    reach("both ended", || site.processed() == 2 && site.in_progress(&worker) == 0)?;
    worker.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_can_be_quieted_and_resumed_from_afar_pset_02_pset_03() -> TestResult {
    let site = Site::start().await?;
    let seen = Seen::default();
    let ran = seen.clone();
    let worker = site.worker(App::new(()).job(move |job: Numbered| {
        let ran = ran.clone();
        async move { ran.add(job.0) }
    }))?;
    site.client.perform_async(&Numbered(0)).await?;
    reach("it works", || site.processed() == 1)?;
    tell(&site, &worker, "nonsense").await?;
    tell(&site, &worker, "quiet").await?;
    reach("a beat shows it quiet", || site.text(&["HGET", &worker.key("process"), "quiet"]) == "true")?;
    site.client.perform_async(&Numbered(1)).await?;
    assert!(!wait_until(Duration::from_millis(700), || seen.len() > 1), "ran while quiet");
    assert_eq!((site.waiting("default"), site.in_progress(&worker)), (1, 0));
    tell(&site, &worker, "resume").await?;
    reach("it works again", || site.processed() == 2)?;
    reach("a beat shows it awake", || site.text(&["HGET", &worker.key("process"), "quiet"]) == "false")?;
    worker.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_told_to_stop_from_afar_ends_and_its_presence_goes_first_beat_12() -> TestResult {
    let site = Site::start().await?;
    let worker = site.worker(App::new(()))?;
    let presence = worker.key("process");
    tell(&site, &worker, "stop").await?;
    worker.ended().await?;
    assert_eq!(site.int(&["EXISTS", &presence]), 0);
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_presence_comes_back_and_a_quiet_worker_stays_quiet_p_48() -> TestResult {
    let site = Site::start().await?;
    let gate = Gate::closed();
    let worker = site.worker(gated(&gate))?;
    site.client.perform_async(&Numbered(1)).await?;
    reach("the job runs", || gate.arrived() == 1)?;
    worker.handle.quiet();
    reach("a beat shows it quiet", || site.text(&["HGET", &worker.key("process"), "quiet"]) == "true")?;
    site.run(&["DEL", &worker.key("process"), "cogworker:processes"])?;
    reach("it is listed again", || site.int(&["SISMEMBER", "cogworker:processes", &worker.identity]) == 1)?;
    assert_eq!(site.text(&["HGET", &worker.key("process"), "quiet"]), "true");
    gate.let_pass(1);
    reach("the job ends", || site.processed() == 1)?;
    worker.stop().await
}
