//! Searching the history.

use crate::support::{Outcome, start};
use cogworker_core::scripts;

#[tokio::test]
async fn find_runs_looks_at_a_thousand_and_tells_how_many_there_were() -> Outcome {
    let (server, redis) = start().await?;
    for at in 0..1100 {
        let record = format!("{at} {}", if at % 500 == 0 { "[x](%d+)" } else { "x" });
        server.cli(&["ZADD", "history", &at.to_string(), &record]);
    }
    let found = scripts::find_runs(&redis, "history".into(), 0, "[x](%d+)").await?;
    assert_eq!((found.total, found.searched), (1100, 1000));
    assert_eq!(found.records, ["1000 [x](%d+)", "500 [x](%d+)"], "a text, no pattern; the newest first");
    let found = scripts::find_runs(&redis, "history".into(), 1000, "[x](%d+)").await?;
    assert_eq!((found.searched, found.records.len()), (100, 1));
    assert_eq!(scripts::find_runs(&redis, "none".into(), 0, "x").await?.searched, 0);
    Ok(())
}
