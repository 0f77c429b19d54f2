//! A value as it stands in a file, a variable or a flag, before it is read as a setting.

use super::rule::{Mismatch, found};

/// A value and the line it stands on.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Node {
    pub(super) content: Content,
    /// Counted from 1; 0 outside files.
    pub(super) line: usize,
}

/// Scalars stay the text that was written: what kind of value it is depends on the setting, so a password
/// `0123` or a queue `yes` is what it looks like.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Content {
    Nil,
    Scalar(String),
    List(Vec<Node>),
    Map(Vec<Entry>),
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) line: usize,
    pub(super) value: Node,
}

impl Node {
    pub(super) fn text(text: impl Into<String>) -> Self {
        Self { content: Content::Scalar(text.into()), line: 0 }
    }

    /// The text of a scalar; `expected` is for the refusal of anything else.
    pub(super) fn scalar(&self, expected: &str) -> Result<&str, Mismatch> {
        match &self.content {
            Content::Scalar(text) => Ok(text),
            _ => Err(Mismatch::new(expected, self.describe())),
        }
    }

    /// For messages: short, and the value only if it is a scalar.
    pub(super) fn describe(&self) -> String {
        match &self.content {
            Content::Nil => "nil".into(),
            Content::Scalar(text) => found(text),
            Content::List(_) => "a list".into(),
            Content::Map(_) => "a map".into(),
        }
    }
}
