//! A Redis with one unique job, and what its lock should be.

use std::error::Error;

use cogworker_core::new_job::NewJob;

use crate::support::{Site, TestResult, Worker, reach};

const OURS: &str = r#"[{"b":2.0,"a":1e20},"é"]"#;
const GEMS: &str = r#"[{"b":2.0,"a":1.0e+20},"é"]"#;
/// SHA-1 of `RawJob|default|` and the args in the gem's spelling.
const LOCK: &str = "cogworker:unique:71732db9841ae7d379194ebc8350788d7cc51dd7";
const DEAD: &str = "dead-host:1:aaaaaaaaaaaa";

/// Who pushed the job that takes the path.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Pusher {
    Here,
    Gem,
}

/// A Redis with one unique job, "first", pushed by either side.
pub(crate) struct Path {
    pub(crate) site: Site,
    pub(crate) lock: &'static str,
}

impl Path {
    pub(crate) async fn begin(pusher: Pusher, retry: u32) -> Result<Self, Box<dyn Error>> {
        let site = Site::start().await?;
        let path = Self { site, lock: LOCK };
        match pusher {
            Pusher::Here => {
                let pushed = path.site.client.push(equal("first")?.retry(retry)).await?;
                assert!(pushed.is_some());
            }
            Pusher::Gem => {
                path.site.run(&["SET", path.lock, "first", "NX", "EX", "86400"])?;
                path.site.push_raw("default", gems_job(retry))?;
            }
        }
        assert_eq!(path.owner(), "first", "both sides name the lock alike");
        Ok(path)
    }

    pub(crate) fn owner(&self) -> String {
        self.site.text(&["GET", self.lock])
    }

    pub(crate) fn seconds_left(&self) -> i64 {
        self.site.int(&["TTL", self.lock])
    }

    /// An equal job is refused, and the lock still the first one's (UNIQ-05).
    pub(crate) async fn assert_held(&self, when: &str) -> TestResult {
        assert_eq!(self.site.client.push(equal("twin")?).await?, None, "{when}");
        assert_eq!(self.owner(), "first", "{when}");
        assert!(self.seconds_left() > 0, "{when}");
        Ok(())
    }

    /// No lock is left, so that the same push is accepted (UNIQ-09).
    pub(crate) async fn assert_free(&self, when: &str) -> TestResult {
        assert_eq!(self.site.texts(&["KEYS", "cogworker:unique:*"]), [""; 0], "{when}");
        assert!(self.site.client.push(equal("next")?).await?.is_some(), "{when}");
        Ok(())
    }

    /// The job is executed, and with that its lock is gone.
    pub(crate) async fn ends_free(&self, worker: Worker) -> TestResult {
        reach("it is done", || self.site.processed() == 1)?;
        worker.stop().await?;
        self.assert_free("after success").await
    }

    /// The job, taken off its queue.
    pub(crate) fn take_off(&self) -> Result<String, Box<dyn Error>> {
        let job = self.site.text(&["RPOP", "cogworker:queue:default"]);
        if job.is_empty() { Err("the job should be on its queue".into()) } else { Ok(job) }
    }

    /// Lets a dead process hold the job.
    pub(crate) fn orphan(&self) -> TestResult {
        let job = self.take_off()?;
        self.site.run(&["SADD", "cogworker:inprogress_identities", DEAD])?;
        self.site.run(&["LPUSH", &format!("cogworker:inprogress:{DEAD}"), &job])?;
        Ok(())
    }
}

pub(crate) fn equal(jid: &str) -> Result<NewJob, Box<dyn Error>> {
    let text = format!(r#"{{"class":"RawJob","args":{OURS},"unique":"until_executed"}}"#);
    Ok(NewJob::from_json(&text)?.jid(jid))
}

pub(crate) fn gems_job(retry: u32) -> String {
    format!(
        r#"{{"unique":"until_executed","class":"RawJob","args":{GEMS},"jid":"first","queue":"default","retry":{retry},"created_at":1796004601.1,"enqueued_at":1796004601.2}}"#
    )
}
