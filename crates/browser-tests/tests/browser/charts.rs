//! The charts of Overview.

use cogworker_browser_tests::Outcome;

use crate::ensure;
use crate::stage::Stage;

const DRAWN: &str = "window.cogworkerCharts?.size === 2";
const SUM_OF_DAYS: &str = "[...window.cogworkerCharts.values()].find((one) => one.kind === 'days').chart.data.datasets[0].data.reduce((a, b) => a + b, 0)";

fn today() -> String {
    cogworker_core::time::utc_day(cogworker_core::time::EpochSeconds::now())
}

async fn remember_charts(stage: &Stage) -> Outcome {
    stage.open("/overview").await?;
    stage.browser.until(DRAWN).await?;
    let script =
        "window.before = [...window.cogworkerCharts.values()].map((one) => one.chart); window.mark = 1";
    stage.browser.run(script).await?;
    Ok(())
}

/// How many of the charts are the instances that they were; the page is the one that it was.
async fn same_charts(stage: &Stage) -> Outcome<f64> {
    let same = "window.mark === 1 ? [...window.cogworkerCharts.values()].filter((one, at) => one.chart === window.before[at]).length : -1";
    stage.browser.number(same).await
}

pub(crate) async fn a_chart_updates_in_place_webx_02(stage: &Stage) -> Outcome {
    remember_charts(stage).await?;
    let day = format!("cogworker:history:daily:{}", today());
    stage.site.redis.cli(&["HSET", &day, "success", "7", "failed", "2"]);
    stage.browser.until(&format!("{SUM_OF_DAYS} === 7")).await?;
    stage.browser.reads("[data-cw-sum=success]", "7").await?;
    ensure!(stage.browser.count("canvas").await? == 2, "canvases came or went");
    ensure!(same_charts(stage).await? == 2.0, "a chart was made anew");
    Ok(())
}

pub(crate) async fn a_period_changes_only_its_chart_webx_03(stage: &Stage) -> Outcome {
    remember_charts(stage).await?;
    let points =
        "[...window.cogworkerCharts.values()].map((one) => `${one.kind} ${one.times.length}`).sort().join()";
    ensure!(stage.browser.value(points).await? == "days 30,hours 24", "before");
    stage.browser.click("[data-cw-period$='6months']").await?;
    stage.browser.until(&format!("{points} === 'days 182,hours 24'")).await?;
    ensure!(same_charts(stage).await? == 2.0, "a chart was made anew");
    let path = stage.browser.path().await?;
    ensure!(path == "/admin/jobs/overview?period=6months", "{path}");
    ensure!(stage.browser.count("[data-cw-period$='6months'][aria-current]").await? == 1, "not marked");
    Ok(())
}

pub(crate) async fn a_switch_of_the_theme_recolours_the_charts(stage: &Stage) -> Outcome {
    stage.browser.system_is_dark(false).await?;
    remember_charts(stage).await?;
    let colour = "[...window.cogworkerCharts.values()][0].chart.data.datasets[0].borderColor";
    let light = stage.browser.value(colour).await?;
    stage.browser.click("#cw-theme button").await?;
    stage.browser.until(&format!("{colour} !== {light}")).await?;
    ensure!(same_charts(stage).await? == 2.0, "a chart was made anew");
    Ok(())
}
