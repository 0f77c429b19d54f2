//! Asking before something is done that cannot be undone.

use std::io::{self, BufRead, IsTerminal, Write};

use crate::exit::{Failure, Outcome};
use crate::text::shown;

/// Asks whether to `question`. Without a terminal nobody can answer, so it is refused.
pub(crate) fn confirm(question: &str, yes: bool) -> Outcome {
    if yes {
        return Ok(());
    }
    let question = shown(question);
    let (input, mut error) = (io::stdin(), io::stderr());
    if !input.is_terminal() || !error.is_terminal() {
        let text = format!("would {question}: there is no terminal to ask on, so add --yes to do it");
        return Err(Failure::NotConfirmed(text));
    }
    let _ = write!(error, "{question}? [y/N] ");
    let _ = error.flush();
    let mut answer = String::new();
    let read = input.lock().read_line(&mut answer);
    let answer = answer.trim().to_lowercase();
    if read.is_ok() && matches!(answer.as_str(), "y" | "yes") {
        return Ok(());
    }
    Err(Failure::NotConfirmed("not confirmed: nothing was done".to_owned()))
}
