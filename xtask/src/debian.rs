//! Programs from Debian's packages, installed where that may be done without asking anybody.

use std::env;
use std::process::{Command, Stdio};

/// Installs packages, as root or by a sudo that asks for no password.
pub(crate) fn install(packages: &[&str]) -> Result<(), String> {
    let names = packages.join(" ");
    if !is_program("apt-get") {
        return Err(format!("install {names}: there is no apt-get on this machine"));
    }
    let install = [&["install", "-y", "--no-install-recommends"], packages].concat();
    for args in [&["update", "-q"][..], &install] {
        let mut command = as_root("apt-get");
        command.args(args).env("DEBIAN_FRONTEND", "noninteractive").stdin(Stdio::null());
        println!("\n$ apt-get {}", args.join(" "));
        let status = command.status().map_err(|error| format!("install {names}: {error}"))?;
        if !status.success() {
            return Err(format!("install {names}: apt-get {} ended with {status}", args.join(" ")));
        }
    }
    Ok(())
}

/// Whether a program is on PATH.
pub(crate) fn is_program(name: &str) -> bool {
    env::var_os("PATH").is_some_and(|path| env::split_paths(&path).any(|folder| folder.join(name).is_file()))
}

/// By sudo without a password, unless this is root already.
fn as_root(program: &str) -> Command {
    let id = Command::new("id").arg("-u").output();
    if id.is_ok_and(|id| id.stdout.trim_ascii() == b"0") {
        return Command::new(program);
    }
    let mut command = Command::new("sudo");
    command.args(["-n", program]);
    command
}
