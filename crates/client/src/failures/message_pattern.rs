//! What messages of one kind have in common.

/// A longer message says no more about its kind.
const LIMIT: usize = 300;
/// From so many hexadecimal digits on a word is an id.
const SHORTEST_ID: usize = 12;

/// A message without what differs between messages of one kind: numbers become `N`, quoted texts and ids `…`.
///
/// ```
/// use cogworker_client::failures::message_pattern;
///
/// assert_eq!(message_pattern("429: retry after 240 s for 'INV-7'"), "N: retry after N s for '…'");
/// assert_eq!(message_pattern("no user 5c1f0a9be27d4c5fa03e91d7"), "no user …");
/// ```
pub fn message_pattern(message: &str) -> String {
    let short: String = message.chars().take(LIMIT).collect();
    let mut pattern = String::with_capacity(short.len());
    let mut rest = short.as_str();
    while let Some(next) = rest.chars().next() {
        let taken = match next {
            '"' | '\'' | '`' => quoted(rest, next, pattern.chars().next_back()),
            next if is_part_of_id(next) && !pattern.ends_with(is_word) => id(rest),
            _ => None,
        };
        if let Some(length) = taken {
            match next {
                '"' | '\'' | '`' => pattern.extend([next, '…', next]),
                _ => pattern.push('…'),
            }
            rest = &rest[length..];
        } else if next.is_ascii_digit() {
            pattern.push('N');
            rest = rest.trim_start_matches(|c: char| c.is_ascii_digit());
            // A fraction belongs to its number.
            if let Some(fraction) =
                rest.strip_prefix('.').filter(|f| f.starts_with(|c: char| c.is_ascii_digit()))
            {
                rest = fraction.trim_start_matches(|c: char| c.is_ascii_digit());
            }
        } else {
            pattern.push(next);
            rest = &rest[next.len_utf8()..];
        }
    }
    pattern
}

/// The length of a quoted text; an apostrophe inside a word begins none.
fn quoted(text: &str, quote: char, before: Option<char>) -> Option<usize> {
    if before.is_some_and(is_word) {
        return None;
    }
    let inside = &text[1..];
    let end = inside.find(quote)?;
    (end > 0).then_some(end + 2)
}

/// The length of an id: a long word of hexadecimal digits with a figure in it, dashes allowed.
fn id(text: &str) -> Option<usize> {
    let length = text.find(|c| !is_part_of_id(c)).unwrap_or(text.len());
    let word = &text[..length];
    let ends_there = !text[length..].starts_with(is_word);
    let has_both =
        word.contains(|c: char| c.is_ascii_digit()) && word.contains(|c: char| c.is_ascii_alphabetic());
    (ends_there && has_both && length >= SHORTEST_ID).then_some(length)
}

fn is_part_of_id(c: char) -> bool {
    c.is_ascii_hexdigit() || c == '-'
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_one_kind_become_one_pattern() {
        for (message, pattern) in [
            ("boom", "boom"),
            ("", ""),
            ("took 30.5 s, 2nd try", "took N s, Nnd try"),
            ("can't open \"a b.txt\"", "can't open \"…\""),
            ("undefined method `x' for nil", "undefined method `x' for nil"),
            ("job 0190c1a2-7b3e-7c44-9d55-aa0011223344 is gone", "job … is gone"),
            ("10.0.0.1:6379 refused", "N.N:N refused"),
            ("é 12 é", "é N é"),
            ("unclosed 'quote", "unclosed 'quote"),
        ] {
            assert_eq!(message_pattern(message), pattern);
        }
    }

    #[test]
    fn a_long_message_is_cut() {
        assert_eq!(message_pattern(&"é".repeat(1000)).chars().count(), LIMIT);
    }
}
