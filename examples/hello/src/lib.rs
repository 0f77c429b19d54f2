//! The job, in a crate that the app and the worker share.

use cogworker_core::job::Job;
use cogworker_core::options::JobOptions;
use serde::{Deserialize, Serialize};

/// Says hello to someone.
#[derive(Serialize, Deserialize)]
pub struct Greeting(pub String);

impl Job for Greeting {
    const CLASS: &'static str = "GreetingJob";

    fn options() -> JobOptions {
        JobOptions::new().queue("low").retry(5)
    }
}
