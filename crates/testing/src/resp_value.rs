//! A reply of Redis, as a test sees it.

use std::fmt;

/// One reply. Compares directly with integers and strings, so that assertions stay short.
///
/// ```
/// use cogworker_testing::RespValue;
///
/// assert_eq!(RespValue::Int(3), 3);
/// assert_eq!(RespValue::Bulk(b"retry".to_vec()), "retry");
/// ```
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RespValue {
    /// A status line, such as `OK`.
    Simple(String),
    /// An error that Redis sent as the answer, its code word included.
    Error(String),
    /// An integer.
    Int(i64),
    /// A string of bytes.
    Bulk(Vec<u8>),
    /// Nested replies.
    Array(Vec<RespValue>),
    /// No value: a missing key, an aborted transaction.
    Nil,
}

impl RespValue {
    /// The integer, also where Redis sent it as a string; `None` for anything else.
    pub fn as_int(&self) -> Option<i64> {
        match self {
            Self::Int(number) => Some(*number),
            _ => self.as_str()?.parse().ok(),
        }
    }

    /// The text of a status or string; `None` for anything else and for bytes that are not UTF-8.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::Simple(text) => Some(text),
            Self::Bulk(bytes) => std::str::from_utf8(bytes).ok(),
            _ => None,
        }
    }

    /// The elements of an array; empty for anything else.
    pub fn items(&self) -> &[RespValue] {
        match self {
            Self::Array(items) => items,
            _ => &[],
        }
    }

    /// An array of strings and integers as strings, what is not UTF-8 replaced; nested arrays and nils are left out.
    pub fn strings(&self) -> Vec<String> {
        let text = |item: &RespValue| match item {
            Self::Simple(text) | Self::Error(text) => Some(text.clone()),
            Self::Bulk(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
            Self::Int(number) => Some(number.to_string()),
            Self::Array(_) | Self::Nil => None,
        };
        self.items().iter().filter_map(text).collect()
    }

    /// Whether there is no value.
    pub fn is_nil(&self) -> bool {
        matches!(self, Self::Nil)
    }

    /// Whether Redis answered with an error.
    pub fn is_error(&self) -> bool {
        matches!(self, Self::Error(_))
    }
}

impl fmt::Debug for RespValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Simple(text) => write!(f, "Simple({text:?})"),
            Self::Error(text) => write!(f, "Error({text:?})"),
            Self::Int(number) => write!(f, "Int({number})"),
            // A failed assertion shows the text, not a list of numbers.
            Self::Bulk(bytes) => write!(f, "Bulk({:?})", String::from_utf8_lossy(bytes)),
            Self::Array(items) => f.debug_list().entries(items).finish(),
            Self::Nil => f.write_str("Nil"),
        }
    }
}

impl PartialEq<i64> for RespValue {
    fn eq(&self, other: &i64) -> bool {
        matches!(self, Self::Int(number) if number == other)
    }
}

impl PartialEq<str> for RespValue {
    fn eq(&self, other: &str) -> bool {
        match self {
            Self::Simple(text) => text == other,
            Self::Bulk(bytes) => bytes == other.as_bytes(),
            _ => false,
        }
    }
}

impl PartialEq<&str> for RespValue {
    fn eq(&self, other: &&str) -> bool {
        *self == **other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_or_a_nil_equals_no_text_and_no_number() {
        assert_ne!(RespValue::Error("OK".into()), "OK");
        assert_ne!(RespValue::Nil, "");
        assert_ne!(RespValue::Nil, 0);
    }

    #[test]
    fn a_number_sent_as_a_string_reads_as_an_integer() {
        assert_eq!(RespValue::Bulk(b"42".to_vec()).as_int(), Some(42));
        assert_eq!(RespValue::Bulk(b"x".to_vec()).as_int(), None);
    }

    #[test]
    fn strings_keep_the_order_and_skip_nils() {
        let list = RespValue::Array(vec![RespValue::Bulk(b"a".to_vec()), RespValue::Nil, RespValue::Int(7)]);
        assert_eq!(list.strings(), ["a", "7"]);
    }
}
