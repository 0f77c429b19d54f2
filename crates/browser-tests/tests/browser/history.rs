//! The grid of runs.

use cogworker_browser_tests::{Outcome, Screen, seed};

use crate::ensure;
use crate::stage::Stage;

const ROWS: &str =
    "document.querySelectorAll('.ag-center-cols-container .ag-row:not(.ag-row-loading) .st').length";
const LOADED: &str = "(() => { let loaded = 0; window.cogworkerHistory.forEachNode((node) => { if (node.data) loaded += 1; }); return loaded; })()";

fn runs(stage: &Stage, count: u32) {
    for at in 0..count {
        let (class, fails) = if at % 5 == 0 { ("ChargeJob", true) } else { ("WelcomeMailJob", false) };
        seed::run(&stage.site.redis, class, &format!("run-{at}"), 30.0 + f64::from(at), 0.25, fails);
    }
}

pub(crate) async fn the_error_of_a_run_opens_a_dialog_and_success_hides_failures_webx_07(
    stage: &Stage,
) -> Outcome {
    runs(stage, 10);
    stage.browser.system_is_dark(true).await?;
    stage.open("/history").await?;
    stage.browser.click(".ag-row .linkish").await?;
    stage.browser.reads("#cw-backtrace[open]", "ConnectTimeout").await?;
    stage.browser.reads("#cw-backtrace[open] .trace", "billing::pool::acquire").await?;
    let style =
        |property: &str| format!("getComputedStyle(document.querySelector('#cw-backtrace')).{property}");
    ensure!(stage.browser.value(&style("color")).await? != "rgb(0, 0, 0)", "black on dark");
    let border = stage.browser.value(&style("borderTopStyle")).await?;
    ensure!(border == "none" || border == "solid", "the browser's own border: {border}");
    stage.browser.press(thirtyfour::Key::Escape).await?;
    stage.browser.until("!document.querySelector('#cw-backtrace[open]')").await?;
    stage.browser.click("[aria-label=Outcome] a[href*='status=success']").await?;
    stage.browser.until(&format!("{ROWS} === 8")).await?;
    ensure!(stage.browser.count(".ag-row .st--bad").await? == 0, "a failure shows");
    Ok(())
}

pub(crate) async fn the_second_page_is_fetched_when_it_is_asked_for_webx_14(stage: &Stage) -> Outcome {
    runs(stage, 60);
    stage.open("/history").await?;
    stage.browser.until(&format!("{LOADED} === 25")).await?;
    let source = stage.browser.driver().source().await?;
    ensure!(source.contains("run-0") && !source.contains("run-30"), "the second page came with the first");
    stage.browser.click("[ref=btNext], [data-ref=btNext]").await?;
    stage
        .browser
        .until("[...document.querySelectorAll('.ag-row [col-id=jid]')].some((cell) => cell.textContent === 'run-30')")
        .await
}

pub(crate) async fn new_runs_appear_in_the_grid_while_it_is_live_and_not_otherwise_webx_15(
    stage: &Stage,
) -> Outcome {
    runs(stage, 3);
    stage.open("/history").await?;
    stage.browser.until(&format!("{ROWS} === 3")).await?;
    seed::run(&stage.site.redis, "FreshJob", "fresh-1", 1.0, 0.2, false);
    stage.browser.reads(".ag-row", "FreshJob").await?;
    stage.browser.click("#cw-live").await?;
    stage.browser.until("window.cogworkerLive === false").await?;
    seed::run(&stage.site.redis, "LaterJob", "later-1", 0.5, 0.2, false);
    // What would have been updated by itself is known by then: the server answered a later question.
    let asked =
        "performance.getEntriesByType('resource').filter((one) => one.name.includes('/history/data')).length";
    let before = stage.browser.number(asked).await?;
    stage.browser.run("window.waited = false; setTimeout(() => { window.waited = true; }, 2500)").await?;
    stage.browser.until("window.waited").await?;
    ensure!(stage.browser.number(asked).await? == before, "it asked while live was off");
    ensure!(stage.browser.number(ROWS).await? == 4.0, "a run appeared while live was off");
    stage.browser.click("#cw-live").await?;
    stage.browser.reads(".ag-row", "LaterJob").await
}

pub(crate) async fn the_grids_filters_order_and_page_stand_in_the_address_and_come_back(
    stage: &Stage,
) -> Outcome {
    runs(stage, 300);
    let browser = &stage.browser;
    stage.open("/history").await?;
    browser.until(&format!("{LOADED} === 25")).await?;
    ensure!(browser.path().await? == "/admin/jobs/history", "{}", browser.path().await?);
    browser.click(".ag-header-cell[col-id=class] .ag-header-cell-filter-button").await?;
    browser.type_into(".ag-filter input[type=text]", "mail").await?;
    browser.until("new URLSearchParams(location.search).get('filter')?.includes('mail')").await?;
    browser.press(thirtyfour::Key::Escape).await?;
    browser.click(".ag-header-cell[col-id=finished_at] .ag-header-cell-label").await?;
    browser.until("new URLSearchParams(location.search).get('sort') === 'finished_at'").await?;
    let first = "document.querySelector('.ag-row[row-index=\"25\"] [col-id=jid]')?.textContent";
    browser.click("[ref=btNext], [data-ref=btNext]").await?;
    browser.until("new URLSearchParams(location.search).get('page') === '2'").await?;
    browser.until(&format!("{first} === 'run-268'")).await?;

    let view = "document.querySelector('.ag-center-cols-viewport')";
    ensure!(
        browser.value(&format!("{view}.scrollWidth <= {view}.clientWidth")).await? == true,
        "columns do not fit"
    );

    // As somebody else opens it.
    let address = browser.value("location.href").await?;
    let address = address.as_str().unwrap_or_default().to_owned();
    browser.open(&address).await?;
    browser.until(&format!("{first} === 'run-268'")).await?;
    ensure!(browser.value("location.href").await? == address, "{}", browser.value("location.href").await?);
    let total = "window.cogworkerHistory.paginationGetRowCount()";
    browser.until(&format!("{total} === 240")).await?;
    ensure!(browser.count(".ag-header-cell[col-id=class].ag-header-cell-filtered").await? == 1, "not marked");

    // Links of the page keep them, those of parts that were updated meanwhile too.
    browser.click("[aria-label=Outcome] a[href*='status=success']").await?;
    browser.until(&format!("{total} === 240")).await?;
    let kept = "['filter', 'sort'].every((name) => new URLSearchParams(location.search).has(name))";
    ensure!(browser.value(kept).await? == true, "{}", browser.value("location.href").await?);
    browser.click(".ag-header-cell[col-id=class] .ag-header-cell-filter-button").await?;
    browser.click(".ag-filter [ref=resetFilterButton], .ag-filter [data-ref=resetFilterButton]").await?;
    browser.until("!new URLSearchParams(location.search).has('filter')").await?;
    browser.until(&format!("{total} === 240")).await?;

    // On a phone there is a table, which heeds the same address.
    browser.screen(Screen::PHONE).await?;
    browser.open(&address.replace("&page=2", "")).await?;
    browser.reads(".plain-runs .panel__sub", "1 to 25 of 240").await?;
    browser.reads(".chips", "Columns").await?;
    browser.reads(".plain-runs tbody tr:first-child", "WelcomeMailJob").await
}

pub(crate) async fn the_grid_filters_and_sorts_on_the_server(stage: &Stage) -> Outcome {
    runs(stage, 40);
    stage.open("/history").await?;
    stage.browser.until(&format!("{LOADED} === 25")).await?;
    stage.browser.click(".ag-header-cell[col-id=class] .ag-header-cell-filter-button").await?;
    stage.browser.type_into(".ag-filter input[type=text]", "charge").await?;
    stage.browser.until(&format!("{LOADED} === 8")).await?;
    stage.browser.press(thirtyfour::Key::Escape).await?;
    stage.browser.click(".ag-header-cell[col-id=finished_at] .ag-header-cell-label").await?;
    let first = "document.querySelector('.ag-row[row-index=\"0\"] [col-id=jid]')?.textContent";
    stage.browser.until(&format!("{first} === 'run-35'")).await
}
