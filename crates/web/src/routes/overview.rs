//! Overview: is work flowing, what is failing, which queue waits.

mod attention;
mod charts;
mod metrics_first;
mod queue_first;
mod redis;

use axum::Router;
use axum::extract::RawQuery;
use axum::response::Response;
use axum::routing::{get, post};
use bytes::Bytes;
use cogworker_client::{EntryFilter, NotAnEntryRefError};
use cogworker_core::redis::RedisError;

use crate::Ui;
use crate::display;
use crate::error::WebError;
use crate::form::{Fields, Name};
use crate::message::{Message, failed_to};

pub(crate) fn routes() -> Router {
    Router::new()
        .route("/", get(show))
        .route("/overview", get(show))
        .route("/overview/redis", get(redis::show))
        .route("/overview/throughput_data", get(charts::throughput))
        .route("/overview/runs_data", get(charts::runs))
        .route("/overview/{queue}/pause", post(pause))
        .route("/overview/{queue}/resume", post(resume))
        .route("/overview/{queue}/retry_all", post(retry_all))
        .route("/overview/{queue}/delete", post(delete))
        .route("/overview/{queue}/delete_all", post(delete_all))
}

#[derive(Default)]
struct OverviewQuery {
    layout: Option<String>,
    queue: Option<String>,
    period: Option<String>,
    page: Option<String>,
}

impl OverviewQuery {
    fn new(query: Option<String>) -> Self {
        let fields = Fields::of_query(query);
        Self {
            layout: fields.owned("layout"),
            queue: fields.owned("queue"),
            period: fields.owned("period"),
            page: fields.owned("page"),
        }
    }

    fn is_queue_first(&self) -> bool {
        self.layout.as_deref() == Some("b")
    }

    /// The same view again.
    fn href(&self, ui: &Ui) -> String {
        match (self.is_queue_first(), &self.queue) {
            (false, _) => "/overview".to_owned(),
            (true, None) => "/overview?layout=b".to_owned(),
            (true, Some(queue)) => format!("/overview?layout=b&queue={}", ui.enc(queue)),
        }
    }
}

async fn show(ui: Ui, RawQuery(query): RawQuery) -> Result<Response, WebError> {
    let query = OverviewQuery::new(query);
    if query.is_queue_first() {
        ui.show(&queue_first::load(&ui, &query).await?).await
    } else {
        ui.show(&metrics_first::load(&ui, &query).await?).await
    }
}

/// What a form of a queue brings besides its path. Browsers take a name of dots for steps up the path, so that the
/// name stands here too (P-38).
struct QueueForm(Fields);

impl QueueForm {
    fn queue(&self, in_path: String) -> String {
        self.0.all("queue").next().map_or(in_path, str::to_owned)
    }

    /// What `filter` means, without what came after it was counted.
    fn counted(&self, filter: EntryFilter) -> EntryFilter {
        match self.0.counted_at() {
            Some(moment) => filter.came_by(moment),
            None => filter,
        }
    }

    /// The view that the form stood in.
    fn view(&self, queue: &str) -> OverviewQuery {
        let layout = if self.0.get("layout") == Some("a") { "a" } else { "b" };
        OverviewQuery { layout: Some(layout.into()), queue: Some(queue.to_owned()), ..Default::default() }
    }

    async fn done(&self, ui: &Ui, queue: &str, message: Message) -> Result<Response, WebError> {
        let query = self.view(queue);
        let back = query.href(ui);
        if query.is_queue_first() {
            ui.done(message, &back, queue_first::load(ui, &query)).await
        } else {
            ui.done(message, &back, metrics_first::load(ui, &query)).await
        }
    }
}

async fn pause(ui: Ui, Name(name): Name, body: Bytes) -> Result<Response, WebError> {
    let form = QueueForm(Fields::from(body));
    let queue = form.queue(name);
    ui.client().queue(&queue).pause().await?;
    ui.log_action("pause queue", &queue);
    let message =
        Message::ok(format!("Queue {queue} is paused")).detail("What runs goes on; nothing new is taken.");
    form.done(&ui, &queue, message).await
}

async fn resume(ui: Ui, Name(name): Name, body: Bytes) -> Result<Response, WebError> {
    let form = QueueForm(Fields::from(body));
    let queue = form.queue(name);
    ui.client().queue(&queue).resume().await?;
    ui.log_action("resume queue", &queue);
    let message = Message::ok(format!("Queue {queue} is resumed")).detail("Its jobs are taken again.");
    form.done(&ui, &queue, message).await
}

async fn retry_all(ui: Ui, Name(name): Name, body: Bytes) -> Result<Response, WebError> {
    let form = QueueForm(Fields::from(body));
    let queue = form.queue(name);
    let (requeued, left, why) = requeue(&ui, form.counted(EntryFilter::new().queue(&queue))).await?;
    ui.log_action("retry all of queue", &queue);
    let count = display::counted(requeued, "job", "jobs");
    let message = match (requeued, left) {
        (0, 0) => Message::warn("Nothing to retry").detail(format!("No job of {queue} is retrying.")),
        (_, 0) => Message::ok(format!("{count} put back")).detail(format!("Now waiting in {queue}.")),
        (0, left) => {
            let why = why.map_or_else(String::new, |error| format!(" {}", failed_to(error)));
            let left = display::counted(left, "job", "jobs");
            Message::bad("Nothing was put back").detail(format!("{left} stayed in Retry.{why}"))
        }
        (_, left) => {
            let why = why.map_or_else(String::new, |error| format!(" {}", failed_to(error)));
            let left = display::counted(left, "job", "jobs");
            Message::warn(format!("{count} put back")).detail(format!("{left} stayed in Retry.{why}"))
        }
    };
    form.done(&ui, &queue, message).await
}

/// All retrying jobs that `filter` means: how many came onto the queue, and how many stay.
async fn requeue(ui: &Ui, filter: EntryFilter) -> Result<(u64, u64, Option<RedisError>), RedisError> {
    let mut walk = ui.client().retries().walk(filter);
    let (mut requeued, mut left, mut why) = (0, 0, None);
    while let Some(more) = walk.requeue_next().await? {
        (requeued, left) = (requeued + more.requeued, left + more.left);
        why = why.or(more.error);
    }
    Ok((requeued, left, why))
}

async fn delete(ui: Ui, Name(name): Name, body: Bytes) -> Result<Response, WebError> {
    let form = QueueForm(Fields::from(body));
    let queue = form.queue(name);
    let waiting = ui.client().queue(&queue);
    let raw = match (form.0.get("entry"), form.0.all("raw").next()) {
        (Some(entry), _) => {
            let bad =
                |error: NotAnEntryRefError| WebError::BadRequest(format!("the field entry cannot {error}"));
            waiting.find(&entry.parse().map_err(bad)?).await?
        }
        (None, Some(raw)) => Some(Bytes::from(raw.to_owned())),
        (None, None) => return Err(WebError::BadRequest("the field entry is missing".into())),
    };
    let deleted = match raw {
        Some(raw) => waiting.delete(&raw).await?,
        None => false,
    };
    ui.log_action("delete job of queue", &queue);
    let message = if deleted {
        Message::ok("1 job deleted").detail(format!("It was waiting in {queue}."))
    } else {
        Message::warn("That job is not there any more").detail(format!("It has left {queue} meanwhile."))
    };
    form.done(&ui, &queue, message).await
}

async fn delete_all(ui: Ui, Name(name): Name, body: Bytes) -> Result<Response, WebError> {
    let form = QueueForm(Fields::from(body));
    let queue = form.queue(name);
    let mut walk = ui.client().queue(&queue).walk(form.counted(EntryFilter::new()));
    let mut deleted = 0;
    while let Some(more) = walk.delete_next().await? {
        deleted += more;
    }
    ui.log_action("delete all jobs of queue", &queue);
    let count = display::counted(deleted, "job", "jobs");
    form.done(&ui, &queue, Message::ok(format!("{count} deleted")).detail(format!("They waited in {queue}.")))
        .await
}
