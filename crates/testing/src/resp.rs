//! A tiny blocking Redis connection (protocol version 2).

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use crate::RespValue;

/// How deep a reply may nest. Redis itself stays far below; a stray byte stream must not exhaust the stack.
const MAX_DEPTH: usize = 32;

/// The longest string Redis can hold, so the longest it can announce.
const MAX_LENGTH: u64 = 512 * 1024 * 1024;

/// Why a command got no reply. An error that Redis *sent* is a [`RespValue::Error`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RespError {
    /// The server could not be reached.
    #[error("connect to the test Redis at {address}")]
    Connect {
        /// Where it should have listened.
        address: String,
        /// The system's reason.
        #[source]
        source: io::Error,
    },
    /// The connection broke, or no reply came in time.
    #[error("exchange a command with the test Redis")]
    Io(#[from] io::Error),
    /// The bytes are no Redis reply.
    #[error("read a Redis reply: {0}")]
    Malformed(String),
}

trait Stream: Read + Write + Send {}
impl<T: Read + Write + Send> Stream for T {}

/// One connection, for what a test wants to ask or wait for by itself.
///
/// ```no_run
/// use std::time::Duration;
/// use cogworker_testing::{Resp, TestRedis, RespValue};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let redis = TestRedis::start()?;
/// let mut connection = Resp::unix(&redis.socket(), Duration::from_secs(5))?;
/// assert_eq!(connection.command(&["PING"])?, RespValue::Simple("PONG".into()));
/// # Ok(())
/// # }
/// ```
pub struct Resp {
    stream: BufReader<Box<dyn Stream>>,
}

impl std::fmt::Debug for Resp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Resp").finish_non_exhaustive()
    }
}

impl Resp {
    /// Connects over TCP to a port on 127.0.0.1. Each read and write may take as long as `timeout`.
    ///
    /// # Errors
    /// [`RespError::Connect`] when nothing listens there.
    pub fn tcp(port: u16, timeout: Duration) -> Result<Self, RespError> {
        let open = || {
            let stream = TcpStream::connect(("127.0.0.1", port))?;
            stream.set_nodelay(true)?;
            stream.set_read_timeout(Some(timeout))?;
            stream.set_write_timeout(Some(timeout))?;
            Ok(stream)
        };
        let stream =
            open().map_err(|source| RespError::Connect { address: format!("127.0.0.1:{port}"), source })?;
        Ok(Self::over(Box::new(stream)))
    }

    /// Connects to a unix socket. Each read and write may take as long as `timeout`.
    ///
    /// # Errors
    /// [`RespError::Connect`] when nothing listens there.
    pub fn unix(socket: &Path, timeout: Duration) -> Result<Self, RespError> {
        let open = || {
            let stream = UnixStream::connect(socket)?;
            stream.set_read_timeout(Some(timeout))?;
            stream.set_write_timeout(Some(timeout))?;
            Ok(stream)
        };
        let stream =
            open().map_err(|source| RespError::Connect { address: socket.display().to_string(), source })?;
        Ok(Self::over(Box::new(stream)))
    }

    fn over(stream: Box<dyn Stream>) -> Self {
        Self { stream: BufReader::new(stream) }
    }

    /// Sends one command and reads its reply. Arguments are bytes: anything that Redis can hold.
    ///
    /// # Errors
    /// [`RespError::Io`] when the server is gone or silent, [`RespError::Malformed`] when it is no Redis.
    pub fn command(&mut self, args: &[impl AsRef<[u8]>]) -> Result<RespValue, RespError> {
        let mut request = format!("*{}\r\n", args.len()).into_bytes();
        for arg in args {
            let arg = arg.as_ref();
            request.extend_from_slice(format!("${}\r\n", arg.len()).as_bytes());
            request.extend_from_slice(arg);
            request.extend_from_slice(b"\r\n");
        }
        self.stream.get_mut().write_all(&request)?;
        self.read()
    }

    /// Reads the next reply without sending anything: the messages after a `SUBSCRIBE`.
    ///
    /// # Errors
    /// As [`Resp::command`].
    pub fn read(&mut self) -> Result<RespValue, RespError> {
        read_value(&mut self.stream, 0)
    }
}

fn read_value(stream: &mut impl BufRead, depth: usize) -> Result<RespValue, RespError> {
    if depth > MAX_DEPTH {
        return Err(RespError::Malformed(format!("nested deeper than {MAX_DEPTH}")));
    }
    let line = read_line(stream)?;
    let Some((kind, rest)) = line.split_at_checked(1) else {
        return Err(RespError::Malformed("an empty line".into()));
    };
    match kind {
        "+" => Ok(RespValue::Simple(rest.to_owned())),
        "-" => Ok(RespValue::Error(rest.to_owned())),
        ":" => Ok(RespValue::Int(number(rest)?)),
        "$" => match length(rest)? {
            Some(length) => read_bulk(stream, length).map(RespValue::Bulk),
            None => Ok(RespValue::Nil),
        },
        "*" => match length(rest)? {
            // Collected one by one: an announced length reserves no memory.
            Some(count) => (0..count)
                .map(|_| read_value(stream, depth + 1))
                .collect::<Result<_, _>>()
                .map(RespValue::Array),
            None => Ok(RespValue::Nil),
        },
        _ => Err(RespError::Malformed(format!("unknown type in {line:?}"))),
    }
}

fn read_line(stream: &mut impl BufRead) -> Result<String, RespError> {
    let mut line = Vec::new();
    stream.by_ref().take(MAX_LENGTH).read_until(b'\n', &mut line)?;
    let Some(line) = line.strip_suffix(b"\r\n") else {
        return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
    };
    Ok(String::from_utf8_lossy(line).into_owned())
}

fn read_bulk(stream: &mut impl BufRead, length: u64) -> Result<Vec<u8>, RespError> {
    let mut bytes = Vec::new();
    stream.by_ref().take(length + 2).read_to_end(&mut bytes)?;
    if bytes.len() as u64 != length + 2 {
        return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
    }
    if !bytes.ends_with(b"\r\n") {
        return Err(RespError::Malformed("a string longer than announced".into()));
    }
    bytes.truncate(bytes.len() - 2);
    Ok(bytes)
}

fn number(text: &str) -> Result<i64, RespError> {
    text.parse().map_err(|_| RespError::Malformed(format!("{text:?} where a number belongs")))
}

/// A length; `None` for the -1 that means nil.
fn length(text: &str) -> Result<Option<u64>, RespError> {
    match number(text)? {
        -1 => Ok(None),
        found => match u64::try_from(found) {
            Ok(length) if length <= MAX_LENGTH => Ok(Some(length)),
            _ => Err(RespError::Malformed(format!("a length of {found}"))),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(mut bytes: &[u8]) -> Result<RespValue, RespError> {
        read_value(&mut bytes, 0)
    }

    #[test]
    fn every_kind_of_reply_is_read() {
        assert_eq!(parse(b"+OK\r\n").unwrap(), RespValue::Simple("OK".into()));
        assert_eq!(parse(b"-ERR no\r\n").unwrap(), RespValue::Error("ERR no".into()));
        assert_eq!(parse(b":-7\r\n").unwrap(), RespValue::Int(-7));
        assert_eq!(parse(b"$4\r\na\r\nb\r\n").unwrap(), RespValue::Bulk(b"a\r\nb".to_vec()));
        assert_eq!(parse(b"$-1\r\n").unwrap(), RespValue::Nil);
        assert_eq!(parse(b"*-1\r\n").unwrap(), RespValue::Nil);
        assert_eq!(
            parse(b"*2\r\n:1\r\n*1\r\n$0\r\n\r\n").unwrap(),
            RespValue::Array(vec![RespValue::Int(1), RespValue::Array(vec![RespValue::Bulk(vec![])])])
        );
    }

    #[test]
    fn bytes_that_are_no_reply_are_refused() {
        for bytes in [&b"\r\n"[..], b"?1\r\n", b":x\r\n", b"$-2\r\n", b"$9999999999\r\n", b"$1\r\nabc\r\n"] {
            assert!(matches!(parse(bytes), Err(RespError::Malformed(_))), "{bytes:?}");
        }
        assert!(matches!(parse(&b"*1\r\n".repeat(50)), Err(RespError::Malformed(_))));
    }

    #[test]
    fn a_reply_cut_short_is_an_io_error() {
        for bytes in [&b""[..], b"+OK", b"$5\r\nab", b"*2\r\n:1\r\n"] {
            assert!(matches!(parse(bytes), Err(RespError::Io(_))), "{bytes:?}");
        }
    }
}
