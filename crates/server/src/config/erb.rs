//! The part of ERB that configuration files use.
//!
//! Nothing is ever executed: `<%= %>` holds literals, `ENV["X"]`, `ENV.fetch("X")`,
//! `ENV.fetch("X", default)`, `||`, whole-number `+ - * /` and parentheses, `<%# %>` is a comment, and
//! anything else is an error that names line and expression (CONF-04).
//!
//! The file is parsed as YAML with a placeholder in place of each expression, and values are put in
//! afterwards. So no value, whatever it holds, can change the structure of the file, and only the
//! expressions of settings that are used are evaluated.

mod eval;
mod lexer;
mod parser;

use super::EnvVars;
use parser::Expr;

/// Stands around the number of an expression in the text handed to the YAML parser: a character for
/// private use, which YAML accepts in plain and quoted text.
const MARK: char = '\u{E000}';

/// Bounds the work and, as every nesting takes a character, the recursion for one expression.
const MAX_EXPRESSION: usize = 1_000;

/// A value of an expression.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    /// `nil`, also for a variable that is not set.
    Nil,
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A string, a symbol without its colon, or a decimal number as it was written.
    Text(String),
}

impl Value {
    fn into_text(self) -> Option<String> {
        match self {
            Self::Nil => None,
            Self::Bool(value) => Some(value.to_string()),
            Self::Int(value) => Some(value.to_string()),
            Self::Text(text) => Some(text),
        }
    }
}

/// An expression that cannot be understood or evaluated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {expression}: {problem}")]
#[non_exhaustive]
pub struct ErbError {
    /// Counted from 1.
    pub line: usize,
    /// As it stands in the file.
    pub expression: String,
    /// What is wrong with it.
    pub problem: String,
}

#[derive(Debug)]
struct Tag {
    line: usize,
    source: String,
    expr: Expr,
}

/// A text with expressions in it.
#[derive(Debug)]
pub(super) struct Template {
    text: String,
    tags: Vec<Tag>,
}

impl Template {
    /// Finds and parses the expressions; those on lines that are comments in YAML may be anything.
    pub(super) fn parse(source: &str) -> Result<Self, ErbError> {
        if let Some((before, _)) = source.split_once(MARK) {
            return Err(ErbError {
                line: line_of(before),
                expression: "U+E000".into(),
                problem: "this character is reserved".into(),
            });
        }
        let mut template = Self { text: String::with_capacity(source.len()), tags: Vec::new() };
        let mut rest = source;
        while let Some((before, after)) = rest.split_once("<%") {
            template.text.push_str(before);
            let line = line_of(&source[..source.len() - after.len()]);
            let Some((inside, remaining)) = after.split_once("%>") else {
                return Err(refuse(line, &format!("<%{}", first_line(after)), "the closing %> is missing"));
            };
            template.tag(line, inside)?;
            rest = remaining;
        }
        template.text.push_str(rest);
        Ok(template)
    }

    fn tag(&mut self, line: usize, inside: &str) -> Result<(), ErbError> {
        let source = format!("<%{inside}%>");
        if self.in_yaml_comment() {
            self.text.push_str(&"\n#".repeat(inside.matches('\n').count()));
            return Ok(());
        }
        if inside.starts_with('#') {
            // The lines stay, so that the numbers in later messages are right.
            self.text.push_str(&"\n".repeat(inside.matches('\n').count()));
            return Ok(());
        }
        let problem = match inside.strip_prefix('=') {
            None => "only <%= expression %> and <%# comment %> are understood".to_owned(),
            Some(code) if code.contains('\n') => "an expression must stand on one line".to_owned(),
            Some(code) if code.len() > MAX_EXPRESSION => {
                format!("an expression may have at most {MAX_EXPRESSION} bytes")
            }
            Some(code) => match lexer::lex(code).and_then(parser::parse) {
                Ok(expr) => {
                    self.text.push_str(&format!("{MARK}{}{MARK}", self.tags.len()));
                    self.tags.push(Tag { line, source, expr });
                    return Ok(());
                }
                Err(problem) => problem,
            },
        };
        Err(refuse(line, &source, &problem))
    }

    fn in_yaml_comment(&self) -> bool {
        self.text.rsplit('\n').next().is_some_and(|line| line.trim_start().starts_with('#'))
    }

    /// The text with a placeholder for each expression.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The value of a piece of [`text`](Self::text): an expression that stands alone keeps its kind.
    pub(super) fn value(&self, piece: &str, env: &EnvVars) -> Result<Value, ErbError> {
        let mut parts = piece.split(MARK);
        let mut text = parts.next().unwrap_or_default().to_owned();
        // After the first mark, numbers and literal text take turns.
        while let Some(number) = parts.next() {
            let literal = parts.next().unwrap_or_default();
            let value = match number.parse::<usize>().ok().and_then(|index| self.tags.get(index)) {
                Some(tag) => {
                    eval::eval(&tag.expr, env).map_err(|problem| refuse(tag.line, &tag.source, &problem))?
                }
                None => Value::Nil,
            };
            if text.is_empty() && literal.is_empty() && piece == format!("{MARK}{number}{MARK}") {
                return Ok(value);
            }
            text.push_str(&value.into_text().unwrap_or_default());
            text.push_str(literal);
        }
        Ok(Value::Text(text))
    }
}

/// Whether a text holds placeholders.
pub(super) fn has_placeholder(text: &str) -> bool {
    text.contains(MARK)
}

fn refuse(line: usize, expression: &str, problem: &str) -> ErbError {
    const LONGEST: usize = 80;
    let expression = match expression.char_indices().nth(LONGEST) {
        Some((cut, _)) => format!("{}…", &expression[..cut]),
        None => expression.to_owned(),
    };
    ErbError { line, expression: expression.replace(['\n', '\r'], " "), problem: problem.to_owned() }
}

fn line_of(before: &str) -> usize {
    1 + before.matches('\n').count()
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

#[cfg(test)]
mod tests;
