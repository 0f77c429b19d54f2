//! Texts as people see them: of whatever characters, in so many columns, times, sizes and numbers.

use std::borrow::Cow;
use std::time::Duration;

use cogworker_core::time::{EpochSeconds, utc_date};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// A text that cannot move the cursor, change colours, break the line or turn the reading direction: what is stored
/// in Redis may come from anywhere.
pub(crate) fn shown(text: &str) -> Cow<'_, str> {
    let is_odd = |c: char| {
        c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
    };
    if !text.contains(is_odd) {
        return Cow::Borrowed(text);
    }
    text.chars()
        .fold(String::with_capacity(text.len() + 8), |mut shown, c| {
            if is_odd(c) {
                shown.extend(c.escape_default())
            } else {
                shown.push(c)
            }
            shown
        })
        .into()
}

/// The same for a text of several lines, whose breaks stay.
pub(crate) fn shown_lines(text: &str) -> String {
    text.lines().map(shown).collect::<Vec<_>>().join("\n")
}

/// How many columns a text takes.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// The text in at most so many columns, with an ellipsis where it was cut.
pub(crate) fn cut(text: &str, columns: usize) -> Cow<'_, str> {
    if width(text) <= columns {
        return Cow::Borrowed(text);
    }
    let mut left = columns.saturating_sub(1);
    let mut end = 0;
    for (at, c) in text.char_indices() {
        let columns = c.width().unwrap_or(0);
        if columns > left {
            break;
        }
        left -= columns;
        end = at + c.len_utf8();
    }
    if columns == 0 { Cow::Borrowed("") } else { format!("{}…", &text[..end]).into() }
}

/// A whole number with its thousands apart.
pub(crate) fn number(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// So many of a thing, as `1 job` or `2,000 jobs`.
pub(crate) fn count(n: u64, one: &str, many: &str) -> String {
    format!("{} {}", number(n), if n == 1 { one } else { many })
}

/// So many jobs.
pub(crate) fn jobs(n: u64) -> String {
    count(n, "job", "jobs")
}

/// Bytes, in the unit that suits.
pub(crate) fn bytes(bytes: u64) -> String {
    let mut size = bytes as f64;
    for unit in ["B", "KiB", "MiB", "GiB"] {
        if size < 1024.0 {
            return if unit == "B" { format!("{size} B") } else { format!("{size:.1} {unit}") };
        }
        size /= 1024.0;
    }
    format!("{size:.1} TiB")
}

/// How long, in its two largest units, to the nearest second; below ten seconds to the tenth.
pub(crate) fn duration(duration: Duration) -> String {
    let is_short = duration < Duration::from_millis(9_950);
    let seconds = if is_short { duration.as_secs() } else { duration.as_secs_f64().round() as u64 };
    let two = |large: u64, unit: &str, small: u64, sub: &str| {
        if small == 0 { format!("{large}{unit}") } else { format!("{large}{unit} {small}{sub}") }
    };
    match seconds {
        0 if duration.is_zero() => "0s".to_owned(),
        0..10 => format!("{:.1}s", duration.as_secs_f64()),
        10..60 => format!("{seconds}s"),
        60..3600 => two(seconds / 60, "m", seconds % 60, "s"),
        3600..86_400 => two(seconds / 3600, "h", seconds % 3600 / 60, "m"),
        _ => two(seconds / 86_400, "d", seconds % 86_400 / 3600, "h"),
    }
}

/// A time in UTC: `2026-11-30 05:01:38`. Out of the range of dates, its number.
pub(crate) fn absolute(time: EpochSeconds) -> String {
    let seconds = time.as_f64();
    // The year 9999 is the last with four digits.
    if !(0.0..253_402_300_800.0).contains(&seconds) {
        return time.to_string();
    }
    let seconds = seconds as u64;
    let (year, month, day) = utc_date(seconds / 86_400);
    let of_day = seconds % 86_400;
    let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}")
}

/// A time as seen from `now`: `in 3m 5s`, `2h ago`.
pub(crate) fn relative(time: EpochSeconds, now: EpochSeconds) -> String {
    let (ahead, ago) = (time.since(now), now.since(time));
    if ahead >= Duration::from_millis(500) {
        format!("in {}", duration(ahead))
    } else if ago >= Duration::from_millis(500) {
        format!("{} ago", duration(ago))
    } else {
        "now".to_owned()
    }
}

/// A time both ways.
pub(crate) fn when(time: EpochSeconds, now: EpochSeconds) -> String {
    format!("{} ({})", relative(time, now), absolute(time))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_reaches_beyond_its_place() {
        assert_eq!(shown("größe 日本 🎉"), "größe 日本 🎉");
        assert_eq!(shown("a\u{1b}[2Jb\r\nc\td\u{202e}e\u{9b}"), r"a\u{1b}[2Jb\r\nc\td\u{202e}e\u{9b}");
    }

    #[test]
    fn a_cut_text_fits_and_shows_that_it_was_cut() {
        assert_eq!(cut("abcdef", 6), "abcdef");
        assert_eq!(cut("abcdef", 4), "abc…");
        assert_eq!(cut("日本語", 5), "日本…");
        assert_eq!(cut("日本語", 4), "日…");
        assert_eq!((cut("abc", 1), cut("abc", 0)), ("…".into(), "".into()));
    }

    #[test]
    fn numbers_sizes_and_durations_are_short() {
        assert_eq!([0, 999, 1000, 1_234_567].map(number), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!((jobs(1), jobs(0)), ("1 job".into(), "0 jobs".into()));
        assert_eq!([5, 2048, 5 << 20].map(bytes), ["5 B", "2.0 KiB", "5.0 MiB"]);
        let seconds = |seconds| duration(Duration::from_secs_f64(seconds));
        assert_eq!(
            [0.0, 0.04, 9.96, 59.9, 60.0, 61.0, 3600.0, 7265.0, 90_000.0].map(seconds),
            ["0s", "0.0s", "10s", "1m", "1m", "1m 1s", "1h", "2h 1m", "1d 1h"]
        );
    }

    #[test]
    fn a_time_is_told_in_utc_and_from_now() {
        let now = EpochSeconds::new(1_796_004_601.9);
        assert_eq!(absolute(now), "2026-11-30 02:10:01");
        assert_eq!(relative(EpochSeconds::new(1_796_004_601.5), now), "now");
        assert_eq!(when(EpochSeconds::new(1_796_004_541.5), now), "1m ago (2026-11-30 02:09:01)");
        assert_eq!(relative(EpochSeconds::new(1_796_005_202.0), now), "in 10m");
        assert_eq!(absolute(EpochSeconds::new(1e18)), "1e18");
        assert_eq!(absolute(EpochSeconds::new(-5.0)), "-5.0");
    }
}
