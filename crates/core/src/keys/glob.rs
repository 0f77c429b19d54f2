//! Patterns that `SCAN` matches keys against.

/// A pattern that matches `text` and nothing else: queue names and prefixes may hold any
/// character, those that are special in a pattern too.
///
/// ```
/// use cogworker_core::keys::escape_glob;
///
/// assert_eq!(escape_glob("a*b"), r"a\*b");
/// ```
pub fn escape_glob(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len());
    for character in text.chars() {
        if matches!(character, '*' | '?' | '[' | ']' | '\\') {
            pattern.push('\\');
        }
        pattern.push(character);
    }
    pattern
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_special_in_a_pattern_is_escaped() {
        assert_eq!(escape_glob(r"a*b?c[d]e\f"), r"a\*b\?c\[d\]e\\f");
        assert_eq!(escape_glob("{cog}:a-b^c"), "{cog}:a-b^c");
        assert_eq!(escape_glob("größe"), "größe");
    }
}
