//! Who this process is.

use std::sync::Arc;

use cogworker_core::jid::random_hex;

/// `<hostname>:<pid>:<12 hex>` (RFETCH-12). The random part tells a restarted container with the
/// same name and pid 1 from its predecessor (P-10).
pub(crate) fn new_identity() -> (Arc<str>, String) {
    let hostname = hostname();
    (format!("{hostname}:{}:{}", std::process::id(), random_hex(6)).into(), hostname)
}

/// `$DYNO`, or the host's name.
fn hostname() -> String {
    let from_env = std::env::var("DYNO").ok();
    let from_kernel = || std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    from_env
        .or_else(from_kernel)
        .or_else(|| std::env::var("HOSTNAME").ok())
        .map(|name| name.trim().to_owned())
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| "localhost".to_owned())
}

/// Resident memory of this process, KiB, where the system tells.
pub(crate) fn rss_kb() -> Option<u64> {
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = statm.split_whitespace().nth(1)?.parse().ok()?;
    Some(pages * 4)
}
