//! Tabs of the host's own.

use axum::Router;

use crate::shared::Shared;

/// A tab of the host's own, in the frame and under the rules of this UI: its nav, its safety, its log.
///
/// ```
/// use axum::{Router, response::Response, routing::get};
/// use cogworker_web::{Extension, Markup, Ui, WebOptions};
///
/// async fn show(ui: Ui) -> Response {
///     let mut page = Markup::raw("<h1>Tenants</h1><p>");
///     page.text("a & b");
///     ui.extension_page("Tenants", page.raw_tail("</p>")).await
/// }
///
/// let tenants = Extension::new("Tenants", "tenants", Router::new().route("/", get(show)));
/// let options = WebOptions::new().extension(tenants);
/// ```
#[derive(Debug, Clone)]
pub struct Extension {
    pub(crate) label: String,
    pub(crate) path: String,
    pub(crate) router: Router,
}

impl Extension {
    /// A tab `label`, whose pages `router` serves below `/<path>`. A handler takes the [`Ui`](crate::Ui) as an
    /// argument; links begin with [`Ui::root`](crate::Ui::root).
    pub fn new(label: impl Into<String>, path: &str, router: Router) -> Self {
        Self { label: label.into(), path: path.trim_matches('/').to_owned(), router }
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
