//! Processes that seem to work.

use cogworker_core::formats::{ProcessInfo, work_json};
use cogworker_core::redis::Call;
use cogworker_core::time::EpochSeconds;

use super::Seed;
use crate::demo::Outcome;

/// Identity, slots, running, quiet, queues with weights, memory in KiB, hours since its start.
type Made = (&'static str, usize, usize, bool, &'static [(&'static str, usize)], u64, f64);

const BILLING: &[(&str, usize)] = &[("billing:invoices", 3), ("default", 2), ("low", 1)];

const PROCESSES: [Made; 5] = [
    ("app-1:2114:9f3c51d0a4e2", 15, 15, false, BILLING, 188_621, 74.2),
    ("app-2:2098:c0287ab4e1f0", 15, 12, false, BILLING, 176_025, 73.1),
    ("app-3:1650:41e07d9c33aa", 15, 2, false, BILLING, 169_984, 217.0),
    ("mail-1:880:7be21f05c9d1", 5, 0, true, &[("mailers", 2), ("default", 1)], 59_801, 24.4),
    ("reports-1:771:e6a9d318b7f2", 10, 9, false, &[("reports", 1)], 627_404, 7.4),
];

pub(super) async fn write(seed: &mut Seed) -> Outcome {
    beat(seed).await?;
    let keys = seed.client.redis().keys().clone();
    for (identity, _, running, _, queues, ..) in PROCESSES {
        for slot in 0..running {
            let of_reports = queues[0].0 == "reports";
            let kind = if of_reports { 7 } else { [0, 1, 4, 5][seed.random.usize(..4)] };
            let age = if of_reports { 60.0 + seed.random.f64() * 3000.0 } else { seed.random.f64() * 90.0 };
            let (jid, json) = seed.job(kind, age + 3.0, "");
            let work = work_json(super::jobs::KINDS[kind].1, json.as_bytes(), seed.ago(age));
            let call = Call::new().key(keys.workers(identity)).arg(format!("{slot:012x}")).arg(work);
            seed.command("HSET", call).await?;
            if of_reports {
                let percent = seed.random.u64(5..95);
                let call =
                    Call::new().key(keys.status(&jid)).arg("status").arg("working").arg("pct").arg(percent);
                seed.command("HSET", call.arg("message").arg(format!("page {} of 50", percent / 2))).await?;
            }
        }
    }
    Ok(())
}

/// One heartbeat of each.
pub(super) async fn beat(seed: &mut Seed) -> Outcome {
    let keys = seed.client.redis().keys().clone();
    for (index, (identity, slots, running, quiet, queues, memory, hours)) in PROCESSES.into_iter().enumerate()
    {
        let mut parts = identity.split(':');
        let mut info = ProcessInfo::default();
        info.hostname = parts.next().unwrap_or_default().to_owned();
        info.pid = parts.next().and_then(|pid| pid.parse().ok()).unwrap_or_default();
        info.concurrency = slots;
        info.queues = queues.iter().flat_map(|(name, weight)| vec![(*name).to_owned(); *weight]).collect();
        info.started_at = EpochSeconds::new(seed.now.as_f64() - hours * 3600.0);
        info.rss_kb = Some(memory);
        seed.command("SADD", Call::new().key(keys.processes()).arg(identity)).await?;
        let call = Call::new().key(keys.process(identity)).arg("info").arg(info.to_json());
        let quiet = if quiet { "true" } else { "false" };
        let call = call.arg("busy").arg(running).arg("quiet").arg(quiet);
        seed.command("HSET", call).await?;
        // Heard of at different moments.
        let life = 60 - index as u64;
        seed.command("EXPIRE", Call::new().key(keys.process(identity)).arg(life)).await?;
    }
    Ok(())
}
