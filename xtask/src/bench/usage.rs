//! What a process and Redis have used so far.

use std::io;

use cogworker_testing::TestRedis;

/// CPU seconds of a process, of all its threads.
pub(crate) fn cpu_seconds(pid: u32) -> io::Result<f64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // The name in brackets may hold blanks; user and system time are the 12th and 13th after it.
    let fields: Vec<&str> = stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace().collect();
    let ticks = |index: usize| fields.get(index).and_then(|text| text.parse::<f64>().ok()).unwrap_or(0.0);
    Ok((ticks(11) + ticks(12)) / rustix::param::clock_ticks_per_second() as f64)
}

/// A line of /proc/PID/status that is in kB, as MB.
pub(crate) fn memory_mb(pid: u32, field: &str) -> io::Result<f64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    let kb = line.and_then(|line| line.trim().trim_end_matches(" kB").trim().parse::<f64>().ok());
    Ok(kb.unwrap_or(0.0) / 1024.0)
}

/// What Redis did, from its start.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RedisUsage {
    pub(crate) cpu_s: f64,
    /// Commands, those inside scripts among them.
    pub(crate) commands: f64,
    /// Calls that came over a connection, as far as they are of a kind that no script makes.
    pub(crate) calls: f64,
    pub(crate) net_bytes: f64,
}

/// What arrives from outside: the library's scripts, and the few commands it sends by themselves.
const CALLS: [&str; 7] = ["evalsha", "eval", "blmove", "lmove", "brpop", "client|unblock", "ping"];
/// What the measurement itself asks.
const OURS: [&str; 4] = ["info", "config|resetstat", "flushall", "hello"];

impl RedisUsage {
    pub(crate) fn now(redis: &TestRedis) -> Result<Self, Box<dyn std::error::Error>> {
        let mut usage = Self::default();
        let number =
            |text: &str| text.split(',').next().and_then(|text| text.parse::<f64>().ok()).unwrap_or(0.0);
        for section in ["cpu", "commandstats", "stats"] {
            let reply = redis.command(&["INFO", section])?;
            for (name, value) in
                reply.as_str().unwrap_or_default().lines().filter_map(|line| line.split_once(':'))
            {
                match name {
                    "used_cpu_sys" | "used_cpu_user" => usage.cpu_s += number(value),
                    "total_net_input_bytes" | "total_net_output_bytes" => usage.net_bytes += number(value),
                    _ => {
                        let Some(command) = name.strip_prefix("cmdstat_") else { continue };
                        let calls = number(value.strip_prefix("calls=").unwrap_or_default());
                        if !OURS.contains(&command) {
                            usage.commands += calls;
                        }
                        if CALLS.contains(&command) {
                            usage.calls += calls;
                        }
                    }
                }
            }
        }
        Ok(usage)
    }

    pub(crate) fn since(self, earlier: Self) -> Self {
        Self {
            cpu_s: self.cpu_s - earlier.cpu_s,
            commands: self.commands - earlier.commands,
            calls: self.calls - earlier.calls,
            net_bytes: self.net_bytes - earlier.net_bytes,
        }
    }
}

/// How often a command was run.
pub(crate) fn calls_of(redis: &TestRedis, command: &str) -> Result<f64, Box<dyn std::error::Error>> {
    let stats = redis.command(&["INFO", "commandstats"])?;
    let start = format!("cmdstat_{command}:calls=");
    let line = stats.as_str().unwrap_or_default().lines().find_map(|line| line.strip_prefix(&start));
    Ok(line.and_then(|line| line.split(',').next()?.parse().ok()).unwrap_or(0.0))
}

/// Bytes that Redis holds.
pub(crate) fn redis_memory(redis: &TestRedis) -> Result<f64, Box<dyn std::error::Error>> {
    let used = redis.info("used_memory")?.and_then(|text| text.parse::<f64>().ok());
    Ok(used.unwrap_or(0.0))
}

/// Empties Redis.
pub(crate) fn flush(redis: &TestRedis) -> Result<(), Box<dyn std::error::Error>> {
    Ok(redis.flush()?)
}
