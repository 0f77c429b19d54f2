//! Who this process is.

use std::sync::Arc;

use cogworker_core::jid::random_hex;

/// `<hostname>:<pid>:<12 hex>` (RFETCH-12). The random part tells a restarted container with the
/// same name and pid 1 from its predecessor (P-10).
pub(crate) fn new_identity() -> (Arc<str>, String) {
    let hostname = hostname();
    (identity_of(&hostname, std::process::id()).into(), hostname)
}

/// A new one for the process `pid` of this host.
pub(crate) fn identity_of(hostname: &str, pid: u32) -> String {
    format!("{hostname}:{pid}:{}", random_hex(6))
}

/// `$DYNO`, or the host's name.
pub(crate) fn hostname() -> String {
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
    resident_kb(&std::fs::read_to_string("/proc/self/status").ok()?)
}

/// Not from `statm`: that counts pages, which are not of the same size everywhere.
pub(crate) fn resident_kb(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resident_memory_is_what_the_kernel_tells_in_kib() {
        let status = "Name:\tworker\nVmHWM:\t   99999 kB\nVmRSS:\t   12345 kB\nThreads:\t4\n";
        assert_eq!(resident_kb(status), Some(12345));
        assert_eq!(resident_kb("Name:\tkthreadd\n"), None);
        assert!(rss_kb().is_some_and(|kb| kb > 1000), "{:?}", rss_kb());
    }
}
