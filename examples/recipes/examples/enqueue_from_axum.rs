//! A web app that enqueues: `curl -X POST http://127.0.0.1:3000/users/ada@example.org`.
//!
//! It starts while Redis is away, and then answers 503 until Redis is back. `PORT` is where it listens.

use std::error::Error;

use axum::Router;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::post;
use cogworker_client::Client;
use cogworker_core::redis_config::RedisConfig;
use recipes::WelcomeMail;
use tokio::net::TcpListener;

async fn create_user(State(client): State<Client>, Path(address): Path<String>) -> (StatusCode, String) {
    // The user would be stored here, before the job that reads it is pushed.
    match client.perform_async(&WelcomeMail { address }).await {
        Ok(Some(jid)) => (StatusCode::ACCEPTED, format!("the mail is job {jid}\n")),
        // A middleware stopped it, or it is unique and an equal one is there already.
        Ok(None) => (StatusCode::ACCEPTED, "no mail\n".to_owned()),
        Err(error) => (StatusCode::SERVICE_UNAVAILABLE, format!("failed to {error}\n")),
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    // One client for the whole app: it is cheap to clone, and clones share its connection.
    let client = Client::connect_lazily(&RedisConfig::from_env()?)?;
    let app = Router::new().route("/users/{address}", post(create_user)).with_state(client.clone());
    let port = std::env::var("PORT").ok().map_or(Ok(3000), |port| port.parse::<u16>())?;
    let listener = TcpListener::bind(("127.0.0.1", port)).await?;
    println!("listening on {}", listener.local_addr()?);
    axum::serve(listener, app).with_graceful_shutdown(ctrl_c()).await?;
    client.close().await;
    Ok(())
}

async fn ctrl_c() {
    let _ = tokio::signal::ctrl_c().await;
}
