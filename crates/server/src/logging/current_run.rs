//! Which run a thread is busy with, so that what a job logs carries its jid, class and queue.
//!
//! Not by a span for each run: that would cost every job something, and most log nothing.

use std::cell::RefCell;

use crate::run::Run;

thread_local! {
    static CURRENT: RefCell<Option<Run>> = const { RefCell::new(None) };
}

/// Does a piece of a run. The run is lent, not cloned.
pub(crate) fn as_run<T>(run: &mut Option<Run>, piece: impl FnOnce() -> T) -> T {
    struct Back<'a>(&'a mut Option<Run>);
    impl Drop for Back<'_> {
        fn drop(&mut self) {
            exchange(self.0);
        }
    }
    exchange(run);
    let _back = Back(run);
    piece()
}

/// A thread that ends has no current run any more.
fn exchange(run: &mut Option<Run>) {
    let _ = CURRENT.try_with(|current| {
        if let Ok(mut current) = current.try_borrow_mut() {
            std::mem::swap(&mut *current, run);
        }
    });
}

/// What is said about the current run, if there is one: names and values.
pub(super) fn current_fields<T>(tell: impl FnOnce([(&'static str, &str); 3]) -> T) -> Option<T> {
    CURRENT
        .try_with(|current| {
            let current = current.try_borrow().ok()?;
            let run = current.as_ref()?;
            Some(tell([("jid", run.jid().as_str()), ("class", run.class()), ("queue", run.queue())]))
        })
        .ok()?
}
