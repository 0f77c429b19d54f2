//! Periodic entries, script by script.

use crate::support::{ME, Outcome, list, start};
use bytes::Bytes;
use cogworker_core::redis::Redis;
use cogworker_core::scripts::{self, Fired, Held, RunningLock, Slot};

fn slot(at: i64, jid: &str) -> Slot<'_> {
    Slot {
        pjid: "p",
        at,
        jid,
        job: Some(format!("job {jid}").into_bytes()),
        queue: "q",
        until_executed: true,
        unique_lock: None,
        lock_ttl: 86_400,
        class: "TickJob",
        status_ttl: None,
        last_look: false,
        catch_up: true,
    }
}

async fn fire(redis: &Redis, slot: Slot<'_>) -> Result<Fired, Box<dyn std::error::Error>> {
    Ok(scripts::fire_slot(redis, slot).await?.0)
}

#[tokio::test]
async fn fire_slot_pushes_the_job_once_and_takes_the_running_lock_tick_01_tick_19_tick_28() -> Outcome {
    let (server, redis) = start().await?;
    assert_eq!(fire(&redis, slot(60, "a")).await?, Fired::Fired);
    assert_eq!(list(&server, "cogworker:queue:q"), ["job a"]);
    assert_eq!(server.cli(&["GET", "periodic:last_slot:p"]), "60");
    assert_eq!(server.cli(&["GET", "periodic:running:p"]), "a");
    assert!(
        (86_390..=86_400).contains(&server.cli(&["TTL", "periodic:running:p"]).as_int().unwrap_or(0)),
        "TICK-02"
    );
    assert_eq!(server.cli(&["GET", "periodic:lock:p:60"]), "1");
    assert!((1..=20).contains(&server.cli(&["TTL", "periodic:lock:p:60"]).as_int().unwrap_or(0)));
    assert_eq!(server.cli(&["SISMEMBER", "cogworker:queues", "q"]), 1);
    // Another process, the same slot or an older one.
    assert_eq!(fire(&redis, slot(60, "b")).await?, Fired::Lost);
    assert_eq!(fire(&redis, slot(30, "b")).await?, Fired::Lost);
    // The next slot, while the run holds the entry, and after it.
    assert_eq!(fire(&redis, slot(120, "b")).await?, Fired::Blocked);
    server.cli(&["DEL", "periodic:running:p"]);
    assert_eq!(fire(&redis, slot(120, "b")).await?, Fired::Fired);
    assert_eq!(list(&server, "cogworker:queue:q"), ["job b", "job a"]);
    Ok(())
}

#[tokio::test]
async fn a_slot_without_a_job_is_used_up_and_takes_no_locks_tick_04() -> Outcome {
    let (server, redis) = start().await?;
    let without =
        |at, jid| Slot { job: None, unique_lock: Some("cogworker:unique:u".into()), ..slot(at, jid) };
    assert_eq!(fire(&redis, without(60, "a")).await?, Fired::Passed);
    assert_eq!(server.cli(&["GET", "periodic:last_slot:p"]), "60");
    assert_eq!(server.cli(&["EXISTS", "cogworker:queue:q", "periodic:running:p", "cogworker:unique:u"]), 0);
    assert_eq!(fire(&redis, slot(60, "b")).await?, Fired::Lost);
    assert_eq!(fire(&redis, slot(120, "b")).await?, Fired::Fired);
    assert_eq!(fire(&redis, without(180, "c")).await?, Fired::Blocked, "as any other");
    Ok(())
}

#[tokio::test]
async fn a_slot_that_another_process_has_locked_is_lost() -> Outcome {
    let (server, redis) = start().await?;
    server.cli(&["SET", "periodic:lock:p:60", "1", "EX", "20"]);
    assert_eq!(fire(&redis, slot(60, "a")).await?, Fired::Lost);
    assert_eq!(server.cli(&["EXISTS", "cogworker:queue:q", "periodic:running:p"]), 0);
    Ok(())
}

#[tokio::test]
async fn without_catch_up_the_first_slot_only_counts_as_seen_tick_20_tick_21() -> Outcome {
    let (server, redis) = start().await?;
    let late = |at, jid| Slot { catch_up: false, ..slot(at, jid) };
    assert_eq!(fire(&redis, late(60, "a")).await?, Fired::First);
    assert_eq!(server.cli(&["GET", "periodic:last_slot:p"]), "60");
    assert_eq!(server.cli(&["EXISTS", "cogworker:queue:q"]), 0);
    assert_eq!(fire(&redis, late(60, "b")).await?, Fired::Lost);
    assert_eq!(fire(&redis, late(120, "c")).await?, Fired::Fired);
    Ok(())
}

#[tokio::test]
async fn a_disabled_entry_does_nothing_and_an_unreadable_switch_is_on_tick_15_tick_16() -> Outcome {
    let (server, redis) = start().await?;
    server.cli(&["SADD", "periodic:disabled", "p"]);
    assert_eq!(fire(&redis, slot(60, "a")).await?, Fired::Disabled);
    assert_eq!(server.cli(&["EXISTS", "periodic:last_slot:p", "periodic:running:p", "cogworker:queue:q"]), 0);
    server.cli(&["DEL", "periodic:disabled"]);
    server.cli(&["SET", "periodic:disabled", "no set"]);
    let (fired, trouble) = scripts::fire_slot(&redis, slot(60, "a")).await?;
    assert_eq!((fired, trouble.is_some()), (Fired::Fired, true), "and told");
    Ok(())
}

#[tokio::test]
async fn a_queue_that_refuses_the_job_leaves_the_slot_free_tick_07_tick_08() -> Outcome {
    let (server, redis) = start().await?;
    server.cli(&["SET", "cogworker:queue:q", "no list"]);
    let unique = || Slot { unique_lock: Some("cogworker:unique:u".into()), ..slot(60, "a") };
    let (fired, trouble) = scripts::fire_slot(&redis, unique()).await?;
    assert_eq!((fired, trouble.is_some()), (Fired::Refused, true));
    let left =
        ["EXISTS", "periodic:last_slot:p", "periodic:running:p", "periodic:lock:p:60", "cogworker:unique:u"];
    assert_eq!(server.cli(&left), 0);
    server.cli(&["DEL", "cogworker:queue:q"]);
    assert_eq!(fire(&redis, unique()).await?, Fired::Fired);
    assert_eq!(server.cli(&["GET", "cogworker:unique:u"]), "a");
    Ok(())
}

#[tokio::test]
async fn a_unique_job_that_waits_uses_the_slot_up() -> Outcome {
    let (server, redis) = start().await?;
    server.cli(&["SET", "cogworker:unique:u", "another"]);
    let unique =
        Slot { unique_lock: Some("cogworker:unique:u".into()), until_executed: false, ..slot(60, "a") };
    assert_eq!(fire(&redis, unique).await?, Fired::Duplicate);
    assert_eq!(server.cli(&["GET", "periodic:last_slot:p"]), "60");
    assert_eq!(server.cli(&["GET", "cogworker:unique:u"]), "another");
    assert_eq!(server.cli(&["EXISTS", "cogworker:queue:q"]), 0);
    Ok(())
}

#[tokio::test]
async fn publish_schedule_adds_or_replaces_pent_04_pent_06() -> Outcome {
    let (server, redis) = start().await?;
    let entry = |pjid: &str| (pjid.to_owned(), format!("entry {pjid}"));
    scripts::publish_schedule(&redis, &[entry("a"), entry("b")], false).await?;
    scripts::publish_schedule(&redis, &[entry("c")], false).await?;
    assert_eq!(server.cli(&["HLEN", "periodic:schedule"]), 3);
    scripts::publish_schedule(&redis, &[entry("b"), entry("d")], true).await?;
    let mut left = server.cli(&["HKEYS", "periodic:schedule"]).strings();
    left.sort();
    assert_eq!(left, ["b", "d"]);
    Ok(())
}

#[tokio::test]
async fn hold_running_locks_renews_its_own_and_retakes_only_what_is_still_in_progress_runlk_05_to_11()
-> Outcome {
    let (server, redis) = start().await?;
    server.cli(&["SET", "periodic:running:own", "own", "EX", "5"]);
    server.cli(&["SET", "periodic:running:other", "newer", "EX", "5"]);
    server.cli(&["LPUSH", &format!("cogworker:inprogress:{ME}"), "job lapsed", "job own"]);
    let runs: Vec<_> = ["own", "other", "lapsed", "ended"]
        .map(|name| RunningLock {
            key: format!("periodic:running:{name}"),
            jid: name.to_owned(),
            job: Bytes::from(format!("job {name}")),
        })
        .into();
    assert_eq!(scripts::hold_running_locks(&redis, ME, 420, false, Held::Listed, &runs).await?, 1);
    assert!(server.cli(&["TTL", "periodic:running:own"]).as_int() > Some(400));
    assert!(server.cli(&["TTL", "periodic:running:other"]).as_int() <= Some(5));
    assert_eq!(server.cli(&["EXISTS", "periodic:running:lapsed"]), 0, "a normal beat brings nothing back");
    assert_eq!(scripts::hold_running_locks(&redis, ME, 420, true, Held::Listed, &runs).await?, 2);
    assert_eq!(server.cli(&["GET", "periodic:running:lapsed"]), "lapsed");
    assert_eq!(server.cli(&["EXISTS", "periodic:running:ended"]), 0, "its run has ended");
    Ok(())
}

#[tokio::test]
async fn list_periodic_tells_how_entries_stand_and_keeps_to_the_order() -> Outcome {
    let (server, redis) = start().await?;
    server.cli(&["HSET", "periodic:schedule", "a", "{}"]);
    server.cli(&["SADD", "periodic:disabled", "b"]);
    fire(&redis, slot(60, "j")).await?;
    let pjids = ["a", "b", "p"].map(str::to_owned);
    let states = scripts::list_periodic(&redis, &pjids).await?;
    let told: Vec<_> = states
        .iter()
        .map(|state| (&state.published[..], state.disabled, state.last_slot, state.running.as_deref()))
        .collect();
    assert_eq!(
        told,
        [
            (b"{}".as_slice(), false, None, None),
            (b"".as_slice(), true, None, None),
            (b"".as_slice(), false, Some(60), Some("j"))
        ]
    );
    assert_eq!(scripts::list_periodic(&redis, &[]).await?, []);
    Ok(())
}

#[tokio::test]
async fn fire_slot_says_that_the_job_is_queued_where_statuses_are_kept_stat_01() -> Outcome {
    let (server, redis) = start().await?;
    assert_eq!(fire(&redis, slot(60, "none")).await?, Fired::Fired);
    let kept = Slot { status_ttl: Some(600), until_executed: false, ..slot(120, "kept") };
    assert_eq!(fire(&redis, kept).await?, Fired::Fired);
    let late = Slot { status_ttl: Some(600), until_executed: false, ..slot(120, "late") };
    assert_eq!(fire(&redis, late).await?, Fired::Lost);
    assert_eq!(server.cli(&["KEYS", "status:*"]).strings(), ["status:kept"]);
    for (field, value) in [("status", "queued"), ("class", "TickJob"), ("queue", "q")] {
        assert_eq!(server.cli(&["HGET", "status:kept", field]), value);
    }
    let ttl = server.cli(&["TTL", "status:kept"]).as_int().unwrap_or(0);
    assert!((590..=600).contains(&ttl), "{ttl}");
    Ok(())
}

#[tokio::test]
async fn a_slot_that_is_still_blocked_at_its_last_look_is_used_up_tick_26() -> Outcome {
    let (server, redis) = start().await?;
    assert_eq!(fire(&redis, slot(60, "a")).await?, Fired::Fired);
    assert_eq!(fire(&redis, slot(120, "b")).await?, Fired::Blocked);
    assert_eq!(server.cli(&["GET", "periodic:last_slot:p"]), "60");
    let last = Slot { last_look: true, ..slot(120, "c") };
    assert_eq!(fire(&redis, last).await?, Fired::Skipped);
    server.cli(&["DEL", "periodic:running:p"]);
    assert_eq!(fire(&redis, slot(120, "d")).await?, Fired::Lost, "for every process, later ones too");
    assert_eq!(fire(&redis, Slot { last_look: true, ..slot(180, "e") }).await?, Fired::Fired);
    Ok(())
}

#[tokio::test]
async fn the_lock_of_a_popped_run_is_never_shortened_runlk_11() -> Outcome {
    let (server, redis) = start().await?;
    // Filed for a retry since the heartbeat looked, or not.
    server.cli(&["SET", "filed", "a", "EX", "86400"]);
    server.cli(&["SET", "running", "b", "EX", "5"]);
    let lock = |key: &str, jid: &str| RunningLock { key: key.into(), jid: jid.into(), job: Bytes::new() };
    let runs = [lock("filed", "a"), lock("running", "b")];
    scripts::hold_running_locks(&redis, ME, 420, false, Held::Popped, &runs).await?;
    let ttl = |key| server.cli(&["TTL", key]).as_int().unwrap_or(0);
    assert!(ttl("filed") > 86_000 && ttl("running") > 400, "{} {}", ttl("filed"), ttl("running"));
    Ok(())
}
