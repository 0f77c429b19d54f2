//! Claims about crons as a whole.

mod clock_changes;
mod refusals;
mod spelling;
mod walk;

use super::*;

fn cron(text: &str) -> Cron {
    Cron::parse(text).unwrap()
}

/// An instant from RFC 3339.
fn at(text: &str) -> i64 {
    chrono::DateTime::parse_from_rfc3339(text).unwrap().timestamp()
}

/// All slots after one instant, up to and with another.
fn slots(cron: &Cron, after: i64, to: i64) -> Vec<i64> {
    let next = |instant: &i64| cron.next(EpochSeconds::new(*instant as f64)).filter(|slot| *slot <= to);
    std::iter::successors(next(&after), next).collect()
}

/// The same, found backwards.
fn slots_backwards(cron: &Cron, after: i64, to: i64) -> Vec<i64> {
    let previous =
        |instant: i64| cron.previous(EpochSeconds::new(instant as f64)).filter(|slot| *slot > after);
    let mut found: Vec<i64> = std::iter::successors(previous(to), |slot| previous(slot - 1)).collect();
    found.reverse();
    found
}

/// Slots within a span, as the zone's clock shows them with its offset; forwards and backwards alike.
fn shown(cron: &Cron, after: &str, to: &str) -> Vec<String> {
    let found = slots(cron, at(after), at(to));
    assert_eq!(found, slots_backwards(cron, at(after), at(to)), "backwards");
    let local =
        |slot: i64| chrono::DateTime::from_timestamp(slot, 0).unwrap().with_timezone(&cron.zone().tz());
    found.into_iter().map(|slot| local(slot).format("%d %H:%M %:z").to_string()).collect()
}
