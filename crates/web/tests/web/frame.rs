//! What stands around every page.

use axum::body::Body;
use axum::http::{Request, StatusCode};
use cogworker_web::WebOptions;

use crate::support::{Outcome, ROOT, Site};

/// Every page that answers without anything in Redis.
const PAGES: [&str; 10] = [
    "",
    "/overview",
    "/overview?layout=b",
    "/workers",
    "/schedules",
    "/jobs",
    "/jobs?status=Dead&q=x&selected=y",
    "/jobs?status=Enqueued&queue=q&all=1",
    "/errors",
    "/history",
];

#[tokio::test]
async fn every_link_begins_with_the_prefix_webc_12() -> Outcome {
    let site = Site::start().await?;
    for page in PAGES {
        let answer = site.get(page).await;
        assert_eq!(answer.status, StatusCode::OK, "{page}: {}", answer.body);
        for link in answer.links() {
            assert!(link.starts_with(&format!("{ROOT}/")) || link.starts_with('#'), "{page}: {link}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn no_page_has_an_inline_script_a_style_or_an_address_of_another_host_webc_21() -> Outcome {
    let site = Site::start().await?;
    for page in PAGES {
        let answer = site.get(page).await;
        for forbidden in ["http://", "https://", " style=", "<style", " onclick=", "javascript:"] {
            assert!(!answer.body.contains(forbidden), "{page} has {forbidden}");
        }
        assert!(answer.body.split("<script").skip(1).all(|tag| tag.starts_with(" src=")), "{page}");
        let policy = answer.header("content-security-policy");
        assert!(
            policy.starts_with("default-src 'self';") && policy.contains("frame-ancestors 'self'"),
            "{policy}"
        );
        assert_eq!(answer.header("x-content-type-options"), "nosniff");
    }
    Ok(())
}

#[tokio::test]
async fn an_unknown_path_has_a_page_with_the_tabs_and_status_404() -> Outcome {
    let site = Site::start().await?;
    for path in ["/nope", "/overview/nope/nope/nope", "/workers/"] {
        let answer = site.get(path).await;
        assert_eq!(answer.status, StatusCode::NOT_FOUND, "{path}");
        assert!(answer.body.contains("There is no such page") && answer.body.contains("/admin/jobs/workers"));
    }
    Ok(())
}

#[tokio::test]
async fn head_answers_as_get_without_a_body() -> Outcome {
    let site = Site::start().await?;
    for page in PAGES {
        let request = Request::head(format!("{ROOT}{page}")).body(Body::empty())?;
        let answer = site.send(request).await;
        assert_eq!((answer.status, answer.body.as_str()), (StatusCode::OK, ""), "{page}");
    }
    Ok(())
}

#[tokio::test]
async fn a_part_has_no_frame_and_is_not_sent_twice_webc_16() -> Outcome {
    let site = Site::start().await?;
    for page in PAGES {
        let first = site.part(page).await;
        assert_eq!(first.status, StatusCode::OK);
        for frame in ["<html", "<nav", "<canvas"] {
            assert!(!first.body.contains(frame), "{page} has {frame}");
        }
        let request = Request::get(format!("{ROOT}{page}"))
            .header("hx-request", "true")
            .header("if-none-match", first.header("etag"));
        let second = site.send(request.body(Body::empty())?).await;
        assert_eq!((second.status, second.body.as_str()), (StatusCode::NOT_MODIFIED, ""), "{page}");
    }
    Ok(())
}

#[tokio::test]
async fn an_action_of_another_site_is_refused_and_says_why_webc_08() -> Outcome {
    let site = Site::start().await?;
    let request = Request::post(format!("{ROOT}/workers/pause_all")).header("sec-fetch-site", "cross-site");
    let answer = site.send(request.body(Body::empty())?).await;
    assert_eq!(answer.status, StatusCode::FORBIDDEN);
    assert!(answer.body.contains("cross-site"), "{}", answer.body);
    assert_eq!(site.post("/workers/pause_all", &[]).await.status, StatusCode::FOUND, "WEBC-09");
    Ok(())
}

#[tokio::test]
async fn read_only_is_enforced_by_the_server() -> Outcome {
    let site = Site::with(WebOptions::new().read_only(true)).await?;
    let answer = site.post("/workers/pause_all", &[]).await;
    assert_eq!(answer.status, StatusCode::FORBIDDEN);
    assert!(answer.body.contains("This is read-only"));
    let page = site.get("/overview").await;
    assert!(page.body.contains("<b>Read-only.</b>") && !page.body.contains("pause_all"));
    assert_eq!(site.post("/preferences", &[("theme", "dark")]).await.status, StatusCode::FOUND);
    Ok(())
}
