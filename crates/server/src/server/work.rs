//! A worker's life: what it is put together from, and the order in which it begins and ends.

use std::sync::Arc;
use std::time::Duration;

use cogworker_client::Client;
use cogworker_core::redis::{Redis, RedisError};
use cogworker_core::scripts::{self, RecoveryLimits};
use cogworker_core::time::ttl_seconds;
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tracing::{error, info};

use super::fetch_choice::decide_fetch;
use super::first_contact::first_contact;
use super::unread::tell_of_unread;
use super::{Server, ServerError};
use crate::counted::counted;
use crate::deaths::Deaths;
use crate::engine::{Command, Engine, EngineParts, Lease, last_calls};
use crate::health::Health;
use crate::run::RunScope;
use crate::services::control::Control;
use crate::services::heartbeat::Heartbeat;
use crate::services::key_guard::KeyGuard;
use crate::services::line::Line;
use crate::services::poller::Poller;
use crate::services::recovery::{Doubtful, Recovery};
use crate::services::supervise;
use crate::services::ticker::{Passage, Ticker};
use crate::services::uncounted::Uncounted;
use crate::services::watchdog::keep_turning;

/// How often dead processes are looked for; it counts into how long a running lock holds.
const RECOVERY_PERIOD: Duration = Duration::from_secs(60);

/// How long signing off may hold up the end of a process that mostly never signed on.
const SIGN_OFF: Duration = Duration::from_secs(1);

impl Server {
    pub(super) async fn work(self, jobs: Handle, health: &Health) -> Result<(), ServerError> {
        let Self {
            config,
            redis_named_by,
            mut registry,
            identity,
            hostname,
            commands,
            stop,
            limits,
            mut link,
            watched: _,
        } = self;
        if let Some(class) = registry.classes.repeated {
            return Err(ServerError::TwoHandlers { class });
        }
        let replace = registry.schedule.replace;
        let entries = std::mem::take(&mut registry.schedule).into_entries()?;
        let (pulse, gauges, outage) = (health.pulse.clone(), health.gauges.clone(), health.outage.clone());
        let redis = Redis::connect_lazily(&config.redis)?;
        tokio::spawn(keep_turning(pulse.clone(), redis.clone(), limits.turn));
        let poller_wake = Arc::new(Notify::new());
        let (command_sender, command_receiver) = commands;
        let mut distinct = config.queues.clone();
        distinct.sort_unstable();
        distinct.dedup();
        let distinct: Arc<[String]> = distinct.into();
        if !first_contact(&redis, redis_named_by.as_ref(), &outage, &stop).await
            || !decide_fetch(&redis, &config, &gauges, &outage, &stop).await
        {
            info!("stopped before redis was reached");
            redis.close().await;
            return Ok(());
        }
        let lease = Arc::new(Lease::new(config.orphan_threshold, config.timings.presence));
        let heartbeat = Heartbeat {
            redis: redis.clone(),
            identity: identity.clone(),
            info: Heartbeat::info(&config, hostname),
            distinct_queues: distinct.clone(),
            timings: config.timings,
            lease: lease.clone(),
            // Longer than it takes to find this process dead and its jobs orphaned (RUNLK-07).
            running_lock_ttl: ttl_seconds(config.orphan_threshold.saturating_add(2 * RECOVERY_PERIOD)),
            gauges: gauges.clone(),
            pulse: pulse.clone(),
            stuck_call: limits.stuck_call,
            outage: outage.clone(),
            engine: command_sender.clone(),
        };
        // No job is taken before others can see that this process lives (LIFE-01).
        if !heartbeat.first(&stop).await {
            info!("stopped before redis was reached");
            // A beat that was under way may have been carried out: nobody is to see a process that is gone.
            drop(timeout(SIGN_OFF, scripts::remove_presence(&redis, &identity)).await);
            redis.close().await;
            return Ok(());
        }
        // A connection for what is long and urgent to nobody: jobs' calls do not wait behind it.
        let upkeep = Redis::connect_lazily(&config.redis)?;
        let upkeep_line = Line::new(upkeep.clone(), limits.stuck_call);
        let line = Line::new(redis.clone(), limits.stuck_call);
        let uncounted: Arc<Uncounted> = Arc::default();
        // No job is taken before damaged keys are out of the way.
        let key_guard = KeyGuard::new(
            upkeep_line.clone(),
            identity.clone(),
            distinct,
            config.timings.check,
            gauges.clone(),
            outage.clone(),
        );
        let boot_check = key_guard.at_boot(&stop).await;
        if boot_check.moved {
            // The first beat could not be entered in a registry that held the wrong type.
            heartbeat.first(&stop).await;
        }
        let mut client = Client::from_redis(redis.clone()).with_unique_lock_ttl(config.unique_lock_ttl);
        if let Some(ttl) = registry.status_ttl {
            client = client.with_status(ttl);
        }
        let client = registry.client_chain.around(client);
        let passage = (!registry.client_chain.is_empty()).then(|| Passage::new(client.clone(), jobs.clone()));
        let scope = Arc::new(RunScope {
            client,
            status_ttl: registry.status_ttl,
            jobs: Some(jobs.clone()),
            outage: outage.clone(),
        });
        let deaths = Deaths::new(&registry.hooks, jobs.clone());
        let recovery = Recovery {
            deaths: deaths.clone(),
            doubtful: Doubtful::default(),
            line: upkeep_line,
            uncounted: uncounted.clone(),
            identity: identity.clone(),
            limits: RecoveryLimits {
                orphan_threshold: config.orphan_threshold,
                max_orphanings: config.max_orphanings,
                lock_ttl: ttl_seconds(config.unique_lock_ttl),
            },
            period: config.timings.check,
            gauges: gauges.clone(),
            outage: outage.clone(),
        };
        let ticker = Ticker {
            line: line.clone(),
            entries: entries.into(),
            passage,
            replace,
            catch_up: config.periodic_catch_up,
            lock_ttl: ttl_seconds(config.unique_lock_ttl),
            status_ttl: registry.status_ttl.map(ttl_seconds),
            gauges: gauges.clone(),
            outage: outage.clone(),
        };
        let limit = config.shutdown_timeout;
        tell_of_unread(&registry.classes.queues, &config.queues);
        let slots = counted(config.concurrency, "slot", "slots");
        info!("{identity} is working on {} with {slots}", config.queues.join(", "));
        let engine = Engine::new(EngineParts {
            redis: redis.clone(),
            deaths: deaths.clone(),
            identity: identity.clone(),
            config,
            registry,
            scope,
            jobs,
            gauges: gauges.clone(),
            outage: outage.clone(),
            lease,
            commands: command_receiver,
            poller_wake: poller_wake.clone(),
            pulse,
            limits,
        })?;

        let (services_stop, beats_stop) = (CancellationToken::new(), CancellationToken::new());
        let beats = heartbeat.spawn(beats_stop.clone()).map_err(ServerError::Engine)?;
        let mut services = JoinSet::new();
        if let Some(link) = &mut link {
            let siblings = link.siblings(recovery.clone());
            supervise(&mut services, "recovery of siblings", services_stop.clone(), move |stop| {
                siblings.clone().run(stop)
            });
        }
        supervise(&mut services, "recovery", services_stop.clone(), move |stop| recovery.clone().run(stop));
        supervise(&mut services, "ticker", services_stop.clone(), move |stop| ticker.clone().run(stop));
        let poller = Poller {
            line: line.clone(),
            gauges,
            outage: outage.clone(),
            wake: poller_wake.clone(),
            uncounted: uncounted.clone(),
            last_poll: health.last_poll.clone(),
        };
        supervise(&mut services, "poller", services_stop.clone(), move |stop| poller.clone().run(stop));
        let pause = boot_check.pause;
        supervise(&mut services, "key guard", services_stop.clone(), move |stop| {
            key_guard.clone().run(pause, stop)
        });
        let control = Control {
            redis: redis.clone(),
            identity: identity.clone(),
            engine: command_sender.clone(),
            outage: outage.clone(),
            poller_wake,
            stop_process: stop.clone(),
        };
        supervise(&mut services, "control", services_stop.clone(), move |stop| control.clone().run(stop));

        let engine = tokio::spawn(engine.run());
        tokio::pin!(engine);
        let ended = tokio::select! {
            ended = &mut engine => Some(ended),
            () = stop.cancelled() => None,
        };
        services_stop.cancel();
        let by_itself = ended.is_some();
        let ended = match ended {
            Some(ended) => ended,
            None => {
                let limit = link.as_ref().map_or(limit, |link| link.limit(limit));
                info!("stopping: running jobs have {} s to finish", limit.as_secs_f64());
                let _ = command_sender.send(Command::Stop { limit });
                engine.await
            }
        };
        // Beats go on until the last job is settled: until then this process holds jobs.
        beats_stop.cancel();
        let _ = tokio::task::spawn_blocking(move || beats.join()).await;
        while services.join_next().await.is_some() {}
        deaths.finish().await;
        upkeep.close().await;
        let caught_up = timeout(last_calls(&outage), uncounted.catch_up(&line)).await;
        if let Ok(Err(failure)) = caught_up {
            outage.report("counting failures", &failure);
        }
        match uncounted.count() {
            0 => {}
            left => error!("{} that were filed stay uncounted", counted(left, "failure", "failures")),
        }
        let removed = timeout(last_calls(&outage), scripts::remove_presence(&redis, &identity)).await;
        let removed = removed.unwrap_or_else(|_| Err(RedisError::TimedOut("redis is away".into())));
        redis.close().await;
        match (ended, removed) {
            _ if by_itself => Err(ServerError::EngineEnded),
            (Err(_), _) => Err(ServerError::EngineEnded),
            (Ok(0), Ok(0)) => {
                info!("stopped");
                Ok(())
            }
            (Ok(unsettled), Ok(held)) => {
                let held = u64::try_from(held).ok().map(|held| held.max(unsettled as u64));
                Err(ServerError::JobsLeft { held })
            }
            (Ok(unsettled), Err(failure)) => {
                outage.report("removing the presence", &failure);
                if unsettled == 0 {
                    Ok(())
                } else {
                    Err(ServerError::JobsLeft { held: Some(unsettled as u64) })
                }
            }
        }
    }
}
