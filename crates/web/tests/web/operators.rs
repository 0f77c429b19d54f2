//! Who did what: the log's line of each action.

use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::http::StatusCode;
use cogworker_web::{Operator, WebOptions};
use tracing_subscriber::fmt::MakeWriter;

use crate::support::{Outcome, ROOT, Site, encoded, form};

/// What was logged.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    /// The lines about actions since the last call.
    fn actions(&self) -> Vec<String> {
        let text = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        let text = String::from_utf8_lossy(&text).into_owned();
        text.lines().filter(|line| line.contains("web action")).map(str::to_owned).collect()
    }
}

impl Write for Log {
    fn write(&mut self, text: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write(text)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

fn logged() -> (Log, tracing::subscriber::DefaultGuard) {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt().with_ansi(false).with_writer(log.clone()).finish();
    (log, tracing::subscriber::set_default(subscriber))
}

#[tokio::test]
async fn each_action_is_logged_once_with_who_what_and_which() -> Outcome {
    let (log, _guard) = logged();
    let site = Site::with(WebOptions::new().operator_header("X-User")).await?;
    site.redis.cli(&["SADD", "cogworker:queues", "q"]);
    let entry = r#"{"cron":"0 3 * * *","class":"NightJob","retry":3,"args":[]}"#;
    site.redis.cli(&["HSET", "periodic:schedule", "p", entry]);
    for set in ["retry", "dead"] {
        let job =
            r#"{"class":"A","jid":"j1","queue":"q","args":["secret"],"error_class":"E","error_message":"m"}"#;
        site.redis.cli(&["ZADD", &format!("cogworker:{set}"), "9000000000", job]);
    }
    let raw =
        r#"{"class":"A","jid":"j1","queue":"q","args":["secret"],"error_class":"E","error_message":"m"}"#;
    let all = [("view", "status=Dead")];
    for (path, fields, action, target) in [
        ("/overview/q/pause", &[("queue", "q")][..], "pause queue", "q"),
        ("/jobs/queue/resume", &[("queue", "q")], "resume queue", "q"),
        ("/jobs/retrying/retry", &[("raw", raw)], "run job", "j1 in Retry"),
        ("/jobs/dead/delete_all", &all, "delete job", "1 of /jobs?status=Dead"),
        ("/errors/delete", &[("error_class", "E"), ("message", "m")], "delete job", "0 with E: m"),
        ("/schedules/p/disable", &[], "disable schedule", "p"),
        ("/schedules/p/run_now", &[], "run schedule now", "NightJob (p)"),
        ("/overview/q/delete_all", &[("queue", "q")], "delete all jobs of queue", "q"),
    ] {
        let request = form(path, fields).header("x-user", "ada").body(encoded(fields))?;
        assert_eq!(site.send(request).await.status, StatusCode::FOUND, "{path}");
        let lines = log.actions();
        assert_eq!(lines.len(), 1, "{path}: {lines:?}");
        for part in
            ["INFO", "operator=\"ada\"", &format!("action=\"{action}\""), &format!("target=\"{target}\"")]
        {
            assert!(lines[0].contains(part), "{path}: {part} in {}", lines[0]);
        }
        assert!(!lines[0].contains("secret"), "{}", lines[0]);
    }
    site.get("/jobs").await;
    let foreign = axum::http::Request::post(format!("{ROOT}/overview/q/pause"));
    assert_eq!(site.send(foreign.body(encoded(&[]))?).await.status, StatusCode::FORBIDDEN);
    assert!(log.actions().is_empty(), "neither a look nor what was refused is an action");
    Ok(())
}

#[tokio::test]
async fn the_hosts_own_layer_names_the_operator_before_any_header() -> Outcome {
    let (log, _guard) = logged();
    let mut site = Site::with(WebOptions::new().operator_header("x-user")).await?;
    let fields = [("queue", "q")];
    let pause = |user: Option<&str>| {
        let request = form("/overview/q/pause", &fields);
        let request = user.into_iter().fold(request, |request, user| request.header("x-user", user));
        request.body(encoded(&fields))
    };
    site.send(pause(None)?).await;
    assert!(log.actions()[0].contains("operator=\"unknown\""));
    site.send(pause(Some("é"))?).await;
    assert!(log.actions()[0].contains("operator=\"é\""));
    site.app = Router::new().merge(site.app).layer(axum::Extension(Operator("grace".into())));
    site.send(pause(Some("mallory"))?).await;
    let lines = log.actions();
    assert!(lines[0].contains("operator=\"grace\"") && !lines[0].contains("mallory"), "{lines:?}");
    Ok(())
}
