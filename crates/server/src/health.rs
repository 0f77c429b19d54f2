//! When a worker is taken for stuck.

mod limits;

pub use self::limits::HealthLimits;
