//! A Redis Cluster of a test's own.

use std::ops::Range;
use std::time::Duration;

use crate::certificates::Certificates;
use crate::{TestRedis, TestRedisError, TestRedisOptions, wait_until};

const NODES: usize = 3;

/// How many slots every cluster has.
const SLOTS: usize = 16_384;

/// How long the nodes may take to agree. Normal is two seconds: a node waits so long before it serves anything.
const DEADLINE: Duration = Duration::from_secs(30);

/// Three private servers which share the slots of a Redis Cluster, without replicas.
///
/// Each is a [`TestRedis`] that can be killed, paused and restarted; [`wait_until_ok`](Self::wait_until_ok) waits
/// for the cluster to have recovered.
///
/// ```no_run
/// use cogworker_testing::TestCluster;
///
/// # fn main() -> Result<(), cogworker_testing::TestRedisError> {
/// let cluster = TestCluster::start()?;
/// let node = cluster.node_of("{cogworker}:queue:low")?;
/// assert_eq!(node.cli(&["LPUSH", "{cogworker}:queue:low", "{}"]), 1);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct TestCluster {
    nodes: Vec<TestRedis>,
}

impl TestCluster {
    /// Starts the nodes, and returns when each of them serves its slots and knows where the others are.
    ///
    /// # Errors
    /// As [`TestRedis::start`], and [`TestRedisError::Late`] when the nodes do not agree.
    pub fn start() -> Result<Self, TestRedisError> {
        Self::start_with(TestRedisOptions::new())
    }

    /// Starts nodes with these options. A fixed port is ignored, since each needs its own.
    ///
    /// # Errors
    /// As [`TestCluster::start`].
    pub fn start_with(options: TestRedisOptions) -> Result<Self, TestRedisError> {
        let options = TestRedisOptions { cluster: true, port: None, ..options };
        let mut nodes: Vec<TestRedis> = Vec::with_capacity(NODES);
        for _ in 0..NODES {
            let mut options = options.clone();
            if let (Some(first), Some(tls)) = (nodes.first(), &mut options.tls) {
                *tls = Certificates::CopyOf(first.folder().to_owned());
            }
            nodes.push(options.start()?);
        }
        let cluster = Self { nodes };
        cluster.form()?;
        cluster.wait_until_ok()?;
        Ok(cluster)
    }

    fn form(&self) -> Result<(), TestRedisError> {
        for (place, node) in self.nodes.iter().enumerate() {
            // Different from the start: nodes with equal epochs would have to sort that out first.
            node.order(&["CLUSTER", "SET-CONFIG-EPOCH", &(place + 1).to_string()])?;
            let slots: Vec<String> = slots_of(place).map(|slot| slot.to_string()).collect();
            let mut command = vec!["CLUSTER", "ADDSLOTS"];
            command.extend(slots.iter().map(String::as_str));
            node.order(&command)?;
        }
        for node in &self.nodes[1..] {
            self.nodes[0].order(&["CLUSTER", "MEET", "127.0.0.1", &node.port().to_string()])?;
        }
        Ok(())
    }

    /// The nodes, those that were killed included.
    pub fn nodes(&self) -> &[TestRedis] {
        &self.nodes
    }

    /// The URLs of the nodes; a client finds all of them through any one.
    pub fn urls(&self) -> Vec<String> {
        self.nodes.iter().map(TestRedis::url).collect()
    }

    /// The node that holds a key. The part of a key between `{` and `}`, if there is one, decides alone.
    ///
    /// # Errors
    /// As [`TestRedis::command`].
    pub fn node_of(&self, key: &str) -> Result<&TestRedis, TestRedisError> {
        let mut outcome = Err(TestRedisError::NotRunning);
        for node in self.nodes.iter().filter(|node| node.is_running()) {
            let reply = node.command(&["CLUSTER", "KEYSLOT", key])?;
            let slot = reply.as_int().and_then(|slot| usize::try_from(slot).ok());
            let place = slot.and_then(|slot| (0..NODES).find(|place| slots_of(*place).contains(&slot)));
            outcome = match place {
                Some(place) => return Ok(&self.nodes[place]),
                None => Err(TestRedisError::Refused { command: format!("CLUSTER KEYSLOT {key}"), reply }),
            };
        }
        outcome
    }

    /// Waits until every node finds the whole cluster in order.
    ///
    /// # Errors
    /// [`TestRedisError::Late`], with what the nodes said last.
    pub fn wait_until_ok(&self) -> Result<(), TestRedisError> {
        let states = || self.nodes.iter().map(|node| node.command(&["CLUSTER", "INFO"]));
        let ok = wait_until(DEADLINE, || {
            states().all(|state| {
                state.is_ok_and(|state| {
                    let text = state.as_str().unwrap_or_default();
                    text.contains("cluster_state:ok")
                        && text.contains(&format!("cluster_known_nodes:{NODES}\r"))
                })
            })
        });
        if ok {
            return Ok(());
        }
        let found = states().map(|state| format!("{state:?}")).collect::<Vec<_>>().join("\n");
        let what = "every node find the cluster in order".to_owned();
        Err(TestRedisError::Late { what, deadline: DEADLINE, found })
    }
}

/// The slots of the node at one place.
fn slots_of(place: usize) -> Range<usize> {
    place * SLOTS / NODES..(place + 1) * SLOTS / NODES
}
