//! Both layouts of Overview, and what can be done there.

use axum::http::StatusCode;
use cogworker_core::new_job::NewJob;

use crate::support::{Outcome, Site};

fn job(jid: &str, queue: &str) -> String {
    format!(r#"{{"class":"TestJob","args":["{jid}"],"jid":"{jid}","queue":"{queue}","enqueued_at":1000.0}}"#)
}

#[tokio::test]
async fn a_paused_queue_whose_jobs_wait_comes_before_errors_and_everything_else_can_be_opened() -> Outcome {
    let site = Site::start().await?;
    let now = cogworker_core::time::EpochSeconds::now();
    for n in 0..6 {
        let job = format!(
            r#"{{"class":"J{n}","jid":"{n}","queue":"q","args":[],"error_class":"Error{n}","error_message":"x","failed_at":{now}}}"#
        );
        site.redis.cli(&["ZADD", "cogworker:dead", &now.to_string(), &job]);
    }
    site.redis.cli(&["SADD", "cogworker:queues", "held"]);
    site.redis.cli(&["LPUSH", "cogworker:queue:held", &job("1", "held")]);
    site.client.queue("held").pause().await?;
    let page = site.get("/overview").await.body;
    let at = |text: &str| page.find(text).unwrap_or_else(|| panic!("{text}: {page}"));
    let more = at("4 more, less urgent</summary>");
    assert!(at("<b>held</b> is paused.") < at("<b>Error"), "{page}");
    assert!(at("<b>held</b> is paused.") < more && page.matches("<b>Error").count() == 6, "{page}");
    assert_eq!(page[more..].matches("<b>Error").count(), 4, "all the others are behind the line");
    Ok(())
}

#[tokio::test]
async fn layout_a_shows_queues_with_latency_and_pauses_them_webo_11_webo_18_webo_20() -> Outcome {
    let site = Site::start().await?;
    site.client.push(NewJob::new("TestJob")).await?;
    let page = site.get("/overview").await.body;
    for part in ["Queues", "Latency", "default", "/overview/default/pause", "Metrics first"] {
        assert!(page.contains(part), "{part}");
    }
    assert!(!page.contains("paused"));
    let paused = site.post_part("/overview/default/pause", &[("queue", "default"), ("layout", "a")]).await;
    assert_eq!(paused.status, StatusCode::OK, "WEBO-22");
    assert!(
        paused.body.contains("/overview/default/resume") && paused.body.contains("Queue default is paused")
    );
    assert_eq!(site.redis.cli(&["SISMEMBER", "cogworker:paused_queues", "default"]), 1);
    let resumed = site.post("/overview/default/resume", &[("layout", "a")]).await;
    assert_eq!(
        (resumed.status, resumed.header("location")),
        (StatusCode::FOUND, "/admin/jobs/overview"),
        "WEBO-19"
    );
    assert_eq!(site.redis.cli(&["EXISTS", "cogworker:paused_queues"]), 0);
    Ok(())
}

#[tokio::test]
async fn a_message_is_told_once_after_a_plain_form_webc_17() -> Outcome {
    let site = Site::start().await?;
    let answer = site.post("/overview/q/pause", &[]).await;
    let cookie = answer.cookies()[0].split(';').next().unwrap_or_default().to_owned();
    let request = axum::http::Request::get("/admin/jobs/overview").header("cookie", cookie);
    let page = site.send(request.body(axum::body::Body::empty())?).await;
    assert!(page.body.contains("Queue q is paused"), "{}", page.body);
    assert!(
        page.cookies()
            .iter()
            .any(|cookie| cookie.contains("cogworker.notice=;") && cookie.contains("Max-Age=0"))
    );
    Ok(())
}

#[tokio::test]
async fn layout_b_shows_the_jobs_of_one_queue_and_deletes_exactly_one_webo_12_webo_15() -> Outcome {
    let site = Site::start().await?;
    let jobs: Vec<String> = ["one", "two", "three"].map(|jid| job(jid, "q")).into();
    site.redis.cli(&["SADD", "cogworker:queues", "q"]);
    for job in &jobs {
        site.redis.cli(&["LPUSH", "cogworker:queue:q", job]);
    }
    let page = site.get("/overview?layout=b&queue=q").await.body;
    assert!(page.contains("TestJob") && page.contains("one") && !page.contains("chart.umd"));
    let answer = site.post_part("/overview/q/delete", &[("queue", "q"), ("raw", &jobs[1])]).await;
    assert!(answer.body.contains("1 job deleted"));
    assert_eq!(site.redis.cli(&["LRANGE", "cogworker:queue:q", "0", "-1"]).strings(), [&*jobs[2], &jobs[0]]);
    let again = site.post_part("/overview/q/delete", &[("raw", &jobs[1])]).await;
    assert!(again.body.contains("not there any more"));
    assert_eq!(site.post("/overview/q/delete", &[]).await.status, StatusCode::BAD_REQUEST);
    let all = site.post_part("/overview/q/delete_all", &[]).await;
    assert!(all.body.contains("2 jobs deleted") && !all.body.contains("delete_all"), "WEBO-16");
    assert_eq!(site.redis.cli(&["EXISTS", "cogworker:queue:q"]), 0);
    Ok(())
}

#[tokio::test]
async fn retry_all_puts_back_the_entries_of_its_queue_alone_webo_21() -> Outcome {
    let site = Site::start().await?;
    site.redis.cli(&["SADD", "cogworker:queues", "q", "other"]);
    let plain = site.get("/overview?layout=b&queue=q").await.body;
    assert!(!plain.contains("retry_all"));
    for at in 0..700 {
        let queue = if at % 2 == 0 { "q" } else { "other" };
        site.redis.cli(&["ZADD", "cogworker:retry", &at.to_string(), &job(&at.to_string(), queue)]);
    }
    site.redis.cli(&["ZADD", "cogworker:retry", "5", "not json"]);
    // Failures are counted for all pages together, for some seconds.
    site.post("/overview/q/resume", &[]).await;
    assert!(site.get("/overview?layout=b&queue=q").await.body.contains("Retry all 350"));
    let answer = site.post_part("/overview/q/retry_all", &[("queue", "q")]).await;
    assert!(
        answer.body.contains("350 jobs put back") && !answer.body.contains("/retry_all\""),
        "{}",
        answer.body
    );
    assert_eq!(site.redis.cli(&["LLEN", "cogworker:queue:q"]), 350);
    assert_eq!(site.redis.cli(&["ZCARD", "cogworker:retry"]), 351);
    Ok(())
}

#[tokio::test]
async fn charts_have_their_data_as_json_webo_07_webo_08_webo_14() -> Outcome {
    let site = Site::start().await?;
    let hour = cogworker_core::formats::epoch_hour(cogworker_core::time::EpochSeconds::now());
    site.redis.cli(&["HSET", &format!("cogworker:throughput:{hour}"), "processed", "1"]);
    let today = cogworker_core::time::utc_day(cogworker_core::time::EpochSeconds::now());
    site.redis.cli(&["HSET", &format!("cogworker:history:daily:{today}"), "success", "1", "failed", "2"]);
    let data = |body: &str| serde_json::from_str::<serde_json::Value>(body);
    let answer = site.get("/overview/throughput_data").await;
    assert_eq!(answer.header("content-type"), "application/json");
    let hours = data(&answer.body)?;
    assert_eq!(hours["labels"].as_array().map(Vec::len), Some(24));
    assert_eq!((&hours["processed"][23], &hours["failed"][23]), (&1.into(), &0.into()));
    for (period, days) in [("week", 7), ("month", 30), ("3months", 90), ("6months", 182), ("9999999", 30)] {
        let runs = data(&site.get(&format!("/overview/runs_data?period={period}")).await.body)?;
        assert_eq!(runs["labels"].as_array().map(Vec::len), Some(days), "{period}");
        assert_eq!(runs["fullDates"][days - 1], today);
        assert_eq!((&runs["success"][days - 1], &runs["failed"][days - 1]), (&1.into(), &2.into()));
    }
    Ok(())
}

#[tokio::test]
async fn without_scripts_the_charts_are_tables_and_the_periods_links() -> Outcome {
    let site = Site::start().await?;
    let page = site.get("/overview?period=week").await.body;
    assert_eq!(page.matches("<canvas").count(), 2, "WEBO-05");
    assert!(page.contains("overview-runs-canvas") && page.contains("/overview/runs_data?period=week"));
    assert!(page.contains(r#"<th scope="row">"#) && page.contains("/overview?period=6months"));
    assert!(page.contains("Peak Memory Usage"), "WEBO-02");
    let redis = site.get("/overview/redis").await;
    assert!(redis.body.contains("Connections") && !redis.body.contains("<html"), "WEBO-03");
    Ok(())
}

#[tokio::test]
async fn a_queue_that_nobody_reads_is_named_and_so_is_one_that_is_paused() -> Outcome {
    let site = Site::start().await?;
    assert!(site.get("/overview").await.body.contains("Nothing needs you."));
    site.client.push(NewJob::new("TestJob").queue("lonely")).await?;
    assert!(site.get("/overview").await.body.contains("is read by no process."));
    let other = site.client.queue("held");
    other.pause().await?;
    site.client.push(NewJob::new("TestJob").queue("held")).await?;
    let page = site.get("/overview").await.body;
    assert!(page.contains("<b>held</b> is paused."), "{page}");
    Ok(())
}

#[tokio::test]
async fn a_page_over_a_hundred_thousand_jobs_is_small() -> Outcome {
    let site = Site::start().await?;
    let fill = "for i = 1, 100000 do redis.call('LPUSH', 'cogworker:queue:q', '{\"class\":\"A\",\"jid\":\"' .. i .. '\",\"args\":[' .. i .. ']}') end";
    site.redis.cli(&["EVAL", fill, "0"]);
    site.redis.cli(&["SADD", "cogworker:queues", "q"]);
    for path in
        ["/overview", "/overview?layout=b&queue=q", "/overview?layout=b&queue=q&page=99999999999999999999"]
    {
        let answer = site.get(path).await;
        assert_eq!(answer.status, StatusCode::OK);
        assert!(answer.body.len() < 300_000, "{path}: {}", answer.body.len());
    }
    let last = site.get("/overview?layout=b&queue=q&page=4000").await.body;
    assert!(
        last.contains("99,976 to 100,000 of 100,000")
            && last.contains("rel=\"prev\"")
            && !last.contains("rel=\"next\"")
    );
    Ok(())
}
