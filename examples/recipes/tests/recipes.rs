//! Each recipe as a program, on a Redis of the test's own. `cargo xtask test` builds them before.

use std::error::Error;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::time::Duration;

use cogworker_testing::{TestRedis, WorkerProcess, wait_until};

type TestResult = Result<(), Box<dyn Error>>;

/// Never waited out by a test that passes.
const SOON: Duration = Duration::from_secs(20);

/// Cargo puts examples beside the folder of the tests.
fn program(name: &str) -> Result<PathBuf, Box<dyn Error>> {
    let tests = std::env::current_exe()?;
    let folder = tests.parent().and_then(|deps| deps.parent()).ok_or("this test has no folder")?;
    let program = folder.join("examples").join(name);
    if program.is_file() { Ok(program) } else { Err("first: cargo build -p recipes --examples".into()) }
}

fn command(name: &str, redis: &TestRedis) -> Result<Command, Box<dyn Error>> {
    let mut command = Command::new(program(name)?);
    command.env("REDIS_URL", redis.url()).env("PORT", "0").env("RUST_LOG", "info").env_remove("APP_ENV");
    command.env_remove("RAILS_ENV").env_remove("RACK_ENV");
    Ok(command)
}

/// What it prints until it ends by itself.
fn output(name: &str, redis: &TestRedis) -> Result<String, Box<dyn Error>> {
    let Output { status, stdout, stderr } = command(name, redis)?.output()?;
    let printed = String::from_utf8(stdout)?;
    if status.success() {
        return Ok(printed);
    }
    Err(format!("{name} ended with {status}: {printed}{}", String::from_utf8_lossy(&stderr)).into())
}

/// The address that it says it is listening on.
fn address(program: &WorkerProcess) -> Result<String, Box<dyn Error>> {
    let line = program.wait_for_log("listening on", SOON)?;
    Ok(line.rsplit(' ').next().unwrap_or_default().to_owned())
}

fn post(address: &str, path: &str) -> Result<String, Box<dyn Error>> {
    let mut stream = TcpStream::connect(address)?;
    write!(
        stream,
        "POST {path} HTTP/1.1\r\nhost: {address}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
    )?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

#[test]
fn a_request_to_the_axum_recipe_enqueues_a_mail() -> TestResult {
    let redis = TestRedis::start()?;
    let app = WorkerProcess::spawn_command(command("enqueue_from_axum", &redis)?)?;
    let answer = post(&address(&app)?, "/users/ada@example.org")?;
    assert!(answer.starts_with("HTTP/1.1 202") && answer.contains("the mail is job "), "{answer}");
    assert_eq!(redis.cli(&["LLEN", "cogworker:queue:mail"]), 1);
    Ok(())
}

#[test]
fn the_worker_with_state_runs_both_of_its_classes() -> TestResult {
    let redis = TestRedis::start()?;
    output("testing", &redis)?; // enqueues one of each
    let mut command = command("worker_with_state", &redis)?;
    command.args(["-q", "mail", "-q", "default"]);
    let mut worker = WorkerProcess::spawn_command(command)?;
    worker.wait_for_log("mail 1 from development@example.org to ada@example.org", SOON)?;
    worker.wait_for_log("ada@example.org.png is now 64 pixels wide", SOON)?;
    worker.signal("TERM")?;
    assert!(worker.wait(SOON)?.success());
    Ok(())
}

#[test]
fn the_middleware_recipe_runs_each_job_with_the_tenant_of_its_push() -> TestResult {
    let printed = output("middleware", &TestRedis::start()?)?;
    assert_eq!(printed.matches("pixels, for \"acme\"").count(), 3, "{printed}");
    assert_eq!(printed.matches("took").count(), 3, "{printed}");
    Ok(())
}

#[test]
fn the_periodic_recipe_has_one_job_a_second() -> TestResult {
    let printed = output("periodic", &TestRedis::start()?)?;
    let due: Vec<&str> = printed.lines().collect();
    assert!(due.len() >= 3 && due.iter().all(|line| line.starts_with("due at ")), "{printed}");
    assert!(due.windows(2).all(|pair| pair[0] < pair[1]), "{printed}");
    Ok(())
}

#[test]
fn the_shutdown_recipe_puts_all_three_jobs_back_and_fails_none() -> TestResult {
    let printed = output("graceful_shutdown", &TestRedis::start()?)?;
    for line in ["tidy: removing", "blocking: leaving off", "back on the queue: 3", "waiting for a retry: 0"]
    {
        assert!(printed.contains(line), "{line}: {printed}");
    }
    Ok(())
}

#[test]
fn the_embedded_worker_runs_what_a_request_enqueues_and_ends_with_its_program() -> TestResult {
    let redis = TestRedis::start()?;
    let mut both = WorkerProcess::spawn_command(command("embedded_server", &redis)?)?;
    let answer = post(&address(&both)?, "/cat.png")?;
    assert!(answer.starts_with("HTTP/1.1 202"), "{answer}");
    both.wait_for_log("cat.png is now 64 pixels wide", SOON)?;
    both.signal("TERM")?;
    both.wait_for_log("both have ended", SOON)?;
    assert!(both.wait(SOON)?.success());
    assert!(wait_until(SOON, || redis.cli(&["SCARD", "cogworker:processes"]) == 0));
    Ok(())
}
