//! Every spelling means what fugit takes it for.

use super::*;
use crate::digest::periodic_id;

/// A text, and the plain fields that fugit 1.5.2 makes of it.
const MEANINGS: &[(&str, &str)] = &[
    ("* * * * *", "* * * * *"),
    ("*/5 * * * *", "0,5,10,15,20,25,30,35,40,45,50,55 * * * *"),
    ("5/10 * * * *", "5,15,25,35,45,55 * * * *"),
    ("/10 * * * *", "0,10,20,30,40,50 * * * *"),
    ("*/20,3 * * * *", "0,3,20,40 * * * *"),
    (
        "10-5/2 0 * * *",
        "0,2,4,10,12,14,16,18,20,22,24,26,28,30,32,34,36,38,40,42,44,46,48,50,52,54,56,58 0 * * *",
    ),
    ("5-5 * * * *", "5 * * * *"),
    ("05 09 01 02 *", "5 9 1 2 *"),
    ("*/15 * * * * *", "0,15,30,45 * * * * *"),
    ("0 22-4 * * *", "0 0,1,2,3,4,22,23 * * *"),
    ("0 22-24 * * *", "0 0,22,23 * * *"),
    ("0 24 * * *", "0 0 * * *"),
    ("0 0 * * fri-mon", "0 0 * * 0,1,5,6"),
    ("0 0 * * MON-Fri", "0 0 * * 1,2,3,4,5"),
    ("0 0 * * 5-7", "0 0 * * 0,5,6"),
    ("0 0 * * 7-1", "0 0 * * 0,1"),
    ("0 0 * * sun,7,0", "0 0 * * 0"),
    ("0 0 * * */2", "0 0 * * 0,2,4,6"),
    ("0 0 * * mon-fri/2", "0 0 * * 1,3,5"),
    ("0 0 25-5 * *", "0 0 1,2,3,4,5,25,26,27,28,29,30,31 * *"),
    ("0 0 1 nov-feb *", "0 0 1 1,2,11,12 *"),
    ("0 0 1 JAN,jul *", "0 0 1 1,7 *"),
    ("0 0 L * *", "0 0 -1 * *"),
    ("0 0 last * *", "0 0 -1 * *"),
    ("0 0 1,15,l * *", "0 0 1,15,-1 * *"),
    ("0 0 * * mon#L", "0 0 * * 1#-1"),
    ("0 0 * * mon#last", "0 0 * * 1#-1"),
    ("0 0 * * tue#2", "0 0 * * 2#2"),
    ("0 0 */1 * mon", "0 0 * * 1"),
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
    ("@monthly", "0 0 1 * *"),
    ("@weekly", "0 0 * * 0"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@noon", "0 12 * * *"),
    ("@hourly", "0 * * * *"),
    ("every second", "* * * * * *"),
    ("every 15 seconds", "0,15,30,45 * * * * *"),
    ("every 30 s", "0,30 * * * * *"),
    ("every minute", "* * * * *"),
    ("every 1 minute", "* * * * *"),
    ("every 5 min", "0,5,10,15,20,25,30,35,40,45,50,55 * * * *"),
    ("every hour", "0 * * * *"),
    ("every 2h", "0 0,2,4,6,8,10,12,14,16,18,20,22 * * *"),
    ("every 24 hours", "0 0 * * *"),
    ("every day", "0 0 * * *"),
    ("every 2 days", "0 0 1,3,5,7,9,11,13,15,17,19,21,23,25,27,29,31 * *"),
    ("every week", "0 0 * * 0"),
    ("every month", "0 0 1 * *"),
    ("every 3 months", "0 0 1 1,4,7,10 *"),
    ("every year", "0 0 1 1 *"),
    ("every day at noon", "0 12 * * *"),
    ("every day at midnight", "0 0 * * *"),
    ("every day at 9", "0 9 * * *"),
    ("every day 18:23", "23 18 * * *"),
    ("every day at 12pm", "0 12 * * *"),
    ("every day at 8:00 and 17:00", "0 8,17 * * *"),
    ("every weekday at 9am", "0 9 * * 1,2,3,4,5"),
    ("every mon-fri at 9", "0 9 * * 1,2,3,4,5"),
    ("every monday to thursday at noon", "0 12 * * 1,2,3,4"),
    ("every monday, tuesday and friday at noon", "0 12 * * 1,2,5"),
    ("every Monday at 9am", "0 9 * * 1"),
    // What fugit 1.5.2 gets wrong (both at noon, or in the morning), and later ones do not.
    ("every day at 12am", "0 0 * * *"),
    ("every monday and wed at 9:15 pm", "15 21 * * 1,3"),
    // What it refuses though the meaning is plain.
    ("EVERY DAY AT NOON", "0 12 * * *"),
    (" 0\t0  * * * ", "0 0 * * *"),
];

#[test]
fn each_spelling_means_what_the_gem_takes_it_for() {
    let (from, to) = (at("2024-02-20T10:11:12Z"), at("2025-03-10T00:00:00Z"));
    for (text, meaning) in MEANINGS {
        let (given, plain) = (cron(text), cron(meaning));
        // A run a second for a year would be many.
        let some = |cron: &Cron| {
            let mut next = Some(from);
            let mut found = Vec::new();
            while let Some(slot) = next.filter(|slot| *slot < to && found.len() < 400) {
                next = cron.next(EpochSeconds::new(slot as f64));
                found.extend(next);
            }
            found
        };
        assert_eq!(some(&given), some(&plain), "{text}");
        assert_eq!(given.slots.calendar.every_hour, plain.slots.calendar.every_hour, "{text}");
        assert_eq!(given.as_str(), *text);
    }
}

/// The texts in code within a table's cell.
fn in_code(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

#[test]
fn the_nicknames_and_phrases_of_the_guide_are_those_fields() {
    let guide = include_str!("../../../../../docs/periodic.md");
    let mut seen = 0;
    for row in guide.lines().filter(|row| row.starts_with("| `@") || row.starts_with("| `every ")) {
        let cells: Vec<Vec<&str>> = row.trim_matches('|').split('|').map(in_code).collect();
        let [texts, fields] = cells.as_slice() else { continue };
        for (text, fields) in texts.iter().zip(fields.iter().cycle()) {
            let (given, plain) = (cron(text), cron(fields));
            let mut from = EpochSeconds::new(1_735_700_000.0);
            for _ in 0..50 {
                let slot = given.next(from);
                assert_eq!(slot, plain.next(from), "{text}");
                from = slot.map_or(from, |slot| EpochSeconds::new(slot as f64));
            }
            seen += 1;
        }
    }
    assert_eq!(seen, 22);
}

#[test]
fn days_of_month_and_of_week_are_joined_by_or_unless_one_is_left_open() {
    let january = |text: &str| shown(&cron(text), "2025-01-01T12:00:00Z", "2025-01-31T12:00:00Z").len();
    assert_eq!(january("0 0 13 * fri"), 6, "the 13th is a Monday; 5 Fridays");
    assert_eq!(january("0 0 13 * *"), 1);
    assert_eq!(january("0 0 * * fri"), 5);
    assert_eq!(january("0 0 1-31 * fri"), 30, "a full list is not left open");
}

#[test]
fn places_in_the_month_are_counted_from_its_start_or_its_end() {
    let days = |text: &str| shown(&cron(text), "2025-01-31T12:00:00Z", "2025-04-30T12:00:00Z");
    assert_eq!(
        days("0 0 * * mon#1,mon#3"),
        [3, 17, 3, 17, 7, 21].map(|day| format!("{day:02} 00:00 +00:00"))
    );
    assert_eq!(days("0 0 * * fri#L"), [28, 28, 25].map(|day| format!("{day:02} 00:00 +00:00")));
    assert_eq!(days("0 0 L * *"), [28, 31, 30].map(|day| format!("{day:02} 00:00 +00:00")));
}

#[test]
fn the_zone_behind_a_cron_is_its_own_and_utc_else() {
    let berlin: Zone = "Europe/Berlin".parse().unwrap();
    for text in
        ["0 9 * * mon-fri America/New_York", "0 0 9 * * mon-fri America/New_York", "@noon America/New_York"]
    {
        assert_eq!(cron(text).zone().name(), "America/New_York", "{text}");
        assert_eq!(Cron::parse_in(text, berlin).unwrap().zone().name(), "America/New_York", "{text}");
    }
    for text in ["every day at noon in America/New_York", "every 5 minutes America/New_York"] {
        assert_eq!(cron(text).zone().name(), "America/New_York", "{text}");
    }
    assert_eq!(cron("0 9 * * mon-fri EST").zone().name(), "EST");
    for text in ["0 9 * * *", "0 9 * * MON", "0 0 9 * * mon,tue", "every monday", "@daily"] {
        assert_eq!(cron(text).zone(), Zone::UTC, "{text}");
        assert_eq!(Cron::parse_in(text, berlin).unwrap().zone(), berlin, "{text}");
    }
}

#[test]
fn the_text_is_kept_for_the_gems_periodic_ids_pent_02() {
    for (text, class, args, id) in [
        ("0 * * * *", "HourlyCleanupJob", "[]", "9104b90cb8b0a08e3b3e3c944e6d62618c3f46e3"),
        (
            "0 9 * * mon-fri America/New_York",
            "MarketJob",
            "[\"open\",1]",
            "5376286b3c09b8c4b898876f3ae38fff21378bfb",
        ),
    ] {
        assert_eq!(periodic_id(cron(text).as_str(), class, args), id);
    }
}

#[test]
fn a_slot_is_the_newest_time_that_is_not_ahead_whatever_the_fraction_tick_29() {
    let cron = cron("*/5 * * * *");
    let slot = at("2025-01-01T12:05:00Z");
    for (now, previous, next) in [(-0.25, -300, 0), (0.0, 0, 300), (0.25, 0, 300), (299.999, 0, 300)] {
        let now = EpochSeconds::new(slot as f64 + now);
        assert_eq!((cron.previous(now), cron.next(now)), (Some(slot + previous), Some(slot + next)), "{now}");
    }
}

#[test]
fn rare_days_are_found_years_ahead_and_behind() {
    let rare = |text: &str, now: &str| {
        let now = EpochSeconds::new(at(now) as f64);
        (cron(text).previous(now).unwrap(), cron(text).next(now).unwrap())
    };
    let expected = (at("1896-02-29T00:00:00Z"), at("1904-02-29T00:00:00Z"));
    assert_eq!(rare("0 0 29 2 *", "1901-01-01T00:00:00Z"), expected);
    let expected = (at("2016-02-29T00:00:00Z"), at("2044-02-29T00:00:00Z"));
    assert_eq!(rare("0 0 * 2 mon#5", "2025-01-01T00:00:00Z"), expected);
}

#[test]
fn beyond_all_known_dates_there_are_no_slots() {
    let cron = cron("0 0 * * * Europe/Berlin");
    for seconds in [f64::MAX, 1e15, 1e11, f64::INFINITY] {
        let _ = (cron.previous(EpochSeconds::new(seconds)), cron.next(EpochSeconds::new(seconds)));
    }
    assert_eq!(cron.next(EpochSeconds::new(1e12)), None);
    assert_eq!(cron.previous(EpochSeconds::new(-1e12)), None);
}
