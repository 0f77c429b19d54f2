//! Ends a started process when the program that started it dies without cleaning up.
//!
//! A program killed with SIGKILL (a test runner's timeout) runs no destructor. So each started process has a
//! tiny shell beside it which waits for the end of its standard input. The program holds the other end of that
//! pipe and never writes to it again; the kernel closes it however the program ends. Unlike a parent-death
//! signal this needs no unsafe code, does not depend on the thread that spawned, and works on every Unix.
//!
//! The watch is started *before* the process and told its id afterwards: nothing is left unwatched longer
//! than one write takes; or the process is started in the shell's own group, which can be named before.

use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};

/// Kills the whole process group; then removes the directory, when one is given.
const SCRIPT: &str = r#"
read -r group || exit 0
read -r _
kill -s KILL -- "-$group" 2>/dev/null
[ -z "$1" ] || rm -rf -- "$1"
"#;

/// The shell that watches; dropping it calls the watch off.
#[derive(Debug)]
pub struct ParentWatch {
    shell: Child,
    stdin: Option<ChildStdin>,
}

impl ParentWatch {
    /// Starts the shell, before what it is to watch. `directory` is removed when the watch has to act.
    ///
    /// # Errors
    /// When there is no shell.
    pub fn start(directory: Option<&Path>) -> io::Result<Self> {
        let mut shell = Command::new("/bin/sh")
            .arg("-c")
            .arg(SCRIPT)
            .arg("parent-watch")
            .arg(directory.unwrap_or(Path::new("")))
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // Away from the program's own group: a Ctrl-C or a runner's group kill must not reach the watch first.
            .process_group(0)
            .spawn()?;
        let stdin = shell.stdin.take();
        Ok(Self { shell, stdin })
    }

    /// The shell's own process group. What is started in it is watched from its first moment on, once the group
    /// has been named to [`watch`](Self::watch).
    pub fn group(&self) -> u32 {
        self.shell.id()
    }

    /// Names the process group to kill.
    ///
    /// # Errors
    /// When the shell has ended.
    pub fn watch(&mut self, group: u32) -> io::Result<()> {
        match &mut self.stdin {
            Some(stdin) => writeln!(stdin, "{group}"),
            None => Err(io::Error::from(io::ErrorKind::BrokenPipe)),
        }
    }
}

impl Drop for ParentWatch {
    fn drop(&mut self) {
        // Killed before its input closes, or it would act.
        let _ = self.shell.kill();
        let _ = self.shell.wait();
    }
}
