//! The example app's worker.

#[cfg(test)]
mod tests;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use cogworker_core::raw_job::RawJob;
use cogworker_core::redis::Call;
use cogworker_server::{App, Context, HistoryLimits, JobError, Periodic};
use example_jobs::{
    CrashJob, DailyReportJob, FailJob, FlakyJob, GreetingJob, HourlyCleanupJob, ImportJob, LowPriorityJob,
    NoopJob, PanicJob, RecordJob, SleepJob, SpinJob,
};
use tracing::info;

async fn greet(GreetingJob(name): GreetingJob) {
    info!("Hello, {name}!");
}

async fn be_flaky(FlakyJob(failures): FlakyJob, ctx: Context) -> Result<(), JobError> {
    if ctx.attempt() <= failures {
        return Err(JobError::new(
            "FlakyError",
            format!("attempt {} of {failures} that fail", ctx.attempt()),
        ));
    }
    Ok(())
}

async fn fail(FailJob(message): FailJob) -> Result<(), JobError> {
    Err(JobError::new("RuntimeError", message))
}

#[expect(clippy::panic, reason = "it shows what a panic becomes")]
async fn panic(_: PanicJob) {
    panic!("this job panics");
}

async fn crash(_: CrashJob) {
    std::process::abort();
}

async fn sleep(SleepJob(seconds): SleepJob) {
    tokio::time::sleep(Duration::from_secs_f64(seconds.max(0.0))).await;
}

fn spin(SpinJob(seconds): SpinJob) {
    let begun = Instant::now();
    while begun.elapsed().as_secs_f64() < seconds {
        std::hint::spin_loop();
    }
}

async fn do_nothing(_: NoopJob) {}

async fn record(RecordJob(args): RecordJob, ctx: Context) -> Result<(), JobError> {
    let key = args.first().ok_or_else(|| JobError::new("ArgumentError", "RecordJob needs a key"))?;
    let key: String = serde_json::from_str(key.get())?;
    let job = RawJob::parse(ctx.raw())?;
    let call = Call::new().key(key).arg(job.args_json());
    ctx.client().redis().command("RPUSH", call).await?;
    Ok(())
}

async fn import(ImportJob(rows): ImportJob, ctx: Context) -> Result<(), JobError> {
    for row in 0..rows {
        tokio::time::sleep(Duration::from_millis(10)).await;
        ctx.at(f64::from(row + 1) * 100.0 / f64::from(rows), &format!("row {} of {rows}", row + 1)).await;
    }
    ctx.store(&[("rows", &rows.to_string())]).await?;
    Ok(())
}

async fn run_late(_: LowPriorityJob) {
    info!("done with low priority");
}

async fn clean_up(_: HourlyCleanupJob) {
    info!("cleaned up");
}

async fn report(job: DailyReportJob) {
    info!("reported on {}", job.section);
}

fn app() -> App {
    App::new(())
        .job(greet)
        .job(be_flaky)
        .job(fail)
        .job(panic)
        .job(crash)
        .job(sleep)
        .job_blocking(spin)
        .job(do_nothing)
        .job(record)
        .job(import)
        .job(run_late)
        .job(clean_up)
        .job(report)
        .status(Duration::from_secs(1800))
        .history(HistoryLimits::default())
}

/// What comes again and again: where `EXAMPLE_SCHEDULES` is set, so that tests count their own jobs alone.
fn with_schedules(app: App) -> App {
    let section = "sales".to_owned();
    app.periodic(Periodic::cron("* * * * *", &ImportJob(300)))
        .periodic(Periodic::cron("0 * * * *", &HourlyCleanupJob()))
        .periodic(Periodic::cron("0 6 * * mon-fri Europe/Berlin", &DailyReportJob { section }))
}

fn main() -> ExitCode {
    let has_schedules = std::env::var_os("EXAMPLE_SCHEDULES").is_some();
    cogworker_server::main(async move |_boot| if has_schedules { with_schedules(app()) } else { app() })
}
