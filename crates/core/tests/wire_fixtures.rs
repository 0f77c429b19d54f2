//! The data format is the gem's, byte for byte: checked against what the gem wrote.

use std::error::Error;

use cogworker_core::digest::{periodic_id, unique_digest};
use cogworker_core::failure::Failure;
use cogworker_core::formats::{
    AttemptOutcome, AttemptRecord, EndedRun, JobState, ProcessInfo, RunStatus, Status, Work, work_json,
};
use cogworker_core::new_job::NewJob;
use cogworker_core::payload_edit::failed_payload;
use cogworker_core::raw_job::RawJob;
use cogworker_core::time::EpochSeconds;
use serde_json::Value;

type Outcome = Result<(), Box<dyn Error>>;

const GOLDEN: &str = include_str!("wire/golden.json");
const AFTER_PUSH: &str = include_str!("wire/keyspace-after-push.json");
const WHILE_RUNNING: &str = include_str!("wire/keyspace-while-running.json");

/// Every recorded key with its value.
fn keyspace(text: &str) -> Result<Vec<(String, Value)>, Box<dyn Error>> {
    let keys: Vec<Value> = serde_json::from_str(text)?;
    Ok(keys
        .into_iter()
        .map(|key| (key["key"].as_str().unwrap_or("").to_owned(), key["value"].clone()))
        .collect())
}

/// Every stored job of the recorded lists and sorted sets.
fn jobs(text: &str) -> Result<Vec<(String, String)>, Box<dyn Error>> {
    let mut found = Vec::new();
    for (key, value) in keyspace(text)? {
        let holds_jobs = ["queue:", "inprogress:", "schedule", "retry", "dead"]
            .iter()
            .any(|kind| key.starts_with(&format!("cogworker:{kind}")));
        for element in value.as_array().into_iter().flatten().filter(|_| holds_jobs) {
            let raw = element.as_str().or_else(|| element[0].as_str()).unwrap_or("");
            found.push((key.clone(), raw.to_owned()));
        }
    }
    Ok(found)
}

#[test]
fn unique_digests_are_the_gems_uniq_03() -> Outcome {
    let golden: Value = serde_json::from_str(GOLDEN)?;
    let cases = golden["unique"].as_array().ok_or("no cases")?;
    assert!(cases.len() >= 8);
    for case in cases {
        let text = |field: &str| case[field].as_str().unwrap_or("");
        let digest = unique_digest(text("class"), text("queue"), text("args_json"));
        assert_eq!(digest, text("digest"), "{}", text("text"));
    }
    Ok(())
}

#[test]
fn a_digest_does_not_depend_on_how_a_float_was_spelled() {
    let ours = unique_digest("MathJob", "default", "[1e20,0.00001,100.0,1e15,1e16,123456789.125,0.1,-0.0]");
    assert_eq!(ours, "39155f650fdfad3df9b42228194775f43cb185ef");
}

#[test]
fn periodic_ids_are_the_gems_pent_02() -> Outcome {
    let golden: Value = serde_json::from_str(GOLDEN)?;
    for case in golden["periodic"].as_array().ok_or("no cases")? {
        let text = |field: &str| case[field].as_str().unwrap_or("");
        assert_eq!(periodic_id(text("cron"), text("class"), text("args_json")), text("pjid"));
    }
    Ok(())
}

#[test]
fn every_recorded_job_is_read_and_a_pushed_one_is_written_the_same() -> Outcome {
    let mut rebuilt = 0;
    for (key, raw) in jobs(AFTER_PUSH)?.into_iter().chain(jobs(WHILE_RUNNING)?) {
        let job = RawJob::parse(raw.as_bytes())?;
        assert!(!job.class().is_empty() && !job.jid().is_empty(), "{key}: {raw}");
        if job.field("failed_at").is_none() {
            let mut new = NewJob::from_json(&raw)?;
            new.prepare(EpochSeconds::now())?;
            assert_eq!(String::from_utf8(new.payload(job.enqueued_at()))?, raw, "{key}");
            rebuilt += 1;
        }
    }
    assert!(rebuilt >= 6, "only {rebuilt}");
    Ok(())
}

#[test]
fn a_job_built_from_its_parts_has_the_gems_key_order_push_14() -> Outcome {
    let raw = jobs(AFTER_PUSH)?.remove(0).1;
    let job = RawJob::parse(raw.as_bytes())?;
    let number = |key: &str| EpochSeconds::new(job.field_as::<f64>(key).unwrap_or(0.0));
    let mut new =
        NewJob::from_json(r#"{"queue":"low","retry":5,"lock_run":"while_executing","priority":{"a":1}}"#)?
            .set("class", "OptJob")
            .args(("x", 1, serde_json::json!({ "b": 2 })))
            .jid(job.jid());
    new.prepare(number("created_at"))?;
    let new = new.set("tags", ["api"]);
    assert_eq!(String::from_utf8(new.payload(Some(number("enqueued_at"))))?, raw);
    Ok(())
}

#[test]
fn a_failed_job_is_written_as_the_gem_writes_it_retry_05() -> Outcome {
    let mut checked = 0;
    for (key, raw) in jobs(WHILE_RUNNING)? {
        let job = RawJob::parse(raw.as_bytes())?;
        if !matches!(key.as_str(), "cogworker:retry" | "cogworker:dead") || job.class() == "(unparseable)" {
            continue;
        }
        let pushed = raw.split(",\"error_class\"").next().unwrap_or("").to_owned() + "}";
        let failure = Failure::new(
            job.field_as::<String>("error_class").unwrap_or_default(),
            job.field_as::<String>("error_message").unwrap_or_default(),
        );
        let failed_at = job.failed_at().ok_or("no failed_at")?;
        assert_eq!(String::from_utf8(failed_payload(pushed.as_bytes(), &failure, failed_at)?)?, raw);
        checked += 1;
    }
    assert_eq!(checked, 5);
    Ok(())
}

#[test]
fn the_wrapper_of_what_is_no_job_has_the_gems_keys_in_order_dead_10() -> Outcome {
    let (_, recorded) =
        jobs(WHILE_RUNNING)?.into_iter().find(|(_, raw)| raw.contains("got Array")).ok_or("none recorded")?;
    let reason = RawJob::parse(b"[1,2]").err().ok_or("an array is no job")?;
    let recorded_job = RawJob::parse(recorded.as_bytes())?;
    let failed_at = recorded_job.failed_at().ok_or("no failed_at")?;
    let ours = cogworker_core::unparseable::wrap(b"[1,2]", Some("default"), &reason, failed_at);
    let ours = String::from_utf8(ours)?;
    let our_jid = RawJob::parse(ours.as_bytes())?.jid().to_owned();
    assert_eq!(ours.replace(&our_jid, recorded_job.jid()), recorded);
    Ok(())
}

#[test]
fn attempts_process_info_and_work_are_written_as_recorded() -> Outcome {
    for (key, value) in keyspace(WHILE_RUNNING)? {
        if key.starts_with("cogworker:job_attempts:") {
            let text = value[0].as_str().unwrap_or("");
            let record: AttemptRecord = serde_json::from_str(text)?;
            let failure = Failure::new(record.error_class.clone(), record.error_message.clone());
            let again = AttemptRecord::new(record.attempt, record.failed_at, record.outcome, &failure);
            assert_eq!(again.to_json(), text);
            assert!(matches!(
                record.outcome,
                AttemptOutcome::Retrying | AttemptOutcome::Dead | AttemptOutcome::Killed
            ));
        } else if key.starts_with("cogworker:process:") {
            let text = value["info"].as_str().unwrap_or("");
            assert_eq!(serde_json::from_str::<ProcessInfo>(text)?.to_json(), text);
        } else if key.starts_with("cogworker:workers:") {
            for text in value.as_object().into_iter().flatten().filter_map(|(_, text)| text.as_str()) {
                let work: Work = serde_json::from_str(text)?;
                let run_at = work.run_at.plus(std::time::Duration::from_millis(900));
                let again = work_json(&work.queue, work.raw.get().as_bytes(), run_at);
                assert_eq!(String::from_utf8(again)?, text);
            }
        }
    }
    Ok(())
}

#[test]
fn the_recorded_history_is_read_hist_01_hist_02() -> Outcome {
    let mut read = Vec::new();
    for (key, value) in keyspace(WHILE_RUNNING)? {
        let Some(list) = key.strip_prefix("cogworker:history:") else { continue };
        for element in value.as_array().into_iter().flatten() {
            let run = EndedRun::parse(element[0].as_str().unwrap_or("").as_bytes()).ok_or("no record")?;
            assert_eq!(Some(run.finished_at.as_f64()), element[1].as_f64(), "the score");
            assert!(list == "all" || list == run.status.name(), "{list}");
            assert!(!run.class.is_empty() && run.args.get().starts_with('[') && run.duration_ms() >= 0.0);
            assert_eq!(run.backtrace.is_empty(), run.status == RunStatus::Success);
            assert_eq!(run.error().contains(": "), run.status == RunStatus::Failed);
            read.push(run);
        }
    }
    assert!(read.iter().any(|run| run.status == RunStatus::Success));
    assert!(read.iter().any(|run| run.status == RunStatus::Failed));
    Ok(())
}

#[test]
fn statuses_are_read_as_the_gem_writes_them_stat_05() -> Outcome {
    let mut states = Vec::new();
    for (key, value) in keyspace(WHILE_RUNNING)? {
        let (Some(fields), true) = (value.as_object(), key.starts_with("status:")) else { continue };
        let fields = fields
            .iter()
            .map(|(name, value)| (name.clone(), value.as_str().unwrap_or("").to_owned().into()))
            .collect();
        let status = Status::from_fields(fields).ok_or("no status")?;
        assert!(status.class.is_some() && status.queue.is_some() && status.update_time.is_some(), "{key}");
        assert_eq!(
            status.error_class.is_some(),
            matches!(status.state, JobState::Retrying | JobState::Failed)
        );
        if status.pct.is_some() {
            assert_eq!((status.pct, status.message.as_deref()), (Some(50.0), Some("half way")));
            assert_eq!(status.fields.into_iter().collect::<Vec<_>>(), [("rows".into(), "1000".into())]);
        }
        states.push(status.state);
    }
    use JobState::{Complete, Failed, Queued, Retrying, Working};
    for state in [Queued, Working, Retrying, Complete, Failed] {
        assert!(states.contains(&state), "{state:?}");
        assert_eq!(JobState::from_name(state.name()), state);
    }
    assert!(!states.contains(&JobState::Unknown));
    assert_eq!(Status::from_fields(Vec::new()), None);
    Ok(())
}
