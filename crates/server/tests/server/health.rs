//! Health checks over HTTP, and the watchdog: what is stuck shows, and begins again.

use std::error::Error;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::Duration;

use cogworker_core::redis_config::RedisConfig;
use cogworker_server::{App, Config, HealthLimits, Server, ServerError};
use cogworker_testing::{Fault, FaultProxy};

use crate::support::{
    Log, Numbered, SOON, Seen, Site, TestResult, Text, Worker, reach, start_server, start_worker,
};

/// Nobody listens there.
const NOWHERE: &str = "redis://127.0.0.1:1";

/// A port that nobody has, below those of outgoing connections.
fn free_address() -> SocketAddr {
    loop {
        let address = SocketAddr::from(([127, 0, 0, 1], fastrand::u16(10_000..32_000)));
        if TcpListener::bind(address).is_ok() {
            return address;
        }
    }
}

/// What comes back for these bytes.
fn exchange(address: SocketAddr, request: &str) -> Result<String, Box<dyn Error>> {
    let mut stream = TcpStream::connect_timeout(&address, SOON)?;
    stream.set_read_timeout(Some(SOON))?;
    stream.write_all(request.as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

/// Status and body; status 0 while nobody answers.
fn get(address: SocketAddr, path: &str) -> (u16, String) {
    let answer = exchange(address, &format!("GET {path} HTTP/1.1\r\nHost: test\r\n\r\n")).unwrap_or_default();
    let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    (status, answer.split_once("\r\n\r\n").map(|(_, body)| body.to_owned()).unwrap_or_default())
}

fn status(address: SocketAddr, path: &str) -> u16 {
    get(address, path).0
}

fn report(address: SocketAddr) -> serde_json::Value {
    serde_json::from_str(&get(address, "/health").1).unwrap_or_default()
}

/// A worker on this Redis that answers health checks.
fn checked_worker(site: &Site, app: App) -> Result<(Worker, SocketAddr), Box<dyn Error>> {
    let address = free_address();
    let worker = site.worker_with(app, |config| config.health_bind = Some(address))?;
    reach("it is ready", || status(address, "/ready") == 200)?;
    Ok((worker, address))
}

/// A worker that is given up soon, though its commands may take long.
fn impatient_worker(
    url: &str,
    app: App,
    change: impl FnOnce(&mut HealthLimits),
) -> Result<(Worker, SocketAddr), Box<dyn Error>> {
    let address = free_address();
    let mut redis = RedisConfig::new(url)?;
    redis.command_timeout = Duration::from_secs(60);
    let mut config = Config::builder().redis(redis).concurrency(4).health_bind(address).build()?;
    config.timings.check = Duration::from_millis(200);
    let mut limits = HealthLimits::of(&config);
    limits.turn = Duration::from_millis(20);
    change(&mut limits);
    let worker = start_server(Server::new(config, app).health_limits(limits));
    reach("it is ready", || status(address, "/ready") == 200)?;
    Ok((worker, address))
}

fn noting(seen: &Seen<usize>) -> App {
    let seen = seen.clone();
    App::new(()).job(move |job: Numbered| {
        let seen = seen.clone();
        async move { seen.add(job.0) }
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_get_and_head_on_the_three_paths_are_answered() -> TestResult {
    let address = free_address();
    let worker = start_worker(NOWHERE, App::new(()), |config| config.health_bind = Some(address))?;
    reach("it answers", || status(address, "/live") == 200)?;
    for path in ["/", "/metrics", "/live/", "/Live"] {
        assert_eq!(status(address, path), 404, "{path}");
    }
    assert_eq!(status(address, "/live?verbose"), 200);
    let post = exchange(address, "POST /live HTTP/1.1\r\nHost: test\r\nContent-Length: 0\r\n\r\n")?;
    assert!(post.starts_with("HTTP/1.1 405 ") && post.contains("allow: GET, HEAD\r\n"), "{post}");
    let head = exchange(address, "HEAD /live HTTP/1.1\r\nHost: test\r\n\r\n")?;
    assert!(head.starts_with("HTTP/1.1 200 ") && head.ends_with("\r\n\r\n"), "{head}");
    assert!(head.contains("content-length: 5\r\n") && head.contains("connection: close\r\n"), "{head}");
    let endless = format!("GET /live HTTP/1.1\r\nX: {}\r\n\r\n", "x".repeat(20_000));
    let answer = exchange(address, &endless).unwrap_or_default();
    assert!(!answer.contains(" 200 "), "{answer}");
    worker.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_that_send_nothing_are_hung_up_on_and_others_are_answered() -> TestResult {
    let address = free_address();
    let worker = start_worker(NOWHERE, App::new(()), |config| config.health_bind = Some(address))?;
    reach("it answers", || status(address, "/live") == 200)?;
    let mut silent =
        (0..16).map(|_| TcpStream::connect_timeout(&address, SOON)).collect::<Result<Vec<_>, _>>()?;
    reach("others are answered", || status(address, "/live") == 200)?;
    for stream in &mut silent {
        stream.set_read_timeout(Some(SOON))?;
        // The end of the stream, whatever is said before.
        let _ = stream.read_to_end(&mut Vec::new())?;
    }
    worker.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn checks_are_answered_while_jobs_block_every_thread_of_the_application() -> TestResult {
    let site = Site::start().await?;
    let (release, gate) = mpsc::channel::<()>();
    let (gate, seen) = (Arc::new(Mutex::new(gate)), Seen::default());
    let (arrived, app_gate) = (seen.clone(), gate.clone());
    let app = App::new(()).job(move |job: Numbered| {
        let (arrived, gate) = (arrived.clone(), app_gate.clone());
        async move {
            arrived.add(job.0);
            let _ = gate.lock().unwrap_or_else(PoisonError::into_inner).recv();
        }
    });
    let (worker, address) = checked_worker(&site, app)?;
    for number in 1..=2 {
        site.push_raw("default", format!(r#"{{"class":"NumberedJob","args":[{number}],"jid":"{number}"}}"#))?;
    }
    reach("both threads are blocked", || seen.len() == 2)?;
    assert_eq!((status(address, "/live"), status(address, "/ready")), (200, 200));
    reach("both are counted as busy", || report(address)["busy"] == 2)?;
    release.send(())?;
    release.send(())?;
    reach("both are done", || site.processed() == 2)?;
    worker.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_quiet_worker_is_live_and_not_ready_until_it_resumes() -> TestResult {
    let site = Site::start().await?;
    let (worker, address) = checked_worker(&site, noting(&Seen::default()))?;
    worker.handle.quiet();
    reach("it is not ready", || get(address, "/ready") == (503, "quiet: told to take no jobs\n".into()))?;
    assert_eq!((report(address)["state"].as_str(), status(address, "/live")), (Some("quiet"), 200));
    worker.handle.resume();
    reach("it is ready again", || status(address, "/ready") == 200)?;
    worker.stop().await?;
    assert!(TcpStream::connect(address).is_err(), "it still listens after its end");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_address_in_use_is_an_error_that_names_it() -> TestResult {
    let taken = TcpListener::bind("127.0.0.1:0")?;
    let address = taken.local_addr()?;
    let config = Config::builder().redis(RedisConfig::new(NOWHERE)?).health_bind(address).build()?;
    let error = Server::new(config, App::new(())).run(std::future::pending()).await.unwrap_err();
    assert!(matches!(error, ServerError::Health { .. }));
    let start = format!("start the worker: answer health checks at {address}: Address already in use");
    assert!(error.to_string().starts_with(&start), "{error}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_that_blocks_the_engine_makes_it_dead_and_is_named_and_its_end_makes_it_live() -> TestResult {
    let log = Log::of_this_process();
    let site = Site::start().await?;
    let (release, gate) = mpsc::channel::<()>();
    let gate = Arc::new(Mutex::new(gate));
    let app = App::new(()).job(move |job: Text| {
        let gate = gate.clone();
        async move {
            if job.0 == "block" {
                let _ = gate.lock().unwrap_or_else(PoisonError::into_inner).recv();
            }
        }
    });
    let (worker, address) = impatient_worker(&site.redis.url(), app, |limits| {
        limits.stall = Duration::from_millis(500);
        limits.dead = Duration::from_millis(800);
    })?;
    // Quick for long enough to be run on the engine's own thread.
    let quick: Vec<Text> = (0..200).map(|_| Text("pass".into())).collect();
    site.client.push_bulk(&quick).await?;
    reach("the quick ones are done", || site.processed() == 200)?;
    site.client.perform_async(&Text("block".into())).await?;
    reach("it is dead", || status(address, "/live") == 503)?;
    for path in ["/live", "/ready"] {
        let (status, body) = get(address, path);
        assert_eq!(status, 503, "{path}");
        assert!(body.contains("has not turned for") && body.contains("a job of class TextJob"), "{body}");
    }
    reach("it is logged", || log.count("a job of class TextJob is blocking it; no job is fetched") == 1)?;
    let turns = || log.count("the engine's thread turns again after");
    let before = turns();
    release.send(())?;
    reach("it is ready again", || status(address, "/ready") == 200)?;
    assert_eq!(status(address, "/live"), 200);
    reach("the blocking one is settled", || site.processed() == 201)?;
    reach("that is logged", || turns() > before)?;
    assert_eq!(log.count("a job of class TextJob is blocking it"), 1, "told once");
    worker.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fetch_that_never_ends_is_given_up_and_fetching_goes_on() -> TestResult {
    let log = Log::of_this_process();
    let site = Site::start().await?;
    let seen = Seen::default();
    // A paused queue is looked at by fetches alone.
    site.run(&["SADD", "cogworker:paused_queues", "default"])?;
    let (worker, address) = impatient_worker(&site.redis.url(), noting(&seen), |limits| {
        limits.slow_call = Duration::from_millis(100);
        limits.stuck_call = Duration::from_millis(400);
    })?;
    reach("it sees the pause", || report(address)["fetch"]["state"] == "paused")?;
    site.redis.pause()?;
    reach("the fetch is slow", || get(address, "/ready").1.contains("a fetch has been under way for"))?;
    assert_eq!(status(address, "/live"), 200);
    reach("it is given up", || log.count("fetching jobs got stuck: given up after 0.4 s") > 0)?;
    site.redis.resume()?;
    reach("it is ready again", || status(address, "/ready") == 200)?;
    site.run(&["SREM", "cogworker:paused_queues", "default"])?;
    site.client.perform_async(&Numbered(1)).await?;
    reach("the run", || seen.len() == 1)?;
    worker.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_of_poller_recovery_and_key_guard_that_never_end_are_given_up_and_they_go_on() -> TestResult {
    let log = Log::of_this_process();
    let site = Site::start().await?;
    let seen = Seen::default();
    let (worker, address) = impatient_worker(&site.redis.url(), noting(&seen), |limits| {
        limits.stuck_call = Duration::from_millis(400);
    })?;
    reach("the poller is seen", || report(address)["last_poll_age_s"].as_f64().is_some_and(|age| age < 5.5))?;
    site.redis.pause()?;
    for stuck in ["polling the schedule", "polling the retries", "recovering jobs", "checking keys"] {
        reach(stuck, || log.count(&format!("{stuck} got stuck: given up after 0.4 s")) > 0)?;
    }
    site.redis.resume()?;
    reach("it is ready again", || status(address, "/ready") == 200)?;
    site.client.perform_in(Duration::from_millis(50), &Numbered(1)).await?;
    reach("the run", || seen.len() == 1)?;
    site.run(&["SADD", "cogworker:inprogress_identities", "gone:1:aaaaaaaaaaaa"])?;
    site.run(&["SET", "cogworker:dead", "no set"])?;
    reach("a recovery", || site.int(&["SCARD", "cogworker:inprogress_identities"]) == 1)?;
    reach("a check", || site.int(&["EXISTS", "cogworker:dead"]) == 0)?;
    worker.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wait_that_outlives_its_time_is_given_up_and_what_it_moved_is_run() -> TestResult {
    let log = Log::of_this_process();
    let site = Site::start().await?;
    let seen = Seen::default();
    let (worker, address) = impatient_worker(&site.redis.url(), noting(&seen), |limits| {
        limits.stuck_call = Duration::from_millis(400);
        limits.wait_block = Duration::from_millis(500);
        limits.slow_wait = Duration::from_millis(100);
        limits.stuck_wait = Duration::from_millis(400);
    })?;
    let mut line = site.redis.connect()?;
    reach("it waits", || site.text(&["CLIENT", "LIST"]).contains("cmd=blmove"))?;
    site.redis.pause()?;
    reach("the wait is overdue", || {
        get(address, "/ready").1.contains("a wait for jobs has outlived its time")
    })?;
    reach("it is given up", || {
        log.count("the wait for jobs on default got stuck: given up after 0.9 s") > 0
    })?;
    // The server, once it goes on, finds the abandoned wait before this push or after it.
    let push = std::thread::spawn(move || {
        line.command(&[
            "LPUSH",
            "cogworker:queue:default",
            r#"{"class":"NumberedJob","args":[1],"queue":"default","jid":"j"}"#,
        ])
        .map(drop)
    });
    site.redis.resume()?;
    push.join().map_err(|_| "the push panicked")??;
    reach("the run", || seen.len() == 1)?;
    reach("it is ready again", || status(address, "/ready") == 200)?;
    reach("everything is settled", || site.processed() == 1 && site.in_progress(&worker) == 0)?;
    worker.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_whose_delivery_vanishes_in_the_network_is_run_once_when_its_wait_was_given_up() -> TestResult {
    let log = Log::of_this_process();
    let site = Site::start().await?;
    let proxy = FaultProxy::start(&site.redis)?;
    let seen = Seen::default();
    let (worker, address) = impatient_worker(&proxy.url(), noting(&seen), |limits| {
        limits.stuck_call = Duration::from_millis(400);
        limits.wait_block = Duration::from_millis(600);
        limits.stuck_wait = Duration::from_millis(400);
    })?;
    reach("it waits", || site.text(&["CLIENT", "LIST"]).contains("cmd=blmove"))?;
    proxy.set(Fault::SwallowReplies);
    site.client.perform_async(&Numbered(1)).await?;
    reach("the job is moved", || site.waiting("default") == 0 && site.in_progress(&worker) == 1)?;
    reach("it is given up", || {
        log.count("the wait for jobs on default got stuck: given up after 1.0 s") > 0
    })?;
    assert_eq!(status(address, "/live"), 200);
    proxy.set(Fault::Pass);
    reach("everything is settled", || site.processed() == 1 && site.in_progress(&worker) == 0)?;
    reach("it is ready again", || status(address, "/ready") == 200)?;
    assert_eq!(seen.all(), [1]);
    worker.stop().await
}
