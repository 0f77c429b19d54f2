//! The chromedriver process.

use std::env;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::time::timeout;

/// As Debian calls them.
const PROGRAMS: [&str; 2] = ["chromium", "chromedriver"];
/// Starting it takes some ten milliseconds on an idle machine.
const START_LIMIT: Duration = Duration::from_secs(30);

/// A chromedriver on a free port of this machine; it ends with this value, and takes its browsers with it.
#[derive(Debug)]
pub struct Driver {
    child: Child,
    url: String,
    chromium: PathBuf,
}

/// Why there is no chromedriver.
#[derive(Debug, thiserror::Error)]
pub enum DriverError {
    /// Nothing on `PATH` has this name.
    #[error("find {0} on PATH; on Debian: apt-get install chromium chromium-driver")]
    Missing(&'static str),
    /// It is there and does not start.
    #[error("start chromedriver")]
    Start(#[from] io::Error),
    /// It did not tell its port in time.
    #[error("start chromedriver: it told no port")]
    NoPort,
}

/// Whether Chromium and its driver are on `PATH`.
pub fn is_installed() -> bool {
    PROGRAMS.into_iter().all(|program| find(program).is_some())
}

fn find(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file())
}

impl Driver {
    /// Starts it.
    ///
    /// # Errors
    /// [`DriverError`].
    pub async fn start() -> Result<Self, DriverError> {
        let [chromium, chromedriver] =
            PROGRAMS.map(|program| find(program).ok_or(DriverError::Missing(program)));
        let mut child = Command::new(chromedriver?)
            .arg("--port=0")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()?;
        let stdout = child.stdout.take().ok_or(DriverError::NoPort)?;
        let mut lines = BufReader::new(stdout).lines();
        let port = timeout(START_LIMIT, async {
            while let Some(line) = lines.next_line().await? {
                // "ChromeDriver was started successfully on port 41237."
                if let Some((_, port)) = line.split_once("successfully on port ") {
                    return Ok(port.trim_end_matches('.').parse::<u16>().ok());
                }
            }
            Ok::<_, io::Error>(None)
        })
        .await
        .map_err(|_| DriverError::NoPort)??
        .ok_or(DriverError::NoPort)?;
        // Read on: a full pipe would stop it.
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        Ok(Self { child, url: format!("http://127.0.0.1:{port}"), chromium: chromium? })
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    pub(crate) fn chromium(&self) -> &Path {
        &self.chromium
    }

    /// Ends it, so that it ends its browsers.
    pub async fn stop(&mut self) {
        if let Some(pid) = self.child.id() {
            let _ = cogworker_testing::send_signal(pid, "TERM");
            let _ = timeout(Duration::from_secs(10), self.child.wait()).await;
        }
    }
}
