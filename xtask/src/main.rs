//! The workspace's tasks: `cargo xtask <task>`.
//!
//! `demo` and `test` are the two commands a newcomer needs; the others are parts of `test` or
//! tools for developers. Each task has a file of its own.

mod bench;
mod demo;
mod docs_check;
mod lua_check;
mod redis;
mod shell;
mod test;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Any failure of a task, told as a text.
type Outcome = Result<(), Box<dyn std::error::Error>>;

#[derive(Parser)]
#[command(name = "cargo xtask", about = "The workspace's tasks.")]
struct Tasks {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Run the example worker on a private Redis and push jobs to it
    Demo(demo::Options),
    /// Run every check and every test, as CI does
    Test(test::Options),
    /// The same as `test`
    Ci,
    /// Measure pushing, draining and picking up jobs
    Bench(bench::Options),
    /// Start a throw-away Redis and print its URL
    Redis,
    /// Format the code
    Fmt,
    /// Run clippy over everything
    Lint,
    /// Check the Lua scripts' headers, wrappers and tests
    LuaCheck,
    /// Check the docs' links and key tables
    DocsCheck,
}

fn main() -> ExitCode {
    let outcome = match Tasks::parse().task {
        Task::Demo(options) => demo::run(&options),
        Task::Test(options) => test::run(&options),
        Task::Ci => test::run(&test::Options::default()),
        Task::Bench(options) => bench::run(&options),
        Task::Redis => redis::run(),
        Task::Fmt => shell::cargo(&["fmt", "--all"]),
        Task::Lint => test::lint(),
        Task::LuaCheck => lua_check::run(),
        Task::DocsCheck => docs_check::run(),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("failed to {error}");
            ExitCode::FAILURE
        }
    }
}
