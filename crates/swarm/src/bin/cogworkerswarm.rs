//! Runs several workers of an application.

use std::process::ExitCode;

fn main() -> ExitCode {
    cogworker_swarm::main()
}
