//! Redis away, the connection away, and both back.

use cogworker_browser_tests::{Outcome, seed};

use crate::ensure;
use crate::stage::Stage;

pub(crate) async fn a_lost_redis_shows_a_banner_which_goes_when_it_is_back(stage: &Stage) -> Outcome {
    stage.expect_complaint("503 (Service Unavailable)");
    seed::everything(&stage.site.redis);
    stage.open("/jobs").await?;
    let rows = stage.browser.count("#cw-main tbody tr").await?;
    stage.site.redis.stop();
    stage.browser.reads("#cw-banner .banner--bad", "Redis does not answer. You see the state of").await?;
    ensure!(stage.browser.count("#cw-main tbody tr").await? == rows, "the rows went");
    stage.site.redis.restart()?;
    stage.browser.click("#cw-banner button").await?;
    stage.browser.until("!document.querySelector('#cw-banner .banner--bad')").await?;
    stage.browser.until("document.querySelector('#cw-banner').childElementCount === 0").await
}

pub(crate) async fn a_lost_connection_shows_a_banner_which_goes_when_it_is_back(stage: &Stage) -> Outcome {
    stage.expect_complaint("net::ERR_INTERNET_DISCONNECTED");
    stage.open("/workers").await?;
    stage.browser.offline(true).await?;
    stage.browser.reads("#cw-banner .banner--warn", "Connection lost. You see the state of").await?;
    stage.browser.offline(false).await?;
    stage.browser.reads("#cw-banner .banner--ok", "Back after").await?;
    stage.browser.until("document.querySelector('#cw-banner').childElementCount === 0").await
}

pub(crate) async fn the_page_of_an_outage_comes_back_by_itself(stage: &Stage) -> Outcome {
    stage.expect_complaint("503 (Service Unavailable)");
    seed::everything(&stage.site.redis);
    stage.open("/overview").await?;
    stage.site.redis.stop();
    stage.open("/workers").await?;
    stage.browser.reads("h1", "Redis does not answer").await?;
    stage.site.redis.restart()?;
    stage.browser.reads("h1", "Workers").await
}
