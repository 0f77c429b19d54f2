//! The worker on a Redis Cluster, configured by the environment alone.

use cogworker_testing::{TestCluster, TestRedis, WorkerProcess};

use crate::support::{PROGRAM, SOON, TestResult, command, exit_code, int, reach};

const PREFIX: &str = "{cogworker}";

fn spawn(
    cluster: &TestCluster,
    variables: &[(&str, &str)],
) -> Result<WorkerProcess, Box<dyn std::error::Error>> {
    let hosts: Vec<_> = cluster.nodes().iter().map(|node| format!("127.0.0.1:{}", node.port())).collect();
    let mut command = command(PROGRAM, &["-c", "2"]);
    command.env("REDIS_URL", format!("redis-cluster://{}", hosts.join(","))).envs(variables.iter().copied());
    Ok(WorkerProcess::spawn_command(command)?)
}

fn push(node: &TestRedis, class: &str, args: &str) {
    let job = format!(r#"{{"class":"{class}","args":{args},"queue":"default","jid":"j-{class}"}}"#);
    node.cli(&["LPUSH", &format!("{PREFIX}cogworker:queue:default"), &job]);
}

#[test]
fn a_worker_on_a_cluster_runs_retries_buries_and_gives_back() -> TestResult {
    let cluster = TestCluster::start()?;
    let mut worker = spawn(
        &cluster,
        &[
            ("COGWORKER_REDIS_KEY_PREFIX", PREFIX),
            ("RUST_LOG", "info"),
            ("COGWORKER_SHUTDOWN_TIMEOUT", "0.2"),
        ],
    )?;
    worker.wait_for_log(" is working on ", SOON)?;
    let node = cluster.node_of(PREFIX)?;
    push(node, "GreetingJob", r#"["cluster"]"#);
    worker.wait_for_log("Hello, cluster!", SOON)?;
    push(node, "FlakyJob", "[1]");
    push(node, "ImportJob", "[3]");
    let count = |command: &str, key: &str| int(node, &[command, &format!("{PREFIX}cogworker:{key}")]);
    reach("a failure is filed, the rest is counted", || {
        (count("ZCARD", "retry"), count("GET", "stats:processed"), count("GET", "stats:failed")) == (1, 2, 1)
    })?;
    for entry in node.cli(&["ZRANGE", &format!("{PREFIX}cogworker:retry"), "0", "-1"]).strings() {
        node.cli(&["ZADD", &format!("{PREFIX}cogworker:retry"), "XX", "1", &entry]);
    }
    node.cli(&["PUBLISH", &format!("{PREFIX}cogworker:wake"), ""]);
    reach("it is tried again", || count("GET", "stats:processed") == 3)?;
    push(node, "SleepJob", "[60]");
    let held = |key: &str| count("LLEN", key) == 1;
    reach("it is running", || !held("queue:default"))?;
    worker.signal("TERM")?;
    assert_eq!(exit_code(&mut worker)?, Some(0));
    assert!(held("queue:default"), "it was given back");
    for other in cluster.nodes().iter().filter(|other| other.port() != node.port()) {
        assert_eq!(other.cli(&["DBSIZE"]), 0);
    }
    Ok(())
}

#[test]
fn a_cluster_without_a_hash_tag_in_the_prefix_is_refused_with_exit_code_2() -> TestResult {
    let cluster = TestCluster::start()?;
    for prefix in ["", "app:", "{}"] {
        let mut worker = spawn(&cluster, &[("COGWORKER_REDIS_KEY_PREFIX", prefix)])?;
        assert_eq!(exit_code(&mut worker)?, Some(2), "{prefix:?}");
        let log = worker.log().join("\n");
        assert!(log.contains("hash tag") && log.contains("{cogworker}"), "{log}");
    }
    for node in cluster.nodes() {
        assert_eq!(node.cli(&["DBSIZE"]), 0);
    }
    Ok(())
}
