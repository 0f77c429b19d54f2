//! Which jobs are taken, from where, and when.

use std::time::{Duration, Instant};

use cogworker_core::new_job::NewJob;

use crate::support::{Nap, Outcome, SOON, Worker, eventually, note, start, start_with};

fn on(queue: &str) -> NewJob {
    NewJob::new("NoteJob").queue(queue)
}

async fn waiting_on(queues: &[&str]) -> Result<Worker, Box<dyn std::error::Error>> {
    let names: Vec<String> = queues.iter().map(|name| (*name).to_owned()).collect();
    let worker = start_with(Default::default(), |config| config.queues = names).await?;
    // One wait for each queue: the worker is idle.
    let blocked = |worker: &Worker| {
        let clients = worker.redis.cli(&["CLIENT", "LIST"]);
        clients.as_str().unwrap_or("").matches("cmd=blmove").count()
    };
    assert!(eventually(SOON, || blocked(&worker) == queues.len()).await);
    Ok(worker)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_idle_worker_picks_a_job_up_at_once_on_every_queue_rfetch_06() -> Outcome {
    let names = ["a", "b", "c", "d", "e"];
    let worker = waiting_on(&names).await?;
    for (index, name) in names.iter().enumerate() {
        let begun = Instant::now();
        worker.client.push(on(name)).await?;
        assert!(eventually(SOON, || worker.record.runs() == index as u32 + 1).await);
        assert!(begun.elapsed() < Duration::from_millis(500), "{name}: {:?}", begun.elapsed());
    }
    worker.stop().await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_slot_is_used_when_a_backlog_appears_on_one_of_several_queues() -> Outcome {
    let worker = waiting_on(&["a", "b", "c"]).await?;
    let jobs = (0..10).map(|_| NewJob::of(&Nap { ms: 400 }).queue("b")).collect();
    worker.client.push_all(jobs).await?;
    assert!(eventually(Duration::from_millis(350), || worker.held() == 10).await);
    assert!(eventually(SOON, || worker.processed() == 10).await);
    worker.stop().await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pause_is_honoured_by_a_wait_that_was_already_under_way_p_51() -> Outcome {
    let worker = waiting_on(&["q"]).await?;
    worker.client.queue("q").pause().await?;
    for _ in 0..3 {
        worker.client.push(on("q")).await?;
    }
    // It is taken, found paused and put back; from then on it stays.
    assert!(
        eventually(SOON, || worker.held() == 0 && worker.count(&["LLEN", "cogworker:queue:q"]) == 3).await
    );
    assert_eq!(worker.record.runs(), 0);
    worker.client.queue("q").resume().await?;
    assert!(eventually(Duration::from_secs(2), || worker.processed() == 3).await, "within 2 s of the resume");
    worker.stop().await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_paused_queue_does_not_keep_its_sibling_from_being_served_rfetch_03() -> Outcome {
    let worker = start_with(Default::default(), |config| {
        config.queues = vec!["paused".into(), "open".into()];
    })
    .await?;
    worker.client.queue("paused").pause().await?;
    worker.client.push(on("paused")).await?;
    for _ in 0..20 {
        worker.client.push(on("open")).await?;
    }
    assert!(eventually(SOON, || worker.processed() == 20).await);
    assert_eq!(worker.count(&["LLEN", "cogworker:queue:paused"]), 1);
    worker.stop().await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn jobs_taken_ahead_are_given_back_when_every_slot_stays_busy() -> Outcome {
    let worker = start_with(Default::default(), |config| config.concurrency = 2).await?;
    // Short jobs let the worker take ahead; then long ones come up among them.
    let mut jobs: Vec<NewJob> = (0..2000).map(|_| NewJob::of(&Nap { ms: 0 })).collect();
    for at in [500, 501] {
        jobs[at] = NewJob::of(&Nap { ms: 1500 });
    }
    worker.client.push_all(jobs).await?;
    assert!(eventually(SOON, || worker.record.runs() >= 300).await);
    let only_running = || worker.held() == 2 && worker.count(&["LLEN", "cogworker:queue:default"]) > 0;
    assert!(eventually(Duration::from_millis(1400), only_running).await);
    assert!(eventually(SOON, || worker.processed() == 2000).await);
    assert_eq!(worker.record.runs(), 2000, "given back is not run twice");
    worker.stop().await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_entry_on_the_own_list_that_nobody_holds_is_taken_over_rec_01() -> Outcome {
    let worker = start().await?;
    assert!(eventually(SOON, || worker.count(&["SCARD", "cogworker:processes"]) == 1).await);
    let stray = r#"{"class":"NoteJob","args":["stray"],"jid":"s","queue":"default","retry":true}"#;
    worker.redis.cli(&["LPUSH", &worker.held_key(), stray]);
    assert!(eventually(Duration::from_secs(12), || worker.record.runs() == 1).await);
    assert!(eventually(SOON, || worker.processed() == 1 && worker.held() == 0).await);
    worker.stop().await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn several_workers_share_a_queue_and_run_each_job_once() -> Outcome {
    let first = start().await?;
    let mut others = Vec::new();
    for _ in 0..3 {
        let mut config = crate::support::config(&first.redis)?;
        config.concurrency = 5;
        let server = cogworker_server::Server::new(config, crate::support::app(&first.record));
        others.push((server.handle(), tokio::spawn(server.run(std::future::pending()))));
    }
    let jobs = (0..5000).map(|index| note(&format!("[{index}]"))).collect::<Result<Vec<_>, _>>()?;
    first.client.push_bulk(&jobs).await?;
    assert!(eventually(SOON, || first.processed() == 5000).await);
    let mut seen = first.record.seen();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!((seen.len(), first.record.runs()), (5000, 5000));
    for (handle, task) in others {
        handle.stop();
        task.await??;
    }
    first.stop().await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn queues_beyond_the_number_of_waits_are_looked_at_in_turn() -> Outcome {
    let worker = start_with(Default::default(), |config| {
        config.queues = (0..40).map(|index| format!("q{index}")).collect();
    })
    .await?;
    for (index, runs) in [(39, 1), (0, 2), (35, 3)] {
        worker.client.push(on(&format!("q{index}"))).await?;
        assert!(eventually(Duration::from_secs(3), || worker.record.runs() == runs).await, "q{index}");
    }
    worker.stop().await?;
    Ok(())
}
