//! The HTTP side of the health checks: `/live`, `/ready`, `/health`.
//!
//! One request a connection, few connections, short deadlines: whoever reaches the port can hold up
//! other checks for a moment, and nothing else.

use std::convert::Infallible;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};

/// Connections answered at the same time; further ones wait in the system's backlog.
const MOST_CONNECTIONS: usize = 16;
/// How long a client may take to send its request.
const REQUEST_LIMIT: Duration = Duration::from_secs(2);
/// How long a connection may last in all.
const CONNECTION_LIMIT: Duration = Duration::from_secs(5);
/// The longest request line and headers.
const LONGEST_REQUEST: usize = 8 * 1024;
/// The pause after a connection could not be taken: mostly there are too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

const TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");
const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// What the checks are answered from.
pub trait Checks: Send + Sync + 'static {
    /// How it is now.
    fn check(&self) -> Check;
}

/// The state of a worker, or of a swarm of them.
#[derive(Debug)]
pub struct Check {
    /// For `/live`.
    pub live: bool,
    /// For `/ready`.
    pub ready: bool,
    /// Why it is not ready.
    pub reasons: Vec<String>,
    /// For `/health`.
    pub json: String,
}

/// Answers until `stop` completes.
pub async fn serve(listener: TcpListener, health: Arc<impl Checks>, stop: impl Future<Output = ()>) {
    let places = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    let accepting = async {
        while let Ok(place) = places.clone().acquire_owned().await {
            match listener.accept().await {
                Ok((stream, _)) => {
                    let health = health.clone();
                    tokio::spawn(async move {
                        converse(stream, health).await;
                        drop(place);
                    });
                }
                Err(_) => sleep(ACCEPT_PAUSE).await,
            }
        }
    };
    tokio::select! {
        () = accepting => {}
        () = stop => {}
    }
}

/// What goes wrong on a connection is the client's affair.
async fn converse(stream: TcpStream, health: Arc<impl Checks>) {
    let service = service_fn(move |request: Request<Incoming>| {
        let answer = answer(request.method(), request.uri().path(), &*health);
        async move { Ok::<_, Infallible>(answer) }
    });
    let conversation = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(REQUEST_LIMIT)
        .max_buf_size(LONGEST_REQUEST)
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), service);
    let _ = timeout(CONNECTION_LIMIT, conversation).await;
}

fn answer(method: &Method, path: &str, health: &impl Checks) -> Response<String> {
    if !matches!(path, "/live" | "/ready" | "/health") {
        return response(StatusCode::NOT_FOUND, TEXT, "there are /live, /ready and /health\n".into());
    }
    if !matches!(*method, Method::GET | Method::HEAD) {
        let mut refusal = response(StatusCode::METHOD_NOT_ALLOWED, TEXT, "only GET and HEAD\n".into());
        refusal.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        return refusal;
    }
    let report = health.check();
    let verdict = |well: bool| if well { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let (well, content, body) = match path {
        "/live" => (report.live, TEXT, if report.live { "live\n".into() } else { lines(&report.reasons) }),
        "/ready" => {
            (report.ready, TEXT, if report.ready { "ready\n".into() } else { lines(&report.reasons) })
        }
        // A monitor that looks at the status alone must not be told that all is well.
        _ => (report.ready, JSON, report.json + "\n"),
    };
    response(verdict(well), content, body)
}

fn lines(reasons: &[String]) -> String {
    reasons.iter().map(|reason| format!("{reason}\n")).collect()
}

fn response(status: StatusCode, content: HeaderValue, body: String) -> Response<String> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, content);
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
