//! The example app's web part: pages of its own, and the Cogworker UI under `/admin/jobs`.
//!
//! `PORT` is where it listens (9292), `REDIS_URL` where Redis is. With `ADMIN_PASSWORD` set, the UI asks for it
//! (user `admin`); without, it listens on this machine alone and asks for nothing.

mod basic_auth;
mod greetings;
#[cfg(test)]
mod tests;

use std::error::Error;
use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::response::Redirect;
use axum::routing::get;
use cogworker_client::Client;
use cogworker_core::redis_config::RedisConfig;
use cogworker_web::{Extension, ExtensionPathError, WebOptions};
use tokio::net::TcpListener;
use tracing::info;

use crate::basic_auth::{Password, ask_for_password};

const DEFAULT_PORT: u16 = 9292;

fn app(client: Client, password: Option<String>) -> Result<Router, ExtensionPathError> {
    let options = WebOptions::new()
        .title("Cogworker")
        .back_link("the example app", "/")
        .extension(Extension::new("Greetings", "greetings", greetings::routes())?);
    let mut jobs = cogworker_web::router(client.with_status(Duration::from_secs(1800)), options);
    // Who may see it is the host's business: any layer will do.
    if let Some(password) = password {
        jobs = jobs.layer(from_fn_with_state(Password(password), ask_for_password));
    }
    let home = get(|| async { Redirect::to("/admin/jobs") });
    Ok(Router::new().route("/", home).nest_service("/admin/jobs", jobs))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    tracing_subscriber::fmt().with_env_filter("info").init();
    let password = std::env::var("ADMIN_PASSWORD").ok().filter(|password| !password.is_empty());
    let port = std::env::var("PORT").ok().map_or(Ok(DEFAULT_PORT), |port| port.parse())?;
    let host = if password.is_some() { [0, 0, 0, 0] } else { [127, 0, 0, 1] };
    // Lazily: the app starts while Redis is away, and its pages say so.
    let client = Client::connect_lazily(&RedisConfig::from_env()?)?;
    let listener = TcpListener::bind(SocketAddr::from((host, port))).await?;
    info!("Cogworker UI: http://127.0.0.1:{}/admin/jobs", listener.local_addr()?.port());
    axum::serve(listener, app(client, password)?).with_graceful_shutdown(stopped()).await?;
    Ok(())
}

async fn stopped() {
    // Without a handler Ctrl-C ends the program as well, only less gently.
    let _ = tokio::signal::ctrl_c().await;
}
