//! Jobs tested without Redis: `cargo test -p recipes --example testing`.

use std::error::Error;

use cogworker_client::{Client, ClientError};
use cogworker_core::redis_config::RedisConfig;
use cogworker_server::App;
use recipes::{Thumbnail, WelcomeMail};

/// The part of a program that enqueues is given its client, and so knows nothing of tests.
async fn sign_up(client: &Client, address: &str) -> Result<(), ClientError> {
    client.perform_async(&WelcomeMail { address: address.to_owned() }).await?;
    client.perform_async(&Thumbnail(format!("{address}.png"), 64)).await?;
    Ok(())
}

/// The worker's application, by which tests run jobs too.
fn app() -> App {
    App::new(()).job(async |_: WelcomeMail| {}).job_blocking(
        |Thumbnail(file, width): Thumbnail| match width {
            0 => Err(format!("{file} would be gone")),
            _ => Ok(()),
        },
    )
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let _ = app; // the worker would be another program
    sign_up(&Client::connect(&RedisConfig::from_env()?).await?, "ada@example.org").await?;
    println!("two jobs are enqueued; how they are tested: cargo test -p recipes --example testing");
    Ok(())
}

#[cfg(test)]
mod tests {
    use cogworker_testing::{Fake, FakeError, Inline, assert_enqueued, assert_not_enqueued};

    use super::*;

    #[tokio::test]
    async fn a_new_user_gets_a_mail_and_a_picture() -> Result<(), Box<dyn Error>> {
        let fake = Fake::new();
        sign_up(&fake.client(), "ada@example.org").await?;
        assert_enqueued!(fake, WelcomeMail { address: "ada@example.org".into() });
        assert_not_enqueued!(fake, Thumbnail("ada@example.org.png".into(), 128));
        assert_eq!(fake.jobs::<WelcomeMail>()[0].queue, "mail");
        assert_eq!(fake.drain_all(&app()).await?, 2);
        Ok(())
    }

    #[tokio::test]
    async fn a_picture_without_a_width_fails_and_will_be_tried_again() -> Result<(), Box<dyn Error>> {
        let fake = Fake::new();
        fake.client().perform_async(&Thumbnail("cat.png".into(), 0)).await?;
        let failed = fake.perform_one::<Thumbnail>(&app()).await;
        assert!(
            matches!(failed, Err(FakeError::JobFailed { failure, .. }) if failure.message.contains("gone"))
        );
        assert_eq!(fake.retries::<Thumbnail>().len(), 1);
        Ok(())
    }

    #[tokio::test]
    async fn inline_the_jobs_are_done_when_the_push_returns() -> Result<(), Box<dyn Error>> {
        sign_up(&Inline::new(app()).client(), "ada@example.org").await?;
        Ok(())
    }
}
