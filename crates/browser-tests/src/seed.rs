//! A little of everything that the UI shows, as workers and clients of Cogworker write it.

use cogworker_core::failure::Failure;
use cogworker_core::formats::{
    AttemptOutcome, AttemptRecord, DURATION_BOUNDS, ProcessInfo, RunRecord, work_json,
};
use cogworker_core::time::EpochSeconds;
use cogworker_testing::TestRedis;

fn ago(seconds: f64) -> EpochSeconds {
    EpochSeconds::new(EpochSeconds::now().as_f64() - seconds)
}

/// A job as it is pushed; `more` begins with a comma.
pub fn job(class: &str, jid: &str, queue: &str, more: &str) -> String {
    let at = ago(90.0);
    format!(
        r#"{{"class":"{class}","args":[5,{{"of":"{jid}"}}],"jid":"{jid}","queue":"{queue}","retry":true,"created_at":{at},"enqueued_at":{at}{more}}}"#
    )
}

/// One that failed `attempts` times.
pub fn failed_job(class: &str, jid: &str, queue: &str, attempts: u32) -> String {
    let at = ago(60.0);
    let more = format!(
        r#","error_class":"ConnectTimeout","error_message":"timed out after 30.0 s","failed_at":{at},"retry_count":{attempts}"#
    );
    job(class, jid, queue, &more)
}

/// Puts a job on its queue.
pub fn waiting(redis: &TestRedis, class: &str, jid: &str, queue: &str) {
    redis.cli(&["SADD", "cogworker:queues", queue]);
    redis.cli(&["LPUSH", &format!("cogworker:queue:{queue}"), &job(class, jid, queue, "")]);
}

/// Adds an entry to one of the sets `schedule`, `retry` and `dead`; its score is so many seconds from now.
pub fn entry(redis: &TestRedis, set: &str, in_seconds: f64, entry: &str) {
    redis.cli(&["ZADD", &format!("cogworker:{set}"), &ago(-in_seconds).to_string(), entry]);
}

/// A process that beat a moment ago.
pub fn process(redis: &TestRedis, identity: &str, quiet: bool) {
    let mut info = ProcessInfo::default();
    info.hostname = "app-1".into();
    info.pid = 4211;
    info.concurrency = 5;
    info.queues = ["default", "default", "low"].map(String::from).into();
    info.started_at = ago(7200.0);
    info.rss_kb = Some(102_400);
    redis.cli(&["SADD", "cogworker:processes", identity]);
    let key = format!("cogworker:process:{identity}");
    let quiet = if quiet { "true" } else { "false" };
    redis.cli(&["HSET", &key, "info", &info.to_json(), "busy", "1", "quiet", quiet]);
    redis.cli(&["EXPIRE", &key, "600"]);
}

/// A job that a process runs.
pub fn running(redis: &TestRedis, identity: &str, class: &str, jid: &str) {
    let work = work_json("default", job(class, jid, "default", "").as_bytes(), ago(75.0));
    redis
        .command(&[b"HSET".as_slice(), format!("cogworker:workers:{identity}").as_bytes(), b"slot-1", &work])
        .ok();
}

/// A run that ended so many seconds ago and took `took`.
pub fn run(redis: &TestRedis, class: &str, jid: &str, ended: f64, took: f64, fails: bool) {
    let mut failure = Failure::new("ConnectTimeout", "timed out after 30.0 s");
    failure.backtrace = ["billing::pool::acquire", "   at src/pool.rs:88:19"].map(String::from).into();
    let (started_at, finished_at) = (ago(ended + took), ago(ended));
    let record = RunRecord {
        jid,
        class,
        queue: "default",
        args_json: r#"[5,{"of":"history"}]"#,
        started_at,
        finished_at,
        failure: fails.then_some(&failure),
    };
    let record = record.to_json();
    let score = finished_at.to_string();
    for list in ["all", if fails { "failed" } else { "success" }] {
        let key = format!("cogworker:history:{list}");
        redis.command(&[b"ZADD".as_slice(), key.as_bytes(), score.as_bytes(), &record]).ok();
    }
}

/// `times` runs of a class were counted that took `took` seconds each.
pub fn took(redis: &TestRedis, class: &str, took: f64, times: u64) {
    let bucket = DURATION_BOUNDS.iter().position(|bound| took <= *bound).unwrap_or(DURATION_BOUNDS.len());
    let micros = (took * 1e6) as u64 * times;
    for (field, by) in [(format!("{bucket}:{class}"), times), (format!("sum:{class}"), micros)] {
        redis.cli(&["HINCRBY", "cogworker:durations", &field, &by.to_string()]);
    }
}

/// A periodic job.
pub fn periodic(redis: &TestRedis, class: &str, cron: &str) {
    let pjid = cogworker_core::digest::periodic_id(cron, class, "[]");
    let entry = cogworker_core::formats::periodic_entry_json(cron, class, "3", true, "[]");
    redis.cli(&["HSET", "periodic:schedule", &pjid, &entry]);
}

/// Some of everything: each tab has rows, and each kind of entry has one, unreadable ones included.
pub fn everything(redis: &TestRedis) {
    for at in 0..3 {
        waiting(redis, "WelcomeMailJob", &format!("waiting-{at}"), "default");
    }
    waiting(redis, "BuildReportJob", "waiting-odd", "reports: <ä & \"x\">/%");
    redis.cli(&["SADD", "cogworker:paused_queues", "reports: <ä & \"x\">/%"]);
    redis.cli(&["LPUSH", "cogworker:queue:default", "{not json"]);
    entry(redis, "schedule", 3600.0, &job("DigestMailJob", "scheduled-1", "default", ""));
    entry(redis, "schedule", 7200.0, "nothing that can be read");
    for at in 0..3 {
        entry(redis, "retry", 600.0, &failed_job("ChargeJob", &format!("retrying-{at}"), "default", 2));
    }
    for at in 0..2 {
        entry(redis, "dead", -60.0, &failed_job("ImportJob", &format!("dead-{at}"), "default", 4));
    }
    for attempt in 1..=2 {
        let failure = Failure::new("ConnectTimeout", "timed out after 30.0 s");
        let record = AttemptRecord::new(attempt, ago(400.0), AttemptOutcome::Retrying, &failure).to_json();
        redis.command(&[b"RPUSH".as_slice(), b"cogworker:job_attempts:retrying-0", record.as_bytes()]).ok();
    }
    process(redis, "app-1:4211:aaaa", false);
    process(redis, "app-2:4212:bbbb", true);
    running(redis, "app-1:4211:aaaa", "ReindexJob", "running-1");
    redis.cli(&["HSET", "status:running-1", "status", "working", "pct", "40", "message", "row 4 of 10"]);
    for at in 0..30 {
        let (class, fails) = if at % 5 == 0 { ("ChargeJob", true) } else { ("WelcomeMailJob", false) };
        run(redis, class, &format!("run-{at}"), 30.0 + 60.0 * f64::from(at), 0.25, fails);
    }
    for (class, seconds, times) in [
        ("ReindexJob", 8.0, 40),
        ("WelcomeMailJob", 0.25, 2400),
        ("ChargeJob", 0.25, 560),
        ("ChargeJob", 31.0, 40),
    ] {
        took(redis, class, seconds, times);
    }
    periodic(redis, "DailyReportJob", "0 9 * * mon-fri Europe/Berlin");
    periodic(redis, "HourlyCleanupJob", "0 * * * *");
}
