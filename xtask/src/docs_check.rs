//! `cargo xtask docs-check`: links between the Markdown files lead somewhere, the README names the commands,
//! the list of Redis keys is complete, and the tests that promises name are there.

use std::path::{Component, Path, PathBuf};

use crate::step::{self, TaskError};
use crate::workspace::{self, TextFile};

/// Pages that name the tests which show what they say.
const PAGES_WITH_TESTS: [&str; 2] = ["docs/delivery.md", "docs/periodic.md"];

const README_COMMANDS: [&str; 2] = ["cargo xtask demo", "cargo xtask test"];

pub(crate) fn run() -> Result<(), TaskError> {
    step::announce("docs-check");
    let root = workspace::root();
    let pages = workspace::files(&root, "", "md")?;
    let mut findings: Vec<String> =
        pages.iter().flat_map(|page| link_findings(page, &pages, |path| root.join(path).exists())).collect();
    findings.extend(readme_findings(&pages));
    let keys = workspace::file(&root, "crates/core/src/keys.rs")?;
    let layout = workspace::file(&root, "docs/redis-layout.md")?;
    if let (Some(keys), Some(layout)) = (keys, layout) {
        findings.extend(key_findings(&keys.text, &layout.text));
    }
    let samples = workspace::files(&root, "examples", "rs")?;
    if let Some(readme) = pages.iter().find(|page| page.path == Path::new("README.md")) {
        findings.extend(sample_findings(readme, &samples));
    }
    let sources = workspace::files(&root, "", "rs")?;
    for page in PAGES_WITH_TESTS {
        if let Some(page) = workspace::file(&root, page)? {
            findings.extend(test_findings(&page, &sources));
        }
    }
    step::conclude("docs-check", findings)?;
    println!("{} pages", pages.len());
    Ok(())
}

fn readme_findings(pages: &[TextFile]) -> Vec<String> {
    let readme = pages.iter().find(|page| page.path == Path::new("README.md"));
    let text = readme.map_or("", |page| &page.text);
    let missing = README_COMMANDS.iter().filter(|command| !text.contains(**command));
    missing.map(|command| format!("README.md: does not name `{command}`")).collect()
}

fn link_findings(page: &TextFile, pages: &[TextFile], exists: impl Fn(&Path) -> bool) -> Vec<String> {
    let mut findings = Vec::new();
    for target in links(&page.text) {
        if target.contains("://") || target.starts_with("mailto:") {
            continue;
        }
        let (file, anchor) = target.split_once('#').unwrap_or((&target, ""));
        let folder = page.path.parent().unwrap_or(Path::new(""));
        let path = if file.is_empty() { page.path.clone() } else { normal(&folder.join(file)) };
        if !exists(&path) {
            findings.push(format!("{}: no such file: {target}", page.path.display()));
            continue;
        }
        let linked = pages.iter().find(|page| page.path == path);
        if !anchor.is_empty()
            && linked.is_some_and(|linked| !anchors(&linked.text).any(|known| known == anchor))
        {
            findings.push(format!("{}: no such heading: {target}", page.path.display()));
        }
    }
    findings
}

/// The lines outside fenced code.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut fenced = false;
    text.lines().filter(move |line| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        !fenced && !fence
    })
}

/// The targets of `[text](target)` and `[name]: target`.
fn links(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in prose(text) {
        // Every second part is inline code, where brackets are no links.
        let line: String = line.split('`').step_by(2).collect::<Vec<_>>().join("code");
        for (start, opening) in line.match_indices("](") {
            let rest = &line[start + opening.len()..];
            if let Some(end) = rest.find(')') {
                found.extend(rest[..end].split_whitespace().next().map(str::to_owned));
            }
        }
        let definition = line.trim_start().strip_prefix('[').and_then(|line| line.split_once("]: "));
        if let Some((name, target)) = definition
            && !name.contains(['[', ']'])
        {
            found.extend(target.split_whitespace().next().map(str::to_owned));
        }
    }
    found
}

/// The anchors that code hosts make from headings: lower case, spaces to dashes, other signs dropped.
fn anchors(text: &str) -> impl Iterator<Item = String> {
    prose(text).filter(|line| line.starts_with('#')).map(|line| {
        let heading = line.trim_start_matches('#').trim().to_lowercase();
        heading
            .chars()
            .filter_map(|c| match c {
                ' ' => Some('-'),
                c if c.is_alphanumeric() || c == '-' || c == '_' => Some(c),
                _ => None,
            })
            .collect()
    })
}

/// Resolves `.` and `..` by name alone.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                normal.pop();
            }
            part => normal.push(part),
        }
    }
    normal
}

/// A sample in Rust is a whole file of an example, so that it is compiled as it is printed.
fn sample_findings(page: &TextFile, examples: &[TextFile]) -> Vec<String> {
    let samples = page.text.split("```rust\n").skip(1).filter_map(|rest| rest.split("```").next());
    let strange = samples.filter(|sample| !examples.iter().any(|file| file.text == *sample));
    let head = |sample: &str| sample.lines().next().unwrap_or_default().to_owned();
    strange
        .map(|sample| format!("{}: no example is this sample: {}", page.path.display(), head(sample)))
        .collect()
}

/// A promise names the test that shows it: each name in code that is as long as a claim must be one.
fn test_findings(page: &TextFile, sources: &[TextFile]) -> Vec<String> {
    let prose: Vec<&str> = prose(&page.text).collect();
    let prose = prose.join("\n");
    let is_claim = |code: &&str| {
        code.matches('_').count() >= 4
            && code.bytes().all(|byte| byte == b'_' || byte.is_ascii_alphanumeric())
    };
    let claims = prose.split('`').skip(1).step_by(2).filter(is_claim);
    let missing =
        claims.filter(|claim| !sources.iter().any(|file| file.text.contains(&format!("fn {claim}("))));
    missing.map(|claim| format!("{}: no such test: {claim}", page.path.display())).collect()
}

fn key_findings(keys: &str, layout: &str) -> Vec<String> {
    let patterns = key_patterns(keys);
    let missing = patterns.iter().filter(|pattern| !layout.contains(*pattern));
    missing.map(|pattern| format!("docs/redis-layout.md: does not name the key `{pattern}`")).collect()
}

/// The fixed beginnings of the keys that `keys.rs` spells: `cogworker:queue:` for `"cogworker:queue:{name}"`.
fn key_patterns(keys: &str) -> Vec<String> {
    let code = keys.split("#[cfg(test)]").next().unwrap_or_default();
    let mut patterns: Vec<String> = Vec::new();
    for line in code.lines().filter(|line| !line.trim_start().starts_with("//")) {
        for literal in line.split('"').skip(1).step_by(2) {
            let fixed = literal.split('{').next().unwrap_or_default();
            let is_key = fixed.contains(':')
                && fixed.len() > 1
                && literal.chars().all(|c| c.is_ascii_alphanumeric() || ":_{}-".contains(c));
            if is_key && !patterns.iter().any(|known| known == fixed) {
                patterns.push(fixed.to_owned());
            }
        }
    }
    patterns
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(path: &str, text: &str) -> TextFile {
        TextFile { path: path.into(), text: text.into() }
    }

    fn broken(text: &str) -> Vec<String> {
        let pages = [page("docs/a.md", text), page("docs/b.md", "# The `first` one, of 2\n")];
        let known = ["docs/a.md", "docs/b.md", "README.md", "docs"].map(Path::new);
        link_findings(&pages[0], &pages, |path| known.contains(&path))
    }

    #[test]
    fn links_to_files_and_headings_that_are_there_pass() {
        let text = "# Here\n[b](b.md) [r](../README.md) [h](b.md#the-first-one-of-2) [s](#here) [w](https://x.y/z)\n\
                    [t](b.md \"title\") [d](.)\n[ref]: ./b.md\n";
        assert_eq!(broken(text), [""; 0]);
    }

    #[test]
    fn links_to_what_is_not_there_are_named() {
        assert_eq!(broken("[x](c.md)"), ["docs/a.md: no such file: c.md"]);
        assert_eq!(broken("[x](b.md#nothing)"), ["docs/a.md: no such heading: b.md#nothing"]);
        assert_eq!(broken("text\n[ref]: ../c.md"), ["docs/a.md: no such file: ../c.md"]);
    }

    #[test]
    fn brackets_in_code_are_no_links() {
        assert_eq!(broken("`a[0](x)` and\n```rust\nb[1](y)\n```\n"), [""; 0]);
    }

    #[test]
    fn the_readme_has_to_name_the_commands() {
        assert_eq!(readme_findings(&[page("README.md", "run `cargo xtask demo`")]).len(), 1);
        assert_eq!(readme_findings(&[]).len(), 2);
    }

    #[test]
    fn a_sample_has_to_be_a_file_of_an_example() {
        let text = "```rust\nfn a() {}\n```\n```sh\nls\n```\n```rust\nfn b() {}\n```\n";
        let examples = [page("examples/x/a.rs", "fn a() {}\n")];
        let findings = sample_findings(&page("README.md", text), &examples);
        assert_eq!(findings, ["README.md: no example is this sample: fn b() {}"]);
    }

    #[test]
    fn a_promise_has_to_name_a_test_that_is_there() {
        let text = "`it_holds_what_it_says`, `it_says_what_it_holds`, `fetch_jobs`, `a b_c_d_e_f`";
        let sources = [page("a.rs", "async fn it_holds_what_it_says() {}")];
        let findings = test_findings(&page("docs/d.md", text), &sources);
        assert_eq!(findings, ["docs/d.md: no such test: it_says_what_it_holds"]);
    }

    #[test]
    fn each_key_in_code_has_to_be_in_the_layout() {
        let keys = r#"
            /// Not a key: "doc:only".
            fn queue(&self, name: &str) -> Key { self.key(format!("cogworker:queue:{name}")) }
            const RETRY: &str = "cogworker:retry";
            #[error("bad key: {0}")]
            #[cfg(test)] mod tests { const OTHER: &str = "other:key"; }
        "#;
        assert_eq!(key_patterns(keys), ["cogworker:queue:", "cogworker:retry"]);
        let found = key_findings(keys, "| `cogworker:queue:<name>` |");
        assert_eq!(found, ["docs/redis-layout.md: does not name the key `cogworker:retry`"]);
    }
}
