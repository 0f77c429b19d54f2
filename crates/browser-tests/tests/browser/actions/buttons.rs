//! The buttons of every page, and what each must do.

/// One button.
pub(super) struct Action {
    pub(super) page: &'static str,
    /// Boxes to tick first.
    pub(super) tick: &'static str,
    pub(super) button: &'static str,
    /// Asks before it does anything.
    pub(super) asks: bool,
    pub(super) says: &'static str,
    /// A command and what it then answers.
    pub(super) check: (&'static [&'static str], i64),
}

const fn action(
    page: &'static str,
    button: &'static str,
    asks: bool,
    says: &'static str,
    check: (&'static [&'static str], i64),
) -> Action {
    Action { page, tick: "", button, asks, says, check }
}

const fn bulk(
    tick: &'static str,
    button: &'static str,
    asks: bool,
    says: &'static str,
    check: (&'static [&'static str], i64),
) -> Action {
    Action { page: "/jobs?status=Retrying", tick, button, asks, says, check }
}

pub(super) const QUEUES: [Action; 7] = [
    action(
        "/overview",
        "form[action$='/overview/default/pause'] button",
        false,
        "Queue default is paused",
        (&["SISMEMBER", "cogworker:paused_queues", "default"], 1),
    ),
    action(
        "/overview",
        "form[action*='reports'][action$='/resume'] button",
        false,
        "is resumed",
        (&["SCARD", "cogworker:paused_queues"], 0),
    ),
    action(
        "/overview?layout=b&queue=default",
        "form[action$='/default/pause'] button",
        false,
        "Queue default is paused",
        (&["SISMEMBER", "cogworker:paused_queues", "default"], 1),
    ),
    action(
        "/overview?layout=b&queue=default",
        "form[action$='/default/retry_all'] button",
        false,
        "3 jobs put back",
        (&["ZCARD", "cogworker:retry"], 0),
    ),
    action(
        "/overview?layout=b&queue=default",
        "form[action$='/default/delete_all'] button",
        true,
        "4 jobs deleted",
        (&["LLEN", "cogworker:queue:default"], 0),
    ),
    action(
        "/overview?layout=b&queue=default",
        "form[action$='/default/delete'] button",
        true,
        "1 job deleted",
        (&["LLEN", "cogworker:queue:default"], 3),
    ),
    action(
        "/overview?layout=b&queue=reports%3A%20%3C%C3%A4%20%26%20%22x%22%3E%2F%25",
        "form[action$='/resume'] button",
        false,
        "is resumed",
        (&["SCARD", "cogworker:paused_queues"], 0),
    ),
];

pub(super) const JOBS: [Action; 18] = [
    action(
        "/jobs?status=Retrying",
        "tbody form[action$='/jobs/retrying/retry_now'] button",
        false,
        "1 job",
        (&["ZCARD", "cogworker:retry"], 2),
    ),
    action(
        "/jobs?status=Retrying",
        "tbody form[action$='/jobs/retrying/delete'] button",
        true,
        "1 job deleted",
        (&["ZCARD", "cogworker:retry"], 2),
    ),
    action(
        "/jobs?status=Dead",
        "tbody form[action$='/jobs/dead/retry'] button",
        false,
        "1 job",
        (&["ZCARD", "cogworker:dead"], 1),
    ),
    action(
        "/jobs?status=Dead",
        "tbody form[action$='/jobs/dead/delete'] button",
        true,
        "1 job deleted",
        (&["ZCARD", "cogworker:dead"], 1),
    ),
    action(
        "/jobs?status=Scheduled&q=Digest",
        "tbody form[action*='/jobs/scheduled/'] button[data-cw-key=run]",
        false,
        "1 job",
        (&["ZCARD", "cogworker:schedule"], 1),
    ),
    action(
        "/jobs?status=Scheduled",
        "tbody form[action$='/jobs/scheduled/delete'] button",
        true,
        "1 job deleted",
        (&["ZCARD", "cogworker:schedule"], 1),
    ),
    action(
        "/jobs?status=Enqueued&queue=default",
        "tbody form[action$='/jobs/enqueued/delete'] button",
        true,
        "1 job deleted",
        (&["LLEN", "cogworker:queue:default"], 3),
    ),
    action(
        "/jobs?status=Retrying&selected=retrying-0",
        "#detail form[action$='/retry_now'] button",
        false,
        "1 job",
        (&["ZCARD", "cogworker:retry"], 2),
    ),
    action(
        "/jobs?status=Retrying&selected=retrying-0",
        "#detail form[action$='/kill'] button",
        false,
        "1 job",
        (&["ZCARD", "cogworker:dead"], 3),
    ),
    action(
        "/jobs?status=Retrying&selected=retrying-0",
        "#detail form[action$='/reschedule'] button",
        false,
        "1 job",
        (&["ZCARD", "cogworker:retry"], 3),
    ),
    action(
        "/jobs?status=Retrying&selected=retrying-0",
        "#detail form[action$='/delete'] button",
        true,
        "1 job deleted",
        (&["ZCARD", "cogworker:retry"], 2),
    ),
    action(
        "/jobs?status=Retrying",
        ".head__end form:not(:has([name=ask])) button",
        false,
        "3 jobs",
        (&["ZCARD", "cogworker:retry"], 0),
    ),
    action(
        "/jobs?status=Dead",
        ".head__end form:has([name=ask]) button",
        true,
        "2 jobs deleted",
        (&["ZCARD", "cogworker:dead"], 0),
    ),
    action(
        "/errors",
        "form[action$='/errors/retry'] button",
        false,
        "5 jobs",
        (&["ZCARD", "cogworker:retry"], 0),
    ),
    action(
        "/errors",
        "form[action$='/errors/delete'] button",
        true,
        "5 jobs deleted",
        (&["ZCARD", "cogworker:dead"], 0),
    ),
    bulk("tbody .cb", "#bulk button[value=retry]", false, "1 job", (&["ZCARD", "cogworker:retry"], 2)),
    bulk("tbody .cb", "#bulk button[value=kill]", false, "1 job", (&["ZCARD", "cogworker:dead"], 3)),
    bulk(
        "tbody .cb",
        "#bulk button[value=delete]",
        true,
        "1 job deleted",
        (&["ZCARD", "cogworker:retry"], 2),
    ),
];

pub(super) const OTHERS: [Action; 6] = [
    action(
        "/schedules",
        "form[action$='/run_now'] button",
        false,
        "pushed",
        (&["LLEN", "cogworker:queue:default"], 5),
    ),
    action(
        "/schedules",
        "form[action$='/disable'] button",
        false,
        "Schedule disabled",
        (&["SCARD", "periodic:disabled"], 1),
    ),
    action(
        "/workers",
        "form[action$='/workers/quiet'] button",
        false,
        "Asked to take no new jobs",
        (&["SCARD", "cogworker:processes"], 2),
    ),
    action(
        "/workers",
        "form[action$='/workers/resume'] button",
        false,
        "Asked to take jobs again",
        (&["SCARD", "cogworker:processes"], 2),
    ),
    action(
        "/workers",
        "form[action$='/workers/stop'] button",
        true,
        "Asked to stop",
        (&["SCARD", "cogworker:processes"], 2),
    ),
    action(
        "/jobs",
        "form[action$='/workers/pause_all'] button",
        false,
        "Intake paused",
        (&["SCARD", "cogworker:processes"], 2),
    ),
];
