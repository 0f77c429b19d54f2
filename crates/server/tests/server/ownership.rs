//! A job belongs to the process on whose list it is.

use cogworker_server::{App, JobError};

use crate::support::{Gate, Numbered, Seen, Site, TestResult, reach};

/// Odd numbers fail; all wait at the gate.
fn gated(gate: &Gate, seen: &Seen<usize>) -> App {
    let (gate, seen) = (gate.clone(), seen.clone());
    App::new(()).job(move |job: Numbered| {
        let (gate, seen) = (gate.clone(), seen.clone());
        async move {
            gate.pass().await;
            seen.add(job.0);
            if job.0 % 2 == 1 { Err(JobError::new("E", "odd")) } else { Ok(()) }
        }
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_written_or_counted_for_a_job_that_was_taken_away_while_it_ran() -> TestResult {
    let site = Site::start().await?;
    let (gate, seen) = (Gate::closed(), Seen::default());
    let worker = site.worker(gated(&gate, &seen))?;
    site.client.push_bulk(&[Numbered(1), Numbered(2)]).await?;
    reach("both run", || gate.arrived() == 2)?;
    site.run(&["DEL", &worker.key("inprogress")])?;
    gate.let_pass(2);
    reach("both ended", || seen.len() == 2)?;
    // Settlements are made in order: once this one is counted, the others have been.
    gate.let_pass(1);
    site.client.perform_async(&Numbered(4)).await?;
    reach("the next one is settled", || site.processed() == 1)?;
    assert_eq!((site.failed(), site.members("retry"), site.members("dead")), (0, 0, 0));
    assert_eq!(site.texts(&["KEYS", "cogworker:job_attempts:*"]), Vec::<String>::new());
    assert_eq!((site.waiting("default"), site.in_progress(&worker)), (0, 0));
    worker.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_element_on_the_own_list_that_nobody_delivered_is_run_rec_01() -> TestResult {
    let site = Site::start().await?;
    let (gate, seen) = (Gate::closed(), Seen::default());
    gate.let_pass(10);
    let worker = site.worker(gated(&gate, &seen))?;
    site.client.perform_async(&Numbered(2)).await?;
    reach("it works", || site.processed() == 1)?;
    let stray = r#"{"class":"NumberedJob","args":[8],"queue":"elsewhere","jid":"stray"}"#;
    site.run(&["LPUSH", &worker.key("inprogress"), stray])?;
    site.run(&["LPUSH", &worker.key("inprogress"), "no job at all"])?;
    reach("the stray runs", || site.processed() == 2)?;
    reach("what is no job is buried", || site.members("dead") == 1)?;
    assert_eq!(seen.all(), [2, 8]);
    assert_eq!(site.in_progress(&worker), 0);
    worker.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stray_found_at_the_end_goes_back_to_its_own_queue_req_01_req_02() -> TestResult {
    let site = Site::start().await?;
    let (gate, seen) = (Gate::closed(), Seen::default());
    let worker = site.worker(gated(&gate, &seen))?;
    // One that is stopped sooner may end before it has an engine.
    reach("it waits", || site.text(&["CLIENT", "LIST"]).contains("cmd=blmove"))?;
    let job =
        |jid: &str, queue: &str| format!(r#"{{"class":"X","args":[],"queue":"{queue}","jid":"{jid}"}}"#);
    let jobs = [job("old", "a"), job("new", "a"), job("other", "b"), "no job".to_owned()];
    for job in &jobs {
        site.run(&["LPUSH", &worker.key("inprogress"), job])?;
    }
    let list = worker.key("inprogress");
    worker.stop().await?;
    assert_eq!(site.int(&["LLEN", &list]), 0);
    assert_eq!(site.texts(&["LRANGE", "cogworker:queue:a", "0", "-1"]), [jobs[1].as_str(), &jobs[0]]);
    assert_eq!(site.texts(&["LRANGE", "cogworker:queue:b", "0", "-1"]), [jobs[2].as_str()]);
    assert_eq!(site.texts(&["LRANGE", "cogworker:queue:default", "0", "-1"]), ["no job"]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_end_of_a_job_clears_its_orphan_counter_rfetch_10() -> TestResult {
    let site = Site::start().await?;
    let (gate, seen) = (Gate::closed(), Seen::default());
    gate.let_pass(2);
    for jid in ["good", "bad"] {
        site.run(&["SET", &format!("cogworker:orphanings:{jid}"), "2"])?;
    }
    let worker = site.worker(gated(&gate, &seen))?;
    site.push_raw("default", r#"{"class":"NumberedJob","args":[2],"queue":"default","jid":"good"}"#)?;
    site.push_raw("default", r#"{"class":"NumberedJob","args":[1],"queue":"default","jid":"bad"}"#)?;
    reach("both end", || site.processed() == 1 && site.failed() == 1)?;
    assert_eq!(site.texts(&["KEYS", "cogworker:orphanings:*"]), Vec::<String>::new());
    worker.stop().await
}
