//! Jobs: what is shown of them, and what is done to one.

use axum::http::StatusCode;
use cogworker_client::EntryFilter;
use cogworker_client::SearchOrder;
use cogworker_core::time::EpochSeconds;
use cogworker_web::WebOptions;

use crate::support::{Answer, Outcome, Site};

fn job(class: &str, jid: &str) -> String {
    format!(
        r#"{{"class":"{class}","jid":"{jid}","queue":"mail","args":[1, "{jid}"],"retry":3,"retry_count":2,"created_at":1000.0,"enqueued_at":1100.0,"failed_at":1200.5,"error_class":"IOError","error_message":"broke after 7 s"}}"#
    )
}

fn add(site: &Site, set: &str, score: f64, raw: &str) {
    site.redis.cli(&["ZADD", &format!("cogworker:{set}"), &score.to_string(), raw]);
}

fn far() -> f64 {
    EpochSeconds::now().as_f64() + 5000.0
}

/// Every value of a hidden or ticked field `name`.
fn values(answer: &Answer, name: &str) -> Vec<String> {
    let marker = format!("name=\"{name}\" value=\"");
    let parts = answer.body.split(&*marker).skip(1);
    parts
        .filter_map(|part| part.split('"').next())
        .map(|text| text.replace("&#38;", "&").replace("&#34;", "\""))
        .collect()
}

fn rows(site: &Site, set: &str) -> Vec<String> {
    site.redis.cli(&["ZRANGE", &format!("cogworker:{set}"), "0", "-1"]).strings()
}

#[tokio::test]
async fn each_state_shows_its_jobs_and_how_many_there_are_webj_01_webj_02_webj_20() -> Outcome {
    let site = Site::start().await?;
    add(&site, "schedule", far(), &job("ScheduledJob", "s1"));
    add(&site, "retry", far(), &job("RetryJob", "r1"));
    add(&site, "dead", 100.0, &job("OldDead", "d1"));
    add(&site, "dead", 200.0, &job("NewDead", "d2"));
    site.redis.cli(&["SADD", "cogworker:queues", "mail"]);
    site.redis.cli(&["LPUSH", "cogworker:queue:mail", &job("WaitingJob", "w1"), &job("NewerJob", "w2")]);
    let page = async |path: &str| site.get(path).await.body;
    let all = page("/jobs").await;
    for part in ["ScheduledJob", "RetryJob", "OldDead", "WaitingJob", "6 jobs", "jobs-content"] {
        assert!(all.contains(part), "{part}");
    }
    assert!(page("/jobs?status=Nope").await.contains("ScheduledJob"), "what is unknown shows all");
    let before = |page: &str, first: &str, then: &str| page.find(first).unwrap() < page.find(then).unwrap();
    let dead = page("/jobs?status=Dead").await;
    assert!(before(&dead, "NewDead", "OldDead") && !dead.contains("RetryJob"), "newest first");
    assert!(dead.contains("data-cw-live=\"/admin/jobs/jobs?status=Dead\""));
    assert!(before(&page("/jobs?status=Dead&sort=at").await, "OldDead", "NewDead"));
    assert!(before(&page("/jobs?status=Dead&sort=-job").await, "OldDead", "NewDead"), "by class");
    assert!(before(&page("/jobs?status=Enqueued").await, "NewerJob", "WaitingJob"));
    let retrying = page("/jobs?status=Retrying").await;
    assert!(retrying.contains("attempt 2 of 4") && retrying.contains("title=\"Retry now\""), "WEBJ-03");
    assert!(retrying.contains("title=\"Delete…\""));
    Ok(())
}

#[tokio::test]
async fn filters_stand_in_the_address_and_search_class_jid_and_args_webj_20() -> Outcome {
    let site = Site::start().await?;
    add(&site, "retry", far(), &job("MailJob", "abc"));
    add(
        &site,
        "retry",
        far() + 1.0,
        &job("OtherJob", "xyz").replace("\"mail\"", "\"a/b é\"").replace("IOError", "Timeout"),
    );
    for (query, first, second) in [
        ("q=MAILJ", true, false),
        ("q=xyz", false, true),
        ("q=, %22abc", true, false),
        ("q=nothing", false, false),
        ("queue=mail", true, false),
        ("queue=a%2Fb%20%C3%A9", false, true),
        ("class=OtherJob", false, true),
        ("class=Other", false, false),
        ("error=ioerror", true, false),
        ("error=after%207", true, true),
        ("error_class=Timeout&message=broke%20after%20N%20s", false, true),
        ("queue=mail&q=xyz", false, false),
    ] {
        let page = site.get(&format!("/jobs?status=Retrying&{query}").replace(' ', "%20")).await;
        assert_eq!(page.status, StatusCode::OK, "{query}");
        let has = |jid: &str| page.body.contains(&format!("selected={jid}"));
        assert_eq!((has("abc"), has("xyz")), (first, second), "{query}");
        assert!(page.body.contains("retrying jobs match") && page.body.contains("Remove filter"), "{query}");
    }
    let none = site.get("/jobs?status=Retrying&q=nothing").await.body;
    assert!(none.contains("No retrying job matches") && none.contains("Looked at 1 to 2 of 2."), "how far");
    Ok(())
}

#[tokio::test]
async fn odd_query_values_are_clamped_and_never_an_error_p_40() -> Outcome {
    let site = Site::start().await?;
    add(&site, "retry", far(), &job("MailJob", "abc"));
    for query in [
        "status=Retrying&status=Dead&q=&q=x",
        "from=99999999999999999999999999&page=-1",
        "status=Retrying&from=-5&page=99999999999999999999",
        "status=Dead&from=9007199254740993",
        "entry=x&selected=%00%ff",
        "q=%22%27%3Cscript%3E&queue=%22%3E%3Cscript%3Ex%3C/script%3E",
        "sort=-&sort=nope&all=1&notice=zzz&error_class=&message=",
        "entry=q:0000000000000000000000000000000000000000:3:",
    ] {
        for path in ["/jobs", "/errors", "/history"] {
            let page = site.get(&format!("{path}?{query}")).await;
            assert_eq!(page.status, StatusCode::OK, "{path}?{query}: {}", page.body);
            assert!(!page.body.contains("<script>"), "{path}?{query}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn the_detail_tells_all_of_a_job_and_the_newest_attempts_webj_04_webj_05() -> Outcome {
    let site = Site::start().await?;
    let raw = job("MailJob", "abc").replace("\"retry\":3", "\"retry\":3,\"tenant\":\"acme\"");
    add(&site, "retry", far(), &raw);
    add(&site, "dead", 5.0, &job("DeadJob", "dd"));
    for attempt in 1..=8 {
        let record = format!(
            r#"{{"attempt":{attempt},"failed_at":{}.0,"outcome":"retrying","error_class":"E","error_message":"message {attempt}"}}"#,
            1000 + attempt
        );
        site.redis.cli(&["RPUSH", "cogworker:job_attempts:abc", &record]);
    }
    let run = r#"{"jid":"abc","class":"MailJob","queue":"mail","args":[1],"status":"failed","started_at":1007.0,"finished_at":1008.2,"error_class":"E","error_message":"message 8","backtrace":["app::line_one","lib::<two>"]}"#;
    for list in ["all", "failed"] {
        site.redis.cli(&["ZADD", &format!("cogworker:history:{list}"), "1008.2", run]);
    }
    site.redis.cli(&[
        "HSET",
        "cogworker:status:abc",
        "status",
        "retrying",
        "pct",
        "40",
        "message",
        "half way",
    ]);
    let page = site.get("/jobs?status=Retrying&selected=abc").await.body;
    for part in [
        "Reschedule",
        "name=\"minutes\"",
        "last 5 of 8",
        "message 8",
        "message 4",
        "/history?jid=abc",
        "IOError",
        "app::line_one",
        "lib::&#60;two&#62;",
        "tenant",
        "acme",
        "attempt 2 of 4 failed",
        "Raw JSON",
        "Copy jid",
    ] {
        assert!(page.contains(part), "{part}");
    }
    assert!(!page.contains("message 3"), "only the newest five");
    let dead = site.get("/jobs?status=Dead&selected=dd").await.body;
    assert!(
        dead.contains("id=\"detail\"")
            && !dead.contains(
                "name=\"minutes\" type=\"number\" min=\"1\" max=\"10080\" value=\"5\"><span>minutes"
            )
    );
    let gone = site.get("/jobs?status=Dead&selected=nobody").await;
    assert_eq!(gone.status, StatusCode::OK);
    assert!(gone.body.contains("This job has moved on"));
    Ok(())
}

#[tokio::test]
async fn an_entry_in_the_address_is_exactly_that_one_of_two_with_one_jid_p_23() -> Outcome {
    let site = Site::start().await?;
    let twins = [job("MailJob", "abc"), job("MailJob", "abc").replace("[1,", "[2,")];
    for twin in &twins {
        add(&site, "dead", 7.25, twin);
    }
    let page = site.get("/jobs?status=Dead").await;
    let entries = values(&page, "entry");
    let set = site.client.dead();
    for found in set.search(&EntryFilter::new(), SearchOrder::NextFirst, 0, 9).await?.found {
        let target = format!("d:{}", found.entry);
        assert!(entries.contains(&target));
        let detail = site.get(&format!("/jobs?status=Dead&entry={target}")).await.body;
        let mine = String::from_utf8(found.raw.to_vec())?.replace('"', "&#34;");
        assert!(detail.contains(&mine), "its own bytes");
        let raw = site.get(&format!("/jobs/raw?entry={target}")).await;
        assert_eq!(
            (raw.body.as_bytes(), raw.header("content-type")),
            (&found.raw[..], "text/plain; charset=utf-8")
        );
    }
    let second =
        format!("d:{}", set.search(&EntryFilter::new(), SearchOrder::NextFirst, 0, 9).await?.found[1].entry);
    let kept = set.page(0, 2).await?.entries.iter().map(|entry| entry.raw.clone()).min().unwrap();
    let answer = site.post_part("/jobs/dead/delete", &[("entry", &second)]).await;
    assert!(answer.body.contains("1 job deleted"), "{}", answer.body);
    assert_eq!(rows(&site, "dead"), [String::from_utf8(kept.to_vec())?]);
    Ok(())
}

#[tokio::test]
async fn a_job_is_deleted_with_its_attempts_webj_06_webj_12() -> Outcome {
    let site = Site::start().await?;
    for (set, state) in [("retry", "retrying"), ("dead", "dead"), ("schedule", "scheduled")] {
        let raw = job("OneOffJob", set);
        add(&site, set, far(), &raw);
        site.redis.cli(&["RPUSH", &format!("cogworker:job_attempts:{set}"), "{}"]);
        let answer = site.post_part(&format!("/jobs/{state}/delete"), &[("raw", &raw)]).await;
        assert_eq!(answer.status, StatusCode::OK);
        assert!(
            !answer.body.contains("OneOffJob") && answer.body.contains("1 job deleted"),
            "{}",
            answer.body
        );
        assert!(rows(&site, set).is_empty());
        assert_eq!(site.redis.cli(&["EXISTS", &format!("cogworker:job_attempts:{set}")]), 0);
        let again = site.post_part(&format!("/jobs/{state}/delete"), &[("raw", &raw)]).await;
        assert_eq!(again.status, StatusCode::OK);
        assert!(again.body.contains("That job is not there any more"), "{}", again.body);
        let plain = site
            .post(&format!("/jobs/{state}/delete"), &[("raw", &raw), ("status", "Dead"), ("q", "a b")])
            .await;
        assert_eq!(
            (plain.status, plain.header("location")),
            (StatusCode::FOUND, "/admin/jobs/jobs?status=Dead&q=a%20b")
        );
    }
    site.redis.cli(&["SADD", "cogworker:queues", "mail"]);
    let (one, two) = (job("MailJob", "1"), job("MailJob", "2"));
    site.redis.cli(&["LPUSH", "cogworker:queue:mail", &one, &two]);
    let answer = site.post("/jobs/enqueued/delete", &[("queue", "mail"), ("raw", &one)]).await;
    assert_eq!(answer.status, StatusCode::FOUND);
    assert_eq!(site.redis.cli(&["LRANGE", "cogworker:queue:mail", "0", "-1"]).strings(), [two]);
    Ok(())
}

#[tokio::test]
async fn a_job_goes_back_to_its_queue_once_webj_07_webj_13_webj_14() -> Outcome {
    let site = Site::start().await?;
    for (set, path) in
        [("retry", "retrying/retry_now"), ("dead", "dead/retry"), ("schedule", "scheduled/run_now")]
    {
        let raw = job("MailJob", set);
        add(&site, set, far(), &raw);
        for _ in 0..2 {
            assert_eq!(
                site.post_part(&format!("/jobs/{path}"), &[("raw", &raw)]).await.status,
                StatusCode::OK
            );
        }
        assert!(rows(&site, set).is_empty());
        let queued = site.redis.cli(&["LRANGE", "cogworker:queue:mail", "0", "-1"]).strings();
        assert_eq!(queued.len(), 1, "one copy");
        let without_stamp = |text: &str| {
            let start = text.find("\"enqueued_at\":").unwrap();
            let end = start + text[start..].find(',').unwrap();
            format!("{}{}", &text[..start], &text[end..])
        };
        assert_eq!(without_stamp(&queued[0]), without_stamp(&raw), "[WIRE]");
        site.redis.cli(&["DEL", "cogworker:queue:mail"]);
    }
    Ok(())
}

#[tokio::test]
async fn a_job_is_rescheduled_as_it_is_webj_08_webj_09_webj_10_webj_11() -> Outcome {
    let site = Site::start().await?;
    for (set, state) in [("retry", "retrying"), ("schedule", "scheduled")] {
        let raw = job("MailJob", set);
        add(&site, set, far(), &raw);
        for (minutes, seconds) in [("30", 1800.0), ("999999999", 604_800.0), ("x", 60.0), ("", 60.0)] {
            let path = format!("/jobs/{state}/reschedule");
            let answer = site.post_part(&path, &[("raw", &raw), ("minutes", minutes)]).await;
            assert_eq!(answer.status, StatusCode::OK);
            let set_of = if set == "retry" { site.client.retries() } else { site.client.schedule() };
            let score = set_of.page(0, 1).await?.entries[0].score.as_f64();
            let expected = EpochSeconds::now().as_f64() + seconds;
            assert!((score - expected).abs() < 2.0, "{minutes}: {score} and not {expected}");
            assert_eq!(rows(&site, set), std::slice::from_ref(&raw), "same bytes, still one");
        }
        let absent =
            site.post_part(&format!("/jobs/{state}/reschedule"), &[("raw", "{}"), ("minutes", "5")]).await;
        assert_eq!((absent.status, rows(&site, set).len()), (StatusCode::OK, 1));
    }
    Ok(())
}

#[tokio::test]
async fn a_job_is_killed_as_it_is() -> Outcome {
    let site = Site::start().await?;
    for (set, state) in [("retry", "retrying"), ("schedule", "scheduled")] {
        let raw = job("MailJob", set);
        add(&site, set, far(), &raw);
        let answer = site.post_part(&format!("/jobs/{state}/kill"), &[("raw", &raw)]).await;
        assert!(answer.body.contains("1 job moved to Dead"), "{}", answer.body);
        assert!(rows(&site, set).is_empty() && rows(&site, "dead").contains(&raw));
    }
    assert_eq!(site.post("/jobs/dead/kill", &[("raw", "x")]).await.status, StatusCode::NOT_FOUND);
    assert_eq!(site.post("/jobs/running/delete", &[("raw", "x")]).await.status, StatusCode::NOT_FOUND);
    assert_eq!(site.post("/jobs/enqueued/retry", &[("raw", "x")]).await.status, StatusCode::NOT_FOUND);
    Ok(())
}

#[tokio::test]
async fn what_has_no_queue_stays_and_says_so_once_webj_16_webj_17() -> Outcome {
    let site = Site::start().await?;
    let raw = job("MailJob", "abc").replace("\"mail\"", "null");
    for (set, path) in [("dead", "dead/retry"), ("retry", "retrying/retry_now")] {
        add(&site, set, far(), &raw);
        let answer = site.post_part(&format!("/jobs/{path}"), &[("raw", &raw)]).await;
        assert_eq!(answer.status, StatusCode::OK);
        assert!(answer.body.contains("Not put back: it names no queue"), "{}", answer.body);
        assert_eq!(rows(&site, set), std::slice::from_ref(&raw));
    }
    assert_eq!(site.redis.cli(&["EXISTS", "cogworker:queues"]), 0);
    let plain = site.post("/jobs/dead/retry", &[("raw", &raw), ("status", "Dead")]).await;
    let location = plain.header("location").to_owned();
    assert_eq!(
        (plain.status, location.as_str()),
        (StatusCode::FOUND, "/admin/jobs/jobs?status=Dead&notice=not_requeueable")
    );
    let page = site.get("/jobs?status=Dead&notice=not_requeueable").await.body;
    assert!(page.contains("Not put back: it names no queue"));
    assert!(page.contains("data-cw-live=\"/admin/jobs/jobs?status=Dead\""), "the update does not ask for it");
    Ok(())
}

#[tokio::test]
async fn a_unique_twin_keeps_a_dead_job_where_it_is() -> Outcome {
    let site = Site::start().await?;
    let raw = r#"{"class":"A","jid":"1","queue":"q","args":[],"unique":"until_executed"}"#;
    add(&site, "dead", 5.0, raw);
    let keys = site.client.redis().keys();
    let job = cogworker_core::raw_job::RawJob::parse(raw.as_bytes())?;
    let lock = cogworker_core::locks::JobLocks::of(&job, keys).unique.unwrap();
    site.redis.cli(&["SET", &lock, "another"]);
    let answer = site.post_part("/jobs/dead/retry", &[("raw", raw)]).await;
    assert!(answer.body.contains("an equal job waits already"), "{}", answer.body);
    assert_eq!(rows(&site, "dead"), [raw]);
    Ok(())
}

#[tokio::test]
async fn a_form_without_its_fields_is_refused_and_changes_nothing() -> Outcome {
    let site = Site::start().await?;
    let raw = job("MailJob", "abc");
    add(&site, "dead", 5.0, &raw);
    for (path, fields) in [
        ("/jobs/dead/delete", vec![]),
        ("/jobs/dead/delete", vec![("entry", "nonsense")]),
        ("/jobs/enqueued/delete", vec![("raw", "x")]),
        ("/jobs/selected", vec![("do", "explode")]),
        ("/errors/retry", vec![]),
    ] {
        let answer = site.post(path, &fields).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{path} {fields:?}");
        assert!(answer.body.contains("This request cannot be carried out"), "{path}");
        let part = site.post_part(path, &fields).await;
        assert_eq!(part.status, StatusCode::BAD_REQUEST, "{path} {fields:?}");
    }
    let found = &site.client.dead().search(&EntryFilter::new(), SearchOrder::NextFirst, 0, 1).await?.found[0];
    let other_state = format!("r:{}", found.entry);
    assert_eq!(
        site.post("/jobs/dead/delete", &[("entry", &other_state)]).await.status,
        StatusCode::BAD_REQUEST
    );
    assert_eq!(rows(&site, "dead"), [raw]);
    Ok(())
}

#[tokio::test]
async fn other_sites_and_read_only_servers_change_nothing() -> Outcome {
    let raw = job("MailJob", "abc");
    let paths = [
        "/jobs/dead/delete",
        "/jobs/dead/retry",
        "/jobs/dead/delete_all",
        "/jobs/dead/retry_all",
        "/jobs/selected",
        "/errors/retry",
        "/errors/delete",
    ];
    let site = Site::with(WebOptions::new().read_only(true)).await?;
    add(&site, "dead", 5.0, &raw);
    for path in paths {
        let answer =
            site.post(path, &[("raw", &raw), ("do", "delete"), ("all", "1"), ("status", "Dead")]).await;
        assert_eq!(answer.status, StatusCode::FORBIDDEN, "{path}");
    }
    for page in ["/jobs?status=Dead&selected=abc", "/errors", "/history"] {
        let body = site.get(page).await.body;
        assert!(!body.contains("hx-post") && !body.contains("name=\"entry\""), "{page} has no buttons");
    }
    let site = Site::start().await?;
    add(&site, "dead", 5.0, &raw);
    for path in paths {
        let request = crate::support::form(path, &[]).header("sec-fetch-site", "cross-site");
        let mut request = request.body(crate::support::encoded(&[("raw", &raw), ("do", "delete")]))?;
        request.headers_mut().insert("sec-fetch-site", "cross-site".parse()?);
        assert_eq!(site.send(request).await.status, StatusCode::FORBIDDEN, "{path}");
    }
    assert_eq!(rows(&site, "dead"), [raw]);
    Ok(())
}

#[tokio::test]
async fn without_a_script_deleting_asks_first() -> Outcome {
    let site = Site::start().await?;
    let raw = job("MailJob", "abc");
    add(&site, "dead", 5.0, &raw);
    let page = site.get("/jobs?status=Dead").await;
    let entry = values(&page, "entry")[0].clone();
    let fields = [("entry", entry.as_str()), ("ask", "Delete this MailJob?"), ("ask_verb", "Delete job")];
    let question = site.post("/jobs/dead/delete", &fields).await;
    assert_eq!(question.status, StatusCode::OK);
    assert!(question.body.contains("Delete this MailJob?") && question.body.contains("Cancel"));
    assert_eq!(rows(&site, "dead"), std::slice::from_ref(&raw), "nothing is deleted yet");
    let ticked = [("do", "delete"), ("entry", &*entry), ("ask:delete", "Delete {n} selected jobs?")];
    let question = site.post("/jobs/selected", &ticked).await;
    assert!(question.body.contains("Delete 1 selected job?"), "{}", question.body);
    assert_eq!(rows(&site, "dead").len(), 1);
    let done = site.post("/jobs/selected", &[("do", "delete"), ("entry", &entry)]).await;
    assert_eq!((done.status, rows(&site, "dead").len()), (StatusCode::FOUND, 0));
    Ok(())
}

#[tokio::test]
async fn a_running_job_tells_where_it_runs() -> Outcome {
    let site = Site::start().await?;
    let info = r#"{"hostname":"host","pid":1,"concurrency":2,"queues":["mail"],"started_at":1000.0}"#;
    site.redis.cli(&["SADD", "cogworker:processes", "host:1:ab"]);
    site.redis.cli(&["HSET", "cogworker:process:host:1:ab", "info", info, "busy", "1", "quiet", "false"]);
    let work = format!(r#"{{"queue":"mail","payload":{},"run_at":1000}}"#, job("MailJob", "abc"));
    site.redis.cli(&["HSET", "cogworker:workers:host:1:ab", "t1", &work]);
    let page = site.get("/jobs?status=Running&selected=abc").await.body;
    for part in ["1 running job", "MailJob", "Runs in", "host:1:ab", "Show its worker"] {
        assert!(page.contains(part), "{part}");
    }
    assert!(!page.contains("/jobs/running/delete"), "it is its worker's");
    assert!(site.get("/jobs?status=Running&q=nothing").await.body.contains("No running job matches"));
    Ok(())
}
