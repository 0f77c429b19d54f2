//! Flags, file, environment: what wins, and what is refused with exit code 2.

use std::fs;
use std::path::PathBuf;

use cogworker_testing::TestRedis;

use crate::support::{Outcome, run, start_with};

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
    let output = run(&[&["-C", &shown, "--print-config"], args].concat(), variables)?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?.replace(&shown, "FILE"))
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
fn the_gems_sample_file_loads_conf_04() -> Outcome {
    let config = printed(SAMPLE, &[], &[])?;
    assert!(config.contains("concurrency: 5  # FILE"), "{config}");
    assert!(config.contains("queues: [default, default, low]  # FILE"), "{config}");
    assert!(config.contains("fetch: reliable  # FILE"), "{config}");
    assert!(config.contains("max_orphanings: 3  # default"), "{config}");
    let config = printed(SAMPLE, &[], &[("CONCURRENCY", "7")])?;
    assert!(config.contains("concurrency: 7  # FILE"), "{config}");
    Ok(())
}

#[test]
fn flags_win_over_the_environment_which_wins_over_the_file_p_59() -> Outcome {
    let text = "concurrency: 3\norphan_threshold: 60\nqueues: [a, :b]\n";
    let variables = [("COGWORKER_CONCURRENCY", "4"), ("COGWORKER_ORPHAN_THRESHOLD", "70")];
    let config = printed(text, &["-c", "5", "-q", "x,2", "-q", "y"], &variables)?;
    for line in [
        "concurrency: 5  # -c",
        "orphan_threshold: 70  # COGWORKER_ORPHAN_THRESHOLD",
        "queues: [x, x, y]  # -q",
    ] {
        assert!(config.contains(line), "{line} in {config}");
    }
    assert!(printed(text, &[], &[])?.contains("queues: [a, b]  # FILE"));
    Ok(())
}

#[test]
fn a_section_of_the_environment_is_laid_over_the_rest() -> Outcome {
    let text = "concurrency: 3\nproduction:\n  concurrency: 30\nstaging:\n  concurrency: 9\n";
    assert!(printed(text, &[], &[])?.contains("concurrency: 3 "));
    let config = printed(text, &["-e", "production"], &[])?;
    assert!(config.contains("concurrency: 30 ") && config.contains("environment: production  # -e"));
    assert!(printed(text, &[], &[("RAILS_ENV", "staging")])?.contains("concurrency: 9 "));
    Ok(())
}

#[test]
fn an_empty_file_means_the_defaults_conf_12() -> Outcome {
    for text in ["", "---\n", "# nothing\n"] {
        let config = printed(text, &[], &[])?;
        assert!(
            config.contains("concurrency: 10  # default") && config.contains("queues: [default]  # default")
        );
    }
    Ok(())
}

#[test]
fn what_cannot_be_used_is_refused_with_place_key_expected_and_found_p_59() -> Outcome {
    let redis = TestRedis::start()?;
    let cases: [(&str, Args, Variables, &str); 14] = [
        (
            "concurency: 5",
            &[],
            &[],
            "failed to use FILE: there is no setting concurency; did you mean concurrency?",
        ),
        (
            "concurrency: lots",
            &[],
            &[],
            "failed to use FILE: concurrency must be a whole number from 1 to 10000, found \"lots\"",
        ),
        (
            "concurrency: 0",
            &[],
            &[],
            "failed to use FILE: concurrency must be a whole number from 1 to 10000, found 0",
        ),
        (
            "queues: []",
            &[],
            &[],
            "failed to use FILE: queues must be a list of queue names, at least one, found []",
        ),
        ("fetch: fast", &[], &[], "failed to use FILE: fetch must be reliable or basic, found \"fast\""),
        ("fetch: ~", &[], &[], "failed to use FILE: fetch must be reliable or basic, found nothing"),
        (
            "max_orphanings: 2.5",
            &[],
            &[],
            "failed to use FILE: max_orphanings must be a positive whole number, found 2.5",
        ),
        (
            "orphan_threshold: -1",
            &[],
            &[],
            "failed to use FILE: orphan_threshold must be a positive number of seconds, found -1",
        ),
        (
            "c: <%= `ls` %>",
            &[],
            &[],
            "failed to read the configuration file FILE: line 1: <%= `ls` %>: expected a value, found '`'",
        ),
        ("- a", &[], &[], "failed to read the configuration file FILE: expected keys and values at the top"),
        (
            "",
            &[],
            &[("COGWORKER_CONCURENCY", "5")],
            "failed to use COGWORKER_CONCURENCY: there is no setting concurency; did you mean concurrency?",
        ),
        (
            "",
            &[],
            &[("REDIS_URL", "http://x")],
            "failed to use REDIS_URL: redis must be a redis url, found read the redis url http://x: the scheme must be",
        ),
        ("", &["-q", "low,0"], &[], "the weight must be a whole number from 1 to 1000, found \"0\""),
        ("", &["--frobnicate"], &[], "unexpected argument '--frobnicate'"),
    ];
    for (text, args, variables, expected) in cases {
        let (_folder, path) = file(text)?;
        let shown = path.display().to_string();
        let url = redis.url();
        let mut all = vec![("REDIS_URL", url.as_str())];
        all.extend_from_slice(variables);
        let output = run(&[&["-C", shown.as_str()], args].concat(), &all)?;
        let errors = String::from_utf8(output.stderr)?.replace(&shown, "FILE");
        assert_eq!(output.status.code(), Some(2), "{text}: {errors}");
        assert!(errors.contains(expected), "expected {expected}\nfound {errors}");
    }
    assert_eq!(redis.cli(&["DBSIZE"]), 0, "nothing was registered");
    Ok(())
}

#[test]
fn a_missing_file_is_refused() -> Outcome {
    let output = run(&["-C", "/nowhere/cogworker.yml"], &[])?;
    assert_eq!(output.status.code(), Some(2));
    let errors = String::from_utf8(output.stderr)?;
    assert!(errors.starts_with("failed to read the configuration file /nowhere/cogworker.yml: "), "{errors}");
    Ok(())
}

#[test]
fn help_and_version_are_no_failures() -> Outcome {
    for (flag, text) in
        [("--help", "Exit codes: 0 after a clean stop"), ("--version", env!("CARGO_PKG_VERSION"))]
    {
        let output = run(&[flag], &[])?;
        assert_eq!(output.status.code(), Some(0));
        assert!(String::from_utf8(output.stdout)?.contains(text));
    }
    Ok(())
}

#[test]
fn the_environments_name_is_exported_under_all_three_names_conf_10_conf_11() -> Outcome {
    let redis = TestRedis::start()?;
    let cases: [(Args, Variables, &str); 2] = [
        (&["-e", "staging"], &[("RAILS_ENV", "other")], "staging"),
        (&[], &[("RAILS_ENV", "production")], "production"),
    ];
    for (args, variables, name) in cases {
        let worker = start_with(&redis, args, variables)?;
        let environment = fs::read_to_string(format!("/proc/{}/environ", worker.pid()))?;
        for variable in ["APP_ENV", "RAILS_ENV", "RACK_ENV"] {
            assert!(environment.split('\0').any(|set| set == format!("{variable}={name}")), "{variable}");
        }
    }
    Ok(())
}
