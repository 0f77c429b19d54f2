//! Numbers for Prometheus, and health.

use axum::body::Body;
use axum::http::{Request, StatusCode};
use cogworker_web::WebOptions;

use crate::support::{Outcome, ROOT, Site};

#[tokio::test]
async fn the_gems_eight_metrics_are_there_under_their_names_prom_01() -> Outcome {
    let site = Site::start().await?;
    site.redis.cli(&["INCR", "cogworker:stats:processed"]);
    site.redis.cli(&["SADD", "cogworker:queues", "a\"b\\c"]);
    let answer = site.get("/metrics").await;
    assert_eq!(
        (answer.status, answer.header("content-type")),
        (StatusCode::OK, "text/plain; version=0.0.4; charset=utf-8")
    );
    for line in [
        "cogworker_processed_total 1\n",
        "cogworker_failed_total 0\n",
        "cogworker_retry_size 0",
        "cogworker_scheduled_size 0",
        "cogworker_dead_size 0",
        "# TYPE cogworker_queue_size gauge",
        "cogworker_queue_size{queue=\"a\\\"b\\\\c\"} 0",
        "cogworker_queue_latency_seconds{queue=\"a\\\"b\\\\c\"} 0",
        "cogworker_busy_workers 0",
        "cogworker_up 1",
    ] {
        assert!(answer.body.contains(line), "{line}: {}", answer.body);
    }
    let open = Request::get(format!("{ROOT}/metrics"))
        .header("accept", "application/openmetrics-text; version=1.0.0");
    let open = site.send(open.body(Body::empty())?).await;
    assert!(
        open.header("content-type").starts_with("application/openmetrics-text")
            && open.body.ends_with("# EOF\n")
    );
    Ok(())
}

#[tokio::test]
async fn a_queue_that_is_drained_reads_zero_and_one_that_cannot_be_read_has_no_series_p_54() -> Outcome {
    let site = Site::start().await?;
    site.redis.cli(&["SADD", "cogworker:queues", "q"]);
    site.redis.cli(&["LPUSH", "cogworker:queue:q", "{}"]);
    assert!(site.get("/metrics").await.body.contains("cogworker_queue_size{queue=\"q\"} 1"));
    site.redis.cli(&["DEL", "cogworker:queue:q"]);
    assert!(site.get("/metrics").await.body.contains("cogworker_queue_size{queue=\"q\"} 0"));
    site.redis.cli(&["SET", "cogworker:queue:q", "x"]);
    assert!(!site.get("/metrics").await.body.contains("queue=\"q\""));
    Ok(())
}

/// Names and values, without what stands about them.
fn series(body: &str) -> Vec<(&str, f64)> {
    let lines = body.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| line.rsplit_once(' ').map(|(name, value)| (name, value.parse().unwrap())).unwrap())
        .collect()
}

#[tokio::test]
async fn while_redis_is_away_or_hangs_a_scrape_tells_so_and_nothing_else_and_health_is_short() -> Outcome {
    let site = Site::start().await?;
    assert_eq!(site.get("/health").await.header("content-type"), "application/json");
    for hangs in [true, false] {
        if hangs {
            site.redis.pause()?;
        } else {
            site.redis.resume()?;
            site.redis.stop();
        }
        for (accept, kind) in [
            ("text/plain", "text/plain; version=0.0.4; charset=utf-8"),
            (
                "application/openmetrics-text;version=1.0.0",
                "application/openmetrics-text; version=1.0.0; charset=utf-8",
            ),
        ] {
            let scrape = Request::get(format!("{ROOT}/metrics")).header("accept", accept);
            let scrape = site.send(scrape.body(Body::empty())?).await;
            assert_eq!((scrape.status, scrape.header("content-type")), (StatusCode::OK, kind), "{hangs}");
            assert_eq!(series(&scrape.body), [("cogworker_up", 0.0)], "{hangs}");
        }
        let health = site.get("/health").await;
        assert_eq!(health.status, StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(health.header("content-type"), "application/json");
        assert!(
            health.body.starts_with("{\"redis\":false,\"error\":\"failed to ") && health.body.len() < 400,
            "{}",
            health.body
        );
    }
    Ok(())
}

#[tokio::test]
async fn metrics_can_be_switched_off_prom_02() -> Outcome {
    let site = Site::with(WebOptions::new().metrics(false)).await?;
    assert_eq!(site.get("/metrics").await.status, StatusCode::NOT_FOUND);
    assert!(!site.get("/overview").await.body.contains("/metrics"));
    assert_eq!(site.get("/health").await.status, StatusCode::OK);
    Ok(())
}

#[tokio::test]
async fn how_long_runs_took_is_a_histogram_for_each_class() -> Outcome {
    let site = Site::start().await?;
    assert!(!site.get("/metrics").await.body.contains("run_duration"), "nobody keeps a history");
    for (field, by) in
        [("0:A::\"B\"", "3"), ("3:A::\"B\"", "1"), ("12:A::\"B\"", "1"), ("sum:A::\"B\"", "4000250000")]
    {
        site.redis.cli(&["HSET", "cogworker:durations", field, by]);
    }
    let body = site.get("/metrics").await.body;
    for line in [
        "# TYPE cogworker_run_duration_seconds histogram",
        r#"cogworker_run_duration_seconds_sum{class="A::\"B\""} 4000.25"#,
        r#"cogworker_run_duration_seconds_count{class="A::\"B\""} 5"#,
        r#"cogworker_run_duration_seconds_bucket{le="0.005",class="A::\"B\""} 3"#,
        r#"cogworker_run_duration_seconds_bucket{le="0.25",class="A::\"B\""} 4"#,
        r#"cogworker_run_duration_seconds_bucket{le="3600.0",class="A::\"B\""} 4"#,
        r#"cogworker_run_duration_seconds_bucket{le="+Inf",class="A::\"B\""} 5"#,
    ] {
        assert!(body.lines().any(|found| found == line), "{line} in\n{body}");
    }
    site.redis.cli(&["DEL", "cogworker:durations"]);
    site.redis.cli(&["SET", "cogworker:durations", "x"]);
    let body = site.get("/metrics").await.body;
    assert!(body.contains("cogworker_up 1") && !body.contains("run_duration"), "{body}");
    Ok(())
}
