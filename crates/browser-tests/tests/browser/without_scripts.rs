//! Everything but live updates works without scripts.

use cogworker_browser_tests::{Outcome, Screen, seed};

use crate::accessible::PAGES;
use crate::ensure;
use crate::stage::Stage;

pub(crate) async fn every_tab_shows_its_rows(stage: &Stage) -> Outcome {
    seed::everything(&stage.site.redis);
    for (page, text) in [
        ("/overview", "reports: <ä & \"x\">/%"),
        ("/overview?layout=b&queue=default", "WelcomeMailJob"),
        ("/jobs", "ChargeJob"),
        ("/jobs?status=Retrying&selected=retrying-0", "timed out after 30.0 s"),
        ("/errors", "ConnectTimeout"),
        ("/schedules", "Every hour"),
        ("/workers", "ReindexJob"),
        ("/history", "WelcomeMailJob"),
        ("/greetings", "Greetings"),
    ] {
        stage.open(page).await?;
        stage.browser.reads("#cw-main", text).await?;
        stage.browser.reads(".foot", "Times in UTC").await?;
        // Nothing that needs a script is shown.
        let shown = "[...document.querySelectorAll('#cw-live, [data-cw-keys], [data-cw-all]')].some((one) => one.checkVisibility())";
        ensure!(stage.browser.value(shown).await? == false, "{page}: a control that cannot work is shown");
    }
    Ok(())
}

pub(crate) async fn searches_filters_pages_layouts_and_periods_are_links_and_forms(stage: &Stage) -> Outcome {
    seed::everything(&stage.site.redis);
    for at in 0..60 {
        seed::waiting(&stage.site.redis, "FillerJob", &format!("filler-{at}"), "bulk");
    }
    let browser = &stage.browser;
    stage.open("/jobs").await?;
    browser.type_into("#cw-main input[type=search]", "charge").await?;
    browser.enter("#cw-main input[type=search]").await?;
    browser.until("document.querySelectorAll('#cw-main tbody tr').length === 3").await?;
    browser.click(".states a[href*='status=Dead']").await?;
    browser.reads("#cw-main", "No dead job matches").await?;
    stage.open("/jobs?status=Enqueued").await?;
    browser.click("details.menu summary").await?;
    browser.type_into("#f-value", "bulk").await?;
    browser.click("details.menu .btn--primary").await?;
    browser.reads(".chips", "bulk").await?;
    browser.click("a[rel=next]").await?;
    browser.until("document.querySelectorAll('#cw-main tbody tr').length === 10").await?;
    browser.click(".chip__x").await?;
    browser.until("!document.querySelector('.chips')").await?;
    stage.open("/overview").await?;
    browser.click("[aria-label=Period] a[href*='week']").await?;
    browser.until("location.search === '?period=week'").await?;
    browser.click("[aria-label=Layout] a[href*='layout=b']").await?;
    browser.until("document.querySelector('.qlist')").await?;
    browser.click(".qlist a[href*='queue=default']").await?;
    browser.reads("#h-queue", "default").await?;
    stage.open("/schedules").await?;
    browser.click("#cw-main th a[href*='sort=']").await?;
    browser.find("th[aria-sort]").await?;
    browser.type_into("#cw-main input[type=search]", "Daily").await?;
    browser.enter("#cw-main input[type=search]").await?;
    browser.until("document.querySelectorAll('#cw-main tbody tr').length === 1").await
}

pub(crate) async fn charts_and_history_are_tables(stage: &Stage) -> Outcome {
    seed::everything(&stage.site.redis);
    let browser = &stage.browser;
    stage.open("/overview").await?;
    browser.click("details.chart-data summary").await?;
    browser.until("document.querySelectorAll('details.chart-data[open] tbody tr').length === 24").await?;
    stage.open("/history").await?;
    browser.until("document.querySelectorAll('.plain-runs tbody tr').length === 25").await?;
    browser.click(".plain-runs a[rel=next]").await?;
    browser.until("document.querySelectorAll('.plain-runs tbody tr').length === 5").await?;
    browser.click("[aria-label=Outcome] a[href*='failed']").await?;
    browser.until("document.querySelectorAll('.plain-runs tbody tr').length === 6").await?;
    browser.click(".plain-runs tbody a.name").await?;
    browser.reads("#detail", "billing::pool::acquire").await
}

pub(crate) async fn theme_and_width_are_kept(stage: &Stage) -> Outcome {
    let browser = &stage.browser;
    browser.screen(Screen::wide(1900)).await?;
    stage.open("/workers").await?;
    browser.click("#cw-theme button").await?;
    browser.until("document.documentElement.dataset.theme === 'dark'").await?;
    browser.click("#cw-width button").await?;
    browser.find(".main--wide").await?;
    ensure!(browser.path().await? == "/admin/jobs/workers", "{}", browser.path().await?);
    stage.open("/jobs").await?;
    browser
        .until("document.documentElement.dataset.theme === 'dark' && document.querySelector('.main--wide')")
        .await
}

pub(crate) async fn nothing_scrolls_sideways_on_a_phone(stage: &Stage) -> Outcome {
    seed::everything(&stage.site.redis);
    stage.browser.screen(Screen { width: 360, height: 640, scale: 1.0, touch: true }).await?;
    for page in PAGES {
        stage.open(page).await?;
        let overflow = "document.documentElement.scrollWidth - document.documentElement.clientWidth";
        ensure!(stage.browser.number(overflow).await? <= 0.0, "{page}");
    }
    Ok(())
}
