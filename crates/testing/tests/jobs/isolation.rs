//! Nothing is global: what a client does is decided by the client alone (P-60).

use std::time::Duration;

use cogworker_client::Client;
use cogworker_core::new_job::NewJob;
use cogworker_core::redis_config::RedisConfig;
use cogworker_testing::{Fake, Inline};

use crate::support::{Greeting, Log, Outcome, app, greeting};

/// Of the application: it knows only a client.
async fn welcome(client: &Client, name: &str) -> Outcome {
    tokio::task::yield_now().await;
    client.perform_async(&greeting(name)).await?;
    Ok(())
}

#[tokio::test]
async fn a_mode_inside_another_leaves_the_outer_one_as_it_was_test_05_p_60() -> Outcome {
    let (fake, log) = (Fake::new(), Log::default());
    let outer = fake.client();
    welcome(&outer, "before").await?;
    {
        let inner = Inline::new(app(&log)).client();
        welcome(&inner, "inner").await?;
        welcome(&outer, "meanwhile").await?;
        let innermost = Fake::new();
        welcome(&innermost.client(), "innermost").await?;
        assert_eq!(innermost.len(), 1);
    }
    welcome(&outer, "after").await?;
    assert_eq!(log.take(), ["inner 1"]);
    let names: Vec<_> = fake.jobs::<Greeting>().into_iter().map(|job| job.args.0).collect();
    assert_eq!(names, ["before", "meanwhile", "after"]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_tests_at_once_do_not_leak_over_awaits_or_spawns_p_60() -> Outcome {
    let (fake, log) = (Fake::new(), Log::default());
    let (faked, inline) = (fake.client(), Inline::new(app(&log)).client());
    let push = |client: Client, name: &'static str| {
        tokio::spawn(async move {
            for _ in 0..100 {
                let client = client.clone();
                let pushed = tokio::spawn(async move { welcome(&client, name).await.is_ok() }).await;
                assert!(pushed.is_ok_and(|pushed| pushed));
            }
        })
    };
    let (one, other) = tokio::join!(push(faked, "fake"), push(inline, "inline"));
    one.and(other)?;
    assert_eq!((fake.len(), log.take()), (100, vec!["inline 1".to_owned(); 100]));
    Ok(())
}

#[tokio::test]
async fn errors_are_those_of_a_real_client_p_60() -> Outcome {
    let config = RedisConfig::new("redis://127.0.0.1:1")?.with_command_timeout(Duration::from_millis(200));
    let real = Client::connect_lazily(&config)?;
    let (fake, inline) = (Fake::new().client(), Inline::new(app(&Log::default())).client());
    let bad_jobs = [
        NewJob::new(""),
        NewJob::new("GreetingJob").set("args", 5),
        NewJob::new("GreetingJob").queue(""),
        NewJob::new("GreetingJob").set("at", "soon"),
        NewJob::new("GreetingJob").set("jid", 7),
    ];
    for job in bad_jobs {
        let expected = real.push(job.clone()).await.unwrap_err().to_string();
        for client in [&fake, &inline] {
            assert_eq!(client.push(job.clone()).await.unwrap_err().to_string(), expected);
        }
    }
    real.close().await;
    Ok(())
}
