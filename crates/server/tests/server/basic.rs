//! Basic fetch, and the fall-back to it.

use std::time::Duration;

use cogworker_core::new_job::NewJob;
use cogworker_server::{App, Config, FetchMode, JobError};

use crate::support::{Gate, Numbered, Seen, Site, TestResult, Text, reach};

fn basic(config: &mut Config) {
    config.fetch = FetchMode::Basic;
}

/// Odd numbers fail.
fn noting(seen: &Seen<usize>) -> App {
    let seen = seen.clone();
    App::new(()).job(move |job: Numbered| {
        let seen = seen.clone();
        async move {
            seen.add(job.0);
            if job.0 % 2 == 1 { Err(JobError::new("Odd", "no")) } else { Ok(()) }
        }
    })
}

/// Runs `count` jobs, half of which fail, and checks that everything is counted once.
async fn drains(site: &Site, seen: &Seen<usize>, count: usize) -> TestResult {
    let jobs: Vec<_> = (0..count).map(Numbered).collect();
    site.client.push_bulk(&jobs).await?;
    let half = (count / 2) as i64;
    reach("all ran and are settled", || site.processed() == half && site.failed() == half)?;
    assert_eq!((seen.len(), site.members("retry"), site.waiting("default")), (count, half, 0));
    assert_eq!(site.texts(&["KEYS", "cogworker:inprogress*"]), Vec::<String>::new());
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn jobs_run_and_are_settled_without_an_in_progress_list_bfetch_01() -> TestResult {
    let site = Site::start().await?;
    let seen = Seen::default();
    let worker = site.worker_with(noting(&seen), basic)?;
    drains(&site, &seen, 1000).await?;
    // Out of an idle wait as well.
    site.client.perform_async(&Numbered(2)).await?;
    reach("a lone job runs", || seen.len() == 1001)?;
    worker.stop().await?;
    assert_eq!(site.texts(&["KEYS", "cogworker:inprogress*"]), Vec::<String>::new());
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_paused_queue_keeps_its_jobs_and_the_others_are_served_bfetch_02_to_05() -> TestResult {
    let site = Site::start().await?;
    let seen = Seen::default();
    let worker = site.worker_with(noting(&seen), |config| {
        basic(config);
        config.queues = vec!["default".into(), "other".into()];
    })?;
    site.client.queue("default").pause().await?;
    site.client.perform_async(&Numbered(2)).await?;
    site.client.push(NewJob::of(&Numbered(4)).queue("other")).await?;
    reach("the other queue is served", || seen.len() == 1)?;
    assert_eq!((site.waiting("default"), seen.all()), (1, vec![4]));
    site.client.queue("default").resume().await?;
    reach("it runs after the resume", || seen.len() == 2)?;
    worker.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stuck_job_is_put_back_at_the_limit_bfetch_06_req_06() -> TestResult {
    let site = Site::start().await?;
    let gate = Gate::closed();
    let inside = gate.clone();
    let app = App::new(()).job(move |_: Text| {
        let inside = inside.clone();
        async move { inside.pass().await }
    });
    let worker = site.worker_with(app, basic)?;
    for jid in ["a", "b", "c"] {
        site.client.push(NewJob::of(&Text(jid.into())).jid(jid)).await?;
        reach("it runs", || gate.arrived() == usize::from(jid.as_bytes()[0] - b'a' + 1))?;
    }
    worker.stop().await?;
    let queue = site.texts(&["LRANGE", "cogworker:queue:default", "0", "-1"]);
    let jids: Vec<_> = queue.iter().filter_map(|job| job.split(r#""jid":""#).nth(1)?.get(..1)).collect();
    assert_eq!(jids, ["c", "b", "a"], "the oldest is taken next");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_basic_process_recovers_the_jobs_of_registered_dead_ones_only_orph_16_sched_12() -> TestResult {
    let site = Site::start().await?;
    let job =
        |number: usize| format!(r#"{{"class":"NumberedJob","args":[{number}],"queue":"default","jid":"j"}}"#);
    site.run(&["SADD", "cogworker:inprogress_identities", "dead:1:aaaaaaaaaaaa"])?;
    site.run(&["LPUSH", "cogworker:inprogress:dead:1:aaaaaaaaaaaa", &job(2)])?;
    site.run(&["LPUSH", "cogworker:inprogress:unknown:1:aaaaaaaaaaaa", &job(4)])?;
    let seen = Seen::default();
    let worker = site.worker_with(noting(&seen), |config| {
        basic(config);
        config.timings.check = Duration::from_millis(100);
    })?;
    reach("it runs", || seen.len() == 1)?;
    worker.stop().await?;
    assert_eq!(seen.all(), [2]);
    assert_eq!(site.int(&["LLEN", "cogworker:inprogress:unknown:1:aaaaaaaaaaaa"]), 1);
    Ok(())
}
