//! What processes say of themselves.

use std::time::Duration;

use cogworker_core::scripts::{self, ProcessRecord};

use crate::support::{Outcome, start};

#[tokio::test]
async fn list_processes_tells_of_each_what_is_there_and_nothing_of_those_that_are_not() -> Outcome {
    let (server, redis) = start().await?;
    server.cli(&["HSET", "cogworker:process:message", "info", "{}", "busy", "1", "quiet", "false"]);
    server.cli(&["PEXPIRE", "cogworker:process:message", "60000"]);
    server.cli(&["HSET", "cogworker:workers:message", "s", "{}"]);
    server.cli(&["SET", "cogworker:process:odd", "x"]);
    server.cli(&["SET", "cogworker:workers:odd", "x"]);
    let names = ["message", "odd", "gone"].map(str::to_owned);
    let records = scripts::list_processes(&redis, &names).await?;
    let first = &records[0];
    assert_eq!((&*first.info, &*first.busy, &*first.quiet), (&b"{}"[..], &b"1"[..], &b"false"[..]));
    assert_eq!(first.running, 1);
    let life = first.life.unwrap_or_default();
    assert!(life > Duration::from_secs(55) && life <= Duration::from_secs(60), "{life:?}");
    let empty = ProcessRecord {
        info: Default::default(),
        busy: Default::default(),
        quiet: Default::default(),
        life: None,
        running: 0,
    };
    assert_eq!(records[1..], [empty.clone(), empty]);
    assert!(scripts::list_processes(&redis, &[]).await?.is_empty());
    Ok(())
}
