use std::io::{self, Read, Write};

use serde_json::{Value, json};

/// Says that the peer is connected and about to begin.
pub fn ready() {
    line("ready");
}

/// Prints the one line that tells what a workload took.
pub fn report(result: &Value) {
    line(&result.to_string());
}

/// Prints that this job system cannot do the workload, and why.
pub fn unsupported(why: &str) {
    report(&json!({ "unsupported": why }));
}

/// Waits, with all connections open, until standard input closes or SIGTERM comes.
pub async fn stay() {
    let (closed, wait) = tokio::sync::oneshot::channel();
    // A thread of its own: the runtime would wait for a blocking read at its end.
    std::thread::spawn(move || {
        let _ = io::copy(&mut io::stdin().lock().by_ref(), &mut io::sink());
        let _ = closed.send(());
    });
    let mut terminated = match tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
        Ok(terminated) => terminated,
        Err(_) => {
            let _ = wait.await;
            return;
        }
    };
    tokio::select! {
        _ = wait => {}
        _ = terminated.recv() => {}
    }
}

fn line(text: &str) {
    let mut out = io::stdout().lock();
    // The caller may have gone, and then nobody reads this.
    let _ = writeln!(out, "{text}").and_then(|()| out.flush());
}
