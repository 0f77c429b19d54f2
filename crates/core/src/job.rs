//! What makes a type a job.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::options::JobOptions;

/// A job: a value whose fields are its args, under a class name that the whole fleet, Ruby
/// processes included, knows it by.
///
/// ```
/// use cogworker_core::job::Job;
/// use cogworker_core::options::JobOptions;
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize)]
/// struct Greeting(String); // args: ["world"]
///
/// impl Job for Greeting {
///     const CLASS: &'static str = "GreetingJob";
///
///     fn options() -> JobOptions {
///         JobOptions::new().queue("low").retry(5)
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a job",
    note = "implement `cogworker_core::job::Job` for it: serde's derives and a class name"
)]
pub trait Job: Serialize + DeserializeOwned + Send + 'static {
    /// The class name in Redis.
    const CLASS: &'static str;

    /// Queue, retries and other options; by default none.
    fn options() -> JobOptions {
        JobOptions::new()
    }
}
