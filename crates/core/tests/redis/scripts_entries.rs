//! Looking at entries, deleting them, putting them back.

use crate::support::{Outcome, has_ttl, list, start};
use bytes::Bytes;
use cogworker_core::keys::KeySpace;
use cogworker_core::locks::JobLocks;
use cogworker_core::raw_job::RawJob;
use cogworker_core::redis::RedisError;
use cogworker_core::scripts::{self, EntrySource, Requeue, RequeueStep};

fn unique(jid: &str) -> Bytes {
    format!(
        r#"{{"class":"A","jid":"{jid}","queue":"q","unique":"until_executed","periodic_pjid":"p","periodic_until_executed":true}}"#
    )
    .into()
}

fn locks(raw: &Bytes) -> Result<JobLocks, cogworker_core::raw_job::NotAJobError> {
    Ok(JobLocks::of(&RawJob::parse(raw)?, &KeySpace::default()))
}

fn sources() -> [EntrySource; 2] {
    [EntrySource::List("list".into()), EntrySource::SortedSet("set".into())]
}

#[tokio::test]
async fn peek_entries_reads_what_is_next_within_its_limits() -> Outcome {
    let (server, redis) = start().await?;
    for at in 0..700 {
        let entry = format!("{at:0>3}");
        server.cli(&["LPUSH", "list", &entry]);
        server.cli(&["ZADD", "set", &at.to_string(), &entry]);
    }
    for source in sources() {
        let page = scripts::peek_entries(&redis, &source, 0).await?;
        assert_eq!((page.total, page.entries.len()), (700, 500));
        assert_eq!((&page.entries[0][..], &page.entries[499][..]), (&b"000"[..], &b"499"[..]));
        let page = scripts::peek_entries(&redis, &source, 690).await?;
        assert_eq!((page.entries.len(), &page.entries[9][..]), (10, &b"699"[..]));
        assert!(scripts::peek_entries(&redis, &source, 700).await?.entries.is_empty());
    }
    server.cli(&["DEL", "list"]);
    let large = "x".repeat(400_000);
    for _ in 0..5 {
        server.cli(&["LPUSH", "list", &large]);
    }
    assert_eq!(scripts::peek_entries(&redis, &sources()[0], 0).await?.entries.len(), 2, "a megabyte");
    Ok(())
}

#[tokio::test]
async fn delete_entries_takes_the_exact_bytes_and_frees_only_the_jobs_own_locks_p_34() -> Outcome {
    let (server, redis) = start().await?;
    let (mine, others, no_job) = (unique("mine"), unique("other"), Bytes::from_static(b"\xff no job"));
    let held = locks(&mine)?;
    let (lock, running) = (held.unique.ok_or("no lock")?, held.running.ok_or("no lock")?);
    for source in sources() {
        server.cli(&["MSET", &lock, "mine", &running, "mine"]);
        server.cli(&["RPUSH", "cogworker:job_attempts:mine", "log"]);
        for entry in [&mine, &others] {
            let text = String::from_utf8_lossy(entry);
            server.cli(&["LPUSH", "list", &text]);
            server.cli(&["ZADD", "set", "1", &text]);
        }
        let deleted = scripts::delete_entries(&redis, &source, &[others.clone(), no_job.clone()]).await?;
        assert_eq!(deleted, [true, false]);
        assert_eq!(server.cli(&["EXISTS", &lock, &running]), 2, "another's");
        assert_eq!(scripts::delete_entries(&redis, &source, std::slice::from_ref(&mine)).await?, [true]);
        assert_eq!(server.cli(&["EXISTS", &lock, &running]), 0);
        let is_list = matches!(source, EntrySource::List(_));
        let log = server.cli(&["EXISTS", "cogworker:job_attempts:mine"]);
        assert_eq!(log, i64::from(is_list), "the log of a job that failed goes with its entry");
        server.cli(&["SET", &lock, "mine"]);
        assert_eq!(scripts::delete_entries(&redis, &source, std::slice::from_ref(&mine)).await?, [false]);
        assert_eq!(server.cli(&["EXISTS", &lock]), 1, "what was not there frees nothing");
        server.cli(&["DEL", "list", "set"]);
    }
    Ok(())
}

#[tokio::test]
async fn requeue_entries_moves_each_once_and_takes_free_locks_claim_01_claim_02() -> Outcome {
    let (server, redis) = start().await?;
    let requeue = |raw: &Bytes, queue: &str| -> Result<Requeue, Box<dyn std::error::Error>> {
        let payload = [b"> ", &raw[..]].concat();
        Ok(Requeue {
            entry: raw.clone(),
            payload,
            queue: queue.into(),
            jid: locks(raw)?.jid,
            locks: locks(raw)?,
        })
    };
    let (first, twin) = (unique("1"), unique("2"));
    let plain = Bytes::from_static(br#"{"class":"B","jid":"3","queue":"bad"}"#);
    for raw in [&first, &twin, &plain] {
        server.cli(&["ZADD", "set", "1", &String::from_utf8_lossy(raw)]);
    }
    server.cli(&["SET", "cogworker:queue:bad", "x"]);
    for (jid, status) in [("1", "failed"), ("2", "retrying")] {
        server.cli(&["HSET", &format!("status:{jid}"), "status", status]);
    }
    let entries =
        vec![requeue(&first, "q")?, requeue(&twin, "q")?, requeue(&plain, "bad")?, requeue(&first, "q")?];
    let (steps, error) = scripts::requeue_entries(&redis, "set".into(), entries, 100, true).await?;
    let expected = [RequeueStep::Requeued, RequeueStep::Duplicate, RequeueStep::Refused, RequeueStep::Gone];
    assert_eq!(steps, expected);
    assert!(matches!(error, Some(RedisError::WrongType(_))), "{error:?}");
    let held = locks(&first)?;
    for lock in [held.unique.ok_or("no lock")?, held.running.ok_or("no lock")?] {
        assert_eq!(server.cli(&["GET", &lock]), "1");
        assert!(has_ttl(&server, &lock, 100));
    }
    assert_eq!(list(&server, "cogworker:queue:q"), [format!("> {}", String::from_utf8_lossy(&first))]);
    assert_eq!(server.cli(&["ZCARD", "set"]), 2);
    assert_eq!(server.cli(&["HGET", "status:1", "status"]), "queued");
    assert_eq!(server.cli(&["HGET", "status:2", "status"]), "retrying", "it stayed");

    // Asked not to mind, it moves the twin and leaves the other's lock alone.
    let (steps, _) =
        scripts::requeue_entries(&redis, "set".into(), vec![requeue(&twin, "q")?], 100, false).await?;
    assert_eq!(steps, [RequeueStep::Requeued]);
    assert_eq!(server.cli(&["GET", &locks(&twin)?.unique.ok_or("no lock")?]), "1");
    server.cli(&["DEL", "status:2", "cogworker:queue:bad"]);
    scripts::requeue_entries(&redis, "set".into(), vec![requeue(&plain, "bad")?], 100, false).await?;
    assert_eq!(server.cli(&["KEYS", "status:*"]).strings(), ["status:1"], "what had none gets none");
    Ok(())
}
