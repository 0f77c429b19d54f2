//! The Redis, the proxy before it and the worker processes.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cogworker_testing::{FaultProxy, RespValue, TestRedis, TestRedisOptions, WorkerProcess, wait_until};

use super::Failed;

/// A worker process, and those that had its place before.
pub(crate) struct Place {
    pub(crate) process: WorkerProcess,
    log: Vec<String>,
}

pub(crate) struct Site {
    pub(crate) redis: TestRedis,
    pub(crate) proxy: FaultProxy,
    pub(crate) workers: Mutex<Vec<Place>>,
    ledger: PathBuf,
    /// Removed with the site.
    _folder: tempfile::TempDir,
}

impl Site {
    pub(crate) fn start(workers: usize) -> Result<Self, Failed> {
        // Nothing that was answered may be lost by a kill, or the books cannot balance.
        let redis = TestRedisOptions::new().appendonly(true).arg("--appendfsync").arg("always").start()?;
        let proxy = FaultProxy::start(&redis)?;
        let folder = tempfile::tempdir()?;
        let ledger = folder.path().to_path_buf();
        let site = Self { redis, proxy, workers: Mutex::default(), ledger, _folder: folder };
        for _ in 0..workers {
            let process = site.spawn()?;
            site.places().push(Place { process, log: Vec::new() });
        }
        Ok(site)
    }

    pub(crate) fn ledger(&self) -> &Path {
        &self.ledger
    }

    pub(crate) fn places(&self) -> MutexGuard<'_, Vec<Place>> {
        self.workers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn spawn(&self) -> Result<WorkerProcess, Failed> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("soak-worker").arg("--ledger").arg(&self.ledger).env("REDIS_URL", self.proxy.url());
        Ok(WorkerProcess::spawn_command(command)?)
    }

    /// A command straight to Redis; an error while it is away.
    pub(crate) fn command(&self, args: &[&str]) -> Result<RespValue, Failed> {
        match self.redis.command(args)? {
            RespValue::Error(text) => Err(text.into()),
            value => Ok(value),
        }
    }

    pub(crate) fn int(&self, args: &[&str]) -> Result<i64, Failed> {
        let value = self.command(args)?;
        Ok(value.as_int().or_else(|| value.as_str()?.parse().ok()).unwrap_or(0))
    }

    pub(crate) fn texts(&self, args: &[&str]) -> Result<Vec<String>, Failed> {
        Ok(self.command(args)?.strings())
    }

    pub(crate) fn wait_for_redis(&self) -> Result<(), Failed> {
        let up = || self.redis.command(&["PING"]).is_ok_and(|reply| reply.as_str() == Some("PONG"));
        if wait_until(Duration::from_secs(30), up) {
            Ok(())
        } else {
            Err("reach redis after its restart".into())
        }
    }

    pub(crate) fn print_logs(&self) {
        for (index, place) in self.places().iter().enumerate() {
            for line in place.log.iter().chain(&place.process.log()) {
                println!("worker {index} | {line}");
            }
        }
    }
}

impl Place {
    /// Puts `fresh` in the place of the present process.
    pub(crate) fn replace(&mut self, fresh: WorkerProcess) {
        let pid = self.process.pid();
        self.log.extend(self.process.log().into_iter().map(|line| format!("[{pid}] {line}")));
        // Enough to see what happened last.
        let surplus = self.log.len().saturating_sub(2000);
        self.log.drain(..surplus);
        self.process = fresh;
    }

    /// Resident memory in KiB.
    pub(crate) fn rss_kb(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.pid())).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
        line.split_whitespace().next()?.parse().ok()
    }
}
