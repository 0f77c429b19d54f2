//! The jobs that several recipes share: a crate of its own in a real program, on which both the app that enqueues and
//! the worker depend.

use cogworker_core::job::Job;
use cogworker_core::options::JobOptions;
use serde::{Deserialize, Serialize};

/// Welcomes a new user by mail.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WelcomeMail {
    /// Whom.
    pub address: String,
}

impl Job for WelcomeMail {
    const CLASS: &'static str = "WelcomeMailJob";

    fn options() -> JobOptions {
        JobOptions::new().queue("mail").retry(5)
    }
}

/// Makes a picture smaller.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Thumbnail(pub String, pub u32);

impl Job for Thumbnail {
    const CLASS: &'static str = "ThumbnailJob";
}
