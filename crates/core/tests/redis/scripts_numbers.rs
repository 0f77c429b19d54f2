//! The numbers of settlements: late ones do nothing, and what the last one came to can be asked for.

use crate::scripts_jobs::{LIST, NONE, NOW, counted, raw};
use crate::support::{ME, Outcome, list, start};
use cogworker_core::scripts::{self, Held, SettleBatch, Step, Traces};

#[tokio::test]
async fn a_settlement_that_comes_after_a_newer_one_does_nothing() -> Outcome {
    let (server, redis) = start().await?;
    server.cli(&["LPUSH", LIST, "job"]);
    // Empty, as it is sent to make sure of what went before.
    let mut newer = SettleBatch::new(Held::Listed, (0, 0));
    newer.with_number(2);
    scripts::settle_jobs(&redis, ME, NOW, newer).await?;
    let ttl = server.cli(&["TTL", &format!("cogworker:settling:{ME}")]).as_int().unwrap_or(0);
    assert!((86_390..=86_400).contains(&ttl), "{ttl}");
    let mut late = SettleBatch::new(Held::Listed, (0, 0));
    late.with_number(1);
    late.give_back(raw("job"), "cogworker:queue:q".into(), &NONE, 0);
    let refused = scripts::settle_jobs(&redis, ME, NOW, late).await.map(|_| ()).unwrap_err().to_string();
    assert!(refused.contains("a newer settlement has been seen"), "{refused}");
    assert_eq!(list(&server, LIST), ["job"]);
    assert_eq!(server.cli(&["EXISTS", "cogworker:queue:q"]), 0);
    let mut next = SettleBatch::new(Held::Listed, (0, 0));
    next.with_number(3);
    next.acknowledge(raw("job"), &counted("x"));
    assert_eq!(scripts::settle_jobs(&redis, ME, NOW, next).await?.steps, [Step::Applied]);
    Ok(())
}

#[tokio::test]
async fn an_empty_settlement_tells_what_the_one_before_it_came_to_until_there_is_another() -> Outcome {
    let (server, redis) = start().await?;
    server.cli(&["RPUSH", LIST, "back", "filed", "done"]);
    server.cli(&["SET", "cogworker:retry", "no sorted set"]);
    server.cli(&["SET", "cogworker:stats:failed", "no number"]);
    let mut batch = SettleBatch::new(Held::Listed, (3, 4));
    batch.with_number(7);
    batch.give_back(raw("back"), "cogworker:queue:q".into(), &NONE, 0);
    batch.acknowledge(raw("gone"), &counted("g"));
    batch.file(raw("filed"), "cogworker:retry".into(), NOW, b"entry".to_vec(), Traces::default(), 0);
    batch.acknowledge(raw("done"), &counted("d"));
    let shape = batch.shape();
    let settled = scripts::settle_jobs(&redis, ME, NOW, batch).await?;
    let steps = [Step::Applied, Step::Gone, Step::Failed, Step::Applied];
    assert_eq!(settled.steps, steps);
    assert_eq!((settled.uncounted, settled.earlier), ((0, 4), None));
    for number in [8, 9] {
        let mut question = SettleBatch::new(Held::Listed, (0, 0));
        question.with_number(number);
        let earlier = scripts::settle_jobs(&redis, ME, NOW, question).await?.earlier.ok_or("none kept")?;
        assert_eq!((earlier.number, earlier.uncounted), (7, (0, 4)));
        assert_eq!(earlier.steps(shape.clone()), Some(steps.to_vec()));
    }
    let mut next = SettleBatch::new(Held::Popped, (0, 0));
    next.with_number(10);
    next.discard(raw("x"), Traces::default());
    scripts::settle_jobs(&redis, ME, NOW, next).await?;
    let mut question = SettleBatch::new(Held::Popped, (0, 0));
    question.with_number(11);
    let earlier = scripts::settle_jobs(&redis, ME, NOW, question).await?.earlier.ok_or("none kept")?;
    assert_eq!((earlier.number, earlier.uncounted), (10, (0, 1)));
    Ok(())
}
