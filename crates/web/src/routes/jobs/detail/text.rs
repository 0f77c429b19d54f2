//! A job's bytes and args, as text.

use std::collections::BTreeMap;

use cogworker_core::raw_job::RawJob;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::Ui;

/// More of a text is a download away.
pub(super) const LONGEST_TEXT: usize = 64 << 10;

pub(super) fn pretty(json: &str) -> String {
    let value = (json.len() <= LONGEST_TEXT).then(|| serde_json::from_str::<&RawValue>(json).ok());
    match value.flatten() {
        Some(_) => indented(json),
        None => json.to_owned(),
    }
}

/// JSON with line breaks. Its tokens stay as they are: a number is not rounded, and no key moves.
fn indented(json: &str) -> String {
    let mut text = String::with_capacity(json.len() * 2);
    let (mut depth, mut in_text, mut escaped) = (0usize, false, false);
    let mut chars = json.chars().peekable();
    let line = |text: &mut String, depth: usize| {
        text.push('\n');
        text.extend(std::iter::repeat_n("  ", depth.min(40)));
    };
    while let Some(c) = chars.next() {
        if in_text {
            text.push(c);
            in_text = escaped || c != '"';
            escaped = c == '\\' && !escaped;
            continue;
        }
        match c {
            '"' => {
                in_text = true;
                text.push(c);
            }
            '[' | '{' => {
                text.push(c);
                while chars.next_if(|next| next.is_ascii_whitespace()).is_some() {}
                if let Some(end) = chars.next_if(|next| matches!(next, ']' | '}')) {
                    text.push(end);
                } else {
                    depth += 1;
                    line(&mut text, depth);
                }
            }
            ']' | '}' => {
                depth = depth.saturating_sub(1);
                line(&mut text, depth);
                text.push(c);
            }
            ',' => {
                text.push(c);
                line(&mut text, depth);
            }
            ':' => text.push_str(": "),
            c if c.is_ascii_whitespace() => {}
            c => text.push(c),
        }
    }
    text
}

/// A job as it is stored, with its args as they may be shown. A field that occurs twice is shown as it counts then.
pub(in super::super) fn shown_raw(ui: &Ui, job: Option<&RawJob<'_>>, raw: &[u8]) -> String {
    let Some(job) = job else { return ui.stray(raw) };
    if !ui.hides_args() {
        return String::from_utf8_lossy(raw).into_owned();
    }
    let shown = ui.args(job.class(), job.args_json());
    let mut fields = serde_json::from_slice::<BTreeMap<String, &RawValue>>(raw).unwrap_or_default();
    fields.remove("args");
    let fields = fields.into_iter().map(|(name, value)| format!("{}:{}", Value::from(name), value.get()));
    let fields: Vec<String> = fields.chain([format!("\"args\":{shown}")]).collect();
    format!("{{{}}}", fields.join(","))
}

pub(super) fn cut(text: String) -> String {
    if text.len() <= LONGEST_TEXT {
        return text;
    }
    let end = (0..=LONGEST_TEXT).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    format!("{}…", &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_indented_and_otherwise_left_as_it_is() {
        let json = r#"[1.0, 12345678901234567890, {"b":[], "a":{ },"x":"a, {\"b\": [1]}\\"}]"#;
        let expected = "[\n  1.0,\n  12345678901234567890,\n  {\n    \"b\": [],\n    \"a\": {},\n    \"x\": \"a, {\\\"b\\\": [1]}\\\\\"\n  }\n]";
        assert_eq!(pretty(json), expected);
        assert_eq!(pretty("not json"), "not json");
    }

    #[test]
    fn a_long_text_is_cut_between_characters() {
        let text = cut("é".repeat(LONGEST_TEXT));
        assert!(text.len() <= LONGEST_TEXT + 4 && text.ends_with('…'));
    }
}
