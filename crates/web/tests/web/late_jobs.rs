//! Jobs that come while somebody thinks about what to do to all that were there.

use std::time::Duration;

use axum::http::StatusCode;
use cogworker_core::time::EpochSeconds;
use cogworker_web::WebOptions;

use crate::bulk::{fill, going_on};
use crate::support::{Outcome, Site};

/// What the form that is sent to `path` says besides its question.
fn fields_of(page: &str, path: &str) -> Vec<(String, String)> {
    let form = page.split("<form").find(|form| form.contains(&format!("action=\"/admin/jobs{path}\"")));
    let form = form.and_then(|form| form.split("</form>").next()).unwrap_or_default();
    let value = |text: &str, name: &str| {
        let value = text.split(&format!(" {name}=\"")).nth(1)?.split('"').next()?;
        Some(value.replace("&#38;", "&"))
    };
    let inputs = form.split("<input").skip(1);
    inputs.filter_map(|input| Some((value(input, "name")?, value(input, "value")?))).collect()
}

/// One more of each, now: as a worker and a client write them.
fn come(site: &Site, jid: &str) {
    let now = EpochSeconds::now();
    let job = format!(
        r#"{{"class":"AJob","jid":"{jid}","queue":"q","args":[],"created_at":{now},"enqueued_at":{now},"failed_at":{now},"error_class":"E","error_message":"x"}}"#
    );
    for set in ["dead", "retry", "schedule"] {
        site.redis.cli(&["ZADD", &format!("cogworker:{set}"), &now.to_string(), &job]);
    }
    site.redis.cli(&["SADD", "cogworker:queues", "q"]);
    site.redis.cli(&["LPUSH", "cogworker:queue:q", &job]);
}

#[tokio::test]
async fn what_came_after_the_jobs_of_a_question_were_counted_stays_with_and_without_scripts() -> Outcome {
    for (page, path, key, done, ask) in [
        ("/jobs?status=Dead", "/jobs/dead/delete_all", "dead", "2 jobs deleted", true),
        ("/jobs?status=Dead&q=AJob", "/jobs/dead/delete_all", "dead", "2 jobs deleted", true),
        ("/jobs?status=Dead", "/jobs/dead/retry_all", "dead", "2 jobs put back", false),
        ("/jobs?status=Retrying", "/jobs/retrying/retry_all", "retry", "2 jobs put back", false),
        ("/jobs?status=Scheduled", "/jobs/scheduled/delete_all", "schedule", "2 jobs deleted", true),
        ("/jobs?status=Enqueued&queue=q", "/jobs/enqueued/delete_all", "queue:q", "2 jobs deleted", true),
        ("/jobs?status=Enqueued", "/jobs/enqueued/delete_all", "queue:q", "2 jobs deleted", true),
        ("/jobs?status=Dead&all=1", "/jobs/selected", "dead", "2 jobs deleted", true),
        ("/jobs?status=Retrying&all=1", "/jobs/selected", "retry", "2 jobs moved to Dead", false),
        ("/overview?layout=b&queue=q", "/overview/q/delete_all", "queue:q", "2 jobs deleted", true),
        ("/overview?layout=b&queue=q", "/overview/q/retry_all", "retry", "2 jobs put back", false),
        ("/errors?in=dead", "/errors/delete", "dead", "2 jobs deleted", true),
        ("/errors?in=retry", "/errors/retry", "retry", "2 jobs put back", false),
    ] {
        for scripts in [true, false] {
            let site = Site::start().await?;
            come(&site, "one");
            come(&site, "two");
            let shown = site.get(page).await.body;
            come(&site, "late");
            let mut fields = fields_of(&shown, path);
            assert!(fields.iter().any(|(name, _)| name == "counted_at"), "{page} {path}: {shown}");
            if path.ends_with("selected") {
                fields.push(("do".into(), if ask { "delete" } else { "kill" }.into()));
            }
            if scripts {
                fields.retain(|(name, _)| !name.starts_with("ask"));
            }
            let mut sent = fields;
            if !scripts && ask {
                let given: Vec<_> = sent.iter().map(|(name, value)| (&**name, &**value)).collect();
                let question = site.post(path, &given).await;
                assert_eq!(question.status, StatusCode::OK, "{page} {path}: {}", question.body);
                sent = fields_of(&question.body, path);
            }
            let given: Vec<_> = sent.iter().map(|(name, value)| (&**name, &**value)).collect();
            let answer = site.post_part(path, &given).await.body;
            assert!(answer.contains(done), "{page} {path} {scripts}: {answer}");
            let count = if key.starts_with("queue") { "LLEN" } else { "ZCARD" };
            let left = site.redis.cli(&[count, &format!("cogworker:{key}")]);
            assert_eq!(left, 1, "{page} {path} {scripts}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn going_on_keeps_the_moment_at_which_all_were_counted() -> Outcome {
    let site = Site::with(WebOptions::new().patience(Duration::ZERO)).await?;
    fill(&site, "cogworker:dead", 1200);
    let shown = site.get("/jobs?status=Dead").await.body;
    come(&site, "late");
    let fields = fields_of(&shown, "/jobs/dead/delete_all");
    let mut next = Some(("/jobs/dead/delete_all".to_owned(), fields));
    let mut times = 0;
    while let Some((path, fields)) = next {
        let given = fields.iter().filter(|(name, _)| !name.starts_with("ask"));
        let given: Vec<_> = given.map(|(name, value)| (&**name, &**value)).collect();
        next = going_on(&site.post_part(&path, &given).await.body);
        times += 1;
        assert!(times < 9, "it goes on for ever");
    }
    assert!(times > 1 && site.client.dead().size().await? == 1, "{times}");
    Ok(())
}
