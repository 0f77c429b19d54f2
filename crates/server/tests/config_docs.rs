//! The page on configuration against the table of settings.

use cogworker_server::cli;
use cogworker_server::config::Key;

const PAGE: &str = include_str!("../../../docs/configuration.md");

#[test]
fn the_page_has_a_row_for_each_key_with_its_variable_and_flag() {
    for key in Key::ALL {
        let start = format!("| `{key}` |");
        let row =
            PAGE.lines().find(|line| line.starts_with(&start)).unwrap_or_else(|| panic!("no row {start}"));
        for name in key.env_var().into_iter().chain(key.flag()) {
            assert!(row.contains(&format!("`{name}`")), "{name} is missing in {row}");
        }
    }
}

#[test]
fn the_page_names_each_flag() {
    for arg in cli::command().get_arguments() {
        if let Some(long) = arg.get_long() {
            assert!(PAGE.contains(&format!("`--{long}")), "--{long} is missing");
        }
        if let Some(short) = arg.get_short() {
            assert!(PAGE.contains(&format!("`-{short}`")), "-{short} is missing");
        }
    }
}

#[test]
fn the_page_tells_each_default() {
    let loaded = cli::load(["worker"], &Default::default(), ".".as_ref()).unwrap();
    for line in loaded.report().lines() {
        let (key, rest) = line.split_once(": ").unwrap();
        let value = rest.split("  # ").next().unwrap().trim().replace(['"', '[', ']'], "");
        let row = PAGE.lines().find(|row| row.starts_with(&format!("| `{key}` |"))).unwrap();
        let cell = row.split('|').nth(3).unwrap();
        let documented = cell.trim().replace(['`', '[', ']'], "");
        let documented = match documented.as_str() {
            "none" | "standard output" => "~",
            other => other,
        };
        assert_eq!(documented, value, "{key}");
    }
}
