//! The workspace's tasks: `cargo xtask <task>`.
//!
//! One file per task; each prints the commands it runs, so that any of them can be repeated by hand.

use std::error::Error;
use std::process::ExitCode;

use clap::Parser;

mod api;
mod assets;
mod bench;
mod book;
mod browser;
mod config_reference;
mod debian;
mod demo;
mod deny;
mod docs_check;
mod features;
mod fmt;
mod item_docs;
mod lint;
mod lua_check;
mod lua_script;
mod markdown;
mod msrv;
mod package;
mod redis;
mod release_check;
mod scale;
mod seed_demo;
mod soak;
mod step;
mod test;
mod tools;
mod workspace;

use step::TaskError;

#[derive(Parser)]
#[command(name = "xtask", bin_name = "cargo xtask", about = "The workspace's tasks")]
enum Task {
    /// Run the example worker and the web UI on a private Redis, and push jobs
    Demo(demo::Options),
    /// Fill a Redis with a believable week of work, to look at the web UI
    SeedDemo(seed_demo::Options),
    /// Take a picture of every page of the web UI, in both themes, on a desk and on a phone
    Screenshots(browser::Options),
    /// Measure pushing, draining and picking up jobs
    Bench(bench::Options),
    /// What the measurements run of ours, as one of their systems
    #[command(hide = true)]
    BenchOurs(bench::ours::Options),
    /// Measure what one Redis pays for each process, queue and scheduled entry
    Scale(scale::Options),
    /// Random load and random faults; then everything must be accounted for
    Soak(soak::Options),
    /// The worker process of a soak
    #[command(hide = true)]
    SoakWorker(soak::worker::Options),
    /// Run every check and every test, as CI does
    Test(test::Options),
    /// The same as `test`
    Ci,
    /// Start a throw-away Redis server and print its URL; Ctrl-C ends it
    Redis(redis::Options),
    /// Fetch the web UI's libraries and font anew, by the versions in crates/web/assets/vendor/vendor.json
    Assets,
    /// Format the code
    Fmt(fmt::Options),
    /// Run clippy on everything, warnings being errors
    Lint,
    /// Check that each Redis script has its header, wrapper and test
    LuaCheck,
    /// Check the guide against itself and the code: links, contents, settings, Redis keys, tests that it names
    DocsCheck,
    /// Write the guide's tables of settings and flags anew, from the code that reads them
    ConfigReference,
    /// Build the guide as a book, in target/book
    Book,
    /// Check the public API of each crate against its listing in api/
    Api(api::Options),
    /// Check every feature by itself, by cargo-hack
    Features,
    /// Check the dependencies' licences, origins and known defects, by cargo-deny
    Deny,
    /// Check the oldest Rust that the crates name
    Msrv,
    /// Check what would be published, without publishing it
    Package(package::Options),
    /// Check all that a release needs and `test` does not check
    ReleaseCheck(release_check::Options),
}

fn main() -> ExitCode {
    let named = |step| move |source| TaskError::Task { step, source };
    let outcome = match Task::parse() {
        Task::Demo(options) => demo::run(&options).map_err(named("demo")),
        Task::SeedDemo(options) => seed_demo::run(&options).map_err(named("seed-demo")),
        Task::Screenshots(options) => browser::screenshots(&options).map_err(named("screenshots")),
        Task::Bench(options) => bench::run(&options).map_err(named("bench")),
        Task::BenchOurs(options) => bench::ours::run(&options).map_err(named("bench-ours")),
        Task::Scale(options) => scale::run(&options).map_err(named("scale")),
        Task::Soak(options) => soak::run(&options).map_err(named("soak")),
        Task::SoakWorker(options) => soak::worker::run(&options).map_err(named("soak-worker")),
        Task::Test(options) => test::run(&options),
        Task::Ci => test::run(&test::Options::default()),
        Task::Redis(options) => redis::run(&options),
        Task::Assets => assets::run().map_err(named("assets")),
        Task::Fmt(options) => fmt::run(&options),
        Task::Lint => lint::run(),
        Task::LuaCheck => lua_check::run(),
        Task::DocsCheck => docs_check::run(),
        Task::ConfigReference => config_reference::run(),
        Task::Book => book::run(),
        Task::Api(options) => api::run(&options),
        Task::Features => features::run(),
        Task::Deny => deny::run(),
        Task::Msrv => msrv::run(),
        Task::Package(options) => package::run(&options),
        Task::ReleaseCheck(options) => release_check::run(&options),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            report(&error);
            ExitCode::FAILURE
        }
    }
}

fn report(error: &TaskError) {
    eprintln!("\nxtask: {error}");
    let mut source = error.source();
    while let Some(cause) = source {
        eprintln!("  caused by: {cause}");
        source = cause.source();
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Task::command().debug_assert();
    }
}
