//! Assertions about what was enqueued.

use std::fmt::Write;

use cogworker_core::args;
use cogworker_core::job::Job;
use serde_json::Value;

use crate::{Fake, FakeJob};

/// A failed assertion lists so many jobs.
const LISTED: usize = 20;

/// Asserts that a job of this class with exactly these args waits in a [`Fake`](crate::Fake), due or
/// not. Otherwise the message lists what does.
///
/// ```should_panic
/// # use cogworker_core::job::Job;
/// # #[derive(serde::Serialize, serde::Deserialize)]
/// # struct Greeting(String);
/// # impl Job for Greeting { const CLASS: &'static str = "GreetingJob"; }
/// use cogworker_testing::{Fake, assert_enqueued};
///
/// let fake = Fake::new();
/// assert_enqueued!(fake, Greeting("world".into()));
/// ```
#[macro_export]
macro_rules! assert_enqueued {
    ($fake:expr, $job:expr $(,)?) => {
        $fake.assert_enqueued(&$job)
    };
}

/// Asserts that no job of this class with exactly these args waits in a [`Fake`](crate::Fake).
///
/// ```
/// # use cogworker_core::job::Job;
/// # #[derive(serde::Serialize, serde::Deserialize)]
/// # struct Greeting(String);
/// # impl Job for Greeting { const CLASS: &'static str = "GreetingJob"; }
/// use cogworker_testing::{Fake, assert_not_enqueued};
///
/// let fake = Fake::new();
/// assert_not_enqueued!(fake, Greeting("world".into()));
/// ```
#[macro_export]
macro_rules! assert_not_enqueued {
    ($fake:expr, $job:expr $(,)?) => {
        $fake.assert_not_enqueued(&$job)
    };
}

impl Fake {
    /// What [`assert_enqueued!`] calls.
    ///
    /// # Panics
    /// When it is not so.
    #[doc(hidden)]
    #[track_caller]
    pub fn assert_enqueued<J: Job>(&self, job: &J) {
        let (args, held) = self.look_for(job);
        assert!(held, "not enqueued: {} {args}\n{}", J::CLASS, self.listing());
    }

    /// What [`assert_not_enqueued!`] calls.
    ///
    /// # Panics
    /// When it is not so.
    #[doc(hidden)]
    #[track_caller]
    pub fn assert_not_enqueued<J: Job>(&self, job: &J) {
        let (args, held) = self.look_for(job);
        assert!(!held, "enqueued: {} {args}\n{}", J::CLASS, self.listing());
    }

    /// The job's args as they are stored, and whether it waits.
    #[track_caller]
    fn look_for<J: Job>(&self, job: &J) -> (String, bool) {
        match args::encode(job) {
            Ok(args) => (args.get().to_owned(), self.holds(J::CLASS, args.get())),
            // Such a job cannot be pushed.
            Err(error) => (format!("({error})"), false),
        }
    }

    fn listing(&self) -> String {
        let jobs = self.all_jobs();
        let mut text = match jobs.len() {
            0 => return "nothing is enqueued".to_owned(),
            1 => "1 job is enqueued:".to_owned(),
            count => format!("{count} jobs are enqueued:"),
        };
        for job in jobs.iter().take(LISTED) {
            let _ = write!(text, "\n  {}", self.line(job));
        }
        if let Some(more) = jobs.len().checked_sub(LISTED).filter(|more| *more > 0) {
            let _ = write!(text, "\n  and {more} more");
        }
        text
    }

    fn line(&self, job: &FakeJob<Value>) -> String {
        let mut line = format!("{} {} on {}", job.class, job.args_json(), job.queue);
        if let Some(at) = job.at {
            let _ = write!(line, ", due in {:.1} s", at.since(self.now()).as_secs_f64());
        }
        line
    }
}
