//! `cargo xtask package`: whether the crates can be published: what their packages hold and weigh, and that each builds from
//! itself and the others.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;

use crate::step::{self, Step, TaskError};
use crate::workspace::{self, Package};

const STEP: &str = "package";

/// The most that a package may take, compressed: a file that was not meant for it is noticed.
const LIMIT_KIB: u64 = 256;
/// The web UI brings libraries and a font, compressed twice: for browsers that know brotli, and for the others.
const WEB_LIMIT_KIB: u64 = 1024;

/// What cargo adds.
const CARGOS: [&str; 4] = [".cargo_vcs_info.json", "Cargo.lock", "Cargo.toml", "Cargo.toml.orig"];
const NEEDED: [&str; 3] = ["LICENSE", "README.md", "src/lib.rs"];

#[derive(Args, Default)]
pub(crate) struct Options {
    /// Install the programs of cogworker-swarm from the packages, and start them
    #[arg(long)]
    pub(crate) install: bool,
    /// Take changes that are not committed too
    #[arg(long)]
    pub(crate) allow_dirty: bool,
}

pub(crate) fn run(options: &Options) -> Result<(), TaskError> {
    let packages = workspace::published(STEP)?;
    let dirty = options.allow_dirty.then_some("--allow-dirty");
    // cargo's own builds would build every dependency once for each package.
    let mut publish = Step::cargo(STEP, &["publish", "--workspace", "--dry-run", "--no-verify", "--quiet"]);
    publish = dirty.into_iter().fold(publish, Step::arg);
    publish.run()?;
    // The same again, to where packages are left to be looked at.
    let mut pack = Step::cargo(STEP, &["package", "--no-verify", "--quiet"]);
    for package in &packages {
        pack = pack.arg("--package").arg(&package.name);
    }
    dirty.into_iter().fold(pack, Step::arg).run()?;
    step::announce(STEP);
    let mut findings = Vec::new();
    for package in &packages {
        let archive = archive(package);
        let size =
            fs::metadata(&archive).map_err(|source| TaskError::Read { path: archive.clone(), source })?;
        let kib = size.len().div_ceil(1024);
        let files = files(&archive, &package.folder_name())?;
        println!("{:4} KiB, {:3} files: {}", kib, files.len(), package.name);
        findings.extend(manifest_findings(package));
        findings.extend(content_findings(&package.name, kib, &files, &sources(package)?));
    }
    step::conclude(STEP, findings)?;
    let folder = unpack(&packages)?;
    check(&folder)?;
    if options.install { install(&folder, &packages) } else { Ok(()) }
}

fn archive(package: &Package) -> PathBuf {
    workspace::target().join("package").join(format!("{}.crate", package.folder_name()))
}

/// What is in a package, as paths from its root.
fn files(archive: &Path, folder: &str) -> Result<Vec<String>, TaskError> {
    let listed = output(Command::new("tar").arg("-tzf").arg(archive))?;
    let prefix = format!("{folder}/");
    Ok(listed.lines().filter_map(|path| Some(path.strip_prefix(&prefix)?.to_owned())).collect())
}

/// What the repository has for a package, as paths from its root.
fn sources(package: &Package) -> Result<Vec<String>, TaskError> {
    let mut git = Command::new("git");
    git.args(["ls-files", "--cached", "--others", "--exclude-standard"]).current_dir(&package.folder);
    Ok(output(&mut git)?.lines().map(str::to_owned).collect())
}

fn output(command: &mut Command) -> Result<String, TaskError> {
    let shown = format!("{command:?}").replace('"', "");
    let run = |source| TaskError::Run { step: STEP, command: shown.clone(), source };
    let output = command.output().map_err(run)?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        eprintln!("{}", String::from_utf8_lossy(&output.stderr));
        Err(TaskError::Command { step: STEP, command: shown, status: output.status })
    }
}

/// What a registry shows of a package, and where it would show nothing.
fn manifest_findings(package: &Package) -> Vec<String> {
    let missing = package.missing_metadata();
    missing.map(|field| format!("{}: its manifest has no {field}", package.name)).collect()
}

fn content_findings(name: &str, kib: u64, files: &[String], sources: &[String]) -> Vec<String> {
    let limit = if name == "cogworker-web" { WEB_LIMIT_KIB } else { LIMIT_KIB };
    let size = (kib > limit).then(|| format!("{name}: takes {kib} KiB, more than {limit}"));
    let is_there = |path: &str| files.iter().any(|file| file == path);
    let needed = NEEDED.iter().filter(|path| !is_there(path)).map(|path| format!("{name}: lacks {path}"));
    // All but its tests, which need crates that are not published before it.
    let is_for_users = |path: &&String| *path != "Cargo.toml" && !path.starts_with("tests/");
    let lost = sources.iter().filter(is_for_users).filter(|path| !is_there(path));
    let lost = lost.map(|path| format!("{name}: leaves {path} out"));
    let strange = files.iter().filter(|path| !CARGOS.contains(&path.as_str()));
    let strange = strange.filter(|path| path.starts_with("tests/") || !sources.contains(path));
    let strange = strange.map(|path| format!("{name}: has {path}"));
    size.into_iter().chain(needed).chain(lost).chain(strange).collect()
}

/// The packages as a workspace of their own, in which each is the others' dependency, as if all had been published.
fn unpack(packages: &[Package]) -> Result<PathBuf, TaskError> {
    // Below `target/package` cargo looks for no workspace further up.
    let folder = workspace::target().join("package/check");
    let crates = folder.join("crates");
    if crates.exists() {
        fs::remove_dir_all(&crates).map_err(|source| TaskError::Write { path: crates.clone(), source })?;
    }
    fs::create_dir_all(&crates).map_err(|source| TaskError::Write { path: crates.clone(), source })?;
    let mut manifest =
        "[workspace]\nresolver = \"3\"\nmembers = [\"crates/*\"]\n\n[patch.crates-io]\n".to_owned();
    for package in packages {
        output(Command::new("tar").arg("-xzf").arg(archive(package)).arg("-C").arg(&crates))?;
        manifest += &format!("{} = {{ path = \"crates/{}\" }}\n", package.name, package.folder_name());
    }
    let path = folder.join("Cargo.toml");
    fs::write(&path, manifest).map_err(|source| TaskError::Write { path, source })?;
    // The versions that the tests ran with.
    let lock = folder.join("Cargo.lock");
    fs::copy(workspace::root().join("Cargo.lock"), &lock)
        .map_err(|source| TaskError::Write { path: lock, source })?;
    Ok(folder)
}

/// Builds each package from itself and the others.
fn check(folder: &Path) -> Result<(), TaskError> {
    cargo(folder, &["check", "--workspace", "--lib", "--bins", "--all-features"]).run()
}

/// `cargo install cogworker-swarm`, and whether its programs start.
fn install(folder: &Path, packages: &[Package]) -> Result<(), TaskError> {
    let Some(swarm) = packages.iter().find(|package| package.name == "cogworker-swarm") else {
        return step::conclude(STEP, vec!["there is no package cogworker-swarm".to_owned()]);
    };
    let root = folder.join("root");
    let path = folder.join("crates").join(swarm.folder_name());
    cargo(folder, &["install", "--locked", "--debug", "--force"])
        .arg("--path")
        .arg(path.display().to_string())
        .arg("--root")
        .arg(root.display().to_string())
        .run()?;
    let mut findings = Vec::new();
    for (program, flag, expected) in [
        ("cogworkerswarm", "--version", swarm.version.as_str()),
        ("cogworker", "--version", &swarm.version),
        ("cogworker", "--help", "doctor"),
    ] {
        let said = output(Command::new(root.join("bin").join(program)).arg(flag))?;
        println!("$ {program} {flag}: {}", said.lines().next().unwrap_or_default());
        if !said.contains(expected) {
            findings.push(format!("{program} {flag} does not say {expected}"));
        }
    }
    step::conclude(STEP, findings)
}

fn cargo(folder: &Path, args: &[&str]) -> Step {
    Step::cargo(STEP, args)
        .folder(folder)
        .env("CARGO_PROFILE_DEV_DEBUG", "0")
        .arg("--target-dir")
        .arg(folder.join("target").display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_package_lacks_has_too_much_of_or_weighs_is_found() {
        let owned = |paths: &[&str]| paths.iter().map(|path| (*path).to_owned()).collect::<Vec<_>>();
        let sources = owned(&["Cargo.toml", "LICENSE", "README.md", "lua/a.lua", "src/lib.rs", "tests/a.rs"]);
        let good = owned(&["Cargo.toml", "Cargo.lock", "LICENSE", "README.md", "lua/a.lua", "src/lib.rs"]);
        assert_eq!(content_findings("a", LIMIT_KIB, &good, &sources), [""; 0]);
        let bad = owned(&["Cargo.toml", "LICENSE", "src/lib.rs", "tests/a.rs", "dump.rdb", "lua/a.lua"]);
        let expected = [
            "a: takes 257 KiB, more than 256",
            "a: lacks README.md",
            "a: leaves README.md out",
            "a: has tests/a.rs",
            "a: has dump.rdb",
        ];
        assert_eq!(content_findings("a", 257, &bad, &sources), expected);
    }
}
