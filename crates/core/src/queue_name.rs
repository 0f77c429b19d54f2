//! Which names a queue may have.

/// What a message says of a name that is none.
pub const EXPECTED: &str =
    "a queue name of 1 to 255 bytes without commas, control characters or spaces at its ends";

/// How long a name may be, in bytes.
pub const LONGEST: usize = 255;

/// Whether workers can be told to read a queue of this name. The comma parts names from weights wherever queues are
/// written as text.
pub fn is_queue_name(name: &str) -> bool {
    (1..=LONGEST).contains(&name.len())
        && !name.contains(',')
        && !name.chars().any(char::is_control)
        && name.trim() == name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_flags_and_files_can_name_is_a_queue_name() {
        let longest = "x".repeat(255);
        for name in ["default", "billing:invoices", "a b", "ä\"\\<>%/{}", "3", &longest] {
            assert!(is_queue_name(name), "{name}");
        }
        let too_long = "x".repeat(256);
        for name in ["", " ", "a,b", "a\nb", "\u{7f}", " a", "a\t", &too_long] {
            assert!(!is_queue_name(name), "{name:?}");
        }
    }
}
