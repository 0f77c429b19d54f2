//! A job that comes every second; it ends after three of them.
//!
//! Start it twice at once: each second still has one job, run by the one or the other.

use std::error::Error;

use cogworker_core::job::Job;
use cogworker_core::options::JobOptions;
use cogworker_core::redis_config::RedisConfig;
use cogworker_server::{App, Config, Context, Periodic, Server};
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

#[derive(Serialize, Deserialize)]
struct Tick;

impl Job for Tick {
    const CLASS: &'static str = "TickJob";

    fn options() -> JobOptions {
        JobOptions::new().queue("recipe-periodic")
    }
}

async fn tick(_: Tick, ctx: Context<mpsc::Sender<()>>) {
    // The second in which it was due, which is not when it runs.
    println!("due at {}", ctx.run().field("periodic_slot").unwrap_or_default());
    let _ = ctx.state().send(()).await;
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let (told, mut ticks) = mpsc::channel(1);
    let app = App::new(told)
        .job(tick)
        // Six fields begin with seconds; five, as in crontab, with minutes.
        .periodic(Periodic::cron("* * * * * *", &Tick).until_executed());
    let config = Config::builder().queue("recipe-periodic", 1).redis(RedisConfig::from_env()?).build()?;
    let three = async move {
        for _ in 0..3 {
            ticks.recv().await;
        }
    };
    Server::new(config, app).run(three).await?;
    Ok(())
}
