//! What is done to the queue whose jobs are shown.

use std::time::Instant;

use axum::response::Response;
use bytes::Bytes;
use cogworker_core::redis::RedisError;

use super::query::JobsQuery;
use crate::Ui;
use crate::display;
use crate::error::WebError;
use crate::form::{Fields, Name};
use crate::message::{Message, failed_to};

/// `/jobs/queue/{action}`: pause, resume or delete the queue that the field `queue` names.
pub(super) async fn act(ui: Ui, Name(action): Name, body: Bytes) -> Result<Response, WebError> {
    let fields = Fields::from(body);
    let Some(name) = fields.all("queue").next() else {
        return Err(WebError::BadRequest("the field queue is missing".into()));
    };
    let queue = ui.client().queue(name);
    let mut view = JobsQuery::of_form(&fields).seen_in(&ui);
    let (log, message) = match action.as_str() {
        "pause" => {
            queue.pause().await?;
            let detail = "What runs goes on; nothing new is taken.";
            ("pause queue", Message::ok(format!("Queue {name} is paused")).detail(detail))
        }
        "resume" => {
            queue.resume().await?;
            (
                "resume queue",
                Message::ok(format!("Queue {name} is resumed")).detail("Its jobs are taken again."),
            )
        }
        "delete" => {
            let message = delete(&ui, name).await;
            view.queue = view.queue.filter(|queue| queue != name);
            ("delete queue", message)
        }
        _ => return Err(WebError::NotFound),
    };
    ui.log_action(log, name);
    super::done(&ui, message, view.closed()).await
}

/// Its jobs go first, in slices; then its name, unless a job came meanwhile.
async fn delete(ui: &Ui, name: &str) -> Message {
    let queue = ui.client().queue(name);
    let began = Instant::now();
    let mut deleted = 0;
    let mut empty = async || -> Result<bool, RedisError> {
        let mut left = queue.info().await?.size.unwrap_or(0);
        while left > 0 && began.elapsed() < ui.shared.options.patience {
            let slice = queue.clear_slice(left).await?;
            deleted += slice.deleted;
            left = if slice.found == 0 { 0 } else { left.saturating_sub(slice.found) };
        }
        queue.unlist().await
    };
    let outcome = empty().await;
    let jobs = format!("{} deleted with it.", display::counted(deleted, "job was", "jobs were"));
    match outcome {
        Ok(true) => Message::ok(format!("Queue {name} is deleted"))
            .detail(format!("{jobs} A worker that reads it lists it again with its next heartbeat.")),
        Ok(false) => Message::warn(format!("Queue {name} stays")).detail(format!(
            "{} deleted; others wait in it. Do it again to go on.",
            display::counted(deleted, "job", "jobs")
        )),
        Err(error) => Message::bad(format!("Queue {name} stays")).detail(format!(
            "{} deleted. {}",
            display::counted(deleted, "job", "jobs"),
            failed_to(error)
        )),
    }
}
