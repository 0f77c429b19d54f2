//! The keyboard alone.

use cogworker_browser_tests::{Outcome, seed};
use thirtyfour::Key;

use crate::accessible::{PAGES, drawn};
use crate::ensure;
use crate::stage::Stage;

/// Marks everything that a mouse could use and that is seen.
const MARK: &str = r#"
const all = [...document.querySelectorAll("a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex='0']")]
  .filter((one) => !one.disabled && one.checkVisibility({ visibilityProperty: true }) && one.getClientRects().length && !one.closest(".ag-root-wrapper"));
window.unreached = new Set(all);
document.addEventListener("focusin", (event) => window.unreached.delete(event.target));
document.activeElement?.blur?.();
return all.length;
"#;

pub(crate) async fn tab_reaches_every_control_of_every_page(stage: &Stage) -> Outcome {
    seed::everything(&stage.site.redis);
    let browser = &stage.browser;
    for page in PAGES.into_iter().filter(|page| !page.starts_with("/overview?layout=b&queue=rep")) {
        stage.open(page).await?;
        drawn(browser).await?;
        // Rows that come and go would be new elements.
        browser.click("#cw-live").await?;
        let count = browser.run(MARK).await?.as_u64().unwrap_or_default();
        ensure!(count > 10, "{page}: {count}");
        let tabs = String::from(char::from(Key::Tab)).repeat(count as usize + 40);
        let keys = browser
            .driver()
            .action_chain_with_delay(Some(std::time::Duration::ZERO), Some(std::time::Duration::ZERO));
        keys.send_keys(tabs).perform().await?;
        let left = "[...window.unreached].map((one) => one.outerHTML.slice(0, 160))";
        let left = browser.value(left).await?;
        ensure!(left.as_array().is_some_and(Vec::is_empty), "{page}: {left:#}");
        let outline =
            "getComputedStyle(document.querySelector(':focus-visible') ?? document.body).outlineStyle";
        let _ = browser.value(outline).await?;
    }
    Ok(())
}

pub(crate) async fn single_keys_move_open_select_and_act_and_can_be_switched_off(stage: &Stage) -> Outcome {
    seed::everything(&stage.site.redis);
    let browser = &stage.browser;
    stage.open("/jobs?status=Retrying").await?;
    let row = |at: usize| {
        format!("document.querySelectorAll('#cw-main tbody tr')[{at}].contains(document.activeElement)")
    };
    browser.press('j').await?;
    browser.until(&row(0)).await?;
    browser.press('j').await?;
    browser.until(&row(1)).await?;
    browser.press('k').await?;
    browser.until(&row(0)).await?;
    browser.press('x').await?;
    browser.reads("[data-cw-selected]", "1 selected").await?;
    browser.press(Key::Escape).await?;
    browser.until("document.querySelectorAll('tbody .cb:checked').length === 0").await?;
    browser.press('d').await?;
    browser.find("#cw-ask[open]").await?;
    browser.press(Key::Escape).await?;
    browser.until("!document.querySelector('#cw-ask[open]')").await?;
    browser.press('/').await?;
    browser.until("document.activeElement.matches('#cw-main input[type=search]')").await?;
    // In a field they are letters.
    browser.press('j').await?;
    browser.until("document.activeElement.value === 'j'").await?;
    browser.run("document.activeElement.value = ''; document.activeElement.blur()").await?;
    browser.press('?').await?;
    browser.click("#cw-keys[open] input").await?;
    browser.press(Key::Escape).await?;
    browser.until("!document.querySelector('#cw-keys[open]')").await?;
    browser.run("document.activeElement.blur()").await?;
    browser.press('?').await?;
    browser.press('/').await?;
    ensure!(browser.count("#cw-keys[open]").await? == 0, "a key acts though they are off");
    ensure!(browser.value("document.activeElement.matches('input[type=search]')").await? == false, "/ acts");
    // Opening by Enter, and closing: the keys go on from there.
    browser.run("localStorage.removeItem('cogworkerShortcuts')").await?;
    stage.open("/jobs?status=Retrying").await?;
    browser.enter("tbody tr:nth-child(2) a.name").await?;
    browser.find("#detail").await?;
    browser.press(Key::Escape).await?;
    browser.until("!document.querySelector('#detail')").await?;
    browser.until(&row(1)).await?;
    browser.press('j').await?;
    browser.until(&row(2)).await?;
    // r acts on the row that has the focus.
    stage.open("/jobs?status=Retrying").await?;
    browser.press('j').await?;
    browser.press('r').await?;
    browser.reads(".toast", "1 job").await?;
    browser.until(&row(0)).await?;
    ensure!(stage.int(&["ZCARD", "cogworker:retry"]) == 2, "nothing was retried");
    Ok(())
}

pub(crate) async fn arrows_and_enter_work_in_the_grid_and_tab_leaves_it(stage: &Stage) -> Outcome {
    seed::everything(&stage.site.redis);
    let browser = &stage.browser;
    stage.open("/history").await?;
    drawn(browser).await?;
    browser.click(".ag-row[row-index='0'] [col-id=status]").await?;
    for (key, column) in [(Key::Right, "duration"), (Key::Right, "error")] {
        browser.press(key).await?;
        browser.until(&format!("document.activeElement.getAttribute('col-id') === '{column}'")).await?;
    }
    browser.press(Key::Enter).await?;
    browser.reads("#cw-backtrace[open]", "ConnectTimeout").await?;
    browser.press(Key::Escape).await?;
    browser.until("!document.querySelector('#cw-backtrace[open]')").await?;
    browser.click(".ag-row[row-index='1'] [col-id=status]").await?;
    // Not from cell to cell: a scrollable part of the grid may be a stop of its own, then come its pages.
    for _ in 0..3 {
        browser.press(Key::Tab).await?;
    }
    browser.until("!document.activeElement.closest('.ag-body')").await
}
