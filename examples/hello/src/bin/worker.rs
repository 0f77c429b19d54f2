//! Works them off.

use std::process::ExitCode;

use cogworker_server::App;
use hello::Greeting;

async fn greet(job: Greeting) {
    println!("Hello, {}!", job.0);
}

fn main() -> ExitCode {
    cogworker_server::main(|_boot| async { App::new(()).job(greet) })
}
