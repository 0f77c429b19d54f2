//! What version of Redis a server is.

use std::fmt;

use super::{Call, Redis, RedisError};

/// A server's version, as it reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct ServerVersion {
    /// The first number.
    pub major: u32,
    /// The second number.
    pub minor: u32,
}

impl ServerVersion {
    /// The oldest server that knows `LMOVE` and `BLMOVE` (MODE-02).
    pub const RELIABLE_FETCH: Self = Self::new(6, 2);

    /// A version to compare others with.
    pub const fn new(major: u32, minor: u32) -> Self {
        Self { major, minor }
    }

    /// Finds the version in the text of `INFO server`.
    fn from_info(info: &str) -> Option<Self> {
        let version = info.lines().find_map(|line| line.strip_prefix("redis_version:"))?;
        let mut numbers = version.trim().split('.').map(|number| number.parse().ok());
        Some(Self { major: numbers.next()??, minor: numbers.next()?? })
    }
}

impl fmt::Display for ServerVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

impl Redis {
    /// The server's version; `None` when it does not tell.
    ///
    /// # Errors
    /// When Redis cannot be asked.
    pub async fn server_version(&self) -> Result<Option<ServerVersion>, RedisError> {
        let info = self.command("INFO", Call::new().arg("server")).await?.text()?;
        Ok(ServerVersion::from_info(&info))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_read_from_info_mode_02() {
        let version = |info| ServerVersion::from_info(info);
        let old = version("# Server\r\nredis_version:6.0.9\r\nredis_mode:standalone\r\n");
        assert_eq!(old, Some(ServerVersion::new(6, 0)));
        assert!(old < Some(ServerVersion::RELIABLE_FETCH));
        assert!(version("redis_version:10.0.0") > Some(ServerVersion::RELIABLE_FETCH));
        assert_eq!(version("redis_version:unstable"), None);
        assert_eq!(version(""), None);
    }
}
