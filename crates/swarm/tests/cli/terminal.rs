//! What only a terminal shows: questions, colours, widths, `watch`.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, ExitStatus};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use cogworker_testing::wait_until;
use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};

use crate::support::{Outcome, Site};

const SOON: Duration = Duration::from_secs(20);

/// A program on a terminal of its own.
struct Terminal {
    child: Child,
    keyboard: File,
    /// The program's side, held so that the terminal outlives it.
    side: OwnedFd,
    screen: Arc<Mutex<Vec<u8>>>,
}

impl Terminal {
    fn start(mut command: Command, columns: u16) -> Result<Self, Box<dyn std::error::Error>> {
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
        grantpt(&ours)?;
        unlockpt(&ours)?;
        let name = ptsname(&ours, Vec::new())?;
        let side = rustix::fs::open(&*name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty())?;
        tcsetwinsize(&side, Winsize { ws_row: 30, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 })?;
        command.stdin(side.try_clone()?).stdout(side.try_clone()?).stderr(side.try_clone()?);
        let child = command.env("TERM", "xterm").spawn()?;
        drop(command);
        let keyboard = File::from(ours);
        let screen: Arc<Mutex<Vec<u8>>> = Arc::default();
        let (mut reader, written) = (keyboard.try_clone()?, screen.clone());
        std::thread::spawn(move || {
            let mut part = [0; 4096];
            while let Ok(read) = reader.read(&mut part) {
                written.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(&part[..read]);
            }
        });
        Ok(Self { child, keyboard, side, screen })
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.screen.lock().unwrap_or_else(PoisonError::into_inner))
            .replace("\r\n", "\n")
    }

    #[track_caller]
    fn wait_for(&self, text: &str) {
        assert!(wait_until(SOON, || self.text().contains(text)), "{text:?} in {:?}", self.text());
    }

    fn type_in(&mut self, text: &str) -> Outcome {
        Ok(self.keyboard.write_all(text.as_bytes())?)
    }

    fn signal(&self, signal: &str) -> Outcome {
        Ok(cogworker_testing::send_signal(self.child.id(), signal)?)
    }

    fn end(&mut self) -> Result<ExitStatus, Box<dyn std::error::Error>> {
        let mut status = None;
        let ended = wait_until(SOON, || {
            status = self.child.try_wait().ok().flatten();
            status.is_some()
        });
        assert!(ended, "still running: {:?}", self.text());
        status.ok_or_else(|| "no status".into())
    }

    fn is_as_before(&self) -> Result<bool, Box<dyn std::error::Error>> {
        Ok(tcgetattr(&self.side)?.local_modes.contains(LocalModes::ICANON | LocalModes::ECHO))
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn on_terminal(site: &Site, args: &[&str], columns: u16) -> Result<Terminal, Box<dyn std::error::Error>> {
    Terminal::start(site.command(args), columns)
}

#[test]
fn it_asks_with_the_number_of_jobs_and_does_it_on_a_yes_alone() -> Outcome {
    let site = Site::start()?;
    for (answer, code, left) in [
        ("n\n", 4, 1500),
        ("\n", 4, 1500),
        ("yesterday\n", 4, 1500),
        ("\u{4}", 4, 1500),
        ("Yes\n", 0, 750),
        ("y\n", 0, 750),
    ] {
        site.redis.cli(&["FLUSHALL"]);
        site.fill("dead", 1500);
        let mut terminal = on_terminal(&site, &["jobs", "dead", "delete-all", "--class", "A"], 80)?;
        terminal.wait_for("delete 750 jobs of class A from dead? [y/N] ");
        terminal.type_in(answer)?;
        assert_eq!(terminal.end()?.code(), Some(code), "{answer:?}: {:?}", terminal.text());
        assert_eq!(site.redis.cli(&["ZCARD", "cogworker:dead"]), left, "{answer:?}");
        let said = if code == 0 {
            "750 jobs deleted from dead"
        } else {
            "cogworker: not confirmed: nothing was done"
        };
        terminal.wait_for(said);
    }
    Ok(())
}

#[test]
fn each_destructive_command_asks() -> Outcome {
    let site = Site::start()?;
    site.fill("retry", 2);
    site.redis.cli(&["LPUSH", "cogworker:queue:a b", "1"]);
    site.process("h:1:a", "{}", "5", "false");
    site.process("h:2:b", "{}", "6", "false");
    for (args, question) in [
        (&["queue", "a b", "clear"][..], "delete 1 job from the queue \"a b\"? [y/N] "),
        (&["queue", "a b", "delete"], "delete the queue and 1 job from the queue \"a b\"? [y/N] "),
        (&["jobs", "retry", "delete", "j1", "j2"], "delete 2 jobs from retry? [y/N] "),
        (&["jobs", "retry", "delete-all"], "delete 2 jobs from retry? [y/N] "),
        (&["jobs", "retry", "retry-all"], "put 2 jobs of retry on their queues? [y/N] "),
        (&["stop", "all"], "stop 2 processes (running 11 jobs)? [y/N] "),
        (&["stop", "h:1:a"], "stop h:1:a (running 5 jobs)? [y/N] "),
    ] {
        let mut terminal = on_terminal(&site, args, 80)?;
        terminal.wait_for(question);
        terminal.type_in("n\n")?;
        assert_eq!(terminal.end()?.code(), Some(4), "{args:?}");
    }
    assert_eq!(site.redis.cli(&["ZCARD", "cogworker:retry"]), 2);
    assert_eq!(site.redis.cli(&["LLEN", "cogworker:queue:a b"]), 1);
    Ok(())
}

#[test]
fn lines_fit_the_terminal_and_colours_are_used_unless_switched_off() -> Outcome {
    let site = Site::start()?;
    let job = format!(r#"{{"class":"A日本","jid":"j","args":["{}"]}}"#, "é日".repeat(100));
    site.redis.cli(&["LPUSH", "cogworker:queue:q", &job]);
    let mut terminal = on_terminal(&site, &["queue", "q", "list"], 50)?;
    assert_eq!(terminal.end()?.code(), Some(0));
    terminal.wait_for("…");
    let text = terminal.text();
    assert!(text.contains("\u{1b}[1m") && text.contains("\u{1b}[0m"), "{text:?}");
    for line in text.lines() {
        let plain = line.replace("\u{1b}[1m", "").replace("\u{1b}[0m", "");
        let columns: usize = plain.chars().map(|c| if ('日'..='本').contains(&c) { 2 } else { 1 }).sum();
        assert!(columns <= 50, "{columns}: {plain:?}");
    }
    for (name, value) in [("NO_COLOR", "1"), ("TERM", "dumb")] {
        let mut command = site.command(&["doctor"]);
        command.env(name, value);
        let mut plain = Terminal::start(command, 80)?;
        if name == "NO_COLOR" {
            assert_eq!(plain.end()?.code(), Some(0));
            assert!(!plain.text().contains('\u{1b}'), "{:?}", plain.text());
        }
    }
    let mut coloured = on_terminal(&site, &["doctor"], 80)?;
    coloured.end()?;
    coloured.wait_for("\u{1b}[32mok");
    Ok(())
}

#[test]
fn watch_draws_again_and_again_and_leaves_the_terminal_as_it_was() -> Outcome {
    let site = Site::start()?;
    site.process("h:1:a", r#"{"queues":["q"],"concurrency":5}"#, "1", "false");
    let work = r#"{"queue":"q","payload":{"class":"SlowJob","jid":"thejid","args":[]},"run_at":1000}"#;
    site.redis.cli(&["HSET", "cogworker:workers:h:1:a", "slot", work]);
    site.redis.cli(&["SADD", "cogworker:queues", "q\u{1b}[2J"]);
    for way in ["q", "ctrl-c", "term"] {
        site.redis.cli(&["SET", "cogworker:stats:processed", "10"]);
        let mut terminal = on_terminal(&site, &["watch", "-n", "0.2"], 100)?;
        terminal.wait_for("processed 10 ");
        terminal.wait_for("SlowJob");
        terminal.wait_for(r"q\u{1b}[2J");
        assert!(!terminal.is_as_before()?, "keys come one by one");
        site.redis.cli(&["INCRBY", "cogworker:stats:processed", "1000"]);
        terminal.wait_for("processed 1,010 (");
        assert!(terminal.text().starts_with("\u{1b}[?1049h\u{1b}[?25l"), "{:?}", terminal.text());
        match way {
            "q" => terminal.type_in("q")?,
            "ctrl-c" => terminal.signal("INT")?,
            _ => terminal.signal("TERM")?,
        }
        assert_eq!(terminal.end()?.code(), Some(0), "{way}");
        terminal.wait_for("\u{1b}[?25h\u{1b}[?1049l");
        assert!(terminal.is_as_before()?, "{way}");
    }
    Ok(())
}

#[test]
fn watch_outlives_an_outage_and_says_so_meanwhile() -> Outcome {
    let site = Site::start()?;
    let mut terminal = on_terminal(&site, &["watch", "-n", "0.2"], 100)?;
    terminal.wait_for("processed 0");
    site.redis.stop();
    terminal.wait_for("failed to reach redis");
    terminal.wait_for("as of ");
    site.redis.restart()?;
    site.redis.cli(&["SET", "cogworker:stats:processed", "77"]);
    terminal.wait_for("processed 77");
    terminal.type_in("q")?;
    assert_eq!(terminal.end()?.code(), Some(0));
    Ok(())
}

#[test]
fn watch_without_a_terminal_writes_lines_of_json_or_refuses() -> Outcome {
    let site = Site::start()?;
    site.run(&["watch"])?
        .failed(2, "cogworker: watch needs a terminal; with --json it writes a line for each look");
    for wrong in ["0", "-1", "soon", "1e9"] {
        let ran = site.run(&["watch", "--json", &format!("--interval={wrong}")])?;
        assert!(ran.code == 2 && ran.err.contains("from 0.2 to 3600"), "{ran:?}");
    }
    Ok(())
}
