//! The workloads: what is run, how large, and what is read off it.

use super::system::System;

/// A workload and its size.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Workload {
    /// The name of its first metric.
    pub(crate) name: &'static str,
    /// What a system's program calls it.
    pub(crate) program: &'static str,
    pub(crate) jobs: usize,
    pub(crate) concurrency: usize,
    pub(crate) queues: usize,
    pub(crate) processes: usize,
    pub(crate) measure: Measure,
    /// Whether other systems run it too, and how often.
    peers: Peers,
}

/// What is read off a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Measure {
    /// Jobs in a second. The producer and Redis have a core each, because their placement decides.
    PinnedRate,
    /// Jobs in a second.
    Rate,
    /// The same, with what Redis and the worker spent on it.
    RateAndCosts,
    /// Until all were done, s.
    Seconds,
    /// The median and the 99th of 100, ms.
    Latency,
    /// Commands and memory without any job.
    Idle,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Peers {
    All,
    /// It takes them minutes.
    Once,
    None,
}

const BASE: Workload = Workload {
    name: "",
    program: "drain",
    jobs: 0,
    concurrency: 10,
    queues: 1,
    processes: 1,
    measure: Measure::Rate,
    peers: Peers::All,
};

/// The one that runs only when it is named.
const LONG: &str = "drain_10m";

impl Workload {
    /// All, where a drain has `jobs`.
    fn all(jobs: usize) -> Vec<Self> {
        use Measure::{Idle, Latency, PinnedRate, Rate, RateAndCosts, Seconds};
        let push = |name, jobs, measure| Self { name, program: name, jobs, measure, ..BASE };
        let drain = |name, jobs, concurrency| Self { name, jobs, concurrency, ..BASE };
        vec![
            push("push_1", jobs / 5, PinnedRate),
            Self { peers: Peers::None, ..push("push_1_bare", jobs / 5, PinnedRate) },
            push("push_50", jobs * 2 / 5, Rate),
            push("push_bulk", jobs, Rate),
            Self { measure: RateAndCosts, ..drain("drain_c10", jobs, 10) },
            drain("drain_c50", jobs, 50),
            Self { program: "drain_full", peers: Peers::None, ..drain("drain_full", jobs, 10) },
            Self { program: "drain_fail", ..drain("drain_fail", jobs / 2, 10) },
            Self { program: "drain_shared", processes: 8, peers: Peers::None, ..drain("drain_8p", jobs, 10) },
            Self { peers: Peers::Once, ..drain("drain_1m", jobs * 10, 10) },
            Self { measure: RateAndCosts, peers: Peers::None, ..drain(LONG, jobs * 100, 10) },
            Self { name: "pickup_1q", program: "pickup", jobs: 400, measure: Latency, ..BASE },
            Self { name: "pickup_3q", program: "pickup", jobs: 400, queues: 3, measure: Latency, ..BASE },
            Self { name: "delayed_late", program: "delayed_late", jobs: 2_000, measure: Latency, ..BASE },
            Self { name: "delayed_10k", program: "delayed_due", jobs: 10_000, measure: Seconds, ..BASE },
            Self { name: "idle", program: "idle", queues: 3, measure: Idle, ..BASE },
        ]
    }

    /// Those that are asked for by a part of their names.
    pub(crate) fn chosen(jobs: usize, only: &[String]) -> Result<Vec<Self>, String> {
        let all = Self::all(jobs);
        let is_meant = |name: &str| only.iter().any(|part| name.contains(part.as_str()));
        if let Some(unknown) = only.iter().find(|part| !all.iter().any(|known| known.name.contains(*part))) {
            let names: Vec<&str> = all.iter().map(|workload| workload.name).collect();
            return Err(format!("measure {unknown:?}: the workloads are {}", names.join(", ")));
        }
        let chosen =
            |workload: &Self| if only.is_empty() { workload.name != LONG } else { is_meant(workload.name) };
        Ok(all.into_iter().filter(chosen).collect())
    }

    /// Whether `system` runs it in this repeat.
    pub(crate) fn is_for(&self, system: &System, repeat: usize) -> bool {
        system.is_ours
            || match self.peers {
                Peers::All => true,
                Peers::Once => repeat == 1,
                Peers::None => false,
            }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(only: &[&str]) -> Vec<&'static str> {
        let only: Vec<String> = only.iter().map(|part| (*part).to_owned()).collect();
        Workload::chosen(100_000, &only).unwrap().iter().map(|workload| workload.name).collect()
    }

    #[test]
    fn parts_of_names_choose_and_the_long_one_must_be_named() {
        assert_eq!(
            names(&["push_", "delayed_10k"]),
            ["push_1", "push_1_bare", "push_50", "push_bulk", "delayed_10k"]
        );
        assert_eq!(names(&["drain_10m"]), ["drain_10m"]);
        assert!(!names(&[]).contains(&"drain_10m"));
    }

    #[test]
    fn an_unknown_name_is_refused_and_the_known_ones_are_told() {
        let error = Workload::chosen(100_000, &["drain_c11".into()]).unwrap_err();
        assert!(error.starts_with("measure \"drain_c11\": the workloads are push_1, "), "{error}");
    }
}
