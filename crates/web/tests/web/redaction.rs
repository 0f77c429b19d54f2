//! Args that the host hides are told nowhere: not in a page, a form, a file or the data of a grid, and not by what a
//! search finds.

use axum::http::StatusCode;
use cogworker_client::{EntryFilter, SearchOrder};
use cogworker_web::WebOptions;

use crate::support::{Outcome, Site};

const SECRET: &str = "s3cr3t-token";

/// A site with the secret in every place that has args.
async fn site() -> Result<Site, Box<dyn std::error::Error>> {
    let redact = |class: &str, args: &str| match class {
        "PayJob" => "[\"rewritten\"]".to_owned(),
        _ => args.to_owned(),
    };
    let site = Site::with(WebOptions::new().redact_args(redact)).await?;
    let job = |jid: &str| {
        format!(
            r#"{{"args":["{SECRET}"],"class":"PayJob","args":["{SECRET}"],"jid":"{jid}","queue":"q","created_at":1.5,"error_class":"E","error_message":"m","failed_at":1.0}}"#
        )
    };
    let cut = format!(r#"{{"class":"PayJob","args":["{SECRET}"]"#);
    site.redis.cli(&["SADD", "cogworker:queues", "q"]);
    site.redis.cli(&["RPUSH", "cogworker:queue:q", &job("waiting"), &cut]);
    for set in ["schedule", "retry", "dead"] {
        site.redis.cli(&["ZADD", &format!("cogworker:{set}"), "5", &job(set), "6", &cut]);
    }
    let info = r#"{"hostname":"h","pid":1,"concurrency":2,"queues":["q"],"started_at":1000.0}"#;
    site.redis.cli(&["SADD", "cogworker:processes", "h:1:a"]);
    site.redis.cli(&["HSET", "cogworker:process:h:1:a", "info", info, "busy", "1", "quiet", "false"]);
    let work = format!(r#"{{"queue":"q","payload":{},"run_at":1000}}"#, job("running"));
    site.redis.cli(&["HSET", "cogworker:workers:h:1:a", "t1", &work]);
    let entry = format!(r#"{{"cron":"0 3 * * *","class":"PayJob","retry":3,"args":["{SECRET}"]}}"#);
    site.redis.cli(&["HSET", "periodic:schedule", "p", &entry]);
    let run = format!(
        r#"{{"jid":"ran","class":"PayJob","queue":"q","args":["{SECRET}"],"status":"success","started_at":1.0,"finished_at":2.0}}"#
    );
    site.redis.cli(&["ZADD", "cogworker:history:all", "2", &run]);
    site.redis.cli(&["ZADD", "cogworker:history:success", "2", &run]);
    Ok(site)
}

#[tokio::test]
async fn hidden_args_stand_in_no_page_form_file_or_data() -> Outcome {
    let site = site().await?;
    let mut paths: Vec<String> = [
        "/overview",
        "/overview?layout=b&queue=q",
        "/jobs",
        "/jobs?status=Enqueued",
        "/jobs?status=Running&selected=running",
        "/jobs?status=Scheduled&selected=schedule",
        "/jobs?status=Retrying&selected=retry",
        "/jobs?status=Dead&selected=dead",
        "/errors",
        "/schedules",
        "/workers",
        "/history",
        "/history?run=ran&at=2",
        "/history/data",
    ]
    .map(str::to_owned)
    .into();
    let sets = [("s", site.client.schedule()), ("r", site.client.retries()), ("d", site.client.dead())];
    let (filter, order) = (EntryFilter::new(), SearchOrder::NextFirst);
    for (kind, set) in sets {
        for found in set.search(&filter, order, 0, 9).await?.found {
            paths.push(format!("/jobs?entry={kind}:{}", found.entry));
            paths.push(format!("/jobs/raw?entry={kind}:{}", found.entry));
        }
    }
    for found in site.client.queue("q").search(&filter, order, 0, 9).await?.found {
        paths.push(format!("/jobs?entry=q:{}:q", found.entry));
        paths.push(format!("/jobs/raw?entry=q:{}:q", found.entry));
    }
    assert_eq!(paths.len(), 14 + 16);
    for path in &paths {
        for answer in [site.get(path).await, site.part(path).await] {
            assert_eq!(answer.status, StatusCode::OK, "{path}");
            assert!(!answer.body.contains(SECRET), "{path}: {}", answer.body);
            let told = answer.body.contains("rewritten") || answer.body.contains("(hidden: ");
            assert_eq!(told, !["/overview", "/errors"].contains(&path.as_str()), "{path}: {}", answer.body);
        }
    }
    let forms = site.post_part("/jobs/selected", &[("do", "delete"), ("view", "status=Dead")]).await;
    assert!(forms.body.contains("rewritten") && !forms.body.contains(SECRET));
    Ok(())
}

#[tokio::test]
async fn no_search_filter_or_order_tells_what_is_in_hidden_args() -> Outcome {
    let site = site().await?;
    let rows = |body: &str| body.matches("PayJob").count();
    for state in ["Enqueued", "Running", "Scheduled", "Retrying", "Dead"] {
        let (right, wrong) =
            (format!("/jobs?status={state}&q={SECRET}"), format!("/jobs?status={state}&q=none"));
        let (right, wrong) = (site.get(&right).await.body, site.get(&wrong).await.body);
        assert_eq!((rows(&right), rows(&wrong)), (0, 0), "{state}");
        assert!(rows(&site.get(&format!("/jobs?status={state}&q=payj")).await.body) > 0, "{state}");
    }
    let view = format!("status=Dead&q={SECRET}");
    let deleted = site.post_part("/jobs/dead/delete_all", &[("view", &view)]).await.body;
    assert!(deleted.contains("No job matches any more"), "{deleted}");
    assert_eq!(rows(&site.get(&format!("/history?q={SECRET}")).await.body), 0);
    assert!(rows(&site.get("/history?q=payj").await.body) > 0);
    for (kind, text) in [("contains", "s3cr3t"), ("contains", "none"), ("equals", "x")] {
        let filter = format!(r#"{{"args":{{"filterType":"text","type":"{kind}","filter":"{text}"}}}}"#);
        let filter: String = form_urlencoded::byte_serialize(filter.as_bytes()).collect();
        let data = site.get(&format!("/history/data?filter={filter}")).await.body;
        assert!(data.contains("\"total\":1"), "the filter is left out: {data}");
    }
    assert_eq!(rows(&site.get(&format!("/schedules?q={SECRET}")).await.body), 0);
    Ok(())
}
