//! Redis away, slow or full.

use std::time::{Duration, Instant};

use axum::http::StatusCode;
use cogworker_web::WebOptions;

use crate::support::{Outcome, Site};

/// Somebody waits.
const PATIENCE: Duration = Duration::from_secs(2);

#[tokio::test]
async fn while_redis_is_away_each_page_says_so_within_two_seconds_and_recovers_by_itself() -> Outcome {
    let site = Site::with(WebOptions::new()).await?;
    assert_eq!(site.get("/overview").await.status, StatusCode::OK);
    site.redis.stop();
    for path in ["/overview", "/overview?layout=b", "/workers", "/schedules", "/workers/summary", "/health"] {
        let begun = Instant::now();
        let answer = site.get(path).await;
        assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE, "{path}");
        assert!(begun.elapsed() < PATIENCE, "{path}: {:?}", begun.elapsed());
        if path == "/overview" {
            assert_eq!(answer.header("retry-after"), "5");
            for part in ["Redis does not answer", "http-equiv=\"refresh\"", "Try now", "/admin/jobs/workers"]
            {
                assert!(answer.body.contains(part), "{part}: {}", answer.body);
            }
        }
    }
    let begun = Instant::now();
    let action = site.post_part("/overview/q/pause", &[]).await;
    assert_eq!(action.status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(begun.elapsed() < PATIENCE && action.body.contains("toast--bad"), "{}", action.body);
    site.redis.restart()?;
    recovers(&site).await;
    Ok(())
}

#[tokio::test]
async fn a_redis_that_hangs_for_a_while_costs_two_seconds_at_most() -> Outcome {
    let site = Site::with(WebOptions::new()).await?;
    assert_eq!(site.get("/overview").await.status, StatusCode::OK);
    site.redis.pause()?;
    for path in ["/overview", "/workers", "/schedules", "/workers/summary"] {
        let begun = Instant::now();
        let answer = site.get(path).await;
        assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE, "{path}");
        assert!(begun.elapsed() < PATIENCE, "{path}: {:?}", begun.elapsed());
    }
    site.redis.resume()?;
    recovers(&site).await;
    Ok(())
}

/// The page comes back by itself.
async fn recovers(site: &Site) {
    let begun = Instant::now();
    while site.get("/overview").await.status != StatusCode::OK {
        assert!(begun.elapsed() < Duration::from_secs(20), "it never came back");
    }
}

#[tokio::test]
async fn a_full_redis_can_be_looked_at_and_emptied_p_49() -> Outcome {
    let site = Site::with(WebOptions::new()).await?;
    let fill = "for i = 1, 2000 do redis.call('LPUSH', 'cogworker:queue:q', '{\"class\":\"A\",\"jid\":\"' .. i .. '\"}') end";
    site.redis.cli(&["EVAL", fill, "0"]);
    site.redis.cli(&["SADD", "cogworker:queues", "q"]);
    // Every script is known before: what is told then is that of a running system.
    site.get("/overview?layout=b&queue=q").await;
    site.redis.cli(&["CONFIG", "SET", "maxmemory-policy", "noeviction"]);
    site.redis.cli(&["CONFIG", "SET", "maxmemory", "1"]);
    for path in ["/overview", "/overview?layout=b&queue=q", "/workers", "/schedules"] {
        assert_eq!(site.get(path).await.status, StatusCode::OK, "{path}");
    }
    let answer = site.post_part("/overview/q/delete_all", &[("queue", "q")]).await;
    assert!(answer.body.contains("2,000 jobs deleted"), "{}", answer.body);
    Ok(())
}
