//! `cogworker doctor`: what keeps jobs from being run, or safe, and what to do about it.

use cogworker_client::{Client, InProgress, Process, QueueInfo, ServerInfo};
use cogworker_core::redis::{Call, RedisError, ServerVersion};
use cogworker_core::time::EpochSeconds;
use serde::Serialize;

use crate::connection::Connection;
use crate::exit::{Failure, Outcome};
use crate::output::{Output, Style};
use crate::text;

/// A clock that is this far off, s, makes delayed jobs noticeably late or early.
const SKEW_NOTED: f64 = 1.0;
/// This far off, processes may take each other for dead.
const SKEW_BAD: f64 = 30.0;
/// Redis refuses writes at its limit: this much of it is near.
const NEARLY_FULL: f64 = 0.9;
/// By default Redis saves within an hour of any change.
const UNSAVED: f64 = 2.0 * 3600.0;
/// So many names are told of many.
const NAMES: usize = 5;

/// How a check came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Level {
    Ok,
    Warning,
    Problem,
}

/// One finding.
#[derive(Debug, Serialize)]
struct Finding {
    check: &'static str,
    level: Level,
    found: String,
    /// What to do.
    #[serde(skip_serializing_if = "str::is_empty")]
    advice: &'static str,
}

/// The findings so far.
#[derive(Debug, Default)]
struct Findings(Vec<Finding>);

impl Findings {
    fn add(&mut self, check: &'static str, level: Level, found: impl Into<String>, advice: &'static str) {
        self.0.push(Finding { check, level, found: found.into(), advice });
    }

    fn ok(&mut self, check: &'static str, found: impl Into<String>) {
        self.add(check, Level::Ok, found, "");
    }

    fn unreadable(&mut self, check: &'static str, error: &RedisError) {
        let advice = "the user of this program may lack rights (docs/redis-layout.md), or the key holds the wrong type";
        self.add(check, Level::Warning, format!("could not be checked: failed to {error}"), advice);
    }
}

/// Redis did not let us in: that is the finding, and the exit code says so too.
pub(crate) fn unreachable(failure: Failure, output: &mut Output) -> Outcome {
    if let Failure::Redis(..) = &failure {
        let mut findings = Findings::default();
        let advice = "is it running, and is this its address and password? see REDIS_URL, --redis-url and -C";
        findings.add("connection", Level::Problem, failure.to_string(), advice);
        show(&findings, output)?;
        output.flush()?;
    }
    Err(failure)
}

pub(crate) async fn run(connection: &Connection, output: &mut Output) -> Outcome {
    let client = &connection.client;
    let mut findings = Findings::default();
    let ask = |error: RedisError| Failure::Redis("check redis".to_owned(), error);
    match client.server_info().await {
        Ok(info) => server(&info, &connection.place, &mut findings),
        Err(error) if error.is_outage() => return unreachable(ask(error), output),
        Err(error) => findings.unreadable("server", &error),
    }
    match client.wrong_keys().await {
        Ok(wrong) if wrong.is_empty() => findings.ok("types", "every key holds what it should"),
        Ok(wrong) => {
            let names = wrong
                .iter()
                .map(|key| format!("{} (a {}, should be a {})", key.key, key.found, key.expected));
            let advice = "a running worker moves them to cogworker:quarantine:… within a minute; find out who wrote them";
            findings.add("types", Level::Problem, format!("wrong type: {}", list(names)), advice);
        }
        Err(error) => findings.unreadable("types", &error),
    }
    let processes = match client.processes().await {
        Ok(processes) => processes,
        Err(error) => {
            findings.unreadable("processes", &error);
            Vec::new()
        }
    };
    let queued = client.queues().await;
    match &queued {
        Ok(queues) => workers(&processes, queues, &mut findings),
        Err(error) => findings.unreadable("queues", error),
    }
    match client.in_progress().await {
        Ok(all) => dead(&all, &processes, &mut findings),
        Err(error) => findings.unreadable("dead processes", &error),
    }
    if let Err(error) = leftovers(client, &mut findings).await {
        findings.unreadable("unsettled", &error);
    }
    show(&findings, output)?;
    if findings.0.iter().any(|finding| finding.level == Level::Problem) {
        return Err(Failure::Told);
    }
    Ok(())
}

fn server(info: &ServerInfo, place: &str, findings: &mut Findings) {
    let round_trip = info.round_trip.as_secs_f64() * 1000.0;
    let place = format!("{place}, {} answers in {round_trip:.1} ms", info.product);
    if info.role.as_deref() == Some("slave") {
        let advice = "this is a replica, which takes no writes: use the primary's address, or Sentinel";
        findings.add("connection", Level::Problem, place, advice);
    } else {
        findings.ok("connection", place);
    }
    match info.version {
        Some(version) if version < ServerVersion::RELIABLE_FETCH => {
            let advice = "use Redis 6.2 or newer: without LMOVE, workers lose what they run when they crash";
            findings.add("version", Level::Problem, version.to_string(), advice);
        }
        Some(version) => findings.ok("version", version.to_string()),
        None => findings.add("version", Level::Warning, "not told", "it has to be 6.2 or newer"),
    }
    let policy = info.eviction_policy.as_deref().unwrap_or("not told");
    match (policy, info.max_memory) {
        ("noeviction", _) => findings.ok("eviction", policy),
        ("not told", _) => {
            findings.add("eviction", Level::Warning, policy, "maxmemory-policy has to be noeviction")
        }
        (_, limit) => {
            let level = if limit.is_some() { Level::Problem } else { Level::Warning };
            let advice =
                "set maxmemory-policy to noeviction: at its memory limit this Redis throws jobs away";
            findings.add("eviction", level, policy, advice);
        }
    }
    let used = info.used_memory.map(text::bytes).unwrap_or_else(|| "not told".to_owned());
    match (info.used_memory, info.max_memory) {
        (Some(bytes), Some(limit)) => {
            let found = format!("{used} of {}", text::bytes(limit));
            if bytes as f64 > limit as f64 * NEARLY_FULL {
                let advice = "raise maxmemory or delete jobs: when it is full, Redis refuses every push";
                findings.add("memory", Level::Problem, found, advice);
            } else {
                findings.ok("memory", found);
            }
        }
        _ => findings.ok("memory", format!("{used}, no limit set")),
    }
    persistence(info, findings);
    let skew = info.clock_ahead;
    let found = if skew.abs() < 0.1 {
        "within 0.1 s of this machine's".to_owned()
    } else {
        format!("{:.1} s {} this machine's", skew.abs(), if skew > 0.0 { "ahead of" } else { "behind" })
    };
    // What the answer took may have been on one way alone.
    let certain = (skew.abs() - info.round_trip.as_secs_f64() / 2.0).max(0.0);
    let advice =
        "set both clocks by NTP: delayed jobs are due by the workers' clocks, and who is dead by Redis's";
    match certain {
        _ if certain > SKEW_BAD => findings.add("clock", Level::Problem, found, advice),
        _ if certain > SKEW_NOTED => findings.add("clock", Level::Warning, found, advice),
        _ => findings.ok("clock", found),
    }
}

fn persistence(info: &ServerInfo, findings: &mut Findings) {
    let now = EpochSeconds::now();
    let saved = info.last_save.map(|at| format!("last snapshot {}", text::relative(at, now)));
    let changes = info.unsaved_changes.unwrap_or(0);
    let age = info.last_save.map_or(0.0, |at| now.since(at).as_secs_f64());
    let append_only = info.append_only == Some(true);
    let found = match (append_only, saved) {
        (true, _) => "append-only file".to_owned(),
        (false, Some(saved)) => {
            format!("no append-only file; {saved}, {} since", text::count(changes, "change", "changes"))
        }
        (false, None) => "not told".to_owned(),
    };
    if info.last_save_ok == Some(false) {
        let advice = "look at Redis's log and disk: by default it refuses every write while it cannot save";
        findings.add("persistence", Level::Problem, format!("the last save failed; {found}"), advice);
    } else if !append_only && changes > 0 && age > UNSAVED {
        let advice = "switch on appendonly or save: when this Redis restarts, the jobs in it are gone";
        findings.add("persistence", Level::Warning, found, advice);
    } else {
        findings.ok("persistence", found);
    }
}

fn workers(processes: &[Process], queues: &[QueueInfo], findings: &mut Findings) {
    let waiting = |queue: &&QueueInfo| queue.size.is_some_and(|size| size > 0);
    let quiet = processes.iter().filter(|process| process.quiet).count();
    let count = text::count(processes.len() as u64, "process", "processes");
    if processes.is_empty() {
        let level = if queues.iter().any(|queue| waiting(&queue)) { Level::Problem } else { Level::Warning };
        findings.add("processes", level, "none is running", "start a worker");
    } else if quiet == processes.len() {
        let advice = "cogworker resume all: they take no jobs";
        findings.add("processes", Level::Problem, format!("{count}, all quiet"), advice);
    } else {
        findings.ok("processes", if quiet > 0 { format!("{count}, {quiet} of them quiet") } else { count });
    }
    let reads = |process: &Process, queue: &str| process.info.queues.iter().any(|name| name == queue);
    let unread = queues.iter().filter(waiting);
    let unread = unread.filter(|queue| !processes.iter().any(|process| reads(process, &queue.name)));
    let unread: Vec<String> = unread.map(named).collect();
    let paused: Vec<String> =
        queues.iter().filter(|queue| queue.paused && waiting(queue)).map(named).collect();
    if unread.is_empty() && paused.is_empty() {
        findings.ok(
            "queues",
            match queues.len() {
                0 => "none yet".to_owned(),
                n => text::count(n as u64, "queue, read or empty", "queues, each read or empty"),
            },
        );
    }
    if !unread.is_empty() {
        let advice = "jobs wait on queues that no process reads: give a worker -q NAME, or delete the queue";
        findings.add("queues", Level::Problem, format!("read by nobody: {}", list(unread)), advice);
    }
    if !paused.is_empty() {
        let advice = "jobs wait on paused queues: cogworker queue NAME resume";
        findings.add("queues", Level::Warning, format!("paused: {}", list(paused)), advice);
    }
}

fn named(queue: &QueueInfo) -> String {
    format!("{:?} ({})", queue.name, text::jobs(queue.size.unwrap_or(0)))
}

fn dead(all: &[InProgress], processes: &[Process], findings: &mut Findings) {
    let holding = all.iter().filter(|it| !it.is_alive && it.size.is_some_and(|size| size > 0));
    let holding: Vec<String> =
        holding.map(|it| format!("{} ({})", it.identity, text::jobs(it.size.unwrap_or(0)))).collect();
    if holding.is_empty() {
        return findings.ok("dead processes", "none holds jobs");
    }
    let found = format!("holding jobs: {}", list(holding));
    if processes.is_empty() {
        let advice = "start a worker: it puts these jobs back on their queues";
        findings.add("dead processes", Level::Problem, found, advice);
    } else {
        let advice =
            "nothing, if this is gone in some minutes: a live process puts them back after orphan_threshold";
        findings.add("dead processes", Level::Warning, found, advice);
    }
}

/// What waits for a worker to file it, and what no worker could.
async fn leftovers(client: &Client, findings: &mut Findings) -> Result<(), RedisError> {
    let (redis, keys) = (client.redis(), client.redis().keys());
    let length = async |key: String| redis.command("LLEN", Call::new().key(key)).await?.int();
    let waiting = length(keys.unsettled()).await? + length(keys.repeat_orphans()).await?;
    let unusable = length(keys.quarantined_unsettled_records()).await?;
    if waiting > 0 {
        let found = format!(
            "{} left by stopped processes",
            text::count(waiting.unsigned_abs(), "outcome", "outcomes")
        );
        let advice = "nothing, if this is gone in some minutes: a live process files them";
        findings.add("unsettled", Level::Warning, found, advice);
    }
    if unusable > 0 {
        let found =
            text::count(unusable.unsigned_abs(), "record that cannot be used", "records that cannot be used");
        let advice = "look at the list cogworker:quarantine:cogworker:unsettled:records";
        findings.add("unsettled", Level::Warning, found, advice);
    }
    if waiting + unusable == 0 {
        findings.ok("unsettled", "nothing is left to be filed");
    }
    Ok(())
}

/// The first of many names.
fn list(names: impl IntoIterator<Item = String>) -> String {
    let names: Vec<String> = names.into_iter().collect();
    let more = names.len().saturating_sub(NAMES);
    let shown = names[..names.len().min(NAMES)].join(", ");
    if more > 0 { format!("{shown} and {more} more") } else { shown }
}

fn show(findings: &Findings, output: &mut Output) -> Outcome {
    if output.json {
        for finding in &findings.0 {
            output.record(finding)?;
        }
        return Ok(());
    }
    for Finding { check, level, found, advice } in &findings.0 {
        let (word, style) = match level {
            Level::Ok => ("ok", Style::Green),
            Level::Warning => ("warning", Style::Yellow),
            Level::Problem => ("PROBLEM", Style::Red),
        };
        let word = output.styled(style, &format!("{word:<7}"));
        output.raw(&format!("{word}  {check:<14}  {}\n", text::shown(found)))?;
        if !advice.is_empty() {
            output.raw(&format!("{:<25}{advice}\n", ""))?;
        }
    }
    Ok(())
}
