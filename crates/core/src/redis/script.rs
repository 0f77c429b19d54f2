//! A Lua script and the arguments of one call.

use bytes::Bytes;
use fred::types::Value;
use sha1::{Digest, Sha1};
use std::sync::OnceLock;

/// A script, run by its hash and sent in full only where the server does not have it.
#[derive(Debug)]
pub struct Script {
    name: &'static str,
    source: &'static str,
    hash: OnceLock<String>,
}

impl Script {
    /// `name` is the script's file name without its ending.
    pub const fn new(name: &'static str, source: &'static str) -> Self {
        Self { name, source, hash: OnceLock::new() }
    }

    /// What error messages call it.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The Lua text.
    pub fn source(&self) -> &'static str {
        self.source
    }

    /// SHA-1 of the source, as Redis names the script.
    pub fn hash(&self) -> &str {
        self.hash.get_or_init(|| {
            Sha1::digest(self.source.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
        })
    }
}

/// The keys and arguments of one script call or command.
#[derive(Debug, Clone, Default)]
pub struct Call {
    pub(super) keys: Vec<Value>,
    pub(super) args: Vec<Value>,
}

impl Call {
    /// No keys, no arguments yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Declares a key.
    #[must_use]
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.push_key(key);
        self
    }

    /// Adds an argument.
    #[must_use]
    pub fn arg(mut self, arg: impl IntoArg) -> Self {
        self.push(arg);
        self
    }

    /// Declares a key.
    #[doc(hidden)]
    pub fn push_key(&mut self, key: impl Into<String>) {
        self.keys.push(Value::from(key.into()));
    }

    /// Adds an argument.
    #[doc(hidden)]
    pub fn push(&mut self, arg: impl IntoArg) {
        self.args.push(arg.into_arg().0);
    }

    /// How many keys are declared so far: the next one's index in the script is one more.
    #[doc(hidden)]
    pub fn key_count(&self) -> usize {
        self.keys.len()
    }
}

/// An argument as it goes to Redis.
#[derive(Debug, Clone)]
pub struct Arg(pub(super) Value);

/// What may be an argument: text, bytes and numbers. Floats are written so that they read back
/// as the same number.
pub trait IntoArg {
    /// The argument.
    fn into_arg(self) -> Arg;
}

impl IntoArg for Arg {
    fn into_arg(self) -> Arg {
        self
    }
}

impl IntoArg for &str {
    fn into_arg(self) -> Arg {
        Arg(Value::String(self.into()))
    }
}

impl IntoArg for String {
    fn into_arg(self) -> Arg {
        Arg(Value::String(self.into()))
    }
}

impl IntoArg for &String {
    fn into_arg(self) -> Arg {
        self.as_str().into_arg()
    }
}

impl IntoArg for Bytes {
    fn into_arg(self) -> Arg {
        Arg(Value::Bytes(self))
    }
}

impl IntoArg for &Bytes {
    fn into_arg(self) -> Arg {
        Arg(Value::Bytes(self.clone()))
    }
}

impl IntoArg for Vec<u8> {
    fn into_arg(self) -> Arg {
        Arg(Value::Bytes(self.into()))
    }
}

impl IntoArg for f64 {
    fn into_arg(self) -> Arg {
        Arg(Value::String(self.to_string().into()))
    }
}

macro_rules! integer_args {
    ($($kind:ty)*) => {
        $(impl IntoArg for $kind {
            fn into_arg(self) -> Arg {
                // Written as text when it is sent, without a text of its own here.
                Arg(i64::try_from(self).map_or_else(|_| Value::String(self.to_string().into()), Value::Integer))
            }
        })*
    };
}

integer_args!(i32 i64 u32 u64 usize);
