//! Time zones, by their names in the IANA database.

use std::fmt;
use std::str::FromStr;

use chrono_tz::{TZ_VARIANTS, Tz};

use super::error::{CronError, CronPart, Fault};
use crate::edit_distance::edit_distance;

/// A misspelt zone is taken for a known one that is at most so many characters away.
const NEAR: usize = 3;

/// A time zone of the IANA database, with all its past changes and those that are known to come.
///
/// ```
/// use cogworker_core::cron::Zone;
///
/// let zone: Zone = "America/New_York".parse().unwrap();
/// assert_eq!(zone.name(), "America/New_York");
/// assert!("America/New_Yrok".parse::<Zone>().unwrap_err().hint().unwrap().contains("America/New_York"));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Zone(Tz);

impl Zone {
    /// Universal time: no change of the clock, ever.
    pub const UTC: Self = Self(Tz::UTC);

    /// Its name, as in the database.
    pub fn name(self) -> &'static str {
        self.0.name()
    }

    pub(super) fn tz(self) -> Tz {
        self.0
    }

    /// The zone of exactly that name.
    pub(super) fn named(name: &str) -> Option<Self> {
        name.parse().ok().map(Self)
    }

    pub(super) fn unknown(name: &str) -> Fault {
        let fault = Fault::new(CronPart::Zone, "an IANA zone such as Europe/Berlin", name);
        if name.starts_with(['+', '-']) {
            return fault.hint("name the zone, not its offset; a fixed one is Etc/GMT-9, which is 9 h ahead");
        }
        match likely(name) {
            Some(zone) => fault.hint(format!("write {}", zone.name())),
            None => fault,
        }
    }
}

impl Default for Zone {
    /// [`Zone::UTC`], which is the same on every machine.
    fn default() -> Self {
        Self::UTC
    }
}

impl FromStr for Zone {
    type Err = CronError;

    /// The names are matched exactly, as the Ruby gem does.
    fn from_str(name: &str) -> Result<Self, CronError> {
        Self::named(name).ok_or_else(|| Self::unknown(name).in_text(name))
    }
}

impl fmt::Display for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Debug for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Zone").field(&self.name()).finish()
    }
}

/// The zone that was meant: by its city alone (`Berlin`), in another case, or with a slip.
fn likely(name: &str) -> Option<&'static Tz> {
    let name = name.to_lowercase();
    let city = |zone: &Tz| zone.name().rsplit('/').next().is_some_and(|city| city.to_lowercase() == name);
    TZ_VARIANTS.iter().find(|zone| city(zone)).or_else(|| {
        let distance = |zone: &&Tz| edit_distance(&zone.name().to_lowercase(), &name, NEAR);
        // A short name is near to many others, so it gives no hint.
        let known = TZ_VARIANTS.iter().filter(|zone| name.len() > 2 * NEAR && distance(zone).is_some());
        known.min_by_key(distance)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hint(name: &str) -> Option<String> {
        name.parse::<Zone>().err().and_then(|error| error.hint().map(str::to_owned))
    }

    #[test]
    fn an_unknown_zone_is_refused_with_the_one_that_was_meant() {
        assert_eq!(hint("Berlin").as_deref(), Some("write Europe/Berlin"));
        assert_eq!(hint("europe/berlin").as_deref(), Some("write Europe/Berlin"));
        assert_eq!(hint("Europe/Berln").as_deref(), Some("write Europe/Berlin"));
        assert!(hint("+09:00").is_some_and(|hint| hint.contains("Etc/GMT-9")));
        assert_eq!(hint("Nowhere/At_All"), None);
        assert_eq!(hint("QQ"), None);
    }

    #[test]
    fn every_zone_is_found_by_its_own_name() {
        for zone in TZ_VARIANTS {
            assert_eq!(Zone::named(zone.name()).map(Zone::name), Some(zone.name()));
        }
    }
}
