//! A Redis server, and the program run against it.

use std::ffi::OsStr;
use std::process::{Command, Stdio};

use cogworker_testing::TestRedis;

pub(crate) type Outcome = Result<(), Box<dyn std::error::Error>>;

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_cogworker");

/// What a run of the program came to.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    pub(crate) fn lines(&self) -> Vec<&str> {
        self.out.lines().collect()
    }

    /// Checks that it was done and said nothing besides; what it wrote.
    #[track_caller]
    pub(crate) fn done(&self) -> &str {
        assert_eq!((self.code, &*self.err), (0, ""), "{self:?}");
        &self.out
    }

    /// Checks that it ended with `code` and said `text` why, and wrote nothing.
    #[track_caller]
    pub(crate) fn failed(&self, code: i32, text: &str) {
        assert_eq!((self.code, &*self.out, self.err.trim_end()), (code, "", text), "{self:?}");
    }
}

/// The program without any setting of the surroundings.
pub(crate) fn program(args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Command {
    let mut command = Command::new(PROGRAM);
    command.args(args).env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.stdin(Stdio::null());
    command
}

pub(crate) fn ran(command: &mut Command) -> Result<Ran, Box<dyn std::error::Error>> {
    let output = command.output()?;
    Ok(Ran {
        code: output.status.code().ok_or("killed")?,
        out: String::from_utf8(output.stdout)?,
        err: String::from_utf8(output.stderr)?,
    })
}

pub(crate) struct Site {
    pub(crate) redis: TestRedis,
}

impl Site {
    pub(crate) fn start() -> Result<Self, Box<dyn std::error::Error>> {
        Ok(Self { redis: TestRedis::start()? })
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = program(args);
        command.env("REDIS_URL", self.redis.url());
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Result<Ran, Box<dyn std::error::Error>> {
        ran(&mut self.command(args))
    }

    /// Files `count` jobs with the scores 1, 2, … and the ids j1, j2, …, of the classes B and A in turn.
    pub(crate) fn fill(&self, set: &str, count: u32) {
        let script = r#"for n = 1, tonumber(ARGV[1]) do
            local class = n % 2 == 0 and 'A' or 'B'
            local error = n % 3 == 0 and 'Timeout' or 'IOError'
            local job = string.format('{"class":"%s","jid":"j%d","queue":"q","args":[%d],"error_class":"%s","error_message":"m","failed_at":%d.0}', class, n, n, error, n)
            redis.call('ZADD', KEYS[1], n, job)
          end"#;
        self.redis.cli(&["EVAL", script, "1", &format!("cogworker:{set}"), &count.to_string()]);
    }

    /// A process's record, as its heartbeat writes it.
    pub(crate) fn process(&self, identity: &str, info: &str, busy: &str, quiet: &str) {
        self.redis.cli(&["SADD", "cogworker:processes", identity]);
        let key = format!("cogworker:process:{identity}");
        self.redis.cli(&["HSET", &key, "info", info, "busy", busy, "quiet", quiet]);
    }
}

/// A line from its first bracket on: what stands before it depends on when it is read.
pub(crate) fn from_time(line: &str) -> &str {
    line.find('(').map_or(line, |at| &line[at..])
}
