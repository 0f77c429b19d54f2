//! From signs of life to a verdict.
//!
//! *Live* asks whether a restart of the process would help, *ready* whether it takes jobs now. A
//! Redis that is away makes a worker unready and leaves it live: a new process would not reach
//! Redis either. A quiet worker is unready: it was told to take no jobs, mostly because it is about
//! to be replaced, and a deployment must not count on it.

use std::time::Duration;

use super::HealthLimits;
use crate::engine::{Activity, Vitals};

/// What is known about a worker at one moment.
#[derive(Debug, Clone)]
pub(crate) struct Findings {
    pub(crate) vitals: Vitals,
    /// There is no engine yet.
    pub(crate) building: bool,
    pub(crate) stopping: bool,
    pub(crate) quiet: bool,
    /// How long Redis has been away.
    pub(crate) away_for: Option<Duration>,
    /// When the poller last showed itself.
    pub(crate) polled_ago: Option<Duration>,
}

/// Where a worker is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum State {
    Starting,
    Working,
    Quiet,
    Stopping,
}

/// What the findings mean.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) state: State,
    pub(crate) live: bool,
    pub(crate) ready: bool,
    /// Why it is not ready, the weightiest first.
    pub(crate) reasons: Vec<String>,
}

impl Verdict {
    pub(crate) fn of(findings: &Findings, limits: &HealthLimits) -> Self {
        let vitals = &findings.vitals;
        if findings.building {
            // No engine can stall or lack Redis yet, and a restart would only build anew.
            let (state, reason) = match findings.stopping {
                true => (State::Stopping, "stopping"),
                false => (State::Starting, "starting: the application is being built"),
            };
            return Self { state, live: true, ready: false, reasons: vec![reason.into()] };
        }
        let state = match vitals.beaten_ago {
            _ if findings.stopping => State::Stopping,
            None => State::Starting,
            Some(_) if findings.quiet => State::Quiet,
            Some(_) => State::Working,
        };
        let mut reasons = Vec::new();
        if vitals.stalled_for >= limits.stall {
            reasons.push(stall_reason(vitals));
        }
        match state {
            State::Stopping => reasons.push("stopping".into()),
            State::Starting => reasons.push("starting: no heartbeat has reached redis yet".into()),
            State::Quiet => reasons.push("quiet: told to take no jobs".into()),
            State::Working => reasons.extend(fetch_reason(vitals, limits)),
        }
        match (findings.away_for, vitals.failing_for) {
            (Some(away), _) => reasons.push(format!("redis is away for {}", shown(away))),
            (None, Some(failing)) if state == State::Working && !has_enough(vitals.activity) => {
                reasons.push(format!("fetching has failed for {}", shown(failing)));
            }
            _ => {}
        }
        if let Some(age) = vitals.beaten_ago.filter(|age| *age > limits.beat) {
            reasons.push(format!("the last heartbeat that reached redis is {} old", shown(age)));
        }
        if let Some(age) = findings.polled_ago.filter(|age| state == State::Working && *age > limits.poll) {
            reasons.push(format!("schedule and retry were last polled {} ago", shown(age)));
        }
        Self { state, live: vitals.stalled_for < limits.dead, ready: reasons.is_empty(), reasons }
    }
}

/// What holds the engine's thread, and for how long.
pub(crate) fn stall_reason(vitals: &Vitals) -> String {
    let stall = format!("the engine's thread has not turned for {}", shown(vitals.stalled_for));
    match vitals.polling {
        Some(class) => format!("{stall}: a job of class {class} is blocking it"),
        None => stall,
    }
}

/// By choice, or because there is enough to do, nothing is fetched.
fn has_enough(activity: Activity) -> bool {
    matches!(activity, Activity::Full | Activity::Paused | Activity::Quiet)
}

fn fetch_reason(vitals: &Vitals, limits: &HealthLimits) -> Option<String> {
    let age = vitals.activity_age;
    let lasted = shown(age);
    match vitals.activity {
        Activity::NotBegun => Some("fetching has not begun".into()),
        Activity::SteppedBack => Some(format!("stepped back for {lasted}: others may take it for dead")),
        Activity::Fetching if age > limits.slow_call => {
            Some(format!("a fetch has been under way for {lasted}"))
        }
        Activity::Waiting if vitals.overdue > limits.slow_wait => {
            Some(format!("a wait for jobs has outlived its time by {}", shown(vitals.overdue)))
        }
        Activity::Settling if age > limits.slow_call => {
            Some(format!("outcomes have been waiting to be settled for {lasted}"))
        }
        Activity::Idle if age > limits.slow_call => {
            Some(format!("nothing has been fetched or waited for in {lasted}"))
        }
        _ => None,
    }
}

fn shown(duration: Duration) -> String {
    format!("{:.1} s", duration.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use cogworker_core::redis_config::RedisConfig;

    use super::*;
    use crate::config::Config;

    const SECOND: Duration = Duration::from_secs(1);

    fn well() -> Findings {
        let vitals = Vitals {
            stalled_for: Duration::ZERO,
            polling: None,
            activity: Activity::Waiting,
            activity_age: SECOND * 9,
            overdue: Duration::ZERO,
            failing_for: None,
            fetched_ago: Some(SECOND),
            beaten_ago: Some(SECOND * 3),
            disconnected_for: None,
        };
        Findings {
            vitals,
            building: false,
            stopping: false,
            quiet: false,
            away_for: None,
            polled_ago: Some(SECOND * 5),
        }
    }

    fn limits(command_timeout: Duration) -> HealthLimits {
        let mut redis = RedisConfig::default();
        redis.command_timeout = command_timeout;
        HealthLimits::of(&Config::builder().redis(redis).build().unwrap())
    }

    /// The verdict on a worker that is well but for one thing.
    fn but(change: impl FnOnce(&mut Findings)) -> Verdict {
        let mut findings = well();
        change(&mut findings);
        Verdict::of(&findings, &limits(SECOND * 5))
    }

    #[test]
    fn a_worker_that_waits_in_a_fresh_wait_is_ready() {
        let verdict = but(|_| {});
        assert_eq!((verdict.state, verdict.live, verdict.ready), (State::Working, true, true));
        assert!(verdict.reasons.is_empty());
    }

    #[test]
    fn redis_away_makes_it_unready_and_leaves_it_live() {
        let verdict = but(|it| it.away_for = Some(SECOND * 90));
        assert_eq!((verdict.live, verdict.ready), (true, false));
        assert_eq!(verdict.reasons, ["redis is away for 90.0 s"]);
        let verdict = but(|it| it.vitals.beaten_ago = Some(SECOND * 3600));
        assert_eq!((verdict.live, verdict.ready), (true, false));
    }

    #[test]
    fn a_poller_that_is_stuck_is_unready_and_live() {
        assert!(but(|it| it.polled_ago = Some(SECOND * 30)).ready);
        let verdict = but(|it| it.polled_ago = Some(SECOND * 31));
        assert_eq!((verdict.live, verdict.ready), (true, false));
        assert_eq!(verdict.reasons, ["schedule and retry were last polled 31.0 s ago"]);
    }

    #[test]
    fn starting_quiet_and_stopping_are_unready_and_live() {
        for (verdict, state) in [
            (but(|it| it.vitals.beaten_ago = None), State::Starting),
            (but(|it| it.quiet = true), State::Quiet),
            (but(|it| (it.quiet, it.stopping) = (true, true)), State::Stopping),
        ] {
            assert_eq!((verdict.state, verdict.live, verdict.ready), (state, true, false));
        }
    }

    #[test]
    fn a_worker_whose_application_is_being_built_is_live_and_starting_however_long() {
        let built = |stopping| {
            but(|it| {
                (it.building, it.stopping) = (true, stopping);
                (it.vitals.stalled_for, it.away_for) = (SECOND * 9999, Some(SECOND * 9999));
            })
        };
        for (stopping, state, reason) in [
            (false, State::Starting, "starting: the application is being built"),
            (true, State::Stopping, "stopping"),
        ] {
            let Verdict { state: found, live, ready, reasons } = built(stopping);
            assert_eq!((found, live, ready), (state, true, false));
            assert_eq!(reasons, [reason]);
        }
    }

    #[test]
    fn full_slots_and_paused_queues_are_ready_however_long() {
        for activity in [Activity::Full, Activity::Paused] {
            let verdict = but(|it| (it.vitals.activity, it.vitals.activity_age) = (activity, SECOND * 9999));
            assert!(verdict.ready, "{verdict:?}");
        }
    }

    #[test]
    fn a_stuck_fetch_is_unready_within_30_s_whatever_the_command_timeout() {
        let mut findings = well();
        findings.vitals.activity = Activity::Fetching;
        for timeout in [SECOND, SECOND * 5, SECOND * 600] {
            let limits = limits(timeout);
            findings.vitals.activity_age = SECOND;
            assert!(Verdict::of(&findings, &limits).ready);
            findings.vitals.activity_age = SECOND * 30;
            assert!(!Verdict::of(&findings, &limits).ready);
        }
    }

    #[test]
    fn a_wait_that_outlived_its_time_is_unready() {
        assert!(but(|it| it.vitals.overdue = SECOND * 4).ready);
        let verdict = but(|it| it.vitals.overdue = SECOND * 6);
        assert_eq!(verdict.reasons, ["a wait for jobs has outlived its time by 6.0 s"]);
    }

    #[test]
    fn nothing_under_way_for_long_is_unready() {
        for activity in [Activity::Idle, Activity::Settling] {
            let with_age = |age| but(|it| (it.vitals.activity, it.vitals.activity_age) = (activity, age));
            assert!(with_age(SECOND).ready);
            assert!(!with_age(SECOND * 8).ready);
        }
    }

    #[test]
    fn fetches_that_fail_make_it_unready_while_there_is_room() {
        let failing =
            |activity| but(|it| (it.vitals.activity, it.vitals.failing_for) = (activity, Some(SECOND)));
        assert_eq!(failing(Activity::HoldingOff).reasons, ["fetching has failed for 1.0 s"]);
        assert!(failing(Activity::Full).ready);
    }

    #[test]
    fn a_blocked_engine_is_unready_after_10_s_and_dead_after_30_s_and_the_class_is_named() {
        let stalled = |seconds: u64| {
            but(|it| {
                it.vitals.stalled_for = SECOND * seconds as u32;
                it.vitals.polling = Some("ReportJob");
            })
        };
        assert_eq!((stalled(9).live, stalled(9).ready), (true, true));
        assert_eq!((stalled(10).live, stalled(10).ready), (true, false));
        assert_eq!((stalled(30).live, stalled(30).ready), (false, false));
        assert_eq!(
            stalled(10).reasons,
            ["the engine's thread has not turned for 10.0 s: a job of class ReportJob is blocking it"]
        );
    }
}
