//! Docs that cannot drift: links lead somewhere, the commands are named, every key is listed.

use std::fs;
use std::path::{Path, PathBuf};

use cogworker_server::config::Key;

use crate::Outcome;
use crate::shell::root;

pub(crate) fn run() -> Outcome {
    let mut faults = Vec::new();
    let mut pages = Vec::new();
    collect(&root(), &mut pages)?;
    for page in &pages {
        let text = fs::read_to_string(page)?;
        for link in links(&text) {
            let file = link.split('#').next().unwrap_or("");
            if file.is_empty() || link.contains("://") {
                continue;
            }
            if !page.parent().unwrap_or(Path::new(".")).join(file).exists() {
                faults.push(format!("{}: the link to {link} leads nowhere", page.display()));
            }
        }
    }
    let mut must_name = |page: &str, name: &str| -> Outcome {
        if !fs::read_to_string(root().join(page))?.contains(name) {
            faults.push(format!("{page}: {name} is not named"));
        }
        Ok(())
    };
    must_name("README.md", "cargo xtask demo")?;
    must_name("README.md", "cargo xtask test")?;
    for key in Key::ALL {
        must_name("docs/configuration.md", &format!("`{}`", key.name()))?;
        must_name("docs/configuration.md", &format!("`{}`", key.variable()))?;
    }
    let keys = fs::read_to_string(root().join("crates/core/src/keys.rs"))?;
    let code = keys.split("#[cfg(test)]").next().unwrap_or("");
    for key in code
        .split('"')
        .filter(|text| ["cogworker:", "periodic:", "status:"].iter().any(|head| text.starts_with(head)))
    {
        must_name("docs/redis-layout.md", key)?;
    }
    if faults.is_empty() {
        println!("docs-check: {} pages are as they should be", pages.len());
        Ok(())
    } else {
        Err(format!("pass docs-check:\n  {}", faults.join("\n  ")).into())
    }
}

fn collect(folder: &Path, pages: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)?.flatten() {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        if path.is_dir() {
            if !name.starts_with('.') && name != "target" {
                collect(&path, pages)?;
            }
        } else if name.ends_with(".md") {
            pages.push(path);
        }
    }
    Ok(())
}

/// The targets of Markdown links, outside code blocks.
fn links(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut in_code = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        }
        if in_code {
            continue;
        }
        let mut rest = line;
        while let Some(at) = rest.find("](") {
            rest = &rest[at + 2..];
            if let Some(end) = rest.find(')') {
                found.push(&rest[..end]);
            }
        }
    }
    found
}
