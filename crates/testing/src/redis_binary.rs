//! Finds a Redis server's executable, or fetches one.
//!
//! In this order: `COGWORKER_REDIS_SERVER` (a path); `redis-server` or `valkey-server` on the
//! `PATH`; a copy unpacked earlier; on Debian and its kin the distribution's own packages, downloaded
//! and unpacked without root. Nothing is installed.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The variable that names an executable to use.
pub const VARIABLE: &str = "COGWORKER_REDIS_SERVER";

/// What is unpacked: the server, its command line, and the libraries a minimal system lacks.
const PACKAGES: [&str; 5] = ["redis-server", "redis-tools", "libjemalloc2", "liblzf1", "libatomic1"];

/// A server's executable and the libraries it needs.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RedisBinary {
    /// The executable.
    pub server: PathBuf,
    /// Where its libraries are, when it was unpacked rather than installed.
    pub libraries: Option<PathBuf>,
}

/// No server could be found or fetched.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RedisBinaryError {
    /// The variable names something that is no file.
    #[error("use {VARIABLE}: expected an executable, found {}", .0.display())]
    NoFile(PathBuf),
    /// Fetching the distribution's packages failed.
    #[error(
        "find a redis server: there is none on the PATH, and fetching Debian's packages failed ({0}); install one: \
         macOS `brew install redis`, Debian and Ubuntu `apt-get install redis-server`, Fedora `dnf install valkey`, \
         Alpine `apk add redis`, or set {VARIABLE}"
    )]
    NotFound(String),
    /// The disk refused.
    #[error("unpack a redis server: {0}")]
    Io(#[from] io::Error),
}

impl RedisBinary {
    /// The executable, found or fetched. Tests that start at the same time fetch it once.
    ///
    /// # Errors
    /// Says how to install one when none can be found.
    pub fn resolve() -> Result<Self, RedisBinaryError> {
        if let Some(path) = std::env::var_os(VARIABLE).map(PathBuf::from) {
            return if path.is_file() { Ok(Self::at(path)) } else { Err(RedisBinaryError::NoFile(path)) };
        }
        if let Some(server) = ["redis-server", "valkey-server"].into_iter().find_map(on_path) {
            return Ok(Self { server, libraries: None });
        }
        let home = target_folder().join("redis");
        let unpacked = home.join("usr/bin/redis-server");
        if unpacked.is_file() {
            return Ok(Self::at(unpacked));
        }
        fs::create_dir_all(target_folder())?;
        let lock = File::create(target_folder().join("redis.lock"))?;
        lock.lock()?;
        if !unpacked.is_file() {
            fetch(&home)?;
        }
        Ok(Self::at(unpacked))
    }

    /// An executable with the libraries that stand beside it, if any do.
    fn at(server: PathBuf) -> Self {
        let libraries = server.parent().and_then(Path::parent).map(|usr| usr.join("lib")).and_then(|lib| {
            fs::read_dir(lib).ok()?.flatten().map(|entry| entry.path()).find(|path| has_jemalloc(path))
        });
        Self { server, libraries }
    }

    /// A command that runs the server.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.server);
        if let Some(libraries) = &self.libraries {
            let mut path = OsString::from(libraries);
            if let Some(before) = std::env::var_os("LD_LIBRARY_PATH") {
                path.push(":");
                path.push(before);
            }
            command.env("LD_LIBRARY_PATH", path);
        }
        command
    }
}

/// An unpacked tree has its libraries in `usr/lib/<machine>`; the system's own need no help.
fn has_jemalloc(folder: &Path) -> bool {
    folder.is_dir() && !folder.starts_with("/usr/lib") && folder.join("libjemalloc.so.2").exists()
}

fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|candidate| candidate.is_file())
}

/// The build's target folder: where this program stands, or the working directory's.
fn target_folder() -> PathBuf {
    if let Some(folder) = std::env::var_os("CARGO_TARGET_DIR") {
        return folder.into();
    }
    let program = std::env::current_exe().unwrap_or_default();
    program
        .ancestors()
        .find(|folder| folder.join("CACHEDIR.TAG").is_file())
        .map_or_else(|| PathBuf::from("target"), Path::to_owned)
}

/// Downloads and unpacks next to `home`, then moves into place in one step.
fn fetch(home: &Path) -> Result<(), RedisBinaryError> {
    let failed = |reason: String| RedisBinaryError::NotFound(reason);
    if on_path("apt-get").is_none() || on_path("dpkg").is_none() {
        return Err(failed("this system has no apt-get".into()));
    }
    let work = tempfile::Builder::new().prefix("redis-").tempdir_in(target_folder())?;
    if let Err(first) = download(work.path(), &[]) {
        // The package lists may be empty or old; lists of our own need no root.
        let lists = work.path().join("lists");
        fs::create_dir_all(lists.join("partial"))?;
        let options = [
            format!("Dir::State::lists={}", lists.display()),
            format!("Dir::Cache={}", work.path().display()),
            "APT::Sandbox::User=".to_owned(),
        ];
        run(Command::new("apt-get").arg("-qq").args(with_o(&options)).arg("update").current_dir(work.path()))
            .map_err(&failed)?;
        download(work.path(), &options).map_err(|second| failed(format!("{first}; {second}")))?;
    }
    let root = work.path().join("root");
    for package in fs::read_dir(work.path())?.flatten().map(|entry| entry.path()) {
        if package.extension().is_some_and(|ending| ending == "deb") {
            run(Command::new("dpkg").arg("-x").arg(&package).arg(&root)).map_err(&failed)?;
        }
    }
    fs::rename(&root, home)?;
    Ok(())
}

fn download(folder: &Path, options: &[String]) -> Result<(), String> {
    let mut apt = Command::new("apt-get");
    apt.arg("-qq").args(with_o(options)).arg("download").args(PACKAGES).current_dir(folder);
    run(&mut apt)
}

fn with_o(options: &[String]) -> impl Iterator<Item = &str> {
    options.iter().flat_map(|option| ["-o", option.as_str()])
}

fn run(command: &mut Command) -> Result<(), String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.stdin(Stdio::null()).output().map_err(|error| format!("{name}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    Err(format!("{name} ended with {}: {}", output.status, errors.lines().last().unwrap_or("").trim()))
}
