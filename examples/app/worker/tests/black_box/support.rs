//! The executable under test.

use std::error::Error;
use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

use cogworker_testing::{TestRedis, WorkerProcess, wait_until};

pub(crate) type Outcome = Result<(), Box<dyn Error>>;

pub(crate) const SOON: Duration = Duration::from_secs(10);

pub(crate) fn program() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_example-worker"))
}

/// A worker that has begun to work.
pub(crate) fn start(redis: &TestRedis, args: &[&str]) -> Result<WorkerProcess, Box<dyn Error>> {
    start_with(redis, args, &[])
}

pub(crate) fn start_with(
    redis: &TestRedis,
    args: &[&str],
    variables: &[(&str, &str)],
) -> Result<WorkerProcess, Box<dyn Error>> {
    let mut command = command(args);
    command.env("REDIS_URL", redis.url()).envs(variables.iter().copied());
    let worker = WorkerProcess::spawn_command(command)?;
    worker.wait_for_log("is working on", SOON)?;
    Ok(worker)
}

/// The executable without this test's own settings.
pub(crate) fn command(args: &[&str]) -> Command {
    let mut command = Command::new(program());
    command.args(args);
    for name in ["REDIS_URL", "APP_ENV", "RAILS_ENV", "RACK_ENV", "COGWORKER_REDIS_SERVER", "RUST_LOG"] {
        command.env_remove(name);
    }
    command
}

/// Runs it to its end.
pub(crate) fn run(args: &[&str], variables: &[(&str, &str)]) -> std::io::Result<Output> {
    command(args).envs(variables.iter().copied()).output()
}

pub(crate) fn push(redis: &TestRedis, class: &str, args: &str, jid: &str) {
    let job = format!(
        r#"{{"class":"{class}","args":{args},"jid":"{jid}","queue":"default","retry":true,"created_at":1.0,"enqueued_at":1.0}}"#
    );
    redis.cli(&["LPUSH", "cogworker:queue:default", &job]);
}

pub(crate) fn count(redis: &TestRedis, args: &[&str]) -> i64 {
    let reply = redis.cli(args);
    reply.as_int().or_else(|| reply.as_str()?.parse().ok()).unwrap_or(0)
}

/// The in-progress list of the only process that has one.
pub(crate) fn held_key(redis: &TestRedis) -> String {
    redis.cli(&["KEYS", "cogworker:inprogress:*"]).strings().into_iter().next().unwrap_or_default()
}

#[must_use]
pub(crate) fn soon(condition: impl FnMut() -> bool) -> bool {
    wait_until(SOON, condition)
}
