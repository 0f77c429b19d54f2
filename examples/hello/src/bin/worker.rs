//! Works them off.

use std::process::ExitCode;

use cogworker_server::{App, JobError};
use hello::Greeting;

async fn greet(job: Greeting) {
    println!("Hello, {}!", job.0);
}

fn main() -> ExitCode {
    cogworker_server::main(|_boot| async { Ok::<_, JobError>(App::new(()).job(greet)) })
}
