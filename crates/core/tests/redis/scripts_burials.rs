//! What comes into dead, and what is told of it, script by script.

use crate::support::{Outcome, list, start};
use std::time::Duration;

use bytes::Bytes;
use cogworker_core::locks::JobTraces;
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
