//! History: the page, the table without a script, and the data of the grid.

use axum::http::StatusCode;
use cogworker_core::time::{EpochSeconds, utc_day};
use cogworker_web::WebOptions;
use serde_json::{Value, json};

use crate::support::{Outcome, Site};

fn run(site: &Site, jid: &str, class: &str, finished_at: f64, millis: f64, error: Option<&str>) {
    let status = if error.is_some() { "failed" } else { "success" };
    let record = json!({
        "jid": jid, "class": class, "queue": "mail", "args": [jid, {"deep": [1]}], "status": status,
        "started_at": finished_at - millis / 1000.0, "finished_at": finished_at,
        "error_class": error.map(|_| "Timeout::Error"), "error_message": error,
        "backtrace": error.map_or_else(Vec::new, |_| vec!["app::first", "app::<second>"]),
    });
    for list in ["all", status] {
        site.redis.cli(&[
            "ZADD",
            &format!("cogworker:history:{list}"),
            &finished_at.to_string(),
            &record.to_string(),
        ]);
    }
}

async fn data(site: &Site, query: &str) -> (Value, Vec<String>) {
    let answer = site.get(&format!("/history/data?{query}")).await;
    assert_eq!(
        (answer.status, answer.header("content-type")),
        (StatusCode::OK, "application/json"),
        "{query}"
    );
    let data: Value = serde_json::from_str(&answer.body).unwrap();
    let jids = data["rows"].as_array().unwrap().iter().map(|row| row["jid"].as_str().unwrap().to_owned());
    (data["total"].clone(), jids.collect())
}

async fn filled() -> Result<Site, Box<dyn std::error::Error>> {
    let site = Site::with(WebOptions::new().history_per_page(2)).await?;
    for (jid, class, at, millis, error) in [
        ("j0", "ReportJob", 1000.5, 8000.0, None),
        ("j1", "MailerJob", 1001.5, 500.0, Some("gave up")),
        ("j2", "ReportJob", 1002.5, 2000.0, None),
        ("j3", "MailerJob", 1003.5, 45.0, None),
        ("j4", "<b>Job", 1004.5, 9_263_023.0, Some("<i>bad</i>")),
    ] {
        run(&site, jid, class, at, millis, error);
    }
    Ok(site)
}

#[tokio::test]
async fn the_grid_gets_the_part_it_asks_for_webh_05_webh_06_webh_07_webh_11() -> Outcome {
    let site = filled().await?;
    assert_eq!(data(&site, "start=0&end=50").await.1, ["j4", "j3", "j2", "j1", "j0"]);
    assert_eq!(data(&site, "start=2&end=4").await, (json!(5), vec!["j2".into(), "j1".into()]));
    assert_eq!(data(&site, "status=failed").await, (json!(2), vec!["j4".into(), "j1".into()]));
    assert_eq!(data(&site, "").await.1.len(), 2, "a page");
    let answer = site.get("/history/data?start=3&end=4").await.body;
    let row = serde_json::from_str::<Value>(&answer)?["rows"][0].clone();
    assert_eq!(row["args"], r#"["j1",{"deep":[1]}]"#);
    assert_eq!(
        (&row["backtrace"], &row["error"]),
        (&json!(["app::first", "app::<second>"]), &json!("Timeout::Error: gave up"))
    );
    assert_eq!((row["duration"].as_f64(), &row["status"]), (Some(500.0), &json!("failed")));
    for odd in
        ["start=99999999999999999999&end=1", "start=-1&end=x", "start=5&end=2", "start=0&end=99999999999"]
    {
        data(&site, odd).await;
    }
    Ok(())
}

#[tokio::test]
async fn the_grid_sorts_and_filters_webh_08_webh_09_webh_10_webh_13() -> Outcome {
    let site = filled().await?;
    let enc = |text: &str| text.bytes().map(|byte| format!("%{byte:02X}")).collect::<String>();
    let sorted =
        async |sort: &str| data(&site, &format!("start=0&end=9&sort={}", enc(sort))).await.1.join(" ");
    assert_eq!(sorted(r#"[{"colId":"duration","sort":"asc"}]"#).await, "j3 j1 j2 j0 j4");
    assert_eq!(sorted(r#"[{"colId":"finished_at","sort":"asc"}]"#).await, "j0 j1 j2 j3 j4");
    assert_eq!(sorted(r#"{"broken"#).await, "j4 j3 j2 j1 j0");
    let filtered = async |filter: Value| {
        data(&site, &format!("start=0&end=1&filter={}", enc(&filter.to_string()))).await
    };
    let contains = json!({"class": {"filterType": "text", "type": "contains", "filter": "MAILER"}});
    assert_eq!(filtered(contains).await, (json!(2), vec!["j3".into()]));
    let starts = json!({"error": {"filterType": "text", "type": "startsWith", "filter": "timeout::"}});
    assert_eq!(filtered(starts).await.0, 2);
    let slow = json!({"duration": {"filterType": "number", "type": "greaterThan", "filter": 1000}});
    assert_eq!(filtered(slow.clone()).await.0, 3);
    let either = json!({"class": {"filterType": "text", "operator": "OR", "conditions": [
        {"filterType": "text", "type": "equals", "filter": "reportjob"}, {"filterType": "text", "type": "endsWith", "filter": "b>Job"}]}});
    assert_eq!(filtered(either).await.0, 3);
    let both = json!({"duration": slow["duration"], "class": {"type": "contains", "filter": "report"}});
    assert_eq!(filtered(both).await.0, 2);
    assert_eq!(filtered(json!([1])).await.0, 5);
    // An address with them is the same list in the table, which says so.
    let address = format!("/history?filter={}&sort=-duration,class", enc(&slow.to_string()));
    let page = site.get(&address).await.body;
    assert!(page.contains("1 to 2 of 3<") && page.contains("Remove filter Columns duration"), "{page}");
    assert!(
        page.contains("data-cw-sort=\"-duration,class\"") && page.contains("data-cw-filter=\"{&#34;duration")
    );
    assert!(page.contains("name=\"filter\" value=\"{&#34;duration"), "a form keeps it");
    let next = page.split("rel=\"next\" href=\"/admin/jobs").nth(1).and_then(|link| link.split('"').next());
    let next = site.get(&next.unwrap().replace("&#38;", "&")).await.body;
    assert!(next.contains("3 to 3 of 3<"), "{next}");
    let odd = site.get("/history?filter=%7B%22class%22%3A7%7D&sort=color,,-").await.body;
    assert!(odd.contains("1 to 2 of 5<") && odd.contains("data-cw-filter=\"\" data-cw-sort=\"\""), "{odd}");
    Ok(())
}

#[tokio::test]
async fn the_page_has_a_table_that_needs_no_script_webh_01_webh_04_webh_12() -> Outcome {
    let site = filled().await?;
    let page = site.get("/history").await.body;
    for part in [
        "id=\"history-grid\"",
        "data-cw-page-size=\"2\"",
        "id=\"cw-backtrace\"",
        "5 runs kept",
        "Success <span class=\"n\">3",
        "2h 34m 23s 23ms",
        "45ms",
        "1 to 2 of 5",
        "Older",
        "&#60;b&#62;Job",
        "Runs per day",
        "history.js",
    ] {
        assert!(page.contains(part), "{part}");
    }
    assert!(!page.contains("<b>Job") && !page.contains("<i>bad"), "P-39");
    assert!(site.get("/history?page=3").await.body.contains("ReportJob"));
    assert!(site.get("/history?page=99999999999999999999").await.body.contains("5 to 5 of 5"), "the last");
    let job = site.get("/history?jid=j3&status=success").await.body;
    assert!(
        job.contains("Filtered to job")
            && job.contains("/history?status=success\"")
            && job.contains("1 to 1 of 1"),
        "{job}"
    );
    for (query, total) in [
        ("q=GAVE", 1),
        ("class=mailer", 2),
        ("queue=mail&status=failed", 2),
        ("queue=x", 0),
        ("q=deep", 5),
        ("period=hour", 0),
        ("from=1970-01-01T00:16&to=1970-01-01T00:16", 5),
        ("from=2000-01-01T00:00", 0),
        ("sort=duration", 5),
    ] {
        let page = site.get(&format!("/history?{query}")).await.body;
        let expected = if total == 0 { "No run matches".to_owned() } else { format!("of {total}</span>") };
        assert!(page.contains(&expected), "{query}: {expected}");
    }
    let detail = site.get("/history?run=j1&at=1001.5").await.body;
    for part in [
        "app::first",
        "app::&#60;second&#62;",
        "gave up",
        "Timeout::Error",
        "/jobs?selected=j1",
        "/history?jid=j1",
    ] {
        assert!(detail.contains(part), "{part}");
    }
    assert!(site.get("/history?run=j1&at=5").await.body.contains("This run is not kept any more"));
    Ok(())
}

#[tokio::test]
async fn days_are_counted_without_gaps_and_a_history_that_is_not_kept_says_so() -> Outcome {
    let site = Site::start().await?;
    let page = site.get("/history").await.body;
    assert!(page.contains("No history is kept") && !page.contains("history-grid\""));
    let today = utc_day(EpochSeconds::now());
    site.redis.cli(&["HSET", &format!("cogworker:history:daily:{today}"), "success", "1200", "failed", "7"]);
    let page = site.get("/history?days=week").await.body;
    assert!(
        page.contains("<b>1,200</b> success") && page.contains("<b>7</b> failed") && page.contains(&today)
    );
    assert_eq!(page.matches("<g transform").count(), 7);
    assert_eq!(site.get("/history?days=6months").await.body.matches("<g transform").count(), 182);
    assert_eq!(site.get("/history?days=9999999").await.body.matches("<g transform").count(), 30, "P-40");
    Ok(())
}

#[tokio::test]
async fn a_record_that_cannot_be_read_breaks_neither_page_nor_data() -> Outcome {
    let site = filled().await?;
    for (score, record) in [("1002", "no json"), ("1003", "[1]"), ("1003.2", "{}")] {
        site.redis.cli(&["ZADD", "cogworker:history:all", score, record]);
    }
    for path in [
        "/history",
        "/history?sort=duration",
        "/history?q=mail",
        "/history/data?start=0&end=50",
        "/history?jid=j1",
    ] {
        let answer = site.get(path).await;
        assert_eq!(answer.status, StatusCode::OK, "{path}");
        assert!(answer.body.contains("Mailer"), "{path}");
    }
    Ok(())
}

#[tokio::test]
async fn each_class_tells_how_long_its_runs_take_without_a_script() -> Outcome {
    let site = filled().await?;
    assert!(!site.get("/history").await.body.contains("id=\"h-times\""), "nobody counted any");
    let site = Site { app: site.fresh(), ..site };
    // 90 runs up to 5 ms, 10 of 2.5 to 10 s; and a class whose name is markup.
    for (field, value) in [
        ("0:A::B", "90"),
        ("7:A::B", "10"),
        ("sum:A::B", "80090000"),
        ("12:<b>", "1"),
        ("sum:<b>", "4000000000"),
    ] {
        site.redis.cli(&["HSET", "cogworker:durations", field, value]);
    }
    let page = site.get("/history").await.body;
    let table = page.split("id=\"h-times\"").nth(1).unwrap();
    let cells = |class: &str| {
        let from = table.find(class).unwrap_or_else(|| panic!("{class} in {table}"));
        let row = table[from..].split("</tr>").next().unwrap();
        let cells = row.split("<td").skip(1).map(|cell| {
            cell.split('>').nth(1).unwrap().trim_end_matches("</td").trim_end_matches("</span").to_owned()
        });
        cells.collect::<Vec<_>>()
    };
    assert_eq!(cells(">A::B<")[..5], ["100", "2 ms", "6.3 s", "800 ms", "1 min 20 s"]);
    assert_eq!(cells("&#60;b&#62;")[..5], ["1", "over 1 h", "over 1 h", "1 h 6 min", "1 h 6 min"]);
    assert!(table.contains("href=\"/admin/jobs/history?status=all&#38;class=A%3A%3AB\""), "{table}");
    let filtered = site.get("/history?class=a::").await.body;
    assert!(filtered.contains(">A::B</a>") && !filtered.contains("class=%3Cb%3E"));
    Ok(())
}
