//! One reply lost, or one request: the job of each call runs once and is counted once all the same.

use std::time::Duration;

use cogworker_client::Client;
use cogworker_core::new_job::NewJob;
use cogworker_core::redis_config::RedisConfig;
use cogworker_testing::FaultProxy;

use crate::round::Traces;
use crate::support::{Numbered, Site, TestResult, Text, Worker, reach, start_worker};

/// Jobs at once, a few milliseconds later, and failing, in each round.
const AT_ONCE: usize = 30;
const LATER: usize = 5;
const FAILING: usize = 5;

/// The worker reaches Redis through the proxy, and the test does not.
struct Line {
    site: Site,
    proxy: FaultProxy,
    traces: Traces,
    worker: Worker,
    rounds: usize,
}

impl Line {
    async fn laid() -> Result<Self, Box<dyn std::error::Error>> {
        let site = Site::start().await?;
        let proxy = FaultProxy::start(&site.redis)?;
        let traces = Traces::new();
        let worker = start_worker(&proxy.url(), traces.app(), |config| {
            config.timings.beat = Duration::from_millis(100);
        })?;
        reach("it waits for jobs", || site.text(&["CLIENT", "LIST"]).contains("cmd=blmove"))?;
        Ok(Self { site, proxy, traces, worker, rounds: 0 })
    }

    /// The hash by which the worker calls a script. The server knows it then, so that no call
    /// carries the script itself.
    fn hash_of(&self, source: &str) -> Result<String, Box<dyn std::error::Error>> {
        let hash = self.site.text(&["SCRIPT", "LOAD", source]);
        if hash.len() == 40 { Ok(hash) } else { Err(format!("no hash: {hash:?}").into()) }
    }

    fn lost(&self) -> u64 {
        self.proxy.replies_lost() + self.proxy.requests_lost()
    }

    async fn push_a_round(&mut self) -> TestResult {
        let first = self.rounds * (AT_ONCE + LATER);
        self.rounds += 1;
        let numbers = |from: usize, count| (from..from + count).map(Numbered).collect::<Vec<_>>();
        self.site.client.push_bulk(&numbers(first, AT_ONCE)).await?;
        for job in numbers(first + AT_ONCE, LATER) {
            self.site.client.perform_in(Duration::from_millis(30), &job).await?;
        }
        let failing = |_| NewJob::of(&Text("fails".into()));
        self.site.client.push_all((0..FAILING).map(failing).collect()).await?;
        Ok(())
    }

    /// Everything pushed so far ran once and is counted once.
    fn all_is_counted_once(&self) -> TestResult {
        let (good, failed) = (self.rounds * (AT_ONCE + LATER), self.rounds * FAILING);
        reach("all ran", || self.traces.numbers.len() >= good && self.traces.texts.len() >= failed)?;
        let settled = || (self.site.processed(), self.site.failed(), self.site.members("retry"));
        reach("all are counted", || settled() == (good as i64, failed as i64, failed as i64))
            .map_err(|error| format!("{error}: {:?}", settled()))?;
        assert_eq!(self.traces.sorted(), (0..good).collect::<Vec<_>>());
        assert_eq!(self.traces.texts.len(), failed);
        let left = (self.site.waiting("default"), self.site.in_progress(&self.worker));
        assert_eq!((left, self.site.members("schedule"), self.site.members("dead")), ((0, 0), 0, 0));
        Ok(())
    }

    /// Loses the reply to a call of the script, then a request for one.
    async fn loses_calls_of(mut self, source: &str) -> TestResult {
        let hash = self.hash_of(source)?;
        for loses_the_reply in [true, false] {
            let before = self.lost();
            if loses_the_reply {
                self.proxy.cut_before_reply_to(hash.as_bytes());
            } else {
                self.proxy.cut_before_request(hash.as_bytes());
            }
            self.push_a_round().await?;
            reach("the call was lost", || self.lost() > before)?;
            self.all_is_counted_once()?;
        }
        self.worker.stop().await
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_fetch_runs_each_job_once_rec_01() -> TestResult {
    Line::laid().await?.loses_calls_of(include_str!("../../../core/lua/fetch_jobs.lua")).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_settlement_counts_each_job_once_proc_04() -> TestResult {
    Line::laid().await?.loses_calls_of(include_str!("../../../core/lua/settle_jobs.lua")).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_move_of_due_jobs_pushes_each_once_claim_04() -> TestResult {
    Line::laid()
        .await?
        .loses_calls_of(concat!(
            include_str!("../../../core/lua/parts/count_failed.lua"),
            include_str!("../../../core/lua/move_entries.lua")
        ))
        .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_look_at_the_schedule_holds_no_job_up_for_long() -> TestResult {
    Line::laid().await?.loses_calls_of(include_str!("../../../core/lua/due_jobs.lua")).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_heartbeat_costs_nothing_beat_06() -> TestResult {
    let line = Line::laid().await?;
    let presence = line.worker.key("process");
    line.site.run(&["DEL", &presence])?;
    reach("the next beat enters it anew", || line.site.int(&["EXISTS", &presence]) == 1)?;
    line.loses_calls_of(include_str!("../../../core/lua/beat.lua")).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_whose_delivery_to_a_wait_was_lost_runs_once_rec_01() -> TestResult {
    let line = Line::laid().await?;
    for round in 0..2 {
        line.proxy.cut_before_reply_to(b"BLMOVE");
        // The wait that stands brings the first; the second's delivery is lost.
        for number in [2 * round, 2 * round + 1] {
            let before = line.proxy.requests_seen();
            line.site.client.perform_async(&Numbered(number)).await?;
            let moved = || line.site.waiting("default") == 0 && line.proxy.requests_seen() > before;
            reach("it was moved", moved)?;
            let next_wait = || {
                line.traces.numbers.len() > number
                    && line.site.text(&["CLIENT", "LIST"]).contains("cmd=blmove")
            };
            reach("it ran", next_wait)?;
        }
        assert_eq!(line.proxy.replies_lost(), round as u64 + 1);
    }
    reach("all are counted", || line.site.processed() == 4)?;
    assert_eq!(line.traces.sorted(), [0, 1, 2, 3]);
    assert_eq!(line.site.in_progress(&line.worker), 0);
    line.worker.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_push_says_that_its_fate_is_unknown_and_leaves_one_job_or_none() -> TestResult {
    let line = Line::laid().await?;
    let client = Client::connect(&RedisConfig::new(&line.proxy.url())?).await?;
    line.proxy.cut_before_reply_to(b"NumberedJob");
    let pushed = client.perform_async(&Numbered(1)).await;
    assert!(fate_is_unknown(&pushed), "{pushed:?}");
    reach("it ran", || line.site.processed() == 1)?;
    line.proxy.cut_before_request(b"NumberedJob");
    let pushed = client.perform_async(&Numbered(2)).await;
    assert!(fate_is_unknown(&pushed), "{pushed:?}");
    client.perform_async(&Numbered(3)).await?;
    reach("the next ran", || line.site.processed() == 2)?;
    assert_eq!(line.traces.sorted(), [1, 3]);
    line.worker.stop().await
}

fn fate_is_unknown<T>(pushed: &Result<T, cogworker_client::ClientError>) -> bool {
    match pushed {
        Err(cogworker_client::ClientError::Redis(error)) => error.fate_is_unknown(),
        _ => false,
    }
}

/// Quick jobs, so that two fetches are under way when the reply to one gets lost, with the connection; the
/// server forgets its scripts, and all connections, too.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fetches_lost_in_the_middle_of_a_drain_run_each_job_once_rec_01() -> TestResult {
    const JOBS: usize = 6_000;
    let line = Line::laid().await?;
    let hash = line.hash_of(include_str!("../../../core/lua/fetch_jobs.lua"))?;
    let jobs: Vec<_> = (0..JOBS).map(Numbered).collect();
    for (round, jobs) in jobs.chunks(JOBS / 6).enumerate() {
        let before = line.lost();
        match round % 3 {
            0 => line.proxy.cut_before_reply_to(hash.as_bytes()),
            1 => line.proxy.cut_before_request(hash.as_bytes()),
            _ => {}
        }
        line.site.client.push_bulk(jobs).await?;
        if round % 3 == 2 {
            reach("it is at work", || line.traces.numbers.len() > round * (JOBS / 6))?;
            line.site.run(&["SCRIPT", "FLUSH"])?;
            line.site.run(&["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"])?;
            line.site.text(&["SCRIPT", "LOAD", include_str!("../../../core/lua/fetch_jobs.lua")]);
        } else {
            reach("a fetch was lost", || line.lost() > before)?;
        }
        let pushed = (round + 1) * (JOBS / 6);
        reach("all ran", || line.traces.numbers.len() >= pushed)
            .map_err(|error| format!("{error}: {} of {pushed}", line.traces.numbers.len()))?;
    }
    reach("all are counted", || line.site.processed() == JOBS as i64)
        .map_err(|error| format!("{error}: {}", line.site.processed()))?;
    assert!(line.traces.sorted().into_iter().eq(0..JOBS), "each once");
    assert_eq!((line.site.waiting("default"), line.site.in_progress(&line.worker)), (0, 0));
    line.worker.stop().await
}

/// What two fetches bring after the stop goes back, in the order in which it was.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_in_the_middle_of_a_drain_loses_nothing_and_keeps_the_order_rfetch_09() -> TestResult {
    const JOBS: usize = 20_000;
    for round in 1..=4 {
        let site = Site::start().await?;
        site.client.push_bulk(&(0..JOBS).map(Numbered).collect::<Vec<_>>()).await?;
        let traces = Traces::new();
        let worker = start_worker(&site.redis.url(), traces.app(), |_| {})?;
        reach("it is in the middle", || traces.numbers.len() > round * 1_500)?;
        let in_progress = format!("cogworker:inprogress:{}", worker.identity);
        worker.stop().await?;
        let ran = traces.sorted();
        assert!(ran.len() < JOBS, "it came too late");
        let mut left = Vec::new();
        for raw in site.texts(&["LRANGE", "cogworker:queue:default", "0", "-1"]).iter().rev() {
            let job: serde_json::Value = serde_json::from_str(raw)?;
            left.push(job["args"][0].as_u64().unwrap_or_default() as usize);
        }
        assert_eq!(site.processed(), ran.len() as i64);
        assert_eq!(site.int(&["LLEN", &in_progress]), 0);
        let disorder = left.windows(2).filter(|pair| pair[0] > pair[1]).count();
        println!("ran {}, left {}, places out of order {disorder}", ran.len(), left.len());
        let mut all: Vec<usize> = ran.into_iter().chain(left).collect();
        all.sort_unstable();
        assert!(all.into_iter().eq(0..JOBS), "each once");
        assert_eq!(disorder, 0);
    }
    Ok(())
}
