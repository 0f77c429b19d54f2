//! A Redis script as the checks see it: its header, and its code without comments and texts.

/// The parts of a script.
pub(crate) struct LuaScript {
    /// The lines of the comment at the top, without their dashes.
    pub(crate) header: Vec<String>,
    /// The code; comments are gone and string literals are empty, so that only code is found in it.
    pub(crate) code: String,
}

impl LuaScript {
    pub(crate) fn parse(text: &str) -> Self {
        let header = text
            .lines()
            .map_while(|line| line.trim_start().strip_prefix("--"))
            .map(|line| line.trim_start_matches('-').trim().to_owned())
            .collect();
        Self { header, code: code_of(text) }
    }

    /// Whether a line of the header begins with one of these labels, in any case.
    pub(crate) fn has_label(&self, labels: &[&str]) -> bool {
        self.header.iter().any(|line| {
            let line = line.to_lowercase();
            labels.iter().any(|label| line.starts_with(&label.to_lowercase()))
        })
    }

    /// The first expression of every table that is returned: `call` for `return { call, 1 }`.
    pub(crate) fn returned_tables(&self) -> Vec<String> {
        let mut firsts = Vec::new();
        for (start, word) in self.code.match_indices("return") {
            let is_word = !self.code[..start].ends_with(is_name_character);
            let rest = &self.code[start + word.len()..];
            if let Some(fields) = rest.trim_start().strip_prefix('{').filter(|_| is_word) {
                let first = fields.split([',', '}', ';']).next().unwrap_or_default();
                firsts.push(first.trim().to_owned());
            }
        }
        firsts
    }
}

fn is_name_character(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn code_of(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        if let Some(comment) = rest.strip_prefix("--") {
            rest = match after_long_bracket(comment) {
                Some(after) => after,
                None => comment.find('\n').map_or("", |end| &comment[end..]),
            };
            // Keeps the words on both sides apart.
            code.push(' ');
        } else if let Some(after) = after_long_bracket(rest) {
            code.push_str("\"\"");
            rest = after;
        } else if next == '"' || next == '\'' {
            code.push_str("\"\"");
            rest = after_string(&rest[1..], next);
        } else {
            code.push(next);
            rest = &rest[next.len_utf8()..];
        }
    }
    code
}

/// What follows a quoted string, given what follows its opening quote.
fn after_string(text: &str, quote: char) -> &str {
    let mut escaped = false;
    for (position, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return &text[position + 1..],
            _ => {}
        }
    }
    ""
}

/// What follows `[[…]]` or `[==[…]==]`, when the text begins with one.
fn after_long_bracket(text: &str) -> Option<&str> {
    let inner = text.strip_prefix('[')?;
    let level = inner.len() - inner.trim_start_matches('=').len();
    let body = inner[level..].strip_prefix('[')?;
    let close = format!("]{}]", "=".repeat(level));
    Some(body.find(&close).map_or("", |end| &body[end + close.len()..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_texts_are_no_code() {
        let code = LuaScript::parse("a -- b\nc --[[ d\n]] e 'f\\'g' \"h\" [==[ i ]] ]==] j[k[1]]").code;
        assert_eq!(
            code.split_whitespace().collect::<Vec<_>>(),
            ["a", "c", "e", "\"\"", "\"\"", "\"\"", "j[k[1]]"]
        );
    }

    #[test]
    fn the_header_ends_at_the_first_line_of_code() {
        let script = LuaScript::parse("-- Moves.\n--\n-- KEYS[1]  list\nlocal a = 1\n-- ARGV[1] no header\n");
        assert_eq!(script.header, ["Moves.", "", "KEYS[1]  list"]);
        assert!(script.has_label(&["keys"]) && !script.has_label(&["ARGV"]));
    }

    #[test]
    fn every_returned_table_is_found_with_its_first_value() {
        let script =
            LuaScript::parse("if x then return {call} end\nreturn {\n  n, 1 }\nreturn call\nreturned {a}");
        assert_eq!(script.returned_tables(), ["call", "n"]);
    }
}
