//! Middleware around pushes.

use std::error::Error;
use std::sync::{Arc, Mutex, PoisonError};

use cogworker_client::middleware::{Middleware, MiddlewareFuture, MiddlewareResult, Next, from_fn};
use cogworker_client::{Client, ClientError};
use cogworker_core::new_job::NewJob;
use cogworker_core::raw_job::RawJob;
use cogworker_core::time::EpochSeconds;

use crate::support::{Outcome, queue, start};

/// Notes what passes, before and after.
#[derive(Clone)]
struct Trace {
    name: &'static str,
    lines: Arc<Mutex<Vec<String>>>,
}

impl Trace {
    fn note(&self, what: &str) {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).push(format!("{what} {}", self.name));
    }
}

impl Middleware for Trace {
    fn call(&self, job: NewJob, next: Next) -> MiddlewareFuture {
        let trace = self.clone();
        Box::pin(async move {
            trace.note("before");
            let pushed = next.run(job).await;
            trace.note("after");
            pushed
        })
    }
}

async fn stop_odd_numbers(job: NewJob, next: Next) -> MiddlewareResult {
    let args: Vec<u32> = job.field_as("args").ok_or("no args")?;
    if args[0] % 2 == 1 {
        return Ok(None);
    }
    next.run(job).await
}

#[tokio::test]
async fn middlewares_run_in_order_of_registration_each_around_the_next_mw_01() -> Outcome {
    let (redis, client) = start().await?;
    let lines = Arc::default();
    let trace = |name| Trace { name, lines: Arc::clone(&lines) };
    let client = client.with_middleware(trace("a")).with_middleware(trace("b"));
    assert!(client.clone().push(NewJob::new("A")).await?.is_some(), "a clone has them too");
    let lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
    assert_eq!(*lines, ["before a", "before b", "after b", "after a"]);
    assert_eq!(queue(&redis, "default").len(), 1);
    Ok(())
}

#[tokio::test]
async fn a_middleware_sees_the_whole_job_and_may_change_all_of_it_mw_04() -> Outcome {
    let (redis, client) = start().await?;
    let client = client.with_middleware(from_fn(|job: NewJob, next: Next| async move {
        assert_eq!(job.field_as::<String>("class").as_deref(), Some("A"));
        assert_eq!(job.field_as::<String>("queue").as_deref(), Some("default"), "defaults are filled in");
        assert_eq!(job.field_as::<String>("jid").map(|jid| jid.len()), Some(24));
        let pushed = next.run(job.jid("mine").queue("low").args([7]).set("tags", ["api"])).await?;
        assert_eq!(pushed.as_ref().and_then(|job| job.field_as::<String>("jid")).as_deref(), Some("mine"));
        Ok(pushed)
    }));
    let jid = client.push(NewJob::new("A")).await?.ok_or("stopped")?;
    assert_eq!(jid.as_str(), "mine");
    let raw = queue(&redis, "low").remove(0);
    let job = RawJob::parse(raw.as_bytes())?;
    assert_eq!((job.jid(), job.queue(), job.args_json()), ("mine", Some("low"), "[7]"));
    assert_eq!(job.field("tags").map(|tags| tags.get()), Some(r#"["api"]"#));
    Ok(())
}

#[tokio::test]
async fn a_middleware_may_postpone_a_job() -> Outcome {
    let (redis, client) = start().await?;
    let client = client.with_middleware(from_fn(|job: NewJob, next: Next| async move {
        next.run(job.at(EpochSeconds::new(5e9))).await
    }));
    client.push(NewJob::new("A")).await?;
    assert_eq!(redis.cli(&["ZCARD", "cogworker:schedule"]), 1);
    assert_eq!(redis.cli(&["EXISTS", "cogworker:queue:default"]), 0);
    Ok(())
}

#[tokio::test]
async fn a_stopped_push_gives_none_and_writes_nothing_push_13() -> Outcome {
    let (redis, client) = start().await?;
    let client = client.with_middleware(from_fn(stop_odd_numbers));
    assert_eq!(client.push(NewJob::new("A").args([1])).await?, None);
    assert_eq!(client.push(NewJob::new("A").args([1]).at(EpochSeconds::new(5e9))).await?, None);
    assert_eq!(redis.cli(&["DBSIZE"]), 0);
    Ok(())
}

#[tokio::test]
async fn a_bulk_push_asks_for_each_job_and_keeps_their_places() -> Outcome {
    let (redis, client) = start().await?;
    let client = client.with_middleware(from_fn(stop_odd_numbers));
    let jobs = (0..2003u32).map(|number| NewJob::new("A").args([number])).collect();
    let jids = client.push_all(jobs).await?;
    assert_eq!(jids.len(), 2003);
    assert!(jids.iter().enumerate().all(|(at, jid)| jid.is_some() == (at % 2 == 0)));
    let oldest = queue(&redis, "default").pop().ok_or("nothing was pushed")?;
    assert_eq!(RawJob::parse(oldest.as_bytes())?.jid(), jids[0].as_ref().ok_or("none")?.as_str());
    assert_eq!(redis.cli(&["LLEN", "cogworker:queue:default"]), 1002);
    Ok(())
}

#[derive(Debug, thiserror::Error)]
#[error("keep to the quota of {0}")]
struct OverQuota(u32);

#[tokio::test]
async fn a_middlewares_error_reaches_the_caller_as_it_is_and_nothing_is_pushed() -> Outcome {
    let (redis, client) = start().await?;
    let client = client.with_middleware(from_fn(|job: NewJob, next: Next| async move {
        if job.field_as::<String>("class").as_deref() == Some("B") {
            return Err(OverQuota(5).into());
        }
        next.run(job).await
    }));
    let check = |error: ClientError| -> Outcome {
        assert_eq!(error.to_string(), "pass a job through the client middleware: keep to the quota of 5");
        assert!(error.source().is_none(), "the message has said it");
        let ClientError::Middleware(error) = error else { return Err(error.into()) };
        assert!(error.get_ref().downcast_ref::<OverQuota>().is_some_and(|quota| quota.0 == 5));
        Ok(())
    };
    check(client.push(NewJob::new("B")).await.err().ok_or("it was pushed")?)?;
    let jobs = vec![NewJob::new("A"), NewJob::new("B")];
    check(client.push_all(jobs).await.err().ok_or("it was pushed")?)?;
    assert_eq!(redis.cli(&["DBSIZE"]), 0);
    Ok(())
}

#[tokio::test]
async fn what_a_middleware_breaks_is_told_like_any_bad_job() -> Outcome {
    let (_redis, client) = start().await?;
    let client: Client =
        client.with_middleware(from_fn(|job: NewJob, next: Next| next.run(job.set("args", "none"))));
    let error = client.push(NewJob::new("A")).await.err().ok_or("it was pushed")?;
    assert!(matches!(error, ClientError::Job(_)), "{error}");
    Ok(())
}
