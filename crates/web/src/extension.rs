//! Tabs of the host's own.

use axum::Router;
use thiserror::Error;

use crate::shared::Shared;

/// The first segments of this UI's own addresses.
const BUILT_IN: [&str; 11] = [
    "assets",
    "errors",
    "health",
    "history",
    "jobs",
    "metrics",
    "overview",
    "preferences",
    "save_session",
    "schedules",
    "workers",
];

/// A tab of the host's own, in the frame and under the rules of this UI: its nav, its safety, its log. Its pages must
/// be there within 1.5 s, as the others.
///
/// ```
/// use axum::{Router, response::Response, routing::get};
/// use cogworker_web::{Extension, ExtensionPathError, Markup, Ui, WebOptions};
///
/// async fn show(ui: Ui) -> Response {
///     let mut page = Markup::raw("<h1>Tenants</h1><p>");
///     page.text("a & b").html("</p>");
///     ui.extension_page("Tenants", page).await
/// }
///
/// # fn options() -> Result<WebOptions, ExtensionPathError> {
/// let tenants = Extension::new("Tenants", "tenants", Router::new().route("/", get(show)))?;
/// let options = WebOptions::new().extension(tenants);
/// # Ok(options) }
/// # assert!(options().is_ok());
/// ```
#[derive(Debug, Clone)]
pub struct Extension {
    pub(crate) label: String,
    pub(crate) path: String,
    pub(crate) router: Router,
}

/// A path that no tab of the host's own can have.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ExtensionPathError {
    /// It is no single segment.
    #[error("put a tab at `{path}`: expected one word of letters, digits, `-`, `_`, `.` and `~`")]
    NotOneWord {
        /// What was given.
        path: String,
    },
    /// The UI has pages of its own there.
    #[error("put a tab at `{path}`: the UI has that address itself; expected another than {}", BUILT_IN.join(", "))]
    Taken {
        /// What was given.
        path: String,
    },
}

impl Extension {
    /// A tab `label`, whose pages `router` serves below `/<path>`. A handler takes the [`Ui`](crate::Ui) as an
    /// argument; links begin with [`Ui::root`](crate::Ui::root).
    ///
    /// # Errors
    ///
    /// When `path` is not one word, or one of the UI's own.
    pub fn new(label: impl Into<String>, path: &str, router: Router) -> Result<Self, ExtensionPathError> {
        let word = path.trim_matches('/');
        let may_be = |c: char| c.is_ascii_alphanumeric() || "-_.~".contains(c);
        if word.chars().all(|c| c == '.') || !word.chars().all(may_be) {
            return Err(ExtensionPathError::NotOneWord { path: path.to_owned() });
        }
        if BUILT_IN.contains(&word) {
            return Err(ExtensionPathError::Taken { path: path.to_owned() });
        }
        Ok(Self { label: label.into(), path: word.to_owned(), router })
    }
}

/// What the nav shows beside the built-in tabs.
#[derive(Debug, Clone)]
pub(crate) struct ExtraTab {
    pub(crate) label: String,
    /// Below the root, with a slash in front; or a whole URL.
    pub(crate) href: String,
}

impl ExtraTab {
    /// Whether the page at `path` belongs to it.
    pub(crate) fn is_current(&self, path: &str) -> bool {
        path.strip_prefix(&*self.href).is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '?']))
    }
}

/// The routers of all extensions.
pub(crate) fn routes(shared: &Shared) -> Router {
    let extensions = &shared.options.extensions;
    extensions.iter().fold(Router::new(), |all, extension| {
        all.nest(&format!("/{}", extension.path), extension.router.clone())
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::error::Error;
    use std::path::Path;

    use super::*;

    fn words_of_routes(folder: &Path, found: &mut BTreeSet<String>) -> Result<(), Box<dyn Error>> {
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                words_of_routes(&path, found)?;
            } else {
                let text = std::fs::read_to_string(&path)?;
                let routes =
                    text.split(".route(\"/").skip(1).filter_map(|route| route.split(['/', '"']).next());
                found.extend(routes.filter(|word| !word.is_empty()).map(str::to_owned));
            }
        }
        Ok(())
    }

    #[test]
    fn the_words_that_are_taken_are_those_of_the_routes() -> Result<(), Box<dyn Error>> {
        let mut found = BTreeSet::new();
        words_of_routes(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut found)?;
        assert_eq!(found.into_iter().collect::<Vec<_>>(), BUILT_IN);
        Ok(())
    }

    #[test]
    fn a_path_is_one_word_that_is_free() {
        let path = |path| Extension::new("Tab", path, Router::new()).map(|tab| tab.path);
        assert_eq!(path("tenants"), Ok("tenants".to_owned()));
        assert_eq!(path("/my-tab_2.0~/"), Ok("my-tab_2.0~".to_owned()));
        for odd in ["", "/", "a/b", "{id}", "*all", "a b", "ä", "..", "."] {
            let error = path(odd).unwrap_err();
            assert_eq!(error, ExtensionPathError::NotOneWord { path: odd.to_owned() });
        }
        let error = path("/jobs").unwrap_err().to_string();
        assert!(error.starts_with("put a tab at `/jobs`: the UI has that address itself"), "{error}");
    }
}
