//! How numbers, sizes and durations are written.

use std::time::Duration;

use cogworker_core::time::EpochSeconds;

/// With separators: `18,402,117`.
pub(crate) fn number(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 job`, `1,204 jobs`.
pub(crate) fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{} {}", number(count), if count == 1 { one } else { many })
}

/// `412.6 MB`, in steps of 1,024.
pub(crate) fn kibibytes(kib: u64) -> String {
    let (mut size, mut unit) = (kib as f64, "kB");
    for next in ["MB", "GB", "TB"] {
        if size < 1024.0 {
            break;
        }
        (size, unit) = (size / 1024.0, next);
    }
    format!("{size:.1} {unit}")
}

/// Two units at most: `842 ms`, `1.24 s`, `14 min 6 s`, `3 d 2 h`.
pub(crate) fn duration(duration: Duration) -> String {
    let millis = duration.as_millis();
    if millis < 1000 {
        return format!("{millis} ms");
    }
    if millis < 10_000 {
        let text = format!("{:.2}", millis as f64 / 1000.0);
        return format!("{} s", text.trim_end_matches('0').trim_end_matches('.'));
    }
    whole(duration.as_secs())
}

/// [`duration`] to two digits, for what is known no better: `1.2 s`, `4 min 10 s`.
pub(crate) fn about(time: Duration) -> String {
    let millis = time.as_millis();
    let unit = 10_u128.pow(millis.checked_ilog10().unwrap_or(0).saturating_sub(1));
    let rounded = (millis + unit / 2) / unit * unit;
    duration(Duration::from_millis(u64::try_from(rounded).unwrap_or(u64::MAX)))
}

/// To the millisecond: `2h 34m 23s 23ms`, `45ms` (WEBX-09).
pub(crate) fn exactly(millis: u64) -> String {
    let mut left = millis;
    let mut text = Vec::new();
    for (unit, size) in [("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)] {
        let count = left / size;
        left %= size;
        if count > 0 {
            text.push(format!("{count}{unit}"));
        }
    }
    if text.is_empty() { "0ms".to_owned() } else { text.join(" ") }
}

/// [`duration`] in whole seconds, for what is counted as one looks at it.
pub(crate) fn whole(seconds: u64) -> String {
    let two = |big: u64, big_unit, small: u64, small_unit| match small {
        0 => format!("{} {big_unit}", number(big)),
        small => format!("{} {big_unit} {small} {small_unit}", number(big)),
    };
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => two(seconds / 60, "min", seconds % 60, "s"),
        3600..86_400 => two(seconds / 3600, "h", seconds % 3600 / 60, "min"),
        _ => two(seconds / 86_400, "d", seconds % 86_400 / 3600, "h"),
    }
}

/// How long since, in whole seconds. A time's own fraction does not count, so that all that tells of one time, here
/// and in the script, agrees.
pub(crate) fn elapsed(since: EpochSeconds, now: EpochSeconds) -> u64 {
    (now.as_f64() - since.as_f64().floor()).max(0.0) as u64
}

/// `3 min 7 s ago`, `in 12 s`, `now`. The script writes the same text.
pub(crate) fn relative(at: EpochSeconds, now: EpochSeconds) -> String {
    let ahead = at.as_f64().floor() - now.as_f64();
    match elapsed(at, now) {
        _ if ahead > 0.0 => format!("in {}", whole(ahead.ceil() as u64)),
        0 => "now".to_owned(),
        ago => format!("{} ago", whole(ago)),
    }
}

/// `in 12 s`, with `before` in front of it; `due 36 s ago` when it should have been.
pub(crate) fn due(at: EpochSeconds, now: EpochSeconds, before: &str) -> String {
    let before = if at.as_f64().floor() > now.as_f64() { before } else { "due " };
    format!("{before}{}", relative(at, now))
}

/// A long text cut short, with an ellipsis.
pub(crate) fn shortened(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_separators() {
        for (value, text) in [(0, "0"), (999, "999"), (1847, "1,847"), (18_402_117, "18,402,117")] {
            assert_eq!(number(value), text);
        }
        assert_eq!((counted(1, "job", "jobs"), counted(0, "job", "jobs")), ("1 job".into(), "0 jobs".into()));
    }

    #[test]
    fn a_run_is_timed_to_the_millisecond_webx_09() {
        for (millis, text) in [(9_263_023, "2h 34m 23s 23ms"), (45, "45ms"), (0, "0ms"), (60_000, "1m")] {
            assert_eq!(exactly(millis), text);
        }
    }

    #[test]
    fn durations_have_two_units_at_most() {
        for (millis, text) in [
            (0, "0 ms"),
            (842, "842 ms"),
            (1240, "1.24 s"),
            (2000, "2 s"),
            (45_900, "45 s"),
            (846_000, "14 min 6 s"),
            (7_200_000, "2 h"),
            (266_400_000, "3 d 2 h"),
        ] {
            assert_eq!(duration(Duration::from_millis(millis)), text);
        }
    }

    #[test]
    fn what_is_known_about_has_two_digits() {
        for (millis, text) in [
            (0, "0 ms"),
            (7, "7 ms"),
            (843, "840 ms"),
            (1240, "1.2 s"),
            (9960, "10 s"),
            (254_321, "4 min 10 s"),
        ] {
            assert_eq!(about(Duration::from_millis(millis)), text);
        }
    }

    #[test]
    fn a_time_is_told_from_now_on_both_sides() {
        let now = EpochSeconds::new(1000.0);
        for (at, text) in [
            (1000.2, "now"),
            (1012.0, "in 12 s"),
            (1012.9, "in 12 s"),
            (940.0, "1 min ago"),
            (984.6, "16 s ago"),
        ] {
            assert_eq!(relative(EpochSeconds::new(at), now), text);
        }
        assert_eq!(relative(EpochSeconds::new(1000.0), EpochSeconds::new(1000.9)), "now");
        assert_eq!(elapsed(EpochSeconds::new(984.6), now), 16, "as the relative time of the same");
        assert_eq!(elapsed(EpochSeconds::LAST, now), 0);
    }

    #[test]
    fn what_is_overdue_is_not_next() {
        let told = |at| due(EpochSeconds::new(at), EpochSeconds::new(1000.0), "next run ");
        assert_eq!([1012.0, 1000.0, 964.0].map(told), ["next run in 12 s", "due now", "due 36 s ago"]);
    }

    #[test]
    fn sizes_are_written_in_the_unit_that_fits() {
        assert_eq!((kibibytes(512), kibibytes(422_502)), ("512.0 kB".into(), "412.6 MB".into()));
    }

    #[test]
    fn a_text_is_cut_between_characters() {
        assert_eq!((shortened("éé", 2), shortened("ééé", 2)), ("éé".into(), "éé…".into()));
    }
}
