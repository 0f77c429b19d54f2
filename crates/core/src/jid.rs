//! Job ids and other random names.

use std::borrow::Borrow;
use std::cell::RefCell;
use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A job's id: 24 lower-case hex characters, unless the caller brought its own (PUSH-14).
/// Cheap to clone.
///
/// ```
/// use std::collections::HashMap;
/// use cogworker_core::jid::Jid;
///
/// let jid: Jid = "c0ffee".parse()?;
/// assert_eq!(jid, "c0ffee");
/// let names = HashMap::from([(jid, "import")]);
/// assert_eq!(names.get("c0ffee"), Some(&"import")); // a map by jid is asked with any text
/// # Ok::<_, std::convert::Infallible>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Jid(Arc<str>);

impl Jid {
    /// 12 bytes from the operating system's generator, so ids cannot be guessed.
    pub fn random() -> Self {
        Self(random_hex(12).into())
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Jid {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl From<String> for Jid {
    fn from(text: String) -> Self {
        Self(text.into())
    }
}

impl From<Jid> for String {
    fn from(jid: Jid) -> Self {
        jid.as_str().to_owned()
    }
}

impl FromStr for Jid {
    type Err = Infallible;

    /// Any text may be an id.
    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(text.into())
    }
}

impl Borrow<str> for Jid {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for Jid {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl PartialEq<str> for Jid {
    fn eq(&self, other: &str) -> bool {
        &*self.0 == other
    }
}

impl PartialEq<&str> for Jid {
    fn eq(&self, other: &&str) -> bool {
        &*self.0 == *other
    }
}

impl fmt::Display for Jid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for Jid {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Jid {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::from)
    }
}

/// Random bytes waiting to be used; one system call fills it for many ids.
const POOL_BYTES: usize = 1536;

struct Pool {
    bytes: [u8; POOL_BYTES],
    used: usize,
}

thread_local! {
    static POOL: RefCell<Pool> = const { RefCell::new(Pool { bytes: [0; POOL_BYTES], used: POOL_BYTES }) };
}

/// `bytes` (at most 32) random bytes as lower-case hex.
///
/// Should the operating system refuse randomness, a seeded generator takes its place: such names
/// are still distinct, but could be guessed.
#[doc(hidden)]
pub fn random_hex(bytes: usize) -> String {
    let bytes = bytes.min(32);
    POOL.with_borrow_mut(|pool| {
        if pool.used + bytes > POOL_BYTES {
            if getrandom::fill(&mut pool.bytes).is_err() {
                fastrand::fill(&mut pool.bytes);
            }
            pool.used = 0;
        }
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut hex = String::with_capacity(bytes * 2);
        for byte in &pool.bytes[pool.used..pool.used + bytes] {
            hex.push(char::from(DIGITS[usize::from(byte >> 4)]));
            hex.push(char::from(DIGITS[usize::from(byte & 15)]));
        }
        pool.used += bytes;
        hex
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_jid_is_24_lower_case_hex_characters_and_never_the_same() {
        let jids: std::collections::HashSet<_> = (0..10_000).map(|_| Jid::random()).collect();
        assert_eq!(jids.len(), 10_000);
        for jid in jids {
            assert_eq!(jid.as_str().len(), 24);
            assert!(jid.as_str().bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')));
        }
    }
}
