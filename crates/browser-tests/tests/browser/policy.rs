//! What the browser itself says about the pages.

use cogworker_browser_tests::{Outcome, seed};

use crate::accessible::{PAGES, drawn};
use crate::stage::Stage;

/// Opens everything; the stage fails on whatever the console then holds: errors of scripts, refusals by the
/// content security policy, files that are missing.
pub(crate) async fn nothing_is_refused_or_broken_on_any_page(stage: &Stage) -> Outcome {
    seed::everything(&stage.site.redis);
    for page in PAGES {
        stage.open(page).await?;
        drawn(&stage.browser).await?;
    }
    // What opens in a page.
    stage.open("/history").await?;
    stage.browser.click(".ag-header-cell[col-id=class] .ag-header-cell-filter-button").await?;
    stage.browser.find(".ag-filter").await?;
    stage.browser.click(".ag-paging-page-size .ag-picker-field-wrapper").await?;
    stage.browser.find(".ag-select-list").await?;
    stage.open("/jobs?status=Retrying&selected=retrying-0").await?;
    stage
        .browser
        .devtools(
            "Browser.grantPermissions",
            serde_json::json!({"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]}),
        )
        .await?;
    stage.browser.click("[data-cw-copy=d-jid]").await?;
    stage.browser.until("document.querySelector('[data-cw-copy=d-jid]').title === 'Copied'").await
}
