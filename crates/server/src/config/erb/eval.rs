//! From an expression to its value.

use super::parser::Expr;
use super::{EnvVars, Value};

pub(super) fn eval(expr: &Expr, env: &EnvVars) -> Result<Value, String> {
    Ok(match expr {
        Expr::Literal(value) => value.clone(),
        Expr::Env(name) => variable(name, env)?.map_or(Value::Nil, Value::Text),
        Expr::Fetch(name, default) => match (variable(name, env)?, default) {
            (Some(text), _) => Value::Text(text),
            (None, Some(default)) => eval(default, env)?,
            (None, None) => return Err(format!("the variable {name} is not set")),
        },
        Expr::Or(left, right) => match eval(left, env)? {
            Value::Nil | Value::Bool(false) => eval(right, env)?,
            value => value,
        },
        Expr::Negate(inner) => {
            let number = whole(&eval(inner, env)?)?;
            Value::Int(number.checked_neg().ok_or("the result is too large")?)
        }
        Expr::Arithmetic(operator, left, right) => {
            Value::Int(arithmetic(*operator, whole(&eval(left, env)?)?, whole(&eval(right, env)?)?)?)
        }
    })
}

/// As in Ruby, a variable that is set but empty is a string, not nil.
fn variable(name: &str, env: &EnvVars) -> Result<Option<String>, String> {
    match env.raw(name) {
        None => Ok(None),
        Some(value) => match value.to_str() {
            Some(text) => Ok(Some(text.to_owned())),
            None => Err(format!("the variable {name} is not unicode text")),
        },
    }
}

/// Values are not shown, as they may come from the environment.
fn whole(value: &Value) -> Result<i64, String> {
    let found = match value {
        Value::Int(number) => return Ok(*number),
        Value::Nil => "nil",
        Value::Bool(_) => "true or false",
        Value::Text(_) => "text",
    };
    Err(format!("arithmetic needs whole numbers, found {found}"))
}

fn arithmetic(operator: char, left: i64, right: i64) -> Result<i64, String> {
    let result = match operator {
        '+' => left.checked_add(right),
        '-' => left.checked_sub(right),
        '*' => left.checked_mul(right),
        _ if right == 0 => return Err("division by zero".into()),
        // Ruby rounds towards minus infinity, Rust towards zero.
        _ => left.checked_div(right).and_then(|quotient| {
            let inexact = left.checked_rem(right) != Some(0);
            if inexact && (left < 0) != (right < 0) { quotient.checked_sub(1) } else { Some(quotient) }
        }),
    };
    result.ok_or_else(|| "the result is too large".into())
}
