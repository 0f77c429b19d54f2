//! A job system under measurement: a program that all are driven by alike (bench/peers/README.md).

use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use cogworker_testing::TestRedis;
use serde_json::Value;

use super::peers::Peer;
use super::report::{Measured, Metric};
use super::usage::{self, RedisUsage};
use super::workload::{Measure, Workload};
use crate::demo::Outcome;

type Failure = Box<dyn std::error::Error>;

/// A workload that takes longer has hung.
const LIMIT: Duration = Duration::from_secs(900);
/// How long an idle worker is watched, and how long it may settle before.
const IDLE: Duration = Duration::from_secs(20);
const SETTLING: Duration = Duration::from_secs(2);
/// How often a worker's memory is looked at.
const LOOK: Duration = Duration::from_millis(250);

/// One system in one mode.
pub(crate) struct System {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) mode: &'static str,
    /// What a job may come to when its process is killed, as measured.
    pub(crate) loses: String,
    pub(crate) at_least_once: bool,
    pub(crate) is_ours: bool,
    pub(crate) command: Vec<OsString>,
}

impl From<Peer> for System {
    fn from(peer: Peer) -> Self {
        let Peer { name, version, mode, at_least_once, loses, command } = peer;
        let (name, loses) = (name.to_owned(), loses.to_owned());
        Self { name, version, mode, loses, at_least_once, is_ours: false, command }
    }
}

/// This project's program, without arguments yet.
pub(crate) fn ours_command() -> std::io::Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("bench-ours");
    Ok(command)
}

/// A program of a system that is running a workload.
pub(crate) struct Running {
    child: Child,
    lines: Receiver<String>,
    /// Its end tells the program to end.
    input: Option<ChildStdin>,
}

impl System {
    /// This project.
    pub(crate) fn ours() -> Result<Self, std::io::Error> {
        Ok(Self {
            name: "cogworker".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            mode: "safe",
            loses: "nothing".into(),
            at_least_once: true,
            is_ours: true,
            command: vec![std::env::current_exe()?.into(), "bench-ours".into()],
        })
    }

    /// As it is named in tables.
    pub(crate) fn label(&self) -> String {
        if self.is_ours { self.name.clone() } else { format!("{} ({})", self.name, self.mode) }
    }

    /// Runs a workload on an emptied Redis.
    pub(crate) fn measure(&self, redis: &TestRedis, workload: &Workload) -> Result<Measured, Failure> {
        usage::flush(redis)?;
        let empty = usage::redis_memory(redis)?;
        let filled = self.command(redis, workload, "fill").stdin(Stdio::null()).output()?;
        if !filled.status.success() {
            return Err(format!("fill: {}", String::from_utf8_lossy(&filled.stderr).trim()).into());
        }
        let queued_bytes = (usage::redis_memory(redis)? - empty) / workload.jobs.max(1) as f64;
        let pinned = workload.measure == Measure::PinnedRate && pin(redis, "0")?;
        let measured = self.run(redis, workload, pinned, queued_bytes);
        if pinned {
            pin(redis, "0-1")?;
        }
        measured
    }

    fn run(
        &self,
        redis: &TestRedis,
        workload: &Workload,
        pinned: bool,
        queued_bytes: f64,
    ) -> Result<Measured, Failure> {
        let mut running = Vec::new();
        for _ in 0..workload.processes {
            running.push(Running::start(self.command(redis, workload, "run"), pinned)?);
        }
        for process in &running {
            process.expect("ready")?;
        }
        let redis_before = RedisUsage::now(redis)?;
        let cpu_before = cpu_of(&running)?;
        let (result, memory) = match workload.measure {
            Measure::Idle => (Value::Null, Vec::new()),
            _ if workload.processes > 1 => (rate_of_many(&running, workload.jobs)?, Vec::new()),
            _ => running[0].result()?,
        };
        if let Some(reason) = result["unsupported"].as_str() {
            return Ok(Measured::unsupported(workload.name, reason));
        }
        let mut metrics = match workload.measure {
            Measure::Idle => idle(redis, &running[0])?,
            measure => metrics(workload, measure, &result)?,
        };
        let redis_used = RedisUsage::now(redis)?.since(redis_before);
        if workload.measure == Measure::RateAndCosts {
            metrics.extend(costs(workload, redis_used, queued_bytes, running[0].child.id(), &memory)?);
        }
        let cpu_worker_s = cpu_of(&running)? - cpu_before;
        for process in running {
            process.end()?;
        }
        Ok(Measured { metrics, cpu_worker_s, cpu_redis_s: redis_used.cpu_s, ..Measured::default() })
    }

    fn command(&self, redis: &TestRedis, workload: &Workload, step: &str) -> Command {
        let mut command = Command::new(&self.command[0]);
        command.args(&self.command[1..]).args([step, workload.program]);
        command.args(["--redis", &redis.url(), "--mode", self.mode]);
        command.args(["--jobs", &workload.jobs.to_string()]);
        command.args(["--concurrency", &workload.concurrency.to_string()]);
        command.args(["--queues", &workload.queues.to_string()]);
        command
    }
}

impl Running {
    pub(crate) fn start(command: Command, pinned: bool) -> Result<Self, Failure> {
        let mut command = if pinned { on_core(command, "1") } else { command };
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn()?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let (sender, lines) = mpsc::channel();
        std::thread::spawn(move || {
            for line in output.into_iter().flat_map(|output| BufReader::new(output).lines()) {
                let Ok(line) = line else { break };
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Ok(Self { child, lines, input })
    }

    pub(crate) fn memory_mb(&self) -> std::io::Result<f64> {
        usage::memory_mb(self.child.id(), "VmRSS")
    }

    pub(crate) fn expect(&self, word: &str) -> Outcome {
        let line = self.lines.recv_timeout(LIMIT).map_err(|_| format!("it ended before it said {word:?}"))?;
        if line == word { Ok(()) } else { Err(format!("it said {line:?} instead of {word:?}").into()) }
    }

    /// Its result, and its memory meanwhile.
    pub(crate) fn result(&self) -> Result<(Value, Vec<f64>), Failure> {
        let (deadline, mut memory) = (Instant::now() + LIMIT, Vec::new());
        loop {
            match self.lines.recv_timeout(LOOK) {
                Ok(line) => return Ok((serde_json::from_str(&line)?, memory)),
                Err(RecvTimeoutError::Timeout) if Instant::now() < deadline => {
                    memory.push(usage::memory_mb(self.child.id(), "VmRSS")?);
                }
                Err(RecvTimeoutError::Timeout) => return Err("no result in time".into()),
                Err(RecvTimeoutError::Disconnected) => return Err("it ended without a result".into()),
            }
        }
    }

    pub(crate) fn end(mut self) -> Outcome {
        drop(self.input.take());
        let deadline = Instant::now() + Duration::from_secs(30);
        while Instant::now() < deadline {
            if let Some(status) = self.child.try_wait()? {
                return if status.success() { Ok(()) } else { Err(format!("it ended with {status}").into()) };
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Err("it does not end".into())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn cpu_of(running: &[Running]) -> std::io::Result<f64> {
    running.iter().map(|process| usage::cpu_seconds(process.child.id())).sum()
}

/// From the first job of any process to the last: each says `ran N` whenever that has changed.
fn rate_of_many(running: &[Running], jobs: usize) -> Result<Value, Failure> {
    let mut counts = vec![0u64; running.len()];
    let (mut begun, deadline) = (None, Instant::now() + LIMIT);
    loop {
        for (process, count) in running.iter().zip(&mut counts) {
            while let Ok(line) = process.lines.try_recv() {
                *count = line.strip_prefix("ran ").and_then(|text| text.parse().ok()).unwrap_or(*count);
            }
        }
        let done: u64 = counts.iter().sum();
        let (since, first) = match begun {
            None if done == 0 => (Instant::now(), 0),
            None => *begun.insert((Instant::now(), done)),
            Some(begun) => begun,
        };
        if done >= jobs as u64 {
            return Ok(serde_json::json!({
                "seconds": since.elapsed().as_secs_f64(),
                "jobs": done - first,
            }));
        }
        if Instant::now() > deadline {
            return Err(format!("only {done} of {jobs} jobs were run").into());
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn metrics(workload: &Workload, measure: Measure, result: &Value) -> Result<Vec<Metric>, Failure> {
    let number =
        |name: &str| result[name].as_f64().ok_or_else(|| format!("its result {result} has no {name}"));
    Ok(match measure {
        Measure::Latency => ["p50_ms", "p99_ms"]
            .into_iter()
            .map(|name| Ok(Metric::new(format!("{}_{name}", workload.name), "ms", number(name)?)))
            .collect::<Result<_, String>>()?,
        Measure::Seconds => vec![Metric::new(workload.name, "s", number("seconds")?)],
        _ => vec![Metric::new(workload.name, "jobs/s", number("jobs")? / number("seconds")?)],
    })
}

fn costs(
    workload: &Workload,
    redis: RedisUsage,
    queued_bytes: f64,
    pid: u32,
    memory: &[f64],
) -> Result<Vec<Metric>, Failure> {
    let jobs = workload.jobs as f64;
    if let (Some(early), Some(late)) = (memory.get(memory.len() / 10), memory.last())
        && memory.len() >= 20
    {
        return Ok(vec![
            Metric::new(format!("{}_rss_at_a_tenth_mb", workload.name), "MB", *early),
            Metric::new(format!("{}_rss_at_the_end_mb", workload.name), "MB", *late),
        ]);
    }
    Ok(vec![
        Metric::new("cmds_per_job", "commands", redis.commands / jobs),
        Metric::new("calls_per_job", "calls", redis.calls / jobs),
        Metric::new("bytes_per_job", "bytes sent and received", redis.net_bytes / jobs),
        Metric::new("queued_bytes_per_job", "bytes in Redis", queued_bytes),
        Metric::new("load_rss_mb", "MB", usage::memory_mb(pid, "VmHWM")?),
    ])
}

fn idle(redis: &TestRedis, process: &Running) -> Result<Vec<Metric>, Failure> {
    std::thread::sleep(SETTLING);
    let before = RedisUsage::now(redis)?;
    std::thread::sleep(IDLE);
    let used = RedisUsage::now(redis)?.since(before);
    Ok(vec![
        Metric::new("idle_cmds_s", "commands/s", used.commands / IDLE.as_secs_f64()),
        Metric::new("idle_calls_s", "calls/s", used.calls / IDLE.as_secs_f64()),
        Metric::new("idle_rss_mb", "MB", usage::memory_mb(process.child.id(), "VmRSS")?),
    ])
}

/// Keeps Redis on some cores; false where that cannot be.
fn pin(redis: &TestRedis, cores: &str) -> Result<bool, Failure> {
    if std::thread::available_parallelism()?.get() < 2 {
        return Ok(false);
    }
    let Some(pid) = redis.pid() else { return Ok(false) };
    let pinned = Command::new("taskset").args(["-a", "-c", "-p", cores, &pid.to_string()]).output();
    Ok(pinned.is_ok_and(|output| output.status.success()))
}

fn on_core(command: Command, core: &str) -> Command {
    let mut pinned = Command::new("taskset");
    pinned.args(["-c", core]).arg(command.get_program()).args(command.get_args());
    pinned
}
