//! The rows of a view: read straight from where jobs stand, or searched in bounded slices.

use cogworker_client::{Found, QueueInfo, RunningJob, SearchOrder, SearchPage};

use super::place::{Located, Place, Target};
use super::query::{JobsQuery, State};
use super::row::JobRow;
use crate::Ui;
use crate::display;
use crate::error::WebError;
use crate::pager::Pager;

/// Jobs on a page.
const PER_PAGE: u64 = 50;
/// A search looks at so many entries; the next is a link away.
const LOOK: u64 = 10_000;
/// Jobs that fill so much are searched no further: they may be large.
const LOOK_BYTES: usize = 8 << 20;

/// How many jobs there are in each state.
pub(super) struct Counts {
    pub(super) queues: Vec<QueueInfo>,
    pub(super) running: Vec<RunningJob>,
    scheduled: u64,
    retrying: u64,
    dead: u64,
}

impl Counts {
    pub(super) async fn read(ui: &Ui) -> Result<Self, WebError> {
        let client = ui.client();
        let (schedule, retries, dead) = (client.schedule(), client.retries(), client.dead());
        let (queues, running, scheduled, retrying, dead) = tokio::join!(
            client.queues(),
            client.running_jobs(),
            schedule.size(),
            retries.size(),
            dead.size()
        );
        let mut running = running?;
        // The newest first, as elsewhere; equal ones in an order that stays.
        running.sort_by(|a, b| {
            (b.work.run_at, &a.identity, &a.slot).cmp(&(a.work.run_at, &b.identity, &b.slot))
        });
        Ok(Self { queues: queues?, running, scheduled: scheduled?, retrying: retrying?, dead: dead? })
    }

    pub(super) fn of(&self, state: State) -> u64 {
        match state {
            State::All => State::ALL[1..].iter().map(|state| self.of(*state)).sum(),
            State::Enqueued => self.queues.iter().filter_map(|queue| queue.size).sum(),
            State::Running => self.running.len() as u64,
            State::Scheduled => self.scheduled,
            State::Retrying => self.retrying,
            State::Dead => self.dead,
        }
    }

    /// Where the jobs of a view stand, one place after the other.
    fn segments(&self, query: &JobsQuery) -> Vec<(Place, u64)> {
        let of_queue = |queue: &&QueueInfo| {
            query.state == State::All || query.queue.as_ref().is_none_or(|name| *name == queue.name)
        };
        let queues = self.queues.iter().filter(of_queue);
        let mut queues: Vec<(Place, u64)> =
            queues.filter_map(|queue| Some((Place::Queue(queue.name.clone()), queue.size?))).collect();
        if let (State::Enqueued, Some(queue), true) = (query.state, &query.queue, queues.is_empty()) {
            // One that is not listed may hold jobs all the same.
            queues.push((Place::Queue(queue.clone()), 0));
        }
        let running = (Place::Running, self.of(State::Running));
        let sets = [Place::Schedule, Place::Retry, Place::Dead].map(|place| {
            let size = self.of(place.state());
            (place, size)
        });
        match query.state {
            State::All => [running].into_iter().chain(queues).chain(sets).collect(),
            State::Enqueued => queues,
            State::Running => vec![running],
            state => sets.into_iter().filter(|(place, _)| place.state() == state).collect(),
        }
    }
}

/// A page of a view.
pub(super) struct Listing {
    pub(super) rows: Vec<JobRow>,
    /// How many jobs there are in this state.
    pub(super) total: u64,
    /// How many of those that were looked at match; `None` when nothing is asked for.
    pub(super) matched: Option<u64>,
    /// How many were looked at, up to here.
    pub(super) looked_at: u64,
    pub(super) from: u64,
    pub(super) previous: Option<String>,
    pub(super) next: Option<String>,
    /// The next slice of a search.
    pub(super) further: Option<String>,
    /// `1 to 50 of 1,204`.
    pub(super) shown: String,
}

impl Listing {
    /// True when what matches is known, and not only among the first.
    pub(super) fn is_complete(&self) -> bool {
        self.from == 0 && self.further.is_none()
    }

    /// How many match; `None` when nobody looked at all of them.
    pub(super) fn meant(&self) -> Option<u64> {
        match self.matched {
            None => Some(self.total),
            matched => matched.filter(|_| self.is_complete()),
        }
    }

    pub(super) fn how_far(&self) -> String {
        format!(
            "Looked at {} to {} of {}.",
            display::number(self.from.min(self.looked_at) + 1),
            display::number(self.looked_at),
            display::number(self.total.max(self.looked_at))
        )
    }
}

pub(super) async fn load(ui: &Ui, query: &JobsQuery, counts: &Counts) -> Result<Listing, WebError> {
    let mut segments = counts.segments(query);
    let straight = query.reads_straight().filter(|_| !query.is_filtered());
    let mut reader = Reader { ui, query, counts, looked_at: 0, found: Vec::new(), bytes: 0 };
    match straight {
        Some(reversed) => {
            if reversed {
                segments.reverse();
            }
            reader.read(&segments, reversed, query.from, PER_PAGE, LOOK_BYTES).await?;
            Ok(reader.straight(&segments))
        }
        None => {
            reader.read(&segments, false, query.from, LOOK, LOOK_BYTES).await?;
            reader.searched(&segments)
        }
    }
}

struct Reader<'a> {
    ui: &'a Ui,
    query: &'a JobsQuery,
    counts: &'a Counts,
    looked_at: u64,
    found: Vec<Located>,
    bytes: usize,
}

impl Reader<'_> {
    /// Looks at up to `most` entries after `skip` others.
    async fn read(
        &mut self,
        segments: &[(Place, u64)],
        reversed: bool,
        mut skip: u64,
        most: u64,
        bytes: usize,
    ) -> Result<(), WebError> {
        for (place, size) in segments {
            let is_last_resort = segments.len() == 1;
            if skip >= *size && !is_last_resort {
                skip -= size;
                continue;
            }
            if self.looked_at >= most || self.bytes >= bytes {
                break;
            }
            let wanted = most - self.looked_at;
            // What came meanwhile is on the next page.
            let wanted = if is_last_resort { wanted } else { wanted.min(size - skip) };
            let page = self.look(place, reversed, skip, wanted).await?;
            self.looked_at += page.looked_at;
            skip = 0;
            let short = page.looked_at < wanted;
            for found in page.found {
                self.bytes += found.raw.len();
                self.found.push(self.located(place, found));
            }
            if short && self.bytes >= bytes {
                break;
            }
        }
        Ok(())
    }

    async fn look(
        &self,
        place: &Place,
        reversed: bool,
        skip: u64,
        most: u64,
    ) -> Result<SearchPage, WebError> {
        let filter = self.query.filter(place);
        let newest_first = matches!(place, Place::Queue(_) | Place::Dead) != reversed;
        let order = if newest_first { SearchOrder::LastFirst } else { SearchOrder::NextFirst };
        let client = self.ui.client();
        if let Some(set) = place.set(client) {
            return Ok(set.search(&filter, order, skip, most).await?);
        }
        Ok(match place {
            Place::Queue(queue) => client.queue(queue).search(&filter, order, skip, most).await?,
            _ => SearchPage::of_running(&self.counts.running, &filter, skip, most),
        })
    }

    fn located(&self, place: &Place, found: Found) -> Located {
        let running = match place {
            Place::Running => self.counts.running.get(found.place as usize),
            _ => None,
        };
        let target = Target { place: place.clone(), entry: found.entry };
        let running = running.and_then(|job| Located::running(found.place, job).running);
        Located { target, raw: found.raw, score: found.score, running }
    }

    fn total(&self, segments: &[(Place, u64)]) -> u64 {
        segments.iter().map(|(_, size)| size).sum::<u64>()
    }

    fn straight(self, segments: &[(Place, u64)]) -> Listing {
        let Self { ui, query, looked_at, .. } = self;
        let total = self.total(segments).max(if looked_at > 0 { query.from + looked_at } else { 0 });
        let from = query.from;
        let at = |from| JobsQuery { from, ..query.list() }.href();
        let end = from + looked_at;
        let shown = match looked_at {
            0 => "none".to_owned(),
            _ => {
                let number = display::number;
                format!("{} to {} of {}", number(from + 1), number(end), number(total))
            }
        };
        Listing {
            rows: self.found.iter().map(|located| JobRow::new(ui, query, located)).collect(),
            total,
            matched: None,
            looked_at: end,
            from,
            previous: (from > 0).then(|| at(from.min(total).saturating_sub(PER_PAGE))),
            next: (looked_at > 0 && end < total).then(|| at(end)),
            further: None,
            shown,
        }
    }

    fn searched(self, segments: &[(Place, u64)]) -> Result<Listing, WebError> {
        let Self { ui, query, looked_at, .. } = self;
        let total = self.total(segments);
        let slice = JobsQuery { from: query.from, ..query.list() };
        let pager =
            Pager::new(query.page.as_deref(), PER_PAGE as usize, self.found.len() as u64, slice.href());
        let mut rows: Vec<JobRow>;
        let page = (pager.skip(), PER_PAGE as usize);
        if let Some(sort) = query.sort {
            rows = self.found.iter().map(|located| JobRow::new(ui, query, located)).collect();
            rows.sort_by(|a, b| {
                let order = a.compare(b, sort.key);
                if sort.descending { order.reverse() } else { order }
            });
            rows = rows.into_iter().skip(page.0).take(page.1).collect();
        } else {
            let found = self.found.iter().skip(page.0).take(page.1);
            rows = found.map(|located| JobRow::new(ui, query, located)).collect();
        }
        let end = query.from + looked_at;
        let further = looked_at > 0 && end < total;
        Ok(Listing {
            rows,
            total,
            matched: query.is_filtered().then_some(self.found.len() as u64),
            looked_at: end,
            from: query.from,
            previous: pager.previous(),
            next: pager.next(),
            further: further.then(|| JobsQuery { from: end, ..query.list() }.href()),
            shown: pager.shown(),
        })
    }
}
