//! The Schedules tab.

use axum::http::StatusCode;

use crate::support::{Outcome, Site};

fn publish(site: &Site, pjid: &str, entry: &str) {
    site.redis.cli(&["HSET", "periodic:schedule", pjid, entry]);
}

#[tokio::test]
async fn an_entry_that_is_disabled_keeps_its_place() -> Outcome {
    let site = Site::start().await?;
    for (pjid, class, cron) in [
        ("p1", "EachMinute", "* * * * *"),
        ("p2", "EachJanuary", "0 0 1 1 *"),
        ("p3", "AlsoEachMinute", "* * * * *"),
        ("p4", "Broken", "x"),
    ] {
        let entry = format!(r#"{{"cron":"{cron}","class":"{class}","retry":3,"unique":null,"args":[]}}"#);
        publish(&site, pjid, &entry);
    }
    let order = |page: &str| -> Vec<String> {
        let rows = page.split("<tr role=\"row\" id=\"s-").skip(1);
        rows.map(|row| row.split("history?class=").nth(1).unwrap().split('"').next().unwrap().to_owned())
            .collect()
    };
    for sort in ["", "class", "last_run"] {
        let before = order(&site.get(&format!("/schedules?sort={sort}")).await.body);
        assert_eq!(before.len(), 4);
        for (action, enabled) in [("disable", 3), ("enable", 4)] {
            let part = site.post_part(&format!("/schedules/p3/{action}"), &[("sort", sort)]).await.body;
            assert_eq!(order(&part), before, "{action} by {sort}");
            for (id, count) in [("all", 4), ("enabled", enabled), ("disabled", 4 - enabled)] {
                let told = format!("<template data-cw-copy-to=\"schedules-{id}\">{count}</template>");
                assert!(part.contains(&told), "{told}: {part}");
            }
        }
    }
    Ok(())
}

#[tokio::test]
async fn entries_show_cron_args_and_state_webs_01_to_05_webs_09() -> Outcome {
    let site = Site::start().await?;
    assert!(site.get("/schedules").await.body.contains("Nothing registered yet"));
    publish(
        &site,
        "p1",
        r#"{"cron":"0 9 * * mon-fri","class":"ReportJob","retry":3,"unique":"until_executed","args":["<b>"]}"#,
    );
    let page = site.get("/schedules").await.body;
    for part in [
        "ReportJob",
        "0 9 * * mon-fri",
        "Every weekday at 09:00",
        "[&#34;&#60;b&#62;&#34;]",
        "until_executed",
        "never",
        "Enabled",
        "/schedules/p1/run_now",
        "/schedules/p1/disable",
        "1 of 1 shown",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert_eq!(page.matches("<li><time").count(), 4, "five next runs in all");
    site.redis.cli(&["SET", "periodic:last_slot:p1", "1767323045"]);
    assert!(!site.get("/schedules").await.body.contains("never"), "WEBS-02");
    Ok(())
}

#[tokio::test]
async fn run_now_pushes_one_ordinary_job_on_the_queue_of_its_last_run_webs_06() -> Outcome {
    let site = Site::start().await?;
    publish(&site, "p1", r#"{"cron":"* * * * *","class":"ReportJob","retry":3,"unique":null,"args":["a"]}"#);
    let answer = site.post_part("/schedules/p1/run_now", &[]).await;
    assert_eq!(answer.status, StatusCode::OK);
    assert!(answer.body.contains("ReportJob pushed"));
    let jobs = site.redis.cli(&["LRANGE", "cogworker:queue:default", "0", "-1"]).strings();
    assert_eq!(jobs.len(), 1);
    assert!(jobs[0].contains(r#""args":["a"]"#) && !jobs[0].contains("periodic_pjid"), "{}", jobs[0]);
    assert!(site.post_part("/schedules/gone/run_now", &[]).await.body.contains("not there any more"));

    let other = Site::start().await?;
    publish(&other, "p1", r#"{"cron":"* * * * *","class":"ReportJob","retry":3,"unique":null,"args":["a"]}"#);
    let run = r#"{"jid":"j","class":"ReportJob","queue":"reports","args":["a"],"status":"failed","started_at":1.0,"finished_at":2.5,"error_class":"Boom"}"#;
    other.redis.cli(&["ZADD", "cogworker:history:all", "2.5", run]);
    let page = other.get("/schedules").await.body;
    assert!(
        page.contains("failed in its last run") && page.contains("1.5 s") && page.contains("with Boom"),
        "{page}"
    );
    other.post("/schedules/p1/run_now", &[]).await;
    assert_eq!(other.redis.cli(&["LLEN", "cogworker:queue:reports"]), 1);
    Ok(())
}

#[tokio::test]
async fn disable_and_enable_keep_the_search_webs_07_webs_08_webs_10_to_12() -> Outcome {
    let site = Site::start().await?;
    publish(&site, "p1", r#"{"cron":"0 0 * * *","class":"NightJob","retry":3,"args":[]}"#);
    publish(&site, "p2", r#"{"cron":"* * * * *","class":"OftenJob","retry":3,"args":[]}"#);
    let found = site.get("/schedules?q=0+0+*+*+*").await.body;
    assert!(found.contains("1 of 2 shown") && !found.contains("OftenJob"));
    assert!(found.contains("data-cw-live=\"/admin/jobs/schedules?q=0%200%20%2A%20%2A%20%2A\""), "{found}");
    let none = site.get("/schedules?q=zzz").await.body;
    assert!(none.contains("No schedule matches") && !none.contains("Nothing registered yet"));
    let answer = site.post("/schedules/p1/disable", &[("q", "Night")]).await;
    assert_eq!(
        (answer.status, answer.header("location")),
        (StatusCode::FOUND, "/admin/jobs/schedules?q=Night")
    );
    assert_eq!(site.redis.cli(&["SISMEMBER", "periodic:disabled", "p1"]), 1);
    let page = site.get("/schedules?state=disabled").await.body;
    assert!(
        page.contains("Disabled") && page.contains(">disabled<") && page.contains("/schedules/p1/enable")
    );
    assert!(!page.contains("OftenJob"));
    site.post("/schedules/p1/enable", &[]).await;
    assert_eq!(site.redis.cli(&["EXISTS", "periodic:disabled"]), 0);
    Ok(())
}

#[tokio::test]
async fn a_damaged_entry_and_a_cron_that_cannot_be_read_break_nothing() -> Outcome {
    let site = Site::start().await?;
    publish(&site, "bad<1>", "not json");
    publish(&site, "p1", r#"{"cron":"every blue moon","class":"OddJob","retry":3,"args":[]}"#);
    let page = site.get("/schedules").await;
    assert_eq!(page.status, StatusCode::OK);
    for part in ["bad&#60;1&#62;", "cannot be read", "OddJob", "Unreadable cron"] {
        assert!(page.body.contains(part), "{part}");
    }
    Ok(())
}

#[tokio::test]
async fn a_schedule_that_failed_or_was_not_fired_needs_attention() -> Outcome {
    let site = Site::start().await?;
    publish(&site, "p1", r#"{"cron":"0 0 * * *","class":"LateJob","retry":3,"args":[]}"#);
    publish(&site, "p2", r#"{"cron":"0 0 * * *","class":"NewJob","retry":3,"args":[]}"#);
    site.redis.cli(&["SET", "periodic:last_slot:p1", "1767323045"]);
    let run = r#"{"jid":"j","class":"NewJob","queue":"q","args":[],"status":"failed","started_at":1.0,"finished_at":2.5}"#;
    site.redis.cli(&["ZADD", "cogworker:history:all", "2.5", run]);
    let page = site.get("/overview").await.body;
    assert!(
        page.contains("<b>LateJob</b> was not fired.")
            && page.contains("<b>NewJob</b> failed in its last run.")
    );
    assert!(!page.contains("<b>NewJob</b> was not fired."), "it may be new");
    Ok(())
}

#[tokio::test]
async fn a_schedule_that_is_gone_is_not_switched_off() -> Outcome {
    let site = Site::start().await?;
    let answer = site.post("/schedules/gone/disable", &[]).await;
    assert!(answer.status.is_redirection(), "{}", answer.status);
    assert_eq!(site.redis.cli(&["EXISTS", "periodic:disabled"]), 0);
    Ok(())
}
