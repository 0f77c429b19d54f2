//! Workers that take too much memory.

use crate::support::{Swarm, TestResult};

#[test]
fn a_worker_above_the_limit_is_replaced_and_its_jobs_end_first() -> TestResult {
    let mut swarm = Swarm::ready(2, &["--memory-limit", "1"], &[])?;
    let old = swarm.workers();
    for n in 0..10 {
        swarm.push("SleepJob", "[2]", &format!("j{n}"))?;
    }
    swarm.reach("both are replaced", |it| it.workers().is_disjoint(&old) && it.workers().len() >= 2)?;
    assert!(!swarm.logged(" MB: it is replaced").is_empty());
    swarm.reach("all jobs are done", |it| it.processed() == 10)?;
    assert!(swarm.logged("ERROR").is_empty());
    assert_eq!(swarm.stop()?, Some(0));
    Ok(())
}
