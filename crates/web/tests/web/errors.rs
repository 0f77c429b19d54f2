//! Errors: groups over Retry and Dead, and what is done to one.

use axum::http::StatusCode;

use crate::support::{Outcome, Site};

fn failed(site: &Site, set: &str, jid: u32, class: &str, message: &str) {
    let job = serde_json::json!({
        "class": "MailJob", "jid": format!("j{jid}"), "queue": "mail", "args": [],
        "failed_at": 1000.0 + f64::from(jid), "error_class": class, "error_message": message,
    });
    site.redis.cli(&["ZADD", &format!("cogworker:{set}"), &(9_000_000 + jid).to_string(), &job.to_string()]);
}

fn site_with_errors(site: &Site) {
    for jid in 0..3 {
        failed(site, "retry", jid, "Timeout", &format!("no answer after {jid} s"));
    }
    failed(site, "dead", 10, "Timeout", "no answer after 60 s");
    failed(site, "dead", 11, "Broken", "\"><script>x</script> ' onmouseover=x");
    failed(site, "dead", 12, "", "");
}

#[tokio::test]
async fn groups_are_counted_and_lead_to_their_jobs() -> Outcome {
    let site = Site::start().await?;
    site_with_errors(&site);
    let page = site.get("/errors").await.body;
    for part in [
        "3 groups over 6 jobs",
        "no answer after <i>N</i> s",
        "No error class",
        "Looked at all 6 entries.",
        "Retry 4",
        "/jobs?status=Retrying&#38;error_class=Timeout&#38;message=no%20answer%20after%20N%20s",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(!page.contains("<script>x"), "P-39");
    let dead = site.get("/errors?in=dead").await.body;
    assert!(dead.contains("3 groups over 3 jobs") && dead.contains("Retry 1"));
    assert!(site.get("/errors?q=TIMEOUT").await.body.contains("1 group over 4 jobs"));
    assert!(site.get("/errors?q=nowhere").await.body.contains("No error matches"));
    let jobs =
        site.get("/jobs?status=Retrying&error_class=Timeout&message=no%20answer%20after%20N%20s").await.body;
    assert!(jobs.contains("3 of 3 retrying jobs match"), "{jobs}");
    let nameless = site.get("/jobs?status=Dead&error_class=&message=").await.body;
    assert!(nameless.contains("j12") || nameless.contains("3 dead jobs"), "{nameless}");
    Ok(())
}

#[tokio::test]
async fn no_errors_are_good_news() -> Outcome {
    let site = Site::start().await?;
    assert!(site.get("/errors").await.body.contains("Nothing is retrying and nothing is dead."));
    assert!(site.get("/errors?in=dead").await.body.contains("Nothing is dead."));
    Ok(())
}

#[tokio::test]
async fn a_group_is_retried_or_deleted_as_far_as_the_view_shows_it() -> Outcome {
    let site = Site::start().await?;
    site_with_errors(&site);
    let group = |view: &'static str| {
        vec![("view", view), ("error_class", "Timeout"), ("message", "no answer after N s")]
    };
    let answer = site.post_part("/errors/retry", &group("in=dead")).await;
    assert_eq!(answer.status, StatusCode::OK);
    assert!(
        answer.body.contains("1 job put back") && answer.body.contains("3 groups")
            || answer.body.contains("2 groups")
    );
    assert_eq!((site.client.retries().size().await?, site.client.dead().size().await?), (3, 2));
    let answer = site.post("/errors/delete", &group("in=all")).await;
    assert_eq!((answer.status, answer.header("location")), (StatusCode::FOUND, "/admin/jobs/errors?in=all"));
    assert_eq!((site.client.retries().size().await?, site.client.dead().size().await?), (0, 2));
    let gone = site.post_part("/errors/retry", &group("in=all")).await.body;
    assert!(gone.contains("No job matches any more"), "{gone}");
    let nameless = [("error_class", ""), ("message", "")];
    assert!(site.post_part("/errors/delete", &nameless).await.body.contains("1 job deleted"));
    let asked = [("error_class", "Broken"), ("message", ""), ("ask", "Delete 1 job with Broken?")];
    assert!(site.post("/errors/delete", &asked).await.body.contains("Delete 1 job with Broken?"));
    assert_eq!(site.client.dead().size().await?, 1);
    Ok(())
}
