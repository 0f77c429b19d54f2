//! Queue names and their weights.

use std::fmt;
use std::str::FromStr;

use cogworker_core::queue_name::{self, is_queue_name};

use super::rule::{Mismatch, found};

/// Weights are ratios; one above this is a slip.
pub(super) const MAX_WEIGHT: u32 = 1_000;

/// The sum of all weights: the fetch order is drawn from a list of that length.
pub(super) const MAX_QUEUES: usize = 10_000;

/// A queue and how often it counts, written `NAME` or `NAME,WEIGHT` (CONF-08).
///
/// ```
/// use cogworker_server::config::WeightedQueue;
///
/// let queue: WeightedQueue = "default,3".parse()?;
/// assert_eq!((queue.name.as_str(), queue.weight), ("default", 3));
/// # Ok::<(), cogworker_server::config::Mismatch>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WeightedQueue {
    /// The queue's name.
    pub name: String,
    /// At least 1.
    pub weight: u32,
}

impl WeightedQueue {
    /// The name as often as the weight says.
    pub(crate) fn repeated(&self) -> impl Iterator<Item = String> + use<> {
        std::iter::repeat_n(self.name.clone(), usize::try_from(self.weight).unwrap_or(usize::MAX))
    }

    /// As after `-q`. Several queues in one flag are refused with the flags that are meant.
    pub(crate) fn from_flag(text: &str) -> Result<Self, Mismatch> {
        text.parse().map_err(|mismatch: Mismatch| match flags_of_list(text) {
            Some(flags) => mismatch.hint(format!("several queues are {flags}")),
            None => mismatch,
        })
    }
}

/// The flags for `a,b` and `a,2,b`, read as in the variable; `None` when it is no list of queues.
fn flags_of_list(text: &str) -> Option<String> {
    let mut queues: Vec<WeightedQueue> = Vec::new();
    for item in text.split(',').map(str::trim) {
        match item.parse().ok().filter(|weight| check_weight(*weight).is_ok()) {
            Some(weight) => queues.last_mut().filter(|queue| queue.weight == 1)?.weight = weight,
            None if item.starts_with(|first: char| first.is_ascii_digit() || first == '-') => return None,
            None => queues.push(item.parse().ok()?),
        }
    }
    let flags: Vec<String> = queues.iter().map(|queue| format!("-q {queue}")).collect();
    (flags.len() > 1).then(|| flags.join(" "))
}

/// What may be meant by a queue `name:2`, as others write a weight.
pub(crate) fn meant_weight(name: &str) -> Option<WeightedQueue> {
    let (name, weight) = name.rsplit_once(':')?;
    let weight = weight.parse().ok().filter(|weight| check_weight(*weight).is_ok())?;
    (!name.is_empty()).then(|| WeightedQueue { name: name.to_owned(), weight })
}

impl FromStr for WeightedQueue {
    type Err = Mismatch;

    fn from_str(text: &str) -> Result<Self, Mismatch> {
        let (name, weight) = match text.split_once(',') {
            Some((name, weight)) => (name, read_weight(weight)?),
            None => (text, 1),
        };
        check_name(name)?;
        Ok(Self { name: name.to_owned(), weight })
    }
}

impl fmt::Display for WeightedQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.weight {
            1 => f.write_str(&self.name),
            weight => write!(f, "{},{weight}", self.name),
        }
    }
}

fn read_weight(text: &str) -> Result<u32, Mismatch> {
    text.parse()
        .ok()
        .filter(|weight| check_weight(*weight).is_ok())
        .ok_or_else(|| Mismatch::new(weight_expected(), found(text)))
}

fn weight_expected() -> String {
    format!("a weight from 1 to {MAX_WEIGHT}")
}

pub(super) fn check_weight(weight: u32) -> Result<(), Mismatch> {
    if (1..=MAX_WEIGHT).contains(&weight) {
        Ok(())
    } else {
        Err(Mismatch::new(weight_expected(), weight.to_string()))
    }
}

pub(super) fn check_name(name: &str) -> Result<(), Mismatch> {
    if is_queue_name(name) {
        return Ok(());
    }
    let problem = match name.len() {
        0 => "an empty name".to_owned(),
        length if length > queue_name::LONGEST => format!("{length} bytes"),
        _ => found(name),
    };
    Err(Mismatch::new(queue_name::EXPECTED, problem))
}

pub(super) fn check_all(queues: &[String]) -> Result<(), Mismatch> {
    match queues.len() {
        0 => return Err(Mismatch::new("at least one queue", "none")),
        1..=MAX_QUEUES => {}
        count => {
            let expected = format!("at most {MAX_QUEUES} queues, weights counted");
            return Err(Mismatch::new(expected, count.to_string()));
        }
    }
    queues.iter().try_for_each(|name| check_name(name))
}

pub(super) fn weighted(queues: &[String]) -> Vec<WeightedQueue> {
    let mut result: Vec<WeightedQueue> = Vec::new();
    for name in queues {
        match result.iter_mut().find(|queue| queue.name == *name) {
            Some(queue) => queue.weight = queue.weight.saturating_add(1),
            None => result.push(WeightedQueue { name: name.clone(), weight: 1 }),
        }
    }
    result
}
