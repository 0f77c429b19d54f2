//! Every action: by a click, with and without scripts.

use cogworker_browser_tests::{Outcome, Scripts, Site, seed};
use serde_json::json;

use crate::ensure;
use crate::stage::Stage;

/// One button.
struct Action {
    page: &'static str,
    /// Boxes to tick first.
    tick: &'static str,
    button: &'static str,
    /// Asks before it does anything.
    asks: bool,
    says: &'static str,
    /// A command and what it then answers.
    check: (&'static [&'static str], i64),
}

const fn action(
    page: &'static str,
    button: &'static str,
    asks: bool,
    says: &'static str,
    check: (&'static [&'static str], i64),
) -> Action {
    Action { page, tick: "", button, asks, says, check }
}

const fn bulk(
    tick: &'static str,
    button: &'static str,
    asks: bool,
    says: &'static str,
    check: (&'static [&'static str], i64),
) -> Action {
    Action { page: "/jobs?status=Retrying", tick, button, asks, says, check }
}

const QUEUES: [Action; 7] = [
    action(
        "/overview",
        "form[action$='/overview/default/pause'] button",
        false,
        "Queue default is paused",
        (&["SISMEMBER", "cogworker:paused_queues", "default"], 1),
    ),
    action(
        "/overview",
        "form[action*='reports'][action$='/resume'] button",
        false,
        "is resumed",
        (&["SCARD", "cogworker:paused_queues"], 0),
    ),
    action(
        "/overview?layout=b&queue=default",
        "form[action$='/default/pause'] button",
        false,
        "Queue default is paused",
        (&["SISMEMBER", "cogworker:paused_queues", "default"], 1),
    ),
    action(
        "/overview?layout=b&queue=default",
        "form[action$='/default/retry_all'] button",
        false,
        "3 jobs put back",
        (&["ZCARD", "cogworker:retry"], 0),
    ),
    action(
        "/overview?layout=b&queue=default",
        "form[action$='/default/delete_all'] button",
        true,
        "4 jobs deleted",
        (&["LLEN", "cogworker:queue:default"], 0),
    ),
    action(
        "/overview?layout=b&queue=default",
        "form[action$='/default/delete'] button",
        true,
        "1 job deleted",
        (&["LLEN", "cogworker:queue:default"], 3),
    ),
    action(
        "/overview?layout=b&queue=reports%3A%20%3C%C3%A4%20%26%20%22x%22%3E%2F%25",
        "form[action$='/resume'] button",
        false,
        "is resumed",
        (&["SCARD", "cogworker:paused_queues"], 0),
    ),
];

const JOBS: [Action; 18] = [
    action(
        "/jobs?status=Retrying",
        "tbody form[action$='/jobs/retrying/retry_now'] button",
        false,
        "1 job",
        (&["ZCARD", "cogworker:retry"], 2),
    ),
    action(
        "/jobs?status=Retrying",
        "tbody form[action$='/jobs/retrying/delete'] button",
        true,
        "1 job deleted",
        (&["ZCARD", "cogworker:retry"], 2),
    ),
    action(
        "/jobs?status=Dead",
        "tbody form[action$='/jobs/dead/retry'] button",
        false,
        "1 job",
        (&["ZCARD", "cogworker:dead"], 1),
    ),
    action(
        "/jobs?status=Dead",
        "tbody form[action$='/jobs/dead/delete'] button",
        true,
        "1 job deleted",
        (&["ZCARD", "cogworker:dead"], 1),
    ),
    action(
        "/jobs?status=Scheduled&q=Digest",
        "tbody form[action*='/jobs/scheduled/'] button[data-cw-key=run]",
        false,
        "1 job",
        (&["ZCARD", "cogworker:schedule"], 1),
    ),
    action(
        "/jobs?status=Scheduled",
        "tbody form[action$='/jobs/scheduled/delete'] button",
        true,
        "1 job deleted",
        (&["ZCARD", "cogworker:schedule"], 1),
    ),
    action(
        "/jobs?status=Enqueued&queue=default",
        "tbody form[action$='/jobs/enqueued/delete'] button",
        true,
        "1 job deleted",
        (&["LLEN", "cogworker:queue:default"], 3),
    ),
    action(
        "/jobs?status=Retrying&selected=retrying-0",
        "#detail form[action$='/retry_now'] button",
        false,
        "1 job",
        (&["ZCARD", "cogworker:retry"], 2),
    ),
    action(
        "/jobs?status=Retrying&selected=retrying-0",
        "#detail form[action$='/kill'] button",
        false,
        "1 job",
        (&["ZCARD", "cogworker:dead"], 3),
    ),
    action(
        "/jobs?status=Retrying&selected=retrying-0",
        "#detail form[action$='/reschedule'] button",
        false,
        "1 job",
        (&["ZCARD", "cogworker:retry"], 3),
    ),
    action(
        "/jobs?status=Retrying&selected=retrying-0",
        "#detail form[action$='/delete'] button",
        true,
        "1 job deleted",
        (&["ZCARD", "cogworker:retry"], 2),
    ),
    action(
        "/jobs?status=Retrying",
        ".head__end form:not(:has([name=ask])) button",
        false,
        "3 jobs",
        (&["ZCARD", "cogworker:retry"], 0),
    ),
    action(
        "/jobs?status=Dead",
        ".head__end form:has([name=ask]) button",
        true,
        "2 jobs deleted",
        (&["ZCARD", "cogworker:dead"], 0),
    ),
    action(
        "/errors",
        "form[action$='/errors/retry'] button",
        false,
        "5 jobs",
        (&["ZCARD", "cogworker:retry"], 0),
    ),
    action(
        "/errors",
        "form[action$='/errors/delete'] button",
        true,
        "5 jobs deleted",
        (&["ZCARD", "cogworker:dead"], 0),
    ),
    bulk("tbody .cb", "#bulk button[value=retry]", false, "1 job", (&["ZCARD", "cogworker:retry"], 2)),
    bulk("tbody .cb", "#bulk button[value=kill]", false, "1 job", (&["ZCARD", "cogworker:dead"], 3)),
    bulk(
        "tbody .cb",
        "#bulk button[value=delete]",
        true,
        "1 job deleted",
        (&["ZCARD", "cogworker:retry"], 2),
    ),
];

const OTHERS: [Action; 6] = [
    action(
        "/schedules",
        "form[action$='/run_now'] button",
        false,
        "pushed",
        (&["LLEN", "cogworker:queue:default"], 5),
    ),
    action(
        "/schedules",
        "form[action$='/disable'] button",
        false,
        "Schedule disabled",
        (&["SCARD", "periodic:disabled"], 1),
    ),
    action(
        "/workers",
        "form[action$='/workers/quiet'] button",
        false,
        "Asked to take no new jobs",
        (&["SCARD", "cogworker:processes"], 2),
    ),
    action(
        "/workers",
        "form[action$='/workers/resume'] button",
        false,
        "Asked to take jobs again",
        (&["SCARD", "cogworker:processes"], 2),
    ),
    action(
        "/workers",
        "form[action$='/workers/stop'] button",
        true,
        "Asked to stop",
        (&["SCARD", "cogworker:processes"], 2),
    ),
    action(
        "/jobs",
        "form[action$='/workers/pause_all'] button",
        false,
        "Intake paused",
        (&["SCARD", "cogworker:processes"], 2),
    ),
];

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
