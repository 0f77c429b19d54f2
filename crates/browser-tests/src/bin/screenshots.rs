//! Pictures of every page of the web UI: `cargo xtask screenshots`, which fills the Redis at `REDIS_URL` for it.

use std::path::PathBuf;

use clap::Parser;
use cogworker_browser_tests::{Browser, Driver, Outcome, Screen, Scripts, Server, Site};
use cogworker_client::Client;
use cogworker_core::redis_config::RedisConfig;

#[derive(Parser)]
struct Options {
    /// The folder for all pictures
    #[arg(long)]
    all: PathBuf,
    /// The folder for those of the README
    #[arg(long)]
    readme: PathBuf,
    /// Only pages whose name contains this
    #[arg(long, default_value = "")]
    only: String,
}

/// Name, address, and what is true once everything is drawn.
type Page = (&'static str, &'static str, &'static str);

const CHARTS: &str = "window.cogworkerCharts?.size === 2";
const GRID: &str = "innerWidth < 641 || document.querySelectorAll('.ag-row .st').length > 5";

const PAGES: [Page; 16] = [
    ("overview", "/overview", CHARTS),
    ("overview-queue", "/overview?layout=b&queue=mailers", "true"),
    ("jobs", "/jobs", "true"),
    ("jobs-enqueued", "/jobs?status=Enqueued&queue=billing%3Ainvoices", "true"),
    ("jobs-running", "/jobs?status=Running", "true"),
    ("jobs-scheduled", "/jobs?status=Scheduled", "true"),
    ("jobs-retrying", "/jobs?status=Retrying", "true"),
    ("jobs-dead", "/jobs?status=Dead&q=mail", "true"),
    ("jobs-no-match", "/jobs?status=Dead&q=nothing-like-this", "true"),
    ("errors", "/errors", "true"),
    ("schedules", "/schedules", "true"),
    ("workers", "/workers", "true"),
    ("history", "/history", GRID),
    ("history-failed", "/history?status=failed", GRID),
    ("greetings", "/greetings", "true"),
    ("not-found", "/no/such/page", "true"),
];
const EMPTY: [Page; 7] = [
    ("empty-overview", "/overview", CHARTS),
    ("empty-overview-queue", "/overview?layout=b", "true"),
    ("empty-jobs", "/jobs", "true"),
    ("empty-errors", "/errors", "true"),
    ("empty-schedules", "/schedules", "true"),
    ("empty-workers", "/workers", "true"),
    ("empty-history", "/history", "true"),
];
/// What the README shows: small files, at the size of a window.
const README: [(&str, &str, bool); 4] = [
    ("overview", "overview", false),
    ("errors", "errors", true),
    ("jobs", "jobs-retrying-detail", false),
    ("workers", "workers", true),
];

struct Photographer {
    browser: Browser,
    options: Options,
}

impl Photographer {
    async fn pages(&self, url: impl Fn(&str) -> String, pages: &[Page]) -> Outcome {
        for (name, path, ready) in pages {
            if !name.contains(&self.options.only) {
                continue;
            }
            self.in_all_ways(name, &url(path), ready, "").await?;
        }
        Ok(())
    }

    /// Both themes, on a desk and on a phone; after what `prepare` does in the page.
    async fn in_all_ways(&self, name: &str, url: &str, ready: &str, prepare: &str) -> Outcome {
        for dark in [false, true] {
            self.browser.system_is_dark(dark).await?;
            for (size, screen) in [("1400", Screen::DESK), ("390", Screen::PHONE)] {
                self.browser.screen(screen).await?;
                self.browser.open(url).await?;
                self.browser
                    .until("document.readyState === 'complete' && document.fonts.status === 'loaded'")
                    .await?;
                self.browser.until(ready).await?;
                if !prepare.is_empty() {
                    self.browser.run(prepare).await?;
                }
                let theme = if dark { "dark" } else { "light" };
                let file = self.options.all.join(format!("{name}-{theme}-{size}.png"));
                self.browser.picture(&file, prepare.is_empty()).await?;
                if let Some((readme, ..)) =
                    README.iter().find(|(_, page, is_dark)| *page == name && *is_dark == dark)
                    && size == "1400"
                {
                    let file = self.options.readme.join(format!("{readme}.webp"));
                    self.browser.picture(&file, false).await?;
                }
            }
        }
        println!("{name}");
        Ok(())
    }
}

/// The first job of a list, opened.
async fn detail(photographer: &Photographer, server: &Server, name: &str, list: &str) -> Outcome {
    if !name.contains(&photographer.options.only) {
        return Ok(());
    }
    photographer.browser.open(&server.url(list)).await?;
    let link = "document.querySelector('#cw-main [data-cw-row] a.name')";
    photographer.browser.until(&format!("{link} !== null")).await?;
    let href = photographer.browser.value(&format!("{link}.href")).await?;
    photographer.in_all_ways(name, href.as_str().unwrap_or_default(), "true", "").await
}

async fn photograph(options: Options) -> Outcome {
    let client = Client::connect(&RedisConfig::from_env()?).await?;
    let server = Server::start(client, Server::options()?).await?;
    let mut driver = Driver::start().await?;
    let browser = Browser::start(&driver, Scripts::On).await?;
    let photographer = Photographer { browser, options };
    let outcome = everything(&photographer, &server).await;
    photographer.browser.quit().await?;
    driver.stop().await;
    outcome
}

async fn everything(photographer: &Photographer, server: &Server) -> Outcome {
    photographer.pages(|path| server.url(path), &PAGES).await?;
    detail(photographer, server, "jobs-retrying-detail", "/jobs?status=Retrying").await?;
    detail(photographer, server, "jobs-running-detail", "/jobs?status=Running&queue=reports").await?;
    detail(photographer, server, "history-detail", "/history?status=failed").await?;
    let empty = Site::start().await?;
    photographer.pages(|path| empty.url(path), &EMPTY).await?;
    empty.redis.stop();
    photographer.pages(|path| empty.url(path), &[("outage", "/overview", "true")]).await?;
    for (name, path, prepare) in [
        ("dialog", "/workers", "document.querySelector('#cw-main .btn--danger').click()"),
        (
            "selection",
            "/jobs?status=Retrying",
            "[...document.querySelectorAll('tbody .cb')].slice(0, 3).forEach((box) => box.click())",
        ),
        ("keys", "/overview", "document.querySelector('[data-cw-keys]').click()"),
    ] {
        if name.contains(&photographer.options.only) {
            photographer.in_all_ways(name, &server.url(path), "true", prepare).await?;
        }
    }
    Ok(())
}

fn main() -> Outcome {
    let options = Options::parse();

    tokio::runtime::Runtime::new()?.block_on(photograph(options))
}
