//! Rules that hold for every Lua script.

use std::fs;
use std::path::Path;

use crate::Outcome;
use crate::shell::root;

pub(crate) fn run() -> Outcome {
    let scripts = root().join("crates/core/lua");
    let wrappers = read_all(&root().join("crates/core/src"), "rs")?;
    let tests = read_all(&root().join("crates"), "rs")?;
    let mut faults = Vec::new();
    let mut names: Vec<_> = fs::read_dir(scripts)?.flatten().map(|entry| entry.path()).collect();
    names.sort();
    for path in &names {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let text = fs::read_to_string(path)?;
        faults.extend(check(&name, &text).into_iter().map(|fault| format!("{name}.lua: {fault}")));
        let wrapper = if name == "write_status" {
            "pub async fn write(".to_owned()
        } else {
            format!("pub async fn {name}")
        };
        if !wrappers.iter().any(|(_, source)| source.contains(&wrapper)) {
            faults.push(format!("{name}.lua: there is no function {name} in crates/core/src"));
        }
        let is_test = |file: &str| file.contains("/tests/");
        let call = if name == "write_status" { "status".to_owned() } else { name.clone() };
        if !tests.iter().any(|(file, source)| is_test(file) && source.contains(&call)) {
            faults.push(format!("{name}.lua: no test names it"));
        }
    }
    if faults.is_empty() {
        println!("lua-check: {} scripts are as they should be", names.len());
        Ok(())
    } else {
        Err(format!("pass lua-check:\n  {}", faults.join("\n  ")).into())
    }
}

/// What a script's text alone tells.
fn check(name: &str, text: &str) -> Vec<String> {
    let mut faults = Vec::new();
    let header: Vec<&str> = text.lines().take_while(|line| line.starts_with("--")).collect();
    let header = header.join("\n");
    for part in ["-- KEYS[1", "-- ARGV[1] call number", "-- Result: {call", "-- Repeat: "] {
        if !header.contains(part) {
            faults.push(format!("its header lacks `{part}`"));
        }
    }
    if header.starts_with("-- KEYS") {
        faults.push("its header does not begin with what it is for".into());
    }
    if text.contains("cjson") {
        faults.push("a job's JSON must never go through cjson".into());
    }
    let replies_with_call = text.contains("return { call") || text.contains("return { tonumber(ARGV[1])");
    if !replies_with_call
        && !text.contains("local result = { tonumber(ARGV[1]) }")
        && !text.contains("return {\n  tonumber(ARGV[1])")
    {
        faults.push("its reply does not begin with the call number".into());
    }
    if !name.contains('_') && name != "beat" {
        faults.push("its name is not a verb and a noun".into());
    }
    faults
}

fn read_all(folder: &Path, ending: &str) -> std::io::Result<Vec<(String, String)>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)?.flatten() {
        let path = entry.path();
        if path.is_dir() {
            files.extend(read_all(&path, ending)?);
        } else if path.extension().is_some_and(|found| found == ending) {
            files.push((path.display().to_string(), fs::read_to_string(&path)?));
        }
    }
    Ok(files)
}
