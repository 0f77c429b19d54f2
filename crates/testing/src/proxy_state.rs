//! What the fault proxy knows: its rules, and its connections.

use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use crate::Fault;
use crate::proxy_link::{Link, Progress, reset_on_close};

/// How long the upstream may take to accept a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(crate) struct ProxyState {
    pub(crate) rules: Rules,
    pub(crate) links: BTreeMap<u64, Link>,
    pub(crate) upstream: SocketAddr,
    pub(crate) accepted: u64,
    pub(crate) stopped: bool,
}

/// What happens to requests and replies, and what has happened so far.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    pub(crate) fault: Fault,
    pub(crate) cut_before_request: Needles,
    pub(crate) cut_before_reply: Needles,
    pub(crate) requests_seen: u64,
    pub(crate) requests_lost: u64,
    pub(crate) replies_lost: u64,
}

impl ProxyState {
    pub(crate) fn new(upstream: SocketAddr) -> Self {
        Self { rules: Rules::default(), links: BTreeMap::new(), upstream, accepted: 0, stopped: false }
    }

    pub(crate) fn set_fault(&mut self, fault: Fault) {
        self.rules.fault = fault;
        if fault.delivers_replies() {
            let (lost, kept) =
                std::mem::take(&mut self.links).into_iter().partition(|(_, link)| link.lost_a_reply);
            self.links = kept;
            let lost: BTreeMap<u64, Link> = lost;
            lost.into_values().for_each(Link::cut);
        }
    }

    pub(crate) fn cut(&mut self) {
        std::mem::take(&mut self.links).into_values().for_each(Link::cut);
    }

    /// Accepts one connection, when there is one, and links it to the upstream.
    pub(crate) fn accept(&mut self, listener: &TcpListener) {
        let Ok((client, _)) = listener.accept() else { return };
        self.accepted += 1;
        if self.rules.fault != Fault::Refuse
            && let Ok(server) = TcpStream::connect_timeout(&self.upstream, CONNECT_TIMEOUT)
        {
            if let Ok(link) = Link::new(client, server) {
                self.links.insert(self.accepted, link);
            }
            return;
        }
        reset_on_close(&client);
    }

    /// Moves what waits on one link.
    pub(crate) fn pump(&mut self, id: u64) {
        let Some(link) = self.links.get_mut(&id) else { return };
        let progress = match self.rules.fault {
            Fault::BlackHole => Progress::Open,
            _ => link.pump(&mut self.rules),
        };
        if progress != Progress::Open
            && let Some(link) = self.links.remove(&id)
            && progress == Progress::Cut
        {
            link.cut();
        }
    }
}

/// Texts that are waited for, once each.
#[derive(Debug, Default)]
pub(crate) struct Needles(Vec<Vec<u8>>);

impl Needles {
    pub(crate) fn add(&mut self, needle: &[u8]) {
        self.0.push(needle.to_vec());
    }

    /// Strikes off the first needle found in `bytes`.
    pub(crate) fn take(&mut self, bytes: &[u8]) -> bool {
        let found = self.0.iter().position(|needle| contains(bytes, needle));
        found.map(|place| self.0.remove(place)).is_some()
    }
}

fn contains(bytes: &[u8], needle: &[u8]) -> bool {
    needle.is_empty() || bytes.windows(needle.len()).any(|window| window == needle)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_needle_is_found_once() {
        let mut needles = Needles::default();
        needles.add(b"LPUSH");
        needles.add(b"LPUSH");
        needles.add(b"");
        assert!(needles.take(b"*1 LPUSH"));
        assert!(needles.take(b"LPUSH 2"));
        assert!(needles.take(b"anything"));
        assert!(!needles.take(b"LPUSH 3"));
    }
}
