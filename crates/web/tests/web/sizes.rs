//! Pages stay small and quick, however many jobs there are.

use std::time::{Duration, Instant};

use axum::http::StatusCode;
use cogworker_core::time::EpochSeconds;

use crate::support::{Outcome, Site};

const QUEUED: u64 = 1_000_000;
/// Of each of the sets.
const IN_SETS: u64 = 100_000;
const ENDED: u64 = 500_000;
/// A slice of filling, so that no script runs for seconds.
const SLICE: u64 = 20_000;
/// In an optimised build a page takes a fraction of it. Only there first looks are measured: what is read for all
/// pages together is then read anew.
const BUDGET: Duration = Duration::from_millis(if cfg!(debug_assertions) { 1500 } else { 100 });
const MOST_BYTES: usize = 300_000;

const QUEUE: &str = r#"for n = 1, 20000 do
    local at = tonumber(ARGV[1]) + n
    redis.call('LPUSH', KEYS[1], string.format('{"class":"ImportJob","jid":"%024d","queue":"many","args":[%d,"some text"],"retry":25,"created_at":1767323045.123,"enqueued_at":1767323045.123}', at, at))
  end"#;
/// Failed jobs of a hundred kinds of error; those of the sets that wait are due one second after the other.
const SET: &str = r#"for n = 1, 20000 do
    local at = tonumber(ARGV[1]) + n
    local job = string.format('{"class":"ImportJob","jid":"%s%024d","queue":"many","args":[%d,"some text"],"retry":25,"created_at":1767323045.123,"enqueued_at":1767323045.123,"error_class":"Error%d","error_message":"row %d cannot be read","failed_at":1767323046.5,"retry_count":3}', string.sub(KEYS[1], 11, 11), at, at, at % 100, at)
    redis.call('ZADD', KEYS[1], tonumber(ARGV[2]) + at, job)
  end"#;
const HISTORY: &str = r#"for n = 1, 20000 do
    local at = tonumber(ARGV[1]) + n
    local ended = tonumber(ARGV[2]) + at * 0.01
    local failed = at % 5 == 0
    local record = string.format('{"jid":"%024d","class":"Class%dJob","queue":"many","args":[%d,"some text"],"status":"%s","started_at":%.3f,"finished_at":%.3f,"error_class":%s,"error_message":%s,"backtrace":[]}', at, at % 50, at, failed and 'failed' or 'success', ended - at % 900 * 0.001, ended, failed and '"Timeout"' or 'null', failed and '"gave up"' or 'null')
    redis.call('ZADD', KEYS[1], ended, record)
    redis.call('ZADD', KEYS[failed and 2 or 3], ended, record)
  end"#;

fn fill(site: &Site, script: &str, keys: &[&str], count: u64, from: f64) {
    for slice in 0..count / SLICE {
        let (keys_count, begin, from) =
            (keys.len().to_string(), (slice * SLICE).to_string(), from.to_string());
        let mut call = vec!["EVAL", script, &keys_count];
        call.extend(keys);
        call.extend([begin.as_str(), from.as_str()]);
        site.redis.cli(&call);
    }
}

fn fill_all(site: &Site) {
    site.redis.cli(&["SADD", "cogworker:queues", "many"]);
    fill(site, QUEUE, &["cogworker:queue:many"], QUEUED, 0.0);
    let now = EpochSeconds::now().as_f64();
    for (set, from) in [("schedule", now + 60.0), ("retry", now + 60.0), ("dead", now - IN_SETS as f64)] {
        fill(site, SET, &[&format!("cogworker:{set}")], IN_SETS, from);
    }
    let lists = ["all", "failed", "success"].map(|list| format!("cogworker:history:{list}"));
    fill(site, HISTORY, &lists.each_ref().map(String::as_str), ENDED, now - ENDED as f64 * 0.01);
    for class in 0..50 {
        let fields = [5, 6, 7].map(|bucket| format!("{bucket}:Class{class}Job"));
        let sum = format!("sum:Class{class}Job");
        for field in fields.iter().chain([&sum]) {
            site.redis.cli(&["HSET", "cogworker:durations", field, "9000000"]);
        }
        site.redis.cli(&[
            "HSET",
            "periodic:schedule",
            &format!("p{class}"),
            &format!(r#"{{"cron":"*/5 * * * *","class":"Class{class}Job","args":[]}}"#),
        ]);
    }
    for process in 0..20 {
        let identity = format!("host:{process}:abc");
        site.redis.cli(&["SADD", "cogworker:processes", &identity]);
        let key = format!("cogworker:process:{identity}");
        let info = r#"{"hostname":"h","pid":1,"concurrency":10,"queues":["many"],"started_at":1767323045.0,"rss_kb":102400}"#;
        site.redis.cli(&["HSET", &key, "info", info, "busy", "10", "quiet", "false"]);
        site.redis.cli(&["EXPIRE", &key, "600"]);
        for slot in 0..10 {
            let work = format!(
                r#"{{"queue":"many","payload":{{"class":"Class{slot}Job","jid":"run-{process}-{slot}","queue":"many","args":[1]}},"run_at":1796004601}}"#
            );
            site.redis.cli(&["HSET", &format!("cogworker:workers:{identity}"), &slot.to_string(), &work]);
        }
    }
}

#[tokio::test]
async fn a_page_over_a_million_jobs_is_small_and_quick() -> Outcome {
    let mut site = Site::start().await?;
    fill_all(&site);
    let last = format!("{:024}", 5);
    let pages = [
        // A tab each, then what of it looks at the most.
        "/overview".to_owned(),
        "/overview?layout=b&queue=many".to_owned(),
        "/jobs".to_owned(),
        "/errors".to_owned(),
        "/schedules".to_owned(),
        "/workers".to_owned(),
        "/history".to_owned(),
        "/jobs?status=Enqueued".to_owned(),
        "/jobs?status=Enqueued&queue=many&from=500000".to_owned(),
        "/jobs?status=Enqueued&sort=at".to_owned(),
        "/jobs?status=Retrying".to_owned(),
        "/jobs?status=Retrying&from=99000".to_owned(),
        "/jobs?status=Dead".to_owned(),
        "/jobs?status=Dead&error_class=Error7&message=row%20N%20cannot%20be%20read".to_owned(),
        "/jobs?status=Enqueued&q=nowhere-to-be-found".to_owned(),
        format!("/jobs?status=Enqueued&q={last}&from=990000"),
        "/jobs?q=nowhere".to_owned(),
        "/history?page=15000".to_owned(),
        "/history?q=nowhere".to_owned(),
        "/history?status=failed&sort=-duration".to_owned(),
        "/history/data?start=0&end=100".to_owned(),
        "/metrics".to_owned(),
    ];
    site.get("/errors").await;
    println!("| Page | first look, ms | again, ms | kB |\n|---|---|---|---|");
    for path in pages {
        if !cfg!(debug_assertions) {
            // As after a while in which nobody looked: nothing is known yet.
            site.app = site.fresh();
        }
        let mut took = [Duration::ZERO; 2];
        for took in &mut took {
            let begin = Instant::now();
            let page = site.get(&path).await;
            *took = begin.elapsed();
            assert_eq!(page.status, StatusCode::OK, "{path}");
            assert!(page.body.len() < MOST_BYTES, "{path}: {} bytes", page.body.len());
        }
        let millis = took.map(|took| took.as_secs_f64() * 1e3);
        println!(
            "| `{path}` | {:.0} | {:.0} | {:.0} |",
            millis[0],
            millis[1],
            site.get(&path).await.body.len() as f64 / 1e3
        );
        assert!(took[0] < BUDGET && took[1] < BUDGET, "{path}: {took:?}");
    }
    let page = site.get("/jobs?status=Enqueued&q=nowhere").await.body;
    assert!(page.contains("Looked at 1 to 10,000 of 1,000,000.") && page.contains("from=10000"), "{page}");
    Ok(())
}
