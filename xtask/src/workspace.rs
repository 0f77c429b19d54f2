//! The workspace's files.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::step::{Step, TaskError};

/// The workspace's root folder.
pub(crate) fn root() -> PathBuf {
    // Cargo names the package's folder at run time too, which stays right when the checkout is moved.
    let package =
        env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
    package.parent().map(Path::to_owned).unwrap_or(package)
}

/// Cargo's target folder.
pub(crate) fn target() -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// Where cargo puts an executable of a profile's folder (`debug` or `release`).
pub(crate) fn executable(profile: &str, name: &str) -> PathBuf {
    target().join(profile).join(name)
}

/// A crate of the workspace that is published.
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) folder: PathBuf,
    manifest: Value,
}

impl Package {
    /// What its files stand in when it is unpacked.
    pub(crate) fn folder_name(&self) -> String {
        format!("{}-{}", self.name, self.version)
    }

    /// What its library is called in code.
    pub(crate) fn library(&self) -> String {
        self.name.replace('-', "_")
    }

    /// The oldest Rust that it says it builds with.
    pub(crate) fn rust_version(&self) -> Option<&str> {
        self.manifest["rust_version"].as_str()
    }

    /// The fields that a published manifest should have, and this has not.
    pub(crate) fn missing_metadata(&self) -> impl Iterator<Item = &'static str> {
        let fields = ["description", "license", "keywords", "categories", "readme", "rust_version"];
        let is_empty = |value: &Value| value.is_null() || value.as_array().is_some_and(Vec::is_empty);
        fields.into_iter().filter(move |field| is_empty(&self.manifest[field]))
    }
}

/// The crates that are published, by name.
pub(crate) fn published(step: &'static str) -> Result<Vec<Package>, TaskError> {
    let args = ["metadata", "--no-deps", "--format-version", "1"];
    let mut metadata: Value = serde_json::from_str(&Step::cargo(step, &args).output()?)
        .map_err(|error| TaskError::Task { step, source: error.into() })?;
    let Value::Array(manifests) = metadata["packages"].take() else { return Ok(Vec::new()) };
    // `publish = false` is an empty list of registries.
    let published = manifests.into_iter().filter(|manifest| manifest["publish"].is_null());
    let text = |manifest: &Value, field: &str| manifest[field].as_str().unwrap_or_default().to_owned();
    let mut packages: Vec<_> = published
        .map(|manifest| Package {
            name: text(&manifest, "name"),
            version: text(&manifest, "version"),
            folder: Path::new(&text(&manifest, "manifest_path"))
                .parent()
                .map(Path::to_owned)
                .unwrap_or_default(),
            manifest,
        })
        .collect();
    packages.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(packages)
}

/// A text file below the root.
pub(crate) struct TextFile {
    /// Relative to the root.
    pub(crate) path: PathBuf,
    pub(crate) text: String,
}

/// The files below `root/folder` with this extension, sorted by path. A missing folder has none.
/// Hidden folders, build output and vendored packages are left out.
pub(crate) fn files(root: &Path, folder: &str, extension: &str) -> Result<Vec<TextFile>, TaskError> {
    let mut found = Vec::new();
    let mut folders = vec![root.join(folder)];
    while let Some(folder) = folders.pop() {
        if !folder.is_dir() {
            continue;
        }
        let read_error = |source| TaskError::Read { path: folder.clone(), source };
        for entry in fs::read_dir(&folder).map_err(read_error)? {
            let entry = entry.map_err(read_error)?;
            let (path, name) = (entry.path(), entry.file_name());
            let name = name.to_string_lossy();
            // Not followed when it is a link: a loop would never end.
            let kind = entry.file_type().map_err(read_error)?;
            if kind.is_dir() {
                if !name.starts_with('.') && name != "target" && name != "node_modules" {
                    folders.push(path);
                }
            } else if kind.is_file() && path.extension().is_some_and(|found| found == extension) {
                found.push(read(root, &path)?);
            }
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

/// One file, or `None` where there is none.
pub(crate) fn file(root: &Path, path: &str) -> Result<Option<TextFile>, TaskError> {
    let path = root.join(path);
    if path.is_file() { read(root, &path).map(Some) } else { Ok(None) }
}

/// One file that has to be there.
pub(crate) fn needed(root: &Path, path: &str) -> Result<TextFile, TaskError> {
    read(root, &root.join(path))
}

fn read(root: &Path, path: &Path) -> Result<TextFile, TaskError> {
    let text =
        fs::read_to_string(path).map_err(|source| TaskError::Read { path: path.to_owned(), source })?;
    Ok(TextFile { path: path.strip_prefix(root).unwrap_or(path).to_owned(), text })
}

/// Whether `text` contains `word` with no letter, digit or underscore beside it.
pub(crate) fn has_word(text: &str, word: &str) -> bool {
    let part_of_name = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word).any(|(start, _)| {
        !text[..start].ends_with(part_of_name) && !text[start + word.len()..].starts_with(part_of_name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_not_found_inside_a_longer_name() {
        assert!(has_word("run(claim_due, 1)", "claim_due"));
        assert!(!has_word("claim_due_jobs claim_dues reclaim_due", "claim_due"));
    }

    #[test]
    fn the_published_crates_are_told_from_the_others() {
        let packages = published("test").unwrap();
        let names: Vec<&str> = packages.iter().map(|package| package.name.as_str()).collect();
        assert!(names.contains(&"cogworker-core") && names.contains(&"cogworker-testing"), "{names:?}");
        assert!(!names.contains(&"xtask") && !names.contains(&"cogworker-browser-tests"), "{names:?}");
        assert!(packages.iter().all(|package| package.rust_version().is_some()));
    }

    #[test]
    fn build_output_and_hidden_folders_are_not_searched() {
        let root = tempfile::tempdir().unwrap();
        for folder in ["docs/adr", "target/doc", ".git"] {
            fs::create_dir_all(root.path().join(folder)).unwrap();
            fs::write(root.path().join(folder).join("a.md"), "x").unwrap();
        }
        let found: Vec<_> = files(root.path(), "", "md").unwrap().into_iter().map(|file| file.path).collect();
        assert_eq!(found, [Path::new("docs/adr/a.md")]);
        assert!(files(root.path(), "no/such", "md").unwrap().is_empty());
    }
}
