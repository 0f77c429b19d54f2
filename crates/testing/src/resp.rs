//! A small Redis client for setting up and looking at a test's server, independent of the one
//! under test.

use std::io::{self, BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::Duration;

/// A reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// nil.
    Nil,
    /// A number.
    Int(i64),
    /// A status such as `OK`.
    Status(String),
    /// Bytes.
    Bytes(Vec<u8>),
    /// Several.
    Array(Vec<Value>),
    /// An error reply.
    Error(String),
}

impl Value {
    /// A number, or 0.
    pub fn int(&self) -> i64 {
        match self {
            Self::Int(number) => *number,
            Self::Bytes(bytes) => String::from_utf8_lossy(bytes).parse().unwrap_or(0),
            _ => 0,
        }
    }

    /// Text, or nothing.
    pub fn text(&self) -> String {
        match self {
            Self::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            Self::Status(text) | Self::Error(text) => text.clone(),
            Self::Int(number) => number.to_string(),
            Self::Nil | Self::Array(_) => String::new(),
        }
    }

    /// The texts of an array.
    pub fn texts(&self) -> Vec<String> {
        match self {
            Self::Array(values) => values.iter().map(Self::text).collect(),
            _ => Vec::new(),
        }
    }
}

/// The connection failed.
#[derive(Debug, thiserror::Error)]
#[error("talk to the test's redis: {0}")]
pub struct RespError(#[from] io::Error);

/// A connection.
#[derive(Debug)]
pub struct RespClient {
    stream: BufReader<TcpStream>,
}

impl RespClient {
    /// Connects to a port on this machine.
    ///
    /// # Errors
    /// When nobody listens there.
    pub fn connect(port: u16) -> Result<Self, RespError> {
        let stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_secs(10)))?;
        Ok(Self { stream: BufReader::new(stream) })
    }

    /// Sends a command and reads its reply.
    ///
    /// # Errors
    /// When the connection fails. An error reply is a [`Value::Error`].
    pub fn command<A: AsRef<[u8]>>(&mut self, args: &[A]) -> Result<Value, RespError> {
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

    fn read(&mut self) -> Result<Value, RespError> {
        let mut line = String::new();
        if self.stream.read_line(&mut line)? == 0 {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
        }
        let line = line.trim_end();
        let rest = line.get(1..).unwrap_or("");
        let number = || rest.parse::<i64>().map_err(|_| io::Error::other(format!("odd reply {line:?}")));
        Ok(match line.as_bytes().first() {
            Some(b'+') => Value::Status(rest.to_owned()),
            Some(b'-') => Value::Error(rest.to_owned()),
            Some(b':') => Value::Int(number()?),
            Some(b'$') => match usize::try_from(number()?) {
                Err(_) => Value::Nil,
                Ok(length) => {
                    let mut bytes = vec![0; length + 2];
                    io::Read::read_exact(&mut self.stream, &mut bytes)?;
                    bytes.truncate(length);
                    Value::Bytes(bytes)
                }
            },
            Some(b'*') => match usize::try_from(number()?) {
                Err(_) => Value::Nil,
                Ok(length) => Value::Array((0..length).map(|_| self.read()).collect::<Result<_, _>>()?),
            },
            _ => return Err(io::Error::other(format!("odd reply {line:?}")).into()),
        })
    }
}
