//! `next` and `previous` against a walk over every instant, which knows the rule in its simplest form.

use chrono::{DateTime, Datelike, NaiveDateTime, Offset, TimeZone, Timelike};
use chrono_tz::{TZ_VARIANTS, Tz};
use proptest::prelude::*;
use proptest::sample::select;

use super::*;

/// The clock may have gone back this many seconds before the walk: the most since 1973.
const WARM_UP: i64 = 4 * 3600;

/// A field as text, and the numbers that it stands for.
#[derive(Clone, Debug)]
struct Drawn {
    text: String,
    numbers: Vec<u32>,
    open: bool,
}

/// A cron whose meaning the walk knows without reading it.
#[derive(Clone, Debug)]
struct Model {
    /// Second, minute, hour, day, month, weekday.
    fields: [Drawn; 6],
}

impl Model {
    fn text(&self, zone: &str) -> String {
        let start = usize::from(self.fields[0].text == "0");
        let fields: Vec<&str> = self.fields[start..].iter().map(|field| field.text.as_str()).collect();
        format!("{} {zone}", fields.join(" "))
    }

    fn names(&self, wall: i64) -> bool {
        let wall = naive(wall);
        let [second, minute, hour, day, month, weekday] = &self.fields;
        let of_month = day.numbers.contains(&wall.day());
        let of_week = weekday.numbers.contains(&wall.weekday().num_days_from_sunday());
        let day_fits = if day.open || weekday.open { of_month && of_week } else { of_month || of_week };
        day_fits
            && month.numbers.contains(&wall.month())
            && hour.numbers.contains(&wall.hour())
            && minute.numbers.contains(&wall.minute())
            && second.numbers.contains(&wall.second())
    }

    /// Every slot after one instant, up to and with another, looking at each `step` seconds.
    fn walk(&self, zone: Tz, after: i64, to: i64, step: i64) -> Vec<i64> {
        let every_hour = self.fields[2].numbers.len() == 24;
        let both_passes = every_hour || self.fields[1].text.contains('*');
        let start = after - WARM_UP - (after - WARM_UP).rem_euclid(step);
        let mut before = wall(zone, start);
        // The clock's highest mark so far, from before any overlap that is under way.
        let mut highest = before;
        let mut found = Vec::new();
        for instant in (start + step..=to).step_by(step as usize) {
            let now = wall(zone, instant);
            let skipped = || (before + step..now).step_by(step as usize).any(|wall| self.names(wall));
            let due = (self.names(now) && (now > highest || both_passes)) || (!every_hour && skipped());
            if due && instant > after {
                found.push(instant);
            }
            before = now;
            highest = highest.max(now);
        }
        found
    }
}

fn naive(seconds: i64) -> NaiveDateTime {
    DateTime::from_timestamp(seconds, 0).unwrap().naive_utc()
}

fn wall(zone: Tz, instant: i64) -> i64 {
    instant + i64::from(zone.offset_from_utc_datetime(&naive(instant)).fix().local_minus_utc())
}

/// A field of `low` to `high`; what is listed is at most `most`.
fn drawn(low: u32, high: u32, most: u32, open_weight: u32) -> impl Strategy<Value = Drawn> {
    let open = Just(Drawn { text: "*".into(), numbers: (low..=high).collect(), open: true });
    let step = (2..=(high - low)).prop_map(move |step| Drawn {
        text: format!("*/{step}"),
        numbers: (low..=high).step_by(step as usize).collect(),
        open: false,
    });
    let list = prop::collection::vec(low..=most, 1..4).prop_map(|numbers| Drawn {
        text: numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(","),
        numbers,
        open: false,
    });
    let range = (low..=most, low..=most).prop_map(move |(first, last)| Drawn {
        text: format!("{first}-{last}"),
        numbers: (low..=high)
            .filter(|number| {
                if first <= last {
                    (first..=last).contains(number)
                } else {
                    *number >= first || *number <= last
                }
            })
            .collect(),
        open: false,
    });
    prop_oneof![open_weight => open, 1 => step, 2 => list, 2 => range]
}

fn model(seconds: impl Strategy<Value = Drawn>) -> impl Strategy<Value = Model> {
    let night = drawn(0, 23, 5, 0).prop_filter("hours at night", |hours| !hours.text.contains('*'));
    let hours = prop_oneof![2 => drawn(0, 23, 23, 3), 3 => night];
    (seconds, drawn(0, 59, 59, 2), hours, drawn(1, 31, 31, 6), drawn(1, 12, 12, 12), drawn(0, 6, 6, 6))
        .prop_map(|(second, minute, hour, day, month, weekday)| Model {
            fields: [second, minute, hour, day, month, weekday],
        })
}

fn on_the_minute() -> impl Strategy<Value = Drawn> {
    Just(Drawn { text: "0".into(), numbers: vec![0], open: false })
}

/// Zones and instants close to which their clocks are moved.
const SHIFTS: &[(&str, &str)] = &[
    ("America/New_York", "2025-03-09T07:00:00Z"),
    ("America/New_York", "2025-11-02T06:00:00Z"),
    ("Europe/Berlin", "2025-03-30T01:00:00Z"),
    ("Europe/Berlin", "2025-10-26T01:00:00Z"),
    ("Europe/Berlin", "1945-05-24T00:00:00Z"),
    ("Australia/Lord_Howe", "2025-04-05T15:00:00Z"),
    ("Australia/Lord_Howe", "2025-10-04T15:30:00Z"),
    ("America/Sao_Paulo", "2018-02-18T02:00:00Z"),
    ("America/Sao_Paulo", "2018-11-04T03:00:00Z"),
    ("Africa/Cairo", "2025-04-24T22:00:00Z"),
    ("Africa/Cairo", "2025-10-30T21:00:00Z"),
    ("Asia/Beirut", "2025-03-29T22:00:00Z"),
    ("Asia/Beirut", "2025-10-25T21:00:00Z"),
    ("Africa/Casablanca", "2025-02-23T02:00:00Z"),
    ("Pacific/Apia", "2011-12-30T10:00:00Z"),
    ("Pacific/Kwajalein", "1993-08-21T12:00:00Z"),
    ("Antarctica/Troll", "2025-03-30T01:00:00Z"),
    ("Antarctica/Casey", "2020-10-03T16:00:00Z"),
    ("Asia/Kolkata", "2025-03-30T01:00:00Z"),
    ("UTC", "2025-03-30T01:00:00Z"),
];

fn place() -> impl Strategy<Value = (Tz, i64)> {
    let known = select(SHIFTS).prop_map(|(zone, instant)| (zone.parse::<Tz>().unwrap(), at(instant)));
    // From 1973 on, all offsets are whole minutes.
    let any = (select(&TZ_VARIANTS[..]), at("1973-01-01T00:00:00Z")..at("2037-01-01T00:00:00Z"));
    prop_oneof![4 => known, 1 => any]
}

fn agrees(
    model: &Model,
    zone: Tz,
    after: i64,
    to: i64,
    step: i64,
    probes: &[i64],
) -> Result<(), TestCaseError> {
    let Ok(cron) = Cron::parse(&model.text(zone.name())) else {
        // Only a day that no month has.
        prop_assert!(!model.fields[3].open && !model.fields[4].open);
        return Ok(());
    };
    let walked = model.walk(zone, after, to, step);
    prop_assert!(walked.windows(2).all(|pair| pair[0] < pair[1]));
    prop_assert_eq!(&slots(&cron, after, to), &walked, "forwards: {}", cron);
    prop_assert_eq!(&slots_backwards(&cron, after, to), &walked, "backwards: {}", cron);
    for probe in probes {
        let instant = after + 1 + probe.rem_euclid(to - after - 1);
        let now = EpochSeconds::new(instant as f64 + 0.5);
        let behind = walked.iter().rfind(|slot| **slot <= instant).copied();
        let ahead = walked.iter().find(|slot| **slot > instant).copied();
        prop_assert_eq!(cron.previous(now).filter(|slot| *slot > after), behind, "{} at {}", cron, instant);
        prop_assert_eq!(cron.next(now).filter(|slot| *slot <= to), ahead, "{} at {}", cron, instant);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 200, ..ProptestConfig::default() })]

    #[test]
    fn next_and_previous_agree_with_a_walk_over_every_minute(
        model in model(on_the_minute()),
        (zone, center) in place(),
        probes in prop::collection::vec(0..i64::MAX, 20),
    ) {
        agrees(&model, zone, center - 30 * 3600, center + 30 * 3600, 60, &probes)?;
    }

    #[test]
    fn next_and_previous_agree_with_a_walk_over_every_second(
        model in model(drawn(0, 59, 59, 1)),
        (zone, center) in place(),
        probes in prop::collection::vec(0..i64::MAX, 20),
    ) {
        agrees(&model, zone, center - 4000, center + 4000, 1, &probes)?;
    }
}
