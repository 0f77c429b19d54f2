//! What is done to ticked jobs, and to all that match.

use std::time::Duration;

use axum::http::StatusCode;
use cogworker_client::{EntryFilter, JobSet, SearchOrder};
use cogworker_web::WebOptions;

use crate::support::{Outcome, Site};

/// `count` jobs of the classes A and B in turn, of the queues a and b.
pub(crate) fn fill(site: &Site, key: &str, count: u32) {
    let script = r#"for n = 1, tonumber(ARGV[1]) do
        local class = n % 2 == 0 and 'A' or 'B'
        local job = string.format('{"class":"%sJob","jid":"j%d","queue":"%s","args":[%d],"in":"%s","error_class":"E%s"}', class, n, string.lower(class), n, KEYS[1], class)
        if ARGV[2] == 'l' then redis.call('LPUSH', KEYS[1], job) else redis.call('ZADD', KEYS[1], 9000000000 + n, job) end
      end"#;
    let kind = if key.contains("queue:") { "l" } else { "z" };
    site.redis.cli(&["EVAL", script, "1", key, &count.to_string(), kind]);
}

async fn targets(set: &JobSet, letter: &str, class: &str, most: usize) -> Vec<String> {
    let filter = EntryFilter::new().class(class);
    let found = set.search(&filter, SearchOrder::NextFirst, 0, 10_000).await.unwrap().found;
    found.iter().take(most).map(|it| format!("{letter}:{}", it.entry)).collect()
}

fn fields<'a>(action: &'a str, targets: &'a [String]) -> Vec<(&'a str, &'a str)> {
    let mut fields = vec![("do", action), ("view", "status=Retrying"), ("minutes", "30")];
    fields.extend(targets.iter().map(|target| ("entry", target.as_str())));
    fields
}

#[tokio::test]
async fn ticked_jobs_are_retried_killed_rescheduled_and_deleted_and_no_others() -> Outcome {
    let site = Site::start().await?;
    fill(&site, "cogworker:retry", 20);
    let retries = site.client.retries();
    let some = targets(&retries, "r", "AJob", 3).await;
    let answer = site.post_part("/jobs/selected", &fields("retry", &some)).await;
    assert!(answer.body.contains("3 jobs put back"), "{}", answer.body);
    assert_eq!((retries.size().await?, site.client.queue("a").info().await?.size), (17, Some(3)));
    let again = site.post_part("/jobs/selected", &fields("retry", &some)).await.body;
    assert!(again.contains("0 of 3 jobs put back") && again.contains("3 were not there any more"), "{again}");
    let some = targets(&retries, "r", "AJob", 2).await;
    let answer = site.post("/jobs/selected", &fields("kill", &some)).await;
    assert_eq!(
        (answer.status, answer.header("location")),
        (StatusCode::FOUND, "/admin/jobs/jobs?status=Retrying")
    );
    assert_eq!((retries.size().await?, site.client.dead().size().await?), (15, 2));
    let some = targets(&retries, "r", "BJob", 4).await;
    let answer = site.post_part("/jobs/selected", &fields("reschedule", &some)).await;
    assert!(answer.body.contains("4 jobs rescheduled") && answer.body.contains("They run in 30 min."));
    assert_eq!(site.redis.cli(&["ZCOUNT", "cogworker:retry", "-inf", "8000000000"]), 4);
    // One of them went meanwhile: the others are done all the same.
    let some = targets(&retries, "r", "BJob", 3).await;
    site.redis.cli(&["ZREMRANGEBYRANK", "cogworker:retry", "0", "0"]);
    let answer = site.post_part("/jobs/selected", &fields("delete", &some)).await.body;
    assert!(
        answer.contains("2 of 3 jobs deleted") && answer.contains("1 was not there any more"),
        "{answer}"
    );
    assert_eq!(retries.size().await?, 12);
    let none = site.post_part("/jobs/selected", &fields("delete", &[])).await.body;
    assert!(none.contains("No job is selected") && retries.size().await? == 12);
    Ok(())
}

#[tokio::test]
async fn jobs_of_several_states_can_be_ticked_together() -> Outcome {
    let site = Site::start().await?;
    for set in ["schedule", "retry", "dead"] {
        fill(&site, &format!("cogworker:{set}"), 2);
    }
    fill(&site, "cogworker:queue:x:y", 2);
    let mut all = targets(&site.client.schedule(), "s", "AJob", 1).await;
    all.extend(targets(&site.client.retries(), "r", "AJob", 1).await);
    all.extend(targets(&site.client.dead(), "d", "AJob", 1).await);
    let queue = site.client.queue("x:y");
    let found = queue.search(&EntryFilter::new().class("AJob"), SearchOrder::LastFirst, 0, 9).await?.found;
    all.push(format!("q:{}:x:y", found[0].entry));
    let answer = site.post_part("/jobs/selected", &fields("kill", &all)).await.body;
    assert!(answer.contains("2 of 4 jobs moved to Dead"), "the dead one and the waiting one stay: {answer}");
    // What was killed is in dead now: its old references lead nowhere, and change nothing.
    let answer = site.post_part("/jobs/selected", &fields("delete", &all)).await.body;
    assert!(answer.contains("2 of 4 jobs deleted"), "{answer}");
    assert_eq!(queue.info().await?.size, Some(1));
    Ok(())
}

#[tokio::test]
async fn all_that_match_are_treated_and_nothing_else_webj_15_p_22() -> Outcome {
    let site = Site::start().await?;
    let view = "status=Retrying&class=AJob";
    fill(&site, "cogworker:retry", 2500);
    site.redis.cli(&["RPUSH", "cogworker:job_attempts:j2", "x"]);
    let (retries, dead) = (site.client.retries(), site.client.dead());
    let heading = site.get(&format!("/jobs?{view}")).await.body;
    assert!(
        heading.contains("1,250 of 2,500 retrying jobs match") && heading.contains("Retry all 1,250"),
        "{heading}"
    );
    let fields = [("do", "reschedule"), ("all", "1"), ("view", view), ("minutes", "9")];
    let all = site.post_part("/jobs/selected", &fields).await;
    assert!(all.body.contains("1,250 jobs rescheduled"));
    assert_eq!(site.redis.cli(&["ZCOUNT", "cogworker:retry", "-inf", "8000000000"]), 1250);
    let kill = site.post_part("/jobs/selected", &[("do", "kill"), ("all", "1"), ("view", view)]).await.body;
    assert!(kill.contains("1,250 jobs moved to Dead"), "{kill}");
    assert_eq!((retries.size().await?, dead.size().await?), (1250, 1250));
    let retry = site.post("/jobs/dead/retry_all", &[("view", "status=Dead&q=j12")]).await;
    assert_eq!(
        (retry.status, retry.header("location")),
        (StatusCode::FOUND, "/admin/jobs/jobs?status=Dead&q=j12")
    );
    let put_back = site.client.queue("a").info().await?.size.unwrap();
    assert_eq!(put_back, (1..=2500).filter(|n| n % 2 == 0 && n.to_string().starts_with("12")).count() as u64);
    let left = dead.size().await?;
    site.redis.cli(&["RPUSH", "cogworker:job_attempts:j4", "x"]);
    let delete = site.post_part("/jobs/dead/delete_all", &[("status", "Dead")]).await.body;
    assert!(
        delete.contains(&format!("{},{:03} jobs deleted", left / 1000, left % 1000))
            && dead.size().await? == 0,
        "{delete}"
    );
    assert_eq!(site.redis.cli(&["EXISTS", "cogworker:job_attempts:j4"]), 0, "WEBJ-15");
    let none = site.post_part("/jobs/dead/delete_all", &[("view", "status=Dead")]).await.body;
    assert!(none.contains("No job matches any more"), "{none}");
    assert_eq!(retries.size().await?, 1250, "others are as they were");
    Ok(())
}

#[tokio::test]
async fn all_waiting_jobs_that_match_are_deleted_from_one_queue_or_all() -> Outcome {
    let site = Site::start().await?;
    for queue in ["a/b", "c d"] {
        site.redis.cli(&["SADD", "cogworker:queues", queue]);
        fill(&site, &format!("cogworker:queue:{queue}"), 1200);
    }
    let size = async |queue: &str| site.client.queue(queue).info().await.unwrap().size;
    let view = "status=Enqueued&queue=a%2Fb&class=AJob";
    let page = site.get(&format!("/jobs?{view}")).await.body;
    assert!(page.contains("600 of 1,200 enqueued jobs match") && page.contains("Delete all 600…"), "{page}");
    let answer = site.post_part("/jobs/enqueued/delete_all", &[("view", view)]).await.body;
    assert!(answer.contains("600 jobs deleted"), "{answer}");
    assert_eq!((size("a/b").await, size("c d").await), (Some(600), Some(1200)));
    let answer =
        site.post_part("/jobs/enqueued/delete_all", &[("view", "status=Enqueued&class=AJob")]).await.body;
    assert!(answer.contains("600 jobs deleted"), "{answer}");
    assert_eq!((size("a/b").await, size("c d").await), (Some(600), Some(600)));
    let answer =
        site.post_part("/jobs/enqueued/delete_all", &[("view", "status=Enqueued&queue=c%20d")]).await.body;
    assert!(answer.contains("600 jobs deleted"), "{answer}");
    assert_eq!((size("a/b").await, size("c d").await), (Some(600), Some(0)));
    Ok(())
}

#[tokio::test]
async fn what_cannot_be_put_back_is_counted_and_stays() -> Outcome {
    let site = Site::start().await?;
    fill(&site, "cogworker:dead", 4);
    site.redis.cli(&["ZADD", "cogworker:dead", "1", "no job", "2", "[1]", "3", r#"{"class":"A","jid":"1"}"#]);
    let answer = site.post_part("/jobs/dead/retry_all", &[("view", "status=Dead")]).await.body;
    assert!(answer.contains("4 jobs put back") && answer.contains("3 jobs stay"), "{answer}");
    assert_eq!(site.client.dead().size().await?, 3);
    // A queue whose key is something else refuses its jobs.
    fill(&site, "cogworker:retry", 4);
    site.redis.cli(&["DEL", "cogworker:queue:a"]);
    site.redis.cli(&["SET", "cogworker:queue:a", "no list"]);
    let answer = site.post_part("/jobs/retrying/retry_all", &[("view", "status=Retrying")]).await.body;
    assert!(
        answer.contains("2 jobs put back") && answer.contains("2 jobs stay") && answer.contains("WRONGTYPE"),
        "{answer}"
    );
    assert_eq!(site.client.retries().size().await?, 2);
    Ok(())
}

#[tokio::test]
async fn the_queue_that_is_shown_is_paused_resumed_and_deleted() -> Outcome {
    let site = Site::start().await?;
    for queue in ["a/b é", "other"] {
        site.redis.cli(&["SADD", "cogworker:queues", queue]);
        fill(&site, &format!("cogworker:queue:{queue}"), 1200);
    }
    let view = "status=Enqueued&queue=a%2Fb%20%C3%A9";
    let fields = [("queue", "a/b é"), ("view", view)];
    assert!(site.get(&format!("/jobs?{view}")).await.body.contains("Pause queue"));
    let paused = site.post_part("/jobs/queue/pause", &fields).await;
    assert!(paused.body.contains("Queue a/b é is paused") && paused.body.contains("Resume queue"));
    assert_eq!(site.redis.cli(&["SMEMBERS", "cogworker:paused_queues"]).strings(), ["a/b é"]);
    let resumed = site.post("/jobs/queue/resume", &fields).await;
    assert_eq!(
        (resumed.status, resumed.header("location")),
        (StatusCode::FOUND, &*format!("/admin/jobs/jobs?{view}"))
    );
    assert_eq!(site.redis.cli(&["EXISTS", "cogworker:paused_queues"]), 0);
    let deleted = site.post_part("/jobs/queue/delete", &fields).await.body;
    assert!(
        deleted.contains("Queue a/b é is deleted") && deleted.contains("1,200 jobs were deleted"),
        "{deleted}"
    );
    assert_eq!(site.redis.cli(&["SMEMBERS", "cogworker:queues"]).strings(), ["other"]);
    assert_eq!(site.client.queue("other").info().await?.size, Some(1200));
    assert_eq!(site.post("/jobs/queue/explode", &fields).await.status, StatusCode::NOT_FOUND);
    assert_eq!(site.post("/jobs/queue/delete", &[]).await.status, StatusCode::BAD_REQUEST);
    Ok(())
}

#[tokio::test]
async fn a_full_redis_is_shown_and_can_be_emptied_p_49() -> Outcome {
    let site = Site::start().await?;
    fill(&site, "cogworker:dead", 700);
    fill(&site, "cogworker:retry", 3);
    site.redis.cli(&["SADD", "cogworker:queues", "mail"]);
    fill(&site, "cogworker:queue:mail", 700);
    site.redis.cli(&["CONFIG", "SET", "maxmemory-policy", "noeviction"]);
    site.redis.cli(&["CONFIG", "SET", "maxmemory", "1"]);
    for page in ["/jobs", "/jobs?status=Dead", "/errors", "/history"] {
        assert_eq!(site.get(page).await.status, StatusCode::OK, "{page}");
    }
    let kill = site
        .post_part("/jobs/selected", &[("do", "kill"), ("all", "1"), ("view", "status=Retrying")])
        .await
        .body;
    assert!(kill.contains("Nothing was changed") && site.client.retries().size().await? == 3, "{kill}");
    let retry = site.post_part("/jobs/dead/retry_all", &[("view", "status=Dead")]).await.body;
    assert!(retry.contains("Nothing was changed") && site.client.dead().size().await? == 700, "{retry}");
    assert!(
        site.post_part("/jobs/dead/delete_all", &[("view", "status=Dead")])
            .await
            .body
            .contains("700 jobs deleted")
    );
    let queue =
        site.post_part("/jobs/enqueued/delete_all", &[("view", "status=Enqueued&queue=mail")]).await.body;
    assert!(queue.contains("700 jobs deleted"), "{queue}");
    Ok(())
}

/// What the form of the banner sends, and where to: the answer to "yes".
pub(crate) fn going_on(page: &str) -> Option<(String, Vec<(String, String)>)> {
    let form = page.split("data-cw-stay").nth(1)?.split("</form>").next()?;
    let value = |text: &str, name: &str| {
        let value = text.split(&format!(" {name}=\"")).nth(1)?.split('"').next()?;
        Some(value.replace("&#38;", "&"))
    };
    let fields = form
        .split("<input")
        .skip(1)
        .filter_map(|input| Some((value(input, "name")?, value(input, "value")?)));
    let path = value(form, "action")?.trim_start_matches("/admin/jobs").to_owned();
    Some((path, fields.filter(|(name, _)| !name.starts_with("ask")).collect()))
}

#[tokio::test]
async fn what_takes_too_long_stops_says_how_far_it_came_and_can_be_gone_on_with() -> Outcome {
    let site = Site::with(WebOptions::new().patience(Duration::ZERO)).await?;
    fill(&site, "cogworker:dead", 1200);
    let fields = [("view", "status=Dead&class=AJob")];
    let part = site.post_part("/jobs/dead/delete_all", &fields).await.body;
    for said in
        ["250 jobs deleted", "Looked at 500 of 1,200. It stopped after 0 ms", "<b>250 jobs deleted.</b>"]
    {
        assert!(part.contains(said), "{said}: {part}");
    }
    assert!(part.contains("Delete the other dead jobs that match?"), "it is asked about as the first time");
    let mut left = vec![site.client.dead().size().await?];
    let mut next = going_on(&part);
    while let Some((path, fields)) = next {
        // From here on as without a script: the message comes over the redirect, and the offer with it.
        let fields: Vec<_> = fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let answer = site.post(&path, &fields).await;
        assert_eq!(answer.status, StatusCode::FOUND, "{path} {fields:?}");
        let back = answer.header("location").trim_start_matches("/admin/jobs").to_owned();
        let page = site.get(&back).await.body;
        left.push(site.client.dead().size().await?);
        next = going_on(&page);
        assert_eq!(next.is_some(), back.contains("&again=dead.delete"), "{back}");
        assert!(left.len() < 5, "it goes on for ever");
    }
    assert_eq!(left, [950, 700, 600], "a slice at a time, and only those that match");
    Ok(())
}

#[tokio::test]
async fn each_action_can_be_gone_on_with_over_several_states_and_as_often_as_it_takes() -> Outcome {
    let site = Site::with(WebOptions::new().patience(Duration::ZERO)).await?;
    for (action, minutes) in [("reschedule", "30"), ("kill", ""), ("retry", ""), ("delete", "")] {
        for key in ["schedule", "retry", "dead", "queue:a"] {
            fill(&site, &format!("cogworker:{key}"), 700);
        }
        let fields = [("view", "status=All"), ("all", "1"), ("do", action), ("minutes", minutes)];
        let mut page = site.post_part("/jobs/selected", &fields).await.body;
        let mut times = 1;
        while let Some((path, fields)) = going_on(&page) {
            assert_eq!(path, "/jobs/selected");
            let fields: Vec<_> = fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
            page = site.post_part(&path, &fields).await.body;
            times += 1;
            assert!(times < 20, "{action} goes on for ever");
        }
        let sizes = (site.client.schedule().size().await?, site.client.retries().size().await?);
        let soon = site.redis.cli(&["ZCOUNT", "cogworker:retry", "-inf", "8000000000"]).as_int();
        match action {
            "reschedule" => assert_eq!((sizes, soon), ((700, 700), Some(700))),
            _ => assert_eq!(sizes, (0, 0), "{action}"),
        }
        assert!(times > 2, "{action}: {times}");
        site.redis.cli(&["FLUSHALL"]);
    }
    Ok(())
}

#[tokio::test]
async fn a_group_of_errors_and_a_queue_say_that_more_is_left() -> Outcome {
    let site = Site::with(WebOptions::new().patience(Duration::ZERO)).await?;
    fill(&site, "cogworker:dead", 1200);
    let fields = [("error_class", "EA"), ("message", "")];
    let answer = site.post_part("/errors/delete", &fields).await.body;
    assert!(answer.contains("250 jobs deleted") && answer.contains("do it again to go on"), "{answer}");
    fill(&site, "cogworker:queue:a", 1200);
    site.redis.cli(&["SADD", "cogworker:queues", "a"]);
    let answer = site.post_part("/jobs/queue/delete", &[("queue", "a")]).await.body;
    assert!(answer.contains("Queue a stays") && answer.contains("Do it again to go on."), "{answer}");
    Ok(())
}
