//! What a key may hold.

use std::fmt;

/// The type of a key's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum KeyType {
    /// Text, a number, bytes.
    String,
    /// LIST.
    List,
    /// SET.
    Set,
    /// ZSET.
    SortedSet,
    /// HASH.
    Hash,
}

impl KeyType {
    /// As the command `TYPE` spells it.
    pub fn name(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::List => "list",
            Self::Set => "set",
            Self::SortedSet => "zset",
            Self::Hash => "hash",
        }
    }
}

impl fmt::Display for KeyType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
