//! What a setting accepts.
//!
//! One rule serves the file, the environment, the flags and the builder, so that they agree.

use std::net::SocketAddr;
use std::time::Duration;

use figment::value::Value;

use super::node::{Content, Node};
use super::{FetchMode, LogFormat, WeightedQueue, queue, redis};

/// A value that is not what it should be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{within}expected {expected}, found {found}")]
#[non_exhaustive]
pub struct Mismatch {
    /// The part of the value that is wrong, with a colon; mostly empty.
    within: String,
    /// What is accepted.
    pub expected: String,
    /// What was there.
    pub found: String,
}

impl Mismatch {
    pub(crate) fn new(expected: impl Into<String>, found: impl Into<String>) -> Self {
        Self { within: String::new(), expected: expected.into(), found: found.into() }
    }

    /// The same, with what to do about it.
    pub(super) fn hint(mut self, hint: impl std::fmt::Display) -> Self {
        self.found = format!("{} ({hint})", self.found);
        self
    }

    /// The same, about a part of the value.
    pub(super) fn within(mut self, part: impl std::fmt::Display) -> Self {
        self.within = format!("{part}: ");
        self
    }
}

/// A value for a message: numbers bare, other text quoted, escaped and cut.
pub(super) fn found(text: &str) -> String {
    const LONGEST: usize = 60;
    if text.len() <= LONGEST && text.parse::<f64>().is_ok_and(f64::is_finite) {
        text.to_owned()
    } else if let Some((cut, _)) = text.char_indices().nth(LONGEST) {
        format!("{:?}…", &text[..cut])
    } else {
        format!("{text:?}")
    }
}

/// What a setting accepts.
#[derive(Clone, Copy, Debug)]
pub(super) enum Rule {
    Whole { min: u64, max: u64 },
    Seconds { min: f64, max: f64 },
    Flag,
    Text,
    Fetch,
    LogFormat,
    Queues,
    Environment,
    Address,
    Redis,
}

impl Rule {
    /// What is accepted, in words.
    pub(super) fn expected(self) -> String {
        match self {
            Self::Whole { min, max } => format!("a whole number from {min} to {max}"),
            Self::Seconds { min, max } => format!("seconds from {min} to {max}"),
            Self::Flag => "true or false".into(),
            Self::Text => "text".into(),
            Self::Fetch => "reliable or basic".into(),
            Self::LogFormat => "text or json".into(),
            Self::Queues => "a list of queue names".into(),
            Self::Environment => "a name of 1 to 64 printable characters without spaces".into(),
            Self::Address => "an IP address and a port such as 127.0.0.1:7433".into(),
            Self::Redis => "a url or a map of settings".into(),
        }
    }

    /// Reads and checks a value.
    pub(super) fn read(self, node: &Node) -> Result<Value, Mismatch> {
        let expected = self.expected();
        if let Self::Queues = self {
            return read_queues(node, &expected).map(Value::from);
        }
        let text = node.scalar(&expected)?;
        let mismatch = || Mismatch::new(&expected, found(text));
        Ok(match self {
            // Ruby reads a leading zero as octal, so what is meant is unclear.
            Self::Whole { .. } if text.len() > 1 && text.starts_with('0') => return Err(mismatch()),
            Self::Whole { .. } => {
                let number = text.parse().map_err(|_| mismatch())?;
                self.check_whole(number)?;
                Value::from(number)
            }
            Self::Seconds { .. } => {
                let seconds = text.parse().map_err(|_| mismatch())?;
                self.check_seconds(seconds, text)?;
                Value::from(seconds)
            }
            Self::Flag => match text.to_ascii_lowercase().as_str() {
                "true" | "yes" | "on" | "1" => Value::from(true),
                "false" | "no" | "off" | "0" => Value::from(false),
                _ => return Err(mismatch()),
            },
            Self::Fetch => Value::from(text.parse::<FetchMode>()?.as_str()),
            Self::LogFormat => Value::from(text.parse::<LogFormat>()?.as_str()),
            Self::Environment => {
                check_environment(text)?;
                Value::from(text)
            }
            Self::Address => {
                let address: SocketAddr = text.parse().map_err(|_| mismatch())?;
                Value::from(address.to_string())
            }
            Self::Text if text.is_empty() => return Err(mismatch()),
            Self::Text | Self::Queues => Value::from(text),
            Self::Redis => {
                redis::check_url(text)?;
                Value::from(text)
            }
        })
    }

    pub(super) fn check_whole(self, number: u64) -> Result<(), Mismatch> {
        match self {
            Self::Whole { min, max } if !(min..=max).contains(&number) => {
                Err(Mismatch::new(self.expected(), number.to_string()))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn check_duration(self, duration: Duration) -> Result<(), Mismatch> {
        let seconds = duration.as_secs_f64();
        self.check_seconds(seconds, &seconds.to_string())
    }

    fn check_seconds(self, seconds: f64, text: &str) -> Result<(), Mismatch> {
        match self {
            Self::Seconds { min, max } if !(min..=max).contains(&seconds) => {
                Err(Mismatch::new(self.expected(), found(text)))
            }
            _ => Ok(()),
        }
    }
}

/// Checks the name of an environment.
pub(crate) fn check_environment(name: &str) -> Result<(), Mismatch> {
    let good = (1..=64).contains(&name.chars().count())
        && !name.chars().any(|char| char.is_whitespace() || char.is_control());
    if good { Ok(()) } else { Err(Mismatch::new(Rule::Environment.expected(), found(name))) }
}

/// A weight that got separated from its name: no one names a queue `3`, and it would be worked on in vain.
fn is_bare_weight(text: &str) -> bool {
    !text.starts_with('0') && text.parse::<u32>().is_ok()
}

/// Queues are names, `NAME,WEIGHT` or pairs of both; a repeated name is a weight too.
fn read_queues(node: &Node, expected: &str) -> Result<Vec<String>, Mismatch> {
    let Content::List(items) = &node.content else {
        return Err(Mismatch::new(expected, node.describe()));
    };
    let mut queues = Vec::new();
    for item in items {
        let queue: WeightedQueue = match &item.content {
            Content::List(pair) => match pair.as_slice() {
                [name, weight] => {
                    format!("{},{}", name.scalar("a queue name")?, weight.scalar("a weight")?).parse()?
                }
                _ => {
                    return Err(Mismatch::new("a queue name and a weight", format!("{} values", pair.len())));
                }
            },
            Content::Scalar(text) if is_bare_weight(text) => {
                return Err(Mismatch::new("a queue name (a weight goes with it: NAME,WEIGHT)", found(text)));
            }
            _ => item.scalar("a queue name")?.parse()?,
        };
        queues.extend(queue.repeated());
    }
    queue::check_all(&queues)?;
    Ok(queues)
}
