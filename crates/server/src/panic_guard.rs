//! Job panics are failures: caught, told in one line, and without a flood of backtraces.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::pin::Pin;
use std::sync::Once;
use std::task::{Context, Poll};

use cogworker_core::failure::Failure;

thread_local! {
    static IN_JOB: Cell<bool> = const { Cell::new(false) };
    static PLACE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Silences the process's panic hook for panics of jobs; others still reach the hook that was
/// there before.
pub(crate) fn install_hook() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let previous = take_hook();
        set_hook(Box::new(move |panic| {
            if IN_JOB.get() {
                let place = panic.location().map(ToString::to_string);
                PLACE.with_borrow_mut(|last| *last = place);
            } else {
                previous(panic);
            }
        }));
    });
}

/// Runs a piece of a job; a panic in it becomes a failure of class `Panic`.
pub(crate) fn contain<T>(piece: impl FnOnce() -> T) -> Result<T, Failure> {
    struct Leave(bool);
    impl Drop for Leave {
        fn drop(&mut self) {
            IN_JOB.set(self.0);
        }
    }
    let _leave = Leave(IN_JOB.replace(true));
    catch_unwind(AssertUnwindSafe(piece)).map_err(|payload| {
        let place = PLACE.with_borrow_mut(Option::take);
        let failure = Failure::panic(text_of(&*payload), place.as_deref());
        // What a job panics with may panic itself when it is dropped.
        if let Err(another) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
            std::mem::forget(another);
        }
        failure
    })
}

fn text_of(payload: &(dyn Any + Send)) -> &str {
    if let Some(text) = payload.downcast_ref::<&str>() {
        text
    } else if let Some(text) = payload.downcast_ref::<String>() {
        text
    } else {
        "a panic without a text"
    }
}

/// A job's future whose panics are contained.
pub(crate) struct Contained(pub(crate) Option<crate::handler::JobFuture>);

impl Future for Contained {
    type Output = Result<(), Failure>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(future) = self.0.as_mut() else { return Poll::Ready(Ok(())) };
        match contain(|| future.as_mut().poll(cx)) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(result)) => {
                // Dropping what the future still holds is the job's code too.
                let dropped = contain(|| drop(self.0.take()));
                Poll::Ready(result.and(dropped))
            }
            Err(failure) => {
                let _ = contain(|| drop(self.0.take()));
                Poll::Ready(Err(failure))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_a_failure_that_names_its_place() {
        install_hook();
        let failure = contain(|| panic!("no {}", "luck")).unwrap_err();
        assert_eq!((failure.class.as_str(), failure.message.as_str()), ("Panic", "no luck"));
        assert!(failure.backtrace.iter().any(|line| line.contains("panic_guard.rs")), "{failure:?}");
    }

    #[test]
    fn a_payload_that_panics_when_dropped_is_contained_too() {
        struct Bomb;
        impl Drop for Bomb {
            fn drop(&mut self) {
                panic!("boom");
            }
        }
        install_hook();
        let failure = contain(|| std::panic::panic_any(Bomb)).unwrap_err();
        assert_eq!(failure.message, "a panic without a text");
    }

    #[test]
    fn a_panic_without_a_text_is_contained_too() {
        install_hook();
        let failure = contain(|| std::panic::panic_any(7)).unwrap_err();
        assert_eq!(failure.message, "a panic without a text");
    }
}
