//! The real browser: getting one, the tests in it, and pictures of the web UI.

use std::env;
use std::path::Path;

use clap::Args;
use cogworker_core::redis_config::RedisConfig;
use cogworker_testing::TestRedis;

use crate::debian;
use crate::demo::Outcome;
use crate::seed_demo;
use crate::step::{Step, TaskError};
use crate::workspace;

/// A package of its own, so that nobody builds and runs it by accident: its WebDriver client switches on features of
/// shared dependencies, such as the order of serde_json's maps, that the other tests must not have.
pub(crate) const PACKAGE: &str = "cogworker-browser-tests";
/// Debian's names of Chromium and chromedriver.
const PACKAGES: [&str; 2] = ["chromium", "chromium-driver"];

#[derive(Args)]
pub(crate) struct Options {
    /// Only the pages whose name contains this
    #[arg(long, default_value = "")]
    only: String,
}

/// Runs the tests. Where there is no browser and none can be installed it says so and goes on, but not in CI.
pub(crate) fn test(redis_server: &Path) -> Result<(), TaskError> {
    if let Err(why) = ensure() {
        if env::var_os("CI").is_some() {
            return Err(TaskError::Task { step: "browser tests", source: why.into() });
        }
        println!("\n!!! The browser tests are SKIPPED: {why} !!!");
        return Ok(());
    }
    Step::cargo("browser tests", &["test", "--package", PACKAGE, "--quiet"])
        .env("COGWORKER_REDIS_SERVER", redis_server)
        .run()
}

/// Pictures of every page, in both themes, on a desk and on a phone.
pub(crate) fn screenshots(options: &Options) -> Outcome {
    ensure()?;
    Step::cargo("build", &["build", "--quiet", "--package", PACKAGE, "--bins"]).run()?;
    let redis = TestRedis::start()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    runtime.block_on(async {
        let mut photographer = tokio::process::Command::new(workspace::executable("debug", "screenshots"));
        photographer
            .arg("--all")
            .arg(workspace::root().join("target/screenshots"))
            .arg("--readme")
            .arg(workspace::root().join("docs/screenshots"))
            .args(["--only", &options.only])
            .env("REDIS_URL", redis.url())
            .kill_on_drop(true);
        let config = RedisConfig::new(&redis.url())?;
        let status = seed_demo::while_it_runs(&config, async { photographer.status().await }).await??;
        if !status.success() {
            return Err(format!("take the pictures: it ended with {status}").into());
        }
        println!("See target/screenshots and docs/screenshots");
        Ok(())
    })
}

/// Installs Chromium and its driver where they are missing and this may be done without asking anybody.
fn ensure() -> Result<(), String> {
    if is_installed() {
        return Ok(());
    }
    debian::install(&PACKAGES)?;
    if is_installed() {
        Ok(())
    } else {
        Err(format!("install {}: they are not on PATH afterwards", PACKAGES.join(" ")))
    }
}

fn is_installed() -> bool {
    ["chromium", "chromedriver"].into_iter().all(debian::is_program)
}
