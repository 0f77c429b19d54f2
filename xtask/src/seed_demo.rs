//! `cargo xtask seed-demo`: fills a Redis with a believable week of work, to look at the web UI.
//!
//! The same data each time, but for the clock. It writes what workers would have written, in their formats; with
//! `--hold` it goes on beating for the processes that it made up, until Ctrl-C.

mod history;
mod jobs;
mod processes;

use std::time::Duration;

use clap::Args;
use cogworker_client::Client;
use cogworker_core::redis::Call;
use cogworker_core::redis_config::RedisConfig;
use cogworker_core::time::EpochSeconds;

use crate::demo::Outcome;

const WAITING: usize = 1204;
const RUNS: usize = 12_000;

#[derive(Args)]
pub(crate) struct Options {
    /// The Redis to fill; it must hold no jobs yet
    #[arg(long, env = "REDIS_URL")]
    url: String,
    /// Keep the made-up processes alive until Ctrl-C
    #[arg(long)]
    hold: bool,
    /// Waiting jobs in the largest queue
    #[arg(long, default_value_t = WAITING)]
    waiting: usize,
    /// Runs in the history
    #[arg(long, default_value_t = RUNS)]
    runs: usize,
}

pub(crate) fn run(options: &Options) -> Outcome {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut seed = fill(&RedisConfig::new(&options.url)?, options.waiting, options.runs).await?;
        if options.hold {
            hold(&mut seed).await?;
        }
        seed.client.close().await;
        Ok(())
    })
}

/// Fills a Redis, and beats for the processes while something else goes on.
pub(crate) async fn while_it_runs<T>(
    config: &RedisConfig,
    work: impl Future<Output = T>,
) -> Result<T, Box<dyn std::error::Error>> {
    let mut seed = fill(config, WAITING, RUNS).await?;
    tokio::select! {
        done = work => Ok(done),
        never = hold(&mut seed) => Err(never.err().unwrap_or_else(|| "take pictures: interrupted".into())),
    }
}

async fn fill(config: &RedisConfig, waiting: usize, runs: usize) -> Result<Seed, Box<dyn std::error::Error>> {
    let client = Client::connect(config).await?;
    let stats = client.stats().await?;
    let held = [stats.scheduled, stats.retrying, stats.dead].into_iter().flatten().sum::<u64>();
    if stats.enqueued + held > 0 {
        return Err(format!("fill {}: it holds jobs already", client.redis().config()).into());
    }
    let mut seed = Seed { client, random: fastrand::Rng::with_seed(7), now: EpochSeconds::now() };
    jobs::write(&mut seed, waiting).await?;
    history::write(&mut seed, runs).await?;
    processes::write(&mut seed).await?;
    println!("Filled {}", seed.client.redis().config());
    Ok(seed)
}

/// Beats for the processes until Ctrl-C.
async fn hold(seed: &mut Seed) -> Outcome {
    loop {
        tokio::select! {
            _ = tokio::signal::ctrl_c() => return Ok(()),
            () = tokio::time::sleep(Duration::from_secs(5)) => {
                // Redis may be away for a while: that is worth looking at as well.
                if let Err(error) = processes::beat(seed).await {
                    eprintln!("failed to beat for the made-up processes: {error}");
                }
            }
        }
    }
}

/// What all parts write with.
struct Seed {
    client: Client,
    random: fastrand::Rng,
    now: EpochSeconds,
}

impl Seed {
    fn ago(&self, seconds: f64) -> EpochSeconds {
        EpochSeconds::new(self.now.as_f64() - seconds)
    }

    fn jid(&mut self) -> String {
        format!("{:024x}", self.random.u128(..) >> 32)
    }

    async fn command(&self, name: &'static str, call: Call) -> Outcome {
        self.client.redis().command(name, call).await?;
        Ok(())
    }
}
