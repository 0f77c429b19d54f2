//! What a supervisor and its workers say to each other: one line each.

use std::fmt;
use std::str::FromStr;

/// Set for a worker whose standard input is a line to the swarm that started it.
pub const CHILD_VAR: &str = "COGWORKER_SWARM_CHILD";

/// What a supervisor tells a worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Order {
    /// Who it is. The first line.
    Hello {
        /// The process that the supervisor started.
        pid: u32,
        /// Whether it is to take no jobs.
        quiet: bool,
        /// `<hostname>:<pid>:<12 hex>`
        identity: String,
    },
    /// Another worker of the swarm has ended without giving its jobs back: they are to be recovered at once.
    Dead {
        /// Who that was.
        identity: String,
    },
}

/// What a worker tells its supervisor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Report {
    /// Its start is over: it is registered, and takes jobs unless it was told to take none. Once.
    Ready,
    /// Whether it takes jobs now, whenever that changes.
    Serves(bool),
    /// It was told of a dead worker, and sees to it: one that is stuck does not say so.
    Recovers {
        /// Who that was.
        identity: String,
    },
    /// What a dead worker held is back.
    Recovered {
        /// Who that was.
        identity: String,
    },
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hello { pid, quiet, identity } => {
                write!(f, "hello {pid} {} {identity}", if *quiet { "quiet" } else { "working" })
            }
            Self::Dead { identity } => write!(f, "dead {identity}"),
        }
    }
}

impl FromStr for Order {
    type Err = ();

    fn from_str(line: &str) -> Result<Self, ()> {
        match line.split_once(' ').ok_or(())? {
            ("hello", rest) => {
                let mut words = rest.splitn(3, ' ');
                let mut next = || words.next().ok_or(());
                let pid = next()?.parse().map_err(drop)?;
                let quiet = match next()? {
                    "quiet" => true,
                    "working" => false,
                    _ => return Err(()),
                };
                Ok(Self::Hello { pid, quiet, identity: next()?.to_owned() })
            }
            ("dead", identity) => Ok(Self::Dead { identity: identity.to_owned() }),
            _ => Err(()),
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ready => f.write_str("ready"),
            Self::Serves(serves) => write!(f, "serves {serves}"),
            Self::Recovers { identity } => write!(f, "recovers {identity}"),
            Self::Recovered { identity } => write!(f, "recovered {identity}"),
        }
    }
}

impl FromStr for Report {
    type Err = ();

    fn from_str(line: &str) -> Result<Self, ()> {
        match line.split_once(' ') {
            None if line == "ready" => Ok(Self::Ready),
            Some(("serves", serves)) => Ok(Self::Serves(serves.parse().map_err(drop)?)),
            Some(("recovers", identity)) => Ok(Self::Recovers { identity: identity.to_owned() }),
            Some(("recovered", identity)) => Ok(Self::Recovered { identity: identity.to_owned() }),
            _ => Err(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_what_is_heard() {
        let identity = "my host:7:0123456789ab".to_owned();
        for quiet in [false, true] {
            let hello = Order::Hello { pid: 7, quiet, identity: identity.clone() };
            assert_eq!(hello.to_string().parse(), Ok(hello));
        }
        let dead = Order::Dead { identity: identity.clone() };
        assert_eq!(dead.to_string().parse(), Ok(dead));
        let recovers = Report::Recovers { identity: identity.clone() };
        let recovered = Report::Recovered { identity };
        for report in [Report::Ready, Report::Serves(true), Report::Serves(false), recovers, recovered] {
            assert_eq!(report.to_string().parse(), Ok(report));
        }
    }

    #[test]
    fn what_is_not_known_is_refused() {
        for line in ["", "hello", "hello 1 loud x", "hello one quiet x", "hello 1 quiet", "dead", "ready now"]
        {
            assert_eq!(line.parse::<Order>(), Err(()), "{line}");
            assert_eq!(line.parse::<Report>(), Err(()), "{line}");
        }
    }
}
