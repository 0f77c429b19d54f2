//! The app as a browser meets it, on a real Redis.

use axum::body::{Body, to_bytes};
use axum::http::{Request, StatusCode, header};
use cogworker_client::Client;
use cogworker_core::redis_config::RedisConfig;
use cogworker_testing::TestRedis;
use tower::ServiceExt;

type Outcome = Result<(), Box<dyn std::error::Error>>;

async fn status(
    app: &axum::Router,
    request: Request<Body>,
) -> Result<StatusCode, Box<dyn std::error::Error>> {
    Ok(app.clone().oneshot(request).await?.status())
}

#[tokio::test]
async fn the_ui_asks_for_its_password_and_the_app_does_not() -> Outcome {
    let redis = TestRedis::start()?;
    let client = Client::connect(&RedisConfig::new(&redis.url())?).await?;
    let app = super::app(client, Some("secret".to_owned()))?;
    let plain = || Request::get("/admin/jobs/overview");
    assert_eq!(status(&app, plain().body(Body::empty())?).await?, StatusCode::UNAUTHORIZED);
    for (given, expected) in
        [("Basic YWRtaW46c2VjcmV0", StatusCode::OK), ("Basic YWRtaW46c2VjcmV1", StatusCode::UNAUTHORIZED)]
    {
        let request = plain().header(header::AUTHORIZATION, given).body(Body::empty())?;
        assert_eq!(status(&app, request).await?, expected);
    }
    assert_eq!(status(&app, Request::get("/").body(Body::empty())?).await?, StatusCode::SEE_OTHER);
    Ok(())
}

#[tokio::test]
async fn the_tab_of_its_own_pushes_a_greeting() -> Outcome {
    let redis = TestRedis::start()?;
    let client = Client::connect(&RedisConfig::new(&redis.url())?).await?;
    let app = super::app(client, None)?;
    let page = app.clone().oneshot(Request::get("/admin/jobs/greetings").body(Body::empty())?).await?;
    let page = to_bytes(page.into_body(), usize::MAX).await?;
    assert!(String::from_utf8_lossy(&page).contains("action=\"/admin/jobs/greetings/push\""));
    let push = Request::post("/admin/jobs/greetings/push")
        .header("sec-fetch-site", "same-origin")
        .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
        .body(Body::from("name=%3Cworld%3E"))?;
    assert_eq!(status(&app, push).await?, StatusCode::SEE_OTHER);
    let jobs = redis.cli(&["LRANGE", "cogworker:queue:default", "0", "-1"]).strings();
    assert!(jobs.len() == 1 && jobs[0].contains(r#""args":["<world>"]"#), "{jobs:?}");
    Ok(())
}
