//! The accessibility checker axe-core, in a page.

use std::io::Read;

use flate2::read::GzDecoder;
use serde_json::Value;

use crate::{Browser, Outcome};

/// Its script; not part of any crate that is published.
const SCRIPT: &[u8] = include_bytes!("../vendor/axe.min.js.gz");

/// WCAG 2.2 at AA, and what axe-core advises beyond it.
const RUN: &str = r#"
const done = arguments[arguments.length - 1];
axe.run(document, {
  resultTypes: ["violations"],
  runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
}).then(
  ({ violations, passes }) => done({
    rules: passes.length,
    found: violations.flatMap(({ id, help, nodes }) => nodes.map((node) => `${id}: ${help}: ${node.html.slice(0, 200)}`
      + ` (${node.target}; ${node.failureSummary?.split("\n").slice(1).join("; ").slice(0, 200)})`)),
  }),
  (error) => done({ rules: 0, found: [String(error)] }),
);
"#;

/// What a page was checked by, and what was wrong with it.
#[derive(Debug)]
pub struct Findings {
    /// Rules that had something to look at and found it right.
    pub rules: u64,
    /// One line for each element that breaks one.
    pub found: Vec<String>,
}

/// The checker's script.
///
/// # Errors
/// When the file of this crate is damaged.
pub fn script() -> Outcome<String> {
    let mut text = String::new();
    GzDecoder::new(SCRIPT).read_to_string(&mut text)?;
    Ok(text)
}

/// Checks the page that is open.
///
/// # Errors
/// When the checker cannot run in it.
pub async fn check(browser: &Browser) -> Outcome<Findings> {
    if browser.value("typeof axe").await? != "object" {
        browser.run(&script()?).await?;
    }
    let answer = browser.driver().execute_async(RUN, vec![]).await?;
    let answer = answer.json();
    let found = answer["found"].as_array().cloned().unwrap_or_default();
    let text = |line: &Value| line.as_str().unwrap_or_default().to_owned();
    Ok(Findings { rules: answer["rules"].as_u64().unwrap_or(0), found: found.iter().map(text).collect() })
}
