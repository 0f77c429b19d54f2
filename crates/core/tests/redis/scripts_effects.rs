//! What a settlement writes beside its outcomes: status and history.

use std::time::Duration;

use crate::scripts_jobs::{LIST, NOW, counted, raw, settle, with_locks};
use crate::support::{ME, Outcome, has_ttl, start};
use cogworker_core::formats::epoch_hour;
use cogworker_core::history_limits::HistoryLimits;
use cogworker_core::locks::JobTraces;
use cogworker_core::redis::RedisError;
use cogworker_core::scripts::{self, Effect, Held, SettleBatch, SideStep, Step, Traces};
use cogworker_core::time::EpochSeconds;

#[tokio::test]
async fn status_and_history_are_written_only_where_the_outcome_applied() -> Outcome {
    let (server, redis) = start().await?;
    server.cli(&["LPUSH", LIST, "done", "failed"]);
    let settled = settle(&redis, |batch| {
        batch.keep_history(HistoryLimits::default());
        for (jid, ends_well) in [("lost", true), ("done", true), ("failed", false)] {
            match ends_well {
                true => batch.acknowledge(raw(jid), &counted("x")),
                false => {
                    let traces = Traces::default();
                    batch.file(raw(jid), "cogworker:dead".into(), NOW, b"entry".to_vec(), traces, 0);
                }
            }
            let fields = vec![("status".into(), "over".to_owned()), ("pct".into(), "42".to_owned())];
            batch.add_effect(Effect::Status { key: format!("status:{jid}"), ttl: 1800, fields });
            let record = format!("record of {jid}").into_bytes();
            let finished_at = EpochSeconds::new(86_400.5);
            batch.add_effect(Effect::History {
                record,
                finished_at,
                success: ends_well,
                class: "AJob".into(),
                took: Duration::from_millis(30),
            });
        }
    })
    .await?;
    assert_eq!(settled.steps, [Step::Gone, Step::Applied, Step::Applied]);
    assert!(settled.side_errors.is_empty());
    assert_eq!(server.cli(&["EXISTS", "status:lost"]), 0);
    for jid in ["done", "failed"] {
        assert_eq!(
            server.cli(&["HMGET", &format!("status:{jid}"), "status", "pct"]).strings(),
            ["over", "42"]
        );
        assert!(has_ttl(&server, &format!("status:{jid}"), 1800));
    }
    let records =
        |list: &str| server.cli(&["ZRANGE", &format!("cogworker:history:{list}"), "0", "-1"]).strings();
    assert_eq!(records("all"), ["record of done", "record of failed"]);
    assert_eq!(
        (records("success"), records("failed")),
        (vec!["record of done".to_owned()], vec!["record of failed".to_owned()])
    );
    assert_eq!(server.cli(&["ZSCORE", "cogworker:history:all", "record of done"]), "86400.5");
    let day = "cogworker:history:daily:1970-01-02";
    assert_eq!(server.cli(&["HMGET", day, "success", "failed"]).strings(), ["1", "1"], "HIST-07");
    assert!(has_ttl(&server, day, 34_560_000));
    Ok(())
}

#[tokio::test]
async fn the_history_keeps_the_newest_runs_of_its_time_hist_05_hist_06() -> Outcome {
    let (server, redis) = start().await?;
    let now = EpochSeconds::new(1_000_000.0);
    let limits = HistoryLimits::new().max_entries(3).retention(Duration::from_secs(100));
    for (number, finished_at) in
        [999_000.0, 999_990.0, 999_991.0, 999_992.0, 999_993.0].into_iter().enumerate()
    {
        server.cli(&["LPUSH", LIST, "job"]);
        let mut batch = SettleBatch::new(Held::Listed, (0, 0));
        batch.keep_history(limits);
        batch.acknowledge(raw("job"), &counted("x"));
        let (record, finished_at) = (number.to_string().into_bytes(), EpochSeconds::new(finished_at));
        batch.add_effect(Effect::History {
            record,
            finished_at,
            success: true,
            class: "AJob".into(),
            took: Duration::ZERO,
        });
        scripts::settle_jobs(&redis, ME, now, batch).await?;
        if number == 0 {
            assert_eq!(server.cli(&["EXISTS", "cogworker:history:all"]), 0, "too old");
        }
    }
    for list in ["all", "success"] {
        let kept = server.cli(&["ZRANGE", &format!("cogworker:history:{list}"), "0", "-1"]).strings();
        assert_eq!(kept, ["2", "3", "4"], "{list}");
    }
    assert_eq!(server.cli(&["HGET", "cogworker:history:daily:1970-01-12", "success"]), "5", "HIST-08");
    Ok(())
}

#[tokio::test]
async fn what_cannot_be_written_beside_an_outcome_is_told_step_by_step_and_changes_none_mw_08_log_02()
-> Outcome {
    let (server, redis) = start().await?;
    server.cli(&["LPUSH", LIST, "done", "failed"]);
    let keys = redis.keys();
    let hour = keys.throughput(epoch_hour(NOW));
    let damaged = [&keys.history_all(), &keys.status("j"), &keys.job_attempts("j"), &hour];
    for key in damaged {
        server.cli(&["SET", key, "damaged"]);
    }
    let settled = settle(&redis, |batch| {
        batch.acknowledge(raw("done"), &counted("x"));
        batch.add_effect(Effect::History {
            record: b"r".to_vec(),
            finished_at: NOW,
            success: true,
            class: "AJob".into(),
            took: Duration::ZERO,
        });
        let fields = vec![("status".into(), "over".to_owned())];
        batch.add_effect(Effect::Status { key: keys.status("j"), ttl: 1800, fields });
        let attempt = Some((keys.job_attempts("j"), "record".to_owned()));
        let traces = Traces { attempt, job: counted("j") };
        batch.file(raw("failed"), keys.retry(), NOW, b"entry".to_vec(), traces, 0);
    })
    .await?;
    assert_eq!((settled.steps, settled.uncounted), (vec![Step::Applied; 2], (0, 0)));
    let told: Vec<_> = settled.side_errors.iter().map(|(step, _)| *step).collect();
    assert_eq!(told, [SideStep::Attempts, SideStep::Status, SideStep::History, SideStep::Throughput]);
    assert!(settled.side_errors.iter().all(|(_, error)| matches!(error, RedisError::WrongType(_))));
    assert_eq!(server.cli(&["MGET", &keys.stats_processed(), &keys.stats_failed()]).strings(), ["1", "1"]);

    server.cli(&["LPUSH", LIST, "done"]);
    server.cli(&["LPUSH", "cogworker:stats:other", "x"]);
    server.cli(&["RENAME", "cogworker:stats:other", &keys.stats_processed()]);
    let settled = settle(&redis, |batch| batch.acknowledge(raw("done"), &counted("x"))).await?;
    assert_eq!((settled.uncounted, settled.side_errors[0].0), ((1, 0), SideStep::Processed));
    Ok(())
}

#[tokio::test]
async fn a_status_of_any_number_of_fields_changes_no_outcome_mw_08() -> Outcome {
    let (server, redis) = start().await?;
    server.cli(&["LPUSH", LIST, "job", "other"]);
    let fields = (0..5_000).map(|number| (format!("field {number}").into(), number.to_string())).collect();
    let settled = settle(&redis, |batch| {
        batch.acknowledge(raw("job"), &counted("j"));
        batch.add_effect(Effect::Status { key: "status:j".into(), ttl: 100, fields });
        batch.acknowledge(raw("other"), &counted("k"));
    })
    .await?;
    assert_eq!(settled.steps, [Step::Applied; 2]);
    assert_eq!(server.cli(&["HLEN", "status:j"]), 5_001, "and update_time");
    assert_eq!(server.cli(&["GET", "cogworker:stats:processed"]), "2");
    Ok(())
}

#[tokio::test]
async fn a_retry_that_is_handed_over_holds_its_locks_until_it_is_due_uniq_13() -> Outcome {
    let (server, redis) = start().await?;
    server.cli(&["LPUSH", LIST, "job"]);
    server.cli(&["SET", "cogworker:unique:u", "j", "EX", "5"]);
    settle(&redis, |batch| {
        let job = JobTraces { locks: with_locks(), ..JobTraces::default() };
        let traces = Traces { attempt: None, job };
        batch.hand_over(raw("job"), "cogworker:unsettled".into(), b"record".to_vec(), traces, 90_000);
    })
    .await?;
    assert!((89_990..=90_000).contains(&server.cli(&["TTL", "cogworker:unique:u"]).as_int().unwrap_or(0)));
    Ok(())
}

#[tokio::test]
async fn a_retry_takes_lapsed_locks_again_but_no_others_and_none_it_never_had_runlk_03_hook_13() -> Outcome {
    let (server, redis) = start().await?;
    let (unique, running) = ("cogworker:unique:u", "periodic:running:p");
    let file = async |locks: cogworker_core::locks::JobLocks| {
        server.cli(&["LPUSH", LIST, "job"]);
        settle(&redis, |batch| {
            let traces = Traces { attempt: None, job: JobTraces { locks, ..JobTraces::default() } };
            batch.file(raw("job"), "cogworker:retry".into(), NOW, b"entry".to_vec(), traces, 500);
        })
        .await
    };
    file(with_locks()).await?;
    for lock in [unique, running] {
        assert_eq!(server.cli(&["GET", lock]), "j");
        assert!(has_ttl(&server, lock, 500));
    }
    server.cli(&["MSET", unique, "another", running, "another"]);
    file(with_locks()).await?;
    for lock in [unique, running] {
        assert_eq!(server.cli(&["GET", lock]), "another");
        assert_eq!(server.cli(&["TTL", lock]), -1);
    }
    server.cli(&["DEL", unique, running]);
    file(cogworker_core::locks::JobLocks { unique: None, until_executed: false, ..with_locks() }).await?;
    assert_eq!(server.cli(&["EXISTS", running]), 0, "such runs never take it");
    Ok(())
}

#[tokio::test]
async fn how_long_runs_took_is_counted_by_class_with_the_history() -> Outcome {
    let (server, redis) = start().await?;
    server.cli(&["LPUSH", LIST, "a", "b"]);
    let record = |class: &str, millis| Effect::History {
        record: class.as_bytes().to_vec(),
        finished_at: NOW,
        success: true,
        class: class.to_owned(),
        took: Duration::from_millis(millis),
    };
    settle(&redis, |batch| {
        for (job, class, millis) in [("a", "A", 3), ("b", "A", 7)] {
            batch.acknowledge(raw(job), &counted("x"));
            batch.add_effect(record(class, millis));
        }
    })
    .await?;
    // Of a batch in which nothing applied, nothing is counted.
    settle(&redis, |batch| {
        batch.acknowledge(raw("gone"), &counted("x"));
        batch.add_effect(record("B", 3));
    })
    .await?;
    for (field, value) in [("0:A", "1"), ("1:A", "1"), ("sum:A", "10000")] {
        assert_eq!(server.cli(&["HGET", "cogworker:durations", field]), value);
    }
    assert_eq!(server.cli(&["HLEN", "cogworker:durations"]), 3);
    Ok(())
}

/// All kinds of groups in one batch of 500: each job's status, record, day and durations are its own,
/// and lost jobs leave nothing.
#[tokio::test]
async fn of_a_mixed_batch_each_outcome_that_applied_writes_just_its_own_and_lost_ones_nothing() -> Outcome {
    const OUTCOMES: usize = 500;
    let (server, redis) = start().await?;
    let keys = redis.keys();
    let name = |number: usize| format!("job {number}");
    let is_lost = |number: usize| number % 7 == 3;
    let fails = |number: usize| number % 3 == 1;
    let ttl = |number: usize| 1000 + (number % 4) as u64;
    let day = |number: usize| if number.is_multiple_of(2) { 86_399.5 } else { 86_400.5 };
    let fields = |number: usize| {
        let mut fields = vec![("status", if fails(number) { "retry" } else { "complete" }.to_owned())];
        if number.is_multiple_of(5) {
            fields.push(("own", number.to_string()));
            fields.push(("large", "x".repeat(number * 40)));
        }
        fields
    };
    for number in (0..OUTCOMES).filter(|number| !is_lost(*number)) {
        server.cli(&["LPUSH", LIST, &name(number)]);
    }
    let settled = settle(&redis, |batch| {
        batch.keep_history(HistoryLimits::default());
        for number in 0..OUTCOMES {
            if fails(number) {
                let entry = format!("entry {number}").into_bytes();
                batch.file(raw(&name(number)), keys.retry(), NOW, entry, Traces::default(), 0);
            } else {
                batch.acknowledge(raw(&name(number)), &counted("x"));
            }
            let fields = fields(number).into_iter().map(|(field, value)| (field.into(), value)).collect();
            batch.add_effect(Effect::Status { key: keys.status(&name(number)), ttl: ttl(number), fields });
            batch.add_effect(Effect::History {
                record: format!("record {number}").into_bytes(),
                finished_at: EpochSeconds::new(day(number)),
                success: !fails(number),
                class: "AJob".into(),
                took: Duration::from_millis(30),
            });
        }
    })
    .await?;
    let mut wanted = [Vec::new(), Vec::new(), Vec::new()];
    for (number, step) in settled.steps.iter().enumerate() {
        assert_eq!(*step, if is_lost(number) { Step::Gone } else { Step::Applied }, "{number}");
        let key = keys.status(&name(number));
        if is_lost(number) {
            assert_eq!(server.cli(&["EXISTS", &key]), 0, "{number}");
            continue;
        }
        for (field, value) in fields(number) {
            assert_eq!(server.cli(&["HGET", &key, field]), value.as_str(), "{number} {field}");
        }
        assert_eq!(server.cli(&["HLEN", &key]), fields(number).len() as i64 + 1, "{number}: and update_time");
        assert!(has_ttl(&server, &key, ttl(number) as i64), "{number}");
        wanted[0].push(format!("record {number}"));
        wanted[1 + usize::from(fails(number))].push(format!("record {number}"));
    }
    assert!(settled.side_errors.is_empty(), "{:?}", settled.side_errors);
    let lists = [keys.history_all(), keys.history_success(), keys.history_failed()];
    for (list, mut wanted) in lists.iter().zip(wanted) {
        let mut records = server.cli(&["ZRANGE", list, "0", "-1"]).strings();
        records.sort_unstable();
        wanted.sort_unstable();
        assert_eq!(records, wanted, "{list}");
    }
    let counted = |odd: usize, failed: bool| {
        let of = |number: &usize| number % 2 == odd && fails(*number) == failed && !is_lost(*number);
        (0..OUTCOMES).filter(of).count().to_string()
    };
    for (odd, day) in ["1970-01-01", "1970-01-02"].into_iter().enumerate() {
        let counts = server.cli(&["HMGET", &keys.history_daily(day), "success", "failed"]).strings();
        assert_eq!(counts, [counted(odd, false), counted(odd, true)], "{day}");
    }
    Ok(())
}

#[tokio::test]
async fn of_two_outcomes_of_one_job_in_a_batch_the_later_status_stands() -> Outcome {
    let (server, redis) = start().await?;
    let keys = redis.keys();
    server.cli(&["LPUSH", LIST, "other", "first", "second"]);
    settle(&redis, |batch| {
        for (job, jid, status) in
            [("other", "o", "complete"), ("first", "j", "retry"), ("second", "j", "complete")]
        {
            batch.acknowledge(raw(job), &counted("x"));
            let fields = vec![("status".into(), status.to_owned())];
            batch.add_effect(Effect::Status { key: keys.status(jid), ttl: 1800, fields });
        }
    })
    .await?;
    assert_eq!(server.cli(&["HGET", &keys.status("j"), "status"]), "complete");
    Ok(())
}
