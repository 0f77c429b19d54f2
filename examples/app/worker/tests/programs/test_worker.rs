//! A worker for tests: what it does waits until the test lets it go on.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Barrier, OnceLock};
use std::time::Duration;

use cogworker_core::job::Job;
use cogworker_server::{App, JobError};
use serde::{Deserialize, Serialize};
use tracing::info;

/// Names a file that `build` waits for.
const BUILD_GATE: &str = "TEST_BUILD_GATE";
/// Names a file that `build` waits for without letting its thread go.
const BLOCKING_BUILD_GATE: &str = "TEST_BLOCKING_BUILD_GATE";

/// Names a file that `build` reads its greeting from.
const BUILD_FILE: &str = "TEST_BUILD_FILE";

const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// Ends when the file is there.
#[derive(Serialize, Deserialize)]
struct GateJob(PathBuf);

impl Job for GateJob {
    const CLASS: &'static str = "GateJob";
}

/// Fails when the file is there.
#[derive(Serialize, Deserialize)]
struct FailingGateJob(PathBuf);

impl Job for FailingGateJob {
    const CLASS: &'static str = "FailingGateJob";
}

/// Blocks its thread until so many of them run.
#[derive(Serialize, Deserialize)]
struct TogetherJob(usize);

impl Job for TogetherJob {
    const CLASS: &'static str = "TogetherJob";
}

/// Why it is not there is told by its source alone.
#[derive(Debug, thiserror::Error)]
#[error("read the greeting")]
struct NoGreeting(#[source] std::io::Error);

async fn pass(gate: &Path) {
    while !gate.exists() {
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}

async fn wait_at_gate(GateJob(gate): GateJob) {
    pass(&gate).await;
}

async fn fail_at_gate(FailingGateJob(gate): FailingGateJob) -> Result<(), JobError> {
    pass(&gate).await;
    Err(JobError::new("GateError", "the gate is open"))
}

fn run_together(TogetherJob(count): TogetherJob) {
    static ALL: OnceLock<Barrier> = OnceLock::new();
    ALL.get_or_init(|| Barrier::new(count)).wait();
}

fn main() -> ExitCode {
    cogworker_server::main(|_boot| async {
        info!("building the application");
        if let Some(gate) = std::env::var_os(BUILD_GATE) {
            pass(Path::new(&gate)).await;
        }
        if let Some(gate) = std::env::var_os(BLOCKING_BUILD_GATE) {
            while !Path::new(&gate).exists() {
                std::thread::sleep(LOOK_AGAIN);
            }
        }
        if let Some(file) = std::env::var_os(BUILD_FILE) {
            std::fs::read(file).map_err(NoGreeting)?;
        }
        Ok::<_, NoGreeting>(App::new(()).job(wait_at_gate).job(fail_at_gate).job_blocking(run_together))
    })
}
