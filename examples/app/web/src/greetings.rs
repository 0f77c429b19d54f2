//! A tab of the app's own in the Cogworker UI: pushes greetings.

use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use axum::{Form, Router};
use cogworker_web::{Markup, Ui};
use example_jobs::GreetingJob;

pub(crate) fn routes() -> Router {
    Router::new().route("/", get(show)).route("/push", post(push))
}

async fn show(ui: Ui) -> Response {
    let mut page = Markup::raw("<div class=\"head\"><h1>Greetings</h1></div><section class=\"panel\">");
    if ui.is_read_only() {
        page.html("<p class=\"empty\">Nothing can be pushed here: this is read-only.</p>");
    } else {
        page.html("<form class=\"bar-f\" method=\"post\" action=\"").text(ui.root()).html(
            "/greetings/push\"><label for=\"name\">Whom to greet</label>\
             <input class=\"field\" id=\"name\" name=\"name\" value=\"world\" required>\
             <button class=\"btn btn--primary\">Push GreetingJob</button></form>",
        );
    }
    page.html("</section>");
    ui.extension_page("Greetings", page).await
}

async fn push(ui: Ui, Form(fields): Form<Vec<(String, String)>>) -> Response {
    let name = fields.into_iter().find(|(field, _)| field == "name").map(|(_, value)| value);
    let Some(name) = name else { return Redirect::to(&format!("{}/greetings", ui.root())).into_response() };
    match ui.client().perform_async(&GreetingJob(name)).await {
        Ok(_) => {
            ui.log_action("push", "GreetingJob");
            Redirect::to(&format!("{}/overview", ui.root())).into_response()
        }
        Err(error) => {
            let mut page = Markup::raw("<p class=\"empty\">Failed to ");
            page.text(error).html(".</p>");
            ui.extension_page("Greetings", page).await
        }
    }
}
