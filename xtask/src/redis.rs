//! A throw-away Redis.

use cogworker_testing::TestRedis;

use crate::Outcome;

pub(crate) fn run() -> Outcome {
    let redis = TestRedis::start()?;
    println!("{}\nCtrl-C stops it; nothing is kept.", redis.url());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(tokio::signal::ctrl_c())?;
    Ok(())
}
