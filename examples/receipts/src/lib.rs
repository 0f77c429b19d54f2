//! What can be done: the types of the jobs.

use cogworker_core::job::Job;
use cogworker_core::options::JobOptions;
use serde::{Deserialize, Serialize};

/// Sends a receipt.
#[derive(Serialize, Deserialize)]
pub struct Receipt {
    /// For which order.
    pub order: u64,
    /// To whom.
    pub address: String,
}

impl Job for Receipt {
    const CLASS: &'static str = "ReceiptJob";

    fn options() -> JobOptions {
        JobOptions::new().queue("mail").retry(5)
    }
}
