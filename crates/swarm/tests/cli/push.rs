//! `push`.

use crate::support::{Outcome, Site};

#[test]
fn a_job_is_pushed_with_the_exact_bytes_of_its_args() -> Outcome {
    let site = Site::start()?;
    let args = ["\"wörld\"", "-1", "1.0", "123456789012345678901234567890", r#"{"b": 1,"a":[]}"#, " null "];
    let pushed = site.run(&[&["push", "GreetingJob"], &args[..]].concat())?;
    let jid =
        pushed.done().strip_prefix("pushed ").and_then(|rest| rest.strip_suffix(" onto the queue default\n"));
    let jid = jid.ok_or("no jid")?;
    let job = site.redis.cli(&["LINDEX", "cogworker:queue:default", "0"]);
    let job = job.as_str().ok_or("no job")?;
    let expected = r#"{"class":"GreetingJob","args":["wörld",-1,1.0,123456789012345678901234567890,{"b": 1,"a":[]},null],"#;
    assert!(job.starts_with(expected) && job.contains(&format!("\"jid\":\"{jid}\"")), "{job}");
    assert!(job.contains("\"retry\":true") && job.contains("\"enqueued_at\":"), "{job}");
    Ok(())
}

#[test]
fn queue_retries_time_and_any_option_can_be_given() -> Outcome {
    let site = Site::start()?;
    let pushed = site.run(&[
        "push",
        "A",
        "--queue",
        "a b",
        "--retry",
        "3",
        "--set",
        r#"tags=["x"]"#,
        "--set",
        "jid=\"mine\"",
        "--at",
        "2040-01-01T00:00:00Z",
        "--json",
    ])?;
    assert_eq!(pushed.done(), "{\"jid\":\"mine\",\"class\":\"A\",\"queue\":\"a b\",\"at\":2208988800.0}\n");
    let stored = site.redis.cli(&["ZRANGE", "cogworker:schedule", "0", "-1", "WITHSCORES"]).strings();
    assert_eq!(stored[1], "2208988800");
    for part in [r#""tags":["x"]"#, r#""retry":3"#, r#""queue":"a b""#, r#""jid":"mine""#] {
        assert!(stored[0].contains(part), "{part}: {}", stored[0]);
    }
    let later = site.run(&["push", "A", "--in", "1h 30m"])?;
    assert!(later.done().contains("onto the queue default, due in 1h 30m (20"), "{later:?}");
    Ok(())
}

#[test]
fn what_is_no_json_says_how_to_quote_it() -> Outcome {
    let site = Site::start()?;
    let word = site.run(&["push", "A", "1", "hello"])?;
    assert_eq!((word.code, &*word.out), (2, ""));
    assert!(word.err.starts_with("cogworker: argument 2: expected a JSON value, found hello ("), "{word:?}");
    assert!(word.err.ends_with("; for a text write '\"hello\"'\n"), "{word:?}");
    let quote = site.run(&["push", "A", "it's"])?;
    assert!(quote.err.ends_with("for a text write '\"it'\\''s\"'\n"), "{quote:?}");
    for (args, said) in [
        (&["push", "A", "[1,"][..], "argument 1: expected a JSON value"),
        (&["push", "A", ""], "argument 1: expected a JSON value"),
        (&["push", "A", "1 2"], "argument 1: expected a JSON value"),
        (&["push", "A", "1],[2"], "argument 1: expected a JSON value"),
        (&["push", ""], "the class is empty"),
        (&["push", "A", "--set", "x"], "--set: expected KEY=JSON, found x"),
        (&["push", "A", "--set", "=1"], "--set: expected KEY=JSON"),
        (&["push", "A", "--set", "x=y"], "--set x: expected a JSON value, found y"),
        (&["push", "A", "--set", "args=[1]"], "--set: args is set by the command itself"),
        (&["push", "A", "--set", "jid=7"], "failed to push a job: jid must be a text, found 7"),
        (
            &["push", "A", "--queue", ""],
            "failed to push a job: queue must be a queue name of 1 to 255 bytes without commas, control characters or spaces at its ends, found \"\"",
        ),
        (&["push", "A", "--retry", "-1"], "expected a whole number, true or false"),
        (&["push", "A", "--retry", "often"], "expected a whole number, true or false"),
        (&["push", "A", "--at", "soon"], "expected a time such as"),
        (&["push", "A", "--in", "5"], "time unit needed"),
        (&["push", "A", "--in", "5m", "--at", "1"], "cannot be used with"),
    ] {
        let ran = site.run(args)?;
        assert!(ran.code == 2 && ran.out.is_empty() && ran.err.contains(said), "{args:?}: {ran:?}");
    }
    assert_eq!(site.redis.cli(&["DBSIZE"]), 0, "nothing was pushed");
    Ok(())
}

#[test]
fn a_duplicate_of_a_unique_job_is_an_error_that_names_the_first() -> Outcome {
    let site = Site::start()?;
    let args = ["push", "A", "1", "--set", "unique=\"until_executed\"", "--set", "jid=\"first\""];
    assert_eq!(site.run(&args)?.done(), "pushed first onto the queue default\n");
    site.run(&args)?.failed(1, "cogworker: not pushed: an equal unique job is under way: first");
    assert_eq!(site.redis.cli(&["LLEN", "cogworker:queue:default"]), 1);
    Ok(())
}
