//! What a test gives to be loaded.

use cogworker_server::cli::{self, Loaded};
use cogworker_server::{Config, exit_code};

/// A folder with one configuration file, and the variables and flags beside it.
pub(crate) struct Given {
    pub(crate) dir: tempfile::TempDir,
    env: Vec<(&'static str, &'static str)>,
    pub(crate) args: Vec<&'static str>,
}

pub(crate) fn given(file: &str) -> Given {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("c.yml"), file).unwrap();
    Given { dir, env: Vec::new(), args: vec!["worker", "-C", "c.yml"] }
}

pub(crate) fn without_file() -> Given {
    Given { dir: tempfile::tempdir().unwrap(), env: Vec::new(), args: vec!["worker"] }
}

impl Given {
    pub(crate) fn env(mut self, vars: &[(&'static str, &'static str)]) -> Self {
        self.env.extend(vars);
        self
    }

    pub(crate) fn args(mut self, args: &[&'static str]) -> Self {
        self.args.extend(args);
        self
    }

    pub(crate) fn load(&self) -> Result<Loaded, cli::CliError> {
        cli::load(&self.args, &self.env.iter().copied().collect(), self.dir.path())
    }

    pub(crate) fn loaded(&self) -> Loaded {
        self.load().unwrap_or_else(|error| panic!("{error}"))
    }

    pub(crate) fn config(&self) -> Config {
        self.loaded().config
    }

    pub(crate) fn error(&self) -> String {
        let error = self.load().expect_err("refused");
        assert_eq!(error.exit_code(), exit_code::CONFIGURATION);
        error.to_string()
    }
}
