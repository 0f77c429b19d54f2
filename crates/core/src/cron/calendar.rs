//! Which wall times a cron names, without any zone.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use croner::Cron as Pattern;
use croner::parser::{CronParser, Seconds, Year};

use super::error::{CronPart, Fault};
use super::field::{Field, Kind};

/// The wall times that can be asked about: the years 1 to 4999, which is what the search can handle.
const FIRST: i64 = -62_135_596_800;
const END: i64 = 95_617_584_000;

/// The longest that each month can be.
const LENGTHS: [u8; 12] = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/// The six fields of a cron, read and known to name some time.
#[derive(Clone, Debug)]
pub(super) struct Calendar {
    pattern: Pattern,
    /// It comes in each hour of a day.
    pub(super) every_hour: bool,
    /// Its minutes tell a distance (`*/5`) rather than times.
    pub(super) every_minutes: bool,
}

impl Calendar {
    /// Reads five fields, or six with the seconds first.
    pub(super) fn parse(fields: &[&str]) -> Result<Self, Fault> {
        let (seconds, rest) = match fields {
            [seconds, rest @ ..] if rest.len() == 5 => (*seconds, rest),
            rest => ("0", rest),
        };
        let [minutes, hours, days, months, weekdays] = rest else {
            return Err(Fault::plain(CronPart::Fields, "5 or 6 fields", fields.len().to_string()));
        };
        let seconds = Field::parse(&Kind::SECONDS, seconds)?;
        let minutes = Field::parse(&Kind::MINUTES, minutes)?;
        let hours = Field::parse(&Kind::HOURS, hours)?;
        let days_text = days;
        let days = Field::parse(&Kind::DAYS_OF_MONTH, days)?;
        let months = Field::parse(&Kind::MONTHS, months)?;
        let weekdays = Field::parse(&Kind::DAYS_OF_WEEK, weekdays)?;
        let never = || {
            Fault::new(CronPart::DaysOfMonth, "a day that one of the months has", days_text)
                .hint("such a cron never comes")
        };
        if !comes(&days, &months) {
            return Err(never());
        }
        let text = [&seconds, &minutes, &hours, &days, &months, &weekdays].map(canonical).join(" ");
        let parser = CronParser::builder().seconds(Seconds::Required).year(Year::Disallowed).build();
        // Every number was checked, so neither failure can come from a text that got here.
        let pattern = parser.parse(&text).map_err(|error| {
            Fault::plain(CronPart::Fields, "a known pattern", text.clone()).hint(error.to_string())
        })?;
        let every_hour = hours.is_full(&Kind::HOURS);
        let calendar = Self { pattern, every_hour, every_minutes: minutes.repeating };
        calendar.at_or_after(0).map(|_| calendar).ok_or_else(never)
    }

    pub(super) fn at_or_after(&self, wall: i64) -> Option<i64> {
        found(self.pattern.find_next_occurrence(&time(wall)?, true))
    }

    pub(super) fn after(&self, wall: i64) -> Option<i64> {
        self.at_or_after(wall.checked_add(1)?)
    }

    pub(super) fn at_or_before(&self, wall: i64) -> Option<i64> {
        found(self.pattern.find_previous_occurrence(&time(wall)?, true))
    }

    pub(super) fn before(&self, wall: i64) -> Option<i64> {
        self.at_or_before(wall.checked_sub(1)?)
    }
}

/// Whether there is a month that has one of the days. The days of the week do not count: a day that never
/// comes is a slip even where another day would make up for it, and the gem refuses it too.
fn comes(days: &Field, months: &Field) -> bool {
    let longest = months.numbers.iter().filter_map(|month| LENGTHS.get(usize::from(*month) - 1)).max();
    days.last || days.numbers.first().is_none_or(|first| Some(first) <= longest)
}

/// The field as croner reads it: numbers alone, so that none of its own spellings matter.
fn canonical(field: &Field) -> String {
    if field.any {
        return "*".to_owned();
    }
    let mut elements: BTreeSet<String> = field.numbers.iter().map(u8::to_string).collect();
    if field.last {
        elements.insert("L".to_owned());
    }
    elements.extend(field.nth.iter().map(|(day, place)| match place {
        Some(place) => format!("{day}#{place}"),
        None => format!("{day}L"),
    }));
    elements.into_iter().collect::<Vec<_>>().join(",")
}

fn time(wall: i64) -> Option<DateTime<Utc>> {
    DateTime::from_timestamp(wall, 0).filter(|_| (FIRST..END).contains(&wall))
}

fn found(result: Result<DateTime<Utc>, croner::errors::CronError>) -> Option<i64> {
    result.ok().map(|time| time.timestamp())
}
