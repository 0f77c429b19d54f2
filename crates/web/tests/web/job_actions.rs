//! Jobs: what is done to one.

use axum::http::StatusCode;
use cogworker_client::EntryFilter;
use cogworker_client::SearchOrder;
use cogworker_core::time::EpochSeconds;
use cogworker_web::WebOptions;

use crate::entries::*;
use crate::support::{Outcome, Site};

#[tokio::test]
async fn a_job_is_deleted_with_its_attempts_webj_06_webj_12() -> Outcome {
    let site = Site::start().await?;
    for (set, state) in [("retry", "retrying"), ("dead", "dead"), ("schedule", "scheduled")] {
        let raw = job("OneOffJob", set);
        add(&site, set, far(), &raw);
        site.redis.cli(&["RPUSH", &format!("cogworker:job_attempts:{set}"), "{}"]);
        let answer = site.post_part(&format!("/jobs/{state}/delete"), &[("raw", &raw)]).await;
        assert_eq!(answer.status, StatusCode::OK);
        assert!(
            !answer.body.contains("OneOffJob") && answer.body.contains("1 job deleted"),
            "{}",
            answer.body
        );
        assert!(rows(&site, set).is_empty());
        assert_eq!(site.redis.cli(&["EXISTS", &format!("cogworker:job_attempts:{set}")]), 0);
        let again = site.post_part(&format!("/jobs/{state}/delete"), &[("raw", &raw)]).await;
        assert_eq!(again.status, StatusCode::OK);
        assert!(again.body.contains("That job is not there any more"), "{}", again.body);
        let plain = site
            .post(&format!("/jobs/{state}/delete"), &[("raw", &raw), ("status", "Dead"), ("q", "a b")])
            .await;
        assert_eq!(
            (plain.status, plain.header("location")),
            (StatusCode::FOUND, "/admin/jobs/jobs?status=Dead&q=a%20b")
        );
    }
    site.redis.cli(&["SADD", "cogworker:queues", "mail"]);
    let (one, two) = (job("MailJob", "1"), job("MailJob", "2"));
    site.redis.cli(&["LPUSH", "cogworker:queue:mail", &one, &two]);
    let answer = site.post("/jobs/enqueued/delete", &[("queue", "mail"), ("raw", &one)]).await;
    assert_eq!(answer.status, StatusCode::FOUND);
    assert_eq!(site.redis.cli(&["LRANGE", "cogworker:queue:mail", "0", "-1"]).strings(), [two]);
    Ok(())
}

#[tokio::test]
async fn a_job_goes_back_to_its_queue_once_webj_07_webj_13_webj_14() -> Outcome {
    let site = Site::start().await?;
    for (set, path) in
        [("retry", "retrying/retry_now"), ("dead", "dead/retry"), ("schedule", "scheduled/run_now")]
    {
        let raw = job("MailJob", set);
        add(&site, set, far(), &raw);
        for _ in 0..2 {
            assert_eq!(
                site.post_part(&format!("/jobs/{path}"), &[("raw", &raw)]).await.status,
                StatusCode::OK
            );
        }
        assert!(rows(&site, set).is_empty());
        let queued = site.redis.cli(&["LRANGE", "cogworker:queue:mail", "0", "-1"]).strings();
        assert_eq!(queued.len(), 1, "one copy");
        let without_stamp = |text: &str| {
            let start = text.find("\"enqueued_at\":").unwrap();
            let end = start + text[start..].find(',').unwrap();
            format!("{}{}", &text[..start], &text[end..])
        };
        assert_eq!(without_stamp(&queued[0]), without_stamp(&raw), "[WIRE]");
        site.redis.cli(&["DEL", "cogworker:queue:mail"]);
    }
    Ok(())
}

#[tokio::test]
async fn a_job_is_rescheduled_as_it_is_webj_08_webj_09_webj_10_webj_11() -> Outcome {
    let site = Site::start().await?;
    for (set, state) in [("retry", "retrying"), ("schedule", "scheduled")] {
        let raw = job("MailJob", set);
        add(&site, set, far(), &raw);
        for (minutes, seconds) in [("30", 1800.0), ("999999999", 604_800.0), ("x", 60.0), ("", 60.0)] {
            let path = format!("/jobs/{state}/reschedule");
            let answer = site.post_part(&path, &[("raw", &raw), ("minutes", minutes)]).await;
            assert_eq!(answer.status, StatusCode::OK);
            let set_of = if set == "retry" { site.client.retries() } else { site.client.schedule() };
            let score = set_of.page(0, 1).await?.entries[0].score.as_f64();
            let expected = EpochSeconds::now().as_f64() + seconds;
            assert!((score - expected).abs() < 2.0, "{minutes}: {score} and not {expected}");
            assert_eq!(rows(&site, set), std::slice::from_ref(&raw), "same bytes, still one");
        }
        let absent =
            site.post_part(&format!("/jobs/{state}/reschedule"), &[("raw", "{}"), ("minutes", "5")]).await;
        assert_eq!((absent.status, rows(&site, set).len()), (StatusCode::OK, 1));
    }
    Ok(())
}

#[tokio::test]
async fn a_job_is_killed_as_it_is() -> Outcome {
    let site = Site::start().await?;
    for (set, state) in [("retry", "retrying"), ("schedule", "scheduled")] {
        let raw = job("MailJob", set);
        add(&site, set, far(), &raw);
        let answer = site.post_part(&format!("/jobs/{state}/kill"), &[("raw", &raw)]).await;
        assert!(answer.body.contains("1 job moved to Dead"), "{}", answer.body);
        assert!(rows(&site, set).is_empty() && rows(&site, "dead").contains(&raw));
    }
    assert_eq!(site.post("/jobs/dead/kill", &[("raw", "x")]).await.status, StatusCode::NOT_FOUND);
    assert_eq!(site.post("/jobs/running/delete", &[("raw", "x")]).await.status, StatusCode::NOT_FOUND);
    assert_eq!(site.post("/jobs/enqueued/retry", &[("raw", "x")]).await.status, StatusCode::NOT_FOUND);
    Ok(())
}

#[tokio::test]
async fn what_has_no_queue_stays_and_says_so_once_webj_16_webj_17() -> Outcome {
    let site = Site::start().await?;
    let raw = job("MailJob", "abc").replace("\"mail\"", "null");
    for (set, path) in [("dead", "dead/retry"), ("retry", "retrying/retry_now")] {
        add(&site, set, far(), &raw);
        let answer = site.post_part(&format!("/jobs/{path}"), &[("raw", &raw)]).await;
        assert_eq!(answer.status, StatusCode::OK);
        assert!(answer.body.contains("Not put back: it names no queue"), "{}", answer.body);
        assert_eq!(rows(&site, set), std::slice::from_ref(&raw));
    }
    assert_eq!(site.redis.cli(&["EXISTS", "cogworker:queues"]), 0);
    let plain = site.post("/jobs/dead/retry", &[("raw", &raw), ("status", "Dead")]).await;
    let location = plain.header("location").to_owned();
    assert_eq!(
        (plain.status, location.as_str()),
        (StatusCode::FOUND, "/admin/jobs/jobs?status=Dead&notice=not_requeueable")
    );
    let page = site.get("/jobs?status=Dead&notice=not_requeueable").await.body;
    assert!(page.contains("Not put back: it names no queue"));
    assert!(page.contains("data-cw-live=\"/admin/jobs/jobs?status=Dead\""), "the update does not ask for it");
    Ok(())
}

#[tokio::test]
async fn a_unique_twin_keeps_a_dead_job_where_it_is() -> Outcome {
    let site = Site::start().await?;
    let raw = r#"{"class":"A","jid":"1","queue":"q","args":[],"unique":"until_executed"}"#;
    add(&site, "dead", 5.0, raw);
    let keys = site.client.redis().keys();
    let job = cogworker_core::raw_job::RawJob::parse(raw.as_bytes())?;
    let lock = cogworker_core::locks::JobLocks::of(&job, keys).unique.unwrap();
    site.redis.cli(&["SET", &lock, "another"]);
    let answer = site.post_part("/jobs/dead/retry", &[("raw", raw)]).await;
    assert!(answer.body.contains("an equal job waits already"), "{}", answer.body);
    assert_eq!(rows(&site, "dead"), [raw]);
    Ok(())
}

#[tokio::test]
async fn a_form_without_its_fields_is_refused_and_changes_nothing() -> Outcome {
    let site = Site::start().await?;
    let raw = job("MailJob", "abc");
    add(&site, "dead", 5.0, &raw);
    for (path, fields) in [
        ("/jobs/dead/delete", vec![]),
        ("/jobs/dead/delete", vec![("entry", "nonsense")]),
        ("/jobs/enqueued/delete", vec![("raw", "x")]),
        ("/jobs/selected", vec![("do", "explode")]),
        ("/errors/retry", vec![]),
    ] {
        let answer = site.post(path, &fields).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{path} {fields:?}");
        assert!(answer.body.contains("This request cannot be carried out"), "{path}");
        let part = site.post_part(path, &fields).await;
        assert_eq!(part.status, StatusCode::BAD_REQUEST, "{path} {fields:?}");
    }
    let found = &site.client.dead().search(&EntryFilter::new(), SearchOrder::NextFirst, 0, 1).await?.found[0];
    let other_state = format!("r:{}", found.entry);
    assert_eq!(
        site.post("/jobs/dead/delete", &[("entry", &other_state)]).await.status,
        StatusCode::BAD_REQUEST
    );
    assert_eq!(rows(&site, "dead"), [raw]);
    Ok(())
}

#[tokio::test]
async fn other_sites_and_read_only_servers_change_nothing() -> Outcome {
    let raw = job("MailJob", "abc");
    let paths = [
        "/jobs/dead/delete",
        "/jobs/dead/retry",
        "/jobs/dead/delete_all",
        "/jobs/dead/retry_all",
        "/jobs/selected",
        "/errors/retry",
        "/errors/delete",
    ];
    let site = Site::with(WebOptions::new().read_only(true)).await?;
    add(&site, "dead", 5.0, &raw);
    for path in paths {
        let answer =
            site.post(path, &[("raw", &raw), ("do", "delete"), ("all", "1"), ("status", "Dead")]).await;
        assert_eq!(answer.status, StatusCode::FORBIDDEN, "{path}");
    }
    for page in ["/jobs?status=Dead&selected=abc", "/errors", "/history"] {
        let body = site.get(page).await.body;
        assert!(!body.contains("hx-post") && !body.contains("name=\"entry\""), "{page} has no buttons");
    }
    let site = Site::start().await?;
    add(&site, "dead", 5.0, &raw);
    for path in paths {
        let request = crate::support::form(path, &[]).header("sec-fetch-site", "cross-site");
        let mut request = request.body(crate::support::encoded(&[("raw", &raw), ("do", "delete")]))?;
        request.headers_mut().insert("sec-fetch-site", "cross-site".parse()?);
        assert_eq!(site.send(request).await.status, StatusCode::FORBIDDEN, "{path}");
    }
    assert_eq!(rows(&site, "dead"), [raw]);
    Ok(())
}

#[tokio::test]
async fn without_a_script_deleting_asks_first() -> Outcome {
    let site = Site::start().await?;
    let raw = job("MailJob", "abc");
    add(&site, "dead", 5.0, &raw);
    let page = site.get("/jobs?status=Dead").await;
    let entry = values(&page, "entry")[0].clone();
    let fields = [("entry", entry.as_str()), ("ask", "Delete this MailJob?"), ("ask_verb", "Delete job")];
    let question = site.post("/jobs/dead/delete", &fields).await;
    assert_eq!(question.status, StatusCode::OK);
    assert!(question.body.contains("Delete this MailJob?") && question.body.contains("Cancel"));
    assert_eq!(rows(&site, "dead"), std::slice::from_ref(&raw), "nothing is deleted yet");
    let ticked = [("do", "delete"), ("entry", &*entry), ("ask:delete", "Delete {n} selected jobs?")];
    let question = site.post("/jobs/selected", &ticked).await;
    assert!(question.body.contains("Delete 1 selected job?"), "{}", question.body);
    assert_eq!(rows(&site, "dead").len(), 1);
    let done = site.post("/jobs/selected", &[("do", "delete"), ("entry", &entry)]).await;
    assert_eq!((done.status, rows(&site, "dead").len()), (StatusCode::FOUND, 0));
    Ok(())
}
