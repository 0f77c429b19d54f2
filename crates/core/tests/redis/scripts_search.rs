//! Looking through entries, finding one again, and moving them by hand.

use bytes::Bytes;
use cogworker_core::page::SearchOrder;
use cogworker_core::redis::RedisError;
use cogworker_core::scripts::{self, EntrySource, FoundEntry, Step};
use cogworker_core::time::EpochSeconds;
use sha1::{Digest, Sha1};

use crate::support::{Outcome, start};

fn sources() -> [EntrySource; 2] {
    [EntrySource::List("list".into()), EntrySource::SortedSet("set".into())]
}

fn texts(found: &[FoundEntry]) -> Vec<(u64, String)> {
    found.iter().map(|it| (it.place, String::from_utf8_lossy(&it.entry).into_owned())).collect()
}

fn hash(entry: &str) -> String {
    Sha1::digest(entry).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[tokio::test]
async fn search_entries_gives_what_holds_all_texts_from_either_end() -> Outcome {
    let (server, redis) = start().await?;
    for (at, entry) in ["a%X", "b", "c%x y", "D%x y"].iter().enumerate() {
        server.cli(&["LPUSH", "list", entry]);
        server.cli(&["ZADD", "set", &format!("{at}.5"), entry]);
    }
    for source in sources() {
        let search = async |order, skip, most, wanted: &[&str]| {
            let wanted: Vec<String> = wanted.iter().map(|text| (*text).into()).collect();
            scripts::search_entries(&redis, &source, order, skip, most, &wanted).await
        };
        let step = search(SearchOrder::NextFirst, 0, 1000, &["%x"]).await?;
        assert_eq!((step.total, step.looked_at), (4, 4));
        assert_eq!(texts(&step.found), [(0, "a%X".into()), (2, "c%x y".into()), (3, "D%x y".into())]);
        let step = search(SearchOrder::LastFirst, 1, 2, &["%x", " y"]).await?;
        assert_eq!((step.looked_at, texts(&step.found)), (2, vec![(1, "c%x y".into())]));
        let step = search(SearchOrder::LastFirst, 0, 1, &[]).await?;
        assert_eq!(texts(&step.found), [(0, "D%x y".into())]);
        let is_set = matches!(source, EntrySource::SortedSet(_));
        assert_eq!(step.found[0].score, is_set.then(|| EpochSeconds::new(3.5)));
        assert_eq!(search(SearchOrder::NextFirst, 4, 10, &[]).await?.looked_at, 0);
    }
    server.cli(&[
        "EVAL",
        "for n = 1, 3 do redis.call('LPUSH', KEYS[1], string.rep(n, 2000000)) end",
        "1",
        "large",
    ]);
    let large = EntrySource::List("large".into());
    let step = scripts::search_entries(&redis, &large, SearchOrder::NextFirst, 0, 50, &[]).await?;
    assert_eq!((step.total, step.looked_at), (3, 1), "a huge entry comes alone");
    Ok(())
}

#[tokio::test]
async fn find_entry_finds_exactly_that_entry_after_others_came_and_went_p_23() -> Outcome {
    let (server, redis) = start().await?;
    for at in 0..300 {
        let entry = format!("entry {at}");
        server.cli(&["LPUSH", "list", &entry]);
        server.cli(&["ZADD", "set", "7.25", &entry]);
    }
    let [queue, set] = sources();
    let find = async |source: &EntrySource, entry: &str, place, score: Option<f64>| {
        let found =
            scripts::find_entry(&redis, source, &hash(entry), place, score.map(EpochSeconds::new)).await?;
        Ok::<_, RedisError>(
            found.map(|found| (found.place, String::from_utf8_lossy(&found.entry).into_owned())),
        )
    };
    for place in [250, 249, 299, 170, 100_000] {
        assert_eq!(find(&queue, "entry 250", place, None).await?, Some((250, "entry 250".into())), "{place}");
    }
    assert_eq!(find(&queue, "entry 250", 100, None).await?, None, "it would have come back a long way");
    for place in [0, 299, 100_000] {
        let found = find(&set, "entry 250", place, Some(7.25)).await?;
        assert_eq!(found.map(|found| found.1), Some("entry 250".into()), "{place}");
    }
    assert_eq!(find(&set, "entry 250", 0, Some(8.0)).await?, None, "it has another time now");
    assert_eq!(find(&set, "entry 999", 0, Some(7.25)).await?, None);
    for (score, entry) in [("inf", "never"), ("-inf", "ever"), ("1.7976931348623157e308", "last")] {
        server.cli(&["ZADD", "set", score, entry]);
        let score = score.parse::<f64>()?;
        for place in [0, 100_000] {
            let found = find(&set, entry, place, Some(score)).await?;
            assert_eq!(found.map(|found| found.1), Some(entry.into()), "{score} seen at {place}");
        }
    }
    server.cli(&["LTRIM", "list", "0", "2"]);
    assert_eq!(find(&queue, "entry 299", 299, None).await?, Some((2, "entry 299".into())));
    assert_eq!(find(&queue, "entry 299", 0, None).await?, Some((2, "entry 299".into())));
    Ok(())
}

#[tokio::test]
async fn kill_entries_carries_the_bytes_into_dead_and_frees_the_jobs_locks() -> Outcome {
    let (server, redis) = start().await?;
    let job =
        Bytes::from_static(br#"{"class":"A", "jid":"1","queue":"q","unique":"until_executed","args":[1.0]}"#);
    let odd = Bytes::from_static(b"\xff no job");
    let lock =
        cogworker_core::locks::JobLocks::of(&cogworker_core::raw_job::RawJob::parse(&job)?, redis.keys());
    let lock = lock.unique.ok_or("no lock")?;
    server.cli(&["SET", &lock, "1"]);
    server.cli(&["ZADD", "cogworker:retry", "5", std::str::from_utf8(&job)?]);
    let at = EpochSeconds::new(99.5);
    let entries = [job.clone(), odd];
    let (steps, error) = scripts::kill_entries(&redis, redis.keys().retry(), &entries, at).await?;
    assert_eq!((steps, error.is_none()), (vec![Step::Applied, Step::Gone], true));
    assert_eq!(
        server.cli(&["ZRANGE", "cogworker:dead", "0", "-1", "WITHSCORES"]).strings(),
        [std::str::from_utf8(&job)?, "99.5"]
    );
    assert_eq!(server.cli(&["EXISTS", "cogworker:retry", &lock]), 0);
    server.cli(&["DEL", "cogworker:dead"]);
    server.cli(&["SET", "cogworker:dead", "no set"]);
    server.cli(&["ZADD", "cogworker:retry", "5", std::str::from_utf8(&job)?]);
    let (steps, error) = scripts::kill_entries(&redis, redis.keys().retry(), &entries[..1], at).await?;
    assert_eq!(steps, [Step::Failed]);
    assert!(error.is_some_and(|error| error.to_string().contains("WRONGTYPE")));
    assert_eq!(server.cli(&["ZCARD", "cogworker:retry"]), 1, "it stays");
    Ok(())
}

#[tokio::test]
async fn reschedule_entries_gives_another_time_to_what_is_there_and_adds_nothing_webj_08_webj_11() -> Outcome
{
    let (server, redis) = start().await?;
    server.cli(&["ZADD", "set", "1", "a", "1", "b", "1", "c"]);
    let entries = ["a", "gone", "c"].map(Bytes::from);
    let at = EpochSeconds::new(1800.25);
    assert_eq!(scripts::reschedule_entries(&redis, "set".into(), &entries, at).await?, [true, false, true]);
    assert_eq!(
        server.cli(&["ZRANGE", "set", "0", "-1", "WITHSCORES"]).strings(),
        ["b", "1", "a", "1800.25", "c", "1800.25"]
    );
    Ok(())
}
