//! What each test plays on: a browser of the pool, and a site with a Redis of its own.

use std::path::Path;
use std::pin::Pin;
use std::sync::{LazyLock, Mutex, PoisonError};

use cogworker_browser_tests::{Browser, Outcome, Pool, Scripts, Site};
use libtest_mimic::{Failed, Trial};
use tokio::runtime::Runtime;

/// One runtime for all of them: connections to the driver outlive a test.
static RUNTIME: LazyLock<Option<Runtime>> = LazyLock::new(|| Runtime::new().ok());
static POOL: LazyLock<tokio::sync::RwLock<Pool>> = LazyLock::new(|| tokio::sync::RwLock::new(Pool::new()));

pub(crate) struct Stage {
    pub(crate) browser: Browser,
    pub(crate) site: Site,
    /// What the browser may complain about.
    expected: Mutex<Vec<&'static str>>,
}

impl Stage {
    /// Opens a page of the UI.
    pub(crate) async fn open(&self, path: &str) -> Outcome {
        self.browser.open(&self.site.url(path)).await
    }

    /// The browser will complain about something that has this in it, and the test means it to.
    pub(crate) fn expect_complaint(&self, text: &'static str) {
        self.expected.lock().unwrap_or_else(PoisonError::into_inner).push(text);
    }

    /// A number that Redis answers with.
    pub(crate) fn int(&self, args: &[&str]) -> i64 {
        self.site.redis.cli(args).as_int().unwrap_or(-1)
    }

    /// What the browser complained about and should not have.
    async fn complaints(&self) -> Outcome<Vec<String>> {
        let expected = self.expected.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut lines = self.browser.console().await?;
        lines.retain(|line| !expected.iter().any(|text| line.contains(text)));
        Ok(lines)
    }
}

pub(crate) type Play = fn(&Stage) -> Pin<Box<dyn Future<Output = Outcome> + Send + '_>>;

pub(crate) fn trial(name: &'static str, scripts: Scripts, play: Play) -> Trial {
    Trial::test(name, move || {
        let runtime = RUNTIME.as_ref().ok_or("start a runtime")?;
        runtime.block_on(run(name, scripts, play)).map_err(|error| Failed::from(error.to_string()))
    })
}

async fn run(name: &str, scripts: Scripts, play: Play) -> Outcome {
    let pool = POOL.read().await;
    let stage =
        Stage { browser: pool.lend(scripts).await?, site: Site::start().await?, expected: Mutex::default() };
    let mut outcome = play(&stage).await;
    match stage.complaints().await {
        Ok(complaints) if !complaints.is_empty() => {
            let told = format!("the browser complained:\n  {}", complaints.join("\n  "));
            outcome = match outcome {
                Ok(()) => Err(told.into()),
                Err(error) => Err(format!("{error}\nand {told}").into()),
            };
        }
        _ => {}
    }
    if outcome.is_err() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/browser-failures");
        let file = folder.join(format!("{}.png", name.replace("::", ".")));
        let _ = stage.browser.picture(&file, false).await;
    }
    pool.give_back(stage.browser).await;
    outcome
}

/// Ends what the tests shared.
pub(crate) fn close() {
    if let Some(runtime) = RUNTIME.as_ref() {
        runtime.block_on(async { POOL.write().await.close().await });
    }
}

/// Fails the test, with what was found.
#[macro_export]
macro_rules! ensure {
    ($condition:expr, $($found:tt)*) => {
        let holds: bool = $condition;
        if !holds {
            return Err(format!("{}: {}", stringify!($condition), format!($($found)*)).into());
        }
    };
}
