//! How an application's jobs are tested: no Redis is needed for any of this.

use std::error::Error;
use std::time::Duration;

use cogworker_client::ClientError;
use cogworker_core::redis::RedisError;
use cogworker_testing::{Fake, FakeError, Inline, assert_enqueued, assert_not_enqueued, context_of};
use example_jobs::{DailyReportJob, FailJob, FlakyJob, GreetingJob, ImportJob, LowPriorityJob, SpinJob};

use crate::{app, be_flaky};

type Outcome = Result<(), Box<dyn Error>>;

#[tokio::test]
async fn what_is_enqueued_is_seen_and_run_when_the_test_says_so() -> Outcome {
    let fake = Fake::new();
    let client = fake.client();
    client.perform_async(&GreetingJob("world".into())).await?;
    client.perform_async(&LowPriorityJob()).await?;
    assert_enqueued!(fake, GreetingJob("world".into()));
    assert_not_enqueued!(fake, DailyReportJob { section: "sales".into() });
    assert_eq!(fake.jobs::<LowPriorityJob>()[0].queue, "low");
    assert_eq!(fake.drain_all(&app()).await?, 2);
    Ok(())
}

#[tokio::test]
async fn a_flaky_job_succeeds_at_last() -> Outcome {
    let fake = Fake::new();
    fake.client().perform_async(&FlakyJob(2)).await?;
    for attempt in 1..=2 {
        let failed = fake.perform_one::<FlakyJob>(&app()).await;
        assert!(matches!(failed, Err(FakeError::JobFailed { .. })), "attempt {attempt}");
        fake.advance(Duration::from_secs(3600));
    }
    fake.perform_one::<FlakyJob>(&app()).await?;
    assert!(fake.retries::<FlakyJob>().is_empty() && fake.dead::<FlakyJob>().is_empty());
    Ok(())
}

#[tokio::test]
async fn inline_the_jobs_have_happened_when_the_push_returns() -> Outcome {
    let client = Inline::new(app()).client();
    client.perform_in(Duration::from_secs(3600), &ImportJob(3)).await?;
    client.push_bulk(&[SpinJob(0.0), SpinJob(0.001)]).await?;
    match client.perform_async(&FailJob("no luck".into())).await {
        Err(ClientError::JobFailed(failure)) => assert_eq!(failure.message, "no luck"),
        other => return Err(format!("{other:?}").into()),
    }
    Ok(())
}

#[tokio::test]
async fn a_handler_can_be_called_by_itself() -> Outcome {
    let fake = Fake::new();
    let second =
        context_of(&fake, cogworker_core::new_job::NewJob::of(&FlakyJob(1)).set("retry_count", 1), ())?;
    assert!(be_flaky(FlakyJob(1), second).await.is_ok());
    assert!(matches!(fake.client().queues().await, Err(RedisError::Absent)));
    Ok(())
}
