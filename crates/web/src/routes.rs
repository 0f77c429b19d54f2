//! One module for each tab, and for what is no tab.

pub(crate) mod errors;
pub(crate) mod health;
pub(crate) mod history;
pub(crate) mod jobs;
pub(crate) mod metrics;
pub(crate) mod overview;
mod preferences;
pub(crate) mod schedules;
mod status;
pub(crate) mod workers;

pub(crate) use preferences::preferences;
pub(crate) use status::ClusterStatus;
