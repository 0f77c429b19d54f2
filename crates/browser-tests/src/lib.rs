//! What the tests and pictures of the web UI are made with: a real Chromium, driven through chromedriver.
//!
//! - [`Driver`]: the chromedriver process; [`Browser`]: one session of it, [`Pool`]: those that tests share.
//! - [`Server`]: the UI under a prefix; [`Site`]: one on a Redis of its own, which [`seed`] fills.
//! - [`axe`]: what the accessibility checker finds on a page.
//!
//! Nothing of this is part of what users get.

pub mod axe;
mod browser;
mod driver;
mod pool;
pub mod seed;
mod site;

pub use browser::{Browser, Screen, Scripts};
pub use driver::{Driver, DriverError, is_installed};
pub use pool::Pool;
pub use site::{ROOT, Server, Site};

/// What may go wrong in a test.
pub type Outcome<T = ()> = Result<T, Box<dyn std::error::Error + Send + Sync>>;
