//! Finds a Redis server program, and fetches one where none is installed.

use std::env;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::debian_packages;

/// Names the server to use, ahead of everything else.
const SERVER_VARIABLE: &str = "COGWORKER_REDIS_SERVER";

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
/// 3. the copy unpacked earlier into `redis/` in Cargo's target folder;
/// 4. on Debian and its relatives, the distribution's packages: downloaded and unpacked there,
///    without root and without installing anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedisBinary {
    server: PathBuf,
    cli: Option<PathBuf>,
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
}

/// What went wrong while fetching the distribution's packages.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FetchError {
    /// A command could not be run at all.
    #[error("run {command}")]
    Run {
        /// The program's name.
        command: String,
        /// The system's reason.
        #[source]
        source: io::Error,
    },
    /// A command reported a failure.
    #[error("run {command}: {output}")]
    Failed {
        /// The command line.
        command: String,
        /// The end of what it wrote.
        output: String,
    },
    /// A file or folder could not be written.
    #[error("write {}", path.display())]
    Write {
        /// What was being written.
        path: PathBuf,
        /// The system's reason.
        #[source]
        source: io::Error,
    },
}

impl RedisBinary {
    /// Finds the server, fetching it if need be (some seconds, once). Safe to call from many tests at once.
    ///
    /// # Errors
    /// Names what was tried, and the line that installs Redis on this kind of system.
    pub fn locate() -> Result<Self, RedisBinaryError> {
        let path = env::var_os("PATH").unwrap_or_default();
        Search {
            explicit: env::var_os(SERVER_VARIABLE).filter(|value| !value.is_empty()).map(PathBuf::from),
            fetch_possible: debian_packages::available(&path),
            path,
            target: target_folder(),
        }
        .run(debian_packages::unpack)
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

/// Where to look; apart from the environment, so that tests can state it.
struct Search {
    explicit: Option<PathBuf>,
    path: OsString,
    target: PathBuf,
    fetch_possible: bool,
}

impl Search {
    fn run(&self, fetch: impl Fn(&Path) -> Result<(), FetchError>) -> Result<RedisBinary, RedisBinaryError> {
        if let Some(server) = &self.explicit {
            if !is_executable(server) {
                return Err(RedisBinaryError::NotExecutable(server.clone()));
            }
            return Ok(self.with_cli(server.clone()));
        }
        let installed =
            ["redis-server", "valkey-server"].into_iter().find_map(|name| on_path(&self.path, name));
        if let Some(server) = installed {
            return Ok(self.with_cli(server));
        }
        let folder = self.target.join("redis");
        let server = folder.join("bin/redis-server");
        // The folder appears whole, by one rename: when the file is there, so is all the rest.
        if !is_executable(&server) {
            if !self.fetch_possible {
                return Err(RedisBinaryError::Missing);
            }
            self.fetch_once(&folder, &server, fetch)?;
        }
        Ok(self.with_cli(server))
    }

    /// Fetches under a lock, so that of many test processes one does the work and the rest wait for it.
    fn fetch_once(
        &self,
        folder: &Path,
        server: &Path,
        fetch: impl Fn(&Path) -> Result<(), FetchError>,
    ) -> Result<(), FetchError> {
        let write_error = |path: &Path| {
            let path = path.to_owned();
            move |source| FetchError::Write { path, source }
        };
        fs::create_dir_all(&self.target).map_err(write_error(&self.target))?;
        let lock_path = self.target.join("redis.lock");
        let lock = File::create(&lock_path).map_err(write_error(&lock_path))?;
        lock.lock().map_err(write_error(&lock_path))?;
        if is_executable(server) {
            return Ok(());
        }
        // Left over only from a fetch that was killed: the lock is ours.
        let partial = self.target.join("redis.partial");
        for stale in [&partial, &folder.to_owned()] {
            if stale.exists() {
                fs::remove_dir_all(stale).map_err(write_error(stale))?;
            }
        }
        fs::create_dir(&partial).map_err(write_error(&partial))?;
        fetch(&partial)?;
        fs::rename(&partial, folder).map_err(write_error(folder))
    }

    fn with_cli(&self, server: PathBuf) -> RedisBinary {
        let names = ["redis-cli", "valkey-cli"];
        let beside = |name: &&str| Some(server.parent()?.join(name)).filter(|path| is_executable(path));
        let cli = names
            .iter()
            .find_map(beside)
            .or_else(|| names.into_iter().find_map(|name| on_path(&self.path, name)));
        // A server is started in a folder of its own, where a relative path would lead elsewhere.
        let absolute = |path: PathBuf| std::path::absolute(&path).unwrap_or(path);
        RedisBinary { server: absolute(server), cli: cli.map(absolute) }
    }
}

/// Cargo's target folder: the one this program was built into, so that every package shares one copy.
fn target_folder() -> PathBuf {
    // Cargo marks its target folder with this file.
    let built_into = env::current_exe()
        .ok()
        .and_then(|exe| exe.ancestors().find(|dir| dir.join("CACHEDIR.TAG").is_file()).map(Path::to_owned));
    built_into
        .or_else(|| env::var_os("CARGO_TARGET_DIR").map(PathBuf::from))
        .unwrap_or_else(|| PathBuf::from("target"))
}

/// The first executable called `name` in the folders of `path`.
pub(crate) fn on_path(path: &OsString, name: &str) -> Option<PathBuf> {
    env::split_paths(path).map(|folder| folder.join(name)).find(|candidate| is_executable(candidate))
}

fn is_executable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    use super::*;

    fn executable(path: &Path) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "#!/bin/sh\n").unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn search(root: &Path) -> Search {
        Search {
            explicit: None,
            path: root.join("path").into(),
            target: root.join("target"),
            fetch_possible: true,
        }
    }

    fn no_fetch(_: &Path) -> Result<(), FetchError> {
        panic!("nothing had to be fetched")
    }

    #[test]
    fn the_variable_wins_over_path_and_path_over_the_unpacked_copy() {
        let root = tempfile::tempdir().unwrap();
        let [mine, on_path, unpacked] =
            ["mine/server", "path/valkey-server", "target/redis/bin/redis-server"]
                .map(|p| root.path().join(p));
        let mut search = search(root.path());
        executable(&unpacked);
        assert_eq!(search.run(no_fetch).unwrap().server(), unpacked);
        executable(&on_path);
        assert_eq!(search.run(no_fetch).unwrap().server(), on_path);
        executable(&mine);
        search.explicit = Some(mine.clone());
        assert_eq!(search.run(no_fetch).unwrap().server(), mine);
    }

    #[test]
    fn a_wrong_variable_is_an_error_even_when_path_has_a_server() {
        let root = tempfile::tempdir().unwrap();
        executable(&root.path().join("path/redis-server"));
        let wrong = root.path().join("path");
        let search = Search { explicit: Some(wrong.clone()), ..search(root.path()) };
        let error = search.run(no_fetch).unwrap_err();
        assert!(matches!(error, RedisBinaryError::NotExecutable(path) if path == wrong));
    }

    #[test]
    fn the_client_beside_the_server_is_found() {
        let root = tempfile::tempdir().unwrap();
        executable(&root.path().join("path/redis-server"));
        assert_eq!(search(root.path()).run(no_fetch).unwrap().cli(), None);
        executable(&root.path().join("path/redis-cli"));
        assert_eq!(
            search(root.path()).run(no_fetch).unwrap().cli(),
            Some(&*root.path().join("path/redis-cli"))
        );
    }

    #[test]
    fn without_a_way_to_fetch_the_error_says_how_to_install() {
        let root = tempfile::tempdir().unwrap();
        let search = Search { fetch_possible: false, ..search(root.path()) };
        let message = search.run(no_fetch).unwrap_err().to_string();
        for line in ["brew install", "apt-get install", "dnf install", "apk add", "COGWORKER_REDIS_SERVER"] {
            assert!(message.contains(line), "{line} is missing in {message}");
        }
    }

    #[test]
    fn of_many_searches_at_once_one_fetches_and_all_find_the_copy() {
        let root = tempfile::tempdir().unwrap();
        // What a killed fetch left behind must not be taken for a copy.
        fs::create_dir_all(root.path().join("target/redis.partial/bin")).unwrap();
        let fetches = AtomicUsize::new(0);
        let fetch = |folder: &Path| {
            fetches.fetch_add(1, Ordering::SeqCst);
            assert!(!folder.join("bin").exists());
            executable(&folder.join("bin/redis-server"));
            Ok(())
        };
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| search(root.path()).run(fetch).unwrap());
            }
        });
        assert_eq!(fetches.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn a_failed_fetch_leaves_no_copy_and_the_next_one_tries_again() {
        let root = tempfile::tempdir().unwrap();
        let fail = |folder: &Path| {
            executable(&folder.join("bin/redis-server"));
            Err(FetchError::Failed { command: "apt-get".into(), output: "no network".into() })
        };
        assert!(matches!(search(root.path()).run(fail), Err(RedisBinaryError::Fetch(_))));
        assert!(!root.path().join("target/redis").exists());
        let succeed = |folder: &Path| {
            executable(&folder.join("bin/redis-server"));
            Ok(())
        };
        search(root.path()).run(succeed).unwrap();
    }
}
