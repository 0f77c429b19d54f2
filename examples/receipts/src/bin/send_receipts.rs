//! Runs the jobs.

use std::process::ExitCode;

use cogworker_server::{App, JobError};
use receipts::Receipt;

async fn send(receipt: Receipt) -> Result<(), JobError> {
    if !receipt.address.contains('@') {
        return Err(JobError::new("BadAddress", format!("{:?} is no address", receipt.address)));
    }
    println!("order {}: a receipt for {}", receipt.order, receipt.address);
    Ok(())
}

fn main() -> ExitCode {
    cogworker_server::main(|_boot| async { App::new(()).job(send) })
}
