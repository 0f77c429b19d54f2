//! What comes into dead, and what is told of it, script by script.

use crate::support::{Outcome, list, start};
use std::time::Duration;

use bytes::Bytes;
use cogworker_core::locks::{JobLocks, JobTraces};
use cogworker_core::redis::RedisError;
use cogworker_core::scripts::{self, Filing, Orphan, OrphanStep, RawBurial, Recovered, RecoveryLimits, Step};
use cogworker_core::time::EpochSeconds;

#[tokio::test]
async fn find_standing_tells_which_entries_are_in_dead() -> Outcome {
    let (server, redis) = start().await?;
    server.cli(&["ZADD", "cogworker:dead", "1", "a", "2", "c"]);
    let entries = ["a", "b", "c"].map(Bytes::from);
    assert_eq!(scripts::find_standing(&redis, &entries).await?, [0, 2]);
    assert_eq!(scripts::find_standing(&redis, &[]).await?, Vec::<usize>::new());
    Ok(())
}

#[tokio::test]
async fn a_record_that_was_handed_over_twice_is_filed_and_counted_once_uns_05() -> Outcome {
    let (server, redis) = start().await?;
    server.cli(&["RPUSH", "list", "record", "record"]);
    let filing = || Filing::File {
        element: "record".into(),
        target: "cogworker:dead".into(),
        score: EpochSeconds::EPOCH,
        entry: "entry".into(),
        counted: true,
        traces: JobTraces::default(),
    };
    let filed = scripts::file_records(&redis, "list".into(), vec![filing(), filing()]).await?;
    assert_eq!(filed.steps, [Step::Applied, Step::Gone]);
    assert_eq!(list(&server, "list"), Vec::<String>::new());
    assert_eq!(server.cli(&["ZCARD", "cogworker:dead"]), 1);
    assert_eq!(server.cli(&["GET", "cogworker:stats:failed"]), "1");
    Ok(())
}

#[tokio::test]
async fn a_status_tells_what_recovery_made_of_its_job() -> Outcome {
    let (server, redis) = start().await?;
    let kept = ["back", "buried", "parked", "raw"];
    for jid in kept {
        server.cli(&["HSET", &format!("status:{jid}"), "status", "working", "pct", "40"]);
    }
    let traces = |jid: &str| JobTraces {
        orphan_counter: Some(format!("cogworker:orphanings:{jid}")),
        status: Some(format!("status:{jid}")),
        ..JobTraces::default()
    };
    for jid in ["buried", "raw"] {
        server.cli(&["SET", &format!("cogworker:orphanings:{jid}"), "3"]);
    }
    server.cli(&["LPUSH", "cogworker:inprogress:gone", "back", "without", "buried"]);
    let orphan = |jid: &str| Orphan {
        job: jid.to_owned().into(),
        queue: "q".into(),
        traces: traces(jid),
        burial: Some("buried, completed".into()),
    };
    let limits = RecoveryLimits { orphan_threshold: Duration::ZERO, max_orphanings: 3, lock_ttl: 60 };
    let orphans = vec![orphan("back"), orphan("without"), orphan("buried")];
    let Recovered::Dead { steps, .. } = scripts::recover_jobs(&redis, "gone", limits, orphans).await? else {
        return Err("alive".into());
    };
    assert_eq!(steps, [OrphanStep::Requeued, OrphanStep::Requeued, OrphanStep::Buried]);
    server.cli(&["RPUSH", "list", "parked"]);
    let filing = Filing::File {
        element: "parked".into(),
        target: "cogworker:dead".into(),
        score: EpochSeconds::EPOCH,
        entry: "parked, completed".into(),
        counted: true,
        traces: traces("parked"),
    };
    scripts::file_records(&redis, "list".into(), vec![filing]).await?;
    server.cli(&["ZADD", "cogworker:dead", "1", "raw"]);
    let burial = RawBurial { job: "raw".into(), entry: "raw, completed".into(), traces: traces("raw") };
    let (swapped, _) = scripts::complete_burials(&redis, vec![burial]).await?;
    assert_eq!(swapped, [Step::Applied]);
    let field = |jid: &str, field: &str| server.cli(&["HGET", &format!("status:{jid}"), field]);
    let told = kept.map(|jid| field(jid, "status").as_str().unwrap_or_default().to_owned());
    assert_eq!(told, ["queued", "failed", "failed", "failed"]);
    assert_eq!(field("buried", "error_class"), "Cogworker::ProcessDied");
    assert_eq!(field("buried", "error_message"), "orphaned more than 3 times: its process died each time");
    assert_eq!(field("back", "pct"), "40");
    assert_eq!(server.cli(&["EXISTS", "status:without"]), 0, "what had none gets none");
    Ok(())
}

#[tokio::test]
async fn file_records_sets_unusable_ones_aside_uns_03() -> Outcome {
    let (server, redis) = start().await?;
    server.cli(&["RPUSH", "cogworker:unsettled", "junk"]);
    let filings = vec![Filing::Unusable { element: Bytes::from("junk") }];
    let filed = scripts::file_records(&redis, redis.keys().unsettled(), filings).await?;
    assert_eq!(filed.steps, [Step::Applied]);
    let records = "cogworker:quarantine:cogworker:unsettled:records";
    assert_eq!(list(&server, records), ["junk"]);
    assert!(server.cli(&["TTL", records]).as_int() > Some(2_591_000));
    assert_eq!(server.cli(&["EXISTS", "cogworker:unsettled", "cogworker:stats:failed"]), 0);
    Ok(())
}

#[tokio::test]
async fn complete_burials_swaps_a_raw_entry_once_maxo_10() -> Outcome {
    let (server, redis) = start().await?;
    server.cli(&["ZADD", "cogworker:dead", "7.5", "job"]);
    server.cli(&["SET", "cogworker:unique:u", "another"]);
    let burial = || {
        let unique = Some("cogworker:unique:u".into());
        let locks = JobLocks { jid: "j".into(), unique, ..JobLocks::default() };
        let traces = JobTraces {
            locks,
            orphan_counter: Some("cogworker:orphanings:job".into()),
            ..JobTraces::default()
        };
        RawBurial { job: Bytes::from("job"), entry: Bytes::from("job died"), traces }
    };
    assert_eq!(
        scripts::complete_burials(&redis, vec![burial()]).await?.0,
        [Step::Gone],
        "put there otherwise"
    );
    server.cli(&["SET", "cogworker:orphanings:job", "2"]);
    assert_eq!(scripts::complete_burials(&redis, vec![burial()]).await?.0, [Step::Applied]);
    assert_eq!(scripts::complete_burials(&redis, vec![burial()]).await?.0, [Step::Gone]);
    let dead = server.cli(&["ZRANGE", "cogworker:dead", "0", "-1", "WITHSCORES"]).strings();
    assert_eq!(dead, ["job died", "7.5"]);
    assert_eq!(server.cli(&["GET", "cogworker:stats:failed"]), "1");
    assert_eq!(server.cli(&["GET", "cogworker:unique:u"]), "another", "UNIQ-17");
    Ok(())
}

#[tokio::test]
async fn find_raw_burials_looks_through_dead_page_by_page_down_to_an_age_maxo_10() -> Outcome {
    let (server, redis) = start().await?;
    let complete = r#"{"error_class":"E"}"#;
    let large = "x".repeat(scripts::BATCH_BYTES);
    server.cli(&["ZADD", "cogworker:dead", "1", "raw 1", "2", complete, "3", &large, "4", "raw 4"]);
    let find = async |skip, oldest: Option<f64>| -> Result<_, RedisError> {
        let found = scripts::find_raw_burials(&redis, skip, oldest.map(EpochSeconds::new)).await?;
        Ok((found.entries, found.seen, found.more))
    };
    assert_eq!(find(0, None).await?, (vec![Bytes::from("raw 4")], 1, true));
    assert_eq!(find(1, None).await?, (vec![Bytes::from(large)], 1, true));
    assert_eq!(find(2, None).await?, (vec![Bytes::from("raw 1")], 2, false));
    assert_eq!(find(2, Some(1.5)).await?, (vec![], 1, false));
    assert_eq!(find(4, None).await?, (vec![], 0, false));
    Ok(())
}
