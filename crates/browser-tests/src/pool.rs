//! Browsers that tests share: starting one takes longer than most tests do.

use std::sync::Mutex;

use tokio::sync::OnceCell;

use crate::{Browser, Driver, Outcome, Scripts};

/// One driver and its idle browsers.
#[derive(Debug, Default)]
pub struct Pool {
    driver: OnceCell<Driver>,
    idle: Mutex<Vec<Browser>>,
}

impl Pool {
    /// A pool without browsers.
    pub const fn new() -> Self {
        Self { driver: OnceCell::const_new(), idle: Mutex::new(Vec::new()) }
    }

    /// An idle browser, or one more.
    ///
    /// # Errors
    /// Whatever keeps it from starting.
    pub async fn lend(&self, scripts: Scripts) -> Outcome<Browser> {
        let idle = {
            let mut idle = self.idle.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            let at = idle.iter().position(|browser| browser.scripts() == scripts);
            at.map(|at| idle.swap_remove(at))
        };
        if let Some(browser) = idle {
            return Ok(browser);
        }
        let driver = self.driver.get_or_try_init(Driver::start).await?;
        Browser::start(driver, scripts).await
    }

    /// Takes a browser back, as fresh as it was; one that cannot be made so is ended.
    pub async fn give_back(&self, browser: Browser) {
        if browser.reset().await.is_ok() {
            self.idle.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(browser);
        } else {
            let _ = browser.quit().await;
        }
    }

    /// Ends every browser and the driver.
    pub async fn close(&mut self) {
        let idle = std::mem::take(self.idle.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner));
        for browser in idle {
            let _ = browser.quit().await;
        }
        if let Some(mut driver) = self.driver.take() {
            driver.stop().await;
        }
    }
}
