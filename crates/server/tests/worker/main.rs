//! A worker under load and in outages: picking up, sharing, losing nothing.

mod fetching;
mod outages;
mod schedule;
mod support;
