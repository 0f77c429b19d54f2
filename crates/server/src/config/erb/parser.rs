//! From tokens to an expression.

use std::iter::Peekable;
use std::vec::IntoIter;

use super::Value;
use super::lexer::Token;

/// Parentheses, default values and signs nest this deep at most.
const MAX_DEPTH: usize = 32;

const SUBSET: &str = "only literals, ENV[\"X\"], ENV.fetch(\"X\"), ENV.fetch(\"X\", default), ||, \
                      + - * / and parentheses are understood";

#[derive(Debug, PartialEq)]
pub(super) enum Expr {
    Literal(Value),
    /// `ENV["X"]`
    Env(String),
    /// `ENV.fetch("X")`, with its default.
    Fetch(String, Option<Box<Expr>>),
    Or(Box<Expr>, Box<Expr>),
    Negate(Box<Expr>),
    /// With one of `+ - * /`.
    Arithmetic(char, Box<Expr>, Box<Expr>),
}

pub(super) fn parse(tokens: Vec<Token>) -> Result<Expr, String> {
    let mut parser = Parser { tokens: tokens.into_iter().peekable(), depth: 0 };
    let expr = parser.either()?;
    match parser.tokens.next() {
        None => Ok(expr),
        Some(token) => Err(unexpected(&token)),
    }
}

struct Parser {
    tokens: Peekable<IntoIter<Token>>,
    depth: usize,
}

impl Parser {
    /// `a || b || c`
    fn either(&mut self) -> Result<Expr, String> {
        let mut expr = self.sum()?;
        while self.tokens.next_if_eq(&Token::Or).is_some() {
            expr = Expr::Or(Box::new(expr), Box::new(self.sum()?));
        }
        Ok(expr)
    }

    fn sum(&mut self) -> Result<Expr, String> {
        let mut expr = self.product()?;
        while let Some(operator) = self.operator(&['+', '-']) {
            expr = Expr::Arithmetic(operator, Box::new(expr), Box::new(self.product()?));
        }
        Ok(expr)
    }

    fn product(&mut self) -> Result<Expr, String> {
        let mut expr = self.sign()?;
        while let Some(operator) = self.operator(&['*', '/']) {
            expr = Expr::Arithmetic(operator, Box::new(expr), Box::new(self.sign()?));
        }
        Ok(expr)
    }

    fn sign(&mut self) -> Result<Expr, String> {
        if self.operator(&['-']).is_none() {
            return self.primary();
        }
        if let Some(Token::Decimal(text)) = self.tokens.next_if(|token| matches!(token, Token::Decimal(_))) {
            return Ok(Expr::Literal(Value::Text(format!("-{text}"))));
        }
        self.nested(|parser| Ok(Expr::Negate(Box::new(parser.sign()?))))
    }

    fn primary(&mut self) -> Result<Expr, String> {
        let Some(token) = self.tokens.next() else {
            return Err("the expression ends too early".into());
        };
        Ok(match token {
            Token::Int(number) => Expr::Literal(Value::Int(number)),
            Token::Decimal(text) | Token::Text(text) | Token::Symbol(text) => {
                Expr::Literal(Value::Text(text))
            }
            Token::Mark('(') => {
                let expr = self.nested(Self::either)?;
                self.expect(')')?;
                expr
            }
            Token::Name(name) => match name.as_str() {
                "nil" => Expr::Literal(Value::Nil),
                "true" => Expr::Literal(Value::Bool(true)),
                "false" => Expr::Literal(Value::Bool(false)),
                "ENV" => self.env()?,
                _ => return Err(format!("unknown name {name}; {SUBSET}")),
            },
            _ => return Err(unexpected(&token)),
        })
    }

    /// What follows `ENV`.
    fn env(&mut self) -> Result<Expr, String> {
        if self.operator(&['[']).is_some() {
            let name = self.variable()?;
            self.expect(']')?;
            return Ok(Expr::Env(name));
        }
        self.expect('.')?;
        match self.tokens.next() {
            Some(Token::Name(method)) if method == "fetch" => {}
            _ => return Err(SUBSET.into()),
        }
        self.expect('(')?;
        let name = self.variable()?;
        let default = match self.operator(&[',']) {
            Some(_) => Some(Box::new(self.nested(Self::either)?)),
            None => None,
        };
        self.expect(')')?;
        Ok(Expr::Fetch(name, default))
    }

    fn variable(&mut self) -> Result<String, String> {
        match self.tokens.next() {
            Some(Token::Text(name)) => Ok(name),
            _ => Err("the name of a variable must be a string".into()),
        }
    }

    fn nested(&mut self, parse: impl FnOnce(&mut Self) -> Result<Expr, String>) -> Result<Expr, String> {
        if self.depth == MAX_DEPTH {
            return Err(format!("nested more than {MAX_DEPTH} deep"));
        }
        self.depth += 1;
        let expr = parse(self);
        self.depth -= 1;
        expr
    }

    fn operator(&mut self, any_of: &[char]) -> Option<char> {
        match self.tokens.next_if(|token| matches!(token, Token::Mark(mark) if any_of.contains(mark))) {
            Some(Token::Mark(mark)) => Some(mark),
            _ => None,
        }
    }

    fn expect(&mut self, mark: char) -> Result<(), String> {
        match self.tokens.next() {
            Some(Token::Mark(found)) if found == mark => Ok(()),
            Some(token) => Err(format!("expected {mark}, found {}", shown(&token))),
            None => Err(format!("expected {mark} before the end")),
        }
    }
}

fn unexpected(token: &Token) -> String {
    format!("unexpected {}; {SUBSET}", shown(token))
}

fn shown(token: &Token) -> String {
    match token {
        Token::Int(number) => number.to_string(),
        Token::Decimal(text) | Token::Name(text) => text.clone(),
        Token::Text(_) => "a string".into(),
        Token::Symbol(text) => format!(":{text}"),
        Token::Or => "||".into(),
        Token::Mark(mark) => mark.to_string(),
    }
}
