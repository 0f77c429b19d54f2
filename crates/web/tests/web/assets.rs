//! The UI's own files.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use axum::body::{Body, to_bytes};
use axum::http::{Request, StatusCode};
use sha2::{Digest, Sha256};
use tower::ServiceExt;

use crate::support::{Outcome, ROOT, Site};

#[tokio::test]
async fn every_file_that_a_page_names_is_served_and_kept_for_ever_webc_20() -> Outcome {
    let site = Site::start().await?;
    let page = site.get("/overview").await;
    let named: Vec<&str> = page.links().into_iter().filter(|link| link.contains("/assets/")).collect();
    assert!(named.len() > 5);
    for link in named {
        let path = link.split('#').next().unwrap_or_default().strip_prefix(ROOT).unwrap_or_default();
        let answer = site.get(path).await;
        assert_eq!(answer.status, StatusCode::OK, "{path}");
        assert_eq!(answer.header("cache-control"), "public, max-age=31536000, immutable", "{path}");
    }
    for (name, kind, least) in [
        ("htmx.min.js", "text/javascript", 10_000),
        ("chart.umd.min.js", "text/javascript", 100_000),
        ("ag-grid-community.min.js", "text/javascript", 100_000),
        ("app.css", "text/css", 10_000),
        ("inter-latin.woff2", "font/woff2", 10_000),
        ("icons.svg", "image/svg+xml", 1000),
    ] {
        let answer = site.get(&format!("/assets/{name}")).await;
        assert!(answer.header("content-type").starts_with(kind), "{name}");
        assert!(answer.body.len() > least, "{name}: {}", answer.body.len());
        assert_eq!(answer.header("cache-control"), "no-cache", "WEBC-22: {name}");
    }
    for path in ["/assets/vendor.json", "/assets/../Cargo.toml", "/assets/css/10-tokens.css", "/assets/"] {
        assert_eq!(site.get(path).await.status, StatusCode::NOT_FOUND, "{path}");
    }
    Ok(())
}

#[tokio::test]
async fn a_file_is_sent_compressed_and_not_twice() -> Outcome {
    let site = Site::start().await?;
    let ask = async |name: &str, header: &str, value: &str| {
        let request = Request::get(format!("{ROOT}/assets/{name}")).header(header, value).body(Body::empty());
        site.app.clone().oneshot(request.unwrap()).await.unwrap()
    };
    let header = |response: &axum::response::Response, name: &str| {
        response
            .headers()
            .get(name)
            .map(|value| value.to_str().unwrap_or_default().to_owned())
            .unwrap_or_default()
    };
    for name in ["htmx.min.js", "app.css"] {
        let plain = site.get(&format!("/assets/{name}")).await;
        let gzip = ask(name, "accept-encoding", "deflate, gzip;q=1.0").await;
        assert_eq!(header(&gzip, "content-encoding"), "gzip");
        let bytes = to_bytes(gzip.into_body(), usize::MAX).await?;
        let mut text = String::new();
        flate2::read::GzDecoder::new(&*bytes).read_to_string(&mut text)?;
        assert!(text == plain.body && bytes.len() * 2 < text.len(), "{name}");
        let known = ask(name, "if-none-match", plain.header("etag")).await;
        assert_eq!(known.status(), StatusCode::NOT_MODIFIED);
    }
    assert_eq!(header(&ask("htmx.min.js", "accept-encoding", "gzip, br").await, "content-encoding"), "br");
    Ok(())
}

#[test]
fn vendored_files_are_those_that_were_written_down() -> Outcome {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/vendor");
    let list: Vec<BTreeMap<String, String>> =
        serde_json::from_slice(&std::fs::read(folder.join("vendor.json"))?)?;
    let sha256 =
        |bytes: &[u8]| Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    assert!(list.len() > 5);
    for file in list {
        let name = &file["name"];
        let package = file["package"].rsplit('/').next().unwrap_or_default();
        assert!(folder.join(format!("LICENSE-{package}.txt")).is_file(), "{name}");
        let Some(gz_sha256) = file.get("gz_sha256") else {
            assert_eq!(sha256(&std::fs::read(folder.join(name))?), file["sha256"], "{name}");
            continue;
        };
        let gzip = std::fs::read(folder.join(format!("{name}.gz")))?;
        assert_eq!(&sha256(&gzip), gz_sha256, "{name}");
        let mut plain = Vec::new();
        flate2::read::GzDecoder::new(&*gzip).read_to_end(&mut plain)?;
        assert_eq!(sha256(&plain), file["sha256"], "{name}");
        assert_eq!(sha256(&std::fs::read(folder.join(format!("{name}.br")))?), file["br_sha256"], "{name}");
    }
    Ok(())
}

#[test]
fn no_stylesheet_or_script_of_ours_names_another_host_webc_21() -> Outcome {
    let assets = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets");
    for folder in [assets.clone(), assets.join("css"), assets.join("js")] {
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            if path.extension().is_some_and(|kind| kind == "css" || kind == "js") {
                let text = std::fs::read_to_string(&path)?;
                assert!(!text.contains("http://") && !text.contains("https://"), "{}", path.display());
                assert!(!text.contains("eval(") && !text.contains("new Function"), "{}", path.display());
            }
        }
    }
    Ok(())
}
