//! Updates that never touch what is in use.

use cogworker_browser_tests::{Outcome, seed};
use serde_json::json;

use crate::ensure;
use crate::stage::Stage;

/// Waits until the page has been updated `times` times from now.
async fn ticks(stage: &Stage, times: u32) -> Outcome {
    stage
        .browser
        .run("window.ticks = 0; window.counting ??= document.addEventListener('cw:tick', () => { window.ticks += 1; }) ?? true")
        .await?;
    stage.browser.until(&format!("window.ticks >= {times}")).await
}

pub(crate) async fn a_new_job_shows_without_a_reload(stage: &Stage) -> Outcome {
    stage.open("/jobs").await?;
    stage.browser.run("window.mark = 1").await?;
    seed::waiting(&stage.site.redis, "BrandNewJob", "new-1", "default");
    stage.browser.reads("#cw-main tbody", "BrandNewJob").await?;
    stage.browser.reads(".states", "Enqueued 1").await?;
    ensure!(stage.browser.value("window.mark").await? == 1, "the page was loaded anew");
    Ok(())
}

pub(crate) async fn an_update_touches_no_typed_text_focus_or_filter(stage: &Stage) -> Outcome {
    seed::everything(&stage.site.redis);
    for (page, field) in [
        ("/jobs?status=Retrying&queue=default", "#cw-main input[type=search]"),
        ("/schedules?state=enabled", "#cw-main input[type=search]"),
        ("/jobs?status=Retrying&selected=retrying-0", "#minutes"),
    ] {
        stage.open(page).await?;
        let path = stage.browser.path().await?;
        stage.browser.type_into(field, "7").await?;
        let value = stage.browser.value(&format!("document.querySelector({}).value", json!(field))).await?;
        seed::entry(&stage.site.redis, "retry", 900.0, &seed::failed_job("LateJob", "late", "default", 1));
        ticks(stage, 2).await?;
        let kept = format!(
            "document.activeElement === document.querySelector({field}) && document.activeElement.value === {value}",
            field = json!(field)
        );
        ensure!(stage.browser.value(&kept).await? == true, "{page}: text or focus went");
        // Nor is it lost when the focus goes elsewhere.
        stage.browser.run("document.activeElement.blur()").await?;
        ticks(stage, 2).await?;
        let kept = format!("document.querySelector({}).value === {value}", json!(field));
        ensure!(stage.browser.value(&kept).await? == true, "{page}: the text went after the focus");
        ensure!(stage.browser.path().await? == path, "{page}");
    }
    // The filter holds for what an update brings.
    stage.open("/schedules?q=Daily").await?;
    ticks(stage, 2).await?;
    ensure!(stage.browser.count("#cw-main tbody tr").await? == 1, "the filter was lost");
    Ok(())
}

pub(crate) async fn an_update_touches_no_selection_scroll_or_open_panel(stage: &Stage) -> Outcome {
    seed::everything(&stage.site.redis);
    for at in 0..40 {
        seed::waiting(&stage.site.redis, "FillerJob", &format!("filler-{at}"), "default");
    }
    let browser = &stage.browser;
    stage.open("/jobs?status=Retrying&selected=retrying-0").await?;
    browser.click("#detail details summary").await?;
    browser.run("getSelection().selectAllChildren(document.querySelector('#d-jid'))").await?;
    ticks(stage, 2).await?;
    ensure!(browser.value("getSelection().toString()").await? == "retrying-0", "the selection went");
    ensure!(browser.count("#detail details[open]").await? >= 1, "the panel was closed");
    browser.run("getSelection().removeAllRanges()").await?;
    ticks(stage, 2).await?;
    ensure!(browser.count("#detail details[open]").await? >= 1, "the panel was closed");
    stage.open("/jobs?status=Enqueued").await?;
    browser.run("scrollTo(0, 500)").await?;
    let place = browser.number("scrollY").await?;
    ensure!(place > 100.0, "nothing to scroll: {place}");
    seed::waiting(&stage.site.redis, "ArrivingJob", "arriving", "default");
    ticks(stage, 2).await?;
    ensure!(browser.number("scrollY").await? >= place, "it scrolled");
    stage.open("/overview").await?;
    browser.click("details.chart-data summary").await?;
    stage.site.redis.cli(&["INCR", "cogworker:stats:processed"]);
    browser.reads(".metric", "1").await?;
    ensure!(browser.count("details.chart-data[open]").await? == 1, "the table was closed");
    stage.open("/schedules").await?;
    browser.click("details.runs summary").await?;
    ticks(stage, 2).await?;
    ensure!(browser.count("details.runs[open]").await? == 1, "the next runs were closed");
    Ok(())
}

/// Where the row of a job is on the screen.
fn row_top(jid: &str) -> String {
    format!("document.querySelector('th a[title={jid}]').getBoundingClientRect().top")
}

pub(crate) async fn rows_that_come_above_what_is_looked_at_wait_behind_a_link(stage: &Stage) -> Outcome {
    let browser = &stage.browser;
    for at in 0..60 {
        seed::waiting(&stage.site.redis, "FillerJob", &format!("filler-{at}"), "default");
    }
    stage.open("/jobs?status=Enqueued").await?;
    browser.run("window.mark = 1; scrollTo(0, 700)").await?;
    let place = browser.number(&row_top("filler-45")).await?;
    for at in 0..3 {
        seed::waiting(&stage.site.redis, "ArrivingJob", &format!("new-{at}"), "default");
    }
    browser.reads("[data-cw-new]", "3 new").await?;
    browser.reads(".states", "Enqueued 63").await?;
    ensure!(browser.count("#cw-main tbody [title^=new-]").await? == 0, "they were shoved in");
    let rows = "document.querySelectorAll('#cw-main tbody tr').length";
    ensure!(browser.number(rows).await? == 50.0, "{}", browser.number(rows).await?);
    // More of them, and still nothing moves; one that leaves goes.
    let gone = stage.site.redis.cli(&["LRANGE", "cogworker:queue:default", "10", "10"]).strings();
    stage.site.redis.cli(&["LREM", "cogworker:queue:default", "1", &gone[0]]);
    seed::waiting(&stage.site.redis, "ArrivingJob", "new-3", "default");
    browser.reads("[data-cw-new]", "4 new").await?;
    ensure!(browser.count("#cw-main tbody [title=filler-52]").await? == 0, "one that left stays");
    let moved = (browser.number(&row_top("filler-45")).await? - place).abs();
    ensure!(moved < 1.0, "rows moved by {moved} px");
    // The link is there for the keyboard too, and brings all of them.
    browser.run("document.querySelector('[data-cw-new]').focus()").await?;
    browser.press(thirtyfour::Key::Enter).await?;
    browser.reads("#cw-main tbody tr:first-child", "ArrivingJob").await?;
    ensure!(browser.count("#cw-main tbody [title^=new-]").await? == 4, "some are missing");
    ensure!(browser.number("scrollY").await? == 0.0, "they are out of sight");
    ensure!(browser.count("[data-cw-new]:not([hidden])").await? == 0, "the link stays");
    browser.until("document.activeElement.closest('tr')?.matches(':first-child')").await?;
    ensure!(browser.value("window.mark").await? == 1, "the page was loaded anew");
    // Whoever scrolls back sees them without it.
    browser.run("scrollTo(0, 700)").await?;
    seed::waiting(&stage.site.redis, "LaterJob", "later", "default");
    browser.reads("[data-cw-new]", "1 new").await?;
    browser.run("scrollTo(0, 0)").await?;
    browser.reads("#cw-main tbody tr:first-child", "LaterJob").await
}

pub(crate) async fn a_list_that_changed_whole_is_not_replaced_under_the_hand(stage: &Stage) -> Outcome {
    let browser = &stage.browser;
    for at in 0..60 {
        seed::waiting(&stage.site.redis, "FillerJob", &format!("filler-{at}"), "default");
    }
    stage.open("/jobs?status=Enqueued").await?;
    browser.run("scrollTo(0, 700)").await?;
    let place = browser.number(&row_top("filler-45")).await?;
    for at in 0..70 {
        seed::waiting(&stage.site.redis, "ArrivingJob", &format!("new-{at}"), "default");
    }
    browser.reads("[data-cw-new]", "50 or more new").await?;
    ensure!((browser.number(&row_top("filler-45")).await? - place).abs() < 1.0, "rows moved");
    browser.click("[data-cw-new]").await?;
    browser.reads("#cw-main tbody tr:first-child", "ArrivingJob").await?;
    ensure!(browser.count("#cw-main tbody [title^=filler-]").await? == 0, "old rows stay");
    Ok(())
}

pub(crate) async fn an_update_touches_no_open_menu_or_ticked_row(stage: &Stage) -> Outcome {
    seed::everything(&stage.site.redis);
    let browser = &stage.browser;
    stage.open("/jobs?status=Retrying").await?;
    browser.click("details.menu summary").await?;
    browser.type_into("#f-value", "low").await?;
    ticks(stage, 2).await?;
    ensure!(
        browser.value("document.querySelector('details.menu[open] #f-value').value").await? == "low",
        "menu"
    );
    stage.open("/jobs?status=Retrying").await?;
    browser.click("tbody .cb").await?;
    seed::entry(&stage.site.redis, "retry", 1.0, &seed::failed_job("EarlyJob", "early", "default", 1));
    ticks(stage, 2).await?;
    ensure!(browser.count("tbody .cb:checked").await? == 1, "the tick went");
    ensure!(browser.count("#cw-main tbody tr").await? == 3, "rows moved under the hand");
    browser.click("tbody .cb").await?;
    browser.reads("#cw-main tbody", "EarlyJob").await
}

/// Longer than two updates.
const WHILE_HIDDEN_MS: u32 = 2500;

pub(crate) async fn a_hidden_tab_asks_for_nothing(stage: &Stage) -> Outcome {
    stage.open("/workers").await?;
    ticks(stage, 1).await?;
    // Before the page's own, which asks at once when it is seen again.
    let record = "window.changes = []; document.addEventListener('visibilitychange', () => \
                  window.changes.push([document.hidden, performance.now()]), true)";
    stage.browser.run(record).await?;
    let driver = stage.browser.driver();
    let first = driver.window().await?;
    // What stands behind another tab is hidden.
    let other = driver.new_tab().await?;
    driver.switch_to_window(other).await?;
    stage.browser.until(&format!("performance.now() > {WHILE_HIDDEN_MS}")).await?;
    driver.close_window().await?;
    driver.switch_to_window(first).await?;
    stage.browser.until("window.changes.length === 2").await?;
    let asked = "(() => { const [[hidden, from], [shown, to]] = window.changes; \
                 if (!hidden || shown || to - from < 2000) return -1; \
                 return performance.getEntriesByType('resource').filter((one) => one.startTime > from && one.startTime < to).length; })()";
    let asked = stage.browser.number(asked).await?;
    ensure!(asked == 0.0, "{asked} requests of a hidden tab");
    // Seen again, it asks at once.
    ticks(stage, 1).await
}
