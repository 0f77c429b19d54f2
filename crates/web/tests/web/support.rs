//! A server, a client of it, and a UI that is asked as a browser asks.

use std::error::Error;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Request, StatusCode, header};
use cogworker_client::Client;
use cogworker_core::redis_config::RedisConfig;
use cogworker_testing::TestRedis;
use cogworker_web::WebOptions;
use tower::ServiceExt;

pub(crate) type Outcome = Result<(), Box<dyn Error>>;

/// One UI, nested under `/admin/jobs`.
pub(crate) struct Site {
    pub(crate) redis: TestRedis,
    pub(crate) client: Client,
    pub(crate) app: Router,
}

/// What a browser got.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

pub(crate) const ROOT: &str = "/admin/jobs";

/// What a page holds is tested, on a busy machine too; how long it may take is a test of its own.
fn unhurried() -> WebOptions {
    WebOptions::new().read_limit(Duration::from_secs(30))
}

impl Site {
    pub(crate) async fn start() -> Result<Self, Box<dyn Error>> {
        Self::with(unhurried()).await
    }

    pub(crate) async fn with(options: WebOptions) -> Result<Self, Box<dyn Error>> {
        let redis = TestRedis::start()?;
        let client = Client::connect(&RedisConfig::new(&redis.url())?).await?;
        let ui = cogworker_web::router(client.clone(), options);
        let app = Router::new().nest(ROOT, ui);
        Ok(Self { redis, client, app })
    }

    /// A UI that was started just now and knows nothing of before.
    pub(crate) fn fresh(&self) -> Router {
        Router::new().nest(ROOT, cogworker_web::router(self.client.clone(), unhurried()))
    }

    pub(crate) async fn send(&self, request: Request<Body>) -> Answer {
        let response = self.app.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let body = to_bytes(body, usize::MAX).await.unwrap();
        let body = String::from_utf8_lossy(&body).into_owned();
        Answer { status: parts.status, headers: parts.headers, body }
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.send(Request::get(format!("{ROOT}{path}")).body(Body::empty()).unwrap()).await
    }

    /// As a script asks for the part of a page that changes.
    pub(crate) async fn part(&self, path: &str) -> Answer {
        let request = Request::get(format!("{ROOT}{path}")).header("hx-request", "true");
        self.send(request.body(Body::empty()).unwrap()).await
    }

    /// As a form without scripts.
    pub(crate) async fn post(&self, path: &str, fields: &[(&str, &str)]) -> Answer {
        self.send(form(path, fields).body(encoded(fields)).unwrap()).await
    }

    /// As a form with scripts.
    pub(crate) async fn post_part(&self, path: &str, fields: &[(&str, &str)]) -> Answer {
        self.send(form(path, fields).header("hx-request", "true").body(encoded(fields)).unwrap()).await
    }
}

pub(crate) fn form(path: &str, _fields: &[(&str, &str)]) -> axum::http::request::Builder {
    Request::post(format!("{ROOT}{path}"))
        .header("sec-fetch-site", "same-origin")
        .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
}

pub(crate) fn encoded(fields: &[(&str, &str)]) -> Body {
    let mut form = form_urlencoded::Serializer::new(String::new());
    Body::from(form.extend_pairs(fields).finish())
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    /// Every cookie that is set, as it stands in its header.
    pub(crate) fn cookies(&self) -> Vec<&str> {
        self.headers.get_all(header::SET_COOKIE).iter().filter_map(|value| value.to_str().ok()).collect()
    }

    /// Where each form of the page is sent to, and each link leads.
    pub(crate) fn links(&self) -> Vec<&str> {
        let mut links = Vec::new();
        for attribute in ["href=\"", "action=\"", "src=\"", "hx-post=\"", "data-cw-live=\""] {
            for part in self.body.split(attribute).skip(1) {
                links.extend(part.split('"').next());
            }
        }
        links
    }
}
