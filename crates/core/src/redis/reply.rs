//! A reply, read by shape.

use bytes::Bytes;
use fred::types::Value;

use super::{Redis, RedisError};

/// One value of a reply.
#[derive(Debug, Clone)]
pub struct Reply(pub(super) Value);

impl Reply {
    /// True for nil.
    pub fn is_nil(&self) -> bool {
        matches!(self.0, Value::Null)
    }

    /// An integer, or the text of one.
    ///
    /// # Errors
    ///
    /// When the reply is anything else.
    pub fn int(&self) -> Result<i64, RedisError> {
        match &self.0 {
            Value::Integer(number) => Ok(*number),
            Value::Boolean(flag) => Ok(i64::from(*flag)),
            Value::String(text) => text.parse().map_err(|_| self.unexpected("an integer")),
            _ => Err(self.unexpected("an integer")),
        }
    }

    /// A number; Redis sends scores as text or as doubles.
    ///
    /// # Errors
    ///
    /// When the reply is anything else.
    pub fn float(&self) -> Result<f64, RedisError> {
        match &self.0 {
            Value::Double(number) => Ok(*number),
            Value::Integer(number) => Ok(*number as f64),
            Value::String(text) => text.parse().map_err(|_| self.unexpected("a number")),
            _ => Err(self.unexpected("a number")),
        }
    }

    /// Text or bytes, shared with the reply's own buffer.
    ///
    /// # Errors
    ///
    /// When the reply is anything else.
    pub fn bytes(self) -> Result<Bytes, RedisError> {
        match self.0 {
            Value::String(text) => Ok(text.into_inner()),
            Value::Bytes(bytes) => Ok(bytes),
            Value::Integer(number) => Ok(Bytes::from(number.to_string())),
            other => Err(Reply(other).unexpected("a string")),
        }
    }

    /// Text; bytes that are not UTF-8 are replaced.
    ///
    /// # Errors
    ///
    /// When the reply is anything else.
    pub fn text(self) -> Result<String, RedisError> {
        Ok(String::from_utf8_lossy(&self.bytes()?).into_owned())
    }

    /// Text, or `None` for nil.
    ///
    /// # Errors
    ///
    /// When the reply is anything else.
    pub fn optional_text(self) -> Result<Option<String>, RedisError> {
        if self.is_nil() { Ok(None) } else { self.text().map(Some) }
    }

    /// The elements of an array.
    ///
    /// # Errors
    ///
    /// When the reply is anything else.
    pub fn array(self) -> Result<Vec<Reply>, RedisError> {
        match self.0 {
            Value::Array(values) => Ok(values.into_iter().map(Reply).collect()),
            Value::Null => Ok(Vec::new()),
            other => Err(Reply(other).unexpected("an array")),
        }
    }

    /// An array of texts.
    ///
    /// # Errors
    ///
    /// When the reply is anything else.
    pub fn texts(self) -> Result<Vec<String>, RedisError> {
        self.array()?.into_iter().map(Reply::text).collect()
    }

    /// An array of texts or bytes.
    ///
    /// # Errors
    ///
    /// When the reply is anything else.
    pub fn byte_strings(self) -> Result<Vec<Bytes>, RedisError> {
        self.array()?.into_iter().map(Reply::bytes).collect()
    }

    fn unexpected(&self, expected: &'static str) -> RedisError {
        RedisError::UnexpectedReply { expected, found: format!("{:?}", self.0.kind()) }
    }
}

/// The elements of a script's reply, taken one after the other.
#[derive(Debug)]
pub struct Replies {
    pub(super) values: std::vec::IntoIter<Value>,
    pub(super) redis: Redis,
    /// The generation of the connection that the call was sent on.
    pub(super) sent_on: u64,
}

impl Replies {
    /// The next element; an error when the reply is shorter than the script's header says.
    pub fn take(&mut self) -> Result<Reply, RedisError> {
        self.values.next().map(Reply).ok_or_else(|| RedisError::UnexpectedReply {
            expected: "one more element",
            found: "the end of the reply".into(),
        })
    }

    /// The next element, the text of an error that the script caught; `None` for an empty one.
    pub async fn take_error(&mut self) -> Result<Option<RedisError>, RedisError> {
        let text = self.take()?.text()?;
        if text.is_empty() { Ok(None) } else { Ok(Some(self.error(&text).await)) }
    }

    /// An error that the script caught. It says as much about the connection as one that ended
    /// the script: where each write is caught, no other error tells that the server was demoted.
    pub async fn error(&self, text: &str) -> RedisError {
        self.redis.failed(RedisError::from_reply(text), self.sent_on).await
    }
}
