//! A server that is up and says no.

use std::time::{Duration, Instant};

use cogworker_core::new_job::NewJob;
use cogworker_testing::{TestRedis, TestRedisOptions};

use crate::program::Program;
use crate::round::measured;
use crate::support::{Numbered, SOON, Site, TestResult, Text, reach};

/// Longest from the end of a fault to the next run.
const RESUMED: Duration = Duration::from_secs(5);

const HELD: usize = 10;

/// Ten jobs that run, five of which will fail, in slots that are all taken.
async fn hold_jobs(site: &Site, worker: &Program) -> TestResult {
    for number in 0..HELD {
        let text = if number % 2 == 0 { "goes well" } else { "fails" };
        site.client.push(NewJob::of(&Text(format!("{text} {number}")))).await?;
    }
    reach("they run", || worker.said("waits") == HELD)
}

/// Each of the ten is settled as it should be, and ran once.
fn all_are_accounted_for(site: &Site, worker: &Program, others: i64) -> TestResult {
    let held = HELD as i64;
    reach("all are settled", || {
        (site.processed(), site.failed(), site.members("retry")) == (held / 2 + others, held / 2, held / 2)
    })
    .map_err(|error| {
        let found = (site.processed(), site.failed(), site.members("retry"));
        format!("{error}: {found:?}; the log:\n{}", worker.process.log().join("\n"))
    })?;
    // What a program says comes through a pipe, later than what it writes to Redis.
    reach("their runs are told", || worker.runs() >= HELD + others as usize)?;
    assert_eq!(worker.runs(), HELD + others as usize);
    assert_eq!(site.int(&["LLEN", &format!("cogworker:inprogress:{}", worker.identity)]), 0);
    assert_eq!((site.waiting("default"), site.members("dead")), (0, 0));
    Ok(())
}

/// Pushes a job now that the fault is over, and sees how long it takes to run.
fn resumes(site: &Site, worker: &Program, fault: &str) -> TestResult {
    let begun = Instant::now();
    site.push_raw("default", r#"{"class":"NumberedJob","args":[77],"queue":"default","jid":"j77"}"#)?;
    reach("a job runs after the fault", || worker.said("ran 77") == 1)?;
    let took = measured(fault, begun);
    assert!(took < RESUMED, "{took:?}");
    Ok(())
}

/// How many errors of this kind the server has answered.
fn refusals(site: &Site, code: &str) -> u64 {
    let count = site.redis.info(&format!("errorstat_{code}")).ok().flatten().unwrap_or_default();
    count.strip_prefix("count=").and_then(|count| count.parse().ok()).unwrap_or(0)
}

/// Ten jobs run while the fault begins, and end while it lasts.
async fn jobs_end_during(
    options: TestRedisOptions,
    fault: &str,
    begin: impl FnOnce(&Site) -> TestResult,
    end: impl FnOnce(&Site) -> TestResult,
) -> TestResult {
    let site = Site::on(options.start()?).await?;
    let worker = Program::working(&site.redis.url())?;
    hold_jobs(&site, &worker).await?;
    begin(&site)?;
    let before = refusals(&site, fault);
    worker.open_gate()?;
    reach("they end", || worker.runs() == HELD)?;
    reach("the server said no", || refusals(&site, fault) > before + 2 && worker.outages().0 > 0)?;
    end(&site)?;
    resumes(&site, &worker, fault)?;
    all_are_accounted_for(&site, &worker, 1)?;
    worker.told_one_outage()?;
    worker.stop()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn jobs_that_end_on_a_server_demoted_for_a_while_are_settled_once_out_01() -> TestResult {
    let other = std::cell::OnceCell::new();
    jobs_end_during(
        TestRedisOptions::new(),
        "READONLY",
        |site| {
            let replica: &TestRedis =
                other.get_or_init(|| site.redis.replica()).as_ref().map_err(ToString::to_string)?;
            replica.promote()?;
            Ok(site.redis.demote(replica)?)
        },
        |site| Ok(site.redis.promote()?),
    )
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn jobs_that_end_on_a_replica_without_its_primary_are_settled_once_out_01() -> TestResult {
    jobs_end_during(
        TestRedisOptions::new().arg("--replica-serve-stale-data").arg("no"),
        "MASTERDOWN",
        |site| site.run(&["REPLICAOF", "127.0.0.1", "1"]).map(drop),
        |site| site.run(&["REPLICAOF", "NO", "ONE"]).map(drop),
    )
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn jobs_that_end_on_a_primary_that_wants_a_replica_for_its_writes_are_settled_once() -> TestResult {
    jobs_end_during(
        TestRedisOptions::new(),
        "NOREPLICAS",
        |site| site.run(&["CONFIG", "SET", "min-replicas-to-write", "1"]).map(drop),
        |site| site.run(&["CONFIG", "SET", "min-replicas-to-write", "0"]).map(drop),
    )
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn jobs_that_end_while_the_server_loads_are_settled_once_out_01() -> TestResult {
    let options = TestRedisOptions::new()
        .arg("--enable-debug-command")
        .arg("yes")
        .arg("--loading-process-events-interval-bytes")
        .arg("1024");
    let site = Site::on(options.start()?).await?;
    for number in 0..1000 {
        site.run(&["SET", &format!("other:{number}"), &"x".repeat(100)])?;
    }
    let worker = Program::working(&site.redis.url())?;
    hold_jobs(&site, &worker).await?;
    site.run(&["CONFIG", "SET", "key-load-delay", "1500"])?;
    std::thread::scope(|scope| -> TestResult {
        let reload = scope.spawn(|| site.redis.command(&["DEBUG", "RELOAD"]));
        reach("it loads", || site.redis.info("loading").is_ok_and(|it| it.as_deref() == Some("1")))?;
        worker.open_gate()?;
        reach("they end", || worker.runs() == HELD)?;
        reach("the server said no", || refusals(&site, "LOADING") > 2 && worker.outages().0 > 0)?;
        assert_eq!(site.redis.info("loading")?.as_deref(), Some("1"));
        let loaded = reload.join().map_err(|_| "the thread panicked")??;
        assert_eq!(loaded, "OK");
        Ok(())
    })?;
    resumes(&site, &worker, "LOADING")?;
    all_are_accounted_for(&site, &worker, 1)?;
    worker.told_one_outage()?;
    worker.stop()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn jobs_that_end_while_a_script_blocks_the_server_are_settled_once_out_01() -> TestResult {
    const SPIN: &str = "local function ms() local t = redis.call('TIME') return t[1] * 1000 + t[2] / 1000 end \
                        local over = ms() + 2000 while ms() < over do end return 1";
    let site = Site::on(TestRedisOptions::new().arg("--busy-reply-threshold").arg("50").start()?).await?;
    let worker = Program::working(&site.redis.url())?;
    hold_jobs(&site, &worker).await?;
    std::thread::scope(|scope| -> TestResult {
        let busy = scope.spawn(|| site.redis.command(&["EVAL", SPIN, "0"]));
        let says_busy = || site.redis.command(&["GET", "x"]).is_ok_and(|reply| reply.is_error());
        reach("it is busy", says_busy)?;
        worker.open_gate()?;
        reach("they end", || worker.runs() == HELD && worker.outages().0 > 0)?;
        assert!(says_busy());
        assert_eq!(busy.join().map_err(|_| "the thread panicked")??, 1);
        Ok(())
    })?;
    resumes(&site, &worker, "BUSY")?;
    all_are_accounted_for(&site, &worker, 1)?;
    worker.told_one_outage()?;
    worker.stop()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_server_refuses_pushes_and_is_emptied_by_its_worker_p_49() -> TestResult {
    const WAITING: usize = 50;
    let site = Site::on(TestRedisOptions::new().maxmemory(20_000_000).start()?).await?;
    let worker = Program::working(&site.redis.url())?;
    hold_jobs(&site, &worker).await?;
    site.client.push_bulk(&(1000..1000 + WAITING).map(Numbered).collect::<Vec<_>>()).await?;
    site.client.push(NewJob::of(&Numbered(1)).queue("other")).await?;
    site.redis.fill_memory()?;
    worker.open_gate()?;
    // Taking and settling jobs needs no more memory, so that a full Redis is not stuck.
    all_are_accounted_for(&site, &worker, WAITING as i64)?;
    let refused = site.client.perform_async(&Numbered(2)).await;
    assert!(refused.as_ref().is_err_and(|error| error.to_string().contains("OOM")), "{refused:?}");
    site.client.queue("other").clear().await?;
    assert_eq!(site.client.stats().await?.enqueued, 0, "clearing a queue works");
    // Long enough for each of its services to have come by.
    let before = refusals(&site, "OOM");
    reach("the worker was refused again and again", || refusals(&site, "OOM") > before + 6)?;
    assert_eq!(worker.outages(), (1, 0), "{:?}", worker.process.log());
    site.redis.relieve_memory()?;
    resumes(&site, &worker, "OOM")?;
    all_are_accounted_for(&site, &worker, WAITING as i64 + 1)?;
    worker.told_one_outage()?;
    worker.stop()
}

/// The ids of all jobs that wait or are in progress anywhere, in order.
fn jobs_there(site: &Site) -> Vec<String> {
    let mut jobs = site.texts(&["LRANGE", "cogworker:queue:default", "0", "-1"]);
    for list in site.texts(&["KEYS", "cogworker:inprogress:*"]) {
        jobs.extend(site.texts(&["LRANGE", &list, "0", "-1"]));
    }
    let jid = |job: &String| Some(job.split(r#""jid":""#).nth(1)?.split('"').next()?.to_owned());
    let mut jids: Vec<_> = jobs.iter().filter_map(jid).collect();
    jids.sort_unstable();
    jids
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_a_full_server_a_stop_and_a_recovery_neither_lose_nor_double_a_job_p_49() -> TestResult {
    let site = Site::start().await?;
    let mut workers = Vec::new();
    for number in 0..3 {
        let worker = Program::working_on_a_short_lease(&site.redis.url())?;
        for half in ["a", "b"] {
            let jid = format!("{number}{half}");
            site.client.push(NewJob::of(&Text(format!("goes well {jid}"))).jid(&jid)).await?;
        }
        reach("its slots are full", || worker.said("waits") == 2)?;
        workers.push(worker);
    }
    let all = ["0a", "0b", "1a", "1b", "2a", "2b"];
    let [lives, mut killed, mut stopped] = workers.try_into().map_err(|_| "three workers")?;
    site.redis.fill_memory()?;
    stopped.process.signal("TERM")?;
    let status = stopped.process.wait(SOON)?;
    assert!(status.success(), "{status}: {:?}", stopped.process.log());
    assert_eq!((jobs_there(&site), site.waiting("default")), (all.map(String::from).into(), 2));
    killed.process.kill();
    let list = format!("cogworker:inprogress:{}", killed.identity);
    reach("its jobs are put back", || site.int(&["EXISTS", &list]) == 0)
        .map_err(|error| format!("{error}: {:?}", lives.process.log()))?;
    assert_eq!((jobs_there(&site), site.waiting("default")), (all.map(String::from).into(), 4));

    site.redis.relieve_memory()?;
    lives.open_gate()?;
    reach("all have run", || site.processed() == all.len() as i64)?;
    assert_eq!((site.failed(), site.members("retry"), jobs_there(&site).len()), (0, 0, 0));
    lives.stop()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scripts_forgotten_every_100_ms_under_load_cost_no_error_and_no_line_p_52() -> TestResult {
    const JOBS: usize = 2000;
    let site = Site::start().await?;
    let worker = Program::working(&site.redis.url())?;
    let mut pushed = 0;
    let (mut next, mut flushes) = (Instant::now(), 0);
    while pushed < JOBS || site.processed() < JOBS as i64 {
        if next <= Instant::now() {
            next += Duration::from_millis(100);
            site.run(&["SCRIPT", "FLUSH"])?;
            flushes += 1;
        }
        if pushed < JOBS {
            let now: Vec<_> = (pushed..pushed + 10).map(Numbered).collect();
            site.client.push_bulk(&now).await?;
            site.client.perform_in(Duration::from_millis(30), &Numbered(pushed + 10)).await?;
            pushed += 11;
        }
        if flushes > 150 {
            return Err("not all jobs ran".into());
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    reach("all are counted", || site.processed() == pushed as i64)?;
    assert_eq!((worker.runs(), site.failed().max(0), site.members("retry")), (pushed, 0, 0));
    assert_eq!((worker.outages(), worker.lines("ERROR").len()), ((0, 0), 0), "{:?}", worker.process.log());
    assert!(flushes > 5, "{flushes}");
    worker.stop()
}
