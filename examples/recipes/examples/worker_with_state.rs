//! A worker whose handlers share a state: `cargo run -p recipes --example worker_with_state -- -q mail -q default`.
//!
//! It takes all flags of a worker; `--help` lists them.

use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};

use cogworker_server::{App, Boot, Context, JobError};
use recipes::{Thumbnail, WelcomeMail};

/// What handlers need besides their job: mostly pools of connections.
struct Services {
    sender: String,
    sent: AtomicU64,
}

impl Services {
    /// What takes long or may fail is done once, before the first job is taken.
    async fn connect(boot: &Boot) -> Result<Self, JobError> {
        Ok(Self { sender: format!("{}@example.org", boot.environment()), sent: AtomicU64::new(0) })
    }
}

async fn welcome(mail: WelcomeMail, ctx: Context<Services>) -> Result<(), JobError> {
    if !mail.address.contains('@') {
        // Fails this attempt. It is tried again, as the class says.
        return Err(JobError::new("BadAddress", format!("{:?} is no address", mail.address)));
    }
    let services = ctx.state();
    let number = services.sent.fetch_add(1, Ordering::Relaxed) + 1;
    tracing::info!("mail {number} from {} to {}", services.sender, mail.address);
    Ok(())
}

/// Computes, so it is no async function: it gets a thread that may block.
fn shrink(Thumbnail(file, width): Thumbnail) -> Result<(), JobError> {
    tracing::info!("{file} is now {width} pixels wide");
    Ok(())
}

fn main() -> ExitCode {
    cogworker_server::main(|boot| async move {
        let services = Services::connect(&boot).await?;
        Ok::<_, JobError>(App::new(services).job(welcome).job_blocking(shrink))
    })
}
