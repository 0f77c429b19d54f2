//! Jobs: what is shown of them.

use axum::http::StatusCode;
use cogworker_client::EntryFilter;
use cogworker_client::SearchOrder;

use crate::entries::*;
use crate::support::{Outcome, Site};

#[tokio::test]
async fn a_failed_job_tells_why_in_its_row_and_is_found_by_it() -> Outcome {
    let site = Site::start().await?;
    let job = |jid: &str, message: &str| {
        format!(
            r#"{{"class":"A","jid":"{jid}","queue":"q","args":[],"error_class":"IOError","error_message":"{message}","failed_at":1.0,"retry_count":0}}"#
        )
    };
    for set in ["retry", "dead"] {
        let key = format!("cogworker:{set}");
        site.redis.cli(&["ZADD", &key, "9000000001", &job("j1", r"disk <full>\n  on sda1")]);
        site.redis.cli(&["ZADD", &key, "9000000002", &job("j2", &"long ".repeat(100))]);
    }
    for status in ["Retrying", "Dead"] {
        let page = site.get(&format!("/jobs?status={status}")).await.body;
        assert!(page.contains(">IOError: disk &#60;full&#62; on sda1</span>"), "on one line: {page}");
        assert!(page.contains(">IOError: long long") && !page.contains(&"long ".repeat(60)), "cut: {page}");
        for text in ["FULL", "ioerror:%20disk", "sda1"] {
            let found = site.get(&format!("/jobs?status={status}&q={text}")).await.body;
            assert!(found.contains("title=\"j1\"") && found.contains("1 of 2 "), "{text}: {found}");
        }
    }
    site.redis.cli(&["SADD", "cogworker:queues", "q"]);
    site.redis.cli(&["LPUSH", "cogworker:queue:q", &job("j3", "an old one")]);
    let page = site.get("/jobs?status=Enqueued").await.body;
    assert!(page.contains("title=\"j3\"") && !page.contains("an old one"), "it does not fail now");
    Ok(())
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
    assert!(
        gone.body.contains("No job with this id is here") && gone.body.contains("or there never was one"),
        "{}",
        gone.body
    );
    assert!(!gone.body.contains("moved on") && !gone.body.contains("It has run,"), "{}", gone.body);
    // One that a link named exactly was there.
    let links = values(&site.get("/jobs?status=Dead").await, "entry");
    site.redis.cli(&["DEL", "cogworker:dead"]);
    let gone = site.get(&format!("/jobs?status=Dead&selected=dd&entry={}", links[0])).await.body;
    assert!(gone.contains("This job has moved on") && gone.contains("It left Dead"), "{gone}");
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
