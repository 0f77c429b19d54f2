//! From YAML to [`Node`]s, with the template's values put in.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::options::{DuplicateKeyPolicy, NonFiniteFloatPolicy};
use serde_saphyr::{Location, Spanned};

use super::EnvVars;
use super::erb::{self, Template, Value};
use super::node::{Content, Entry, Node};

/// A file that is not YAML.
#[derive(Debug)]
pub(super) struct SyntaxError {
    pub(super) line: usize,
    pub(super) message: String,
}

/// A YAML value as the parser gives it.
pub(super) enum Raw {
    Nil,
    /// A plain bool or number: its text is taken from the source.
    Plain(String),
    Text(String),
    List(Vec<Spanned<Raw>>),
    Map(Vec<(Spanned<Raw>, Spanned<Raw>)>),
}

pub(super) fn parse(text: &str) -> Result<Spanned<Raw>, SyntaxError> {
    // Repeated keys are ours to refuse: `:queues` and `queues` are the same.
    let options = serde_saphyr::options! {
        duplicate_keys: DuplicateKeyPolicy::PassThrough,
        non_finite_float_policy: NonFiniteFloatPolicy::PassThrough,
    };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        // Without the snippet, which could show a password, the place, which is told apart, and the
        // parser's hints on its own functions.
        let message = error.without_snippet().to_string();
        let reason = message.split(" at line ").next().and_then(|text| text.split("; use ").next());
        let message = reason.unwrap_or_default().replace('\n', " ");
        SyntaxError { line: error.location().map_or(1, line), message }
    })
}

/// Where a value is used.
pub(super) fn line_of<T>(value: &Spanned<T>) -> usize {
    line(value.referenced)
}

fn line(location: Location) -> usize {
    usize::try_from(location.line()).unwrap_or_default()
}

/// Turns parsed values into nodes.
pub(super) struct Resolver<'a> {
    pub(super) template: &'a Template,
    pub(super) env: &'a EnvVars,
}

impl Resolver<'_> {
    pub(super) fn node(&self, raw: &Spanned<Raw>) -> Result<Node, erb::ErbError> {
        let content = match &raw.value {
            Raw::Nil => Content::Nil,
            Raw::Plain(fallback) => Content::Scalar(self.source(raw).unwrap_or(fallback).to_owned()),
            Raw::Text(text) => {
                let text = if self.source(raw).is_some_and(|source| source.starts_with(':')) {
                    symbol_name(text)
                } else {
                    text
                };
                self.scalar(text)?
            }
            Raw::List(items) => {
                Content::List(items.iter().map(|item| self.node(item)).collect::<Result<_, _>>()?)
            }
            Raw::Map(entries) => Content::Map(
                entries
                    .iter()
                    .map(|(key, value)| {
                        Ok(Entry { key: self.key(key)?, line: line_of(key), value: self.node(value)? })
                    })
                    .collect::<Result<_, erb::ErbError>>()?,
            ),
        };
        Ok(Node { content, line: line_of(raw) })
    }

    /// The text of a key, without the colon of a symbol.
    pub(super) fn key(&self, raw: &Spanned<Raw>) -> Result<String, erb::ErbError> {
        Ok(match self.node(raw)?.content {
            Content::Scalar(text) => text,
            Content::Nil => "nil".into(),
            Content::List(_) => "a list".into(),
            Content::Map(_) => "a map".into(),
        })
    }

    fn scalar(&self, text: &str) -> Result<Content, erb::ErbError> {
        if !erb::has_placeholder(text) {
            return Ok(Content::Scalar(text.to_owned()));
        }
        Ok(match self.template.value(text, self.env)? {
            Value::Nil => Content::Nil,
            Value::Bool(value) => Content::Scalar(value.to_string()),
            Value::Int(value) => Content::Scalar(value.to_string()),
            Value::Text(text) => Content::Scalar(text),
        })
    }

    /// What was written, quotes and all.
    fn source(&self, raw: &Spanned<Raw>) -> Option<&str> {
        let span = raw.defined.span();
        let start = usize::try_from(span.byte_offset()?).ok()?;
        let len = usize::try_from(span.byte_len()?).ok()?;
        self.template.text().get(start..start.checked_add(len)?).filter(|text| !text.is_empty())
    }
}

/// `:name` and `:"name"` are Ruby's symbols.
fn symbol_name(text: &str) -> &str {
    let name = text.strip_prefix(':').unwrap_or(text);
    ['"', '\''].into_iter().find_map(|quote| name.strip_prefix(quote)?.strip_suffix(quote)).unwrap_or(name)
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RawVisitor)
    }
}

struct RawVisitor;

impl<'de> Visitor<'de> for RawVisitor {
    type Value = Raw;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a YAML value")
    }

    fn visit_unit<E>(self) -> Result<Raw, E> {
        Ok(Raw::Nil)
    }

    fn visit_none<E>(self) -> Result<Raw, E> {
        Ok(Raw::Nil)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Raw, E> {
        Ok(Raw::Plain(value.to_string()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Raw, E> {
        Ok(Raw::Plain(value.to_string()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Raw, E> {
        Ok(Raw::Plain(value.to_string()))
    }

    fn visit_i128<E>(self, value: i128) -> Result<Raw, E> {
        Ok(Raw::Plain(value.to_string()))
    }

    fn visit_u128<E>(self, value: u128) -> Result<Raw, E> {
        Ok(Raw::Plain(value.to_string()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Raw, E> {
        Ok(Raw::Plain(value.to_string()))
    }

    fn visit_str<E>(self, value: &str) -> Result<Raw, E> {
        Ok(Raw::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Raw, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element()? {
            items.push(item);
        }
        Ok(Raw::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Raw, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = access.next_entry()? {
            entries.push(entry);
        }
        Ok(Raw::Map(entries))
    }
}
