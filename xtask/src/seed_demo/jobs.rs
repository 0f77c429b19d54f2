//! Jobs that wait, are scheduled, retrying or dead; and what comes again and again.

use cogworker_core::digest::periodic_id;
use cogworker_core::failure::Failure;
use cogworker_core::formats::{AttemptOutcome, AttemptRecord, periodic_entry_json};
use cogworker_core::redis::Call;

use super::Seed;
use crate::demo::Outcome;

/// A class, its queue and args; `#` stands for a number.
pub(super) const KINDS: [(&str, &str, &str); 9] = [
    ("ChargeCustomerJob", "billing:invoices", r#"["INV-20####",{"amount_cents":##00,"currency":"EUR"}]"#),
    ("SyncInvoiceJob", "billing:invoices", r#"["INV-20####","stripe"]"#),
    ("WelcomeMailJob", "mailers", "[5####]"),
    ("DigestMailJob", "mailers", r#"[####,{"period":"week"}]"#),
    ("ThumbnailJob", "default", r#"["uploads/9f/####.jpg",[320,640,1280]]"#),
    ("ReindexProductJob", "default", "[5####]"),
    ("WebhookDeliveryJob", "default", r#"["evt_####","https://example.com/hooks/##"]"#),
    ("BuildReportJob", "reports", r#"[##,{"range":"2026-11","tenant":"acme"}]"#),
    ("CleanupJob", "low", "[]"),
];

const ERRORS: [(&str, &str, usize); 5] = [
    ("RateLimited", "429 Too Many Requests: retry after ### s (POST /v1/payment_intents)", 0),
    ("ConnectTimeout", "operation timed out after 30.0 s connecting to api.example.com:443", 1),
    ("SmtpError", "550 5.1.1 <user####@example.com>: recipient rejected", 2),
    ("DecodeError", "invalid JPEG in 'uploads/9f/####.jpg': bad marker 0xff##", 4),
    ("PoolTimedOut", "no connection after 10 s; 20 of 20 in use", 7),
];

impl Seed {
    /// A text with a figure for each `#`.
    pub(super) fn filled(&mut self, text: &str) -> String {
        text.chars().map(|c| if c == '#' { char::from(b'1' + self.random.u8(..9)) } else { c }).collect()
    }

    /// A job as it is pushed, and what an error adds.
    pub(super) fn job(&mut self, kind: usize, age: f64, more: &str) -> (String, String) {
        let (class, queue, args) = KINDS[kind];
        let (args, jid) = (self.filled(args), self.jid());
        let at = self.ago(age);
        let json = format!(
            r#"{{"class":"{class}","args":{args},"jid":"{jid}","queue":"{queue}","retry":true,"created_at":{at},"enqueued_at":{at}{more}}}"#
        );
        (jid, json)
    }
}

pub(super) async fn write(seed: &mut Seed, waiting: usize) -> Outcome {
    queues(seed, waiting).await?;
    scheduled(seed).await?;
    failed(seed).await?;
    periodic(seed).await
}

async fn queues(seed: &mut Seed, waiting: usize) -> Outcome {
    let names = ["billing:invoices", "default", "low", "mailers", "reports"];
    let call =
        names.iter().fold(Call::new().key(seed.client.redis().keys().queues()), |call, name| call.arg(*name));
    seed.command("SADD", call).await?;
    for (queue, count, oldest, kinds) in [
        ("billing:invoices", 412, 846.0, &[0, 1][..]),
        ("default", 96, 0.8, &[4, 5, 6]),
        ("mailers", waiting, 2301.0, &[2, 3]),
        ("reports", 135, 124.0, &[7]),
    ] {
        let key = seed.client.redis().keys().queue(queue);
        let mut done = 0;
        while done < count {
            let mut call = Call::new().key(key.clone());
            for at in done..count.min(done + 500) {
                let kind = kinds[seed.random.usize(..kinds.len())];
                let age = oldest * (1.0 - at as f64 / count as f64);
                call.push(seed.job(kind, age, "").1);
            }
            seed.command("LPUSH", call).await?;
            done += 500;
        }
    }
    seed.client.queue("mailers").pause().await?;
    Ok(())
}

async fn scheduled(seed: &mut Seed) -> Outcome {
    let mut call = Call::new().key(seed.client.redis().keys().schedule());
    for _ in 0..330 {
        let due = seed.now.as_f64() + 8.0 + seed.random.f64().powi(3) * 14.0 * 86_400.0;
        let kind = seed.random.usize(..KINDS.len());
        call.push(due);
        call.push(seed.job(kind, 3600.0, "").1);
    }
    seed.command("ZADD", call).await
}

async fn failed(seed: &mut Seed) -> Outcome {
    let keys = seed.client.redis().keys().clone();
    for (error, retrying, dead, first) in [
        (0, 148, 6, 1980.0),
        (1, 40, 11, 90_000.0),
        (2, 9, 31, 400_000.0),
        (3, 12, 9, 30_000.0),
        (4, 5, 3, 7000.0),
    ] {
        let (class, message, kind) = ERRORS[error];
        for index in 0..retrying + dead {
            let attempts = 1 + seed.random.usize(..5);
            let message = seed.filled(message);
            let part = 0.05 + 0.95 * seed.random.f64();
            let failed_at = seed.ago(first * part);
            let more = format!(
                r#","error_class":"{class}","error_message":"{message}","failed_at":{failed_at},"retry_count":{attempts}"#
            );
            let (jid, json) = seed.job(kind, first, &more);
            let is_dead = index >= retrying;
            let score = if is_dead {
                failed_at.as_f64() + 60.0
            } else {
                seed.now.as_f64() + 12.0 + seed.random.f64() * 3000.0
            };
            let key = if is_dead { keys.dead() } else { keys.retry() };
            seed.command("ZADD", Call::new().key(key).arg(score).arg(json)).await?;
            let mut log = Call::new().key(keys.job_attempts(&jid));
            for attempt in 1..=attempts as u32 {
                let last = is_dead && attempt == attempts as u32;
                let outcome = if last { AttemptOutcome::Dead } else { AttemptOutcome::Retrying };
                let at = seed.ago(first / f64::from(attempt + 1));
                log.push(AttemptRecord::new(attempt, at, outcome, &Failure::new(class, &message)).to_json());
            }
            seed.command("RPUSH", log).await?;
        }
    }
    Ok(())
}

/// Cron, class, args, whether a slot waits for the run of the one before.
pub(super) static PERIODIC: [(&str, &str, &str, bool); 8] = [
    ("* * * * *", "HeartbeatProbeJob", "[]", false),
    ("*/5 * * * *", "CollectUsageJob", "[]", true),
    ("0 * * * *", "HourlyCleanupJob", "[]", false),
    ("30 3 * * * Europe/Berlin", "DunningJob", r#"[{"dry_run":false}]"#, true),
    ("0 9 * * mon-fri America/New_York", "DailyReportJob", r#"[{"section":"sales"}]"#, false),
    ("0 4 1 * *", "CloseMonthJob", "[]", true),
    ("every monday at 9am", "WeeklyDigestJob", "[]", false),
    ("0 0 L * *", "LedgerExportJob", "[]", false),
];

async fn periodic(seed: &mut Seed) -> Outcome {
    let keys = seed.client.redis().keys().clone();
    for (index, (cron, class, args, until_executed)) in PERIODIC.iter().copied().enumerate() {
        let pjid = periodic_id(cron, class, args);
        let entry = periodic_entry_json(cron, class, "3", until_executed, args);
        seed.command("HSET", Call::new().key(keys.periodic_schedule()).arg(&pjid).arg(entry)).await?;
        let slot = cogworker_core::cron::Cron::parse(cron)?.previous(seed.now).unwrap_or_default();
        if index != 7 {
            seed.command("SET", Call::new().key(keys.periodic_last_slot(&pjid)).arg(slot)).await?;
        }
        if class == "CloseMonthJob" {
            seed.client.periodic().disable(&pjid).await?;
        }
    }
    Ok(())
}
