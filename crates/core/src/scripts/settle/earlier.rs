//! What a settlement whose reply got lost came to.

use super::Step;
use crate::redis::{RedisError, Reply};

/// Which of a batch's outcomes stand in the script's list of acknowledged jobs (the others are
/// operations), in the order of adding.
#[derive(Debug, Clone, Default)]
pub struct BatchShape(Vec<bool>);

/// What an earlier batch came to, as Redis kept it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Earlier {
    /// The number of that batch.
    pub number: u64,
    /// Runs that were settled but could not be counted (processed, failed).
    pub uncounted: (u64, u64),
    acknowledged: Vec<Step>,
    operations: Vec<Step>,
}

impl BatchShape {
    pub(super) fn new(order: Vec<bool>) -> Self {
        Self(order)
    }

    /// The steps of both lists in the order of adding; `None` when there are too few.
    pub(super) fn in_order(self, acknowledged: Vec<Step>, operations: Vec<Step>) -> Option<Vec<Step>> {
        let (mut acknowledged, mut operations) = (acknowledged.into_iter(), operations.into_iter());
        let next = |in_line| if in_line { acknowledged.next() } else { operations.next() };
        self.0.into_iter().map(next).collect()
    }
}

impl Earlier {
    /// One step for each outcome of that batch, which had the shape `shape`.
    pub fn steps(self, shape: BatchShape) -> Option<Vec<Step>> {
        shape.in_order(self.acknowledged, self.operations)
    }

    /// Reads `number|codes|codes|processed|failed`; `None` when nothing was kept.
    pub(super) fn read(reply: Reply) -> Result<Option<Self>, RedisError> {
        let text = reply.text()?;
        if text.is_empty() {
            return Ok(None);
        }
        let unexpected = || RedisError::UnexpectedReply {
            expected: "what an earlier settlement came to",
            found: text.clone(),
        };
        let fields: Vec<&str> = text.split('|').collect();
        let [number, acknowledged, operations, processed, failed] = fields[..] else {
            return Err(unexpected());
        };
        let count = |text: &str| text.parse::<u64>().map_err(|_| unexpected());
        Ok(Some(Self {
            number: count(number)?,
            uncounted: (count(processed)?, count(failed)?),
            acknowledged: Step::read_all(acknowledged.as_bytes())?,
            operations: Step::read_all(operations.as_bytes())?,
        }))
    }
}
