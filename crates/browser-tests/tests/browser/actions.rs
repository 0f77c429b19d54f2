//! Every action: by a click, with and without scripts.

mod buttons;

use cogworker_browser_tests::{Outcome, Scripts, Site, seed};
use serde_json::json;

use crate::ensure;
use crate::stage::Stage;
use buttons::{Action, JOBS, OTHERS, QUEUES};

async fn act(stage: &Stage, action: &Action) -> Outcome {
    let browser = &stage.browser;
    let site = Site::start().await?;
    seed::everything(&site.redis);
    browser.open(&site.url(action.page)).await?;
    if !action.tick.is_empty() {
        browser.click(action.tick).await?;
    }
    let (command, expected) = action.check;
    let path = browser.path().await?;
    let with_scripts = browser.scripts() == Scripts::On;
    browser.click(action.button).await?;
    if action.asks && with_scripts {
        browser.click("#cw-ask[open] [data-cw-verb]").await?;
    } else if action.asks {
        browser.find("h1.h-ask").await?;
        browser.click(".btn--destroy").await?;
    }
    let told = if with_scripts { ".toast" } else { ".notice" };
    browser.reads(told, action.says).await?;
    let found = site.redis.cli(command);
    ensure!(found.as_int() == Some(expected), "{command:?}: expected {expected}, found {found:?}");
    if with_scripts {
        ensure!(browser.path().await? == path, "{path} became {}", browser.path().await?);
    }
    // The page would miss its server.
    browser.open("about:blank").await
}

async fn each(stage: &Stage, actions: &[Action]) -> Outcome {
    for action in actions {
        act(stage, action)
            .await
            .map_err(|error| format!("{} {} {}: {error}", action.page, action.tick, action.button))?;
    }
    Ok(())
}

pub(crate) async fn each_action_on_queues_says_what_it_did_with_scripts(stage: &Stage) -> Outcome {
    each(stage, &QUEUES).await
}

pub(crate) async fn each_action_on_queues_says_what_it_did_without_scripts(stage: &Stage) -> Outcome {
    each(stage, &QUEUES).await
}

pub(crate) async fn each_action_on_jobs_says_what_it_did_with_scripts(stage: &Stage) -> Outcome {
    each(stage, &JOBS).await
}

pub(crate) async fn each_action_on_jobs_says_what_it_did_without_scripts(stage: &Stage) -> Outcome {
    each(stage, &JOBS).await
}

pub(crate) async fn each_action_on_schedules_and_workers_says_what_it_did_with_scripts(
    stage: &Stage,
) -> Outcome {
    each(stage, &OTHERS).await
}

pub(crate) async fn each_action_on_schedules_and_workers_says_what_it_did_without_scripts(
    stage: &Stage,
) -> Outcome {
    each(stage, &OTHERS).await
}

pub(crate) async fn the_counts_beside_schedules_agree_after_an_action(stage: &Stage) -> Outcome {
    seed::everything(&stage.site.redis);
    stage.open("/schedules").await?;
    let browser = &stage.browser;
    let all = browser.number("Number(document.getElementById('schedules-all').textContent)").await?;
    browser.click("form[action$='/disable'] button").await?;
    browser.reads(".toast", "Schedule disabled").await?;
    browser.until("document.getElementById('schedules-disabled').textContent === '1'").await?;
    browser.reads("#schedules-enabled", &format!("{}", all - 1.0)).await?;
    browser.reads("#schedules-summary", &format!("{} enabled", all - 1.0)).await
}

pub(crate) async fn a_text_that_is_typed_and_not_sent_counts_before_all_are_treated_and_with_a_filter(
    stage: &Stage,
) -> Outcome {
    seed::everything(&stage.site.redis);
    seed::entry(&stage.site.redis, "dead", -30.0, &seed::failed_job("OtherJob", "other", "default", 4));
    let browser = &stage.browser;
    let search = "#jobs-filter input[type=search]";
    for button in ["delete_all", "retry_all"] {
        stage.open("/jobs?status=Dead").await?;
        browser.type_into(search, "OtherJob").await?;
        browser.click(&format!(".head__end form[action$='/dead/{button}'] button")).await?;
        browser.reads(".head__sub", "1 of 3 dead jobs match").await?;
        ensure!(stage.int(&["ZCARD", "cogworker:dead"]) == 3, "{button} did something");
        ensure!(browser.count("#cw-ask[open]").await? == 0, "{button} asked about all");
    }
    stage.open("/jobs?status=Dead").await?;
    browser.type_into(search, "OtherJob").await?;
    browser.click("#jobs-filter summary").await?;
    browser.type_into("#f-value", "default").await?;
    browser.click("#jobs-filter .menu__pop button").await?;
    browser.reads(".chips", "default").await?;
    let path = browser.path().await?;
    ensure!(path.contains("q=OtherJob") && path.contains("value=default"), "{path}");
    Ok(())
}

pub(crate) async fn what_comes_while_it_is_asked_stays(stage: &Stage) -> Outcome {
    seed::everything(&stage.site.redis);
    stage.open("/jobs?status=Dead").await?;
    let browser = &stage.browser;
    browser.click(".head__end form[action$='/dead/delete_all'] button").await?;
    browser.reads("#cw-ask[open] h2", "Delete 2 jobs from Dead?").await?;
    seed::entry(&stage.site.redis, "dead", 0.0, &seed::failed_job("ImportJob", "late", "default", 4));
    // A page that is updated would count it too.
    browser
        .run("window.ticks = 0; document.addEventListener('cw:tick', () => { window.ticks += 1; })")
        .await?;
    browser.until("window.ticks > 2").await?;
    browser.click("#cw-ask[open] [data-cw-verb]").await?;
    browser.reads(".toast", "2 jobs deleted").await?;
    ensure!(stage.int(&["ZCARD", "cogworker:dead"]) == 1, "the one that came later is gone");
    browser.reads(".head__end", "Delete all 1").await
}

pub(crate) async fn a_cancelled_question_changes_nothing_and_gives_the_focus_back(stage: &Stage) -> Outcome {
    seed::everything(&stage.site.redis);
    stage.open("/jobs?status=Dead").await?;
    let button = "tbody form[action$='/jobs/dead/delete'] button";
    stage.browser.click(button).await?;
    stage.browser.reads("#cw-ask[open] h2", "Delete this ImportJob?").await?;
    let cancel = "document.activeElement === document.querySelector('#cw-ask [value=no]')";
    stage.browser.until(cancel).await?;
    stage.browser.press(thirtyfour::Key::Escape).await?;
    stage.browser.until("!document.querySelector('#cw-ask[open]')").await?;
    stage
        .browser
        .until(&format!("document.activeElement === document.querySelector({})", json!(button)))
        .await?;
    ensure!(stage.int(&["ZCARD", "cogworker:dead"]) == 2, "something was deleted");
    Ok(())
}

pub(crate) async fn a_second_click_while_the_first_one_runs_is_none(stage: &Stage) -> Outcome {
    seed::periodic(&stage.site.redis, "DailyReportJob", "0 9 * * *");
    stage.open("/schedules").await?;
    stage.browser.find("form[action$='/run_now'] button").await?;
    stage.browser.run("const button = document.querySelector(\"form[action$='/run_now'] button\"); button.click(); button.click(); button.click()").await?;
    stage.browser.reads(".toast", "DailyReportJob pushed").await?;
    stage.browser.until("!document.querySelector('[aria-busy=true]')").await?;
    ensure!(stage.int(&["LLEN", "cogworker:queue:default"]) == 1, "it was pushed more than once");
    Ok(())
}

pub(crate) async fn a_failed_action_says_so(stage: &Stage) -> Outcome {
    stage.expect_complaint("503 (Service Unavailable)");
    stage.expect_complaint("Response Status Error Code 503");
    seed::everything(&stage.site.redis);
    stage.open("/overview").await?;
    stage.site.redis.stop();
    stage.browser.click("form[action$='/overview/default/pause'] button").await?;
    stage.browser.reads(".toast--bad[role=alert]", "Redis does not answer").await?;
    Ok(())
}
