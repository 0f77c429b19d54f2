//! One field of a cron: which numbers it names, and how it names them.

use std::collections::BTreeSet;

use super::error::{CronPart, Fault};

/// What a field may hold.
pub(super) struct Kind {
    pub(super) part: CronPart,
    low: u8,
    high: u8,
    /// A second number for `low`: 24 o'clock, and 7 for Sunday.
    alias: Option<u8>,
    /// Names from `low` on.
    pub(super) names: &'static [&'static str],
}

impl Kind {
    pub(super) const SECONDS: Self = Self::numbers(CronPart::Seconds, 0, 59);
    pub(super) const MINUTES: Self = Self::numbers(CronPart::Minutes, 0, 59);
    pub(super) const HOURS: Self = Self { alias: Some(24), ..Self::numbers(CronPart::Hours, 0, 23) };
    pub(super) const DAYS_OF_MONTH: Self = Self::numbers(CronPart::DaysOfMonth, 1, 31);
    pub(super) const MONTHS: Self = Self {
        names: &["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"],
        ..Self::numbers(CronPart::Months, 1, 12)
    };
    pub(super) const DAYS_OF_WEEK: Self = Self {
        alias: Some(7),
        names: &["sun", "mon", "tue", "wed", "thu", "fri", "sat"],
        ..Self::numbers(CronPart::DaysOfWeek, 0, 6)
    };

    const fn numbers(part: CronPart, low: u8, high: u8) -> Self {
        Self { part, low, high, alias: None, names: &[] }
    }

    fn is_days_of_week(&self) -> bool {
        self.part == CronPart::DaysOfWeek
    }

    fn count(&self) -> u8 {
        self.high - self.low + 1
    }

    /// A number as it is written: the alias is not resolved yet, since a range may end with it.
    fn value(&self, text: &str, element: &str) -> Result<u8, Fault> {
        let named = self.names.iter().zip(self.low..).find(|(name, _)| name.eq_ignore_ascii_case(text));
        if let Some((_, number)) = named {
            return Ok(number);
        }
        let digits = matches!(text.len(), 1 | 2) && text.bytes().all(|byte| byte.is_ascii_digit());
        let number = text.parse().ok().filter(|_| digits);
        let known = |number: &u8| (self.low..=self.high).contains(number) || self.alias == Some(*number);
        number.filter(known).ok_or_else(|| self.fault(element))
    }

    fn resolved(&self, number: u8) -> u8 {
        if self.alias == Some(number) { self.low } else { number }
    }

    /// The numbers from `first` to `last`, going on from the highest to the lowest.
    fn walk(&self, first: u8, last: u8) -> Vec<u8> {
        // 0-24 and 0-7 are everything, not one number.
        let everything = first != last && self.resolved(first) == self.resolved(last);
        let (first, last) = (self.resolved(first), self.resolved(last));
        if everything {
            (self.low..=self.high).collect()
        } else if first <= last {
            (first..=last).collect()
        } else {
            (first..=self.high).chain(self.low..=last).collect()
        }
    }

    fn fault(&self, element: &str) -> Fault {
        let mut expected = format!("{} to {}", self.low, self.alias.unwrap_or(self.high));
        if let (Some(first), Some(last)) = (self.names.first(), self.names.last()) {
            expected.push_str(&format!(" or {first} to {last}"));
        }
        let fault = Fault::new(self.part, expected, element);
        match element.chars().find(|sign| "?W%&+".contains(*sign)) {
            Some('?') => fault.hint("write * where any will do"),
            Some('W') if !self.is_days_of_week() => {
                fault.hint("nearest weekdays (W) are not supported; mon-fri in the last field are weekdays")
            }
            Some('%') => fault.hint("every second week is not supported; mon#1,mon#3 is twice a month"),
            Some('&' | '+') => fault.hint("days of month and of week are joined by or; check one in the job"),
            _ => fault,
        }
    }
}

/// The numbers that a field names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Field {
    pub(super) numbers: BTreeSet<u8>,
    /// It was left open with `*`: a day field that is does not narrow the other one.
    pub(super) any: bool,
    /// It has a `*` or a bare step: it tells a distance rather than times.
    pub(super) repeating: bool,
    /// The last day of the month.
    pub(super) last: bool,
    /// Days of the week by their place in the month, from 1; `None` is the last one.
    pub(super) nth: BTreeSet<(u8, Option<u8>)>,
}

impl Field {
    /// Reads elements that are separated by commas.
    pub(super) fn parse(kind: &Kind, text: &str) -> Result<Self, Fault> {
        let mut field = Self::default();
        for element in text.split(',') {
            field.add(kind, element)?;
        }
        if field.any {
            field.numbers.extend(kind.low..=kind.high);
        }
        Ok(field)
    }

    /// Whether every number that there is is among them.
    pub(super) fn is_full(&self, kind: &Kind) -> bool {
        self.numbers.len() == usize::from(kind.count())
    }

    fn add(&mut self, kind: &Kind, element: &str) -> Result<(), Fault> {
        if kind.is_days_of_week()
            && let Some((day, place)) = element.split_once('#')
        {
            self.nth.insert((kind.resolved(kind.value(day, element)?), place_in_month(place, element)?));
            return Ok(());
        }
        let (range, step) = match element.split_once('/') {
            Some((range, step)) => (range, Some(parse_step(kind, step, element)?)),
            None => (element, None),
        };
        if range == "*" || (range.is_empty() && step.is_some()) {
            self.repeating = true;
            match step.unwrap_or(1) {
                1 => self.any = true,
                step => self.numbers.extend((kind.low..=kind.high).step_by(step)),
            }
            return Ok(());
        }
        if kind.part == CronPart::DaysOfMonth && is_last(range) && step.is_none() {
            self.last = true;
            return Ok(());
        }
        if kind.part == CronPart::DaysOfMonth && range.starts_with('-') {
            return Err(Fault::new(kind.part, "a day, or L for the last one", element)
                .hint("days before the last one are not supported"));
        }
        self.add_range(kind, range, step, element)
    }

    fn add_range(
        &mut self,
        kind: &Kind,
        range: &str,
        step: Option<usize>,
        element: &str,
    ) -> Result<(), Fault> {
        let (first, last) = match (range.split_once('-'), step) {
            (Some((first, last)), _) if kind.part == CronPart::DaysOfMonth && is_last(last) => {
                (kind.value(first, element)?, kind.high)
            }
            (Some((first, last)), _) => (kind.value(first, element)?, kind.value(last, element)?),
            // Here the gem takes the one day where any other field goes on to its end.
            (None, Some(_)) if kind.is_days_of_week() => {
                return Err(Fault::new(kind.part, "a range before the step", element)
                    .hint("write both ends, such as mon-sat/2"));
            }
            (None, Some(_)) => (kind.value(range, element)?, kind.high),
            (None, None) => {
                let number = kind.value(range, element)?;
                (number, number)
            }
        };
        let numbers = kind.walk(first, last);
        self.numbers.extend(numbers.into_iter().step_by(step.unwrap_or(1)));
        Ok(())
    }
}

fn is_last(text: &str) -> bool {
    text == "-1" || text.eq_ignore_ascii_case("l") || text.eq_ignore_ascii_case("last")
}

fn place_in_month(text: &str, element: &str) -> Result<Option<u8>, Fault> {
    if is_last(text) {
        return Ok(None);
    }
    let place = text.parse().ok().filter(|place| text.len() == 1 && (1..=5).contains(place));
    place.map(Some).ok_or_else(|| {
        Fault::new(
            CronPart::DaysOfWeek,
            "the first (mon#1) to the fifth (mon#5) or the last (mon#L)",
            element,
        )
    })
}

fn parse_step(kind: &Kind, text: &str, element: &str) -> Result<usize, Fault> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let step = text.parse().ok().filter(|step| digits && (1..=usize::from(kind.count())).contains(step));
    step.ok_or_else(|| {
        let fault = Fault::new(kind.part, format!("a step from 1 to {}", kind.count()), element);
        if digits && text.bytes().any(|byte| byte != b'0') {
            fault.hint("steps begin anew each time the field does, so longer ones are never taken")
        } else {
            fault.hint("write * for each")
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(kind: &Kind, text: &str) -> Vec<u8> {
        Field::parse(kind, text).unwrap().numbers.into_iter().collect()
    }

    #[test]
    fn ranges_go_on_past_the_end_of_the_field() {
        assert_eq!(numbers(&Kind::HOURS, "22-4"), [0, 1, 2, 3, 4, 22, 23]);
        assert_eq!(numbers(&Kind::HOURS, "22-24"), [0, 22, 23]);
        assert_eq!(numbers(&Kind::HOURS, "24-2"), [0, 1, 2]);
        assert_eq!(numbers(&Kind::HOURS, "0-24").len(), 24);
        assert_eq!(numbers(&Kind::DAYS_OF_WEEK, "fri-mon"), [0, 1, 5, 6]);
        assert_eq!(numbers(&Kind::DAYS_OF_WEEK, "fri-mon/2"), [0, 5]);
        assert_eq!(numbers(&Kind::DAYS_OF_WEEK, "7-1"), [0, 1]);
        assert_eq!(numbers(&Kind::DAYS_OF_WEEK, "0-7").len(), 7);
        assert_eq!(numbers(&Kind::MONTHS, "nov-feb"), [1, 2, 11, 12]);
        assert_eq!(numbers(&Kind::DAYS_OF_MONTH, "28-2"), [1, 2, 28, 29, 30, 31]);
        assert_eq!(numbers(&Kind::DAYS_OF_MONTH, "29-L"), [29, 30, 31]);
    }

    #[test]
    fn steps_count_from_the_start_of_their_range() {
        assert_eq!(numbers(&Kind::MINUTES, "*/20"), [0, 20, 40]);
        assert_eq!(numbers(&Kind::MINUTES, "/20,3"), [0, 3, 20, 40]);
        assert_eq!(numbers(&Kind::MINUTES, "5/20"), [5, 25, 45]);
        assert_eq!(numbers(&Kind::MINUTES, "50-10/5"), [0, 5, 10, 50, 55]);
        assert_eq!(numbers(&Kind::DAYS_OF_MONTH, "*/15"), [1, 16, 31]);
    }

    #[test]
    fn only_a_bare_star_leaves_a_field_open() {
        for (text, open) in [("*", true), ("*/1", true), ("1-31", false), ("*/2", false)] {
            assert_eq!(Field::parse(&Kind::DAYS_OF_MONTH, text).unwrap().any, open, "{text}");
        }
    }
}
