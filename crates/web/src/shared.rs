//! What all requests share.

use cogworker_client::Client;

use crate::failures::Failures;
use crate::options::WebOptions;
use crate::orders::Orders;
use crate::run_times::RunTimes;
use crate::schedule_runs::ScheduleRuns;
use crate::session::SessionSecret;

/// One UI.
pub(crate) struct Shared {
    pub(crate) client: Client,
    pub(crate) options: WebOptions,
    /// `None` when there are no sessions.
    pub(crate) session_secret: Option<SessionSecret>,
    /// What was asked of processes and does not show yet.
    pub(crate) orders: Orders,
    /// The jobs that failed, grouped; read at most every few seconds.
    pub(crate) failures: Failures,
    /// How periodic entries ran last, likewise.
    pub(crate) schedule_runs: ScheduleRuns,
    /// How long the runs of each class take, likewise.
    pub(crate) run_times: RunTimes,
}

impl Shared {
    pub(crate) fn new(client: Client, options: WebOptions) -> Self {
        let secret = || options.session_secret.clone().unwrap_or_else(SessionSecret::found);
        // Nobody but extensions asks for one, so without any there is nothing to warn about.
        let wanted = options.session && (!options.extensions.is_empty() || options.session_secret.is_some());
        let session_secret = wanted.then(secret);
        Self {
            client,
            session_secret,
            options,
            orders: Default::default(),
            failures: Default::default(),
            schedule_runs: Default::default(),
            run_times: Default::default(),
        }
    }
}
