//! `cargo xtask redis`: a throw-away Redis server.

use std::io::{self, IsTerminal, Write};
use std::thread;
use std::time::Duration;

use clap::Args;
use cogworker_testing::TestRedisOptions;

use crate::step::TaskError;

#[derive(Args)]
pub(crate) struct Options {
    /// The TCP port; a free one by default
    #[arg(long)]
    port: Option<u16>,
    /// The server's version, such as 6.2; fetched if need be
    #[arg(long)]
    version: Option<String>,
}

pub(crate) fn run(options: &Options) -> Result<(), TaskError> {
    let mut server = TestRedisOptions::new();
    if let Some(port) = options.port {
        server = server.port(port);
    }
    if let Some(version) = &options.version {
        server = server.version(version);
    }
    let redis = server.start()?;
    // The URL alone on standard output, so that a script can read it.
    println!("{}", redis.url());
    let _ = io::stdout().flush();
    if io::stderr().is_terminal() {
        eprintln!("{}\nnothing is kept; Ctrl-C ends it", redis.unix_url());
    }
    // Ctrl-C ends this program where it stands; the server and its folder go with it.
    while redis.is_running() {
        thread::sleep(Duration::from_millis(200));
    }
    Err(TaskError::RedisEnded(redis.log()))
}
