//! `cargo xtask book`: the guide as a book in `target/book`, by mdBook.
//!
//! The pages are read on a code host as well, where links lead to files and folders anywhere in the repository. mdBook
//! knows one folder, so the pages, and the files that they link to, are laid out in `target/book-src` first. Afterwards every
//! link of every page is followed.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::docs_check::{CONTENTS, listed_pages};
use crate::markdown::{Link, links, normal, relinked};
use crate::step::{self, TaskError};
use crate::tools::Tool;
use crate::workspace::{self, TextFile};

const STEP: &str = "book";
const MDBOOK: Tool = Tool {
    package: "mdbook",
    version: "0.5.4",
    asked: &["--version"],
    says: "mdbook v0.5.",
    // Without its server and search.
    args: &["--no-default-features"],
};

pub(crate) fn run() -> Result<(), TaskError> {
    step::announce(STEP);
    let mdbook = MDBOOK.ensure(STEP)?;
    build(&mdbook)
}

/// As a step of the tests: where there is no mdBook and none can be had it says so and goes on, but not in CI.
pub(crate) fn test() -> Result<(), TaskError> {
    step::announce(STEP);
    match MDBOOK.find_or_install() {
        Ok(mdbook) => build(&mdbook),
        Err(why) if env::var_os("CI").is_some() => Err(TaskError::Task { step: STEP, source: why.into() }),
        Err(why) => {
            println!("\n!!! The book is NOT BUILT: {why} !!!");
            Ok(())
        }
    }
}

fn build(mdbook: &Path) -> Result<(), TaskError> {
    let source = workspace::target().join("book-src");
    let book = workspace::target().join("book");
    let pages = lay_out(&source)?;
    let mut command = Command::new(mdbook);
    command.args(["build", "--dest-dir"]).arg(&book).arg(&source).env("MDBOOK_LOG", "warn");
    let shown = format!("mdbook build --dest-dir {} {}", book.display(), source.display());
    println!("$ {shown}");
    let run = |source| TaskError::Run { step: STEP, command: shown.clone(), source };
    let status = command.status().map_err(run)?;
    if !status.success() {
        return Err(TaskError::Command { step: STEP, command: shown, status });
    }
    step::conclude(STEP, findings(&book)?)?;
    println!("{pages} pages: {}", book.join("index.html").display());
    Ok(())
}

/// Puts the pages and what they link to into an empty folder.
fn lay_out(source: &Path) -> Result<usize, TaskError> {
    let root = workspace::root();
    let contents = workspace::needed(&root, CONTENTS)?;
    let pages = listed_pages(&contents);
    if source.exists() {
        fs::remove_dir_all(source).map_err(|error| writing(source, error))?;
    }
    for path in ["book.toml", "docs/book.css"] {
        write(&source.join(path), &workspace::needed(&root, path)?.text)?;
    }
    let listed = relinked(&contents.text, |target| {
        Link::To(as_chapter(&normal(&Path::new("docs").join(target))).display().to_string())
    });
    write(&source.join("SUMMARY.md"), &listed)?;
    let mut files = BTreeSet::new();
    for path in &pages {
        let page = workspace::needed(&root, &path.display().to_string())?;
        let text = relinked(&page.text, |target| destination(&page, target, &pages, &root));
        write(&source.join(as_chapter(path)), &text)?;
        files.extend(links(&text).iter().filter_map(|target| {
            let file = target.split('#').next().unwrap_or_default();
            let path = normal(&path.parent().unwrap_or(Path::new("")).join(file));
            (!file.is_empty() && !file.contains("://") && root.join(&path).is_file()).then_some(path)
        }));
    }
    for path in files.into_iter().filter(|path| path.extension().is_none_or(|kind| kind != "md")) {
        let to = source.join(&path);
        let folder = to.parent().unwrap_or(source);
        fs::create_dir_all(folder).map_err(|error| writing(folder, error))?;
        fs::copy(root.join(&path), &to).map_err(|error| writing(&to, error))?;
    }
    Ok(pages.len())
}

/// Where a link of a page leads in the book: a folder to its page, if it has one.
fn destination(page: &TextFile, target: &str, pages: &[PathBuf], root: &Path) -> Link {
    let (file, anchor) = target.split_once('#').map_or((target, None), |(file, rest)| (file, Some(rest)));
    if file.is_empty() || file.contains("://") {
        return Link::Stays;
    }
    let here = page.path.parent().unwrap_or(Path::new(""));
    let path = normal(&here.join(file));
    let (file, path) = if root.join(&path).is_dir() {
        (format!("{}/README.md", file.trim_end_matches('/')), path.join("README.md"))
    } else {
        (file.to_owned(), path)
    };
    let is_page = path.extension().is_some_and(|kind| kind == "md");
    if !is_page {
        return Link::Stays;
    }
    if !pages.contains(&path) {
        return Link::Ends;
    }
    let file = as_chapter(Path::new(&file)).display().to_string();
    Link::To(anchor.map_or(file.clone(), |anchor| format!("{file}#{anchor}")))
}

/// mdBook makes `index.html` of a README, but leads links elsewhere.
fn as_chapter(path: &Path) -> PathBuf {
    if path.file_name().is_some_and(|name| name == "README.md") {
        path.with_file_name("index.md")
    } else {
        path.to_owned()
    }
}

/// Links of the finished pages that lead nowhere, and what they would fetch from elsewhere.
fn findings(book: &Path) -> Result<Vec<String>, TaskError> {
    let pages = workspace::files(book, "", "html")?;
    let mut findings = Vec::new();
    // Served for any address, so its links are from the root of a server.
    for page in pages.iter().filter(|page| page.path != Path::new("404.html")) {
        for (attribute, target) in targets(&page.text) {
            let told = |what: &str| format!("{}: {what}: {target}", page.path.display());
            if target.contains("://") {
                if attribute == "src" {
                    findings.push(told("fetched from elsewhere"));
                }
                continue;
            }
            if target.starts_with("mailto:") || target.starts_with("data:") {
                continue;
            }
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            let here = page.path.parent().unwrap_or(Path::new(""));
            let path = if file.is_empty() { page.path.clone() } else { normal(&here.join(file)) };
            if !book.join(&path).is_file() {
                findings.push(told("no such file"));
            } else if !anchor.is_empty()
                && let Some(linked) = pages.iter().find(|linked| linked.path == path)
                && !linked.text.contains(&format!("id=\"{anchor}\""))
            {
                findings.push(told("no such heading"));
            }
        }
    }
    Ok(findings)
}

/// The values of `href` and `src`.
fn targets(html: &str) -> impl Iterator<Item = (&'static str, &str)> {
    ["href", "src"].into_iter().flat_map(move |attribute| {
        let parts = html.split(if attribute == "href" { " href=\"" } else { " src=\"" }).skip(1);
        parts.filter_map(move |rest| Some((attribute, rest.split('"').next()?)))
    })
}

fn write(path: &Path, text: &str) -> Result<(), TaskError> {
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder).map_err(|error| writing(folder, error))?;
    fs::write(path, text).map_err(|error| writing(path, error))
}

fn writing(path: &Path, source: std::io::Error) -> TaskError {
    TaskError::Write { path: path.to_owned(), source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lead_to_pages_of_the_book_and_folders_to_theirs() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("examples/app")).unwrap();
        let pages = ["README.md", "docs/a.md", "examples/README.md"].map(PathBuf::from);
        let page = TextFile { path: "docs/a.md".into(), text: String::new() };
        let led = |target| destination(&page, target, &pages, root.path());
        assert_eq!(led("../README.md#status"), Link::To("../index.md#status".into()));
        assert_eq!(led("../examples"), Link::To("../examples/index.md".into()));
        assert_eq!(led("../examples/app/"), Link::Ends);
        assert_eq!(led("../NOTES.md"), Link::Ends);
        for target in ["#here", "screenshots/a.webp", "../a.rs", "https://a.b/c.md"] {
            assert_eq!(led(target), Link::Stays, "{target}");
        }
    }

    #[test]
    fn a_dead_link_and_one_to_elsewhere_are_found_in_the_finished_pages() {
        let book = tempfile::tempdir().unwrap();
        fs::create_dir_all(book.path().join("docs")).unwrap();
        let page = "<a href=\"../index.html#top\">a</a> <a href=\"b.html\">b</a> <a href=\"https://x.y\">c</a> \
                    <img src=\"https://x.y/z.png\"> <a href=\"../index.html#none\">d</a>";
        fs::write(book.path().join("docs/a.html"), page).unwrap();
        fs::write(book.path().join("index.html"), "<h1 id=\"top\">T</h1>").unwrap();
        let found = findings(book.path()).unwrap();
        let expected = [
            "docs/a.html: no such file: b.html",
            "docs/a.html: no such heading: ../index.html#none",
            "docs/a.html: fetched from elsewhere: https://x.y/z.png",
        ];
        assert_eq!(found, expected);
    }
}
