//! What axe-core finds: nothing, on any page, in both themes.

use cogworker_browser_tests::{Browser, Outcome, Screen, Site, axe, seed};

use crate::ensure;
use crate::stage::Stage;

/// Every page that has rows when there is something of everything.
pub(crate) const PAGES: [&str; 19] = [
    "/overview",
    "/overview?layout=b&queue=default",
    "/overview?layout=b&queue=reports%3A%20%3C%C3%A4%20%26%20%22x%22%3E%2F%25",
    "/jobs",
    "/jobs?status=Enqueued",
    "/jobs?status=Running",
    "/jobs?status=Scheduled",
    "/jobs?status=Retrying&q=charge&queue=default",
    "/jobs?status=Dead",
    "/jobs?status=Retrying&selected=retrying-0",
    "/jobs?status=Running&selected=running-1",
    "/jobs?status=Dead&selected=long-gone",
    "/errors",
    "/schedules",
    "/workers",
    "/history",
    "/history?status=failed",
    "/history?class=WelcomeMailJob&from=2026-01-01T00%3A00",
    "/greetings",
];

/// Fonts and charts are there, the grid has its rows, and no colour is on its way to another.
const DRAWN: &str = "document.readyState === 'complete' && document.fonts.status === 'loaded' \
    && (!document.querySelector('canvas[data-cw-chart]') || window.cogworkerCharts?.size === 2) \
    && (!document.querySelector('#history-grid')?.checkVisibility() \
        || document.querySelector('.ag-row .st, .ag-overlay-no-rows-center')) \
    && !document.getAnimations().some((one) => one instanceof CSSTransition)";

pub(crate) async fn drawn(browser: &Browser) -> Outcome {
    browser.until(DRAWN).await
}

/// Fails with everything that was found on all of the pages, in both themes.
async fn check(stage: &Stage, pages: &[&str]) -> Outcome {
    let mut found = Vec::new();
    for page in pages {
        stage.open(page).await?;
        for dark in [false, true] {
            stage.browser.system_is_dark(dark).await?;
            drawn(&stage.browser).await?;
            found.extend(findings(&stage.browser, &format!("{page}, dark: {dark}")).await?);
        }
    }
    ensure!(found.is_empty(), "{} findings\n{}", found.len(), found.join("\n"));
    Ok(())
}

async fn findings(browser: &Browser, page: &str) -> Outcome<Vec<String>> {
    let findings = axe::check(browser).await?;
    ensure!(findings.rules > 10, "{page}: only {} rules were applied", findings.rules);
    Ok(findings.found.into_iter().map(|line| format!("{page}: {line}")).collect())
}

/// Each page in both themes, and on a phone.
async fn check_in_all_ways(stage: &Stage, pages: impl Iterator<Item = &str>) -> Outcome {
    let browser = &stage.browser;
    seed::everything(&stage.site.redis);
    let mut found = Vec::new();
    for page in pages {
        browser.screen(Screen::DESK).await?;
        stage.open(page).await?;
        for (dark, screen) in [(false, Screen::DESK), (true, Screen::DESK), (true, Screen::PHONE)] {
            browser.system_is_dark(dark).await?;
            browser.screen(screen).await?;
            drawn(browser).await?;
            let way = format!("{page}, dark: {dark}, {} px", screen.width);
            found.extend(findings(browser, &way).await?);
        }
    }
    ensure!(found.is_empty(), "{} findings\n{}", found.len(), found.join("\n"));
    Ok(())
}

fn is_overview_or_jobs(page: &&str) -> bool {
    page.starts_with("/overview") || page.starts_with("/jobs")
}

pub(crate) async fn axe_finds_nothing_on_overview_and_jobs_in_both_themes_and_on_a_phone(
    stage: &Stage,
) -> Outcome {
    check_in_all_ways(stage, PAGES.into_iter().filter(is_overview_or_jobs)).await
}

pub(crate) async fn axe_finds_nothing_on_all_other_tabs_in_both_themes_and_on_a_phone(
    stage: &Stage,
) -> Outcome {
    check_in_all_ways(stage, PAGES.into_iter().filter(|page| !is_overview_or_jobs(page))).await
}

pub(crate) async fn axe_finds_nothing_on_pages_without_rows(stage: &Stage) -> Outcome {
    let pages = [
        "/overview",
        "/overview?layout=b",
        "/jobs",
        "/jobs?status=Dead&q=none",
        "/errors",
        "/errors?q=none",
        "/schedules",
        "/schedules?q=none",
        "/workers",
        "/history",
        "/history?status=failed",
    ];
    check(stage, &pages).await
}

pub(crate) async fn axe_finds_nothing_on_pages_of_errors_and_outages(stage: &Stage) -> Outcome {
    stage.expect_complaint("404 (Not Found)");
    stage.expect_complaint("503 (Service Unavailable)");
    let read_only = Site::with(cogworker_web::WebOptions::new().read_only(true)).await?;
    seed::everything(&read_only.redis);
    check(stage, &["/no/such/page"]).await?;
    for page in ["/overview", "/jobs?status=Retrying&selected=retrying-0", "/workers"] {
        stage.browser.open(&read_only.url(page)).await?;
        drawn(&stage.browser).await?;
        let found = findings(&stage.browser, page).await?;
        ensure!(found.is_empty(), "read-only: {found:#?}");
    }
    // Open while Redis goes away: the banner. Then the page of an outage.
    stage.open("/workers").await?;
    stage.site.redis.stop();
    stage.browser.reads("#cw-banner", "Redis does not answer").await?;
    let found = findings(&stage.browser, "a banner").await?;
    ensure!(found.is_empty(), "{found:#?}");
    check(stage, &["/jobs"]).await
}

pub(crate) async fn axe_finds_nothing_in_dialogs_menus_and_messages(stage: &Stage) -> Outcome {
    seed::everything(&stage.site.redis);
    let browser = &stage.browser;
    for (page, opener, open) in [
        ("/workers", "#cw-main .btn--danger", "#cw-ask[open]"),
        ("/overview", "[data-cw-keys]", "#cw-keys[open]"),
        ("/jobs?status=Retrying", "details.menu summary", "details.menu[open]"),
        ("/jobs?status=Retrying", "tbody .cb", "tr.sel"),
        ("/history?status=failed", ".ag-row .linkish", "#cw-backtrace[open]"),
        ("/history", ".ag-header-cell .ag-header-cell-filter-button", ".ag-filter"),
        ("/overview", "#q-default form button, tr[id] form button", ".toast"),
        ("/overview", "details.chart-data summary", "details.chart-data[open]"),
    ] {
        stage.open(page).await?;
        drawn(browser).await?;
        browser.click(opener).await?;
        browser.find(open).await?;
        for dark in [false, true] {
            browser.system_is_dark(dark).await?;
            drawn(browser).await?;
            let found = findings(browser, &format!("{page} with {open}, dark: {dark}")).await?;
            ensure!(found.is_empty(), "{found:#?}");
        }
    }
    Ok(())
}

pub(crate) async fn axe_finds_nothing_where_more_is_offered(stage: &Stage) -> Outcome {
    let browser = &stage.browser;
    seed::everything(&stage.site.redis);
    for at in 0..60 {
        seed::waiting(&stage.site.redis, "FillerJob", &format!("filler-{at}"), "default");
    }
    for (screen, name) in [(Screen::DESK, "desk"), (Screen::PHONE, "phone")] {
        browser.screen(screen).await?;
        for dark in [false, true] {
            browser.system_is_dark(dark).await?;
            // What was left when the time of an action was up.
            stage.open("/jobs?status=Dead&again=dead.delete").await?;
            drawn(browser).await?;
            let mut found = findings(browser, &format!("an offer to go on, {name}, dark: {dark}")).await?;
            // Rows that came in above.
            stage.open("/jobs?status=Enqueued").await?;
            browser.run("scrollTo(0, 900)").await?;
            seed::waiting(&stage.site.redis, "ArrivingJob", &format!("new-{name}-{dark}"), "default");
            browser.reads("[data-cw-new]", "1 new").await?;
            drawn(browser).await?;
            let mut scrolled = findings(browser, &format!("new rows, {name}, dark: {dark}")).await?;
            // Rows under the header or the link are scrolled out from there.
            scrolled.retain(|line| !line.contains("target-size") || line.contains("data-cw-new"));
            found.extend(scrolled);
            ensure!(found.is_empty(), "{found:#?}");
            let sideways = "document.documentElement.scrollWidth > innerWidth";
            ensure!(browser.value(sideways).await? == false, "{name} scrolls sideways");
        }
    }
    Ok(())
}
