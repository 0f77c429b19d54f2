//! The engine: one owner of a process's slots, fed by messages.
//!
//! It takes jobs ([`waits`], and fetches when there is a backlog), runs them ([`runner`],
//! [`slots`]), settles what comes of them ([`settler`]), and looks after strays
//! ([`reconcile`]). Fetching and settling are separate calls, each at most one under way, on one
//! connection: while one batch is away the next one forms by itself, without any timer. A call that
//! never ends is given up ([`within()`]), and signs of life are left for others ([`pulse`]).

mod claim;
mod command;
mod coordinator;
mod gauges;
mod lease;
mod outcome;
mod pace;
mod parts;
mod pulse;
mod queues;
mod reconcile;
mod runner;
mod running_locks;
mod settler;
mod shutdown;
mod slots;
mod waits;
mod within;

pub(crate) use command::Command;
pub(crate) use coordinator::{Engine, last_calls};
pub(crate) use gauges::Gauges;
pub(crate) use lease::Lease;
pub(crate) use parts::EngineParts;
pub(crate) use pulse::{Activity, Pulse, Vitals};
pub(crate) use within::within;
