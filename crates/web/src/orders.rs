//! What was asked of processes and does not show in their heartbeat yet.
//!
//! A process tells of itself every few seconds. Until then a page shows what was asked for, so that a click has
//! an effect at once.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// An order that had no effect by then was lost.
const PATIENCE: Duration = Duration::from_secs(15);
/// A stop may take as long as the jobs that run.
const STOP_PATIENCE: Duration = Duration::from_secs(120);

/// What was asked of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    Quiet,
    Resume,
    Stop,
}

impl Order {
    fn patience(self) -> Duration {
        if self == Self::Stop { STOP_PATIENCE } else { PATIENCE }
    }
}

/// The orders of this program's pages.
#[derive(Debug, Default)]
pub(crate) struct Orders(Mutex<HashMap<String, (Order, Instant)>>);

impl Orders {
    pub(crate) fn note(&self, identity: &str, order: Order) {
        let mut orders = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        orders.retain(|_, (order, at)| at.elapsed() < order.patience());
        // A process that stops takes no other order.
        if !matches!(orders.get(identity), Some((Order::Stop, _))) {
            orders.insert(identity.to_owned(), (order, Instant::now()));
        }
    }

    /// What was asked of a process that says that it is quiet, or not, and how long ago.
    pub(crate) fn pending(&self, identity: &str, quiet: bool) -> Option<(Order, Duration)> {
        let orders = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (order, at) = *orders.get(identity)?;
        let done = match order {
            Order::Quiet => quiet,
            Order::Resume => !quiet,
            Order::Stop => false,
        };
        (!done && at.elapsed() < order.patience()).then(|| (order, at.elapsed()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_pending_until_the_process_says_so() {
        let orders = Orders::default();
        assert_eq!(orders.pending("a", false), None);
        orders.note("a", Order::Quiet);
        assert_eq!(orders.pending("a", false).map(|(order, _)| order), Some(Order::Quiet));
        assert_eq!(orders.pending("a", true), None);
    }

    #[test]
    fn a_process_that_stops_takes_no_other_order() {
        let orders = Orders::default();
        orders.note("a", Order::Stop);
        orders.note("a", Order::Resume);
        assert_eq!(orders.pending("a", true).map(|(order, _)| order), Some(Order::Stop));
    }
}
