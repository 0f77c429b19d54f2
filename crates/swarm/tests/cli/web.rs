//! The web UI, served by the program.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::Duration;

use cogworker_testing::wait_until;

use crate::support::{Outcome, Site, program, ran};

const SOON: Duration = Duration::from_secs(15);

/// The program, serving.
struct Served {
    child: Child,
    address: String,
    told: String,
}

impl Served {
    fn start(
        site: &Site,
        flags: &[&str],
        variables: &[(&str, &str)],
    ) -> Result<Self, Box<dyn std::error::Error>> {
        let mut command = site.command(&["web"]);
        command.args(flags).envs(variables.iter().copied()).stdout(Stdio::piped()).stderr(Stdio::piped());
        if !flags.contains(&"--bind") {
            command.args(["--bind", "127.0.0.1:0"]);
        }
        let mut child = command.spawn()?;
        let mut told = String::new();
        let mut lines = BufReader::new(child.stdout.take().ok_or("no output")?);
        lines.read_line(&mut told)?;
        let address = told.split("http://").nth(1).and_then(|rest| rest.split('/').next());
        Ok(Self { child, address: address.ok_or_else(|| told.clone())?.to_owned(), told })
    }

    /// Status and whole answer.
    fn get(&self, path: &str, header: &str) -> Result<(u16, String), Box<dyn std::error::Error>> {
        let mut stream = TcpStream::connect(&self.address)?;
        stream.set_read_timeout(Some(SOON))?;
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n{header}\r\n", self.address)?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        let answer = String::from_utf8_lossy(&answer).into_owned();
        Ok((answer.split(' ').nth(1).and_then(|code| code.parse().ok()).ok_or("no status")?, answer))
    }

    fn status(&self, path: &str, header: &str) -> Result<u16, Box<dyn std::error::Error>> {
        Ok(self.get(path, header)?.0)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn it_serves_the_pages_and_ends_when_told_to() -> Outcome {
    let site = Site::start()?;
    site.redis.cli(&["SADD", "cogworker:queues", "seen here"]);
    let mut served = Served::start(&site, &["--title", "Shop <jobs>"], &[])?;
    assert!(served.told.contains("open to everybody who reaches it"), "{}", served.told);
    let (status, page) = served.get("/", "")?;
    assert_eq!(status, 200, "{page}");
    assert!(page.contains("Shop &#60;jobs&#62;") || page.contains("Shop &lt;jobs&gt;"), "{page}");
    assert_eq!((served.status("/metrics", "")?, served.status("/nowhere", "")?), (200, 404));
    let pid = rustix::process::Pid::from_raw(served.child.id().cast_signed()).ok_or("no pid")?;
    rustix::process::kill_process(pid, rustix::process::Signal::TERM)?;
    let mut ended = None;
    assert!(wait_until(SOON, || {
        ended = served.child.try_wait().ok().flatten();
        ended.is_some()
    }));
    assert!(ended.is_some_and(|status| status.success()));
    Ok(())
}

#[test]
fn it_starts_and_says_so_while_redis_is_away() -> Outcome {
    let site = Site::start()?;
    let served = Served::start(&site, &[], &[("REDIS_URL", "redis://127.0.0.1:1/0")])?;
    assert_eq!((served.status("/", "")?, served.status("/health", "")?), (503, 503));
    Ok(())
}

#[test]
fn a_password_is_asked_for_everywhere_but_of_health_checks() -> Outcome {
    let site = Site::start()?;
    let right = "Authorization: Basic b3BzOnNlOmNyZXQ=\r\n";
    let wrong = "Authorization: Basic b3BzOm90aGVyX19fXw==\r\n";
    for (flags, variable) in [(vec!["--basic-auth", "ops:se:cret"], ""), (Vec::new(), "ops:se:cret")] {
        let served = Served::start(&site, &flags, &[("COGWORKER_WEB_BASIC_AUTH", variable)])?;
        assert!(served.told.contains("for ops") && !served.told.contains("cret"), "{}", served.told);
        let (status, answer) = served.get("/", "")?;
        assert_eq!(status, 401);
        assert!(answer.to_ascii_lowercase().contains("www-authenticate: basic"), "{answer}");
        for path in ["/metrics", "/workers", "/x/health"] {
            assert_eq!(served.status(path, wrong)?, 401, "{path}");
        }
        assert_eq!((served.status("/", right)?, served.status("/health", "")?), (200, 200));
    }
    Ok(())
}

#[test]
fn behind_a_proxy_only_whom_it_names_comes_in() -> Outcome {
    let site = Site::start()?;
    let flags =
        ["--auth-header", "X-Forwarded-User", "--bind", "0.0.0.0:0", "--path", "/ops/jobs/", "--no-metrics"];
    let mut served = Served::start(&site, &flags, &[])?;
    served.address = served.address.replace("0.0.0.0", "127.0.0.1");
    assert!(
        served.told.contains("/ops/jobs/ (") && served.told.contains("x-forwarded-user"),
        "{}",
        served.told
    );
    let ada = "X-Forwarded-User: ada\r\n";
    assert_eq!(
        (served.status("/ops/jobs/", "")?, served.status("/ops/jobs/", "X-Forwarded-User: \r\n")?),
        (403, 403)
    );
    let (status, page) = served.get("/ops/jobs/", ada)?;
    assert_eq!(status, 200);
    assert!(page.contains("/ops/jobs/assets/"), "links stay under the path");
    assert_eq!((served.status("/", ada)?, served.status("/ops/jobs/metrics", ada)?), (303, 404));
    assert_eq!((served.status("/ops/jobs/health", "")?, served.status("/health", "")?), (200, 403));
    Ok(())
}

#[test]
fn flags_that_would_open_it_to_all_or_mean_nothing_are_refused() -> Outcome {
    let site = Site::start()?;
    site.run(&["web", "--bind", "0.0.0.0:0"])?.failed(
        2,
        "cogworker: 0.0.0.0:0 can be reached from outside: expected --basic-auth, COGWORKER_WEB_BASIC_AUTH, \
         --auth-header or --no-auth",
    );
    site.run(&["web", "--basic-auth", "secret"])?
        .failed(2, "cogworker: --basic-auth: expected USER:PASSWORD, found no colon");
    site.run(&["web", "--basic-auth", "ops:"])?
        .failed(2, "cogworker: --basic-auth: expected USER:PASSWORD, found no password");
    site.run(&["web", "--path", "jobs"])?
        .failed(2, r#"cogworker: --path: expected a path such as /jobs, found "jobs""#);
    site.run(&["web", "--auth-header", "a b"])?
        .failed(2, r#"cogworker: --auth-header: expected the name of a header, found "a b""#);
    let taken = std::net::TcpListener::bind("127.0.0.1:0")?;
    let address = taken.local_addr()?.to_string();
    let refused = ran(program(["web", "--bind", &address]).env("REDIS_URL", site.redis.url()))?;
    refused.failed(
        1,
        &format!("cogworker: failed to listen on {address}: Address already in use (os error 98)"),
    );
    Ok(())
}
