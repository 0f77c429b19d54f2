//! `cogworker web`: the web UI, served by itself.

mod auth;

use std::future::{Future, IntoFuture};
use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use axum::response::Redirect;
use axum::routing::get;
use clap::Args;
use cogworker_client::Client;
use cogworker_core::redis_config::RedisConfig;
use cogworker_server::logging::LogOptions;
use cogworker_web::{TimeFormat, WebOptions};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

use self::auth::{Access, BASIC_AUTH_VAR};
use crate::connection::Place;
use crate::exit::{Failure, Outcome};

/// Where it listens when nothing else is asked for.
pub(crate) const DEFAULT_ADDRESS: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 9292);

/// How long answers that are under way may take once it is told to stop.
const LAST_ANSWERS: Duration = Duration::from_secs(5);

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Listen on this address and port
    #[arg(long, value_name = "ADDRESS:PORT", default_value_t = DEFAULT_ADDRESS)]
    bind: SocketAddr,
    /// Serve it under this path, as a proxy in front does that passes paths on as they are
    #[arg(long, value_name = "PATH", default_value = "/")]
    path: String,
    /// Ask for this user and password; safer in COGWORKER_WEB_BASIC_AUTH, as other users of the host see flags
    #[arg(long, value_name = "USER:PASSWORD")]
    basic_auth: Option<String>,
    /// Let in whom a proxy names in this header, and nobody else; the log tells the name
    #[arg(long, value_name = "NAME", conflicts_with = "basic_auth")]
    auth_header: Option<String>,
    /// Let in everybody who reaches a public address
    #[arg(long, conflicts_with_all = ["basic_auth", "auth_header"])]
    no_auth: bool,
    /// Show everything, and change nothing
    #[arg(long)]
    read_only: bool,
    /// The name beside the mark
    #[arg(long, value_name = "TITLE", default_value = "Cogworker")]
    title: String,
    /// How times are written, as strftime does
    #[arg(long, value_name = "FORMAT")]
    time_format: Option<String>,
    /// An origin besides the own whose pages may act here: for a proxy that rewrites Host
    #[arg(long, value_name = "ORIGIN")]
    trusted_origin: Vec<String>,
    /// Answer no /metrics
    #[arg(long)]
    no_metrics: bool,
}

impl Options {
    fn web_options(&self) -> Result<WebOptions, Failure> {
        let mut options = WebOptions::new().title(&*self.title).read_only(self.read_only);
        options = options.metrics(!self.no_metrics).session(false);
        if let Some(format) = &self.time_format {
            let format = TimeFormat::new(&**format)
                .map_err(|error| Failure::Usage(format!("--time-format: {error}")))?;
            options = options.time_format(format);
        }
        if let Some(header) = &self.auth_header {
            options = options.operator_header(&**header);
        }
        for origin in &self.trusted_origin {
            options = options.trusted_origin(&**origin);
        }
        Ok(options)
    }

    /// Without its end; empty for the root.
    fn prefix(&self) -> Result<&str, Failure> {
        let path = self.path.trim_end_matches('/');
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._~/".contains(c);
        if path.is_empty() || (path.starts_with('/') && !path.contains("//") && path.chars().all(is_plain)) {
            return Ok(path);
        }
        Err(Failure::Usage(format!("--path: expected a path such as /jobs, found {:?}", self.path)))
    }

    fn access(&self) -> Result<Access, Failure> {
        let given = std::env::var(BASIC_AUTH_VAR).ok().filter(|value| !value.is_empty());
        let access = match (&self.basic_auth, &self.auth_header, given) {
            (Some(pair), _, _) => Access::basic(pair, "--basic-auth")?,
            (None, Some(header), _) => Access::header(header)?,
            (None, None, Some(pair)) if !self.no_auth => Access::basic(&pair, BASIC_AUTH_VAR)?,
            _ => Access::Everybody,
        };
        if matches!(access, Access::Everybody) && !self.no_auth && !self.bind.ip().is_loopback() {
            return Err(Failure::Usage(format!(
                "{} can be reached from outside: expected --basic-auth, {BASIC_AUTH_VAR}, --auth-header or \
                 --no-auth",
                self.bind
            )));
        }
        Ok(access)
    }
}

/// A UI that listens.
pub(crate) struct Ui {
    listener: TcpListener,
    app: Router,
    url: String,
}

impl Ui {
    /// `options` says how, on a listener that is bound already.
    fn new(
        listener: TcpListener,
        redis: &RedisConfig,
        prefix: &str,
        options: WebOptions,
    ) -> Result<Self, Failure> {
        let url = format!("http://{}{prefix}/", listener.local_addr()?);
        // Lazily: it starts while Redis is away, and says so on its pages.
        let client = Client::connect_lazily(redis)
            .map_err(|source| Failure::Redis(format!("connect to {redis}"), source))?;
        let app = cogworker_web::router(client, options);
        let app = match prefix {
            "" => app,
            _ => {
                let home = format!("{prefix}/");
                let to_home = get(move || std::future::ready(Redirect::to(&home)));
                Router::new().route("/", to_home).nest_service(prefix, app)
            }
        };
        Ok(Self { listener, app, url })
    }

    /// One for the machine's own user: at the usual address, or at any that is free.
    pub(crate) async fn local(redis: &RedisConfig) -> Result<Self, Failure> {
        let listener = match TcpListener::bind(DEFAULT_ADDRESS).await {
            Ok(listener) => listener,
            Err(_) => TcpListener::bind(SocketAddr::new(DEFAULT_ADDRESS.ip(), 0)).await?,
        };
        Self::new(listener, redis, "", WebOptions::new().session(false))
    }

    /// Where it can be looked at.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Serves it until `stop`, and then what is under way for a little longer.
    pub(crate) async fn serve(self, stop: impl Future<Output = ()> + Send + 'static) -> std::io::Result<()> {
        let (told, hears) = oneshot::channel();
        let stop = async move {
            stop.await;
            let _ = told.send(());
        };
        let serving = axum::serve(self.listener, self.app).with_graceful_shutdown(stop).into_future();
        let late = async {
            let _ = hears.await;
            tokio::time::sleep(LAST_ANSWERS).await;
        };
        tokio::select! {
            served = serving => served,
            () = late => Ok(()),
        }
    }
}

pub(crate) fn run(place: &Place, options: &Options) -> Outcome {
    let (prefix, access) = (options.prefix()?, options.access()?);
    let web = options.web_options()?;
    let (redis, _) = place.settings()?;
    LogOptions::new().init().map_err(|error| Failure::Usage(format!("failed to {error}")))?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        // Before anybody can be told that it is there.
        let (mut int, mut term) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
        let listener = TcpListener::bind(options.bind)
            .await
            .map_err(|error| Failure::Failed(format!("failed to listen on {}: {error}", options.bind)))?;
        let mut ui = Ui::new(listener, &redis, prefix, web)?;
        println!("Cogworker UI: {} ({redis}, {access})", ui.url());
        ui.app = access.around(ui.app, prefix);
        let stop = async move {
            tokio::select! {
                _ = int.recv() => {}
                _ = term.recv() => {}
            }
        };
        Ok(ui.serve(stop).await?)
    })
}
