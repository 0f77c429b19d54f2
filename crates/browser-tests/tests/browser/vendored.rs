//! The accessibility checker's file.

use std::collections::BTreeMap;
use std::path::Path;

use cogworker_browser_tests::{Outcome, axe};
use sha2::{Digest, Sha256};

use crate::ensure;

pub(crate) fn the_checker_is_the_one_that_was_written_down() -> Outcome {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("vendor");
    let list: Vec<BTreeMap<String, String>> =
        serde_json::from_slice(&std::fs::read(folder.join("vendor.json"))?)?;
    let hash: String =
        Sha256::digest(axe::script()?.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
    ensure!(list.len() == 1 && list[0]["sha256"] == hash, "{hash}");
    ensure!(folder.join("LICENSE-axe-core.txt").is_file(), "its licence is missing");
    Ok(())
}
