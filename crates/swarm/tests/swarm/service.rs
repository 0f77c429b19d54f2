//! What a service manager hears.

use std::os::unix::net::UnixDatagram;
use std::sync::{Arc, Mutex};
use std::thread;

use tempfile::TempDir;

use crate::support::{SOON, Swarm, TestResult};

/// Listens as systemd does.
pub(crate) struct Manager {
    _folder: TempDir,
    path: String,
    heard: Arc<Mutex<Vec<String>>>,
}

impl Manager {
    pub(crate) fn new() -> Result<Self, Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("notify").to_str().ok_or("path")?.to_owned();
        let socket = UnixDatagram::bind(&path)?;
        let heard = Arc::new(Mutex::new(Vec::new()));
        let all = heard.clone();
        thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(length) = socket.recv(&mut buffer) {
                all.lock().unwrap().push(String::from_utf8_lossy(&buffer[..length]).into_owned());
            }
        });
        Ok(Self { _folder: folder, path, heard })
    }

    pub(crate) fn var(&self) -> (&str, &str) {
        ("NOTIFY_SOCKET", &self.path)
    }

    pub(crate) fn heard(&self) -> Vec<String> {
        self.heard.lock().unwrap().clone()
    }

    /// How many workers were ready, each time that it changed.
    pub(crate) fn ready_counts(&self) -> Vec<usize> {
        let heard = self.heard();
        let counts = heard.iter().flat_map(|text| text.lines()).filter(|line| line.starts_with("STATUS="));
        let words =
            counts.filter_map(|line| line.split_once(" of ")?.0.rsplit([' ', '=']).next()?.parse().ok());
        words.collect()
    }
}

#[test]
fn systemd_hears_ready_reloading_watchdog_and_stopping() -> TestResult {
    let manager = Manager::new()?;
    let vars = [manager.var(), ("WATCHDOG_USEC", "200000"), ("PHASED_RESTART", "true")];
    let mut swarm = Swarm::ready(2, &[], &vars)?;
    let heard = |text: &str| manager.heard().iter().filter(|it| it.lines().any(|line| line == text)).count();
    swarm.reach("it is up", |_| heard("READY=1") == 1 && heard("STATUS=2 of 2 workers are ready") == 1)?;
    swarm.reach("the watchdog is fed", |_| heard("WATCHDOG=1") >= 3)?;
    swarm.process.signal("USR2")?;
    swarm.reach("the reload is over", |_| heard("RELOADING=1") == 1 && heard("READY=1") == 2)?;
    let reload = manager.heard().into_iter().find(|it| it.contains("RELOADING")).ok_or("no reload")?;
    assert!(reload.contains("MONOTONIC_USEC="), "{reload}");
    assert_eq!(swarm.stop()?, Some(0));
    assert_eq!(heard("STOPPING=1"), heard("STATUS=stopping"));
    assert!(heard("STOPPING=1") > 0);
    Ok(())
}

/// Asks the swarm over HTTP; the status and the body.
fn ask(address: &str, path: &str) -> Result<(u16, String), Box<dyn std::error::Error>> {
    use std::io::{Read, Write};

    let mut stream = std::net::TcpStream::connect(address)?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: x\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let status = answer.split(' ').nth(1).ok_or("no status")?.parse()?;
    Ok((status, answer.split_once("\r\n\r\n").ok_or("no body")?.1.to_owned()))
}

#[test]
fn one_address_answers_health_checks_for_all_workers() -> TestResult {
    let mut swarm = Swarm::ready(2, &["--health-bind", "127.0.0.1:0"], &[])?;
    let line = swarm.process.wait_for_log("health checks are answered at", SOON)?;
    let address = line.rsplit("http://").next().ok_or("no address")?;
    let status = |path: &str| ask(address, path).map(|(status, _)| status).unwrap_or(0);
    swarm.reach("it is ready", |_| status("/ready") == 200)?;
    assert_eq!((status("/live"), status("/health"), status("/else")), (200, 200, 404));
    let two_ready = || {
        let body = ask(address, "/health").map(|(_, body)| body).unwrap_or_default();
        serde_json::from_str::<serde_json::Value>(&body).is_ok_and(|it| it["ready"] == 2 && it["count"] == 2)
    };
    swarm.reach("it tells of both", |_| two_ready())?;
    // Redis away is noticed by the workers, and a restart would not help.
    swarm.redis.stop();
    swarm.reach("it is not ready", |_| status("/ready") == 503)?;
    assert_eq!(status("/live"), 200);
    swarm.redis.restart()?;
    swarm.reach("it is ready again", |_| status("/ready") == 200)?;
    swarm.process.signal("TSTP")?;
    swarm.reach("quiet is not ready", |_| status("/ready") == 503)?;
    assert_eq!(swarm.stop()?, Some(0));
    Ok(())
}

#[test]
fn a_service_manager_that_cannot_be_told_is_named_once_and_the_swarm_runs() -> TestResult {
    let mut swarm = Swarm::ready(2, &[], &[("NOTIFY_SOCKET", "/none/notify")])?;
    assert_eq!(swarm.stop()?, Some(0));
    let said = swarm.logged("could not tell the service manager how it goes: No such file");
    assert_eq!(said.len(), 1, "{said:?}");
    Ok(())
}
