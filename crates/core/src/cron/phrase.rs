//! Phrases: `every 5 minutes`, `every monday and friday at 9am`.
//!
//! A phrase becomes the text of five or six fields, which is then read like any other.

use super::error::{CronPart, Fault};
use super::time_of_day::{self, Times};
use super::zone::Zone;

const DAYS: [&str; 7] = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];

const EXPECTED: &str = "\"every\", then: a number and seconds, minutes, hours, days or months; or day, week, month, \
                        year, weekday or days of the week with \"at\" and a time";

/// Parts the zone from the words behind `every`; `in` or `on` may stand before it.
pub(super) fn split_zone<'a>(words: &'a [&'a str]) -> Result<(&'a [&'a str], Option<Zone>), Fault> {
    let Some((last, rest)) = words.split_last() else {
        return Ok((words, None));
    };
    let (rest, announced) = match rest.split_last() {
        Some((&("in" | "on"), before)) => (before, true),
        _ => (rest, false),
    };
    match Zone::named(last) {
        Some(zone) => Ok((rest, Some(zone))),
        None if last.contains('/') || (announced && day(last).is_none()) => Err(Zone::unknown(last)),
        None => Ok((words, None)),
    }
}

/// The fields of the words behind `every`.
pub(super) fn fields(words: &[&str]) -> Result<String, Fault> {
    let phrase = words.join(" ");
    let words = tokens(&phrase);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (count, rest) = match words.as_slice() {
        [count, rest @ ..] if count.bytes().all(|byte| byte.is_ascii_digit()) => (Some(*count), rest),
        rest => (None, rest),
    };
    let unknown = || Fault::new(CronPart::Phrase, EXPECTED, &format!("every {phrase}"));
    let Some((unit, rest)) = rest.split_first() else {
        return Err(unknown());
    };
    let count = count.filter(|count| *count != "1");
    let step = count.map_or_else(|| "*".to_owned(), |count| format!("*/{count}"));
    let distance = match *unit {
        "s" | "sec" | "secs" | "second" | "seconds" => Some(format!("{step} * * * * *")),
        "m" | "min" | "mins" | "minute" | "minutes" => Some(format!("{step} * * * *")),
        "h" | "hour" | "hours" => Some(format!("0 {step} * * *")),
        _ => None,
    };
    if let Some(fields) = distance {
        return if rest.is_empty() {
            Ok(fields)
        } else {
            Err(unknown().hint("times of day go with days; write the five fields instead"))
        };
    }
    let (days, rest) = match *unit {
        "d" | "day" | "days" => (format!("{step} * *"), rest),
        "month" | "months" => (format!("1 {step} *"), rest),
        "week" | "weeks" | "year" | "years" if count.is_some() => {
            return Err(
                unknown().hint("only one week or year; for another distance, check the date in the job")
            );
        }
        "week" => ("* * 0".to_owned(), rest),
        "year" => ("1 1 *".to_owned(), rest),
        "weekday" => ("* * 1-5".to_owned(), rest),
        _ if count.is_none() => {
            let (days, rest) = weekdays(&words).ok_or_else(unknown)?;
            (format!("* * {days}"), rest)
        }
        _ => return Err(unknown()),
    };
    let Times { minute, hours } = time_of_day::parse(rest, unknown)?;
    Ok(format!("{minute} {hours} {days}"))
}

/// Lower-case words; a number and the letters behind it (`2h`, `9am`), a comma and a dash stand alone.
fn tokens(phrase: &str) -> Vec<String> {
    let mut tokens: Vec<String> = Vec::new();
    let mut last = ' ';
    for sign in phrase.chars().flat_map(char::to_lowercase) {
        let kind = |sign: char| match sign {
            '0'..='9' | ':' => '0',
            sign if sign.is_alphabetic() => 'a',
            _ => sign,
        };
        let goes_on = kind(sign) == kind(last) && matches!(kind(sign), '0' | 'a');
        match tokens.last_mut() {
            Some(token) if goes_on => token.push(sign),
            _ if sign == ' ' => {}
            _ => tokens.push(sign.to_string()),
        }
        last = sign;
    }
    tokens
}

fn day(word: &str) -> Option<usize> {
    DAYS.iter().position(|day| *day == word || (word.len() == 3 && day.starts_with(word)))
}

/// Days of the week at the start, as one field, and what follows them.
fn weekdays<'a, 'b>(mut words: &'a [&'b str]) -> Option<(String, &'a [&'b str])> {
    let mut field = String::new();
    loop {
        let (first, rest) = words.split_first()?;
        let first = day(first)?;
        words = match rest {
            ["-" | "to" | "through", last, rest @ ..] => {
                field.push_str(&format!("{first}-{}", day(last)?));
                rest
            }
            rest => {
                field.push_str(&first.to_string());
                rest
            }
        };
        words = match words {
            [",", "and" | "or", rest @ ..] | ["," | "and" | "or", rest @ ..] => rest,
            rest => return Some((field, rest)),
        };
        field.push(',');
    }
}
