//! `cargo xtask api`: the public API of each published library against its listing in `api/`, so that no change of it goes
//! unseen.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use clap::Args;
use serde::Deserialize;

use crate::step::{self, Step, TaskError};
use crate::workspace::{self, Package};

const STEP: &str = "api";
const FOLDER: &str = "api";
/// The version of rustdoc's JSON that the crate `public-api` reads; each few releases of Rust have another.
const FORMAT: u32 = 57;

#[derive(Args, Default)]
pub(crate) struct Options {
    /// Write the listings anew
    #[arg(long)]
    bless: bool,
}

#[derive(Deserialize)]
struct Head {
    format_version: u32,
}

pub(crate) fn run(options: &Options) -> Result<(), TaskError> {
    let packages = workspace::published(STEP)?;
    let target = workspace::target().join("api");
    let mut doc = Step::cargo(STEP, &["doc", "--no-deps", "--lib", "--all-features", "--quiet"])
        // The JSON of a stable rustdoc; and a folder of its own, since build scripts look at that variable.
        .env("RUSTC_BOOTSTRAP", "1")
        .env("RUSTDOCFLAGS", "-Z unstable-options --output-format json --cap-lints allow")
        .arg("--target-dir")
        .arg(target.display().to_string());
    for package in &packages {
        doc = doc.arg("--package").arg(&package.name);
    }
    doc.run()?;
    step::announce(STEP);
    let mut findings = Vec::new();
    for package in &packages {
        let json = target.join("doc").join(format!("{}.json", package.library()));
        let found = format_version(&json)?;
        if found != FORMAT {
            println!(
                "\n!!! The public API is NOT CHECKED: this rustdoc writes version {found} of its JSON, not {FORMAT} !!!"
            );
            return Ok(());
        }
        findings.extend(compare(package, &listing(&json)?, options.bless)?);
    }
    if !findings.is_empty() {
        findings.push("if that is meant: cargo xtask api --bless".to_owned());
    }
    step::conclude(STEP, findings)?;
    println!("{} listings in {FOLDER}/", packages.len());
    Ok(())
}

fn format_version(json: &Path) -> Result<u32, TaskError> {
    let text =
        fs::read_to_string(json).map_err(|source| TaskError::Read { path: json.to_owned(), source })?;
    let head: Head =
        serde_json::from_str(&text).map_err(|error| TaskError::Task { step: STEP, source: error.into() })?;
    Ok(head.format_version)
}

/// One item a line. Left out is what says nothing: traits that every type has, and those that the compiler works out, which
/// tests assert where they matter.
fn listing(json: &Path) -> Result<String, TaskError> {
    let api = public_api::Builder::from_rustdoc_json(json)
        .omit_blanket_impls(true)
        .omit_auto_trait_impls(true)
        .build()
        .map_err(|error| TaskError::Task { step: STEP, source: error.into() })?;
    Ok(api.items().map(|item| format!("{item}\n")).collect())
}

fn compare(package: &Package, found: &str, bless: bool) -> Result<Vec<String>, TaskError> {
    let path = format!("{FOLDER}/{}.txt", package.name);
    if bless {
        let file = workspace::root().join(&path);
        let written =
            fs::create_dir_all(workspace::root().join(FOLDER)).and_then(|()| fs::write(&file, found));
        written.map_err(|source| TaskError::Write { path: file, source })?;
        return Ok(Vec::new());
    }
    let kept = workspace::file(&workspace::root(), &path)?.map(|file| file.text).unwrap_or_default();
    let changes = changes(&kept, found);
    Ok(changes.into_iter().map(|change| format!("{path}: {change}")).collect())
}

fn changes(kept: &str, found: &str) -> Vec<String> {
    let (kept, found): (BTreeSet<&str>, BTreeSet<&str>) = (kept.lines().collect(), found.lines().collect());
    let gone = kept.difference(&found).map(|line| format!("- {line}"));
    gone.chain(found.difference(&kept).map(|line| format!("+ {line}"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_gone_and_what_is_new_is_shown_and_order_is_nothing() {
        assert_eq!(changes("a\nb\n", "b\na\n"), [""; 0]);
        assert_eq!(changes("a\nb\n", "b\nc\n"), ["- a", "+ c"]);
    }
}
