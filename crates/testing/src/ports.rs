//! TCP ports for what a test starts.

use std::io;
use std::net::TcpListener;
use std::ops::Range;

/// Ports are picked below every system's range for outgoing connections. A client that keeps trying to reach
/// a stopped server could otherwise be given that very port, and connect to itself.
pub(crate) const PORTS: Range<u16> = 10_000..32_000;

/// How many ports are tried before giving up.
pub(crate) const PORT_ATTEMPTS: usize = 20;

/// Listens on a free port of 127.0.0.1.
pub(crate) fn listen() -> io::Result<TcpListener> {
    let mut outcome = Err(io::Error::from(io::ErrorKind::AddrInUse));
    for _ in 0..PORT_ATTEMPTS {
        outcome = TcpListener::bind(("127.0.0.1", fastrand::u16(PORTS)));
        if outcome.is_ok() {
            break;
        }
    }
    outcome
}
