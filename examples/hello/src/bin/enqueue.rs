//! Enqueues two jobs.

use std::error::Error;
use std::time::Duration;

use cogworker_client::Client;
use cogworker_core::redis_config::RedisConfig;
use hello::Greeting;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let client = Client::connect(&RedisConfig::from_env()?).await?;
    client.perform_async(&Greeting("world".into())).await?;
    client.perform_in(Duration::from_secs(300), &Greeting("later".into())).await?;
    Ok(())
}
