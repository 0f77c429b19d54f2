//! Jobs that run where they are pushed.

use cogworker_client::ClientError;
use cogworker_client::middleware::{Next, from_fn};
use cogworker_core::new_job::NewJob;
use cogworker_server::middleware::{Next as Inner, from_fn as around};
use cogworker_server::{App, Context, Run};
use cogworker_testing::Inline;

use crate::support::{Greeting, HOUR, Log, Outcome, Party, Report, app, greeting};

#[tokio::test]
async fn a_job_runs_in_the_callers_task_through_the_chain_delays_ignored_test_04() -> Outcome {
    let log = Log::default();
    let note = log.clone();
    let app = app(&log).middleware(around(move |run: Run, next: Inner| {
        note.add(format!("around {} {:?}", run.class(), tokio::task::try_id().is_some()));
        async move { next.run(run).await }
    }));
    let client = Inline::new(app).client();
    let in_task = tokio::task::try_id().is_some();
    assert!(client.perform_in(HOUR, &greeting("later")).await?.is_some());
    assert_eq!(log.take(), [format!("around GreetingJob {in_task:?}"), "later 1".into()]);
    Ok(())
}

#[tokio::test]
async fn a_failure_is_the_pushers_and_ends_a_bulk_push_test_04() -> Outcome {
    let log = Log::default();
    let client = Inline::new(app(&log)).client();
    let jobs = ["a", "nobody", "b"].map(greeting);
    match client.push_bulk(&jobs).await {
        Err(ClientError::JobFailed(failure)) => assert_eq!(failure.message, "nobody to greet"),
        other => return Err(format!("{other:?}").into()),
    }
    assert_eq!(log.take(), ["a 1", "nobody 1"]);
    Ok(())
}

#[tokio::test]
async fn jobs_of_a_job_run_inside_of_it_and_blocking_ones_too() -> Outcome {
    let log = Log::default();
    let client = Inline::new(app(&log)).client();
    client.perform_async(&Party { guests: vec!["a".into(), "b".into()] }).await?;
    client.perform_async(&Report(7)).await?;
    assert_eq!(log.take(), ["party", "a 1", "b 1", "report 7"]);
    Ok(())
}

#[tokio::test]
async fn a_unique_job_is_locked_while_it_runs_and_free_after_success_and_failure() -> Outcome {
    async fn twice(job: Report, ctx: Context<Log>) -> Result<(), ClientError> {
        let twin = ctx.client().perform_async(&job).await?;
        ctx.state().add(format!("twin {twin:?}"));
        if job.0 == 0 {
            Err(ClientError::JobFailed(cogworker_core::failure::Failure::new("E", "e")))
        } else {
            Ok(())
        }
    }
    let log = Log::default();
    let client = Inline::new(App::new(log.clone()).job(twice)).client();
    for number in [1, 1, 0, 0] {
        let result = client.perform_async(&Report(number)).await;
        assert_eq!(result.is_ok(), number == 1);
        assert_eq!(log.take(), ["twin None"]);
    }
    Ok(())
}

#[tokio::test]
async fn what_cannot_be_pushed_is_refused_and_not_run_p_60() -> Outcome {
    let log = Log::default();
    let client = Inline::new(app(&log)).client();
    let bad = NewJob::of(&greeting("world")).set("args", "world");
    let said = client.push(bad).await.unwrap_err().to_string();
    assert_eq!(said, r#"push a job: args must be an array, found "world""#);
    let stopping = client.with_middleware(from_fn(|_: NewJob, _: Next| async { Ok(None) }));
    assert_eq!(stopping.perform_async(&greeting("world")).await?, None);
    assert!(log.take().is_empty());
    Ok(())
}

#[tokio::test]
async fn a_panic_is_a_failure_of_the_job() -> Outcome {
    async fn panic(_: Greeting) {
        panic!("by design");
    }
    let client = Inline::new(App::new(()).job(panic)).client();
    let error = client.perform_async(&greeting("world")).await.unwrap_err();
    assert_eq!(error.to_string(), "run a job where it is pushed: Panic: by design");
    Ok(())
}
