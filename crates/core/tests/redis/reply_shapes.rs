//! Names that look like pub/sub messages must not confuse the connection: a flat reply that
//! begins with such a name is taken for a message, and every later reply goes to a wrong caller.

use crate::support::{ME, Outcome, start};
use bytes::Bytes;
use cogworker_core::locks::{JobLocks, JobTraces};
use cogworker_core::redis::Call;
use cogworker_core::scripts::{self, Held, Moves, SettleBatch, Step};
use cogworker_core::time::EpochSeconds;

const NAMES: [&str; 9] = [
    "message",
    "smessage",
    "pmessage",
    "subscribe",
    "psubscribe",
    "unsubscribe",
    "punsubscribe",
    "sunsubscribe",
    "pubsub",
];

/// As the documentation of [`Redis::command`](cogworker_core::redis::Redis::command) shows it.
const NESTED: &str = "return { redis.call('LRANGE', KEYS[1], 0, -1) }";

#[tokio::test]
async fn a_script_of_ones_own_that_nests_its_reply_may_hold_any_strings() -> Outcome {
    let (server, redis) = start().await?;
    for name in NAMES {
        server.cli(&["RPUSH", "log", name, "default", "mailers"]);
        let call = Call::new().arg(NESTED).arg(1).arg("log");
        let lines = redis.command("EVAL", call).await?.array()?.remove(0).texts()?;
        assert_eq!(lines, [name, "default", "mailers"]);
        assert_eq!(
            redis.command("LLEN", Call::new().key("log")).await?.int()?,
            3,
            "the next reply is its own"
        );
        server.cli(&["DEL", "log"]);
    }
    Ok(())
}

#[tokio::test]
async fn names_of_pubsub_messages_are_read_right_everywhere() -> Outcome {
    let (server, redis) = start().await?;
    let names: Vec<String> = NAMES.map(str::to_owned).to_vec();
    for name in NAMES {
        // The queue, its jobs, the sets' entries and the hashes' fields all bear the name.
        server.cli(&["LPUSH", &format!("cogworker:queue:{name}"), name, name, name]);
        server.cli(&["SADD", "cogworker:queues", name]);
        server.cli(&["ZADD", "cogworker:schedule", "1", name]);
        server.cli(&["ZADD", "cogworker:dead", "1", name]);
        server.cli(&["HSET", "cogworker:workers:x", name, name, "default", "mailers"]);
    }
    for _ in 0..3 {
        for name in NAMES {
            let one = [name.to_owned()];
            let page = scripts::page_list(&redis, redis.keys().queue(name), 0, 3).await?;
            assert_eq!((page.total, page.entries), (3, vec![Bytes::from_static(name.as_bytes()); 3]));
            let states = scripts::list_queues(&redis, &one).await?;
            assert_eq!(states[0].next.as_deref(), Some(name.as_bytes()));
        }
        let mut members = scripts::list_members(&redis, redis.keys().queues()).await?;
        members.sort();
        let mut expected = names.clone();
        expected.sort();
        assert_eq!(members, expected);
        let page = scripts::page_set(&redis, redis.keys().dead(), 0, 4, false).await?;
        assert_eq!((page.total, page.entries.len()), (9, 4));
        let hashes = scripts::list_hashes(&redis, vec![redis.keys().workers("x")]).await?;
        assert_eq!(hashes[0].len(), 10);
        let due = scripts::due_jobs(&redis, redis.keys().schedule(), EpochSeconds::new(2.0), 4, 100).await?;
        assert_eq!(due.entries.len(), 4);
    }

    let fetched = scripts::fetch_jobs(&redis, ME, Held::Listed, &names, 500).await?;
    assert_eq!(fetched.count(), 27);
    assert_eq!(scripts::list_inprogress(&redis, ME, 100, None).await?.map(|jobs| jobs.len()), Some(27));
    assert_eq!(scripts::list_inprogress(&redis, ME, 100, Some(27)).await?, None);
    let mut batch = SettleBatch::new(Held::Listed, (0, 0));
    for name in NAMES {
        let (job, locks) = (Bytes::from_static(name.as_bytes()), JobLocks::default());
        let traces = JobTraces {
            orphan_counter: Some("cogworker:orphanings:x".into()),
            locks: locks.clone(),
            status: None,
        };
        batch.acknowledge(job.clone(), &traces);
        batch.give_back(job, redis.keys().queue(name), &locks, 0);
    }
    let settled = scripts::settle_jobs(&redis, ME, EpochSeconds::now(), batch).await?;
    assert!(settled.steps.iter().all(|step| *step == Step::Applied));
    let mut moves = Moves::new(redis.keys().schedule(), None);
    for name in NAMES {
        moves.to_queue(Bytes::from_static(name.as_bytes()), name.into(), name);
    }
    assert_eq!(scripts::move_entries(&redis, moves).await?.steps, [Step::Applied; 9]);
    assert_eq!(server.cli(&["LLEN", "cogworker:queue:message"]), 2);
    assert_eq!(server.cli(&["LLEN", &format!("cogworker:inprogress:{ME}")]), 9);
    Ok(())
}
