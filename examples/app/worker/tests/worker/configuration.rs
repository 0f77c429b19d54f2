//! Flags, file, environment: what wins, and what is refused with exit code 2.

use std::fs;
use std::path::PathBuf;

use cogworker_testing::TestRedis;

use crate::support::{TestResult, run_alone, working};

type Args = &'static [&'static str];
type Variables = &'static [(&'static str, &'static str)];

/// A folder with a configuration file in it.
fn file(text: &str) -> std::io::Result<(tempfile::TempDir, PathBuf)> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("cogworker.yml");
    fs::write(&path, text)?;
    Ok((folder, path))
}

/// What `--print-config` prints.
fn printed(
    text: &str,
    args: &[&str],
    variables: &[(&str, &str)],
) -> Result<String, Box<dyn std::error::Error>> {
    let (_folder, path) = file(text)?;
    let shown = path.display().to_string();
    let output = run_alone(&[&["-C", &shown, "--print-config"], args].concat(), variables)?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?.replace(&shown, "FILE"))
}

/// The value and source of one printed setting.
fn setting(config: &str, name: &str) -> String {
    let line = config.lines().find_map(|line| line.strip_prefix(&format!("{name}: ")));
    line.unwrap_or("").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The gem's own sample.
const SAMPLE: &str = r#"---
:concurrency: <%= ENV["CONCURRENCY"] || 5 %>
:queues:
  - default
  - default   # repeating a queue sets its weight: default is polled twice as often as low
  - low
:fetch: reliable   # or basic
"#;

#[test]
fn the_gems_sample_file_loads_conf_04() -> TestResult {
    let config = printed(SAMPLE, &[], &[])?;
    assert_eq!(setting(&config, "concurrency"), "5 # FILE:2");
    assert_eq!(setting(&config, "queues"), r#"["default", "default", "low"] # FILE:3"#);
    assert_eq!(setting(&config, "fetch"), "reliable # FILE:7");
    assert_eq!(setting(&config, "max_orphanings"), "3 # default");
    let config = printed(SAMPLE, &[], &[("CONCURRENCY", "7")])?;
    assert_eq!(setting(&config, "concurrency"), "7 # FILE:2");
    Ok(())
}

#[test]
fn flags_win_over_the_environment_which_wins_over_the_file_p_59() -> TestResult {
    let text = "concurrency: 3\norphan_threshold: 60\nqueues: [a, :b]\n";
    let variables = [("COGWORKER_CONCURRENCY", "4"), ("COGWORKER_ORPHAN_THRESHOLD", "70")];
    let config = printed(text, &["-c", "5", "-q", "x,2", "-q", "y"], &variables)?;
    assert_eq!(setting(&config, "concurrency"), "5 # flag --concurrency");
    assert_eq!(setting(&config, "orphan_threshold"), "70 # env COGWORKER_ORPHAN_THRESHOLD");
    assert_eq!(setting(&config, "queues"), r#"["x", "x", "y"] # flag --queue"#);
    assert!(setting(&printed(text, &[], &[])?, "queues").starts_with(r#"["a", "b"] # FILE"#));
    Ok(())
}

#[test]
fn a_section_of_the_environment_is_laid_over_the_rest() -> TestResult {
    let text = "concurrency: 3\nproduction:\n  concurrency: 30\nstaging:\n  concurrency: 9\n";
    assert_eq!(setting(&printed(text, &[], &[])?, "concurrency"), "3 # FILE:1");
    assert_eq!(setting(&printed(text, &["-e", "production"], &[])?, "concurrency"), "30 # FILE:3");
    assert_eq!(setting(&printed(text, &[], &[("RAILS_ENV", "staging")])?, "concurrency"), "9 # FILE:5");
    Ok(())
}

#[test]
fn an_empty_file_means_the_defaults_conf_12() -> TestResult {
    for text in ["", "---\n", "# nothing\n"] {
        let config = printed(text, &[], &[])?;
        assert_eq!(setting(&config, "concurrency"), "10 # default");
        assert_eq!(setting(&config, "queues"), r#"["default"] # default"#);
    }
    Ok(())
}

#[test]
fn what_cannot_be_used_is_refused_with_place_key_expected_and_found_p_59() -> TestResult {
    let redis = TestRedis::start()?;
    let cases: [(&str, Args, Variables, &str); 12] = [
        ("concurency: 5", &[], &[], r#"FILE:1: unknown key "concurency", did you mean concurrency?"#),
        ("concurrency: 0", &[], &[], "FILE:1: concurrency: expected a whole number from 1 to 65536, found 0"),
        ("queues: []", &[], &[], "FILE:1: queues: expected at least one queue, found none"),
        ("fetch: fast", &[], &[], r#"FILE:1: fetch: expected reliable or basic, found "fast""#),
        ("fetch: ~", &[], &[], "FILE:1: fetch: expected reliable or basic, found nil"),
        (
            "max_orphanings: 2.5",
            &[],
            &[],
            "FILE:1: max_orphanings: expected a whole number from 1 to 1000000, found 2.5",
        ),
        ("concurrency: <%= `ls` %>", &[], &[], "FILE: line 1: <%= `ls` %>: unexpected '`'"),
        ("- a", &[], &[], "FILE:1: the file: expected a map of settings, found a list"),
        (
            "",
            &[],
            &[("COGWORKER_CONCURENCY", "5")],
            r#"env COGWORKER_CONCURENCY: unknown key "concurency", did you mean the variable COGWORKER_CONCURRENCY?"#,
        ),
        ("", &[], &[("REDIS_URL", "http://x")], "env REDIS_URL: redis: scheme: expected one of redis://"),
        ("", &["-q", "low,0"], &[], "expected a weight from 1 to 1000, found 0"),
        ("", &["--frobnicate"], &[], "unexpected argument '--frobnicate'"),
    ];
    for (text, args, variables, expected) in cases {
        let (_folder, path) = file(text)?;
        let shown = path.display().to_string();
        let url = redis.url();
        let mut all = vec![("REDIS_URL", url.as_str())];
        all.extend_from_slice(variables);
        let output = run_alone(&[&["-C", shown.as_str()], args].concat(), &all)?;
        let errors = String::from_utf8(output.stderr)?.replace(&shown, "FILE");
        assert_eq!(output.status.code(), Some(2), "{text}: {errors}");
        assert!(errors.contains(expected), "expected {expected}\nfound {errors}");
    }
    assert_eq!(redis.cli(&["DBSIZE"]), 0, "nothing was registered");
    Ok(())
}

#[test]
fn a_missing_file_is_refused() -> TestResult {
    let output = run_alone(&["-C", "/nowhere/cogworker.yml"], &[])?;
    assert_eq!(output.status.code(), Some(2));
    let errors = String::from_utf8(output.stderr)?;
    assert!(errors.starts_with("cogworker: configuration file /nowhere/cogworker.yml: "), "{errors}");
    Ok(())
}

#[test]
fn help_and_version_are_no_failures() -> TestResult {
    for (flag, text) in
        [("--help", "Exit codes: 0 stopped as asked"), ("--version", env!("CARGO_PKG_VERSION"))]
    {
        let output = run_alone(&[flag], &[])?;
        assert_eq!(output.status.code(), Some(0));
        assert!(String::from_utf8(output.stdout)?.contains(text));
    }
    Ok(())
}

#[test]
fn the_environments_name_is_exported_under_all_three_names_conf_10_conf_11() -> TestResult {
    let redis = TestRedis::start()?;
    let cases: [(Args, Variables, &str); 2] = [
        (&["-e", "staging"], &[("RAILS_ENV", "other")], "staging"),
        (&[], &[("RAILS_ENV", "production")], "production"),
    ];
    for (args, variables, name) in cases {
        let (worker, _) = working(&redis, args, variables)?;
        let environment = fs::read_to_string(format!("/proc/{}/environ", worker.pid()))?;
        for variable in ["APP_ENV", "RAILS_ENV", "RACK_ENV"] {
            assert!(environment.split('\0').any(|set| set == format!("{variable}={name}")), "{variable}");
        }
    }
    Ok(())
}
