//! Args keep their bytes, whatever path a job takes.

use cogworker_client::Requeued;
use cogworker_core::new_job::NewJob;
use cogworker_core::raw_job::RawJob;
use cogworker_server::{App, Context, JobError};

use crate::support::{Raw, Seen, Site, TestResult, reach};

/// What a decoder would change: long integers, `1.0`, `{}` and `[]`, spacing, key order,
/// repeated keys, escapes.
const ARGS: &str = r#"[130775545883395173, 0.1,[],{},1.0,null, 123456789012345678901234567890,1e2,{"b":1, "a":2,"b":3},"\u00e9\/",-0.0]"#;

/// Notes the stored args of each run; fails while an attempt is left before `succeeds_at`.
fn app(seen: &Seen<String>, succeeds_at: u32) -> App {
    let seen = seen.clone();
    App::new(()).job(move |job: Raw, ctx: Context| {
        let seen = seen.clone();
        async move {
            let stored = RawJob::parse(ctx.raw())?.args_json().to_owned();
            let typed = job.0.iter().map(|arg| arg.get()).collect::<Vec<_>>();
            assert_eq!(typed[6], "123456789012345678901234567890");
            seen.add(stored);
            if ctx.attempt() < succeeds_at { Err(JobError::new("NotYet", "not yet")) } else { Ok(()) }
        }
    })
}

fn stored_args(site: &Site, set: &str) -> Result<String, Box<dyn std::error::Error>> {
    let entries = site.texts(&["ZRANGE", &format!("cogworker:{set}"), "0", "-1"]);
    let entry = entries.first().ok_or("an entry")?;
    Ok(RawJob::parse(entry.as_bytes())?.args_json().to_owned())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn args_keep_their_bytes_through_schedule_retry_dead_and_a_second_life_p_03() -> TestResult {
    let site = Site::start().await?;
    let seen = Seen::default();
    let job =
        format!(r#"{{"class":"RawJob","args":{ARGS},"retry":1,"at":4000000000.5,"custom": {{"x": 1.00}}}}"#);
    site.client.push(NewJob::from_json(&job)?).await?;
    assert_eq!(stored_args(&site, "schedule")?, ARGS);

    let worker = site.worker(app(&seen, 3))?;
    site.make_due("schedule")?;
    reach("the first failure", || site.members("retry") == 1)?;
    assert_eq!(stored_args(&site, "retry")?, ARGS);
    site.make_due("retry")?;
    reach("the death", || site.members("dead") == 1)?;
    assert_eq!(stored_args(&site, "dead")?, ARGS);
    let dead = site.client.dead().page(0, 1).await?;
    assert!(String::from_utf8_lossy(&dead.entries[0].raw).contains(r#""custom":{"x": 1.00}"#));
    assert_eq!(site.client.dead().requeue(&dead.entries[0].raw).await?, Requeued::Requeued);
    reach("the last run", || site.processed() == 1)?;
    assert_eq!(seen.all(), [ARGS; 3]);
    worker.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn args_keep_their_bytes_when_a_stopping_worker_puts_them_back_p_03() -> TestResult {
    let site = Site::start().await?;
    let raw = format!(r#"{{ "class":"RawJob","args":{ARGS} ,"queue":"default","jid":"j" }}"#);
    let stuck = App::new(()).job(|_: Raw| std::future::pending::<()>());
    let worker = site.worker(stuck)?;
    site.push_raw("default", &raw)?;
    reach("it runs", || site.in_progress(&worker) == 1)?;
    worker.stop().await?;
    assert_eq!(site.texts(&["LRANGE", "cogworker:queue:default", "0", "-1"]), [raw]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fresh_enqueued_at_touches_nothing_else_p_04() -> TestResult {
    let site = Site::start().await?;
    let jobs = [
        (r#"[1]"#, r#""enqueued_at":1.2e3,"#),
        (r#"[{"enqueued_at":"2023-05-23T19:58:15Z"}]"#, ""),
        (r#"["\"enqueued_at\":5"]"#, r#""enqueued_at":null,"#),
    ];
    for (number, (args, stamp)) in jobs.iter().enumerate() {
        let job = format!(r#"{{"class":"RawJob",{stamp}"args":{args},"queue":"later","jid":"j{number}"}}"#);
        site.run(&["ZADD", "cogworker:schedule", &number.to_string(), &job])?;
    }
    let worker = site.worker(App::new(()))?;
    reach("all are on their queue", || site.waiting("later") == 3)?;
    let info = site.client.queue("later").info().await?;
    assert!(info.latency.as_secs() < 5, "{info:?}");
    for raw in site.texts(&["LRANGE", "cogworker:queue:later", "0", "-1"]) {
        let job = RawJob::parse(raw.as_bytes())?;
        let number: usize = job.jid()[1..].parse()?;
        assert_eq!(job.args_json(), jobs[number].0);
        assert!(serde_json::from_str::<serde_json::Value>(&raw)?["enqueued_at"].is_f64(), "{raw}");
    }
    worker.stop().await
}
