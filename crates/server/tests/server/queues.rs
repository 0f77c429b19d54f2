//! Which queue is taken from, and which is not.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use cogworker_core::new_job::NewJob;
use cogworker_server::{App, Context};
use cogworker_testing::wait_until;

use crate::support::{Gate, Numbered, Seen, Site, TestResult, reach};

/// An app that notes the queue of each run.
fn noting(seen: &Seen<String>) -> App {
    let seen = seen.clone();
    App::new(()).job(move |job: Numbered, ctx: Context| {
        let seen = seen.clone();
        async move { seen.add(format!("{}{}", ctx.queue(), job.0)) }
    })
}

fn on(queue: &str, number: usize) -> NewJob {
    NewJob::of(&Numbered(number)).queue(queue)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_queue_runs_in_the_order_of_pushing_push_04() -> TestResult {
    let site = Site::start().await?;
    site.client.push_all((0..50).map(|n| on("default", n)).collect()).await?;
    let seen = Seen::default();
    let worker = site.worker_with(noting(&seen), |config| config.concurrency = 1)?;
    reach("all runs", || seen.len() == 50)?;
    let expected: Vec<String> = (0..50).map(|n| format!("default{n}")).collect();
    assert_eq!(seen.all(), expected);
    worker.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_queue_named_three_times_is_served_more_and_the_other_never_starves_rfetch_11() -> TestResult {
    let site = Site::start().await?;
    for queue in ["high", "low"] {
        site.client.push_all((0..400).map(|n| on(queue, n)).collect()).await?;
    }
    // One job at a time, each as long as a call to Redis: nothing is taken ahead.
    let seen = Seen::default();
    let noted = seen.clone();
    let app = App::new(()).job(move |_: Numbered, ctx: Context| {
        let noted = noted.clone();
        async move {
            tokio::time::sleep(Duration::from_millis(2)).await;
            noted.add(ctx.queue().to_owned());
        }
    });
    let worker = site.worker_with(app, |config| {
        config.concurrency = 1;
        config.queues = ["high", "high", "high", "low"].map(String::from).into();
    })?;
    reach("400 runs", || seen.len() >= 400)?;
    let high = seen.all()[..400].iter().filter(|queue| *queue == "high").count();
    assert!((250..350).contains(&high), "about 300 of the first 400 runs should be high: {high}");
    worker.stop().await
}

/// How many blocking waits are under way.
fn waits(site: &Site) -> usize {
    site.text(&["CLIENT", "LIST"]).matches("cmd=blmove").count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_waiting_worker_takes_a_new_job_from_any_of_its_queues_at_once_rfetch_06() -> TestResult {
    let site = Site::start().await?;
    let seen = Seen::default();
    let names = ["a", "b", "c", "d", "e"];
    let worker = site.worker_with(noting(&seen), |config| config.queues = names.map(String::from).into())?;
    for (count, name) in names.iter().enumerate() {
        reach("every queue is waited on", || waits(&site) == names.len())?;
        let begun = Instant::now();
        site.client.push(on(name, count)).await?;
        reach("the run", || seen.all().contains(&format!("{name}{count}")))?;
        // A look at the queue twice a second would take longer for most of them.
        assert!(begun.elapsed() < Duration::from_millis(250), "{name}: {:?}", begun.elapsed());
    }
    worker.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn queues_beyond_the_number_of_waits_are_looked_at_once_in_the_idle_interval() -> TestResult {
    let site = Site::start().await?;
    let seen = Seen::default();
    let names: Vec<String> = (0..40).map(|n| format!("q{n}-")).collect();
    let queues = names.clone();
    let worker = site.worker_with(noting(&seen), |config| {
        config.queues = queues;
        config.fetch_idle_max_interval = Duration::from_millis(50);
    })?;
    reach("as many as can be are waited on", || waits(&site) == 32)?;
    // All of them, as eight are beyond the waits at any time: by the default of a second, one is late.
    for (count, name) in names.iter().enumerate() {
        let begun = Instant::now();
        site.client.push(on(name, count)).await?;
        reach("the run", || seen.all().contains(&format!("{name}{count}")))?;
        assert!(begun.elapsed() < Duration::from_millis(600), "{name}: {:?}", begun.elapsed());
    }
    worker.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_slot_is_used_when_a_backlog_appears_on_one_of_several_queues() -> TestResult {
    let site = Site::start().await?;
    let gate = Gate::closed();
    let stuck = gate.clone();
    let app = App::new(()).job(move |_: Numbered| {
        let stuck = stuck.clone();
        async move { stuck.pass().await }
    });
    let queues = ["a", "b", "c"].map(String::from);
    let worker = site.worker_with(app, |config| {
        config.concurrency = 10;
        config.queues = queues.into();
    })?;
    reach("every queue is waited on", || waits(&site) == 3)?;
    site.client.push_all((0..10).map(|n| on("b", n)).collect()).await?;
    reach("all ten run at the same time", || gate.arrived() == 10)?;
    gate.let_pass(10);
    reach("all are done", || site.processed() == 10)?;
    worker.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn several_workers_share_a_queue_and_run_each_job_once() -> TestResult {
    let site = Site::start().await?;
    let seen = Seen::default();
    let workers = (0..4).map(|_| site.worker(noting(&seen))).collect::<Result<Vec<_>, _>>()?;
    site.client.push_all((0..5000).map(|n| on("default", n)).collect()).await?;
    reach("all are done", || site.processed() == 5000)?;
    let runs = seen.all();
    assert_eq!((runs.iter().collect::<HashSet<_>>().len(), runs.len()), (5000, 5000));
    for worker in workers {
        worker.stop().await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_paused_queue_is_never_taken_from_rfetch_03() -> TestResult {
    let site = Site::start().await?;
    site.client.queue("a").pause().await?;
    site.client.push_all((0..20).map(|n| on("a", n)).chain((0..20).map(|n| on("b", n))).collect()).await?;
    let seen = Seen::default();
    let worker =
        site.worker_with(noting(&seen), |config| config.queues = vec!["a".into(), "a".into(), "b".into()])?;
    reach("the other queue's jobs run", || seen.len() == 20)?;
    assert!(seen.all().iter().all(|run| run.starts_with('b')), "{:?}", seen.all());
    reach("they are settled", || site.in_progress(&worker) == 0)?;
    assert_eq!(site.waiting("a"), 20);

    let resumed = Instant::now();
    site.client.queue("a").resume().await?;
    reach("the resumed jobs run", || seen.len() == 40)?;
    assert!(resumed.elapsed() < Duration::from_secs(2), "{:?}", resumed.elapsed());
    worker.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wait_that_was_under_way_honours_the_pause_p_51() -> TestResult {
    let site = Site::start().await?;
    let seen = Seen::default();
    let worker = site.worker(noting(&seen))?;
    site.client.push(on("default", 0)).await?;
    reach("the worker waits", || seen.len() == 1 && site.text(&["CLIENT", "LIST"]).contains("cmd=blmove"))?;
    site.client.queue("default").pause().await?;
    for number in 1..=5 {
        site.client.push(on("default", number)).await?;
    }
    let strayed = wait_until(Duration::from_millis(1500), || seen.len() > 1);
    assert!(!strayed, "ran while paused: {:?}", seen.all());
    assert_eq!((site.waiting("default"), site.in_progress(&worker)), (5, 0));

    let resumed = Instant::now();
    site.client.queue("default").resume().await?;
    reach("the resumed jobs run", || seen.len() == 6)?;
    assert!(resumed.elapsed() < Duration::from_secs(2), "{:?}", resumed.elapsed());
    worker.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn jobs_taken_ahead_by_a_stuck_worker_go_to_another_one() -> TestResult {
    let site = Site::start().await?;
    let (gate, seen) = (Gate::closed(), Seen::default());
    let (stuck, ran) = (gate.clone(), seen.clone());
    let app = App::new(()).job(move |job: Numbered| {
        let (stuck, ran) = (stuck.clone(), ran.clone());
        async move {
            // Quick ones first, so that it takes jobs ahead.
            if job.0 == 500 {
                stuck.pass().await;
            }
            ran.add(format!("default{}", job.0));
        }
    });
    site.client.push_all((0..600).map(|n| on("default", n)).collect()).await?;
    let first = site.worker_with(app, |config| config.concurrency = 1)?;
    reach("the first worker is stuck", || gate.arrived() == 1)?;
    let second = site.worker(noting(&seen))?;
    reach("all the others run", || seen.len() == 599)?;
    gate.let_pass(1);
    reach("the last one runs", || site.processed() == 600)?;
    assert_eq!(seen.len(), 600, "what was given back ran once");
    first.stop().await?;
    second.stop().await
}
