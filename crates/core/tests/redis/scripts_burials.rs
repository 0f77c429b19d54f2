//! What comes into dead, and what is told of it, script by script.

use crate::support::{Outcome, list, start};
use bytes::Bytes;
use cogworker_core::locks::JobTraces;
use cogworker_core::scripts::{self, Filing, Step};
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
