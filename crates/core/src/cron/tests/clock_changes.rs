//! The rule for clocks that are moved, by cases from history.

use super::*;

#[test]
fn a_daily_run_that_the_gap_swallows_comes_at_its_end_and_nothing_panics_p_25() {
    let daily =
        shown(&cron("0 2 * * * America/New_York"), "2025-03-08T12:00:00-05:00", "2025-03-10T12:00:00-04:00");
    assert_eq!(daily, ["09 03:00 -04:00", "10 02:00 -04:00"]);
    let often = cron("*/5 * * * * America/New_York");
    let found = slots(&often, at("2025-03-08T12:00:00-05:00"), at("2025-03-10T12:00:00-04:00"));
    assert_eq!(found.len(), 47 * 12);
    assert!(found.windows(2).all(|pair| pair[1] - pair[0] == 300));
}

#[test]
fn the_repeated_hour_pauses_no_minutely_run_and_doubles_no_fixed_one_p_26() {
    let (start, end) = ("2025-11-02T00:55:00-04:00", "2025-11-02T02:05:00-05:00");
    let minutely = slots(&cron("* * * * * America/New_York"), at(start), at(end));
    assert_eq!(minutely.len(), 130);
    assert!(minutely.windows(2).all(|pair| pair[1] - pair[0] == 60));
    assert_eq!(shown(&cron("30 1 * * * America/New_York"), start, end), ["02 01:30 -04:00"]);
}

/// A cron, a span, and its slots as the clock shows them.
type Case<'a> = (&'a str, &'a str, &'a str, &'a [&'a str]);

fn check(cases: &[Case<'_>]) {
    for (text, after, to, expected) in cases {
        assert_eq!(shown(&cron(text), after, to), *expected, "{text}");
    }
}

#[test]
fn what_a_gap_swallows_is_made_up_for_once_at_its_first_instant() {
    check(&[
        // Several times in the gap, and one at its end, are one run.
        (
            "0,20,40 2,3 * * * America/New_York",
            "2025-03-09T00:00:00-05:00",
            "2025-03-09T12:00:00-04:00",
            &["09 03:00 -04:00", "09 03:20 -04:00", "09 03:40 -04:00"],
        ),
        (
            "30 2 * * * Europe/Berlin",
            "2025-03-29T12:00:00Z",
            "2025-03-31T12:00:00Z",
            &["30 03:00 +02:00", "31 02:30 +02:00"],
        ),
        (
            "*/20 1-2 * * * Europe/Berlin",
            "2025-03-30T00:00:00+01:00",
            "2025-03-30T12:00:00+02:00",
            &["30 01:00 +01:00", "30 01:20 +01:00", "30 01:40 +01:00", "30 03:00 +02:00"],
        ),
        // Half an hour: from 2:00 to 2:30.
        (
            "10 2 * * * Australia/Lord_Howe",
            "2025-10-04T00:00:00Z",
            "2025-10-06T00:00:00Z",
            &["05 02:30 +11:00", "06 02:10 +11:00"],
        ),
        (
            "45 2 * * * Australia/Lord_Howe",
            "2025-10-04T00:00:00Z",
            "2025-10-05T12:00:00Z",
            &["05 02:45 +11:00"],
        ),
        // Midnight itself, where the zone changes at midnight.
        (
            "@daily America/Sao_Paulo",
            "2018-11-03T12:00:00Z",
            "2018-11-05T12:00:00Z",
            &["04 01:00 -02:00", "05 00:00 -02:00"],
        ),
        (
            "@daily Africa/Cairo",
            "2025-04-24T12:00:00Z",
            "2025-04-26T12:00:00Z",
            &["25 01:00 +03:00", "26 00:00 +03:00"],
        ),
        (
            "0 */6 * * * Asia/Beirut",
            "2025-03-29T20:00:00Z",
            "2025-03-30T10:00:00Z",
            &["30 01:00 +03:00", "30 06:00 +03:00", "30 12:00 +03:00"],
        ),
        // A whole day: there was no December 30th, 2011.
        (
            "0 9 * * * Pacific/Apia",
            "2011-12-29T00:00:00-10:00",
            "2011-12-31T23:00:00+14:00",
            &["29 09:00 -10:00", "31 00:00 +14:00", "31 09:00 +14:00"],
        ),
    ]);
}

#[test]
fn a_cron_of_every_hour_has_nothing_to_make_up_for() {
    check(&[
        (
            "30 * * * * America/New_York",
            "2025-03-09T01:00:00-05:00",
            "2025-03-09T04:00:00-04:00",
            &["09 01:30 -05:00", "09 03:30 -04:00"],
        ),
        (
            "30 */12 * * * Pacific/Apia",
            "2011-12-29T11:00:00-10:00",
            "2011-12-31T13:00:00+14:00",
            &["29 12:30 -10:00", "31 00:00 +14:00", "31 00:30 +14:00", "31 12:30 +14:00"],
        ),
        (
            "30 * * * * Pacific/Apia",
            "2011-12-29T22:00:00-10:00",
            "2011-12-31T02:00:00+14:00",
            &["29 22:30 -10:00", "29 23:30 -10:00", "31 00:30 +14:00", "31 01:30 +14:00"],
        ),
    ]);
}

#[test]
fn a_fixed_time_in_an_overlap_comes_the_first_time_only() {
    check(&[
        (
            "0,30 1 * * * America/New_York",
            "2025-11-02T00:00:00-04:00",
            "2025-11-02T12:00:00-05:00",
            &["02 01:00 -04:00", "02 01:30 -04:00"],
        ),
        (
            "30 2 * * * Europe/Berlin",
            "2025-10-26T00:00:00+02:00",
            "2025-10-27T12:00:00+01:00",
            &["26 02:30 +02:00", "27 02:30 +01:00"],
        ),
        (
            "0 */2 * * * Europe/Berlin",
            "2025-10-26T00:00:00+02:00",
            "2025-10-26T05:00:00+01:00",
            &["26 02:00 +02:00", "26 04:00 +01:00"],
        ),
        // Only 1:30 to 2:00 is shown twice.
        (
            "15,45 1 * * * Australia/Lord_Howe",
            "2025-04-05T12:00:00Z",
            "2025-04-06T12:00:00Z",
            &["06 01:15 +11:00", "06 01:45 +11:00"],
        ),
        // The repeated hour is the last one of the day before, so midnight comes once.
        (
            "30 23 * * * America/Sao_Paulo",
            "2018-02-17T12:00:00Z",
            "2018-02-18T12:00:00Z",
            &["17 23:30 -02:00"],
        ),
        ("@daily Africa/Cairo", "2024-10-31T12:00:00Z", "2024-11-01T12:00:00Z", &["01 00:00 +02:00"]),
        ("@daily Asia/Beirut", "2025-10-25T12:00:00Z", "2025-10-26T12:00:00Z", &["26 00:00 +02:00"]),
    ]);
}

#[test]
fn repeating_minutes_and_every_hour_come_in_both_passes() {
    check(&[
        (
            "*/30 1 * * * America/New_York",
            "2025-11-02T00:00:00-04:00",
            "2025-11-02T12:00:00-05:00",
            &["02 01:00 -04:00", "02 01:30 -04:00", "02 01:00 -05:00", "02 01:30 -05:00"],
        ),
        (
            "30 * * * * Europe/Berlin",
            "2025-10-26T02:00:00+02:00",
            "2025-10-26T03:00:00+01:00",
            &["26 02:30 +02:00", "26 02:30 +01:00"],
        ),
        (
            "*/15 * * * * Australia/Lord_Howe",
            "2025-04-06T01:30:00+11:00",
            "2025-04-06T02:00:00+10:30",
            &["06 01:45 +11:00", "06 01:30 +10:30", "06 01:45 +10:30", "06 02:00 +10:30"],
        ),
    ]);
}

#[test]
fn a_zone_that_never_changes_is_plain_whatever_its_offset() {
    check(&[(
        "30 2 * * * Asia/Kolkata",
        "2025-03-29T12:00:00Z",
        "2025-03-31T12:00:00Z",
        &["30 02:30 +05:30", "31 02:30 +05:30"],
    )]);
}

#[test]
fn from_within_the_second_pass_the_first_one_is_behind() {
    let fixed = cron("30 1 * * * America/New_York");
    let now = EpochSeconds::new(at("2025-11-02T01:10:00-05:00") as f64);
    assert_eq!(fixed.previous(now), Some(at("2025-11-02T01:30:00-04:00")));
    assert_eq!(fixed.next(now), Some(at("2025-11-03T01:30:00-05:00")));
}
