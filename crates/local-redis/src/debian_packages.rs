//! Redis out of Debian's packages, unpacked into a folder: no root, nothing installed.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::FetchError;
use crate::fetch::{run, write_error};
use crate::redis_search::on_path;

const PACKAGES: [&str; 2] = ["redis-server", "redis-tools"];

/// Whether this system has Debian's package tools.
pub(crate) fn available(path: &OsString) -> bool {
    ["apt-get", "apt-cache", "dpkg", "dpkg-query"].into_iter().all(|tool| on_path(path, tool).is_some())
}

/// Downloads the server and the libraries it lacks, unpacks them into `folder` and leaves
/// `bin/redis-server` and `bin/redis-cli` in it, ready to start.
pub(crate) fn unpack(folder: &Path) -> Result<(), FetchError> {
    // The program is started below by its path, and started again from elsewhere later.
    let folder = fs::canonicalize(folder).map_err(write_error(folder))?;
    let downloads = folder.join("download");
    fs::create_dir(&downloads).map_err(write_error(&downloads))?;

    // The system's package lists may be missing (a container image) or older than the archive. Then lists of
    // our own are read, in the folder; the system's are left as they are.
    let system = Apt { lists: None, downloads: &downloads };
    if system.download_all().is_err() {
        let lists = downloads.join("lists");
        let own = Apt { lists: Some(lists), downloads: &downloads };
        own.update()?;
        own.download_all()?;
    }
    for package in downloaded(&downloads)? {
        run(Command::new("dpkg").arg("-x").arg(&package).arg(&folder))?;
    }
    fs::remove_dir_all(&downloads).map_err(write_error(&downloads))?;
    for program in PROGRAMS {
        wrap(&folder, program)?;
    }
    // Proves that every library is there, before the copy is offered to anyone.
    run(Command::new(folder.join("bin/redis-server")).arg("--version")).map(drop)
}

const PROGRAMS: [&str; 2] = ["redis-server", "redis-cli"];

/// Writes `bin/<program>`: it points the loader to the unpacked libraries and becomes the program, so that
/// its path is all that anyone needs, and its process id is the server's. The folder may be moved.
fn wrap(folder: &Path, program: &str) -> Result<(), FetchError> {
    let bin = folder.join("bin");
    fs::create_dir_all(&bin).map_err(write_error(&bin))?;
    let script = format!(
        "#!/bin/sh
root=${{0%/*}}/..
for libraries in \"$root\"/usr/lib/*-linux-* \"$root\"/lib/*-linux-*; do
  LD_LIBRARY_PATH=$libraries${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}
done
export LD_LIBRARY_PATH
exec \"$root/usr/bin/{program}\" \"$@\"
"
    );
    let path = bin.join(program);
    fs::write(&path, script).map_err(write_error(&path))?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).map_err(write_error(&path))
}

/// The package tools, with the system's lists or with lists of our own.
struct Apt<'a> {
    lists: Option<PathBuf>,
    downloads: &'a Path,
}

impl Apt<'_> {
    fn update(&self) -> Result<(), FetchError> {
        if let Some(lists) = &self.lists {
            let partial = lists.join("state/partial");
            fs::create_dir_all(&partial).map_err(write_error(&partial))?;
        }
        run(self.command("apt-get").arg("update")).map(drop)
    }

    fn download_all(&self) -> Result<(), FetchError> {
        let mut wanted: Vec<String> = PACKAGES.map(str::to_owned).into();
        wanted.extend(self.missing_libraries()?);
        run(self.command("apt-get").arg("download").args(&wanted)).map(drop)
    }

    /// The libraries the programs depend on directly, as far as they are not installed.
    fn missing_libraries(&self) -> Result<Vec<String>, FetchError> {
        let output = run(self.command("apt-cache").args(["depends", "--important"]).args(PACKAGES))?;
        let names = library_names(&String::from_utf8_lossy(&output.stdout));
        Ok(names.into_iter().filter(|name| !is_installed(name)).collect())
    }

    fn command(&self, tool: &str) -> Command {
        let mut command = Command::new(tool);
        command.current_dir(self.downloads).env("LC_ALL", "C");
        if let Some(lists) = &self.lists {
            command
                .arg("-o")
                .arg(format!("Dir::State::lists={}", lists.join("state").display()))
                .arg("-o")
                .arg(format!("Dir::Cache={}", lists.join("cache").display()));
        }
        command
    }
}

/// The libraries in what `apt-cache depends` prints. Of alternatives (marked `|`) the first counts.
fn library_names(depends: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut alternative = false;
    for line in depends.lines() {
        let Some((kind, name)) = line.trim().split_once("Depends: ") else { continue };
        let skip = alternative;
        alternative = kind.starts_with('|');
        let is_library = name.starts_with("lib") || name.starts_with("lua");
        // The C library belongs to the system: mixing two versions of it starts nothing.
        let wanted = is_library && name != "libc6" && !names.iter().any(|known| known == name);
        if !skip && wanted {
            names.push(name.to_owned());
        }
    }
    names
}

fn is_installed(package: &str) -> bool {
    let query = Command::new("dpkg-query").args(["-W", "-f", "${db:Status-Status}\n", package]).output();
    query.is_ok_and(|output| {
        output.status.success()
            && String::from_utf8_lossy(&output.stdout).lines().any(|line| line == "installed")
    })
}

fn downloaded(folder: &Path) -> Result<Vec<PathBuf>, FetchError> {
    let entries = fs::read_dir(folder).map_err(write_error(folder))?;
    let mut packages = Vec::new();
    for entry in entries {
        let path = entry.map_err(write_error(folder))?.path();
        if path.extension().is_some_and(|extension| extension == "deb") {
            packages.push(path);
        }
    }
    Ok(packages)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_libraries_of_both_packages_are_named_once_and_without_second_choices() {
        let depends = "redis-server\n  PreDepends: init-system-helpers\n  Depends: lsb-base\n  Depends: redis-tools\n\
                       redis-tools\n  Depends: adduser\n  Depends: libatomic1\n  Depends: libc6\n  Depends: liblzf1\n \
                       |Depends: libsystemd0\n  Depends: libelogind0\n  Depends: lua-cjson\n  Depends: libatomic1\n";
        assert_eq!(library_names(depends), ["libatomic1", "liblzf1", "libsystemd0", "lua-cjson"]);
    }

    #[test]
    fn a_wrapped_program_sees_its_arguments_and_the_unpacked_libraries() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("with space");
        fs::create_dir_all(folder.join("usr/bin")).unwrap();
        fs::create_dir_all(folder.join("usr/lib/any-linux-gnu")).unwrap();
        std::os::unix::fs::symlink("/bin/sh", folder.join("usr/bin/redis-server")).unwrap();
        wrap(&folder, "redis-server").unwrap();
        let args = ["-c", "echo \"$LD_LIBRARY_PATH|$1|$2\"", "sh", "--save", ""];
        let output = run(Command::new("/bin/sh").arg(folder.join("bin/redis-server")).args(args)).unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.contains("/usr/lib/any-linux-gnu"), "{text}");
        assert!(text.ends_with("|--save|\n"), "{text}");
    }
}
