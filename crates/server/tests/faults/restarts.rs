//! Redis gone for a while, back with its data, or back without.

use std::time::{Duration, Instant};

use cogworker_server::{App, Context, JobError};
use cogworker_testing::{TestRedis, TestRedisOptions};

use crate::program::Program;
use crate::round::{Traces, measured};
use crate::support::{Gate, Numbered, Site, TestResult, Text, reach, start_worker};

fn keeping_data() -> Result<TestRedis, Box<dyn std::error::Error>> {
    Ok(TestRedisOptions::new().appendonly(true).arg("--appendfsync").arg("always").start()?)
}

fn job(number: usize) -> String {
    format!(r#"{{"class":"NumberedJob","args":[{number}],"queue":"default","jid":"j{number}"}}"#)
}

/// An idle worker, Redis away for so long, a job.
async fn away_for(outage: Duration) -> TestResult {
    let site = Site::on(keeping_data()?).await?;
    let worker = Program::working(&site.redis.url())?;
    site.push_raw("default", job(1))?;
    reach("it works", || site.processed() == 1)?;
    site.redis.stop();
    reach("it notices", || worker.outages().0 == 1)?;
    std::thread::sleep(outage);
    site.redis.restart()?;
    let begun = Instant::now();
    site.push_raw("default", job(2))?;
    reach("the job runs", || worker.said("ran 2") == 1)?;
    let took = measured(&format!("stopped for {} s", outage.as_secs()), begun);
    assert!(took < Duration::from_secs(5), "{took:?}");
    reach("both are counted", || site.processed() == 2)?;
    worker.told_one_outage()?;
    worker.stop()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_idle_worker_goes_on_after_redis_was_away_for_4_s_p_13_a() -> TestResult {
    away_for(Duration::from_secs(4)).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes 40 s"]
async fn an_idle_worker_goes_on_after_redis_was_away_for_30_s_p_13_a() -> TestResult {
    away_for(Duration::from_secs(30)).await
}

/// Fails at the gate.
fn failing(gate: &Gate) -> App<Gate> {
    App::new(gate.clone())
        .job(|_: Text, ctx: Context<Gate>| async move {
            ctx.state().pass().await;
            Err::<(), _>(JobError::new("FaultError", "it had to"))
        })
        .job(|_: Numbered| async {})
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failure_while_redis_is_away_is_filed_once_it_is_back_p_08() -> TestResult {
    let site = Site::on(keeping_data()?).await?;
    let gate = Gate::closed();
    let worker = site.worker(failing(&gate))?;
    site.client.perform_async(&Text("once".into())).await?;
    reach("it runs", || gate.arrived() == 1)?;
    site.redis.stop();
    gate.let_pass(2);
    std::thread::sleep(Duration::from_secs(5));
    site.redis.restart()?;
    let begun = Instant::now();
    reach("it is filed", || site.members("retry") == 1)?;
    measured("failed while stopped", begun);
    let entry = site.only_entry("retry")?;
    assert_eq!((&entry["error_message"], &entry["retry_count"]), (&"it had to".into(), &1.into()));
    site.client.perform_async(&Numbered(1)).await?;
    reach("the next job", || site.processed() == 1)?;
    assert_eq!((site.failed(), site.members("retry"), site.members("dead")), (1, 1, 0));
    assert_eq!((gate.arrived(), site.in_progress(&worker), site.waiting("default")), (1, 0, 0));
    worker.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_whose_redis_comes_back_empty_registers_and_works_on() -> TestResult {
    let site = Site::start().await?;
    let traces = Traces::new();
    let worker = site.worker_with(traces.app(), |config| {
        config.timings.beat = Duration::from_millis(200);
    })?;
    site.client.perform_async(&Text("stuck".into())).await?;
    reach("it runs", || traces.stuck.arrived() == 1)?;
    site.redis.restart()?;
    let begun = Instant::now();
    site.push_raw("default", job(1))?;
    reach("what is pushed next runs", || traces.numbers.len() == 1 && site.processed() == 1)?;
    let took = measured("restarted empty", begun);
    assert!(took < Duration::from_secs(5), "{took:?}");
    reach("it is registered anew", || {
        site.int(&["EXISTS", &worker.key("process")]) == 1
            && ["processes", "inprogress_identities"].into_iter().all(|registry| {
                site.int(&["SISMEMBER", &format!("cogworker:{registry}"), &worker.identity]) == 1
            })
    })?;
    assert_eq!(site.texts(&["SMEMBERS", "cogworker:queues"]), ["default"]);
    traces.stuck.let_pass(1);
    for number in 2..=20 {
        site.push_raw("default", job(number))?;
    }
    reach("the rest", || traces.numbers.len() == 20 && site.processed() >= 20)?;
    assert_eq!((site.processed(), site.in_progress(&worker)), (20, 0), "nobody counts what was lost");
    worker.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn missed_heartbeats_are_made_up_for_and_the_job_stays_where_it_runs_p_48() -> TestResult {
    let beat = Duration::from_millis(500);
    let site = Site::on(keeping_data()?).await?;
    let (mine, others) = (Traces::new(), Traces::new());
    let start = |traces: &Traces| {
        start_worker(&site.redis.url(), traces.app(), |config| {
            config.orphan_threshold = Duration::from_secs(10);
            config.timings.beat = beat;
            config.timings.presence = Duration::from_secs(5);
            config.timings.check = Duration::from_millis(100);
        })
    };
    let worker = start(&mine)?;
    site.client.perform_async(&Text("stuck".into())).await?;
    reach("it runs", || mine.stuck.arrived() == 1)?;
    worker.handle.quiet();
    let is_quiet = || site.text(&["HGET", &worker.key("process"), "quiet"]) == "true";
    reach("it is quiet", is_quiet)?;
    let other = start(&others)?;

    site.redis.stop();
    std::thread::sleep(Duration::from_secs(3));
    site.redis.restart()?;
    site.run(&["DEL", &worker.key("process")])?;
    let begun = Instant::now();
    reach("the entry is made again", is_quiet)?;
    let took = measured("heartbeat after 3 s", begun);
    assert!(took < 2 * beat + Duration::from_millis(500), "{took:?}");
    site.run(&["DEL", "cogworker:processes"])?;
    let begun = Instant::now();
    reach("it is listed again", || {
        site.int(&["SISMEMBER", "cogworker:processes", &worker.identity]) == 1 && is_quiet()
    })?;
    assert!(begun.elapsed() < 2 * beat + Duration::from_millis(500), "{:?}", begun.elapsed());

    site.push_raw("default", job(1))?;
    reach("the other one works", || others.numbers.len() == 1)?;
    assert_eq!((mine.numbers.len(), mine.stuck.arrived(), others.stuck.arrived()), (0, 1, 0));
    mine.stuck.let_pass(1);
    reach("both are counted", || site.processed() == 2)?;
    assert_eq!((site.in_progress(&worker), site.waiting("default"), others.texts.len()), (0, 0, 0));
    other.stop().await?;
    worker.stop().await
}
