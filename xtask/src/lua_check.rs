//! `cargo xtask lua-check`: each Redis script is documented, wrapped, tested, and safe to call.

use std::path::Path;

use crate::lua_script::LuaScript;
use crate::step::{self, TaskError};
use crate::workspace::{self, TextFile};

pub(crate) fn run() -> Result<(), TaskError> {
    step::announce("lua-check");
    let root = workspace::root();
    let mut scripts = workspace::files(&root, "crates/core/lua", "lua")?;
    // What scripts share is no script itself.
    scripts.retain(|file| !file.path.components().any(|part| part.as_os_str() == "parts"));
    let surroundings = Surroundings::read(&root)?;
    let findings = scripts.iter().flat_map(|script| surroundings.findings(script)).collect();
    step::conclude("lua-check", findings)?;
    println!("{} scripts", scripts.len());
    Ok(())
}

/// What a script is checked against.
struct Surroundings {
    /// The text of `core::scripts`.
    wrappers: String,
    /// The text of every test.
    tests: String,
}

impl Surroundings {
    fn read(root: &Path) -> Result<Self, TaskError> {
        let mut wrappers = workspace::files(root, "crates/core/src/scripts", "rs")?;
        wrappers.extend(workspace::file(root, "crates/core/src/scripts.rs")?);
        let sources = workspace::files(root, "crates", "rs")?;
        Ok(Self {
            wrappers: wrappers.into_iter().map(|file| file.text).collect(),
            tests: sources.iter().map(test_part).collect(),
        })
    }

    fn findings(&self, file: &TextFile) -> Vec<String> {
        let script = LuaScript::parse(&file.text);
        let name = file.path.file_stem().unwrap_or_default().to_string_lossy();
        let mut findings = header_findings(&script);
        findings.extend(code_findings(&script));
        if !["(", "<"].iter().any(|next| self.wrappers.contains(&format!("fn {name}{next}"))) {
            findings.push(format!("no function `{name}` in core::scripts wraps it"));
        }
        if !workspace::has_word(&self.tests, &name) {
            findings.push("no test names it".to_owned());
        }
        findings.into_iter().map(|finding| format!("{}: {finding}", file.path.display())).collect()
    }
}

fn header_findings(script: &LuaScript) -> Vec<String> {
    const LABELS: [(&str, &[&str]); 4] = [
        ("KEYS (each with its type)", &["KEYS"]),
        ("ARGV (each with its unit)", &["ARGV"]),
        ("Result", &["Result", "Returns"]),
        ("Repeat (what a second run does)", &["Repeat", "On repeat"]),
    ];
    let missing = LABELS.iter().filter(|(_, labels)| !script.has_label(labels));
    let mut findings: Vec<_> = missing.map(|(what, _)| format!("its header lacks: {what}")).collect();
    let is_label =
        |line: &String| LABELS.iter().any(|(_, labels)| labels.iter().any(|label| line.starts_with(label)));
    if script.header.iter().find(|line| !line.is_empty()).is_none_or(is_label) {
        findings.push("its header does not begin with its purpose".to_owned());
    }
    findings
}

fn code_findings(script: &LuaScript) -> Vec<String> {
    let mut findings = Vec::new();
    // A job must never be decoded and encoded again: numbers, empty arrays and key order would change.
    if script.code.contains("cjson.encode") {
        findings.push("it uses cjson.encode".to_owned());
    }
    let dense: String = script.code.chars().filter(|c| !c.is_whitespace()).collect();
    if !["call=ARGV[1]", "call=tonumber(ARGV[1])"].iter().any(|start| dense.contains(start)) {
        findings.push("it does not take the call number: local call = tonumber(ARGV[1])".to_owned());
    }
    let returned = script.returned_tables();
    if returned.is_empty() {
        findings.push("it never returns { call, … }".to_owned());
    }
    for first in returned.iter().filter(|first| *first != "call") {
        findings.push(format!("it returns a table that begins with `{first}` and not with `call`"));
    }
    findings
}

/// The whole of a file in a `tests` folder or called `tests.rs`; of any other, what follows `#[cfg(test)]`.
fn test_part(file: &TextFile) -> &str {
    let is_test =
        file.path.components().any(|part| part.as_os_str() == "tests") || file.path.ends_with("tests.rs");
    let start = if is_test { Some(0) } else { file.text.find("#[cfg(test)]") };
    start.map_or("", |start| &file.text[start..])
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "-- Moves a job.\n-- KEYS[1]  list: the queue\n-- ARGV[1]  the call number\n\
                        -- Result: { call, moved }\n-- Repeat: moves another.\n\
                        local call = tonumber(ARGV[1])\nreturn { call, 1 }\n";

    fn findings(text: &str) -> Vec<String> {
        let surroundings = Surroundings {
            wrappers: "pub async fn move_job(".into(),
            tests: "fn it() { move_job(1) }".into(),
        };
        surroundings.findings(&TextFile { path: "lua/move_job.lua".into(), text: text.into() })
    }

    fn only_finding(text: &str) -> String {
        let mut found = findings(text);
        assert_eq!(found.len(), 1, "{found:?}");
        found.remove(0)
    }

    #[test]
    fn a_good_script_passes() {
        assert_eq!(findings(GOOD), [""; 0]);
    }

    #[test]
    fn each_missing_line_of_the_header_is_named() {
        for (label, named) in
            [("KEYS", "KEYS"), ("ARGV[1]  ", "ARGV"), ("Result", "Result"), ("Repeat", "Repeat")]
        {
            let text = GOOD.replacen(&format!("-- {label}"), "-- x", 1);
            assert!(only_finding(&text).contains(named), "{label}");
        }
        assert!(only_finding(&GOOD.replace("-- Moves a job.\n", "")).contains("purpose"));
    }

    #[test]
    fn an_encoded_job_is_refused_but_a_comment_about_it_is_not() {
        let encoding = GOOD.replace("return", "local j = cjson.encode({})\nreturn");
        assert!(only_finding(&encoding).contains("cjson.encode"));
        assert_eq!(findings(&GOOD.replace("return", "-- no cjson.encode here\nreturn")), [""; 0]);
    }

    #[test]
    fn a_result_without_the_call_number_is_refused() {
        assert!(only_finding(&GOOD.replace("{ call, 1 }\n", "{ call, 1 }\nreturn { 1 }")).contains("`1`"));
        assert!(only_finding(&GOOD.replace("return { call, 1 }", "return 1")).contains("never returns"));
        assert!(only_finding(&GOOD.replace("tonumber(ARGV[1])", "7")).contains("call number"));
    }

    #[test]
    fn a_script_without_wrapper_or_test_is_named() {
        let surroundings = Surroundings { wrappers: "fn move_jobs(".into(), tests: "move_jobs".into() };
        let found = surroundings.findings(&TextFile { path: "lua/move_job.lua".into(), text: GOOD.into() });
        assert_eq!(found.len(), 2, "{found:?}");
    }

    #[test]
    fn only_the_tests_of_a_source_file_count_as_tests() {
        let file = |path: &str, text: &str| TextFile { path: path.into(), text: text.into() };
        assert_eq!(test_part(&file("crates/a/src/b.rs", "fn move_job() {}")), "");
        assert_eq!(test_part(&file("crates/a/src/b.rs", "x #[cfg(test)] y")), "#[cfg(test)] y");
        assert_eq!(test_part(&file("crates/a/tests/b.rs", "x")), "x");
    }
}
