//! The header and its switches.

use cogworker_browser_tests::{Outcome, seed};

use crate::ensure;
use crate::stage::Stage;

pub(crate) async fn the_live_button_flips_its_label_and_the_pages_flag_webx_10(stage: &Stage) -> Outcome {
    stage.open("/workers").await?;
    for (label, pressed) in [("Live off", false), ("Live", true)] {
        stage.browser.click("#cw-live").await?;
        let flipped = format!(
            "window.cogworkerLive === {pressed} && document.querySelector('#cw-live').innerText.trim() === '{label}' \
             && document.querySelector('#cw-live').getAttribute('aria-pressed') === '{pressed}' \
             && localStorage.getItem('cogworkerLiveUpdate') === '{pressed}'"
        );
        stage.browser.until(&flipped).await?;
    }
    // Off means off, on the next page too.
    stage.browser.click("#cw-live").await?;
    stage.open("/overview").await?;
    stage.browser.until("window.cogworkerLive === false").await
}

pub(crate) async fn the_width_button_flips_class_and_label_and_survives_webx_11(stage: &Stage) -> Outcome {
    stage.browser.screen(cogworker_browser_tests::Screen::wide(1900)).await?;
    stage.open("/workers").await?;
    let width = "document.querySelector('#cw-main').getBoundingClientRect().width";
    let label = "document.querySelector('#cw-width button').textContent.trim()";
    ensure!(stage.browser.number(width).await? < 1500.0, "not fixed");
    ensure!(stage.browser.value(label).await? == "Full width", "label");
    stage.browser.click("#cw-width button").await?;
    stage.browser.until("document.querySelector('#cw-main').classList.contains('main--wide')").await?;
    for page in ["/workers", "/overview"] {
        if page != "/workers" {
            stage.open(page).await?;
        }
        ensure!(stage.browser.number(width).await? > 1800.0, "{page} is not wide");
        ensure!(stage.browser.value(label).await? == "Fixed width", "label of {page}");
        ensure!(
            stage.browser.value("localStorage.getItem('cogworkerWideLayout')").await? == "true",
            "{page}"
        );
    }
    Ok(())
}

pub(crate) async fn the_theme_button_switches_at_once_and_survives(stage: &Stage) -> Outcome {
    stage.browser.system_is_dark(false).await?;
    stage.open("/workers").await?;
    let canvas = "getComputedStyle(document.body).backgroundColor";
    let light = stage.browser.value(canvas).await?;
    stage.browser.click("#cw-theme button").await?;
    stage.browser.until(&format!("{canvas} !== {light}")).await?;
    let dark = stage.browser.value(canvas).await?;
    stage.open("/jobs").await?;
    ensure!(stage.browser.value(canvas).await? == dark, "it was forgotten");
    Ok(())
}

pub(crate) async fn the_pill_is_low_and_the_filter_narrow_webx_08(stage: &Stage) -> Outcome {
    seed::everything(&stage.site.redis);
    stage.open("/history").await?;
    let part = "document.querySelector('.pill').getBoundingClientRect().height / document.querySelector('.top__in').getBoundingClientRect().height";
    ensure!(stage.browser.number(part).await? < 0.6, "the pill fills the header");
    let part = "document.querySelector('[aria-label=Outcome]').getBoundingClientRect().width / innerWidth";
    ensure!(stage.browser.number(part).await? < 0.5, "the filter fills the page");
    Ok(())
}
