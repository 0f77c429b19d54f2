//! What can be set.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::csrf::CsrfRule;
use crate::extension::{Extension, ExtraTab};
use crate::preferences::Theme;
use crate::session::SessionSecret;
use crate::time_format::TimeFormat;

/// Rewrites args before they are shown: class and args as JSON, to what is shown.
pub(crate) type Redaction = Arc<dyn Fn(&str, &str) -> String + Send + Sync>;

/// How the UI is served.
///
/// ```
/// use std::time::Duration;
/// use cogworker_web::{TimeFormat, WebOptions};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let options = WebOptions::new()
///     .title("Shop jobs")
///     .back_link("Shop", "/")
///     .time_format(TimeFormat::new("%d.%m.%Y %H:%M:%S")?)
///     .live_update_interval(Duration::from_secs(5))
///     .read_only(true);
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct WebOptions {
    pub(crate) title: String,
    pub(crate) back_link: Option<(String, String)>,
    pub(crate) theme: Option<Theme>,
    pub(crate) time_format: TimeFormat,
    pub(crate) live_update_interval: Duration,
    pub(crate) history_per_page: usize,
    pub(crate) metrics: bool,
    pub(crate) read_only: bool,
    pub(crate) redaction: Option<Redaction>,
    pub(crate) trusted_origins: Vec<String>,
    pub(crate) csrf_rule: Option<CsrfRule>,
    pub(crate) frame_ancestors: String,
    pub(crate) operator_header: Option<String>,
    pub(crate) session: bool,
    pub(crate) session_secret: Option<SessionSecret>,
    pub(crate) latency_threshold: Duration,
    pub(crate) patience: Duration,
    pub(crate) read_limit: Duration,
    pub(crate) extensions: Vec<Extension>,
    pub(crate) tabs: Vec<ExtraTab>,
}

impl Default for WebOptions {
    fn default() -> Self {
        Self {
            title: "Cogworker".to_owned(),
            back_link: None,
            theme: None,
            time_format: TimeFormat::default(),
            live_update_interval: Duration::from_secs(3),
            history_per_page: 25,
            metrics: true,
            read_only: false,
            redaction: None,
            trusted_origins: Vec::new(),
            csrf_rule: None,
            frame_ancestors: "'self'".to_owned(),
            operator_header: None,
            session: true,
            session_secret: None,
            latency_threshold: Duration::from_secs(60),
            patience: Duration::from_secs(20),
            read_limit: Duration::from_millis(1500),
            extensions: Vec::new(),
            tabs: Vec::new(),
        }
    }
}

impl fmt::Debug for WebOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebOptions")
            .field("title", &self.title)
            .field("read_only", &self.read_only)
            .field("metrics", &self.metrics)
            .field("live_update_interval", &self.live_update_interval)
            .finish_non_exhaustive()
    }
}

impl WebOptions {
    /// How long one request goes on with what is done to all jobs that match; somebody waits for its answer, and can go
    /// on from there. For tests, which do not wait so long.
    #[doc(hidden)]
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// How long a page may take before one that says that Redis is slow comes instead: somebody waits for it. For tests,
    /// whose unoptimised code needs longer for large jobs.
    #[doc(hidden)]
    #[must_use]
    pub fn read_limit(mut self, limit: Duration) -> Self {
        self.read_limit = limit;
        self
    }

    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// The name beside the mark, and at the end of each page's title; `Cogworker` by default.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = title.into();
        self
    }

    /// A link back to the application that the UI is part of.
    #[must_use]
    pub fn back_link(mut self, label: impl Into<String>, url: impl Into<String>) -> Self {
        self.back_link = Some((label.into(), url.into()));
        self
    }

    /// The theme of browsers in which nobody has chosen one; by default the system's.
    #[must_use]
    pub fn theme(mut self, theme: Theme) -> Self {
        self.theme = Some(theme);
        self
    }

    /// How times are written; `%Y-%m-%d %H:%M:%S` by default.
    #[must_use]
    pub fn time_format(mut self, format: TimeFormat) -> Self {
        self.time_format = format;
        self
    }

    /// The pause between two live updates; 3 s by default, 1 s at least.
    #[must_use]
    pub fn live_update_interval(mut self, interval: Duration) -> Self {
        self.live_update_interval = interval.max(Duration::from_secs(1));
        self
    }

    /// How many runs a page of the history has; 25 by default, 1 to 1,000.
    #[must_use]
    pub fn history_per_page(mut self, runs: usize) -> Self {
        self.history_per_page = runs.clamp(1, 1000);
        self
    }

    /// Whether `/metrics` answers; it does by default.
    #[must_use]
    pub fn metrics(mut self, on: bool) -> Self {
        self.metrics = on;
        self
    }

    /// Whether everything can be looked at and nothing can be changed. The server refuses, and the pages show no
    /// buttons.
    #[must_use]
    pub fn read_only(mut self, on: bool) -> Self {
        self.read_only = on;
        self
    }

    /// Rewrites args before they are shown: the class, and the args as JSON. Searches, filters and orders then leave
    /// args out, and of an entry that is no job nothing is shown but its size. Error messages are shown as they are.
    ///
    /// ```
    /// use cogworker_web::WebOptions;
    ///
    /// let options = WebOptions::new().redact_args(|class, args| match class {
    ///     "ChargeCustomerJob" => r#"["…"]"#.to_owned(),
    ///     _ => args.to_owned(),
    /// });
    /// ```
    #[must_use]
    pub fn redact_args(mut self, redact: impl Fn(&str, &str) -> String + Send + Sync + 'static) -> Self {
        self.redaction = Some(Arc::new(redact));
        self
    }

    /// One more origin whose pages may act here, such as `https://ops.example`: behind a proxy that rewrites
    /// `Host`.
    #[must_use]
    pub fn trusted_origin(mut self, origin: impl Into<String>) -> Self {
        self.trusted_origins.push(origin.into().trim_end_matches('/').to_owned());
        self
    }

    /// Asked first whether a request may change something.
    #[must_use]
    pub fn csrf_rule(mut self, rule: CsrfRule) -> Self {
        self.csrf_rule = Some(rule);
        self
    }

    /// Which pages may show this UI in a frame, as in a content security policy; `'self'` by default.
    #[must_use]
    pub fn frame_ancestors(mut self, sources: impl Into<String>) -> Self {
        self.frame_ancestors = sources.into().replace([';', ',', '\r', '\n'], " ");
        self
    }

    /// The header in which a proxy names who is signed in, for the log. Only behind a proxy that always sets it.
    #[must_use]
    pub fn operator_header(mut self, name: impl Into<String>) -> Self {
        self.operator_header = Some(name.into().to_ascii_lowercase());
        self
    }

    /// Whether extensions find a [`Session`](crate::Session); they do by default. The cookie is set when one
    /// writes to it.
    #[must_use]
    pub fn session(mut self, on: bool) -> Self {
        self.session = on;
        self
    }

    /// Signs the session; by default `COGWORKER_SESSION_SECRET`, else a random one per process.
    #[must_use]
    pub fn session_secret(mut self, secret: SessionSecret) -> Self {
        self.session_secret = Some(secret);
        self
    }

    /// A queue whose oldest job has waited so long needs attention; a minute by default.
    #[must_use]
    pub fn latency_threshold(mut self, latency: Duration) -> Self {
        self.latency_threshold = latency;
        self
    }

    /// A tab of the host's own. One with the same path takes the place of the earlier.
    #[must_use]
    pub fn extension(mut self, extension: Extension) -> Self {
        self.tabs.retain(|tab| tab.href.strip_prefix('/') != Some(&*extension.path));
        self.extensions.retain(|earlier| earlier.path != extension.path);
        self.tabs.push(ExtraTab { label: extension.label.clone(), href: format!("/{}", extension.path) });
        self.extensions.push(extension);
        self
    }
}
