//! Numbers of things, for messages.

use std::fmt::Display;

/// "1 job", "3 jobs".
pub(crate) fn counted(count: impl Display, one: &str, many: &str) -> String {
    let count = count.to_string();
    let word = if count == "1" { one } else { many };
    format!("{count} {word}")
}

/// "1 job", "3 jobs".
pub(crate) fn jobs(count: impl Display) -> String {
    counted(count, "job", "jobs")
}

#[cfg(test)]
mod tests {
    use super::jobs;

    #[test]
    fn one_is_one_and_none_are_many() {
        assert_eq!([0, 1, 2, 11].map(jobs), ["0 jobs", "1 job", "2 jobs", "11 jobs"]);
    }
}
