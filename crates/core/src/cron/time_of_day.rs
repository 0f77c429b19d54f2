//! Times of day in a phrase: `at noon`, `at 9am and 5pm`, `at 18:30`.

use super::error::{CronPart, Fault};

/// Times of day as two fields.
pub(super) struct Times {
    pub(super) minute: u8,
    pub(super) hours: String,
}

/// Reads the words behind the days; nothing is midnight. `unknown` tells about other words.
pub(super) fn parse(words: &[&str], unknown: impl Fn() -> Fault) -> Result<Times, Fault> {
    let mut words = match words {
        [] => return Ok(Times { minute: 0, hours: "0".to_owned() }),
        ["at", rest @ ..] => rest,
        rest => rest,
    };
    let mut times: Vec<(u8, u8)> = Vec::new();
    loop {
        let (time, rest) = time(words).ok_or_else(|| match words.first() {
            Some(word) if word.starts_with(|first: char| first.is_ascii_digit()) => {
                let expected = "noon, midnight, 9am, 9:30 pm or 21:30";
                Fault::new(CronPart::TimeOfDay, expected, &words.join(" "))
            }
            _ => unknown(),
        })?;
        times.push(time);
        words = match rest {
            [] => break,
            [",", "and" | "or", rest @ ..] | ["," | "and" | "or", rest @ ..] => rest,
            _ => return Err(unknown()),
        };
    }
    let minute = times.first().map_or(0, |(_, minute)| *minute);
    // The gem silently keeps the first time alone.
    if let Some((hour, other)) = times.iter().find(|(_, other)| *other != minute) {
        let found = format!("{hour}:{other:02}");
        return Err(Fault::new(
            CronPart::TimeOfDay,
            format!("the same minute in all times, {minute:02}"),
            &found,
        )
        .hint("register one entry for each"));
    }
    let hours: Vec<String> = times.iter().map(|(hour, _)| hour.to_string()).collect();
    Ok(Times { minute, hours: hours.join(",") })
}

/// One time at the start, as hour and minute, and what follows it.
fn time<'a, 'b>(words: &'a [&'b str]) -> Option<((u8, u8), &'a [&'b str])> {
    match words {
        ["noon" | "midday", rest @ ..] => Some(((12, 0), rest)),
        ["midnight", rest @ ..] => Some(((0, 0), rest)),
        [clock, half @ ("am" | "pm"), rest @ ..] => {
            let (hour, minute) = hour_and_minute(clock).filter(|(hour, _)| (1..=12).contains(hour))?;
            // 12am is midnight, and 12pm is noon.
            let hour = hour % 12 + if *half == "pm" { 12 } else { 0 };
            Some(((hour, minute), rest))
        }
        [clock, rest @ ..] => Some((hour_and_minute(clock)?, rest)),
        [] => None,
    }
}

fn hour_and_minute(text: &str) -> Option<(u8, u8)> {
    let (hour, minute) = match text.split_once(':') {
        Some((hour, minute)) if minute.len() == 2 => (hour, minute),
        Some(_) => return None,
        None => (text, "0"),
    };
    let (hour, minute): (u8, u8) = (hour.parse().ok()?, minute.parse().ok()?);
    (hour <= 24 && minute <= 59).then_some((hour % 24, minute))
}
