//! The part of ERB that configuration files use, evaluated without ever running anything.
//!
//! `<%= %>` with literals, `ENV["X"]`, `ENV.fetch("X")`, `ENV.fetch("X", default)`, `||`, integer
//! `+ - * /`, parentheses, `.to_i` and `.to_s`; `<%# %>` is a comment and `<%%` a literal `<%`.

use std::collections::BTreeMap;
use std::iter::Peekable;
use std::str::Chars;

/// Why a template cannot be rendered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ErbError {
    pub(super) line: usize,
    pub(super) expression: String,
    pub(super) reason: String,
}

/// The text with every expression replaced by its value.
pub(super) fn render(template: &str, variables: &BTreeMap<String, String>) -> Result<String, ErbError> {
    let mut rendered = String::with_capacity(template.len());
    let mut rest = template;
    while let Some(at) = rest.find("<%") {
        rendered.push_str(&rest[..at]);
        let line = template[..template.len() - rest.len() + at].matches('\n').count() + 1;
        let tag = &rest[at + 2..];
        if let Some(after) = tag.strip_prefix('%') {
            rendered.push_str("<%");
            rest = after;
            continue;
        }
        let fail = |expression: &str, reason: String| ErbError {
            line,
            expression: expression.trim().chars().take(120).collect(),
            reason,
        };
        let Some(end) = tag.find("%>") else {
            return Err(fail(tag.lines().next().unwrap_or(""), "there is no closing %>".into()));
        };
        let body = &tag[..end];
        rest = &tag[end + 2..];
        let (body, trims) = body.strip_suffix('-').map_or((body, false), |body| (body, true));
        if trims {
            rest = rest.strip_prefix('\n').unwrap_or(rest);
        }
        if body.starts_with('#') {
            continue;
        }
        let Some(expression) = body.strip_prefix('=') else {
            return Err(fail(body, "only <%= %> and <%# %> are understood, nothing is executed".into()));
        };
        let value = evaluate(expression, variables).map_err(|reason| fail(expression, reason))?;
        let text = place(&value, &rendered).map_err(|reason| fail(expression, reason))?;
        rendered.push_str(&text);
    }
    rendered.push_str(rest);
    Ok(rendered)
}

#[derive(Debug, Clone, PartialEq)]
enum Item {
    Nil,
    Bool(bool),
    Integer(i64),
    Float(f64),
    Text(String),
}

/// The value as YAML that reads back as the same text, wherever it stands.
fn place(value: &Item, before: &str) -> Result<String, String> {
    let text = match value {
        Item::Nil => return Ok(String::new()),
        Item::Bool(flag) => return Ok(flag.to_string()),
        Item::Integer(number) => return Ok(number.to_string()),
        Item::Float(number) => return Ok(format!("{number:?}")),
        Item::Text(text) => text,
    };
    let line = before.rsplit('\n').next().unwrap_or("");
    let quote = ['"', '\''].into_iter().find(|quote| line.matches(*quote).count() % 2 == 1);
    match quote {
        Some(quote) if text.contains([quote, '\\', '\n']) => {
            Err("its value cannot stand inside quotes".into())
        }
        Some(_) => Ok(text.clone()),
        None => {
            let plain = |letter: char| letter.is_ascii_alphanumeric() || "_./:@,+-=?&".contains(letter);
            let is_plain = text.chars().all(plain)
                && !text.ends_with(':')
                && !text.starts_with([',', '-', '@', '?', '&', '=']);
            Ok(if is_plain { text.clone() } else { serde_json::Value::from(text.as_str()).to_string() })
        }
    }
}

fn evaluate(expression: &str, variables: &BTreeMap<String, String>) -> Result<Item, String> {
    let mut parser = Parser { letters: expression.chars().peekable(), variables, depth: 0 };
    let value = parser.alternatives()?;
    parser.skip_blanks();
    match parser.letters.next() {
        None => Ok(value),
        Some(letter) => Err(format!("{letter:?} is not expected here")),
    }
}

/// Deeper nesting than any configuration has.
const MOST_DEPTH: usize = 64;

struct Parser<'a> {
    letters: Peekable<Chars<'a>>,
    variables: &'a BTreeMap<String, String>,
    depth: usize,
}

impl Parser<'_> {
    fn skip_blanks(&mut self) {
        while self.letters.next_if(|letter| letter.is_whitespace()).is_some() {}
    }

    fn take(&mut self, letter: char) -> bool {
        self.skip_blanks();
        self.letters.next_if_eq(&letter).is_some()
    }

    fn expect(&mut self, letter: char) -> Result<(), String> {
        if self.take(letter) { Ok(()) } else { Err(format!("expected {letter:?}, found {}", self.found())) }
    }

    fn found(&mut self) -> String {
        self.letters.peek().map_or("the end".into(), |letter| format!("{letter:?}"))
    }

    fn alternatives(&mut self) -> Result<Item, String> {
        self.depth += 1;
        if self.depth > MOST_DEPTH {
            return Err("it is nested too deep".into());
        }
        let mut value = self.sum()?;
        while self.take('|') {
            self.expect('|')?;
            let other = self.sum()?;
            if matches!(value, Item::Nil | Item::Bool(false)) {
                value = other;
            }
        }
        self.depth -= 1;
        Ok(value)
    }

    fn sum(&mut self) -> Result<Item, String> {
        let mut value = self.product()?;
        loop {
            value = if self.take('+') {
                let other = self.product()?;
                calculate(&value, &other, i64::checked_add)?
            } else if self.take('-') {
                let other = self.product()?;
                calculate(&value, &other, i64::checked_sub)?
            } else {
                return Ok(value);
            };
        }
    }

    fn product(&mut self) -> Result<Item, String> {
        let mut value = self.call()?;
        loop {
            value = if self.take('*') {
                let other = self.call()?;
                calculate(&value, &other, i64::checked_mul)?
            } else if self.take('/') {
                let other = self.call()?;
                // Ruby divides towards minus infinity.
                calculate(&value, &other, |left, right| {
                    let quotient = left.checked_div(right)?;
                    Some(quotient - i64::from(left % right != 0 && (left < 0) != (right < 0)))
                })?
            } else {
                return Ok(value);
            };
        }
    }

    fn call(&mut self) -> Result<Item, String> {
        let mut value = self.primary()?;
        while self.take('.') {
            value = match self.word().as_str() {
                "to_i" => Item::Integer(to_i(&value)),
                "to_s" => Item::Text(match &value {
                    Item::Nil => String::new(),
                    Item::Bool(flag) => flag.to_string(),
                    Item::Integer(number) => number.to_string(),
                    Item::Float(number) => format!("{number:?}"),
                    Item::Text(text) => text.clone(),
                }),
                other => return Err(format!("only .to_i and .to_s are understood, found .{other}")),
            };
        }
        Ok(value)
    }

    fn word(&mut self) -> String {
        self.skip_blanks();
        let mut word = String::new();
        while let Some(letter) = self.letters.next_if(|letter| letter.is_alphanumeric() || *letter == '_') {
            word.push(letter);
        }
        word
    }

    fn primary(&mut self) -> Result<Item, String> {
        self.skip_blanks();
        match self.letters.peek().copied() {
            Some('(') => {
                self.letters.next();
                let value = self.alternatives()?;
                self.expect(')')?;
                Ok(value)
            }
            Some('-') => {
                self.letters.next();
                match self.call()? {
                    Item::Integer(number) => number.checked_neg().map(Item::Integer).ok_or_else(overflow),
                    Item::Float(number) => Ok(Item::Float(-number)),
                    _ => Err("only a number can be negative".into()),
                }
            }
            Some(quote @ ('"' | '\'')) => {
                self.letters.next();
                self.text(quote).map(Item::Text)
            }
            Some(digit) if digit.is_ascii_digit() => self.number(),
            Some(letter) if letter.is_alphabetic() => match self.word().as_str() {
                "nil" => Ok(Item::Nil),
                "true" => Ok(Item::Bool(true)),
                "false" => Ok(Item::Bool(false)),
                "ENV" => self.variable(),
                other => Err(format!("{other} is not understood: only ENV, literals, || and arithmetic are")),
            },
            _ => Err(format!("expected a value, found {}", self.found())),
        }
    }

    fn number(&mut self) -> Result<Item, String> {
        let mut digits = String::new();
        let mut rest = self.letters.clone();
        while let Some(letter) = rest.next_if(|letter| letter.is_ascii_digit() || *letter == '_') {
            digits.push(letter);
        }
        let is_float = rest.next_if_eq(&'.').is_some() && rest.peek().is_some_and(char::is_ascii_digit);
        self.letters.nth(digits.len() - 1);
        if is_float {
            self.letters.next();
            digits.push('.');
            while let Some(letter) = self.letters.next_if(char::is_ascii_digit) {
                digits.push(letter);
            }
        }
        let plain = digits.replace('_', "");
        if is_float {
            plain.parse().map(Item::Float).map_err(|_| format!("{digits} is no number"))
        } else {
            plain.parse().map(Item::Integer).map_err(|_| format!("{digits} is too large"))
        }
    }

    fn text(&mut self, quote: char) -> Result<String, String> {
        let mut text = String::new();
        while let Some(letter) = self.letters.next() {
            match letter {
                letter if letter == quote => return Ok(text),
                '#' if quote == '"' && self.letters.peek() == Some(&'{') => {
                    return Err("#{} inside a text is not understood".into());
                }
                '\\' => text.push(match self.letters.next() {
                    Some('n') if quote == '"' => '\n',
                    Some('t') if quote == '"' => '\t',
                    Some(escaped) => escaped,
                    None => break,
                }),
                letter => text.push(letter),
            }
        }
        Err("a text is not closed".into())
    }

    /// `["X"]`, `.fetch("X")`, `.fetch("X", default)` or `.fetch("X") { default }`.
    fn variable(&mut self) -> Result<Item, String> {
        if self.take('[') {
            let name = self.name()?;
            self.expect(']')?;
            return Ok(self.variables.get(&name).map_or(Item::Nil, |value| Item::Text(value.clone())));
        }
        self.expect('.')?;
        match self.word().as_str() {
            "fetch" => {}
            other => return Err(format!("only ENV[…] and ENV.fetch are understood, found ENV.{other}")),
        }
        self.expect('(')?;
        let name = self.name()?;
        let mut default = if self.take(',') { Some(self.alternatives()?) } else { None };
        self.expect(')')?;
        if default.is_none() && self.take('{') {
            default = Some(self.alternatives()?);
            self.expect('}')?;
        }
        match (self.variables.get(&name), default) {
            (Some(value), _) => Ok(Item::Text(value.clone())),
            (None, Some(default)) => Ok(default),
            (None, None) => Err(format!("the environment variable {name} is not set")),
        }
    }

    fn name(&mut self) -> Result<String, String> {
        match self.primary()? {
            Item::Text(name) => Ok(name),
            _ => Err("a variable's name must be a text".into()),
        }
    }
}

fn overflow() -> String {
    "the result is too large, or divided by zero".into()
}

fn calculate(left: &Item, right: &Item, step: impl Fn(i64, i64) -> Option<i64>) -> Result<Item, String> {
    match (left, right) {
        (Item::Integer(left), Item::Integer(right)) => {
            if *right == 0 && step(1, 0).is_none() {
                return Err(overflow());
            }
            step(*left, *right).map(Item::Integer).ok_or_else(overflow)
        }
        _ => Err("only whole numbers can be calculated with; use .to_i".into()),
    }
}

/// The leading whole number of a text, as Ruby reads it.
fn to_i(value: &Item) -> i64 {
    match value {
        Item::Integer(number) => *number,
        Item::Float(number) => *number as i64,
        Item::Text(text) => {
            let text = text.trim();
            let sign = usize::from(text.starts_with(['-', '+']));
            let digits = text[sign..].bytes().take_while(u8::is_ascii_digit).count();
            text[..sign + digits].parse().unwrap_or(0)
        }
        Item::Nil | Item::Bool(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rendered(template: &str) -> Result<String, String> {
        let variables =
            BTreeMap::from([("FIVE".to_owned(), "5".to_owned()), ("ODD".to_owned(), "a: b".to_owned())]);
        render(template, &variables).map_err(|error| format!("{}: {}", error.line, error.reason))
    }

    #[test]
    fn the_subset_is_evaluated() {
        for (template, text) in [
            ("c: <%= 1 + 2 %>", "c: 3"),
            ("c: <%= ENV[\"CONCURRENCY\"] || 5 %>", "c: 5"),
            ("c: <%= ENV['FIVE'].to_i * (2 + 1) - 1 %>", "c: 14"),
            ("c: <%= ENV.fetch('FIVE') %>", "c: 5"),
            ("c: <%= ENV.fetch('NONE', 7) %>", "c: 7"),
            ("c: <%= ENV.fetch('NONE') { 8 } %>", "c: 8"),
            ("c: <%= -7 / 2 %>", "c: -4"),
            ("a<%# gone %>b <%% c", "ab <% c"),
            ("u: <%= ENV['ODD'] %>", "u: \"a: b\""),
            ("u: \"<%= ENV['ODD'] %>\"", "u: \"a: b\""),
        ] {
            assert_eq!(rendered(template).as_deref(), Ok(text), "{template}");
        }
    }

    #[test]
    fn everything_else_is_an_error_with_its_line() {
        for (template, error) in [
            ("\n<% system('x') %>", "2: only <%= %> and <%# %> are understood, nothing is executed"),
            ("<%= `ls` %>", "1: expected a value, found '`'"),
            ("<%= File.read('x') %>", "1: File is not understood: only ENV, literals, || and arithmetic are"),
            ("<%= ENV.fetch('NONE') %>", "1: the environment variable NONE is not set"),
            ("<%= 1 / 0 %>", "1: the result is too large, or divided by zero"),
            ("<%= 9223372036854775807 + 1 %>", "1: the result is too large, or divided by zero"),
            ("<%= 'a' + 1 %>", "1: only whole numbers can be calculated with; use .to_i"),
            ("<%= 1", "1: there is no closing %>"),
        ] {
            assert_eq!(rendered(template).unwrap_err(), error, "{template}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "(<%=|%>|[-+*/|(){}'\"A-Z0-9. \\\\\n\u{e9}]|ENV|\\.fetch|\\.to_i){0,40}") {
            let _ = rendered(&text);
        }
    }
}
