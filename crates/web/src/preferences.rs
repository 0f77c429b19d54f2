//! What a browser prefers, kept in cookies, so that the first paint is right and no script is needed.

use axum::http::HeaderMap;
use axum_extra::extract::CookieJar;
use axum_extra::extract::cookie::{Cookie, SameSite};

pub(crate) const THEME: &str = "cogworker.theme";
pub(crate) const WIDTH: &str = "cogworker.width";

/// Light or dark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Theme {
    /// Dark on light.
    Light,
    /// Light on dark.
    Dark,
}

impl Theme {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Light => "light",
            Self::Dark => "dark",
        }
    }

    pub(crate) fn from_name(name: &str) -> Option<Self> {
        [Self::Light, Self::Dark].into_iter().find(|theme| theme.name() == name)
    }
}

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Preferences {
    /// `None` leaves it to the system.
    pub(crate) theme: Option<Theme>,
    /// The page as wide as the window.
    pub(crate) wide: bool,
}

impl Preferences {
    pub(crate) fn read(headers: &HeaderMap) -> Self {
        let cookies = CookieJar::from_headers(headers);
        let value = |name| cookies.get(name).map(|cookie| cookie.value().to_owned()).unwrap_or_default();
        Self { theme: Theme::from_name(&value(THEME)), wide: value(WIDTH) == "wide" }
    }
}

/// The script writes the same cookies.
pub(crate) fn cookie(name: &'static str, value: String, path: &str) -> Cookie<'static> {
    Cookie::build((name, value)).path(path.to_owned()).same_site(SameSite::Lax).permanent().build()
}
