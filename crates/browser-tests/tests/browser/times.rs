//! Times and durations.

use cogworker_browser_tests::{Outcome, seed};

use crate::ensure;
use crate::stage::Stage;

/// Five hours behind UTC, all the year.
const BOGOTA: &str = "America/Bogota";

pub(crate) async fn times_are_written_in_the_browsers_zone_webx_06(stage: &Stage) -> Outcome {
    // Noon UTC of a day in 2026.
    let job = r#"{"class":"NoonJob","args":[],"jid":"noon","queue":"default","created_at":1767355200.0,"enqueued_at":1767355200.0}"#;
    stage.site.redis.cli(&["ZADD", "cogworker:dead", "1767355200", job]);
    stage.browser.time_zone(BOGOTA).await?;
    stage.open("/jobs?status=Dead").await?;
    stage.browser.reads("#cw-main tbody", "2026-01-02 07:00:00").await?;
    stage.browser.reads(".foot", "America/Bogota").await?;
    let text = stage.browser.value("document.querySelector('#cw-main').innerText").await?;
    ensure!(!text.as_str().unwrap_or_default().contains("12:00:00"), "{text}");
    Ok(())
}

pub(crate) async fn durations_in_the_grid_are_exact_and_short_webx_09(stage: &Stage) -> Outcome {
    let redis = &stage.site.redis;
    for (at, (jid, took)) in [("long", 9263.023), ("short", 0.045)].into_iter().enumerate() {
        seed::run(redis, "TimedJob", jid, 60.0 + at as f64, took, false);
    }
    stage.open("/history").await?;
    for text in ["2h 34m 23s 23ms", "45ms"] {
        let is_exact = format!(
            "[...document.querySelectorAll('.ag-row [col-id=duration]')].some((one) => one.textContent.trim() === '{text}')"
        );
        stage.browser.until(&is_exact).await?;
    }
    Ok(())
}
