//! A server with the web UI, on a Redis of its own.

use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use axum::response::Html;
use axum::routing::get;
use cogworker_client::Client;
use cogworker_core::redis_config::RedisConfig;
use cogworker_testing::TestRedis;
use cogworker_web::{Extension, Markup, Ui, WebOptions};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::Outcome;

/// Where the UI is nested, as in the example app.
pub const ROOT: &str = "/admin/jobs";

/// The UI as a host nests it, served.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl Server {
    /// Serves it on a free port.
    ///
    /// # Errors
    /// When there is none.
    pub async fn start(client: Client, options: WebOptions) -> Outcome<Self> {
        let ui = cogworker_web::router(client.with_status(Duration::from_secs(1800)), options);
        let app = Router::new()
            .route(
                "/",
                get(async || Html("<!doctype html><title>Host</title><a href='/admin/jobs'>Jobs</a>")),
            )
            .nest(ROOT, ui);
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let task = tokio::spawn(async move {
            let _ = axum::serve(listener, app).await;
        });
        Ok(Self { address, task })
    }

    /// Updates twice a second, and a tab of the host's own.
    ///
    /// # Errors
    /// When the tab cannot be there.
    pub fn options() -> Outcome<WebOptions> {
        let tab = Extension::new("Greetings", "greetings", Router::new().route("/", get(greetings)))?;
        Ok(WebOptions::new()
            .live_update_interval(Duration::from_millis(500))
            .back_link("the example app", "/")
            .extension(tab))
    }

    /// The address of a page below the prefix, such as `/jobs?status=Dead`.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{ROOT}{path}", self.address)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn greetings(ui: Ui) -> axum::response::Response {
    ui.extension_page("Greetings", Markup::raw("<div class=\"head\"><h1>Greetings</h1></div>")).await
}

/// A server with a Redis of its own.
#[derive(Debug)]
pub struct Site {
    /// Its Redis.
    pub redis: TestRedis,
    /// A client of it.
    pub client: Client,
    server: Server,
}

impl Site {
    /// With [`Server::options`].
    ///
    /// # Errors
    /// Whatever keeps it from starting.
    pub async fn start() -> Outcome<Self> {
        Self::with(Server::options()?).await
    }

    /// With options of the test's own.
    ///
    /// # Errors
    /// Whatever keeps it from starting.
    pub async fn with(options: WebOptions) -> Outcome<Self> {
        let redis = TestRedis::start()?;
        let client = Client::connect(&RedisConfig::new(&redis.url())?).await?;
        let server = Server::start(client.clone(), options).await?;
        Ok(Self { redis, client, server })
    }

    /// The address of a page below the prefix.
    pub fn url(&self, path: &str) -> String {
        self.server.url(path)
    }
}
