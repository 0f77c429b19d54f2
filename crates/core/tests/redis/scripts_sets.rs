//! Schedules, presence, work and totals, script by script.

use crate::support::{ME, Outcome, has_ttl, list, start};
use bytes::Bytes;
use cogworker_core::jid::Jid;
use cogworker_core::scripts::{self, Beat, Moves, PublishedWork, StatusWrite, Step};
use cogworker_core::time::EpochSeconds;

fn raw(text: &'static str) -> Bytes {
    Bytes::from_static(text.as_bytes())
}

#[tokio::test]
async fn schedule_jobs_files_by_due_time_and_wakes_for_the_first() -> Outcome {
    let (server, redis) = start().await?;
    let mut channel = server.connect()?;
    channel.command(&["SUBSCRIBE", "cogworker:wake"])?;
    let at = EpochSeconds::new;
    assert_eq!(scripts::schedule_jobs(&redis, vec![(at(50.5), b"a".to_vec())]).await?, 1);
    assert_eq!(channel.read()?.strings(), ["message", "cogworker:wake", "50.500000"]);
    // Later than the first: nobody need know.
    assert_eq!(scripts::schedule_jobs(&redis, vec![(at(60.0), b"b".to_vec())]).await?, 1);
    assert_eq!(scripts::schedule_jobs(&redis, vec![(at(40.0), b"c".to_vec())]).await?, 1);
    assert_eq!(channel.read()?.strings()[2], "40.000000");
    assert_eq!(server.cli(&["ZSCORE", "cogworker:schedule", "a"]), "50.5");
    Ok(())
}

#[tokio::test]
async fn due_jobs_tells_what_is_due_and_when_the_next_is() -> Outcome {
    let (server, redis) = start().await?;
    server.cli(&["ZADD", "cogworker:retry", "1", "a", "2", "b", "9.5", "c"]);
    let due = scripts::due_jobs(&redis, redis.keys().retry(), EpochSeconds::new(2.0), 10, 100).await?;
    assert_eq!(due.entries, [raw("a"), raw("b")]);
    assert_eq!((due.more, due.next), (false, Some(EpochSeconds::new(9.5))));
    server.cli(&["ZADD", "never", "inf", "job"]);
    let due = scripts::due_jobs(&redis, "never".into(), EpochSeconds::now(), 10, 1000).await?;
    assert_eq!((due.entries.len(), due.next), (0, Some(EpochSeconds::LAST)), "no poller hurries for it");
    Ok(())
}

#[tokio::test]
async fn due_jobs_reads_no_more_than_its_limits_and_says_when_they_cut() -> Outcome {
    let (server, redis) = start().await?;
    for at in 1..=20 {
        let entry = format!("{at:0>1000}");
        server.cli(&["ZADD", "cogworker:schedule", &at.to_string(), &entry]);
    }
    for (due_at, limit, bytes, expected) in [
        (20.0, 500, 1_000_000, (20, false)),
        (20.0, 20, 1_000_000, (20, true)),
        (20.0, 7, 1_000_000, (7, true)),
        (20.0, 500, 5_000, (5, true)),
        (20.0, 500, 5_999, (5, true)),
        // An entry above the limit comes alone: it must be moved all the same.
        (20.0, 500, 10, (1, true)),
        (4.0, 500, 4_000, (4, false)),
        (0.0, 500, 4_000, (0, false)),
    ] {
        let due = scripts::due_jobs(&redis, redis.keys().schedule(), EpochSeconds::new(due_at), limit, bytes)
            .await?;
        assert_eq!((due.entries.len(), due.more), expected, "{due_at} {limit} {bytes}");
        assert!(due.entries.iter().enumerate().all(|(at, entry)| *entry == format!("{:0>1000}", at + 1)));
    }
    Ok(())
}

#[tokio::test]
async fn move_entries_moves_each_entry_once_claim_01() -> Outcome {
    let (server, redis) = start().await?;
    server.cli(&["ZADD", "cogworker:retry", "1", "entry"]);
    for expected in [Step::Applied, Step::Gone] {
        let mut moves = Moves::new(redis.keys().retry(), None);
        moves.to_queue(raw("entry"), b"payload".to_vec(), "q");
        assert_eq!(scripts::move_entries(&redis, moves).await?.steps, [expected]);
    }
    assert_eq!(list(&server, "cogworker:queue:q"), ["payload"]);
    assert_eq!(server.cli(&["SMEMBERS", "cogworker:queues"]).strings(), ["q"]);
    Ok(())
}

#[tokio::test]
async fn a_queue_of_the_wrong_type_postpones_its_entry_and_no_other_sched_08() -> Outcome {
    let (server, redis) = start().await?;
    server.cli(&["SET", "cogworker:queue:bad", "x"]);
    server.cli(&["ZADD", "cogworker:schedule", "1", "stuck", "2", "free"]);
    let mut moves = Moves::new(redis.keys().schedule(), Some(EpochSeconds::new(62.0)));
    moves.to_queue(raw("stuck"), b"stuck".to_vec(), "bad");
    moves.to_queue(raw("free"), b"free".to_vec(), "good");
    let moved = scripts::move_entries(&redis, moves).await?;
    assert_eq!((moved.steps, moved.postponed), (vec![Step::Failed, Step::Applied], 1));
    assert!(moved.error.is_some());
    assert_eq!(server.cli(&["ZSCORE", "cogworker:schedule", "stuck"]), "62");
    assert_eq!(server.cli(&["ZCARD", "cogworker:schedule"]), 1);
    Ok(())
}

#[tokio::test]
async fn an_entry_moves_though_redis_is_full_as_that_takes_no_more_memory_p_49() -> Outcome {
    let (server, redis) = start().await?;
    server.cli(&["ZADD", "cogworker:schedule", "1", "due"]);
    server.cli(&["CONFIG", "SET", "maxmemory", "1"]);
    let mut moves = Moves::new(redis.keys().schedule(), Some(EpochSeconds::new(62.0)));
    moves.to_queue(raw("due"), b"due".to_vec(), "q");
    let moved = scripts::move_entries(&redis, moves).await?;
    assert_eq!((moved.steps, moved.postponed), (vec![Step::Applied], 0));
    assert_eq!(list(&server, "cogworker:queue:q"), ["due"]);
    assert_eq!(server.cli(&["EXISTS", "cogworker:schedule"]), 0);
    Ok(())
}

#[tokio::test]
async fn a_buried_entry_is_counted_as_a_failure_sched_05() -> Outcome {
    let (server, redis) = start().await?;
    server.cli(&["ZADD", "cogworker:retry", "1", "broken"]);
    let mut moves = Moves::new(redis.keys().retry(), None);
    moves.to_dead(raw("broken"), b"wrapped".to_vec(), EpochSeconds::new(7.5));
    scripts::move_entries(&redis, moves).await?;
    assert_eq!(server.cli(&["ZSCORE", "cogworker:dead", "wrapped"]), "7.5");
    assert_eq!(server.cli(&["GET", "cogworker:stats:failed"]), "1");
    assert_eq!(server.cli(&["EXISTS", "cogworker:retry"]), 0);
    Ok(())
}

fn a_beat(queues: &[String]) -> Beat<'_> {
    Beat { identity: ME, info: "{}".into(), busy: 2, quiet: false, ttl: 60, reliable: true, queues }
}

#[tokio::test]
async fn beat_registers_the_process_and_its_queues_beat_01_to_05() -> Outcome {
    let (server, redis) = start().await?;
    server.cli(&["SADD", "cogworker:paused_queues", "low"]);
    server.cli(&["ZADD", "cogworker:live_queues", "1", "long-gone"]);
    let queues = ["default".to_owned(), "low".to_owned()];
    let reply = scripts::beat(&redis, &a_beat(&queues)).await?;
    assert!(reply.errors.is_empty());
    assert_eq!((reply.paused, reply.processes), (vec!["low".to_owned()], 1));
    let key = format!("cogworker:process:{ME}");
    assert_eq!(server.cli(&["HMGET", &key, "info", "busy", "quiet"]).strings(), ["{}", "2", "false"]);
    assert!(server.cli(&["TTL", &key]).as_int().unwrap_or(0) > 55);
    assert_eq!(server.cli(&["SMEMBERS", "cogworker:inprogress_identities"]).strings(), [ME]);
    assert!(!server.cli(&["HGET", "cogworker:last_beat", ME]).is_nil());
    assert_eq!(server.cli(&["ZRANGE", "cogworker:live_queues", "0", "-1"]).strings(), ["default", "low"]);
    Ok(())
}

#[tokio::test]
async fn a_registry_of_the_wrong_type_does_not_fail_the_beat_beat_09() -> Outcome {
    let (server, redis) = start().await?;
    for registry in ["inprogress_identities", "last_beat", "processes"] {
        server.cli(&["SET", &format!("cogworker:{registry}"), "x"]);
    }
    let queues = ["default".to_owned()];
    let reply = scripts::beat(&redis, &a_beat(&queues)).await?;
    let named: Vec<&str> = reply.errors.iter().map(|(registry, _)| registry.as_str()).collect();
    assert_eq!(named, ["process registry", "in-progress registry", "last beats"]);
    assert_eq!(server.cli(&["EXISTS", &format!("cogworker:process:{ME}")]), 1);
    Ok(())
}

#[tokio::test]
async fn remove_presence_keeps_the_registration_while_jobs_are_held_beat_13() -> Outcome {
    let (server, redis) = start().await?;
    let queues = ["default".to_owned()];
    scripts::beat(&redis, &a_beat(&queues)).await?;
    let held = format!("cogworker:inprogress:{ME}");
    server.cli(&["LPUSH", &held, "job"]);
    assert_eq!(scripts::remove_presence(&redis, ME).await?, 1);
    assert_eq!(server.cli(&["SISMEMBER", "cogworker:inprogress_identities", ME]), 1);
    assert_eq!(server.cli(&["EXISTS", &format!("cogworker:process:{ME}"), "cogworker:processes"]), 0);
    server.cli(&["DEL", &held]);
    assert_eq!(scripts::remove_presence(&redis, ME).await?, 0);
    assert_eq!(server.cli(&["EXISTS", "cogworker:inprogress_identities", "cogworker:last_beat"]), 0);
    Ok(())
}

#[tokio::test]
async fn publish_work_shows_and_clears_slots_and_write_status_renews_its_expiry() -> Outcome {
    let (server, redis) = start().await?;
    let shown = vec![("a".to_owned(), b"1".to_vec()), ("b".to_owned(), b"2".to_vec())];
    let working = |key: &str, job: Option<Bytes>| StatusWrite {
        key: key.into(),
        job,
        fields: vec![("status".into(), "working".into())],
    };
    server.cli(&["LPUSH", &format!("cogworker:inprogress:{ME}"), "runs"]);
    let ended = working("status:ended", Some(Bytes::from("ended")));
    let statuses = vec![working("status:j", Some(Bytes::from("runs"))), ended];
    let work = PublishedWork { running: shown, statuses, status_ttl: 100, ..PublishedWork::default() };
    assert!(scripts::publish_work(&redis, ME, 60, work).await?.is_none());
    assert_eq!(server.cli(&["HGET", "status:j", "status"]), "working");
    assert!(has_ttl(&server, "status:j", 100));
    assert_eq!(server.cli(&["EXISTS", "status:ended"]), 0, "it has ended: its last status stands");
    server.cli(&["SET", "status:bad", "x"]);
    let statuses = vec![working("status:bad", None)];
    let (running, ended) = (vec![("c".into(), b"3".to_vec())], vec!["a".into()]);
    let work = PublishedWork { running, ended, statuses, status_ttl: 100 };
    let error = scripts::publish_work(&redis, ME, 60, work).await?;
    assert!(error.is_some(), "it is told, and the slots are shown all the same");
    let key = format!("cogworker:workers:{ME}");
    assert_eq!(server.cli(&["HMGET", &key, "a", "b", "c"]).items().len(), 3);
    assert!(server.cli(&["HGET", &key, "a"]).is_nil());
    assert_eq!(server.cli(&["HGET", &key, "c"]), "3");

    let ttl = std::time::Duration::from_secs(1800);
    scripts::write_status(&redis, &Jid::from("j"), ttl, &[("pct", "42"), ("message", "halfway")]).await?;
    assert_eq!(server.cli(&["HMGET", "status:j", "pct", "message"]).strings(), ["42", "halfway"]);
    assert!(server.cli(&["TTL", "status:j"]).as_int().unwrap_or(0) > 1790);
    Ok(())
}

#[tokio::test]
async fn read_totals_tells_a_key_of_the_wrong_type_from_zero() -> Outcome {
    let (server, redis) = start().await?;
    server.cli(&["SET", "cogworker:stats:processed", "12"]);
    server.cli(&["SET", "cogworker:retry", "x"]);
    server.cli(&["ZADD", "cogworker:dead", "1", "a"]);
    let totals = scripts::read_totals(&redis).await?;
    assert_eq!((totals.processed, totals.failed, totals.dead), (Some(12), Some(0), Some(1)));
    assert_eq!((totals.scheduled, totals.retrying), (Some(0), None));
    Ok(())
}

#[tokio::test]
async fn count_inprogress_counts_each_list_and_tells_who_lives() -> Outcome {
    let (server, redis) = start().await?;
    server.cli(&["LPUSH", &format!("cogworker:inprogress:{ME}"), "a", "b"]);
    server.cli(&["HSET", "cogworker:process:other", "busy", "0"]);
    let counts = scripts::count_inprogress(&redis, &[ME.to_owned(), "other".to_owned()]).await?;
    assert_eq!(counts, [(Some(2), false), (Some(0), true)]);
    assert!(scripts::count_inprogress(&redis, &[]).await?.is_empty());
    Ok(())
}
