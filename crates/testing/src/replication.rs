//! Replicas, and the change of roles.

use std::sync::PoisonError;
use std::time::Duration;

use crate::certificates::Certificates;
use crate::{TestRedis, TestRedisError, TestRedisOptions, wait_until};

/// How long a replica may take to have all data. Normal is a tenth of a second, or a whole one when it has to
/// try again.
const SYNC_DEADLINE: Duration = Duration::from_secs(20);

impl TestRedis {
    /// Starts a second server with the same options (but a free port) which replicates this one, and returns when
    /// it has all data.
    ///
    /// ```no_run
    /// # fn main() -> Result<(), cogworker_testing::TestRedisError> {
    /// use cogworker_testing::{FaultProxy, TestRedis};
    ///
    /// // A failover behind one address, whose old connections stay open and get READONLY.
    /// let old = TestRedis::start()?;
    /// let proxy = FaultProxy::start(&old)?;
    /// let new = old.replica()?;
    /// new.promote()?;
    /// old.demote(&new)?;
    /// proxy.retarget(&new)?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`TestRedis::start`], and [`TestRedisError::Late`] when the data do not come.
    pub fn replica(&self) -> Result<TestRedis, TestRedisError> {
        let mut options = TestRedisOptions { port: None, ..self.options.clone() };
        if options.tls.is_some() {
            options.tls = Some(Certificates::CopyOf(self.folder().to_owned()));
        }
        let replica = options.start()?;
        replica.demote(self)?;
        Ok(replica)
    }

    /// Makes it a primary, also after a [`restart`](Self::restart). One that is a primary already stays so.
    ///
    /// # Errors
    /// As [`TestRedis::command`].
    pub fn promote(&self) -> Result<(), TestRedisError> {
        self.order(&["REPLICAOF", "NO", "ONE"])?;
        self.remember_primary(None);
        Ok(())
    }

    /// Makes it a replica of `primary`, also after a [`restart`](Self::restart), and returns when it has the
    /// primary's data in place of its own. Its connections stay open, and writes on them get `READONLY`.
    ///
    /// # Errors
    /// As [`TestRedis::command`], and [`TestRedisError::Late`] when the data do not come.
    pub fn demote(&self, primary: &TestRedis) -> Result<(), TestRedisError> {
        self.order(&["REPLICAOF", "127.0.0.1", &primary.port().to_string()])?;
        self.remember_primary(Some(primary.port()));
        let in_sync = wait_until(SYNC_DEADLINE, || self.in_sync_with(primary).unwrap_or(false));
        if in_sync {
            return Ok(());
        }
        let found = format!("{:?}; its log:\n{}", self.command(&["INFO", "replication"]), self.log());
        let what = format!("the test Redis in sync with the one at port {}", primary.port());
        Err(TestRedisError::Late { what, deadline: SYNC_DEADLINE, found })
    }

    /// Whether it replicates `primary` and has all that was written there so far.
    ///
    /// # Errors
    /// As [`TestRedis::command`], on either server.
    pub fn in_sync_with(&self, primary: &TestRedis) -> Result<bool, TestRedisError> {
        // The primary's state first: what is written in between cannot make a late replica look complete.
        let written = primary.info("master_repl_offset")?;
        let linked = self.info("master_port")? == Some(primary.port().to_string())
            && self.info("master_link_status")?.as_deref() == Some("up");
        let number = |text: Option<String>| text.and_then(|text| text.parse::<u64>().ok());
        let (written, read) = (number(written), number(self.info("slave_repl_offset")?));
        Ok(linked && written.is_some() && read >= written)
    }

    /// The role after a restart.
    pub(crate) fn remember_primary(&self, port: Option<u16>) {
        *self.primary.lock().unwrap_or_else(PoisonError::into_inner) = port;
    }
}
