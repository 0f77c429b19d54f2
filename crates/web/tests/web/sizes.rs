//! Pages stay small and quick, however many jobs there are.

use std::time::{Duration, Instant};

use axum::http::StatusCode;

use crate::support::{Outcome, Site};

const MANY: u64 = 1_000_000;
/// In an optimised build a page takes a fraction of it.
const BUDGET: Duration = Duration::from_millis(if cfg!(debug_assertions) { 500 } else { 100 });

#[tokio::test]
async fn a_page_over_a_million_jobs_is_small_and_quick() -> Outcome {
    let site = Site::start().await?;
    site.redis.cli(&["SADD", "cogworker:queues", "many"]);
    let fill = r#"for n = 1, 20000 do
        local at = tonumber(ARGV[1]) + n
        local job = string.format('{"class":"ImportJob","jid":"%024d","queue":"many","args":[%d,"some text"],"retry":25,"created_at":1767323045.123,"enqueued_at":1767323045.123}', at, at)
        redis.call('LPUSH', KEYS[1], job)
        if n % 10 == 0 then redis.call('ZADD', KEYS[2], 9000000000 + at, job) end
      end"#;
    for slice in 0..MANY / 20_000 {
        site.redis.cli(&[
            "EVAL",
            fill,
            "2",
            "cogworker:queue:many",
            "cogworker:retry",
            &(slice * 20_000).to_string(),
        ]);
    }
    site.get("/jobs").await;
    let last = format!("{:024}", 5);
    for path in [
        "/jobs".to_owned(),
        "/jobs?status=Enqueued".to_owned(),
        "/jobs?status=Enqueued&queue=many&from=500000".to_owned(),
        "/jobs?status=Enqueued&sort=at".to_owned(),
        "/jobs?status=Retrying".to_owned(),
        "/jobs?status=Retrying&from=99000".to_owned(),
        "/jobs?status=Enqueued&q=nowhere-to-be-found".to_owned(),
        format!("/jobs?status=Enqueued&q={last}&from=990000"),
        "/jobs?q=nowhere".to_owned(),
    ] {
        let begin = Instant::now();
        let page = site.get(&path).await;
        let took = begin.elapsed();
        println!("{path}: {took:?}, {} bytes", page.body.len());
        assert_eq!(page.status, StatusCode::OK, "{path}");
        assert!(page.body.len() < 300_000, "{path}: {} bytes", page.body.len());
        assert!(took < BUDGET, "{path}: {took:?}");
    }
    let page = site.get("/jobs?status=Enqueued&q=nowhere").await.body;
    assert!(page.contains("Looked at 1 to 10,000 of 1,000,000.") && page.contains("from=10000"), "{page}");
    Ok(())
}
