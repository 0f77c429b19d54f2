//! After the load: lets every job come to its end.

use std::time::{Duration, Instant};

use cogworker_testing::Fault;

use super::Failed;
use super::site::Site;

/// How long the last jobs may take.
const LIMIT: Duration = Duration::from_secs(180);

/// Waits until nothing is queued, scheduled, waiting for a retry or in progress, and ends the
/// workers. Retries are made due at once, as an operator does by "retry now".
pub(crate) fn drain(site: &Site) -> Result<(), Failed> {
    site.proxy.set(Fault::Pass);
    site.wait_for_redis()?;
    site.command(&["DEL", "cogworker:paused_queues"])?;
    let begun = Instant::now();
    loop {
        let left = left_over(site)?;
        if left.is_empty() {
            break;
        }
        if begun.elapsed() > LIMIT {
            return Err(format!("come to the end of every job: left {}", left.join(", ")).into());
        }
        for entry in site.texts(&["ZRANGE", "cogworker:retry", "0", "499"])? {
            site.command(&["ZADD", "cogworker:retry", "XX", "1", &entry])?;
        }
        site.command(&["PUBLISH", "cogworker:wake", ""])?;
        std::thread::sleep(Duration::from_millis(100));
    }
    println!("drained in {:.1} s", begun.elapsed().as_secs_f64());
    for place in site.places().iter_mut() {
        place.process.signal("TERM")?;
    }
    for place in site.places().iter_mut() {
        let status = place.process.wait(Duration::from_secs(30))?;
        if !status.success() {
            return Err(format!("end a worker: it ended with {status}").into());
        }
    }
    Ok(())
}

fn left_over(site: &Site) -> Result<Vec<String>, Failed> {
    let mut left = Vec::new();
    let mut look = |command: &str, key: &str| -> Result<(), Failed> {
        let count = site.int(&[command, key])?;
        if count > 0 {
            left.push(format!("{count} in {key}"));
        }
        Ok(())
    };
    for queue in ["default", "low"] {
        look("LLEN", &format!("cogworker:queue:{queue}"))?;
    }
    for list in ["cogworker:unsettled", "cogworker:repeat_orphans"] {
        look("LLEN", list)?;
    }
    for set in ["cogworker:schedule", "cogworker:retry"] {
        look("ZCARD", set)?;
    }
    for list in site.texts(&["KEYS", "cogworker:inprogress:*"])? {
        look("LLEN", &list)?;
    }
    Ok(left)
}
