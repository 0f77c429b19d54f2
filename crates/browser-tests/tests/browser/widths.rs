//! From phones to wide screens.

use cogworker_browser_tests::{Outcome, Screen, seed};

use crate::accessible::{PAGES, drawn};
use crate::ensure;
use crate::stage::Stage;

const OVERFLOW: &str = "document.documentElement.scrollWidth - document.documentElement.clientWidth";

const BEYOND_THE_EDGE: &str = "[...document.querySelectorAll('body *')] \
    .filter((one) => one.getBoundingClientRect().right > document.documentElement.clientWidth + 1) \
    .slice(0, 4).map((one) => one.outerHTML.slice(0, 90))";

/// From the narrowest phone to 4 K.
pub(crate) async fn no_page_scrolls_sideways_at_any_width(stage: &Stage) -> Outcome {
    seed::everything(&stage.site.redis);
    let long = "a_very_long_class_name_without_a_place_to_break_it_that_somebody_generated".repeat(3);
    seed::waiting(&stage.site.redis, &long, &long, &long);
    seed::process(&stage.site.redis, &long, false);
    let phone = Screen { width: 360, height: 640, scale: 1.0, touch: true };
    let mut wrong = Vec::new();
    for page in PAGES {
        stage.browser.screen(Screen::DESK).await?;
        stage.open(page).await?;
        for screen in [phone, Screen::wide(641), Screen::wide(1090), Screen::wide(3840)] {
            stage.browser.screen(screen).await?;
            drawn(&stage.browser).await?;
            let overflow = stage.browser.number(OVERFLOW).await?;
            if overflow > 0.0 {
                let widest = stage.browser.value(BEYOND_THE_EDGE).await?;
                wrong.push(format!("{page} at {} px: {overflow} px too wide: {widest}", screen.width));
            }
        }
    }
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

pub(crate) async fn a_narrow_window_keeps_the_header_webx_12(stage: &Stage) -> Outcome {
    seed::everything(&stage.site.redis);
    stage.browser.screen(Screen::wide(700)).await?;
    for page in PAGES {
        stage.open(page).await?;
        let height = "document.querySelector('.top').getBoundingClientRect().height";
        // Two lines: controls, tabs.
        let height = stage.browser.number(height).await?;
        ensure!(height < 110.0, "{page}: the header is {height} px high");
        let cut =
            "document.querySelector('#cw-main').scrollWidth - document.querySelector('#cw-main').clientWidth";
        ensure!(stage.browser.number(cut).await? <= 0.0, "{page}: the content is wider than its place");
    }
    Ok(())
}

pub(crate) async fn a_wide_block_does_not_widen_the_header_webx_13(stage: &Stage) -> Outcome {
    stage.browser.screen(Screen::wide(1300)).await?;
    stage.open("/overview").await?;
    let width = "document.querySelector('.top__in').getBoundingClientRect().width";
    let before = stage.browser.number(width).await?;
    stage.browser.run("const block = document.createElement('div'); block.id = 'wide'; document.querySelector('#cw-main').append(block); block.style.width = '2000px'; block.style.height = '9px'").await?;
    ensure!(stage.browser.number("document.querySelector('#wide').offsetWidth").await? == 2000.0, "no block");
    ensure!(stage.browser.number(width).await? == before, "the header grew");
    Ok(())
}

pub(crate) async fn the_current_tab_is_in_view_on_a_phone(stage: &Stage) -> Outcome {
    seed::everything(&stage.site.redis);
    stage.browser.screen(Screen::PHONE).await?;
    for (page, bar) in [("/greetings", ".tabs"), ("/history", ".tabs"), ("/jobs?status=Dead", ".states")] {
        stage.open(page).await?;
        let in_view = format!(
            "(() => {{ const bar = document.querySelector('{bar}').getBoundingClientRect(); \
             const tab = document.querySelector('{bar} [aria-current]').getBoundingClientRect(); \
             return tab.left >= bar.left && tab.right <= bar.right; }})()"
        );
        stage.browser.until(&in_view).await.map_err(|error| format!("{page}: {error}"))?;
        ensure!(stage.browser.number("scrollX + scrollY").await? == 0.0, "{page}: the page moved");
    }
    Ok(())
}
