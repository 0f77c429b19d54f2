//! The text of a cron taken apart: nickname, phrase or fields, and the zone behind them.

use super::calendar::Calendar;
use super::error::{CronPart, Fault};
use super::field::Kind;
use super::phrase;
use super::zone::Zone;

/// A longer text is no cron: every number of every field fits.
pub(super) const LONGEST: usize = 1000;

const NICKNAMES: [(&str, &str); 8] = [
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
    ("@monthly", "0 0 1 * *"),
    ("@weekly", "0 0 * * 0"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@noon", "0 12 * * *"),
    ("@hourly", "0 * * * *"),
];

/// Reads a whole text; the zone is the one that it names, if any.
pub(super) fn parse(text: &str) -> Result<(Calendar, Option<Zone>), Fault> {
    if text.len() > LONGEST {
        let found = format!("{} bytes", text.len());
        return Err(Fault::plain(CronPart::Fields, format!("at most {LONGEST} bytes"), found));
    }
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    match words.as_slice() {
        [first, rest @ ..] if first.starts_with('@') => {
            Ok((of_text(nickname(first)?)?, zone_after_nickname(rest)?))
        }
        [first, rest @ ..] if first.eq_ignore_ascii_case("every") => {
            let (rest, zone) = phrase::split_zone(rest)?;
            Ok((of_text(&phrase::fields(rest)?)?, zone))
        }
        words => {
            let (fields, zone) = split_zone(words)?;
            Ok((Calendar::parse(fields)?, zone))
        }
    }
}

fn of_text(fields: &str) -> Result<Calendar, Fault> {
    Calendar::parse(&fields.split_ascii_whitespace().collect::<Vec<_>>())
}

fn nickname(name: &str) -> Result<&'static str, Fault> {
    let known = NICKNAMES.iter().find(|(nickname, _)| *nickname == name);
    known.map(|(_, fields)| *fields).ok_or_else(|| {
        let known: Vec<&str> = NICKNAMES.iter().map(|(nickname, _)| *nickname).collect();
        let fault = Fault::new(CronPart::Nickname, format!("one of {}", known.join(", ")), name);
        match name.to_ascii_lowercase() {
            lower if lower == "@reboot" => fault.hint("push the job where the program starts"),
            lower if known.contains(&lower.as_str()) => fault.hint(format!("write {lower}")),
            _ => fault,
        }
    })
}

fn zone_after_nickname(words: &[&str]) -> Result<Option<Zone>, Fault> {
    match words {
        [] => Ok(None),
        [name] => Zone::named(name).map(Some).ok_or_else(|| Zone::unknown(name)),
        words => Err(Fault::new(CronPart::Nickname, "nothing but a zone behind it", &words.join(" "))),
    }
}

/// Parts five or six fields from the zone.
fn split_zone<'a>(words: &'a [&'a str]) -> Result<(&'a [&'a str], Option<Zone>), Fault> {
    let Some((last, fields)) = words.split_last() else {
        return Err(Fault::plain(CronPart::Fields, "5 or 6 fields", "none"));
    };
    let zone = Zone::named(last);
    match fields.len() {
        4 if zone.is_none() => Ok((words, None)),
        5 if zone.is_none() && !is_like_a_zone(last) => Ok((words, None)),
        5 | 6 if zone.is_some() => Ok((fields, zone)),
        5 | 6 if is_like_a_zone(last) => Err(Zone::unknown(last)),
        count => Err(wrong_number(if zone.is_some() { count } else { words.len() })),
    }
}

/// Whether a last word can only be meant as a zone: a name or an offset which is no day of the week.
fn is_like_a_zone(word: &str) -> bool {
    let is_start = |day: &&str| word.get(..3).is_some_and(|start| start.eq_ignore_ascii_case(day));
    let starts_like_a_day = Kind::DAYS_OF_WEEK.names.iter().any(is_start)
        && word.get(3..4).is_none_or(|sign| ",-/#%".contains(sign));
    let is_name = word.starts_with(|first: char| first.is_ascii_alphabetic()) && !starts_like_a_day;
    let is_offset = word.starts_with(['+', '-']) && word.len() > 2;
    is_offset || (is_name && word.len() > 1)
}

fn wrong_number(count: usize) -> Fault {
    let expected =
        "5 fields (minute, hour, day, month, weekday), or 6 with the second first, then a zone if any";
    let fault = Fault::plain(CronPart::Fields, expected, count.to_string());
    match count {
        7 => fault.hint("years are not supported"),
        0..5 => fault.hint("write * for a field that does not matter"),
        _ => fault,
    }
}
