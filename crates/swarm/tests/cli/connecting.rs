//! The way to Redis, Redis away, and the ends of the output.

use std::io::Read;
use std::process::Stdio;
use std::time::{Duration, Instant};

use cogworker_testing::{Fault, FaultProxy, TestRedisOptions};

use crate::support::{Outcome, Site, program, ran};

/// Every command that talks to Redis.
const COMMANDS: [&[&str]; 17] = [
    &["stats"],
    &["queues"],
    &["queue", "q", "pause"],
    &["queue", "q", "clear", "-y"],
    &["jobs", "dead", "list"],
    &["jobs", "dead", "retry", "j"],
    &["jobs", "retry", "delete-all", "-y"],
    &["jobs", "retry", "retry-all", "-y"],
    &["push", "A"],
    &["processes"],
    &["quiet", "all"],
    &["stop", "all", "-y"],
    &["cron", "list"],
    &["cron", "run", "A"],
    &["status", "j"],
    &["watch", "--json"],
    &["doctor"],
];

#[test]
fn a_redis_that_is_away_is_told_at_once_by_every_command() -> Outcome {
    let site = Site::start()?;
    site.redis.stop();
    for args in COMMANDS {
        let begun = Instant::now();
        let ran = site.run(args)?;
        assert!(begun.elapsed() < Duration::from_secs(6), "{args:?}");
        let place =
            format!("cogworker: failed to connect to redis://127.0.0.1:{}/0: failed to ", site.redis.port());
        assert!(ran.code == 3 && ran.err.starts_with(&place), "{args:?}: {ran:?}");
    }
    Ok(())
}

#[test]
fn a_redis_that_does_not_answer_is_told_within_six_seconds() -> Outcome {
    let site = Site::start()?;
    site.redis.pause()?;
    let begun = Instant::now();
    let runs = [&["stats"][..], &["doctor", "--json"], &["queue", "q", "list"]]
        .map(|args| site.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn());
    for run in runs {
        let output = run?.wait_with_output()?;
        assert_eq!(output.status.code(), Some(3), "{output:?}");
        assert!(begun.elapsed() < Duration::from_secs(6), "{:?}", begun.elapsed());
    }
    site.redis.resume()?;
    Ok(())
}

#[test]
fn a_redis_that_falls_silent_on_the_way_says_how_far_it_got() -> Outcome {
    let site = Site::start()?;
    let proxy = FaultProxy::start(&site.redis)?;
    site.fill("dead", 100_000);
    let mut command = program(["jobs", "dead", "delete-all", "--class", "A", "--yes"]);
    command.env("REDIS_URL", proxy.url()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let run = command.spawn()?;
    let begun = || {
        site.redis
            .command(&["ZCARD", "cogworker:dead"])
            .is_ok_and(|size| size.as_int().is_some_and(|size| size < 99_000))
    };
    assert!(cogworker_testing::wait_until(Duration::from_secs(10), begun));
    proxy.set(Fault::BlackHole);
    let silent = Instant::now();
    let output = run.wait_with_output()?;
    assert!(silent.elapsed() < Duration::from_secs(6), "{:?}", silent.elapsed());
    let err = String::from_utf8(output.stderr)?;
    assert_eq!(output.status.code(), Some(3), "{err}");
    let words = "cogworker: failed to delete jobs from dead (";
    assert!(
        err.starts_with(words)
            && err.contains(" deleted, ")
            && err.contains(" of 100,000 jobs looked at before that): failed to "),
        "{err}"
    );
    Ok(())
}

#[test]
fn ctrl_c_on_the_way_says_how_far_it_got() -> Outcome {
    let site = Site::start()?;
    let proxy = FaultProxy::start(&site.redis)?;
    site.fill("dead", 50_000);
    site.redis.cli(&["RENAME", "cogworker:dead", "cogworker:retry"]);
    let queue = "for n = 1, 50000 do redis.call('LPUSH', KEYS[1], n) end";
    site.redis.cli(&["EVAL", queue, "1", "cogworker:queue:big"]);
    for (args, size, said) in [
        (&["jobs", "retry", "retry-all", "--yes"][..], ["ZCARD", "cogworker:retry"], " put back, "),
        (&["queue", "big", "clear", "--yes"], ["LLEN", "cogworker:queue:big"], " of 50,000 jobs deleted"),
    ] {
        proxy.set(Fault::Pass);
        let begun = site.redis.cli(&size).as_int().unwrap_or_default();
        let mut command = program(args);
        command.env("REDIS_URL", proxy.url()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let run = command.spawn()?;
        let goes_on = || {
            site.redis.command(&size).is_ok_and(|size| size.as_int().is_some_and(|size| size < begun - 600))
        };
        assert!(cogworker_testing::wait_until(Duration::from_secs(20), goes_on), "{args:?}");
        proxy.set(Fault::BlackHole);
        cogworker_testing::send_signal(run.id(), "INT")?;
        let interrupted = Instant::now();
        let output = run.wait_with_output()?;
        assert!(interrupted.elapsed() < Duration::from_secs(2), "{args:?}");
        let err = String::from_utf8(output.stderr)?;
        assert_eq!((output.status.code(), output.stdout.is_empty()), (Some(1), true), "{err}");
        assert!(err.starts_with("cogworker: interrupted: ") && err.contains(said), "{err}");
        proxy.cut();
    }
    Ok(())
}

#[test]
fn redis_is_found_by_flag_variable_or_file_as_a_worker_finds_it() -> Outcome {
    let site = Site::start()?;
    site.redis.cli(&["SET", "cogworker:stats:processed", "7"]);
    site.redis.cli(&["SET", "{x}cogworker:stats:processed", "8"]);
    let away = "redis://127.0.0.1:1";
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("c.yml");
    std::fs::write(
        &file,
        format!(
            "redis: {away}\nproduction:\n  redis:\n    url: <%= ENV[\"THE_URL\"] %>\n    key_prefix: \"{{x}}\"\n"
        ),
    )?;
    let file = file.to_str().ok_or("odd path")?;
    let url = site.redis.url();
    let processed = |args: &[&str], vars: &[(&str, &str)]| -> Result<i64, Box<dyn std::error::Error>> {
        let mut command = program([args, &["--json"]].concat());
        let ran = ran(command.envs(vars.iter().copied()))?;
        let stats: serde_json::Value = serde_json::from_str(ran.done())?;
        Ok(stats["processed"].as_i64().unwrap_or(-1))
    };
    assert_eq!(processed(&["stats"], &[("REDIS_URL", &url)])?, 7);
    assert_eq!(processed(&["stats"], &[("REDIS_URL", &url), ("COGWORKER_REDIS_KEY_PREFIX", "{x}")])?, 8);
    assert_eq!(processed(&["stats", "--redis-url", &url], &[("REDIS_URL", away)])?, 7);
    assert_eq!(processed(&["--redis-url", &url, "stats"], &[])?, 7);
    assert_eq!(processed(&["-C", file, "stats", "-e", "production"], &[("THE_URL", &url)])?, 8);
    assert_eq!(processed(&["-C", file, "stats"], &[("THE_URL", &url), ("APP_ENV", "production")])?, 8);
    assert_eq!(processed(&["-C", file, "stats"], &[("REDIS_URL", &url)])?, 7);
    Ok(())
}

#[test]
fn wrong_settings_are_usage_errors_that_name_the_place_and_no_password() -> Outcome {
    let case = |args: &[&str], vars: &[(&str, &str)], said: &str| -> Outcome {
        let ran = ran(program(args).envs(vars.iter().copied()))?;
        assert!(ran.code == 2 && ran.out.is_empty(), "{ran:?}");
        assert!(ran.err.starts_with("cogworker: ") && ran.err.contains(said), "{ran:?}");
        assert!(!ran.err.contains("s3cret"), "{ran:?}");
        Ok(())
    };
    case(&["stats", "--redis-url", "http://:s3cret@x"], &[], "--redis-url: ")?;
    case(&["stats"], &[("REDIS_URL", "redis://:s3cret@x:y")], "REDIS_URL: ")?;
    case(&["stats"], &[("COGWORKER_REDIS_COMMAND_TIMEOUT", "never")], "COGWORKER_REDIS_COMMAND_TIMEOUT")?;
    case(&["stats", "-C", "/nowhere.yml"], &[], "/nowhere.yml")?;
    case(&["stats", "-e", ""], &[], "environment")?;
    case(&["-r"], &[], "-r: expected the worker's executable, or the folder that it is in, found none")
}

#[test]
fn a_wrong_password_is_told_with_the_code_of_an_unreachable_redis() -> Outcome {
    let site = Site::start()?;
    site.redis.cli(&["ACL", "SETUSER", "u", "on", ">right", "+@all", "~*"]);
    let url = format!("redis://u:wr0ng@127.0.0.1:{}", site.redis.port());
    let ran = ran(program(["stats"]).env("REDIS_URL", url))?;
    assert!(ran.code == 3 && ran.err.contains("WRONGPASS") && !ran.err.contains("wr0ng"), "{ran:?}");
    Ok(())
}

#[test]
fn the_documented_rights_are_enough_for_every_command() -> Outcome {
    const DOCUMENTED: &str = include_str!("../../../../docs/redis-layout.md");
    let block = DOCUMENTED
        .split("ACL SETUSER cogworker on >PASSWORD ")
        .nth(1)
        .and_then(|rest| rest.split("```").next());
    let words = block.ok_or("no rights")?.split_whitespace().filter(|word| *word != "\\");
    let further =
        DOCUMENTED.lines().find(|line| line.contains("`cogworker jobs`")).ok_or("no further rights")?;
    let further = further.split('`').nth(1).ok_or("no further rights")?;
    let rules = format!("{} {further}", words.collect::<Vec<_>>().join(" "));
    let redis = TestRedisOptions::new().user("operator", "secret", &rules).start()?;
    let site = Site { redis };
    site.fill("dead", 600);
    site.redis.cli(&["LPUSH", "cogworker:queue:q", "{}"]);
    site.redis.cli(&["HSET", "periodic:schedule", "p", r#"{"cron":"@daily","class":"A","args":[]}"#]);
    site.redis.cli(&["ACL", "LOG", "RESET"]);
    let url = site.redis.url_of("operator").ok_or("no such user")?;
    let mut channel = site.redis.connect()?;
    channel.command(&["SUBSCRIBE", "cogworker:signal:h:1:a"])?;
    site.process("h:1:a", "{}", "0", "false");
    let further: [&[&str]; 9] = [
        &["jobs", "dead", "list", "--class", "A"],
        &["jobs", "dead", "retry", "j7"],
        &["jobs", "dead", "delete", "j8", "-y"],
        &["jobs", "dead", "delete-all", "--class", "A", "-y"],
        &["queue", "q", "list"],
        &["queue", "q", "delete", "-y"],
        &["cron", "run", "A"],
        &["cron", "disable", "A"],
        &["push", "A", "--set", "unique=\"until_executed\"", "--in", "5m"],
    ];
    for args in COMMANDS.into_iter().filter(|args| args[0] != "watch").chain(further) {
        let ran = ran(program(args).env("REDIS_URL", &url))?;
        // What it names need not be there; what it may not do would be told.
        assert!(
            matches!(ran.code, 0 | 1) && !ran.err.contains("NOPERM") && !ran.out.contains("NOPERM"),
            "{args:?}: {ran:?}"
        );
    }
    let refused = site.redis.cli(&["ACL", "LOG"]);
    assert!(refused.items().is_empty(), "{refused:?}");
    Ok(())
}

#[test]
fn a_reader_that_has_seen_enough_ends_it_quietly() -> Outcome {
    let site = Site::start()?;
    site.fill("dead", 20_000);
    for args in [
        &["jobs", "dead", "list", "--limit", "0"][..],
        &["jobs", "dead", "list", "--limit", "0", "--json"],
        &["watch", "--json", "-n", "0.2"],
        &["completions", "bash"],
    ] {
        let mut run = site.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        let mut first = [0; 100];
        let mut out = run.stdout.take().ok_or("no output")?;
        out.read_exact(&mut first)?;
        drop(out);
        let output = run.wait_with_output()?;
        assert_eq!(
            (output.status.code(), String::from_utf8(output.stderr)?),
            (Some(0), String::new()),
            "{args:?}"
        );
    }
    Ok(())
}

#[test]
fn help_version_and_completions_need_no_redis() -> Outcome {
    let help = ran(&mut program(["--help"]))?;
    for word in ["cogworker -r PATH", "doctor", "Exit codes: 0 done, 1 failed", "--redis-url"] {
        assert!(help.done().contains(word), "{word}");
    }
    assert_eq!(
        ran(&mut program(["--version"]))?.done(),
        format!("cogworker {}\n", env!("CARGO_PKG_VERSION"))
    );
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = ran(&mut program(["completions", shell]))?;
        assert!(script.done().contains("retry-all"), "{shell}");
    }
    let bash = ran(&mut program(["completions", "bash"]))?;
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("cogworker"), &bash.out)?;
    let asks = "source \"$0\"; COMP_WORDS=(cogworker jobs dead re); COMP_CWORD=3; _cogworker cogworker re dead; echo ${COMPREPLY[@]}";
    let shell = std::process::Command::new("bash")
        .args(["-c", asks])
        .arg(folder.path().join("cogworker"))
        .output()?;
    let replies = String::from_utf8(shell.stdout)?;
    assert!(replies.contains("retry") && replies.contains("retry-all"), "{replies}");
    assert_eq!(ran(&mut program(["completions", "tcsh"]))?.code, 2);
    Ok(())
}

#[test]
fn what_goes_into_a_pipe_is_whole_and_without_colours() -> Outcome {
    let site = Site::start()?;
    let args = format!("[\"{}\"]", "x".repeat(1500));
    site.redis.cli(&["LPUSH", "cogworker:queue:q", &format!(r#"{{"class":"A","jid":"j","args":{args}}}"#)]);
    let ran =
        crate::support::ran(site.command(&["queue", "q", "list"]).env("TERM", "xterm").env("COLUMNS", "40"))?;
    assert!(ran.done().contains(&args) && !ran.out.contains('\u{1b}'), "{ran:?}");
    Ok(())
}
