//! The variables of an environment, as a value.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

/// The variables of an environment, passed as a value so that nothing reads global state.
///
/// ```
/// use cogworker_server::config::EnvVars;
///
/// let env: EnvVars = [("COGWORKER_CONCURRENCY", "5")].into_iter().collect();
/// assert!(env.get("COGWORKER_CONCURRENCY").is_some());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EnvVars(BTreeMap<OsString, OsString>);

impl EnvVars {
    /// The variables of this process.
    pub fn from_process() -> Self {
        std::env::vars_os().collect()
    }

    /// The value of `name`; one that is set but empty counts as not set.
    pub fn get(&self, name: &str) -> Option<&OsStr> {
        self.raw(name).filter(|value| !value.is_empty())
    }

    /// The value of `name`, also if it is empty.
    pub(crate) fn raw(&self, name: &str) -> Option<&OsStr> {
        self.0.get(OsStr::new(name)).map(OsString::as_os_str)
    }

    pub(crate) fn set(&mut self, name: &str, value: &str) {
        self.0.insert(name.into(), value.into());
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().filter_map(|name| name.to_str())
    }
}

impl<K: Into<OsString>, V: Into<OsString>> FromIterator<(K, V)> for EnvVars {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(vars: I) -> Self {
        Self(vars.into_iter().map(|(name, value)| (name.into(), value.into())).collect())
    }
}
