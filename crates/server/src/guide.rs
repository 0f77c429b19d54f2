//! The samples in the pages of the guide, compiled and run with the doctests.

#[doc = include_str!("../../../docs/jobs.md")]
mod jobs {}

#[doc = include_str!("../../../docs/pushing.md")]
mod pushing {}

#[doc = include_str!("../../../docs/unique-jobs.md")]
mod unique_jobs {}

#[doc = include_str!("../../../docs/status.md")]
mod status {}

#[doc = include_str!("../../../docs/history.md")]
mod history {}

#[doc = include_str!("../../../docs/middleware.md")]
mod middleware {}

#[doc = include_str!("../../../docs/retries.md")]
mod retries {}

#[doc = include_str!("../../../docs/periodic.md")]
mod periodic {}

#[doc = include_str!("../../../docs/embedding.md")]
mod embedding {}

#[cfg(feature = "otel")]
#[doc = include_str!("../../../docs/tracing.md")]
mod tracing {}
