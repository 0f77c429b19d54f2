//! Enqueues: in a real program, where an order is placed.

use std::error::Error;
use std::time::Duration;

use cogworker_client::Client;
use cogworker_core::redis_config::RedisConfig;
use receipts::Receipt;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let client = Client::connect(&RedisConfig::from_env()?).await?;
    let address = std::env::args().nth(1).unwrap_or("ada@example.org".into());
    let receipt = Receipt { order: 17, address };
    let jid = client.perform_async(&receipt).await?; // now
    client.perform_in(Duration::from_secs(3600), &receipt).await?; // in an hour
    println!("{jid:?}");
    Ok(())
}
