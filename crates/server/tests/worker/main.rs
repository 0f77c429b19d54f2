//! A whole worker on a real Redis: running, settling, scheduling, presence, outages.

mod fetching;
mod outages;
mod presence;
mod running;
mod schedule;
mod settling;
mod support;
