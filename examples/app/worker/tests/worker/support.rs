//! Worker processes on a Redis of the test's own.

use std::error::Error;
use std::process::{Command, Output};
use std::time::Duration;

use cogworker_testing::{RespValue, TestRedis, WorkerProcess, wait_until};

pub(crate) type TestResult = Result<(), Box<dyn Error>>;

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_example-worker");

/// A worker whose building and jobs wait at gates of the test.
pub(crate) const TEST_WORKER: &str = env!("CARGO_BIN_EXE_test-worker");

/// Long enough for a slow machine; never waited out by a test that passes.
pub(crate) const SOON: Duration = Duration::from_secs(15);

/// Flags, variables, and what they should lead to.
pub(crate) type Case<'a> = (&'a [&'a str], &'a [(&'a str, &'a str)], &'a str);

pub(crate) fn spawn(redis: &TestRedis, args: &[&str]) -> Result<WorkerProcess, Box<dyn Error>> {
    spawn_with(redis, args, &[])
}

pub(crate) fn spawn_with(
    redis: &TestRedis,
    args: &[&str],
    variables: &[(&str, &str)],
) -> Result<WorkerProcess, Box<dyn Error>> {
    spawn_program(PROGRAM, redis, args, variables)
}

pub(crate) fn spawn_program(
    program: &str,
    redis: &TestRedis,
    args: &[&str],
    variables: &[(&str, &str)],
) -> Result<WorkerProcess, Box<dyn Error>> {
    let mut command = command(program, args);
    command.env("REDIS_URL", redis.url()).env("RUST_LOG", "info").envs(variables.iter().copied());
    Ok(WorkerProcess::spawn_command(command)?)
}

/// The program without settings of the machine that would change what a worker does.
pub(crate) fn command(program: &str, args: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(args);
    for name in ["APP_ENV", "RAILS_ENV", "RACK_ENV", "RUST_LOG"] {
        command.env_remove(name);
    }
    command
}

/// A worker that has begun to work, and its identity.
pub(crate) fn working(
    redis: &TestRedis,
    args: &[&str],
    variables: &[(&str, &str)],
) -> Result<(WorkerProcess, String), Box<dyn Error>> {
    identified(redis, spawn_with(redis, args, variables)?)
}

/// A worker, once it has begun to work, and its identity.
pub(crate) fn identified(
    redis: &TestRedis,
    worker: WorkerProcess,
) -> Result<(WorkerProcess, String), Box<dyn Error>> {
    let pid = format!(":{}:", worker.pid());
    let mut identity = None;
    reach("the worker lives", || {
        identity =
            texts(redis, &["SMEMBERS", "cogworker:processes"]).into_iter().find(|id| id.contains(&pid));
        identity.is_some()
    })?;
    Ok((worker, identity.unwrap_or_default()))
}

/// Runs the program to its end with only these variables set.
pub(crate) fn run_alone(args: &[&str], variables: &[(&str, &str)]) -> std::io::Result<Output> {
    Command::new(PROGRAM).args(args).env_clear().envs(variables.iter().copied()).output()
}

pub(crate) fn push(redis: &TestRedis, class: &str, args: &str, jid: &str) -> TestResult {
    let job = format!(r#"{{"class":"{class}","args":{args},"queue":"default","jid":"{jid}"}}"#);
    match redis.command(&["LPUSH", "cogworker:queue:default", &job])? {
        RespValue::Error(text) => Err(text.into()),
        _ => Ok(()),
    }
}

/// A number, or the text of one.
fn number(value: &RespValue) -> i64 {
    value.as_int().or_else(|| value.as_str()?.parse().ok()).unwrap_or(0)
}

/// A command's number; -1 while Redis does not answer.
pub(crate) fn int(redis: &TestRedis, args: &[&str]) -> i64 {
    redis.command(args).map_or(-1, |value| number(&value))
}

pub(crate) fn texts(redis: &TestRedis, args: &[&str]) -> Vec<String> {
    redis.command(args).map(|value| value.strings()).unwrap_or_default()
}

pub(crate) fn processed(redis: &TestRedis) -> i64 {
    int(redis, &["GET", "cogworker:stats:processed"])
}

/// How many jobs the process holds.
pub(crate) fn held(redis: &TestRedis, identity: &str) -> i64 {
    int(redis, &["LLEN", &format!("cogworker:inprogress:{identity}")])
}

/// How many jobs the process shows as running.
pub(crate) fn running(redis: &TestRedis, identity: &str) -> i64 {
    int(redis, &["HLEN", &format!("cogworker:workers:{identity}")])
}

/// Fails the test when the state does not come.
pub(crate) fn reach(what: &str, reached: impl FnMut() -> bool) -> TestResult {
    if wait_until(SOON, reached) { Ok(()) } else { Err(format!("not reached: {what}").into()) }
}

/// Its exit code, once it ends by itself.
pub(crate) fn exit_code(worker: &mut WorkerProcess) -> Result<Option<i32>, Box<dyn Error>> {
    Ok(worker.wait(SOON)?.code())
}
