//! From characters to tokens.

use std::iter::Peekable;
use std::str::Chars;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    Int(i64),
    /// A decimal number, as it was written.
    Decimal(String),
    Text(String),
    Symbol(String),
    Name(String),
    Or,
    /// One of `+ - * / ( ) [ ] , .`
    Mark(char),
}

pub(super) fn lex(code: &str) -> Result<Vec<Token>, String> {
    let mut tokens = Vec::new();
    let mut chars = code.chars().peekable();
    while let Some(char) = chars.next() {
        tokens.push(match char {
            _ if char.is_whitespace() => continue,
            '"' | '\'' => Token::Text(quoted(char, &mut chars)?),
            '|' if chars.next_if_eq(&'|').is_some() => Token::Or,
            '0'..='9' => number(char, &mut chars)?,
            ':' if chars.peek().copied().is_some_and(starts_name) => Token::Symbol(word(None, &mut chars)),
            '+' | '-' | '*' | '/' | '(' | ')' | '[' | ']' | ',' | '.' => Token::Mark(char),
            _ if starts_name(char) => Token::Name(word(Some(char), &mut chars)),
            _ => return Err(format!("unexpected {char:?}")),
        });
    }
    Ok(tokens)
}

fn starts_name(char: char) -> bool {
    char.is_ascii_alphabetic() || char == '_'
}

fn word(first: Option<char>, chars: &mut Peekable<Chars<'_>>) -> String {
    let mut word: String = first.into_iter().collect();
    while let Some(char) = chars.next_if(|char| char.is_ascii_alphanumeric() || *char == '_') {
        word.push(char);
    }
    word
}

fn quoted(quote: char, chars: &mut Peekable<Chars<'_>>) -> Result<String, String> {
    let mut text = String::new();
    while let Some(char) = chars.next() {
        match char {
            _ if char == quote => return Ok(text),
            '#' if quote == '"' && chars.peek() == Some(&'{') => {
                return Err("#{…} inside a string is not understood".into());
            }
            '\\' => match (quote, chars.next()) {
                (_, Some(char)) if char == quote || char == '\\' => text.push(char),
                ('\'', Some(char)) => text.extend(['\\', char]),
                ('"', Some('n')) => text.push('\n'),
                ('"', Some('t')) => text.push('\t'),
                ('"', Some('#')) => text.push('#'),
                (_, Some(char)) => return Err(format!("unknown escape \\{}", char.escape_default())),
                (_, None) => break,
            },
            _ => text.push(char),
        }
    }
    Err("a string is not closed".into())
}

fn number(first: char, chars: &mut Peekable<Chars<'_>>) -> Result<Token, String> {
    let mut text = String::from(first);
    let mut rest = chars.clone();
    while let Some(char) = rest.next_if(|char| char.is_ascii_digit() || *char == '_') {
        text.push(char);
    }
    let mut decimal = false;
    // Only a digit after the point makes a decimal number: `5.to_s` is a call.
    let mut ahead = rest.clone();
    if ahead.next() == Some('.') && ahead.peek().is_some_and(char::is_ascii_digit) {
        decimal = true;
        text.push('.');
        rest = ahead;
        while let Some(char) = rest.next_if(char::is_ascii_digit) {
            text.push(char);
        }
    }
    *chars = rest;
    if chars.peek().copied().is_some_and(starts_name) || text.ends_with('_') || text.contains("__") {
        return Err(format!("{text:?} does not start a decimal number"));
    }
    if text.len() > 1 && text.starts_with('0') && !text.starts_with("0.") {
        return Err(format!("{text:?} is octal in Ruby, write it without leading zeros"));
    }
    let text = text.replace('_', "");
    if decimal {
        return Ok(Token::Decimal(text));
    }
    text.parse().map(Token::Int).map_err(|_| format!("{text} is too large"))
}
