//! Tabs of the host's own, sessions, and other prefixes.

use axum::Router;
use axum::body::Body;
use axum::http::{Request, StatusCode};
use axum::response::Response;
use axum::routing::{get, post};
use cogworker_web::{
    Extension, ExtensionPathError, Markup, Session, SessionLayer, SessionSecret, Ui, WebOptions,
};
use tower::ServiceExt;

use crate::support::{Outcome, Site};

async fn show(ui: Ui) -> Response {
    let mut page = Markup::raw("<h1>Tenants of ");
    page.text("<us>");
    ui.extension_page("Tenants", page).await
}

async fn remember(session: Session) -> &'static str {
    session.set("seen", "yes");
    "remembered"
}

async fn recall(session: Session) -> String {
    session.get("seen").unwrap_or_else(|| "nothing".to_owned())
}

fn options() -> Result<WebOptions, ExtensionPathError> {
    let router =
        Router::new().route("/", get(show)).route("/remember", post(remember)).route("/recall", get(recall));
    let tenants = Extension::new("Tenants", "tenants", router)?;
    Ok(WebOptions::new().extension(tenants).session_secret(SessionSecret::random()))
}

#[tokio::test]
async fn an_extension_has_a_tab_the_frame_and_the_safety_of_ours() -> Outcome {
    let site = Site::with(options()?).await?;
    let page = site.get("/tenants").await;
    assert_eq!(page.status, StatusCode::OK, "{}", page.body);
    assert!(page.body.contains("<h1>Tenants of &#60;us&#62;") && page.body.contains("Pause intake"));
    assert!(page.body.contains("<a href=\"/admin/jobs/tenants\" aria-current=\"page\">Tenants</a>"));
    assert!(page.header("content-security-policy").starts_with("default-src 'self'"));
    assert!(!site.part("/tenants").await.body.contains("<html"));
    let foreign = Request::post("/admin/jobs/tenants/remember").header("sec-fetch-site", "cross-site");
    assert_eq!(site.send(foreign.body(Body::empty())?).await.status, StatusCode::FORBIDDEN);
    Ok(())
}

#[tokio::test]
async fn a_second_tab_with_the_same_path_takes_the_place_of_the_first() -> Outcome {
    let tab = |label, text: &'static str| {
        Extension::new(label, "/tenants/", Router::new().route("/", get(move || async move { text })))
    };
    let options = WebOptions::new().extension(tab("First", "first")?).extension(tab("Second", "second")?);
    let site = Site::with(options).await?;
    assert_eq!(site.get("/tenants").await.body, "second");
    let page = site.get("/overview").await.body;
    assert!(page.contains(">Second</a>") && !page.contains(">First</a>"));
    Ok(())
}

#[tokio::test]
async fn a_session_is_set_only_when_it_is_written_to_webc_25() -> Outcome {
    let site = Site::with(options()?).await?;
    assert!(site.get("/overview").await.cookies().is_empty());
    assert!(site.get("/tenants/recall").await.cookies().is_empty());
    let answer = site.post("/tenants/remember", &[]).await;
    let cookie = answer.cookies()[0].to_owned();
    assert!(
        cookie.starts_with("cogworker.session=")
            && cookie.contains("HttpOnly")
            && cookie.contains("SameSite=Lax")
    );
    let pair = cookie.split(';').next().unwrap_or_default();
    let recall = Request::get("/admin/jobs/tenants/recall").header("cookie", pair).body(Body::empty())?;
    assert_eq!(site.send(recall).await.body, "yes");
    Ok(())
}

#[tokio::test]
async fn a_session_is_secure_behind_https_and_only_there() -> Outcome {
    let site = Site::with(options()?).await?;
    for (header, value, secure) in [
        ("x-forwarded-proto", "https", true),
        ("x-forwarded-proto", "https, http", true),
        ("x-forwarded-proto", "http", false),
        ("origin", "https://jobs.example", true),
        ("origin", "http://jobs.example", false),
    ] {
        let request = Request::post("/admin/jobs/tenants/remember").header("sec-fetch-site", "same-origin");
        let answer = site.send(request.header(header, value).body(Body::empty())?).await;
        let cookies = answer.cookies();
        assert_eq!(cookies.len(), 1, "{header}: {value}");
        let flags: Vec<&str> = cookies[0].split("; ").skip(1).collect();
        assert_eq!(flags.contains(&"Secure"), secure, "{header}: {value}: {flags:?}");
        for flag in ["HttpOnly", "SameSite=Lax", "Path=/admin/jobs"] {
            assert!(flags.contains(&flag), "{header}: {value}: {flags:?}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_session_of_the_hosts_own_is_used_and_one_switched_off_is_not_there_webc_24_webc_27() -> Outcome {
    let site = Site::with(options()?).await?;
    let app = site.app.clone().layer(SessionLayer::new(SessionSecret::random()));
    let request = Request::post("/admin/jobs/tenants/remember").header("sec-fetch-site", "same-origin");
    let response = app.oneshot(request.body(Body::empty())?).await?;
    assert_eq!(response.headers().get_all("set-cookie").iter().count(), 1);

    let without = Site::with(options()?.session(false)).await?;
    let answer = without.post("/tenants/remember", &[]).await;
    assert!(answer.cookies().is_empty() && answer.status == StatusCode::INTERNAL_SERVER_ERROR);
    assert_eq!(without.get("/overview").await.status, StatusCode::OK);
    Ok(())
}

#[tokio::test]
async fn any_prefix_works_and_none_too_webc_07_webc_12() -> Outcome {
    let site = Site::start().await?;
    let ui = cogworker_web::router(site.client.clone(), WebOptions::new());
    for (prefix, app) in [
        ("", ui.clone()),
        ("/x", Router::new().nest_service("/x", ui.clone())),
        ("/a/b/c", Router::new().nest("/a", Router::new().nest("/b/c", ui.clone()))),
    ] {
        for path in ["/overview", "/workers", "/"] {
            if prefix == "/a/b/c" && path == "/" {
                continue;
            }
            let request = Request::get(format!("{prefix}{path}")).body(Body::empty())?;
            let response = app.clone().oneshot(request).await?;
            assert_eq!(response.status(), StatusCode::OK, "{prefix}{path}");
            let body = axum::body::to_bytes(response.into_body(), usize::MAX).await?;
            let body = String::from_utf8_lossy(&body);
            assert!(body.contains(&format!("href=\"{prefix}/workers\"")), "{prefix}{path}");
        }
    }
    Ok(())
}
