//! What assertions say.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, UNIX_EPOCH};

use cogworker_testing::{Fake, assert_enqueued, assert_not_enqueued};

use crate::support::{Outcome, Party, greeting};

fn said(assertion: impl FnOnce()) -> String {
    let panic = catch_unwind(AssertUnwindSafe(assertion)).err();
    panic.and_then(|panic| panic.downcast_ref::<String>().cloned()).unwrap_or_default()
}

#[tokio::test]
async fn they_hold_for_jobs_with_equal_args_whether_due_or_not() -> Outcome {
    let fake = Fake::new();
    fake.client().perform_in(Duration::from_secs(60), &greeting("world")).await?;
    assert_enqueued!(fake, greeting("world"));
    assert_not_enqueued!(fake, greeting("moon"));
    assert_not_enqueued!(&fake, Party { guests: vec![] });
    Ok(())
}

#[tokio::test]
async fn a_failed_one_lists_what_is_enqueued_instead() -> Outcome {
    let fake = Fake::frozen_at(UNIX_EPOCH + Duration::from_secs(1_000_000));
    assert_eq!(
        said(|| assert_enqueued!(fake, greeting("world"))),
        "not enqueued: GreetingJob [\"world\"]\nnothing is enqueued"
    );
    fake.client().perform_async(&Party { guests: vec!["é".into()] }).await?;
    fake.client().perform_in(Duration::from_secs(90), &greeting("moon")).await?;
    assert_eq!(
        said(|| assert_enqueued!(fake, greeting("world"))),
        "not enqueued: GreetingJob [\"world\"]\n2 jobs are enqueued:\n  PartyJob [{\"guests\":[\"é\"]}] on \
         default\n  GreetingJob [\"moon\"] on low, due in 90.0 s"
    );
    assert!(
        said(|| assert_not_enqueued!(fake, greeting("moon")))
            .starts_with("enqueued: GreetingJob [\"moon\"]\n")
    );
    Ok(())
}

#[tokio::test]
async fn a_long_list_is_cut() -> Outcome {
    let fake = Fake::new();
    let jobs: Vec<_> = (0..25).map(|number| greeting(&number.to_string())).collect();
    fake.client().push_bulk(&jobs).await?;
    let text = said(|| assert_enqueued!(fake, greeting("world")));
    assert!(text.ends_with("\n  and 5 more") && text.lines().count() == 23, "{text}");
    Ok(())
}
