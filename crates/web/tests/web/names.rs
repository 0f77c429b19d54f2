//! Names as nobody should choose them, and everybody does.

use axum::http::StatusCode;

use crate::support::{Outcome, Site};

/// P-38, and what stands in WEB_FACTS.
const NAMES: [&str; 14] = [
    "a",
    "a/b",
    "a.b",
    "a b",
    "a+b",
    "a%2Fb",
    "é",
    "..",
    ".",
    "a:b",
    "a&b=c",
    "\"><script>x</script>",
    "' onmouseover=x",
    "<é",
];

#[tokio::test]
async fn every_queue_name_works_by_the_forms_of_the_page_and_touches_that_queue_alone_p_38() -> Outcome {
    let site = Site::start().await?;
    for name in NAMES {
        site.redis.cli(&["SADD", "cogworker:queues", name]);
        let job = format!(r#"{{"class":"A","jid":"j","queue":{}}}"#, serde_json::Value::from(name));
        site.redis.cli(&["LPUSH", &format!("cogworker:queue:{name}"), &job]);
    }
    let page = site.get("/overview").await.body;
    let mut done = Vec::new();
    for form in page.split("<form ").skip(1).filter(|form| form.contains("/pause\"")) {
        let attribute = |name: &str| {
            let (_, rest) = form.split_once(name)?;
            rest.split_once('"').map(|(value, _)| unescaped(value))
        };
        let action = attribute("action=\"").unwrap();
        let queue = attribute("name=\"queue\" value=\"").unwrap();
        // A browser resolves dots in a path.
        assert!(!action.split('/').any(|part| part == ".." || part == "."), "{action}");
        let path = action.strip_prefix("/admin/jobs").unwrap();
        let answer = site.post(path, &[("queue", &queue), ("layout", "a")]).await;
        assert_eq!(answer.status, StatusCode::FOUND, "{queue}");
        done.push(queue.clone());
        let mut paused = site.redis.cli(&["SMEMBERS", "cogworker:paused_queues"]).strings();
        paused.sort();
        done.sort();
        assert_eq!(paused, done);
    }
    assert_eq!(done.len(), NAMES.len());
    let page = site.get("/overview?layout=b").await;
    let links = page.links().into_iter().map(unescaped);
    for link in links.filter(|link| link.starts_with("/admin/jobs/overview?") && link.contains("queue=")) {
        let path = link.trim_start_matches("/admin/jobs");
        assert_eq!(site.get(path).await.status, StatusCode::OK, "{path}");
    }
    site.post("/overview/-/delete_all", &[("queue", "..")]).await;
    for name in NAMES {
        let left = i64::from(name != "..");
        assert_eq!(site.redis.cli(&["LLEN", &format!("cogworker:queue:{name}")]), left, "{name}");
    }
    Ok(())
}

#[tokio::test]
async fn fields_that_come_twice_and_names_that_are_no_text_have_a_page_of_ours() -> Outcome {
    let site = Site::start().await?;
    for path in
        ["/overview?layout=b&layout=a&queue=1&queue=2", "/schedules?q=a&q=b", "/workers?process=a&process=b"]
    {
        assert_eq!(site.get(path).await.status, StatusCode::OK, "{path}");
    }
    let twice = [("queue", "a"), ("queue", "b"), ("layout", "b"), ("layout", "a"), ("q", "x"), ("q", "y")];
    assert_eq!(site.post("/overview/a/pause", &twice).await.status, StatusCode::FOUND);
    assert_eq!(site.redis.cli(&["SMEMBERS", "cogworker:paused_queues"]).strings(), ["a"], "the first counts");
    assert_eq!(site.post("/schedules/p/enable", &twice).await.status, StatusCode::FOUND);
    assert_eq!(site.post("/overview/a/delete", &[]).await.status, StatusCode::BAD_REQUEST);
    assert_eq!(site.post("/overview/a/delete", &[("entry", "x")]).await.status, StatusCode::BAD_REQUEST);
    for path in ["/overview/%ff/pause", "/schedules/%ff/run_now", "/jobs/%ff/delete", "/jobs/queue/%ff"] {
        let answer = site.post(path, &[("queue", "other")]).await;
        assert_eq!(answer.status, StatusCode::NOT_FOUND, "{path}");
        assert!(answer.body.contains("There is no such page"), "{path}: {}", answer.body);
    }
    assert_eq!(site.get("/assets/%ff").await.status, StatusCode::NOT_FOUND);
    assert_eq!(site.redis.cli(&["SMEMBERS", "cogworker:paused_queues"]).strings(), ["a"]);
    Ok(())
}

#[tokio::test]
async fn nothing_that_came_from_outside_becomes_markup_p_39() -> Outcome {
    let site = Site::start().await?;
    let evil = "\"><script>x</script>";
    let text = serde_json::Value::from(evil).to_string();
    let job = format!(
        r#"{{"class":{text},"args":[{text}],"jid":{text},"queue":{text},"error_class":{text},"error_message":{text},"failed_at":{}}}"#,
        cogworker_core::time::EpochSeconds::now()
    );
    site.redis.cli(&["SADD", "cogworker:queues", evil]);
    site.redis.cli(&["LPUSH", &format!("cogworker:queue:{evil}"), &job]);
    site.redis.cli(&["ZADD", "cogworker:retry", "1", &job]);
    site.redis.cli(&["ZADD", "cogworker:dead", "1", &job]);
    site.redis.cli(&["SADD", "cogworker:processes", evil]);
    let info = format!(r#"{{"hostname":{text},"concurrency":1,"queues":[{text}]}}"#);
    site.redis.cli(&["HSET", &format!("cogworker:process:{evil}"), "info", &info]);
    let work = format!(r#"{{"queue":{text},"payload":{job},"run_at":1}}"#);
    site.redis.cli(&["HSET", &format!("cogworker:workers:{evil}"), evil, &work]);
    site.redis.cli(&["HSET", &format!("status:{evil}"), "message", evil, "pct", "5"]);
    let entry = format!(r#"{{"cron":{text},"class":{text},"retry":3,"args":[{text}]}}"#);
    site.redis.cli(&["HSET", "periodic:schedule", evil, &entry, "damaged<script>x", "[]"]);
    let query = "%22%3E%3Cscript%3Ex%3C/script%3E";
    for path in [
        "/overview".to_owned(),
        "/overview?layout=b".to_owned(),
        format!("/overview?layout=b&queue={query}"),
        format!("/overview?layout={query}&period={query}"),
        "/workers".to_owned(),
        format!("/workers?process={query}"),
        "/schedules".to_owned(),
        format!("/schedules?q={query}&sort={query}&state={query}"),
        format!("/{query}"),
    ] {
        for answer in [site.get(&path).await, site.part(&path).await] {
            assert!(!answer.body.contains("<script>x"), "{path}: {}", answer.body);
        }
    }
    let message = site.post_part("/overview/x/pause", &[("queue", evil)]).await;
    assert!(!message.body.contains("<script>x") && message.body.contains("&#60;script&#62;x"));
    Ok(())
}

#[tokio::test]
async fn one_unreadable_entry_breaks_no_page() -> Outcome {
    let site = Site::start().await?;
    site.redis.cli(&["SADD", "cogworker:queues", "q", "wrong"]);
    site.redis.cli(&["RPUSH", "cogworker:queue:q", "not json"]);
    site.redis.cli(&[b"LPUSH".as_slice(), b"cogworker:queue:q", b"[1]", b"\xff\xfe", b""]);
    site.redis.cli(&["SET", "cogworker:queue:wrong", "x"]);
    for set in ["schedule", "retry", "dead"] {
        site.redis.cli(&[
            b"ZADD".as_slice(),
            format!("cogworker:{set}").as_bytes(),
            b"1",
            b"\xff",
            b"2",
            b"{",
        ]);
    }
    site.redis.cli(&["ZADD", "cogworker:history:all", "1", "{"]);
    site.redis.cli(&["SADD", "cogworker:processes", "h:1:a"]);
    site.redis.cli(&["HSET", "cogworker:process:h:1:a", "info", "{"]);
    site.redis.cli(&["HSET", "cogworker:workers:h:1:a", "s", "{"]);
    for path in [
        "/overview",
        "/overview?layout=b&queue=q",
        "/overview?layout=b&queue=wrong",
        "/workers",
        "/schedules",
        "/metrics",
    ] {
        let answer = site.get(path).await;
        assert_eq!(answer.status, StatusCode::OK, "{path}: {}", answer.body);
    }
    let page = site.get("/overview?layout=b&queue=q").await.body;
    assert!(page.contains("(unparseable)"));
    for key in ["schedule", "retry", "dead", "stats:processed", "history:all", "processes", "paused_queues"] {
        site.redis.cli(&["DEL", &format!("cogworker:{key}")]);
        site.redis.cli(&["LPUSH", &format!("cogworker:{key}"), "x"]);
    }
    assert_eq!(
        site.get("/overview?layout=b&queue=q").await.status,
        StatusCode::INTERNAL_SERVER_ERROR,
        "processes"
    );
    site.redis.cli(&["DEL", "cogworker:processes"]);
    for path in ["/overview", "/overview?layout=b&queue=q", "/workers", "/schedules", "/metrics"] {
        assert_eq!(site.get(path).await.status, StatusCode::OK, "{path}");
    }
    Ok(())
}

/// A value as it stands in an attribute.
fn unescaped(value: &str) -> String {
    [("&#34;", "\""), ("&#39;", "'"), ("&#60;", "<"), ("&#62;", ">"), ("&#38;", "&"), ("&amp;", "&")]
        .iter()
        .fold(value.to_owned(), |text, (escaped, plain)| text.replace(escaped, plain))
}
