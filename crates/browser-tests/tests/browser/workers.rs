//! Real workers: the example app's.

use std::path::{Path, PathBuf};
use std::time::Duration;

use cogworker_browser_tests::{Outcome, seed};
use cogworker_testing::WorkerProcess;
use example_jobs::GreetingJob;

use crate::ensure;
use crate::stage::Stage;

/// Two heartbeats, the update after it, and a slow machine.
const TWO_BEATS: Duration = Duration::from_secs(25);

/// Beside the programs of this package, where `cargo build -p example-worker` puts it.
fn program() -> Outcome<PathBuf> {
    let own = Path::new(env!("CARGO_BIN_EXE_screenshots"));
    let program = own.with_file_name("example-worker");
    if program.is_file() {
        Ok(program)
    } else {
        Err("find the example worker: build it first, with cargo build -p example-worker".into())
    }
}

async fn worker(stage: &Stage) -> Outcome<WorkerProcess> {
    let worker = WorkerProcess::spawn(&program()?, &stage.site.redis.url(), ["-c", "2"])?;
    stage.open("/workers").await?;
    stage.browser.reads("#workers-content tbody", "Active").await?;
    stage.browser.run("window.mark = 1").await?;
    Ok(worker)
}

pub(crate) async fn quiet_and_resume_by_button_stay_on_the_page_and_labels_follow_the_beat_webx_01(
    stage: &Stage,
) -> Outcome {
    let _worker = worker(stage).await?;
    let browser = &stage.browser;
    for (button, meanwhile, then) in
        [("/workers/quiet", "Going quiet…", "st--warn"), ("/workers/resume", "Resuming…", "st--run")]
    {
        browser.click(&format!("#cw-main form[action$='{button}'] button")).await?;
        browser.reads(".toast", "Asked to take").await?;
        // At once, or already what it leads to.
        let follows = format!(
            "document.querySelector('#workers-content tbody').innerText.includes('{meanwhile}') || document.querySelector('#workers-content tbody .{then}')"
        );
        browser.until(&follows).await?;
        browser
            .until_within(TWO_BEATS, &format!("document.querySelector('#workers-content tbody .{then}')"))
            .await?;
        browser.run("document.querySelectorAll('.toast').forEach((toast) => toast.remove())").await?;
    }
    ensure!(browser.value("window.mark").await? == 1, "the page was loaded anew");
    ensure!(browser.path().await? == "/admin/jobs/workers", "{}", browser.path().await?);
    Ok(())
}

pub(crate) async fn a_stop_asks_first_and_the_process_goes(stage: &Stage) -> Outcome {
    let mut worker = worker(stage).await?;
    let browser = &stage.browser;
    browser.click("#cw-main form[action$='/workers/stop'] button").await?;
    browser.click("#cw-ask[open] [value=no]").await?;
    ensure!(worker.is_running(), "it was stopped by Cancel");
    browser.click("#cw-main form[action$='/workers/stop'] button").await?;
    browser.click("#cw-ask[open] [data-cw-verb]").await?;
    browser.reads(".toast", "Asked to stop").await?;
    browser.reads("#workers-content", "No process is running").await?;
    ensure!(worker.wait(Duration::from_secs(15))?.success(), "it did not end well");
    Ok(())
}

pub(crate) async fn a_run_that_is_far_over_its_usual_time_turns_amber_and_says_so(stage: &Stage) -> Outcome {
    // It runs for 75 s.
    seed::process(&stage.site.redis, "app-1:4211:aaaa", false);
    seed::running(&stage.site.redis, "app-1:4211:aaaa", "ReindexJob", "running-1");
    seed::took(&stage.site.redis, "ReindexJob", 60.0, 20);
    let browser = &stage.browser;
    stage.open("/workers").await?;
    browser.reads("td[data-l=Elapsed]", "usually 1 min").await?;
    ensure!(browser.count("td[data-l=Elapsed] .t-warn").await? == 0, "it is amber and not over");
    // The same class, of which most runs now were quick.
    seed::took(&stage.site.redis, "ReindexJob", 0.8, 2000);
    browser.reads("td[data-l=Elapsed]", "far over the usual 750 ms").await?;
    let color = async |of: &str| {
        browser.value(&format!("getComputedStyle(document.querySelector('{of}')).color")).await
    };
    let (amber, elapsed) =
        (color("td[data-l=Elapsed] .t-warn").await?, color("td[data-l=Elapsed] .usual").await?);
    let plain = color("td[data-l=Elapsed]").await?;
    ensure!(amber == elapsed && amber != plain, "{amber} {elapsed} {plain}");
    Ok(())
}

pub(crate) async fn runs_of_a_real_worker_show_by_themselves_webx_04_webx_15(stage: &Stage) -> Outcome {
    let _worker = worker(stage).await?;
    let browser = &stage.browser;
    stage.open("/overview").await?;
    let processed = "[...document.querySelectorAll('.metric')].find((one) => one.innerText.startsWith('Processed')).querySelector('.metric__v').textContent";
    browser.until(&format!("{processed} === '0'")).await?;
    browser.run("window.mark = 1").await?;
    stage.site.client.perform_async(&GreetingJob("you".into())).await?;
    browser.until(&format!("{processed} === '1'")).await?;
    ensure!(browser.value("window.mark").await? == 1, "the page was loaded anew");
    stage.open("/history").await?;
    browser.reads(".ag-row", "GreetingJob").await?;
    stage.site.client.perform_async(&GreetingJob("all".into())).await?;
    browser.until("document.querySelectorAll('.ag-center-cols-container .ag-row .st').length === 2").await?;
    browser.reads("[aria-labelledby=h-times] tbody", "GreetingJob").await
}
