//! Which job the address means, wherever it is by now.

use cogworker_client::{EntryFilter, SearchOrder};
use cogworker_core::formats::{JobState, RunStatus};
use cogworker_core::raw_job::RawJob;

use super::super::listing::Counts;
use super::super::place::{Located, Place, Target};
use super::super::query::JobsQuery;
use super::{Gone, Panel, detail, history, runs_of, took};
use crate::Ui;
use crate::display;
use crate::error::WebError;

/// A job that moved is looked for among so many of each state.
const SEARCHED_JOBS: u64 = 5_000;

/// The panel that the address asks for, if any.
pub(in super::super) async fn load(
    ui: &Ui,
    query: &JobsQuery,
    counts: &Counts,
) -> Result<Option<Panel>, WebError> {
    let client = ui.client();
    let here = match &query.entry {
        Some(target) => target.find(client).await?,
        None => None,
    };
    let was = query.entry.as_ref().map(|target| target.place.state().set_name());
    let (located, moved_from) = match (here, &query.selected) {
        (Some(located), _) => (Some(located), None),
        (None, Some(jid)) => (by_jid(ui, query, counts, jid).await?, was),
        (None, None) if query.entry.is_none() => return Ok(None),
        (None, None) => (None, was),
    };
    Ok(Some(match located {
        Some(located) => Panel::Job(Box::new(detail(ui, query, located, moved_from).await?)),
        None => Panel::Gone(gone(ui, query.selected.as_deref(), was).await?),
    }))
}

/// A job by its jid, in the view's own state first.
async fn by_jid(ui: &Ui, query: &JobsQuery, counts: &Counts, jid: &str) -> Result<Option<Located>, WebError> {
    let client = ui.client();
    let filter = EntryFilter::new().jid(jid);
    let mut running = counts.running.iter().enumerate();
    let mut places = vec![Place::Retry, Place::Dead, Place::Schedule];
    let mut queues: Vec<_> = counts.queues.iter().filter(|queue| queue.size.unwrap_or(0) > 0).collect();
    queues.sort_by_key(|queue| Some(&queue.name) != query.queue.as_ref());
    places.extend(queues.iter().map(|queue| Place::Queue(queue.name.clone())));
    places.sort_by_key(|place| place.state() != query.state);
    if let Some((at, job)) = running
        .find(|(_, job)| RawJob::parse(job.work.raw.get().as_bytes()).is_ok_and(|job| job.jid() == jid))
    {
        return Ok(Some(Located::running(at as u64, job)));
    }
    let mut left = 4 * SEARCHED_JOBS;
    for place in places {
        let most = SEARCHED_JOBS.min(left);
        let newest = SearchOrder::LastFirst;
        let page = match (place.set(client), &place) {
            (Some(set), Place::Dead) => set.search(&filter, newest, 0, most).await?,
            (Some(set), _) => set.search(&filter, SearchOrder::NextFirst, 0, most).await?,
            (None, Place::Queue(queue)) => client.queue(queue).search(&filter, newest, 0, most).await?,
            (None, _) => continue,
        };
        if let Some(found) = page.found.into_iter().next() {
            let target = Target { place, entry: found.entry };
            return Ok(Some(Located { target, raw: found.raw, score: found.score, running: None }));
        }
        left -= page.looked_at.min(left);
        if left == 0 {
            break;
        }
    }
    Ok(None)
}

async fn gone(ui: &Ui, jid: Option<&str>, was: Option<&'static str>) -> Result<Gone, WebError> {
    const MOVED_ON: &str = "This job has moved on";
    let left = was.map(|was| format!("It left {was}"));
    let Some(jid) = jid else {
        let what = "Somebody deleted it, or it has run.".to_owned();
        let where_not = left.unwrap_or_else(|| "It left this list".to_owned());
        return Ok(Gone { jid: String::new(), title: MOVED_ON, where_not, what, history: None });
    };
    let (status, runs) = tokio::join!(ui.client().status(jid), runs_of(ui, jid));
    let what = match (status.ok().flatten().map(|status| status.state), runs.first()) {
        (_, Some(run)) if run.status == RunStatus::Success => {
            format!("It ran with success in {}.", took(run))
        }
        (_, Some(run)) => format!("Its last run failed: {}", run.error()),
        (Some(JobState::Complete), None) => "It ran with success.".to_owned(),
        (Some(JobState::Failed), None) => "It failed.".to_owned(),
        _ if left.is_some() => "It has run, or somebody deleted it.".to_owned(),
        // Nothing tells that there ever was one.
        _ => {
            let what = "It may have run, somebody may have deleted it, or there never was one. Long lists are searched at \
                        one end.";
            return Ok(Gone {
                jid: jid.to_owned(),
                title: "No job with this id is here",
                where_not: "It was not found".to_owned(),
                what: what.to_owned(),
                history: Some(history(jid)),
            });
        }
    };
    Ok(Gone {
        jid: jid.to_owned(),
        title: MOVED_ON,
        where_not: left.unwrap_or_else(|| "It waits nowhere".to_owned()),
        what: display::shortened(&what, 300),
        history: Some(history(jid)),
    })
}
