//! A worker process that is frozen for so long that others take it for dead, and then goes on.

use std::error::Error;

use cogworker_core::new_job::NewJob;

use crate::program::Program;
use crate::support::{Numbered, Site, TestResult, Text, reach};

const HELD: usize = 2;

/// A worker that was frozen while it ran two jobs, one of which fails, and a site where another
/// worker has run both meanwhile and is gone.
async fn frozen_while_others_ran_its_jobs() -> Result<(Site, Program), Box<dyn Error>> {
    let site = Site::start().await?;
    let frozen = Program::working_on_a_short_lease(&site.redis.url())?;
    for text in ["goes well", "fails"] {
        site.client.push(NewJob::of(&Text(text.into()))).await?;
    }
    reach("both run", || frozen.said("waits") == HELD)?;
    let other = Program::working_on_a_short_lease(&site.redis.url())?;
    other.open_gate()?;
    frozen.process.pause()?;
    reach("the other one runs both", || (site.processed(), site.failed()) == (1, 1))?;
    assert_eq!(other.runs(), HELD);
    other.stop()?;
    Ok((site, frozen))
}

/// Nothing but what the other worker and one job since then came to.
fn only_the_others_runs_count(site: &Site, frozen: &Program) -> TestResult {
    reach("the next job is counted", || site.processed() == 2)?;
    assert_eq!((site.failed(), site.members("retry"), site.members("dead")), (1, 1, 0));
    assert_eq!(site.waiting("default"), 0);
    assert_eq!(site.int(&["LLEN", &format!("cogworker:inprogress:{}", frozen.identity)]), 0);
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_jobs_of_a_frozen_process_come_to_after_others_ran_them_is_not_written() -> TestResult {
    let (site, frozen) = frozen_while_others_ran_its_jobs().await?;
    // They end in the moment in which it wakes, before it can stop them.
    frozen.open_gate()?;
    frozen.process.resume()?;
    site.client.perform_async(&Numbered(7)).await?;
    reach("it takes jobs again", || frozen.said("ran 7") == 1)?;
    only_the_others_runs_count(&site, &frozen)?;
    assert_eq!(frozen.runs(), HELD + 1, "its own came to an end: {:?}", frozen.process.log());
    frozen.stop()?;
    assert_eq!((site.processed(), site.failed(), site.waiting("default")), (2, 1, 0));
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_that_was_frozen_stops_its_own_runs_when_it_wakes() -> TestResult {
    let (site, frozen) = frozen_while_others_ran_its_jobs().await?;
    frozen.process.resume()?;
    site.client.perform_async(&Numbered(7)).await?;
    reach("it takes jobs again", || frozen.said("ran 7") == 1)?;
    only_the_others_runs_count(&site, &frozen)?;
    // Those that waited are gone: they do not notice that they may go on.
    frozen.open_gate()?;
    site.client.push(NewJob::of(&Text("later".into()))).await?;
    reach("the gate is open", || frozen.said("ran later") == 1)?;
    assert_eq!(frozen.runs(), 2, "{:?}", frozen.process.log());
    frozen.stop()
}
