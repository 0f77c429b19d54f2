//! A week of runs, and the counters that go with it.

use std::collections::BTreeMap;
use std::time::Duration;

use cogworker_core::cron::Cron;
use cogworker_core::failure::Failure;
use cogworker_core::formats::{Durations, RunRecord, epoch_hour};
use cogworker_core::redis::Call;
use cogworker_core::time::{EpochSeconds, utc_day};

use super::Seed;
use super::jobs::{KINDS, PERIODIC};
use crate::demo::Outcome;

const WEEK: f64 = 7.0 * 86_400.0;
const SLICE: usize = 500;
/// How many periodic entries have a run in the history.
const FIRED: usize = 5;

pub(super) async fn write(seed: &mut Seed, runs: usize) -> Outcome {
    records(seed, runs).await?;
    counters(seed).await
}

async fn records(seed: &mut Seed, runs: usize) -> Outcome {
    let keys = seed.client.redis().keys().clone();
    let mut durations = BTreeMap::new();
    let mut done = 0;
    while done < runs {
        let mut calls = [keys.history_all(), keys.history_success(), keys.history_failed()]
            .map(|key| Call::new().key(key));
        let mut used = [false; 3];
        for at in done..runs.min(done + SLICE) {
            let finished = seed.ago(2.0 + WEEK * (at as f64 / runs as f64));
            let fails = seed.random.f64() < 0.02;
            let fails = fails || fired(at).is_some_and(|(_, class, ..)| *class == "DunningJob");
            let (finished, record) = record(seed, finished, fails, at, &mut durations);
            for list in [0, if fails { 2 } else { 1 }] {
                calls[list].push(finished.as_f64());
                calls[list].push(record.clone());
                used[list] = true;
            }
        }
        for (call, _) in calls.into_iter().zip(used).filter(|(_, used)| *used) {
            seed.command("ZADD", call).await?;
        }
        done += SLICE;
    }
    for (field, count) in durations {
        seed.command("HINCRBY", Call::new().key(keys.durations()).arg(field).arg(count)).await?;
    }
    Ok(())
}

/// The periodic entry of one of the first runs.
fn fired(at: usize) -> Option<&'static (&'static str, &'static str, &'static str, bool)> {
    PERIODIC.get(..FIRED)?.get(at)
}

fn record(
    seed: &mut Seed,
    finished: EpochSeconds,
    fails: bool,
    at: usize,
    durations: &mut BTreeMap<String, u64>,
) -> (EpochSeconds, Vec<u8>) {
    let spread = seed.random.f64().powi(4) * 40.0 + 0.004;
    // Each entry's last slot among the newest, so that its last run is known.
    let (class, queue, args, finished, took) = match fired(at) {
        Some((cron, class, args, _)) => {
            let slot = Cron::parse(cron).ok().and_then(|cron| cron.previous(seed.now));
            let took = 0.4 + at as f64 * 1.1;
            let finished = slot.map_or(finished, |slot| EpochSeconds::new(slot as f64 + took));
            let queue = if *class == "DunningJob" { "billing:invoices" } else { "default" };
            (*class, queue, (*args).to_owned(), finished, took)
        }
        None => {
            let (class, queue, args) = KINDS[seed.random.usize(..KINDS.len())];
            (class, queue, seed.filled(args), finished, spread)
        }
    };
    let mut failure = Failure::new("PoolTimedOut", "no connection after 10 s; 20 of 20 in use");
    failure.backtrace =
        ["billing::pool::acquire", "   at src/billing/pool.rs:88:19", "cogworker::run::attempt"]
            .map(String::from)
            .into();
    for (field, by) in Durations::fields_of(class, Duration::from_secs_f64(took)) {
        *durations.entry(field).or_default() += by;
    }
    let jid = seed.jid();
    let record = RunRecord {
        jid: &jid,
        class,
        queue,
        args_json: &args,
        started_at: EpochSeconds::new(finished.as_f64() - took),
        finished_at: finished,
        failure: fails.then_some(&failure),
    };
    (finished, record.to_json())
}

async fn counters(seed: &mut Seed) -> Outcome {
    let keys = seed.client.redis().keys().clone();
    seed.command("SET", Call::new().key(keys.stats_processed()).arg(18_402_117u64)).await?;
    seed.command("SET", Call::new().key(keys.stats_failed()).arg(41_093u64)).await?;
    for hour in 0..24u64 {
        let at = seed.ago(hour as f64 * 3600.0);
        let of_day = (at.as_f64() / 3600.0).rem_euclid(24.0);
        let wave = 2000.0 + 2400.0 * (((of_day - 8.0) / 24.0 * std::f64::consts::TAU).sin() * 0.5 + 0.5);
        let part = if hour == 0 { at.as_f64().rem_euclid(3600.0) / 3600.0 } else { 1.0 };
        let (processed, failed) =
            ((wave * part) as u64, if hour < 2 { 280 } else { 10 + seed.random.u64(..20) });
        let key = keys.throughput(epoch_hour(at));
        let call = Call::new().key(key.clone()).arg("processed").arg(processed).arg("failed").arg(failed);
        seed.command("HSET", call).await?;
        seed.command("EXPIRE", Call::new().key(key).arg(25 * 3600u64)).await?;
    }
    for day in 0..182u64 {
        let at = seed.ago(day as f64 * 86_400.0);
        let weekend = (at.as_f64() / 86_400.0) as u64 % 7 > 4;
        let full = if weekend { 42_000 } else { 68_000 } + seed.random.u64(..7000);
        let part = if day == 0 { at.as_f64().rem_euclid(86_400.0) / 86_400.0 } else { 1.0 };
        let failed = if day == 12 { 5754 } else { 250 + seed.random.u64(..250) };
        let call =
            Call::new().key(keys.history_daily(&utc_day(at))).arg("success").arg((full as f64 * part) as u64);
        seed.command("HSET", call.arg("failed").arg(failed)).await?;
    }
    Ok(())
}
