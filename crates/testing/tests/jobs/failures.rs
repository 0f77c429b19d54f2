//! Jobs that fail in a fake.

use std::time::Duration;

use cogworker_server::{App, Context, RetryIn};
use cogworker_testing::{Fake, FakeError};
use serde_json::json;

use crate::support::{Greeting, HOUR, Log, Outcome, Report, app, greeting};

#[tokio::test]
async fn a_failure_is_the_callers_and_the_job_waits_for_its_retry() -> Outcome {
    let (fake, log) = (Fake::new(), Log::default());
    let app = app(&log);
    fake.client().push_bulk(&[greeting("nobody"), greeting("b")]).await?;
    match fake.drain::<Greeting>(&app).await {
        Err(FakeError::JobFailed { class, failure, .. }) => {
            assert_eq!((class.as_str(), failure.class.as_str()), ("GreetingJob", "NoName"));
        }
        other => return Err(format!("{other:?}").into()),
    }
    assert_eq!((fake.len(), fake.retries::<Greeting>().len()), (1, 1), "the other still waits");
    assert_eq!(fake.drain_all(&app).await?, 1, "the retry is not due");
    let retry = &fake.retries::<Greeting>()[0];
    assert_eq!(
        (retry.field("retry_count"), retry.field("error_class")),
        (Some(json!(1)), Some(json!("NoName")))
    );
    for attempt in [2, 3] {
        fake.advance(HOUR);
        assert!(fake.drain_all(&app).await.is_err());
        assert_eq!(log.take().last(), Some(&format!("nobody {attempt}")));
    }
    assert_eq!((fake.retries::<Greeting>().len(), fake.dead::<Greeting>().len()), (0, 1));
    fake.advance(HOUR);
    assert_eq!(fake.drain_all(&app).await?, 0);
    Ok(())
}

#[tokio::test]
async fn the_lock_is_held_over_the_retry_and_freed_by_the_last_failure_uniq_12_uniq_16() -> Outcome {
    let (fake, log) = (Fake::new(), Log::default());
    let (client, app) = (fake.client(), app(&log).retry_in::<Report>(|_, _, _| RetryIn::After(48 * HOUR)));
    let first = client.perform_async(&Report(0)).await?;
    assert!(fake.drain_all(&app).await.is_err());
    fake.advance(47 * HOUR);
    assert_eq!(
        (client.perform_async(&Report(0)).await?, client.unique_lock(&Report(0)).await?),
        (None, first)
    );
    fake.advance(HOUR);
    assert!(fake.drain_all(&app).await.is_err());
    assert_eq!(fake.dead::<Report>().len(), 1);
    assert!(client.perform_async(&Report(0)).await?.is_some());
    Ok(())
}

#[tokio::test]
async fn a_job_that_is_cut_off_is_back_and_comes_next() -> Outcome {
    async fn hang(_: Greeting, ctx: Context<Log>) {
        ctx.state().add("began");
        std::future::pending::<()>().await;
    }
    let (fake, log) = (Fake::new(), Log::default());
    fake.client().push_bulk(&[greeting("a"), greeting("b")]).await?;
    let hanging = App::new(log.clone()).job(hang);
    let cut_off = tokio::time::timeout(Duration::from_millis(10), fake.drain_all(&hanging)).await;
    assert!(cut_off.is_err() && log.take() == ["began"]);
    fake.drain_all(&app(&log)).await?;
    assert_eq!(log.take(), ["a 1", "b 1"]);
    Ok(())
}

#[tokio::test]
async fn hooks_decide_and_hear_of_deaths_hook_01_hook_05_hook_06_death_01() -> Outcome {
    let log = Log::default();
    let (own, every) = (log.clone(), log.clone());
    let app = |decision: RetryIn| -> App<Log> {
        let (own, every) = (own.clone(), every.clone());
        app(&log)
            .retry_in::<Greeting>(move |_, _, _| decision)
            .death_handler(move |job, failure| {
                every.add(format!("{} died of {}", job.class(), failure.class));
                async {}
            })
            .retries_exhausted::<Greeting, _, _>(move |job, _| {
                own.add(format!("exhausted {}", job.read::<Greeting>().map(|job| job.0).unwrap_or_default()));
                async {}
            })
    };
    let fake = Fake::new();
    let fail = async |decision| {
        fake.client().perform_async(&greeting("nobody")).await?;
        assert!(fake.drain_all(&app(decision)).await.is_err());
        Ok::<_, cogworker_client::ClientError>(log.take())
    };
    assert_eq!(fail(RetryIn::Discard).await?, ["nobody 1"]);
    assert!(fake.dead::<Greeting>().is_empty() && fake.retries::<Greeting>().is_empty());
    assert_eq!(fail(RetryIn::Kill).await?, ["nobody 1", "exhausted nobody", "GreetingJob died of NoName"]);
    fail(RetryIn::After(Duration::from_secs(5))).await?;
    let due = fake.retries::<Greeting>()[0].at.ok_or("due")?;
    assert!((4.0..=5.0).contains(&due.since(fake.now()).as_secs_f64()));
    Ok(())
}

#[tokio::test]
async fn a_death_hook_that_panics_is_the_callers_and_the_others_hear_all_the_same_death_02() -> Outcome {
    let (fake, log) = (Fake::new(), Log::default());
    let (first, last) = (log.clone(), log.clone());
    let app = app(&log)
        .retry_in::<Greeting>(|_, _, _| RetryIn::Kill)
        .death_handler(move |_, _| {
            first.add("first");
            async { panic!("no bell") }
        })
        .death_handler(move |_, _| {
            last.add("last");
            async {}
        });
    fake.client().perform_async(&greeting("nobody")).await?;
    let error = fake.drain_all(&app).await.unwrap_err();
    let jid = fake.dead::<Greeting>()[0].jid.clone();
    let told = format!("tell of the death of GreetingJob {jid}: a hook panicked: no bell");
    assert_eq!(error.to_string(), told);
    let FakeError::DeathHookPanicked { failure, .. } = error else { return Err(error.into()) };
    assert_eq!(failure.class, "NoName");
    assert_eq!(log.take(), ["nobody 1", "first", "last"]);
    Ok(())
}

#[tokio::test]
async fn no_hook_is_asked_about_a_class_without_a_handler_hook_12() -> Outcome {
    let (fake, log) = (Fake::new(), Log::default());
    let asked = log.clone();
    let app = App::new(()).retry_in::<Greeting>(move |_, _, _| {
        asked.add("asked");
        RetryIn::Discard
    });
    fake.client().perform_async(&greeting("world")).await?;
    assert!(fake.drain_all(&app).await.is_err());
    assert_eq!((fake.retries::<Greeting>().len(), log.take().len()), (1, 0), "as by default");
    Ok(())
}
