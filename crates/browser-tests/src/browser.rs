//! One session of a browser.

use std::fmt::Debug;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;
use thirtyfour::common::capabilities::chromium::ChromiumLikeCapabilities;
use thirtyfour::{
    By, ChromeCapabilities, DesiredCapabilities, Key, LoggingPrefsLogLevel, WebDriver, WebElement,
};

use crate::{Driver, Outcome};

/// Long enough for a slow machine; never waited out by a test that passes.
const SOON: Duration = Duration::from_secs(15);
const STEP: Duration = Duration::from_millis(20);

const ARGS: [&str; 12] = [
    "--headless=new",
    "--no-sandbox",
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--force-color-profile=srgb",
    "--lang=en-GB",
];

/// Whether pages may run scripts. A browser is started for one of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scripts {
    /// As nearly everybody has it.
    On,
    /// Switched off by the browser's own setting.
    Off,
}

/// What a page is shown on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Screen {
    /// In CSS pixels.
    pub width: u32,
    /// In CSS pixels.
    pub height: u32,
    /// Device pixels for each of those.
    pub scale: f64,
    /// Touched by fingers.
    pub touch: bool,
}

impl Screen {
    /// A window on a desk.
    pub const DESK: Self = Self { width: 1400, height: 1000, scale: 1.0, touch: false };
    /// A phone.
    pub const PHONE: Self = Self { width: 390, height: 844, scale: 2.0, touch: true };

    /// A window of that width.
    pub const fn wide(width: u32) -> Self {
        Self { width, height: 900, scale: 1.0, touch: false }
    }
}

/// A browser with a profile of its own.
#[derive(Debug)]
pub struct Browser {
    driver: WebDriver,
    scripts: Scripts,
    // Removed with it.
    _profile: TempDir,
}

impl Browser {
    /// Starts one.
    ///
    /// # Errors
    /// Whatever keeps it from starting.
    pub async fn start(driver: &Driver, scripts: Scripts) -> Outcome<Self> {
        let profile = TempDir::with_prefix("cogworker-browser-")?;
        let mut capabilities: ChromeCapabilities = DesiredCapabilities::chrome();
        capabilities.set_binary(&driver.chromium().to_string_lossy())?;
        for arg in ARGS {
            capabilities.add_arg(arg)?;
        }
        capabilities.add_arg(&format!("--user-data-dir={}", profile.path().display()))?;
        capabilities.set_browser_log_level(LoggingPrefsLogLevel::All)?;
        if scripts == Scripts::Off {
            let setting = json!({"profile.managed_default_content_settings.javascript": 2});
            capabilities.add_experimental_option("prefs", setting)?;
        }
        let driver = WebDriver::new(driver.url(), capabilities).await?;
        let browser = Self { driver, scripts, _profile: profile };
        browser.screen(Screen::DESK).await?;
        Ok(browser)
    }

    /// Whether it runs scripts.
    pub fn scripts(&self) -> Scripts {
        self.scripts
    }

    /// The session itself, for what has no name here.
    pub fn driver(&self) -> &WebDriver {
        &self.driver
    }

    /// Ends it.
    ///
    /// # Errors
    /// When the session is gone already.
    pub async fn quit(self) -> Outcome {
        Ok(self.driver.quit().await?)
    }

    /// A command of the browser's own protocol.
    ///
    /// # Errors
    /// When it refuses.
    pub async fn devtools(&self, method: &str, params: Value) -> Outcome<Value> {
        Ok(self.driver.cdp().send_raw(method, params).await?)
    }

    /// As fresh as after the start.
    ///
    /// # Errors
    /// When the session is gone.
    pub async fn reset(&self) -> Outcome {
        self.driver.goto("about:blank").await?;
        self.devtools("Network.clearBrowserCookies", json!({})).await?;
        self.devtools("Network.emulateNetworkConditions", network(false)).await?;
        self.devtools("Emulation.setTimezoneOverride", json!({"timezoneId": ""})).await?;
        self.devtools("Emulation.setEmulatedMedia", json!({"features": []})).await?;
        self.screen(Screen::DESK).await?;
        self.console().await?;
        Ok(())
    }

    /// What pages are shown on from now.
    ///
    /// # Errors
    /// When the session is gone.
    pub async fn screen(&self, screen: Screen) -> Outcome {
        let Screen { width, height, scale, touch } = screen;
        let metrics = json!({"width": width, "height": height, "deviceScaleFactor": scale, "mobile": touch});
        self.devtools("Emulation.setDeviceMetricsOverride", metrics).await?;
        self.devtools("Emulation.setTouchEmulationEnabled", json!({"enabled": touch})).await?;
        Ok(())
    }

    /// The system's setting of light (`false`) or dark.
    ///
    /// # Errors
    /// When the session is gone.
    pub async fn system_is_dark(&self, dark: bool) -> Outcome {
        let value = if dark { "dark" } else { "light" };
        let features = json!({"features": [{"name": "prefers-color-scheme", "value": value}]});
        self.devtools("Emulation.setEmulatedMedia", features).await?;
        Ok(())
    }

    /// The browser's time zone, such as `America/Bogota`.
    ///
    /// # Errors
    /// When it knows no such zone.
    pub async fn time_zone(&self, zone: &str) -> Outcome {
        self.devtools("Emulation.setTimezoneOverride", json!({"timezoneId": zone})).await?;
        Ok(())
    }

    /// Cut off from every server, or not.
    ///
    /// # Errors
    /// When the session is gone.
    pub async fn offline(&self, offline: bool) -> Outcome {
        self.devtools("Network.enable", json!({})).await?;
        self.devtools("Network.emulateNetworkConditions", network(offline)).await?;
        Ok(())
    }

    /// Opens an address.
    ///
    /// # Errors
    /// When nothing answers.
    pub async fn open(&self, url: &str) -> Outcome {
        Ok(self.driver.goto(url).await?)
    }

    /// Path and query of the page.
    ///
    /// # Errors
    /// When the session is gone.
    pub async fn path(&self) -> Outcome<String> {
        let url = self.driver.current_url().await?;
        Ok(url.query().map_or_else(|| url.path().to_owned(), |query| format!("{}?{query}", url.path())))
    }

    /// The value of an expression in the page. The driver's own scripts run where those of pages do not.
    ///
    /// # Errors
    /// When it throws.
    pub async fn value(&self, expression: &str) -> Outcome<Value> {
        let script = format!("return {expression}");
        Ok(self.driver.execute(script, vec![]).await?.json().clone())
    }

    /// Runs statements in the page.
    ///
    /// # Errors
    /// When they throw.
    pub async fn run(&self, script: &str) -> Outcome<Value> {
        Ok(self.driver.execute(script, vec![]).await?.json().clone())
    }

    /// The one number that an expression gives.
    ///
    /// # Errors
    /// When it throws, or gives something else.
    pub async fn number(&self, expression: &str) -> Outcome<f64> {
        let value = self.value(expression).await?;
        value.as_f64().ok_or_else(|| format!("{expression}: expected a number, found {value}").into())
    }

    /// Waits until an expression is true in the page.
    ///
    /// # Errors
    /// When it does not become so in time.
    pub async fn until(&self, expression: &str) -> Outcome {
        self.until_within(SOON, expression).await
    }

    /// The same with a limit of its own.
    ///
    /// # Errors
    /// When it does not become so in time.
    pub async fn until_within(&self, limit: Duration, expression: &str) -> Outcome {
        let end = Instant::now() + limit;
        // A page that is being replaced answers with an error: the next look sees the new one.
        let script = format!("return Boolean({expression})");
        loop {
            let found = self.driver.execute(script.as_str(), vec![]).await;
            if found.as_ref().is_ok_and(|found| found.json() == &Value::Bool(true)) {
                return Ok(());
            }
            if Instant::now() >= end {
                let found = found.map_or_else(|error| error.to_string(), |found| found.json().to_string());
                return Err(format!("not reached within {limit:?}: {expression} ({found})").into());
            }
            tokio::time::sleep(STEP).await;
        }
    }

    /// Waits until this text stands in an element of the page.
    ///
    /// # Errors
    /// When it does not in time.
    pub async fn reads(&self, selector: &str, text: &str) -> Outcome {
        let (selector, text) = (json!(selector), json!(text));
        let all = format!("[...document.querySelectorAll({selector})]");
        self.until(&format!("{all}.some((one) => one.innerText.replace(/\\s+/g, ' ').includes({text}))"))
            .await
            .map_err(|error| format!("{selector} with {text}: {error}").into())
    }

    /// How many elements there are.
    ///
    /// # Errors
    /// When the session is gone.
    pub async fn count(&self, selector: &str) -> Outcome<usize> {
        Ok(self.driver.find_all(By::Css(selector)).await?.len())
    }

    /// The first element, once it is there.
    ///
    /// # Errors
    /// When it does not come.
    pub async fn find(&self, selector: &str) -> Outcome<WebElement> {
        self.until(&format!("document.querySelector({}) !== null", json!(selector))).await?;
        Ok(self.driver.find(By::Css(selector)).await?)
    }

    /// Clicks on it, as a mouse does: what lies above it would be hit instead, and is an error.
    ///
    /// # Errors
    /// When it cannot be clicked.
    pub async fn click(&self, selector: &str) -> Outcome {
        let end = Instant::now() + SOON;
        loop {
            // An update may replace the element between the look and the click.
            let clicked = match self.find(selector).await {
                Ok(element) => element.click().await,
                Err(error) => return Err(error),
            };
            match clicked {
                Ok(()) => return Ok(()),
                Err(error) if Instant::now() >= end => {
                    return Err(format!("click {selector}: {error}").into());
                }
                Err(_) => tokio::time::sleep(STEP).await,
            }
        }
    }

    /// Types into it.
    ///
    /// # Errors
    /// When it takes no keys.
    pub async fn type_into(&self, selector: &str, text: &str) -> Outcome {
        Ok(self.find(selector).await?.send_keys(text).await?)
    }

    /// Presses a key wherever the focus is.
    ///
    /// # Errors
    /// When the session is gone.
    pub async fn press(&self, key: impl Into<char> + Debug) -> Outcome {
        let keys = self.driver.action_chain_with_delay(Some(Duration::ZERO), Some(Duration::ZERO));
        Ok(keys.send_keys(String::from(key.into())).perform().await?)
    }

    /// Presses Enter in an element: how a form is sent and a link followed without a mouse.
    ///
    /// # Errors
    /// When it takes no keys.
    pub async fn enter(&self, selector: &str) -> Outcome {
        Ok(self.find(selector).await?.send_keys(Key::Enter + "").await?)
    }

    /// What the browser complained about since the last look: errors of scripts, refusals by the page's policy,
    /// files that could not be loaded.
    ///
    /// # Errors
    /// When the session is gone.
    pub async fn console(&self) -> Outcome<Vec<String>> {
        let lines = self.driver.browser_log().await?;
        Ok(lines.into_iter().map(|line| format!("{}: {}", line.level, line.message)).collect())
    }

    /// A picture of the page: of what is seen, or of all of it.
    ///
    /// # Errors
    /// When it cannot be taken or written.
    pub async fn picture(&self, file: &Path, whole: bool) -> Outcome {
        let is_webp = file.extension().is_some_and(|ending| ending == "webp");
        let mut params = json!({"format": if is_webp { "webp" } else { "png" }});
        if is_webp {
            params["quality"] = json!(82);
        }
        if whole {
            params["captureBeyondViewport"] = json!(true);
            let metrics = self.devtools("Page.getLayoutMetrics", json!({})).await?;
            let size = &metrics["cssContentSize"];
            params["clip"] =
                json!({"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1});
        }
        let answer = self.devtools("Page.captureScreenshot", params).await?;
        let data = answer["data"].as_str().ok_or("take a picture: there is none")?;
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(file, base64(data)?)?;
        Ok(())
    }
}

fn network(offline: bool) -> Value {
    json!({"offline": offline, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1})
}

fn base64(text: &str) -> Outcome<Vec<u8>> {
    use base64::Engine;
    Ok(base64::engine::general_purpose::STANDARD.decode(text)?)
}
