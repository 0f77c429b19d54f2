//! A cron in plain words, for those that come in nearly every schedule; the others are told as they are written.

const DAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
/// More times of day than these read worse than the cron.
const MOST_TIMES: usize = 3;

/// What the fields of a known-good cron say, without its zone.
pub(super) fn in_words(text: &str) -> Option<String> {
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    match words.as_slice() {
        ["every", ..] => Some(capitalised(text)),
        [name, ..] if name.starts_with('@') => match *name {
            "@yearly" | "@annually" => Some("Every year on 1 January at 00:00".into()),
            "@monthly" => Some("Every month on day 1 at 00:00".into()),
            "@weekly" => Some("Every Sunday at 00:00".into()),
            "@daily" | "@midnight" => Some("Every day at 00:00".into()),
            "@noon" => Some("Every day at 12:00".into()),
            "@hourly" => Some("Every hour".into()),
            _ => None,
        },
        [minute, hour, day, month, weekday] => of_fields(minute, hour, day, month, weekday),
        [first, second, third, fourth, fifth, last] if is_field(last) => {
            let rest = [second, third, fourth, fifth, last];
            match (step(first), rest.iter().all(|field| **field == "*")) {
                (Some(1), true) => Some("Every second".into()),
                (Some(step), true) => Some(format!("Every {step} seconds")),
                _ if *first == "0" => of_fields(second, third, fourth, fifth, last),
                _ => None,
            }
        }
        // The last one is a zone.
        [minute, hour, day, month, weekday, _] => of_fields(minute, hour, day, month, weekday),
        ["0", minute, hour, day, month, weekday, _] => of_fields(minute, hour, day, month, weekday),
        _ => None,
    }
}

fn of_fields(minute: &str, hour: &str, day: &str, month: &str, weekday: &str) -> Option<String> {
    let days = match (day, month, weekday) {
        ("*", "*", "*") => None,
        ("*", "*", weekday) => Some(weekdays(weekday)?),
        (day, "*", "*") => Some(match number(day, 31)? {
            1 => "month on day 1".to_owned(),
            day => format!("month on day {day}"),
        }),
        (day, month, "*") => {
            let name = MONTHS.get(number(month, 12)?.checked_sub(1)?)?;
            Some(format!("year on {} {name}", number(day, 31)?))
        }
        _ => return None,
    };
    if let (None, "*", Some(step)) = (&days, hour, step(minute)) {
        return Some(if step == 1 { "Every minute".into() } else { format!("Every {step} minutes") });
    }
    let minute = number(minute, 59)?;
    if let (None, Some(step)) = (&days, step(hour)) {
        let hours = if step == 1 { "Every hour".to_owned() } else { format!("Every {step} hours") };
        return Some(if minute == 0 { hours } else { format!("{hours} at minute {minute}") });
    }
    let hours: Vec<String> = hour
        .split(',')
        .map(|hour| number(hour, 24).map(|hour| format!("{:02}:{minute:02}", hour % 24)))
        .collect::<Option<_>>()?;
    (hours.len() <= MOST_TIMES)
        .then(|| format!("Every {} at {}", days.unwrap_or_else(|| "day".into()), listed(&hours)))
}

fn weekdays(field: &str) -> Option<String> {
    let lower = field.to_ascii_lowercase();
    match lower.as_str() {
        "1-5" | "mon-fri" => return Some("weekday".into()),
        "6,0" | "0,6" | "sat,sun" | "sun,sat" | "6,7" => return Some("Saturday and Sunday".into()),
        _ => {}
    }
    let day = |part: &str| {
        let named = DAYS.iter().find(|day| part.len() == 3 && day.to_ascii_lowercase().starts_with(part));
        named.copied().or_else(|| DAYS.get(number(part, 7)? % 7).copied())
    };
    let days: Vec<String> =
        lower.split(',').map(|part| day(part).map(str::to_owned)).collect::<Option<_>>()?;
    Some(listed(&days))
}

fn listed(items: &[String]) -> String {
    match items {
        [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        items => items.join(", "),
    }
}

/// `*` is every one, `*/5` every fifth.
fn step(field: &str) -> Option<usize> {
    if field == "*" { Some(1) } else { number(field.strip_prefix("*/")?, 59).filter(|step| *step > 0) }
}

fn number(field: &str, most: usize) -> Option<usize> {
    let digits = !field.is_empty() && field.bytes().all(|byte| byte.is_ascii_digit());
    field.parse().ok().filter(|number| digits && *number <= most)
}

/// Whether a last word is a field, and no zone.
fn is_field(word: &str) -> bool {
    word == "*" || word.starts_with("*/") || word.starts_with(|c: char| c.is_ascii_digit()) || {
        let lower = word.to_ascii_lowercase();
        DAYS.iter().any(|day| {
            lower.starts_with(&day[..3].to_ascii_lowercase()) && lower.len() <= 7 && !lower.contains('/')
        })
    }
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usual_crons_are_told_in_words() {
        for (text, words) in [
            ("* * * * *", "Every minute"),
            ("*/5 * * * *", "Every 5 minutes"),
            ("0 * * * *", "Every hour"),
            ("15 */6 * * *", "Every 6 hours at minute 15"),
            ("30 3 * * *", "Every day at 03:30"),
            ("0 9,17 * * mon-fri", "Every weekday at 09:00 and 17:00"),
            ("0 9 * * mon-fri America/New_York", "Every weekday at 09:00"),
            ("0 9 * * 1,wed,7", "Every Monday, Wednesday and Sunday at 09:00"),
            ("0 4 1 * *", "Every month on day 1 at 04:00"),
            ("0 4 24 12 *", "Every year on 24 December at 04:00"),
            ("*/10 * * * * *", "Every 10 seconds"),
            ("0 0 12 * * *", "Every day at 12:00"),
            ("@hourly Europe/Berlin", "Every hour"),
            ("every 5 minutes", "Every 5 minutes"),
        ] {
            assert_eq!(in_words(text).as_deref(), Some(words), "{text}");
        }
    }

    #[test]
    fn what_words_cannot_say_better_stays_as_it_is() {
        for text in
            ["1-7 * * * *", "0 0 L * *", "0 0 13 * 5", "5 4 * * 1#2", "0 1,2,3,4 * * *", "7 * * * * *"]
        {
            assert_eq!(in_words(text), None, "{text}");
        }
    }
}
