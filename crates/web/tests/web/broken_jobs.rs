//! Entries that are no jobs, huge ones and odd names: they are shown as what they are, and can be deleted.

use axum::http::StatusCode;
use cogworker_client::{EntryFilter, SearchOrder};
use cogworker_core::redis::Call;

use crate::support::{Outcome, Site};

/// What may stand where a job should.
const BROKEN: [&[u8]; 9] = [
    b"no json",
    b"[1, 2]",
    b"\"text\"",
    b"7",
    b"null",
    b"{}",
    b"\xff\xfe\x00 binary \x80",
    b"{\"class\":null,\"args\":\"x\",\"jid\":7,\"queue\":[],\"retry\":{},\"failed_at\":\"yesterday\"}",
    b"{\"class\":\"A\",\"class\":\"</script><script>x\",\"jid\":\"\\u0000\",\"args\":[",
];

async fn write(site: &Site, command: &'static str, key: &str, more: &[&[u8]]) {
    let call = Call::new().key(key);
    let call = more.iter().fold(call, |call, part| call.arg(bytes::Bytes::copy_from_slice(part)));
    site.client.redis().command(command, call).await.unwrap();
}

async fn damage(site: &Site) {
    for (at, entry) in BROKEN.iter().enumerate() {
        for set in ["schedule", "retry", "dead"] {
            write(
                site,
                "ZADD",
                &format!("cogworker:{set}"),
                &[format!("{}", 9_000_000_000u64 + at as u64).as_bytes(), entry],
            )
            .await;
        }
        write(site, "LPUSH", "cogworker:queue:mail", &[entry]).await;
    }
    site.redis.cli(&["SADD", "cogworker:queues", "mail"]);
}

#[tokio::test]
async fn no_entry_breaks_a_page_and_each_can_be_deleted_webj_18_webj_19() -> Outcome {
    let site = Site::start().await?;
    damage(&site).await;
    for path in [
        "/jobs",
        "/errors",
        "/overview",
        "/overview?layout=b&queue=mail",
        "/history",
        "/workers",
        "/jobs?q=binary",
        "/jobs?sort=job",
        "/jobs?class=A",
        "/jobs?status=Retrying&error=x",
    ] {
        let page = site.get(path).await;
        assert_eq!(page.status, StatusCode::OK, "{path}: {}", page.body);
        assert!(!page.body.contains("<script>x"), "{path}");
    }
    for (state, word) in
        [("Scheduled", "scheduled"), ("Retrying", "retrying"), ("Dead", "dead"), ("Enqueued", "enqueued")]
    {
        let path = format!("/jobs?status={state}");
        let page = site.get(&path).await.body;
        assert_eq!(page.matches("(unparseable)</a>").count(), 7, "{state}");
        let parts: Vec<&str> = page.split("form=\"bulk\"").collect();
        let entries: Vec<String> = parts[..parts.len() - 1]
            .iter()
            .filter_map(|part| {
                let (_, value) = part.rsplit_once("name=\"entry\" value=\"")?;
                Some(value.split('"').next()?.to_owned())
            })
            .collect();
        assert_eq!(entries.len(), BROKEN.len(), "{state}");
        for entry in &entries {
            let detail = site.get(&format!("{path}&entry={}", entry.replace(':', "%3A"))).await;
            assert_eq!(detail.status, StatusCode::OK);
            assert!(detail.body.contains("id=\"detail\""), "{state} {entry}");
            if detail.body.contains("These bytes are no job") {
                assert!(!detail.body.contains("Retry now</button>") && detail.body.contains("Raw bytes"));
            }
            let raw = site.get(&format!("/jobs/raw?entry={}", entry.replace(':', "%3A"))).await;
            assert_eq!(
                (raw.status, raw.header("content-type")),
                (StatusCode::OK, "text/plain; charset=utf-8")
            );
        }
        for entry in &entries {
            let answer = site.post_part(&format!("/jobs/{word}/delete"), &[("entry", entry)]).await;
            assert!(answer.body.contains("1 job deleted"), "{state} {entry}: {}", answer.body);
        }
        assert!(site.get(&path).await.body.contains("is "), "{state}");
    }
    let left = site.redis.cli(&[
        "EXISTS",
        "cogworker:schedule",
        "cogworker:retry",
        "cogworker:dead",
        "cogworker:queue:mail",
    ]);
    assert_eq!(left, 0);
    Ok(())
}

#[tokio::test]
async fn unparseable_entries_are_offered_no_retry_and_refuse_one_webj_19() -> Outcome {
    let site = Site::start().await?;
    site.redis.cli(&["ZADD", "cogworker:dead", "5", "no json"]);
    let page = site.get("/jobs?status=Dead").await.body;
    assert!(page.contains("/jobs/dead/delete") && !page.contains("\"/admin/jobs/jobs/dead/retry\""));
    let answer = site.post_part("/jobs/dead/retry", &[("raw", "no json")]).await;
    assert!(answer.body.contains("Not put back"), "{}", answer.body);
    assert_eq!(site.client.dead().size().await?, 1);
    Ok(())
}

#[tokio::test]
async fn ten_megabytes_of_args_break_nothing_and_fill_no_page() -> Outcome {
    let site = Site::start().await?;
    let huge = format!(
        r#"{{"class":"HugeJob","jid":"huge{{n}}","queue":"mail","args":["{}"],"retry_count":1}}"#,
        "x".repeat(10 << 20)
    );
    for n in 0..3 {
        let raw = huge.replace("{n}", &n.to_string());
        for set in ["retry", "dead"] {
            write(
                &site,
                "ZADD",
                &format!("cogworker:{set}"),
                &[format!("{}", 9_000_000_000u64 + n).as_bytes(), raw.as_bytes()],
            )
            .await;
        }
        write(&site, "LPUSH", "cogworker:queue:mail", &[raw.as_bytes()]).await;
    }
    site.redis.cli(&["SADD", "cogworker:queues", "mail"]);
    for path in [
        "/jobs",
        "/jobs?status=Enqueued",
        "/jobs?status=Dead&q=huge2",
        "/jobs?status=Retrying&selected=huge1",
    ] {
        let page = site.get(path).await;
        assert_eq!(page.status, StatusCode::OK, "{path}: {}", page.body);
        assert!(
            page.body.len() < 300_000 && page.body.contains("HugeJob"),
            "{path}: {} bytes",
            page.body.len()
        );
    }
    let mut seen = Vec::new();
    let mut next = Some("/jobs?status=Dead".to_owned());
    while let Some(path) = next {
        let page = site.get(&path).await.body;
        seen.extend((0..3).filter(|n| page.contains(&format!("selected=huge{n}"))));
        let link = page.split("rel=\"next\" href=\"/admin/jobs").nth(1);
        next = link.and_then(|link| link.split('"').next()).map(|link| link.replace("&#38;", "&"));
        assert!(seen.len() <= 3);
    }
    assert_eq!(seen, [2, 1, 0], "each page has as many as fit, and none is left out");
    let found = &site.client.dead().search(&EntryFilter::new(), SearchOrder::NextFirst, 0, 1).await?.found[0];
    let target = format!("d:{}", found.entry);
    let detail = site.get(&format!("/jobs?status=Dead&entry={target}")).await;
    assert!(detail.body.len() < 400_000 && detail.body.contains("The whole job"), "{}", detail.body.len());
    assert_eq!(site.get(&format!("/jobs/raw?entry={target}")).await.body.len(), found.raw.len());
    let answer = site.post_part("/jobs/dead/retry", &[("entry", &target)]).await;
    assert!(answer.body.contains("1 job put back"));
    assert_eq!(site.client.queue("mail").info().await?.size, Some(4));
    Ok(())
}

#[tokio::test]
async fn queues_of_any_name_are_filtered_and_their_jobs_found_again_p_38() -> Outcome {
    let site = Site::start().await?;
    let names = ["a", "a/b", "a.b", "a b", "a+b", "a%2Fb", "é", "..", ":", "a:b", "<b>&\"'"];
    for name in names {
        let raw = serde_json::json!({"class": "OddJob", "jid": format!("jid of {name}"), "queue": name, "args": []});
        site.redis.cli(&["SADD", "cogworker:queues", name]);
        site.redis.cli(&["LPUSH", &format!("cogworker:queue:{name}"), &raw.to_string()]);
    }
    for name in names {
        let queue = name.bytes().map(|byte| format!("%{byte:02X}")).collect::<String>();
        let path = format!("/jobs?status=Enqueued&queue={queue}");
        let page = site.get(&path).await.body;
        assert!(page.contains("1 enqueued job in"), "{name}: {page}");
        let (_, entry) =
            page.split("form=\"bulk\"").next().unwrap().rsplit_once("name=\"entry\" value=\"").unwrap();
        let entry = entry
            .split('"')
            .next()
            .unwrap()
            .replace("&#34;", "\"")
            .replace("&#60;", "<")
            .replace("&#62;", ">")
            .replace("&#39;", "'")
            .replace("&#38;", "&");
        let target = entry.bytes().map(|byte| format!("%{byte:02X}")).collect::<String>();
        assert!(site.get(&format!("{path}&entry={target}")).await.body.contains("id=\"d-jid\""), "{name}");
        assert!(
            site.post_part("/jobs/enqueued/delete", &[("entry", &entry)])
                .await
                .body
                .contains("1 job deleted"),
            "{name}"
        );
    }
    for name in names {
        assert_eq!(site.client.queue(name).info().await?.size, Some(0), "{name}");
    }
    Ok(())
}

#[tokio::test]
async fn an_entry_with_an_infinite_score_is_opened_put_back_rescheduled_killed_and_deleted() -> Outcome {
    let site = Site::start().await?;
    for (word, state) in [("schedule", "Scheduled"), ("retry", "Retrying"), ("dead", "Dead")] {
        for score in ["inf", "-inf", "9000000000"] {
            for n in 0..3 {
                let job =
                    format!(r#"{{"class":"OddJob","jid":"{word}{score}{n}","queue":"mail","args":[]}}"#);
                site.redis.cli(&["ZADD", &format!("cogworker:{word}"), score, &job]);
            }
        }
        let path = format!("/jobs?status={state}");
        let page = site.get(&path).await.body;
        assert!(!page.contains("1970") && page.contains("never"), "{page}");
        assert_eq!(site.get("/overview").await.status, StatusCode::OK);
        // Places shift below: an entry that stood before is gone.
        let rows: Vec<(String, String)> = page
            .split("data-cw-row")
            .skip(1)
            .map(|row| {
                let between =
                    |from: &str| row.split(from).nth(1).unwrap().split('"').next().unwrap().to_owned();
                (between("name=\"entry\" value=\""), between("title=\""))
            })
            .collect();
        assert_eq!(rows.len(), 9, "{page}");
        let rows: Vec<_> = rows.into_iter().filter(|(_, jid)| jid.contains("inf")).collect();
        let set = state.to_lowercase();
        let run = match state {
            "Scheduled" => "run_now",
            "Retrying" => "retry_now",
            _ => "retry",
        };
        for (at, (entry, jid)) in rows.iter().enumerate() {
            let detail = site.get(&format!("{path}&entry={}", entry.replace(':', "%3A"))).await;
            assert!(detail.body.contains(&format!("id=\"d-jid\">{jid}<")), "{entry}");
            let (action, told) = match at % 3 {
                0 => (format!("/jobs/{set}/{run}"), "1 job put back"),
                1 => (format!("/jobs/{set}/delete"), "1 job deleted"),
                _ if state == "Dead" => (format!("/jobs/{set}/delete"), "1 job deleted"),
                _ => (format!("/jobs/{set}/kill"), "1 job moved to Dead"),
            };
            let answer = site.post_part(&action, &[("entry", entry)]).await;
            assert!(answer.body.contains(told), "{action} {entry}: {}", answer.body);
        }
        let left = site.redis.cli(&["ZRANGE", &format!("cogworker:{word}"), "0", "-1"]).strings();
        assert!(left.len() == 3 && left.iter().all(|job| job.contains("9000000000")), "{left:?}");
        site.redis.cli(&["DEL", "cogworker:dead"]);
    }
    assert_eq!(site.client.queue("mail").info().await?.size, Some(6));
    // Ticked with others, and all that match.
    for jid in ["a", "b", "c"] {
        let job = format!(r#"{{"class":"OddJob","jid":"{jid}","queue":"mail","args":[]}}"#);
        site.redis.cli(&["ZADD", "cogworker:retry", "inf", &job]);
    }
    let page = site.get("/jobs?status=Retrying").await.body;
    let entry = page.split("name=\"entry\" value=\"").nth(1).unwrap().split('"').next().unwrap();
    let fields = [("view", "status=Retrying"), ("do", "reschedule"), ("minutes", "5"), ("entry", entry)];
    assert!(site.post_part("/jobs/selected", &fields).await.body.contains("1 job rescheduled"));
    let fields = [("view", "status=Retrying&class=OddJob"), ("do", "delete"), ("all", "1")];
    let answer = site.post_part("/jobs/selected", &fields).await.body;
    assert!(answer.contains("6 jobs deleted"), "{answer}");
    assert_eq!(site.client.retries().size().await?, 0);
    Ok(())
}
