//! The flags, the environment and what `--print-config` prints.

use std::path::Path;
use std::process::Command;

use cogworker_server::cli::{self, environment};
use cogworker_server::config::{EnvVars, Source};
use cogworker_server::exit_code;

fn load(args: &[&str]) -> Result<cli::Loaded, cli::CliError> {
    let args = std::iter::once("worker").chain(args.iter().copied());
    cli::load(args, &EnvVars::default(), Path::new("/srv"))
}

#[test]
fn the_flags_are_declared_without_contradiction() {
    cli::command().debug_assert();
}

#[test]
fn conf_07_the_flags_of_the_gem_are_parsed_in_both_forms() {
    let short = load(&["-r", "./app", "-c", "7", "-q", "a", "-L", "w.log", "-e", "test"]).unwrap();
    let long =
        load(&["--require=./app", "--concurrency=7", "--queue=a", "--logfile=w.log", "--environment=test"])
            .unwrap();
    assert_eq!(short, long);
    assert_eq!(short.config.concurrency, 7);
    assert_eq!(short.config.queues, ["a"]);
    assert_eq!(short.config.logfile.as_deref(), Some(Path::new("/srv/w.log")));
    assert_eq!(short.config.environment, "test");
}

#[test]
fn conf_08_queues_are_repeated_by_their_weight_and_replace_those_of_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("c.yml");
    std::fs::write(&file, "queues: [other]\n").unwrap();
    let args = ["-q", "default,3", "-q", "low", "-C", file.to_str().unwrap()];
    assert_eq!(load(&args).unwrap().config.queues, ["default", "default", "default", "low"]);
}

#[test]
fn wrong_flags_end_with_the_configuration_code_and_help_and_version_with_0() {
    for (args, code, says) in [
        (&["--help"][..], exit_code::CLEAN, "--queue <NAME[,WEIGHT]>"),
        (&["--version"], exit_code::CLEAN, env!("CARGO_PKG_VERSION")),
        (&["--none"], exit_code::CONFIGURATION, "unexpected argument '--none'"),
        (&["-c", "0"], exit_code::CONFIGURATION, "expected a whole number from 1 to 65536, found 0"),
        (
            &["-c", "lots"],
            exit_code::CONFIGURATION,
            "expected a whole number from 1 to 65536, found \"lots\"",
        ),
        (&["-c", "1", "-c", "2"], exit_code::CONFIGURATION, "cannot be used multiple times"),
        (&["-q", "a,0"], exit_code::CONFIGURATION, "expected a weight from 1 to 1000, found 0"),
        (
            &["-q", "default,low"],
            exit_code::CONFIGURATION,
            "expected a weight from 1 to 1000, found \"low\" (several queues are -q default -q low)",
        ),
        (
            &["-q", "a,2,b:c,d"],
            exit_code::CONFIGURATION,
            "found \"2,b:c,d\" (several queues are -q a,2 -q b:c -q d)",
        ),
        (&["-q", "a,2000"], exit_code::CONFIGURATION, "expected a weight from 1 to 1000, found 2000\n"),
        (&["-q", "a,-1"], exit_code::CONFIGURATION, "expected a weight from 1 to 1000, found -1\n"),
        (&["-q", ""], exit_code::CONFIGURATION, "found an empty name"),
        (&["-e", ""], exit_code::CONFIGURATION, "a value is required"),
        (&["-C"], exit_code::CONFIGURATION, "a value is required"),
        (&["stray"], exit_code::CONFIGURATION, "unexpected argument 'stray'"),
    ] {
        let error = load(args).unwrap_err();
        assert_eq!(error.exit_code(), code, "{args:?}");
        assert!(error.to_string().contains(says), "{args:?}: {error}");
    }
}

#[test]
fn conf_11_the_environment_is_the_flag_else_the_first_variable_that_is_set() {
    let env = |vars: &[(&str, &str)]| vars.iter().copied().collect::<EnvVars>();
    let resolve = |flag, vars: &[(&str, &str)]| environment::resolve(flag, &env(vars)).unwrap();
    let var = |name: &str| Source::Env { var: name.into() };
    assert_eq!(resolve(None, &[]), ("development".into(), Source::Default));
    assert_eq!(resolve(None, &[("RACK_ENV", "c")]), ("c".into(), var("RACK_ENV")));
    assert_eq!(resolve(None, &[("RACK_ENV", "c"), ("RAILS_ENV", "b")]), ("b".into(), var("RAILS_ENV")));
    assert_eq!(resolve(None, &[("APP_ENV", "a"), ("RAILS_ENV", "b")]), ("a".into(), var("APP_ENV")));
    assert_eq!(resolve(None, &[("APP_ENV", ""), ("RAILS_ENV", "b")]), ("b".into(), var("RAILS_ENV")));
    let flag = Source::Flag { flag: "--environment".into() };
    assert_eq!(resolve(Some("x"), &[("APP_ENV", "a")]), ("x".into(), flag));
}

#[test]
fn only_variables_that_differ_are_exported() {
    let env: EnvVars = [("RAILS_ENV", "production"), ("RACK_ENV", "test")].into_iter().collect();
    let exports = environment::exports(&env, "production");
    assert_eq!(exports, [("APP_ENV", "production".to_owned()), ("RACK_ENV", "production".to_owned())]);
    let env: EnvVars = environment::VARS.into_iter().map(|var| (var, "test")).collect();
    assert!(environment::exports(&env, "test").is_empty());
}

/// Runs only in the process that the next test starts.
#[test]
#[ignore = "replaces its process"]
fn child_that_exports_its_environment() {
    environment::export(&EnvVars::from_process(), "staging").unwrap();
    let values: Vec<String> =
        environment::VARS.into_iter().map(|var| std::env::var(var).unwrap_or_default()).collect();
    println!("pid {} {}", std::process::id(), values.join(" "));
}

#[test]
fn conf_10_the_process_starts_again_under_the_same_id_with_the_environment_exported() {
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child_that_exports_its_environment", "--ignored", "--nocapture"])
        .env_remove("APP_ENV")
        .env("RAILS_ENV", "production")
        .env_remove("RACK_ENV")
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let id = child.id();
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
    assert!(text.contains(&format!("pid {id} staging staging staging")), "{text}");
}

#[test]
fn p_59_print_config_says_each_value_and_its_source_but_no_password() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("c.yml"), "fetch: basic\nredis:\n  password: s3cret\n  key_prefix: a\n")
        .unwrap();
    let env: EnvVars =
        [("COGWORKER_ORPHAN_THRESHOLD", "60"), ("RAILS_ENV", "production")].into_iter().collect();
    let args = [
        "worker",
        "-C",
        "c.yml",
        "-q",
        "a,2",
        "-q",
        "b",
        "--health-bind",
        "127.0.0.1:7433",
        "--log-format",
        "json",
        "--print-config",
    ];
    let loaded = cli::load(args, &env, dir.path()).unwrap();
    assert!(loaded.print_config);
    let expected = "\
concurrency: 10                         # default
queues: [\"a\", \"a\", \"b\"]                 # flag --queue
fetch: basic                            # c.yml:1
fetch_idle_max_interval: 1              # default
orphan_threshold: 60                    # env COGWORKER_ORPHAN_THRESHOLD
max_orphanings: 3                       # default
unique_lock_ttl: 86400                  # default
periodic_catch_up: true                 # default
shutdown_timeout: 25                    # default
environment: \"production\"               # env RAILS_ENV
logfile: ~                              # default
log_format: json                        # flag --log-format
health_bind: \"127.0.0.1:7433\"           # flag --health-bind
redis: \"redis://:***@127.0.0.1:6379/0\"  # c.yml:3
redis_key_prefix: \"a\"                   # c.yml:4
redis_connect_timeout: 5                # default
redis_command_timeout: 5                # default
";
    assert_eq!(loaded.report(), expected);
}
