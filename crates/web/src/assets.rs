//! The UI's own files: stylesheet, scripts, icons, font.
//!
//! They are part of the program; a debug build reads them from the source folder each time. What is asked for by
//! the address that pages use, which has the file's version in it, may be kept for ever.

use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{Read, Write};
use std::sync::OnceLock;

use axum::body::Body;
use axum::extract::RawQuery;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use rust_embed::RustEmbed;

use crate::error::WebError;
use crate::form::Name;

#[derive(RustEmbed)]
#[folder = "assets/"]
struct Files;

/// One file as it is served.
struct Asset {
    version: String,
    content_type: &'static str,
    plain: Bytes,
    gzip: Option<Bytes>,
    brotli: Option<Bytes>,
}

type Bytes = Cow<'static, [u8]>;

/// Everything that is served, by name. The stylesheet and the script are joined from the parts in a folder.
const SERVED: [&str; 13] = [
    "inter-latin.woff2",
    "icons.svg",
    "favicon.svg",
    "app.css",
    "app.js",
    "charts.js",
    "grid.css",
    "history.js",
    "htmx.min.js",
    "idiomorph-ext.min.js",
    "chart.umd.min.js",
    "ag-grid-community.min.js",
    "ag-grid.min.css",
];
const THEME_OF_GRID: &str = "ag-theme-alpine.min.css";
/// In the order in which they depend on each other.
const SCRIPTS: [&str; 6] = ["times.js", "live.js", "actions.js", "select.js", "preferences.js", "keys.js"];

fn names() -> impl Iterator<Item = &'static str> {
    SERVED.into_iter().chain([THEME_OF_GRID])
}

fn all() -> Vec<(&'static str, Asset)> {
    names().filter_map(|name| Some((name, Asset::read(name)?))).collect()
}

/// Looks at one file; a release build reads and compresses them all once.
fn with_asset<T>(name: &str, look: impl FnOnce(&Asset) -> T) -> Option<T> {
    if cfg!(debug_assertions) {
        let name = names().find(|known| *known == name)?;
        return Asset::read(name).map(|asset| look(&asset));
    }
    kept_asset(name).map(look)
}

fn kept_asset(name: &str) -> Option<&'static Asset> {
    static ALL: OnceLock<Vec<(&'static str, Asset)>> = OnceLock::new();
    ALL.get_or_init(all).iter().find(|(known, _)| *known == name).map(|(_, asset)| asset)
}

/// The version that a page's link has in it.
pub(crate) fn version(name: &str) -> String {
    let version = if cfg!(debug_assertions) { Asset::fingerprint(name) } else { kept_version(name) };
    version.unwrap_or_default()
}

fn kept_version(name: &str) -> Option<String> {
    static VERSIONS: OnceLock<Vec<(&'static str, String)>> = OnceLock::new();
    let read = || names().filter_map(|name| Some((name, Asset::fingerprint(name)?))).collect();
    VERSIONS.get_or_init(read).iter().find(|(known, _)| *known == name).map(|(_, version)| version.clone())
}

impl Asset {
    fn read(name: &str) -> Option<Self> {
        let content_type = match name.rsplit('.').next()? {
            "js" => "text/javascript; charset=utf-8",
            "css" => "text/css; charset=utf-8",
            "svg" => "image/svg+xml",
            "woff2" => "font/woff2",
            _ => return None,
        };
        let plain = Self::content(name)?;
        let stored = |ending: &str| Files::get(&format!("vendor/{name}.{ending}")).map(|file| file.data);
        let gzip = match (stored("gz"), content_type) {
            (None, "font/woff2") => None,
            (None, _) => Some(compressed(&plain)),
            (gzip, _) => gzip,
        };
        Some(Self { version: Self::fingerprint(name)?, content_type, brotli: stored("br"), gzip, plain })
    }

    /// The hash of its content; of a compressed one, of that.
    fn fingerprint(name: &str) -> Option<String> {
        match Files::get(&format!("vendor/{name}.gz")) {
            Some(file) => Some(hash(&file.data)),
            None => Self::content(name).map(|content| hash(&content)),
        }
    }

    /// A file without compression.
    fn content(name: &str) -> Option<Bytes> {
        match name {
            "app.css" => {
                let mut parts: Vec<_> = Files::iter().filter(|path| path.starts_with("css/")).collect();
                parts.sort_unstable();
                let css: String = parts.iter().filter_map(|path| text(path)).collect();
                // The font's address must have its version too, or each page would ask for it again.
                // Not by `version`, which may be what waits for this.
                let font = format!("inter-latin.woff2?v={}", Self::fingerprint("inter-latin.woff2")?);
                Some(css.replace("inter-latin.woff2", &font).into_bytes().into())
            }
            "app.js" => {
                let parts: String = SCRIPTS.iter().filter_map(|name| text(&format!("js/{name}"))).collect();
                Some(format!("(() => {{\n\"use strict\";\n{parts}}})();\n").into_bytes().into())
            }
            name => match Files::get(name).or_else(|| Files::get(&format!("vendor/{name}"))) {
                Some(file) => Some(file.data),
                None => {
                    let gzip = Files::get(&format!("vendor/{name}.gz"))?;
                    let mut plain = Vec::new();
                    GzDecoder::new(&*gzip.data).read_to_end(&mut plain).ok()?;
                    Some(plain.into())
                }
            },
        }
    }
}

fn text(path: &str) -> Option<String> {
    Files::get(path).map(|file| String::from_utf8_lossy(&file.data).into_owned())
}

fn compressed(plain: &[u8]) -> Bytes {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    // Writing to memory cannot fail.
    let _ = encoder.write_all(plain);
    encoder.finish().unwrap_or_default().into()
}

fn hash(content: &[u8]) -> String {
    let mut hasher = DefaultHasher::new();
    content.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

pub(crate) async fn serve(
    Name(name): Name,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, WebError> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let accepted = text(header::ACCEPT_ENCODING);
    let accepts =
        |coding: &str| accepted.split(',').any(|part| part.split(';').next().unwrap_or("").trim() == coding);
    let respond = |asset: &Asset| {
        let tag = format!("\"{}\"", asset.version);
        let is_versioned = query.as_deref() == Some(&*format!("v={}", asset.version));
        let caching = if is_versioned { "public, max-age=31536000, immutable" } else { "no-cache" };
        let common = [
            (header::ETAG, tag.clone()),
            (header::CACHE_CONTROL, caching.to_owned()),
            (header::VARY, "accept-encoding".to_owned()),
            (header::CONTENT_TYPE, asset.content_type.to_owned()),
        ];
        if text(header::IF_NONE_MATCH).contains(&tag) {
            return (StatusCode::NOT_MODIFIED, common).into_response();
        }
        let (coding, body) = match (&asset.brotli, &asset.gzip) {
            (Some(brotli), _) if accepts("br") => (Some("br"), brotli),
            (_, Some(gzip)) if accepts("gzip") => (Some("gzip"), gzip),
            _ => (None, &asset.plain),
        };
        let body = match body {
            Cow::Borrowed(bytes) => Body::from(*bytes),
            Cow::Owned(bytes) => Body::from(bytes.clone()),
        };
        let mut response = (common, body).into_response();
        if let Some(coding) = coding {
            response.headers_mut().insert(header::CONTENT_ENCODING, header::HeaderValue::from_static(coding));
        }
        response
    };
    with_asset(&name, respond).ok_or(WebError::NotFound)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    use super::*;

    #[test]
    fn what_a_release_build_keeps_is_what_a_debug_build_reads() {
        let (told, heard) = mpsc::channel();
        // On a thread of its own: what waits for itself would never end.
        thread::spawn(move || {
            let kept: Vec<_> = names()
                .map(|name| {
                    let asset = kept_asset(name).map(|asset| (asset.version.clone(), asset.plain.len()));
                    (name, kept_version(name), asset)
                })
                .collect();
            let _ = told.send(kept);
        });
        let kept = heard.recv_timeout(Duration::from_secs(60)).unwrap_or_default();
        assert_eq!(kept.len(), names().count(), "the files were not read");
        for (name, version, asset) in kept {
            let read = Asset::read(name).map(|asset| (asset.version, asset.plain.len()));
            assert!(read.is_some(), "{name}");
            assert_eq!((version, asset), (Asset::fingerprint(name), read), "{name}");
        }
    }
}
