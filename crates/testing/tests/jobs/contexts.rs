//! Handlers that a test calls itself.

use cogworker_core::new_job::NewJob;
use cogworker_server::{Context, JobError};
use cogworker_testing::{Fake, assert_enqueued, context, context_of, interrupt};

use crate::support::{Outcome, greeting};

async fn handle(ctx: Context<&'static str>) -> Result<(), JobError> {
    ctx.client().perform_async(&greeting(ctx.state())).await?;
    ctx.at(50, "half").await;
    ctx.cancelled().await;
    Err(JobError::interrupted())
}

#[tokio::test]
async fn a_handler_has_its_state_a_fake_client_and_can_be_asked_to_end() -> Outcome {
    let fake = Fake::new();
    let job = NewJob::of(&greeting("x")).jid("j").set("retry_count", 2);
    let ctx = context_of(&fake, job, "world")?;
    assert_eq!((ctx.jid().as_str(), ctx.queue(), ctx.attempt()), ("j", "low", 3));
    interrupt(&ctx);
    assert!(ctx.is_cancelled());
    assert_eq!(handle(ctx).await.unwrap_err().class(), "Cogworker::Interrupted");
    assert_enqueued!(fake, greeting("world"));
    Ok(())
}

#[tokio::test]
async fn a_plain_context_is_a_first_attempt_and_swallows_what_is_pushed() -> Outcome {
    let ctx = context(());
    assert_eq!((ctx.attempt(), ctx.queue(), ctx.jid().as_str().len()), (1, "default", 24));
    assert!(ctx.client().perform_async(&greeting("world")).await?.is_some());
    assert!(context_of(&Fake::new(), NewJob::new(""), ()).is_err());
    Ok(())
}
