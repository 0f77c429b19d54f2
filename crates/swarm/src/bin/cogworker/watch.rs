//! `cogworker watch`: all of it on one screen, again and again.

use std::io::{self, IsTerminal, Read, Write};
use std::time::Duration;

use clap::Args;
use cogworker_client::{Client, Process, QueueInfo, RunningJob};
use cogworker_core::raw_job::RawJob;
use cogworker_core::redis::RedisError;
use cogworker_core::time::EpochSeconds;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

use crate::connection::Place;
use crate::exit::{Failure, Outcome, While};
use crate::output::{Output, Style, terminal_size};
use crate::stats::Stats;
use crate::table::{Column, Table};
use crate::{processes, queue, text};

/// Another screen, with the cursor hidden.
const ENTER: &str = "\u{1b}[?1049h\u{1b}[?25l";
const LEAVE: &str = "\u{1b}[?25h\u{1b}[?1049l";
/// To the upper left corner.
const HOME: &str = "\u{1b}[H";
/// The rest of the line, and of the screen.
const CLEAR_LINE: &str = "\u{1b}[K";
const CLEAR_BELOW: &str = "\u{1b}[J";

/// Below this it would be a load on Redis and nothing to read.
const SHORTEST: f64 = 0.2;

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Look this often, in seconds
    #[arg(short = 'n', long, value_name = "SECONDS", default_value = "2", value_parser = interval)]
    interval: Duration,
}

fn interval(text: &str) -> Result<Duration, String> {
    let seconds = text.parse::<f64>().ok().filter(|seconds| (SHORTEST..=3600.0).contains(seconds));
    seconds
        .map(Duration::from_secs_f64)
        .ok_or_else(|| format!("expected a number of seconds from {SHORTEST} to 3600"))
}

/// What one look found.
struct Look {
    stats: Stats,
    queues: Vec<QueueInfo>,
    processes: Vec<Process>,
    running: Vec<RunningJob>,
    at: EpochSeconds,
}

impl Look {
    async fn take(client: &Client) -> Result<Self, RedisError> {
        Ok(Self {
            stats: Stats::read(client).await?,
            queues: client.queues().await?,
            processes: client.processes().await?,
            running: client.running_jobs().await?,
            at: EpochSeconds::now(),
        })
    }
}

pub(crate) async fn run(place: &Place, options: &Options, output: &mut Output) -> Outcome {
    let (config, _) = place.settings()?;
    let place = config.to_string();
    if !output.json && output.columns.is_none() {
        let text = "watch needs a terminal; with --json it writes a line for each look";
        return Err(Failure::Usage(text.to_owned()));
    }
    let client = Client::connect(&config).await.doing(format!("connect to {place}"))?;
    if output.json {
        return as_lines(&client, options, output).await;
    }
    let screen = Screen::enter();
    let outcome = on_screen(&client, &place, options, output).await;
    drop(screen);
    outcome
}

/// The counters, a line for each look. Ends with the first error, as any other command.
async fn as_lines(client: &Client, options: &Options, output: &mut Output) -> Outcome {
    let mut ticks = ticks(options);
    loop {
        tokio::select! {
            _ = tokio::signal::ctrl_c() => return Ok(()),
            _ = ticks.tick() => {}
        }
        output.record(&Stats::read(client).await.doing("read the counters")?)?;
        output.flush()?;
    }
}

fn ticks(options: &Options) -> tokio::time::Interval {
    let mut ticks = tokio::time::interval(options.interval);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    ticks
}

async fn on_screen(client: &Client, place: &str, options: &Options, output: &mut Output) -> Outcome {
    let mut keys = keys();
    let mut terminate = signal(SignalKind::terminate())?;
    let mut resized = signal(SignalKind::window_change())?;
    let (mut last, mut problem): (Option<Look>, Option<RedisError>) = (None, None);
    let mut rates = None;
    // A look that Redis keeps waiting must not keep the keys waiting.
    let mut looking = Box::pin(Look::take(client));
    let mut pause = Box::pin(tokio::time::sleep(options.interval));
    let mut is_pausing = false;
    loop {
        tokio::select! {
            biased;
            _ = tokio::signal::ctrl_c() => return Ok(()),
            _ = terminate.recv() => return Ok(()),
            Some(key) = keys.recv() => match key {
                b'q' | b'Q' => return Ok(()),
                _ => continue,
            },
            _ = resized.recv() => {}
            () = &mut pause, if is_pausing => {
                looking = Box::pin(Look::take(client));
                is_pausing = false;
                continue;
            }
            looked = &mut looking, if !is_pausing => {
                match looked {
                    Ok(look) => {
                        rates = last.as_ref().and_then(|last| rate(last, &look));
                        (last, problem) = (Some(look), None);
                    }
                    // It comes back by itself, and what was seen last stays on the screen.
                    Err(error) => problem = Some(error),
                }
                pause = Box::pin(tokio::time::sleep(options.interval));
                is_pausing = true;
            }
        }
        draw(place, last.as_ref(), rates, problem.as_ref(), output)?;
    }
}

/// Runs per second since the last look: successful and failed ones.
fn rate(last: &Look, look: &Look) -> Option<(f64, f64)> {
    let seconds = look.at.since(last.at).as_secs_f64();
    let grown = |now: Option<u64>, before: Option<u64>| Some(now?.saturating_sub(before?) as f64 / seconds);
    let rates =
        (grown(look.stats.processed, last.stats.processed)?, grown(look.stats.failed, last.stats.failed)?);
    (seconds > 0.0).then_some(rates)
}

fn draw(
    place: &str,
    look: Option<&Look>,
    rates: Option<(f64, f64)>,
    problem: Option<&RedisError>,
    output: &mut Output,
) -> Outcome {
    let (columns, rows) = terminal_size().unwrap_or((80, 24));
    output.columns = Some(columns);
    let now = EpochSeconds::now();
    let mut lines: Vec<(Option<Style>, String)> = Vec::new();
    lines.push((Some(Style::Bold), format!("cogworker  {place}  {} UTC  (q quits)", text::absolute(now))));
    if let Some(problem) = problem {
        let seen = look.map(|look| format!("as of {}: ", text::relative(look.at, now))).unwrap_or_default();
        lines.push((Some(Style::Red), format!("{seen}failed to {problem}")));
    }
    if let Some(look) = look {
        body(look, rates, columns, &mut lines);
    }
    let left = lines.len().saturating_sub(rows.saturating_sub(1));
    if left > 0 {
        lines.truncate(rows.saturating_sub(2));
        lines.push((None, format!("… {left} more lines")));
    }
    let mut screen = HOME.to_owned();
    for (style, line) in lines {
        let line = text::shown(&line).into_owned();
        let line = text::cut(&line, columns);
        screen.push_str(&style.map_or(line.clone().into_owned(), |style| output.styled(style, &line)));
        // The terminal breaks lines itself by now: raw mode is not that raw.
        screen.push_str(CLEAR_LINE);
        screen.push('\n');
    }
    screen.push_str(CLEAR_BELOW);
    output.raw(&screen)?;
    Ok(output.flush()?)
}

fn body(look: &Look, rates: Option<(f64, f64)>, columns: usize, lines: &mut Vec<(Option<Style>, String)>) {
    let stats = &look.stats;
    let number = |number: Option<u64>| number.map_or("?".to_owned(), text::number);
    let rate = |rate: Option<f64>| rate.map(|rate| format!(" ({rate:.1}/s)")).unwrap_or_default();
    lines.push((
        None,
        format!(
            "processed {}{}  failed {}{}  enqueued {}  scheduled {}  retrying {}  dead {}",
            number(stats.processed),
            rate(rates.map(|(processed, _)| processed)),
            number(stats.failed),
            rate(rates.map(|(_, failed)| failed)),
            text::number(stats.enqueued),
            number(stats.scheduled),
            number(stats.retrying),
            number(stats.dead),
        ),
    ));
    let mut block = |title: &str, table: Option<Table>| {
        lines.push((None, String::new()));
        let Some(table) = table else { return lines.push((None, title.to_owned())) };
        for (at, line) in table.lines(Some(columns)).into_iter().enumerate() {
            lines.push(((at == 0).then_some(Style::Bold), line));
        }
    };
    block("no queues", (!look.queues.is_empty()).then(|| queue::table(&look.queues, &look.processes)));
    block(
        "no process is running",
        (!look.processes.is_empty()).then(|| processes::table(&look.processes, look.at)),
    );
    block("nothing is running", (!look.running.is_empty()).then(|| running(look)));
}

/// The jobs that run, the oldest first.
fn running(look: &Look) -> Table {
    let mut jobs: Vec<&RunningJob> = look.running.iter().collect();
    jobs.sort_by_key(|job| (job.work.run_at, &job.identity, &job.slot));
    let mut table = Table::new([
        Column::Number("RUNNING FOR"),
        Column::Text("JID"),
        Column::Long("CLASS"),
        Column::Long("QUEUE"),
        Column::Long("PROCESS"),
    ]);
    for running in jobs {
        let job = RawJob::parse(running.work.raw.get().as_bytes()).unwrap_or_default();
        table.row([
            text::duration(look.at.since(running.work.run_at)),
            job.jid().to_owned(),
            job.class().to_owned(),
            running.work.queue.clone(),
            running.identity.clone(),
        ]);
    }
    table
}

/// The terminal as it was, to be put back: whatever happens, by dropping it.
struct Screen {
    before: Option<Termios>,
}

impl Screen {
    fn enter() -> Self {
        let input = io::stdin();
        let before = tcgetattr(&input).ok();
        if let Some(before) = &before {
            let mut keys = before.clone();
            // Each key at once and unseen; Ctrl-C stays a signal.
            keys.local_modes -= LocalModes::ICANON | LocalModes::ECHO;
            let _ = tcsetattr(&input, OptionalActions::Now, &keys);
        }
        let _ = io::stdout().write_all(ENTER.as_bytes());
        let _ = io::stdout().flush();
        Self { before }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = io::stdout().write_all(LEAVE.as_bytes());
        let _ = io::stdout().flush();
        if let Some(before) = &self.before {
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, before);
        }
    }
}

/// The keys that are pressed. Their thread waits for the next one until the program ends.
fn keys() -> mpsc::Receiver<u8> {
    let (pressed, keys) = mpsc::channel(8);
    if io::stdin().is_terminal() {
        std::thread::spawn(move || {
            for key in io::stdin().lock().bytes().map_while(Result::ok) {
                if pressed.blocking_send(key).is_err() {
                    return;
                }
            }
        });
    }
    keys
}
