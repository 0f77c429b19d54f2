/// The version of a package in this workspace's `Cargo.lock`.
#[must_use]
pub fn locked_version(package: &str) -> &'static str {
    find(include_str!("../../Cargo.lock"), package).unwrap_or("unknown")
}

fn find<'lock>(lock: &'lock str, package: &str) -> Option<&'lock str> {
    let name = format!("name = \"{package}\"");
    let mut lines = lock.lines().skip_while(|line| *line != name);
    lines.nth(1)?.strip_prefix("version = \"")?.strip_suffix('"')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_stands_below_the_name() {
        let lock = "[[package]]\nname = \"ab\"\nversion = \"1.0.0\"\n\n[[package]]\nname = \"a\"\nversion = \"2.1.0\"\n";
        assert_eq!(find(lock, "a"), Some("2.1.0"));
        assert_eq!(find(lock, "b"), None);
    }
}
