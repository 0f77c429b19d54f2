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
        let left = left_in_two_looks(|| left_over(site))?;
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

/// A job that moves on while one looks may be missed by one look, as the last place leads back to
/// the first, but not by two in a row: nothing makes its next retry due between them.
fn left_in_two_looks(mut look: impl FnMut() -> Result<Vec<String>, Failed>) -> Result<Vec<String>, Failed> {
    let left = look()?;
    if left.is_empty() { look() } else { Ok(left) }
}

/// What is anywhere, looked for along the way that jobs take, so that one which moves on is met at
/// its next place.
fn left_over(site: &Site) -> Result<Vec<String>, Failed> {
    let mut left = Vec::new();
    let mut look = |command: &str, key: &str| -> Result<(), Failed> {
        let count = site.int(&[command, key])?;
        if count > 0 {
            left.push(format!("{count} in {key}"));
        }
        Ok(())
    };
    look("ZCARD", "cogworker:schedule")?;
    for queue in ["default", "low"] {
        look("LLEN", &format!("cogworker:queue:{queue}"))?;
    }
    for list in site.texts(&["KEYS", "cogworker:inprogress:*"])? {
        look("LLEN", &list)?;
    }
    for list in ["cogworker:unsettled", "cogworker:repeat_orphans"] {
        look("LLEN", list)?;
    }
    look("ZCARD", "cogworker:retry")?;
    Ok(left)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is found, and after how many looks.
    fn found(looks: &[&[&str]]) -> Result<(Vec<String>, usize), Failed> {
        let mut used = 0;
        let left = left_in_two_looks(|| {
            used += 1;
            Ok(looks[used - 1].iter().map(|&text| text.to_owned()).collect())
        })?;
        Ok((left, used))
    }

    #[test]
    fn only_two_empty_looks_in_a_row_are_the_end() -> Result<(), Failed> {
        assert_eq!(found(&[&[], &[]])?, (vec![], 2));
        assert_eq!(found(&[&["1 in retry"]])?, (vec!["1 in retry".to_owned()], 1));
        // The last retry went back onto its queue when the queues had been looked at.
        assert_eq!(found(&[&[], &["1 in queue"]])?, (vec!["1 in queue".to_owned()], 2));
        Ok(())
    }
}
