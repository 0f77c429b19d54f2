//! Reading the history.

use std::collections::HashSet;
use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cogworker_client::Client;
use cogworker_client::history::{Column, Condition, Direction, HistoryQuery, RunPage};
use cogworker_core::formats::RunStatus;
use cogworker_core::time::{EpochSeconds, utc_day};
use cogworker_testing::TestRedis;

use crate::support::{Outcome, start};

/// A run that took `ms` and ended at `at`.
struct Record {
    jid: &'static str,
    class: &'static str,
    at: f64,
    ms: u32,
    error: Option<(&'static str, &'static str)>,
}

const fn run(
    jid: &'static str,
    class: &'static str,
    at: f64,
    ms: u32,
    error: Option<(&'static str, &'static str)>,
) -> Record {
    Record { jid, class, at, ms, error }
}

fn write(redis: &TestRedis, records: &[Record]) {
    for Record { jid, class, at, ms, error } in records {
        let (status, error) = match error {
            None => ("success", String::new()),
            Some((class, message)) => (
                "failed",
                format!(r#","error_class":"{class}","error_message":"{message}","backtrace":["line"]"#),
            ),
        };
        let began = at - f64::from(*ms) / 1000.0;
        let json = format!(
            r#"{{"jid":"{jid}","class":"{class}","queue":"q","args":[1.0,"{jid}"],"status":"{status}","started_at":{began},"finished_at":{at}{error}}}"#
        );
        for list in ["all", status] {
            redis.cli(&["ZADD", &format!("cogworker:history:{list}"), &at.to_string(), &json]);
        }
    }
}

const RUNS: [Record; 5] = [
    run("j0", "WelcomeMailer", 1000.0, 2000, None),
    run("j1", "ReportJob", 1001.0, 500, Some(("Timeout::Error", "too slow"))),
    run("j2", "ReportMailer", 1002.0, 8000, Some(("NameError", "no such thing"))),
    run("j3", "ReportJob", 1003.0, 2000, None),
    run("j1", "ReportJob", 1004.0, 1000, None),
];

async fn with_runs() -> Result<(TestRedis, Client), Box<dyn Error>> {
    let (redis, client) = start().await?;
    write(&redis, &RUNS);
    Ok((redis, client))
}

fn jids(page: &RunPage) -> Vec<&str> {
    page.runs.iter().map(|run| run.jid.as_str()).collect()
}

async fn found(client: &Client, query: HistoryQuery) -> Result<(u64, String), Box<dyn Error>> {
    // Spawned: whoever serves pages needs the future to be `Send`.
    let history = client.history();
    let page = tokio::spawn(async move { history.find(&query).await }).await??;
    assert!(page.is_complete);
    Ok((page.total, jids(&page).join(" ")))
}

fn text(text: &str) -> String {
    text.to_owned()
}

#[tokio::test]
async fn pages_are_newest_first_with_the_total_hist_04_webh_05_webh_06_webh_07() -> Outcome {
    let (redis, client) = with_runs().await?;
    let history = client.history();
    let page = history.page(None, 0, 2).await?;
    assert_eq!((page.total, jids(&page)), (5, vec!["j1", "j3"]));
    assert_eq!(page.runs[0].args.get(), r#"[1.0,"j1"]"#);
    assert_eq!(jids(&history.page(None, 2, 2).await?), ["j2", "j1"]);
    assert_eq!(jids(&history.page(None, 4, 100).await?), ["j0"]);
    assert!(jids(&history.page(None, 5, 2).await?).is_empty());
    assert!(history.page(None, u64::MAX, u64::MAX).await?.runs.is_empty());
    assert!(history.page(None, 0, 0).await?.runs.is_empty());

    let failed = history.page(Some(RunStatus::Failed), 0, 10).await?;
    assert_eq!((failed.total, jids(&failed)), (2, vec!["j2", "j1"]));
    assert_eq!(failed.runs[1].error(), "Timeout::Error: too slow");
    assert_eq!(failed.runs[1].backtrace, ["line"]);
    assert_eq!(history.page(Some(RunStatus::Success), 0, 10).await?.total, 3);

    redis.cli(&["ZADD", "cogworker:history:all", "2000", "no record"]);
    let page = history.page(None, 0, 2).await?;
    assert_eq!((page.total, jids(&page)), (6, vec!["j1"]), "what cannot be read is left out");
    Ok(())
}

#[tokio::test]
async fn a_search_sorts_by_numbers_and_texts_ties_newest_first_webh_08_webh_13() -> Outcome {
    let (_redis, client) = with_runs().await?;
    let sort = |column, direction| HistoryQuery::new().sort(column, direction);
    use Direction::{Ascending, Descending};
    for (query, expected) in [
        (sort(Column::Duration, Ascending), "j1 j1 j3 j0 j2"),
        (sort(Column::Duration, Descending), "j2 j3 j0 j1 j1"),
        (sort(Column::FinishedAt, Ascending), "j0 j1 j2 j3 j1"),
        (sort(Column::FinishedAt, Descending), "j1 j3 j2 j1 j0"),
        (sort(Column::Error, Descending).range(0, 2), "j1 j2"),
        (sort(Column::Class, Ascending).sort(Column::Duration, Ascending), "j1 j1 j3 j2 j0"),
        (sort(Column::Duration, Ascending).range(3, 5), "j0 j2"),
        (sort(Column::Duration, Ascending).range(u64::MAX, 5), ""),
    ] {
        assert_eq!(found(&client, query.clone()).await?, (5, text(expected)), "{query:?}");
    }
    Ok(())
}

#[tokio::test]
async fn a_search_filters_by_text_and_number_webh_09_webh_13() -> Outcome {
    let (_redis, client) = with_runs().await?;
    use Condition::{
        Blank, Contains, EndsWith, Equals, GreaterThan, GreaterThanOrEqual, InRange, LessThan,
        LessThanOrEqual, NotBlank, NotContains, NotEqual, NumberEquals, NumberNotEqual, StartsWith,
    };
    let one = |column, condition| HistoryQuery::new().all_of(column, [condition]);
    for (query, total, expected) in [
        (one(Column::Class, Contains(text("MAILER"))).range(0, 1), 2, "j2"),
        (one(Column::Error, StartsWith(text("timeout::"))), 1, "j1"),
        (one(Column::Class, NotContains(text("report"))), 1, "j0"),
        (one(Column::Class, Equals(text("reportjob"))), 3, "j1 j3 j1"),
        (one(Column::Class, NotEqual(text("ReportJob"))), 2, "j2 j0"),
        (one(Column::Class, EndsWith(text("Mailer"))), 2, "j2 j0"),
        (one(Column::Error, Blank), 3, "j1 j3 j0"),
        (one(Column::Error, NotBlank), 2, "j2 j1"),
        (one(Column::Args, Contains(text(r#"1.0,"j3""#))), 1, "j3"),
        (one(Column::Status, Equals(text("failed"))), 2, "j2 j1"),
        (one(Column::Duration, GreaterThan(2000.0)), 1, "j2"),
        (one(Column::Duration, GreaterThanOrEqual(2000.0)), 3, "j3 j2 j0"),
        (one(Column::Duration, LessThan(1000.0)), 1, "j1"),
        (one(Column::Duration, LessThanOrEqual(1000.0)), 2, "j1 j1"),
        (one(Column::Duration, NumberEquals(500.0)), 1, "j1"),
        (one(Column::Duration, NumberNotEqual(2000.0)), 3, "j1 j2 j1"),
        (one(Column::Duration, InRange(500.0, 2000.0)), 1, "j1"),
        (one(Column::Class, GreaterThan(0.0)), 0, ""),
        // Or within a column, and between columns.
        (
            HistoryQuery::new()
                .any_of(Column::Class, [Equals(text("ReportJob")), EndsWith(text("eMailer"))])
                .all_of(Column::Duration, [GreaterThan(500.0), LessThan(8000.0)]),
            3,
            "j1 j3 j0",
        ),
        (HistoryQuery::new().any_of(Column::Class, []).range(0, 1), 5, "j1"),
        (one(Column::Class, Contains(text("report"))).status(RunStatus::Failed), 2, "j2 j1"),
    ] {
        assert_eq!(found(&client, query.clone()).await?, (total, text(expected)), "{query:?}");
    }
    Ok(())
}

#[tokio::test]
async fn one_jobs_runs_are_found_wherever_its_id_stands_elsewhere_webh_12() -> Outcome {
    let (redis, client) = with_runs().await?;
    write(&redis, &[run("j9", r#"\"jid\":\"j1\""#, 1005.0, 1, None)]);
    let page = client.history().by_jid("j1").await?;
    assert_eq!((page.total, jids(&page)), (2, vec!["j1", "j1"]));
    assert!(page.runs[0].finished_at > page.runs[1].finished_at);
    let failed = HistoryQuery::new().jid("j1").status(RunStatus::Failed);
    assert_eq!(found(&client, failed).await?, (1, text("j1")));
    let slow = HistoryQuery::new().jid("j1").all_of(Column::Duration, [Condition::GreaterThan(900.0)]);
    assert_eq!(found(&client, slow).await?.0, 1);
    assert_eq!(client.history().by_jid("j").await?.total, 0);
    assert_eq!(client.history().by_jid("").await?.total, 0);
    Ok(())
}

#[tokio::test]
async fn a_search_is_bounded_and_says_so_and_a_job_is_found_further_back() -> Outcome {
    let (redis, client) = start().await?;
    for thousand in 0..11 {
        let mut command = vec![text("ZADD"), text("cogworker:history:all")];
        for at in thousand * 1000..(thousand + 1) * 1000 {
            command.push(at.to_string());
            command.push(format!(
                r#"{{"jid":"j{at}","class":"A","queue":"q","args":[],"status":"success","started_at":{at}.0,"finished_at":{at}.0}}"#
            ));
        }
        redis.cli(&command.iter().map(String::as_str).collect::<Vec<_>>());
    }
    let history = client.history();
    let all = HistoryQuery::new().all_of(Column::Class, [Condition::Equals(text("a"))]);
    let page = history.find(&all).await?;
    assert_eq!((page.total, page.runs.len(), page.is_complete), (10_000, 25, false));
    assert_eq!(page.runs[0].jid, "j10999");
    let page = history.find(&all.clone().sort(Column::FinishedAt, Direction::Ascending)).await?;
    assert_eq!((page.total, page.runs[0].jid.as_str()), (10_000, "j1000"), "the oldest that was looked at");
    let page = history.find(&all.range(9_990, 50)).await?;
    assert_eq!((page.runs.len(), page.runs[9].jid.as_str()), (10, "j1000"));

    let page = history.page(None, 0, 5000).await?;
    assert_eq!((page.total, page.runs.len(), page.is_complete), (11_000, 1000, true), "WEBH-11");
    assert_eq!(page.runs[999].jid, "j10000");
    let page = history.by_jid("j7").await?;
    assert_eq!((page.total, page.is_complete), (1, true));
    let oldest = HistoryQuery::new().sort(Column::FinishedAt, Direction::Ascending).range(0, 1);
    assert_eq!(history.find(&oldest).await?.runs[0].jid, "j0", "as they stand, from the other end");
    Ok(())
}

#[tokio::test]
async fn no_run_comes_twice_while_others_end() -> Outcome {
    let (redis, client) = start().await?;
    let write = r#"
        local next = redis.call('INCRBY', 'written', ARGV[1])
        for at = next - ARGV[1], next - 1 do
            redis.call('ZADD', 'cogworker:history:all', at, string.format(
                '{"jid":"%d","class":"A","queue":"q","args":[],"status":"success","started_at":1.0,"finished_at":%d.0}', at, at))
        end"#;
    redis.cli(&["EVAL", write, "0", "3000"]);
    let redis = Arc::new(redis);
    let (done, written) = (Arc::new(AtomicBool::new(false)), redis.clone());
    let stop = done.clone();
    let writer = tokio::task::spawn_blocking(move || {
        while !stop.load(Ordering::Relaxed) {
            written.cli(&["EVAL", write, "0", "1"]);
        }
    });
    let history = client.history();
    let every = HistoryQuery::new().all_of(Column::Class, [Condition::NotBlank]).range(0, 1000);
    let mut pages = Vec::new();
    for _ in 0..10 {
        pages.push(history.page(None, 0, 1000).await?);
        pages.push(history.find(&every).await?);
    }
    done.store(true, Ordering::Relaxed);
    writer.await?;
    assert!(pages[0].runs[0].finished_at < pages[19].runs[0].finished_at, "nothing was written meanwhile");
    for page in pages {
        let jids: HashSet<&str> = page.runs.iter().map(|run| run.jid.as_str()).collect();
        assert_eq!((page.runs.len(), jids.len()), (1000, 1000));
    }
    Ok(())
}

#[tokio::test]
async fn days_are_counted_in_utc_and_those_without_runs_are_absent_hist_07() -> Outcome {
    let (redis, client) = start().await?;
    let now = EpochSeconds::now().as_f64();
    let day = |ago: f64| utc_day(EpochSeconds::new(now - ago * 86_400.0));
    let count = |ago: f64, fields: &[&str]| {
        let key = format!("cogworker:history:daily:{}", day(ago));
        redis.cli(&[&["HSET", &key], fields].concat());
    };
    count(0.0, &["success", "2", "failed", "1"]);
    count(1.0, &["success", "1"]);
    count(9.0, &["success", "7"]);
    let days = client.history().daily(3).await?;
    if utc_day(EpochSeconds::now()) != day(0.0) {
        return Ok(()); // midnight passed meanwhile
    }
    let counts: Vec<_> = days.iter().map(|day| (day.day.clone(), day.success, day.failed)).collect();
    assert_eq!(counts, [(day(1.0), 1, 0), (day(0.0), 2, 1)]);
    assert_eq!(client.history().daily(400).await?.len(), 3);
    assert_eq!(client.history().daily(0).await?.len(), 1, "today at least");
    Ok(())
}
