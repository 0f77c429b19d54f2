//! What a fake holds, and runs.

use std::time::{Duration, UNIX_EPOCH};

use cogworker_client::ClientError;
use cogworker_client::middleware::{Next, from_fn};
use cogworker_core::new_job::NewJob;
use cogworker_core::redis::RedisError;
use cogworker_server::middleware::{Next as Inner, from_fn as around};
use cogworker_server::{App, Periodic, Run};
use cogworker_testing::{Fake, FakeError, Inline};
use serde_json::json;

use crate::support::{Greeting, HOUR, Log, Outcome, Party, Report, app, greeting};

#[tokio::test]
async fn jobs_are_kept_as_they_would_be_stored_and_not_run_test_02() -> Outcome {
    let fake = Fake::new();
    let jid = fake.client().perform_async(&greeting("world")).await?.ok_or("pushed")?;
    let due = fake.now().plus(HOUR);
    fake.client().perform_in(HOUR, &greeting("later")).await?;
    let jobs = fake.jobs::<Greeting>();
    assert_eq!(jobs.len(), 2);
    assert_eq!(
        (&jobs[0].jid, jobs[0].class.as_str(), &jobs[0].args),
        (&jid, "GreetingJob", &greeting("world"))
    );
    assert_eq!((jobs[0].queue.as_str(), jobs[0].at), ("low", None));
    assert_eq!(jobs[0].field("tags"), Some(json!(["polite"])));
    assert!(jobs[0].field("enqueued_at").is_some() && jobs[1].field("enqueued_at").is_none());
    assert!(jobs[1].at.is_some_and(|at| at.since(due) < Duration::from_secs(60)));
    assert!(jobs[1].field("at").is_some_and(|at| at.is_f64()));
    assert_eq!((fake.len(), fake.jobs::<Party>().len()), (2, 0));
    Ok(())
}

#[test]
#[should_panic(expected = "class GreetingJob has two handlers")]
fn an_application_with_which_no_worker_would_start_fails_the_test() {
    let _ = Inline::new(App::new(()).job(async |_: Greeting| {}).job(async |_: Greeting| {}));
}

#[tokio::test]
async fn a_job_of_any_class_keeps_its_bytes() -> Outcome {
    let fake = Fake::new();
    let job = r#"{"class":"Elsewhere","args":[123456789012345678901234567890, 1.0],"queue":"q","jid":"j"}"#;
    fake.client().push(NewJob::from_json(job)?).await?;
    let jobs = fake.all_jobs();
    assert_eq!(jobs[0].args_json(), "[123456789012345678901234567890, 1.0]");
    assert!(jobs[0].raw.starts_with(job.trim_end_matches('}').as_bytes()));
    Ok(())
}

#[tokio::test]
async fn clear_forgets_one_class_and_frees_its_locks_test_03() -> Outcome {
    let fake = Fake::new();
    let client = fake.client();
    client.perform_async(&greeting("world")).await?;
    assert!(client.perform_async(&Report(1)).await?.is_some());
    fake.clear::<Report>();
    assert_eq!(fake.len(), 1);
    assert!(client.perform_async(&Report(1)).await?.is_some());
    fake.clear_all();
    assert!(fake.is_empty() && client.perform_async(&Report(1)).await?.is_some());
    Ok(())
}

#[tokio::test]
async fn perform_one_runs_the_oldest_and_an_empty_queue_is_an_error_test_06() -> Outcome {
    let (fake, log) = (Fake::new(), Log::default());
    let app = app(&log);
    fake.client().push_bulk(&[greeting("first"), greeting("second")]).await?;
    fake.perform_one::<Greeting>(&app).await?;
    assert_eq!((log.take(), fake.len()), (vec!["first 1".to_owned()], 1));
    fake.perform_one::<Greeting>(&app).await?;
    fake.client().perform_in(HOUR, &greeting("later")).await?;
    let error = fake.perform_one::<Greeting>(&app).await.unwrap_err();
    assert!(matches!(error, FakeError::EmptyQueue { class: "GreetingJob", later: 1 }));
    assert_eq!(
        error.to_string(),
        "perform a GreetingJob: none is due, 1 is later; `Fake::advance` moves the clock"
    );
    Ok(())
}

#[tokio::test]
async fn drain_runs_one_class_and_drain_all_every_one_with_the_jobs_they_push_test_07() -> Outcome {
    let (fake, log) = (Fake::new(), Log::default());
    let (app, client) = (app(&log), fake.client());
    let party = || Party { guests: vec!["a".into(), "b".into()] };
    client.perform_async(&party()).await?;
    client.perform_async(&greeting("c")).await?;
    assert_eq!(fake.drain::<Party>(&app).await?, 1);
    assert_eq!((log.take(), fake.jobs::<Greeting>().len()), (vec!["party".to_owned()], 3));
    client.perform_async(&party()).await?;
    assert_eq!(fake.drain_all(&app).await?, 6);
    assert_eq!(log.take(), ["c 1", "a 1", "b 1", "party", "a 1", "b 1"]);
    assert_eq!(fake.drain_all(&app).await?, 0);
    Ok(())
}

#[tokio::test]
async fn scheduled_jobs_run_once_the_clock_has_reached_them() -> Outcome {
    let (log, start) = (Log::default(), UNIX_EPOCH + Duration::from_secs(1_000_000));
    let (app, fake) = (app(&log), Fake::frozen_at(start));
    fake.client().perform_in(HOUR, &greeting("in")).await?;
    fake.client().perform_at(start + 2 * HOUR, &greeting("at")).await?;
    fake.advance(HOUR - Duration::from_millis(1));
    assert_eq!(fake.drain_all(&app).await?, 0);
    fake.advance(Duration::from_millis(1));
    assert_eq!(fake.drain_all(&app).await?, 1);
    fake.client().perform_in(HOUR, &greeting("after")).await?;
    fake.advance(HOUR);
    assert_eq!(fake.drain_all(&app).await?, 2);
    assert_eq!(log.take(), ["in 1", "at 1", "after 1"]);
    Ok(())
}

#[tokio::test]
async fn jobs_run_in_the_order_in_which_they_came_due() -> Outcome {
    let (log, start) = (Log::default(), UNIX_EPOCH + Duration::from_secs(1_000_000));
    let (app, fake) = (app(&log), Fake::frozen_at(start));
    let client = fake.client();
    for (hours, name) in [(3, "third"), (1, "first"), (2, "second"), (3, "fourth")] {
        client.perform_in(HOUR * hours, &greeting(name)).await?;
    }
    client.perform_async(&greeting("at once")).await?;
    fake.advance(3 * HOUR);
    client.perform_async(&greeting("now")).await?;
    client.perform_at(start, &greeting("overdue")).await?;
    fake.perform_one::<Greeting>(&app).await?;
    fake.drain_all(&app).await?;
    let expected = ["at once", "first", "second", "third", "fourth", "now", "overdue"];
    assert_eq!(log.take(), expected.map(|name| format!("{name} 1")));
    Ok(())
}

#[tokio::test]
async fn middleware_of_both_sides_is_run() -> Outcome {
    let (fake, log) = (Fake::new(), Log::default());
    let client = fake.client().with_middleware(from_fn(|job: NewJob, next: Next| async move {
        let job = job.args(["changed"]).queue("other");
        next.run(job).await
    }));
    client.perform_async(&greeting("world")).await?;
    assert_eq!(fake.all_jobs()[0].queue, "other");
    let note = log.clone();
    let app = app(&log).middleware(around(move |run: Run, next: Inner| {
        note.add(format!("{} on {}", run.class(), run.queue()));
        async move { next.run(run).await }
    }));
    fake.drain_all(&app).await?;
    assert_eq!(log.take(), ["GreetingJob on other", "changed 1"]);
    Ok(())
}

#[tokio::test]
async fn what_an_applications_jobs_push_passes_its_client_middleware() -> Outcome {
    let (fake, log) = (Fake::new(), Log::default());
    let tag = from_fn(|job: NewJob, next: Next| next.run(job.set("tags", ["worker"])));
    let app = app(&log).client_middleware(tag).periodic(Periodic::cron("* * * * *", &greeting("minutely")));
    fake.client().perform_async(&Party { guests: vec!["a".into()] }).await?;
    fake.drain::<Party>(&app).await?;
    fake.advance(HOUR);
    assert_eq!(fake.tick(&app).await?, 1);
    let tags = |job: &cogworker_testing::FakeJob<Greeting>| job.field("tags");
    assert_eq!(
        fake.jobs::<Greeting>().iter().map(tags).collect::<Vec<_>>(),
        vec![Some(json!(["worker"])); 2]
    );
    Ok(())
}

#[tokio::test]
async fn duplicates_of_unique_jobs_give_none_until_the_first_is_executed_uniq_07_uniq_08() -> Outcome {
    let (fake, log) = (Fake::new(), Log::default());
    let (app, client) = (app(&log), fake.client());
    let first = client.perform_in(HOUR, &Report(1)).await?;
    assert!(first.is_some());
    assert_eq!(client.push_bulk(&[Report(1), Report(1)]).await?, [None, None]);
    assert_eq!(client.unique_lock(&Report(1)).await?, first);
    assert!(client.perform_async(&Report(2)).await?.is_some());
    fake.advance(HOUR);
    assert_eq!(fake.drain_all(&app).await?, 2);
    assert_eq!(client.unique_lock(&Report(1)).await?, None);
    assert!(client.perform_async(&Report(1)).await?.is_some());
    fake.advance(25 * HOUR);
    assert!(client.perform_async(&Report(1)).await?.is_some(), "its lock has lapsed");
    Ok(())
}

#[tokio::test]
async fn periodic_jobs_are_pushed_when_the_clock_reaches_their_time() -> Outcome {
    let (log, midnight) = (Log::default(), UNIX_EPOCH + Duration::from_secs(1_735_689_600));
    let fake = Fake::frozen_at(midnight);
    let app = app(&log)
        .periodic(Periodic::cron("0 * * * *", &greeting("hourly")))
        .periodic(Periodic::cron("30 * * * *", &Party { guests: vec![] }).until_executed());
    assert_eq!(fake.tick(&app).await?, 0);
    fake.advance(HOUR);
    assert_eq!((fake.tick(&app).await?, fake.tick(&app).await?), (2, 0));
    assert_eq!(fake.jobs::<Greeting>()[0].field("periodic_slot"), Some(json!(1_735_693_200)));
    fake.advance(3 * HOUR);
    assert_eq!(fake.tick(&app).await?, 1, "the party's last run has not ended");
    fake.drain_all(&app).await?;
    fake.advance(HOUR);
    assert_eq!(fake.tick(&app).await?, 2);
    Ok(())
}

#[tokio::test]
async fn what_asks_redis_says_that_there_is_none() -> Outcome {
    let client = Fake::new().client();
    let error = client.queues().await.unwrap_err();
    assert!(matches!(error, RedisError::Absent));
    assert_eq!(error.to_string(), "ask redis: the client is one for tests, which has none");
    client.close().await;
    Ok(())
}

#[tokio::test]
async fn what_cannot_be_pushed_is_refused_as_by_a_real_client_p_60() -> Outcome {
    let fake = Fake::new();
    for job in [NewJob::new(""), NewJob::new("A").set("args", 5), NewJob::new("A").set("at", "soon")] {
        assert!(matches!(fake.client().push(job).await, Err(ClientError::Job(_))));
    }
    let refusing = fake.client().with_middleware(from_fn(|_: NewJob, _: Next| async { Err("no".into()) }));
    assert!(matches!(refusing.push(NewJob::new("A")).await, Err(ClientError::Middleware(_))));
    assert!(fake.is_empty());
    Ok(())
}

#[tokio::test]
async fn args_that_are_not_the_handlers_fail_as_in_a_worker() -> Outcome {
    let (fake, log) = (Fake::new(), Log::default());
    fake.client().push(NewJob::new("GreetingJob").args([5])).await?;
    fake.client().push(NewJob::new("Unheard")).await?;
    let app = app(&log);
    let said = fake.drain_all(&app).await.unwrap_err().to_string();
    assert!(said.contains("GreetingJob argument 1: invalid type: integer `5`, expected a string"), "{said}");
    let said = fake.drain_all(&app).await.unwrap_err().to_string();
    assert!(said.contains("Unheard"), "{said}");
    assert!(log.take().is_empty());
    Ok(())
}
