//! `cargo xtask docs-check`: the guide against itself and the code.
//!
//! Links between the Markdown files lead somewhere; the contents list each page once; the README names the commands; samples
//! are compiled; tables of settings are those of the code; the list of Redis keys is complete; the files of others are listed
//! with their licences; and the tests that promises name are there.

use std::path::{Path, PathBuf};

use clap::CommandFactory as _;

use crate::config_reference;
use crate::markdown::{anchors, links, normal, prose};
use crate::step::{self, TaskError};
use crate::workspace::{self, TextFile};

/// Pages that name the tests which show what they say.
const PAGES_WITH_TESTS: [&str; 4] =
    ["README.md", "docs/delivery.md", "docs/periodic.md", "docs/web-gem-defects.md"];

/// What the guide consists of, in its order.
pub(crate) const CONTENTS: &str = "docs/SUMMARY.md";

/// Pages whose samples are files of examples.
const PAGES_OF_EXAMPLES: [&str; 2] = ["README.md", "docs/getting-started.md"];

/// Tells what each task does.
const TASKS: &str = "CONTRIBUTING.md";

const README_COMMANDS: [&str; 2] = ["cargo xtask demo", "cargo xtask test"];

pub(crate) fn run() -> Result<(), TaskError> {
    step::announce("docs-check");
    let root = workspace::root();
    let pages = workspace::files(&root, "", "md")?;
    let mut findings: Vec<String> =
        pages.iter().flat_map(|page| link_findings(page, &pages, |path| root.join(path).exists())).collect();
    findings.extend(readme_findings(&pages));
    findings.extend(contents_findings(&pages));
    findings.extend(task_findings(&pages, &crate::Task::command()));
    findings.extend(config_reference::findings()?);
    let keys = workspace::file(&root, "crates/core/src/keys.rs")?;
    let layout = workspace::file(&root, "docs/redis-layout.md")?;
    if let (Some(keys), Some(layout)) = (keys, layout) {
        findings.extend(key_findings(&keys.text, &layout.text));
    }
    let samples = workspace::files(&root, "examples", "rs")?;
    let sources = workspace::files(&root, "", "rs")?;
    for page in &pages {
        if PAGES_OF_EXAMPLES.iter().any(|path| page.path == Path::new(path)) {
            findings.extend(sample_findings(page, &samples));
        } else {
            findings.extend(compiled_findings(page, &sources));
        }
    }
    for page in PAGES_WITH_TESTS {
        if let Some(page) = workspace::file(&root, page)? {
            findings.extend(test_findings(&page, &sources));
        }
    }
    findings.extend(third_party_findings(
        &workspace::needed(&root, "crates/web/assets/vendor/vendor.json")?,
        &workspace::needed(&root, "crates/web/THIRD-PARTY.md")?,
    ));
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

/// The page for contributors names each task, in a table whose rows begin with its name.
fn task_findings(pages: &[TextFile], tasks: &clap::Command) -> Vec<String> {
    let page = pages.iter().find(|page| page.path == Path::new(TASKS));
    let rows: Vec<&str> = page.map_or("", |page| &page.text).lines().filter_map(row_head).collect();
    let named = |task: &str| rows.iter().any(|head| head.contains(&format!("`{task}`")));
    let shown = tasks.get_subcommands().filter(|task| !task.is_hide_set()).map(clap::Command::get_name);
    shown.filter(|task| !named(task)).map(|task| format!("{TASKS}: no row tells of `{task}`")).collect()
}

/// What stands in the first cell.
fn row_head(line: &str) -> Option<&str> {
    line.strip_prefix('|')?.split('|').next()
}

/// The contents list each page of `docs/` once, and whatever else they list is there once too.
fn contents_findings(pages: &[TextFile]) -> Vec<String> {
    let contents = pages.iter().find(|page| page.path == Path::new(CONTENTS));
    let Some(contents) = contents else { return vec![format!("{CONTENTS}: is missing")] };
    let listed = listed_pages(contents);
    let guide = pages.iter().filter(|page| page.path.starts_with("docs") && page.path != contents.path);
    let missing = guide.filter(|page| !listed.contains(&page.path));
    let missing = missing.map(|page| format!("{CONTENTS}: does not list {}", page.path.display()));
    let again = listed.iter().enumerate().filter(|(at, page)| listed[..*at].contains(page));
    missing.chain(again.map(|(_, page)| format!("{CONTENTS}: lists {} again", page.display()))).collect()
}

/// The pages that the contents list, from the root.
pub(crate) fn listed_pages(contents: &TextFile) -> Vec<PathBuf> {
    links(&contents.text).iter().map(|target| normal(&Path::new("docs").join(target))).collect()
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

/// A sample in Rust is a whole file of an example, so that it is compiled as it is printed.
fn sample_findings(page: &TextFile, examples: &[TextFile]) -> Vec<String> {
    let samples = page.text.split("```rust\n").skip(1).filter_map(|rest| rest.split("```").next());
    let strange = samples.filter(|sample| !examples.iter().any(|file| file.text == *sample));
    let head = |sample: &str| sample.lines().next().unwrap_or_default().to_owned();
    strange
        .map(|sample| format!("{}: no example is this sample: {}", page.path.display(), head(sample)))
        .collect()
}

/// Samples in Rust on any other page are doctests: some crate includes the page, and none is left out.
fn compiled_findings(page: &TextFile, sources: &[TextFile]) -> Vec<String> {
    let fences = page.text.lines().filter_map(|line| line.trim_start().strip_prefix("```rust"));
    let kinds: Vec<&str> = fences.collect();
    let (path, mut findings) = (page.path.display(), Vec::new());
    let included = format!("#[doc = include_str!(\"../../../{path}\")]");
    let root = page.path.parent().unwrap_or(Path::new("")).join("src/lib.rs");
    let compiled = sources.iter().any(|file| {
        file.text.contains(&included)
            || file.path == root && file.text.contains("#![doc = include_str!(\"../README.md\")]")
    });
    if !kinds.is_empty() && !compiled {
        findings.push(format!("{path}: no crate compiles its samples"));
    }
    if kinds.iter().any(|kind| kind.contains("ignore")) {
        findings.push(format!("{path}: a sample is not compiled"));
    }
    findings
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

/// Each file of others that is shipped stands in the list, with its package, version and licence.
fn third_party_findings(vendored: &TextFile, list: &TextFile) -> Vec<String> {
    let files: Vec<serde_json::Value> = match serde_json::from_str(&vendored.text) {
        Ok(files) => files,
        Err(error) => return vec![format!("{}: {error}", vendored.path.display())],
    };
    let rows = files.iter().map(|file| {
        let text = |field: &str| file[field].as_str().unwrap_or_default().to_owned();
        format!("| `{}` | {} | {} | {} |", text("name"), text("package"), text("version"), text("license"))
    });
    let missing = rows.filter(|row| !list.text.contains(row));
    missing.map(|row| format!("{}: no row {row}", list.path.display())).collect()
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
    fn the_contents_have_to_list_each_page_once() {
        let contents = page(CONTENTS, "[R](../README.md)\n- [A](a.md)\n- [A](a.md)\n");
        let pages = [page("README.md", ""), page("docs/a.md", ""), page("docs/adr/1.md", ""), contents];
        let expected =
            ["docs/SUMMARY.md: does not list docs/adr/1.md", "docs/SUMMARY.md: lists docs/a.md again"];
        assert_eq!(contents_findings(&pages), expected);
        assert_eq!(contents_findings(&pages[..3]), ["docs/SUMMARY.md: is missing"]);
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
    fn samples_of_other_pages_have_to_be_doctests() {
        let included = [page("crates/x/src/guide.rs", "#[doc = include_str!(\"../../../docs/a.md\")]")];
        let findings = |path, text| compiled_findings(&page(path, text), &included);
        assert_eq!(findings("docs/a.md", "```rust,no_run\n```\n"), [""; 0]);
        assert_eq!(findings("docs/b.md", "```sh\n```\n"), [""; 0]);
        assert_eq!(findings("docs/b.md", "```rust\n```\n"), ["docs/b.md: no crate compiles its samples"]);
        assert_eq!(findings("docs/a.md", "```rust,ignore\n```\n"), ["docs/a.md: a sample is not compiled"]);
    }

    #[test]
    fn a_promise_has_to_name_a_test_that_is_there() {
        let text = "`it_holds_what_it_says`, `it_says_what_it_holds`, `fetch_jobs`, `a b_c_d_e_f`";
        let sources = [page("a.rs", "async fn it_holds_what_it_says() {}")];
        let findings = test_findings(&page("docs/d.md", text), &sources);
        assert_eq!(findings, ["docs/d.md: no such test: it_says_what_it_holds"]);
    }

    #[test]
    fn each_vendored_file_has_to_be_listed_with_its_licence() {
        let vendored = page("v.json", r#"[{"name":"a.js","package":"a","version":"1.0","license":"MIT"}]"#);
        let listed = page("T.md", "| `a.js` | a | 1.0 | MIT | text |\n");
        assert_eq!(third_party_findings(&vendored, &listed), [""; 0]);
        let found = third_party_findings(&vendored, &page("T.md", "| `a.js` | a | 0.9 | MIT | text |\n"));
        assert_eq!(found, ["T.md: no row | `a.js` | a | 1.0 | MIT |"]);
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
