//! Worker, swarm and test in one program, as an application embeds both: without a harness, since it has to be
//! `main` that decides.

#![allow(clippy::panic, clippy::expect_used)]

use std::process::{Command, ExitCode};
use std::time::Duration;

use cogworker_core::job::Job;
use cogworker_server::App;
use cogworker_server::logging::LogOptions;
use cogworker_swarm::Swarm;
use cogworker_testing::{TestRedis, WorkerProcess, wait_until};
use serde::{Deserialize, Serialize};

const SWARM_VAR: &str = "EMBEDDED_SWARM";
const NAME: &str = "a_program_can_be_worker_and_swarm_in_one";
const SOON: Duration = Duration::from_secs(30);

#[derive(Serialize, Deserialize)]
struct HelloJob();

impl Job for HelloJob {
    const CLASS: &'static str = "HelloJob";
}

async fn hello(_: HelloJob) {}

fn main() -> ExitCode {
    if cogworker_swarm::is_worker() {
        return cogworker_server::main(|_boot| async { App::new(()).job(hello) });
    }
    if std::env::var_os(SWARM_VAR).is_some() {
        let log = LogOptions::new().init().expect("a log");
        let swarm = Swarm::of_this_program().expect("this program").count(2).phased_restart(true).log(log);
        return cogworker_swarm::run(swarm);
    }
    // A runner that wants to know which tests there are.
    let args: Vec<String> = std::env::args().collect();
    let has = |flag: &str| args.iter().any(|arg| arg == flag);
    if has("--list") {
        if !has("--ignored") {
            println!("{NAME}: test");
        }
        return ExitCode::SUCCESS;
    }
    a_program_can_be_worker_and_swarm_in_one();
    println!("{NAME}: ok");
    ExitCode::SUCCESS
}

fn a_program_can_be_worker_and_swarm_in_one() {
    let redis = TestRedis::start().expect("a redis");
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(["-c", "3"]).env(SWARM_VAR, "1").env("REDIS_URL", redis.url()).env_remove("RUST_LOG");
    let mut swarm = WorkerProcess::spawn_command(command).expect("a swarm");
    let log =
        |swarm: &WorkerProcess, text: &str| swarm.log().iter().filter(|line| line.contains(text)).count();
    assert!(wait_until(SOON, || log(&swarm, "is ready") == 2), "{:?}", swarm.log());
    assert_eq!(log(&swarm, "is working on default with 3 slots"), 2, "the flags are passed on");
    let job = r#"{"class":"HelloJob","args":[],"queue":"default","jid":"j"}"#;
    redis.command(&["LPUSH", "cogworker:queue:default", job]).expect("a push");
    let processed =
        || redis.command(&["GET", "cogworker:stats:processed"]).is_ok_and(|it| it.as_str() == Some("1"));
    assert!(wait_until(SOON, processed), "{:?}", swarm.log());
    swarm.signal("USR2").expect("a signal");
    assert!(wait_until(SOON, || log(&swarm, "INFO: restarted in") == 1), "{:?}", swarm.log());
    swarm.signal("TERM").expect("a signal");
    assert_eq!(swarm.wait(SOON).expect("an end").code(), Some(0));
}
