//! Jobs, in place.

use std::time::Duration;

use cogworker_browser_tests::{Outcome, Server, Site, seed};

use crate::ensure;
use crate::stage::Stage;

pub(crate) async fn delete_and_retry_update_in_place_webx_05(stage: &Stage) -> Outcome {
    seed::everything(&stage.site.redis);
    stage.open("/jobs").await?;
    stage.browser.run("window.mark = 1").await?;
    stage.browser.click("tbody form[action$='/jobs/retrying/delete'] button").await?;
    stage.browser.click("#cw-ask[open] [data-cw-verb]").await?;
    stage.browser.reads(".states", "Retrying 2").await?;
    stage.browser.click("tbody form[action$='/jobs/dead/retry'] button").await?;
    stage.browser.reads(".states", "Dead 1").await?;
    ensure!(stage.browser.path().await? == "/admin/jobs/jobs", "{}", stage.browser.path().await?);
    ensure!(stage.browser.value("window.mark").await? == 1, "the page was loaded anew");
    let waiting = stage.site.redis.cli(&["LRANGE", "cogworker:queue:default", "0", "-1"]).strings();
    ensure!(waiting.iter().any(|job| job.contains("ImportJob")), "{waiting:?}");
    Ok(())
}

pub(crate) async fn ticked_rows_are_counted_and_acted_on_together(stage: &Stage) -> Outcome {
    for at in 0..60 {
        let job = seed::failed_job("ChargeJob", &format!("r-{at}"), "default", 1);
        seed::entry(&stage.site.redis, "retry", 600.0 + f64::from(at), &job);
    }
    stage.open("/jobs?status=Retrying").await?;
    stage.browser.click("[data-cw-all] input").await?;
    stage.browser.reads("[data-cw-selected]", "50 selected").await?;
    stage.browser.click("tbody .cb").await?;
    stage.browser.reads("[data-cw-selected]", "49 selected").await?;
    stage.browser.until("document.querySelector('[data-cw-all] input').indeterminate").await?;
    stage.browser.click("#bulk button[value=retry]").await?;
    stage.browser.reads(".toast", "49 jobs").await?;
    ensure!(stage.int(&["ZCARD", "cogworker:retry"]) == 11, "{}", stage.int(&["ZCARD", "cogworker:retry"]));
    // All that match, the other pages included.
    stage.open("/jobs?status=Retrying").await?;
    stage.browser.click("tbody .cb").await?;
    stage.browser.click("#bulk > a").await?;
    stage.browser.reads("#bulk", "11 jobs selected").await?;
    stage.browser.click("#bulk button[value=delete]").await?;
    stage.browser.reads("#cw-ask[open] h2", "Delete 11").await?;
    stage.browser.click("#cw-ask[open] [data-cw-verb]").await?;
    stage.browser.reads(".toast", "11 jobs deleted").await?;
    ensure!(stage.int(&["ZCARD", "cogworker:retry"]) == 0, "some are left");
    Ok(())
}

pub(crate) async fn what_was_stopped_in_the_middle_is_gone_on_with_by_its_button(stage: &Stage) -> Outcome {
    let site = Site::with(Server::options()?.patience(Duration::ZERO)).await?;
    let fill = r#"for n = 1, 1200 do
        redis.call('ZADD', KEYS[1], n, string.format('{"class":"%s","jid":"j%d","queue":"q","args":[]}', n % 2 == 0 and 'AJob' or 'BJob', n))
      end"#;
    site.redis.cli(&["EVAL", fill, "1", "cogworker:dead"]);
    let browser = &stage.browser;
    browser.open(&site.url("/jobs?status=Dead&class=AJob")).await?;
    let left = || site.redis.cli(&["ZCARD", "cogworker:dead"]).as_int().unwrap_or(-1);
    browser.click(".head form[action$='/dead/delete_all'] button").await?;
    for size in [950, 700, 600] {
        browser.click("#cw-ask[open] [data-cw-verb]").await?;
        browser.reads(".head__sub", &format!("of {size} dead jobs match")).await?;
        ensure!(
            browser.count("[data-cw-stay] [name=again_from]").await? == usize::from(size > 600),
            "{size}"
        );
        ensure!(left() == size, "{} of {size}", left());
        if size == 950 {
            browser.reads("[data-cw-stay]", "250 jobs deleted.").await?;
            // It waits for an answer: updates do not take it away.
            browser
                .run("window.ticks = 0; document.addEventListener('cw:tick', () => { window.ticks += 1; })")
                .await?;
            browser.until("window.ticks >= 2").await?;
        }
        if size > 600 {
            browser.click("[data-cw-stay] form button").await?;
        }
    }
    Ok(())
}
