//! Digests that Ruby and Rust processes must agree on byte for byte (UNIQ-03, PENT-02).

use sha1::{Digest, Sha1};

/// The digest in a unique lock's key, for the args as stored.
///
/// ```
/// use cogworker_core::digest::unique_digest;
///
/// let digest = unique_digest("GreetingJob", "default", r#"["world"]"#);
/// assert_eq!(digest, "84566ef6873964f1385859f3b70785e53e69175d");
/// ```
pub fn unique_digest(class: &str, queue: &str, args_json: &str) -> String {
    sha1_hex(&[class, "|", queue, "|", &ruby_json(args_json)])
}

/// The id of a periodic entry.
pub fn periodic_id(cron: &str, class: &str, args_json: &str) -> String {
    sha1_hex(&[cron, "|", class, "|", &ruby_json(args_json)])
}

fn sha1_hex(parts: &[&str]) -> String {
    let mut sha = Sha1::new();
    for part in parts {
        sha.update(part.as_bytes());
    }
    sha.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// JSON as Ruby's generator writes it after reading it: no spaces between tokens, and floats in
/// Ruby's spelling (`1e20` is `1.0e+20`, `100.0` stays). Texts keep their bytes but for escapes
/// that Ruby would not write.
pub fn ruby_json(json: &str) -> String {
    let bytes = json.as_bytes();
    let mut written = String::with_capacity(json.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b' ' | b'\t' | b'\n' | b'\r' => at += 1,
            b'"' => {
                let end = string_end(bytes, at);
                written.push_str(&ruby_string(&json[at..end]));
                at = end;
            }
            b'-' | b'0'..=b'9' => {
                let end = bytes[at..]
                    .iter()
                    .position(|byte| !matches!(byte, b'-' | b'+' | b'.' | b'0'..=b'9' | b'e' | b'E'))
                    .map_or(bytes.len(), |length| at + length);
                written.push_str(&ruby_number(&json[at..end]));
                at = end;
            }
            _ => {
                // Everything else outside a text is ASCII: brackets, commas, words.
                written.push(char::from(byte));
                at += 1;
            }
        }
    }
    written
}

fn string_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// A text token as Ruby writes it: `/` and non-ASCII raw, control characters as `\b \f \n \r \t`
/// or `\u00XX`, which is how serde_json writes them too.
fn ruby_string(token: &str) -> String {
    if !token.contains('\\') {
        return token.to_owned();
    }
    match serde_json::from_str::<String>(token) {
        Ok(text) => serde_json::Value::from(text).to_string(),
        // A lone surrogate has no text form; both sides keep it as it is.
        Err(_) => token.to_owned(),
    }
}

/// An integer as it is; a float as Ruby's `Float#to_s`: scientific from 1e15 up and below 1e-4,
/// but for fractions below 1e16.
fn ruby_number(token: &str) -> String {
    if !token.contains(['.', 'e', 'E']) {
        return token.to_owned();
    }
    let Ok(number) = token.parse::<f64>() else { return token.to_owned() };
    if !number.is_finite() {
        return token.to_owned();
    }
    let size = number.abs();
    // Where two shortest spellings read back as the same number, serde_json picks the one Ruby picks.
    let shortest = serde_json::Value::from(number).to_string();
    let is_plain =
        (1e-4..SCIENTIFIC_FROM).contains(&size) || (size < 1e16 && size.fract() != 0.0 && size >= 1e-4);
    if size != 0.0 && !is_plain {
        let text = if shortest.contains('e') { shortest } else { format!("{number:e}") };
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let point = if mantissa.contains('.') { "" } else { ".0" };
        let exponent: i32 = exponent.parse().unwrap_or(0);
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{mantissa}{point}e{sign}{:02}", exponent.abs());
    }
    shortest
}

/// The gem's generator writes whole numbers from here up as `1.0e+15`; those with a fraction stay plain
/// up to 1e16.
const SCIENTIFIC_FROM: f64 = 1e15;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_spelled_as_ruby_spells_them() {
        for (ours, ruby) in [
            ("1e20", "1.0e+20"),
            ("1e-5", "1.0e-05"),
            ("100.0", "100.0"),
            ("1000000000000000.0", "1.0e+15"),
            ("123456789.125", "123456789.125"),
            ("0.0001", "0.0001"),
            ("-0.0", "-0.0"),
            ("1.5e300", "1.5e+300"),
            ("1469303156935435.2", "1469303156935435.2"),
            ("1e16", "1.0e+16"),
            ("12", "12"),
        ] {
            assert_eq!(ruby_json(ours), ruby, "{ours}");
        }
    }

    #[test]
    fn texts_are_not_touched_by_the_numbers_in_them() {
        assert_eq!(ruby_json(r#"[ "1e5 é\/\u0001" , {"a" : 1e5} ]"#), r#"["1e5 é/\u0001",{"a":100000.0}]"#);
    }
}
