//! A lost reply to a call that settles jobs or buries them: what it came to is found out, neither
//! repeated nor forgotten.

use std::error::Error;
use std::time::Duration;

use cogworker_core::new_job::NewJob;
use cogworker_server::{App, Config, FetchMode, HistoryLimits, JobError, RetryIn};
use cogworker_testing::FaultProxy;

use crate::support::{Gate, Numbered, Seen, Site, TestResult, Text, Worker, reach, start_worker};

const SETTLE: &str = include_str!("../../../core/lua/settle_jobs.lua");
const FILE: &str = concat!(
    include_str!("../../../core/lua/parts/release.lua"),
    include_str!("../../../core/lua/parts/count_failed.lua"),
    include_str!("../../../core/lua/parts/note_status.lua"),
    include_str!("../../../core/lua/file_records.lua"),
);
const RECOVER: &str = concat!(
    include_str!("../../../core/lua/parts/release.lua"),
    include_str!("../../../core/lua/parts/count_failed.lua"),
    include_str!("../../../core/lua/parts/note_status.lua"),
    include_str!("../../../core/lua/recover_jobs.lua"),
);

/// The proxy behind which the worker is, and what is told of deaths.
struct Scene {
    site: Site,
    proxy: FaultProxy,
    gate: Gate,
    deaths: Seen<String>,
    worker: Worker,
}

impl Scene {
    /// The texts say what becomes of a job at the open gate.
    async fn set(configure: impl FnOnce(&mut Config)) -> Result<Self, Box<dyn Error>> {
        let site = Site::start().await?;
        let proxy = FaultProxy::start(&site.redis)?;
        let (gate, deaths) = (Gate::closed(), Seen::default());
        let (inside, told) = (gate.clone(), deaths.clone());
        let app = App::new(())
            .status(Duration::from_secs(600))
            .history(HistoryLimits::default())
            .job(move |job: Text| {
                let inside = inside.clone();
                async move {
                    inside.pass().await;
                    if job.0 == "ends well" { Ok(()) } else { Err(JobError::new("Boom", job.0)) }
                }
            })
            .job(|_: Numbered| async {})
            .retry_in::<Text>(|_, failure, _| match failure.message.as_str() {
                "is given up" => RetryIn::Discard,
                "dies" => RetryIn::Kill,
                _ => RetryIn::Default,
            })
            .death_handler(move |job, _| {
                told.add(job.jid());
                async {}
            });
        let worker = start_worker(&proxy.url(), app, configure)?;
        reach("it lives", || site.int(&["SCARD", "cogworker:processes"]) == 1)?;
        Ok(Self { site, proxy, gate, deaths, worker })
    }

    fn loses_the_reply_to(&self, script: &str) -> TestResult {
        let hash = self.site.text(&["SCRIPT", "LOAD", script]);
        self.proxy.cut_before_reply_to(hash.as_bytes());
        Ok(())
    }

    async fn push(&self, jid: &str, text: &str) -> TestResult {
        self.site.client.push(NewJob::of(&Text(text.into())).jid(jid)).await?;
        Ok(())
    }

    fn runs_recorded(&self) -> (i64, i64) {
        let days = self.site.texts(&["KEYS", "cogworker:history:daily:*"]);
        let of = |field| days.iter().map(|day| self.site.int(&["HGET", day, field])).sum();
        (of("success"), of("failed"))
    }
}

const FATES: [&str; 4] = ["ends well", "is given up", "dies", "is retried"];

/// One job of each fate ends while the settlements' calls get lost on one side or the other.
async fn each_fate_is_settled_once(fetch: FetchMode, loses_the_reply: bool) -> TestResult {
    let scene = Scene::set(|config| config.fetch = fetch).await?;
    for fate in FATES {
        scene.push(fate, fate).await?;
    }
    reach("all run", || scene.gate.arrived() == FATES.len())?;
    let hash = scene.site.text(&["SCRIPT", "LOAD", SETTLE]);
    match loses_the_reply {
        true => scene.proxy.cut_before_reply_to(hash.as_bytes()),
        false => scene.proxy.cut_before_request(hash.as_bytes()),
    }
    scene.gate.let_pass(FATES.len());
    let site = &scene.site;
    reach("all are counted", || (site.processed(), site.failed()) == (1, 3))?;
    reach("the death is told", || scene.deaths.len() == 1)?;
    // It comes after whatever was sent again.
    site.client.perform_async(&Numbered(1)).await?;
    reach("a further job is settled", || site.processed() == 2)?;
    assert_eq!(scene.proxy.replies_lost() + scene.proxy.requests_lost(), 1);
    assert_eq!((site.failed(), site.members("retry"), site.members("dead")), (3, 1, 1));
    assert_eq!(scene.runs_recorded(), (2, 3));
    assert_eq!(site.int(&["ZCARD", "cogworker:history:all"]), 5);
    let statuses = FATES.map(|jid| site.text(&["HGET", &format!("status:{jid}"), "status"]));
    assert_eq!(statuses, ["complete", "failed", "failed", "retrying"]);
    assert_eq!(scene.deaths.all(), ["dies"]);
    scene.worker.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_settlement_whose_reply_is_lost_is_not_repeated() -> TestResult {
    each_fate_is_settled_once(FetchMode::Reliable, true).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_settlement_that_never_arrived_is_sent_again() -> TestResult {
    each_fate_is_settled_once(FetchMode::Reliable, false).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn popped_jobs_are_settled_once_though_the_reply_is_lost() -> TestResult {
    each_fate_is_settled_once(FetchMode::Basic, true).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn popped_jobs_are_settled_once_though_the_request_is_lost() -> TestResult {
    each_fate_is_settled_once(FetchMode::Basic, false).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_final_failure_of_a_job_that_others_took_is_no_death_though_the_reply_is_lost_death_14()
-> TestResult {
    let scene = Scene::set(|_| {}).await?;
    scene.push("taken", "dies").await?;
    reach("it runs", || scene.gate.arrived() == 1)?;
    // As another process does that takes this one for dead.
    scene.site.run(&["DEL", &scene.worker.key("inprogress")])?;
    scene.loses_the_reply_to(SETTLE)?;
    scene.gate.let_pass(1);
    reach("the reply is lost", || scene.proxy.replies_lost() == 1)?;
    scene.site.client.perform_async(&Numbered(1)).await?;
    reach("a further job is settled", || scene.site.processed() == 1)?;
    assert_eq!((scene.site.failed(), scene.site.members("dead")), (0, 0));
    let deaths = scene.deaths.clone();
    scene.worker.stop().await?;
    assert_eq!(deaths.all(), Vec::<String>::new());
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deaths_that_recovery_filed_are_told_once_though_the_reply_is_lost_death_06_death_07() -> TestResult {
    let often = |config: &mut Config| config.timings.check = Duration::from_millis(100);
    let job = |jid: &str| format!(r#"{{"class":"TextJob","args":["x"],"queue":"default","jid":"{jid}"}}"#);
    for (script, jid) in [(RECOVER, "again"), (FILE, "filed")] {
        let scene = Scene::set(often).await?;
        scene.loses_the_reply_to(script)?;
        if jid == "again" {
            scene.site.run(&["SET", "cogworker:orphanings:again", "3"])?;
            scene.site.run(&["LPUSH", "cogworker:inprogress:dead:1:aaaaaaaaaaaa", &job(jid)])?;
            scene.site.run(&["SADD", "cogworker:inprogress_identities", "dead:1:aaaaaaaaaaaa"])?;
        } else {
            let payload = serde_json::to_string(&job(jid))?;
            let record = format!(r#"{{"set":"cogworker:dead","score":9999999999,"payload":{payload}}}"#);
            // Handed over twice, as after a lost reply.
            scene.site.run(&["RPUSH", "cogworker:unsettled", &record, &record])?;
        }
        reach("the reply is lost", || scene.proxy.replies_lost() == 1)?;
        reach("it is told", || scene.deaths.len() >= 1)?;
        let left =
            || scene.site.int(&["EXISTS", "cogworker:unsettled", "cogworker:inprogress:dead:1:aaaaaaaaaaaa"]);
        reach("nothing is left", || left() == 0)?;
        let deaths = scene.deaths.clone();
        assert_eq!(scene.site.members("dead"), 1);
        scene.worker.stop().await?;
        assert_eq!(deaths.all(), [jid]);
    }
    Ok(())
}
