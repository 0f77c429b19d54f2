//! `cargo xtask config-reference`: writes the tables of settings and flags in the guide, from the code that reads them.
//!
//! A table stands between `<!-- table NAME -->` and `<!-- end NAME -->`. `docs-check` compares each with what this
//! would write, so none can go stale.

use std::fs;

use cogworker_server::cli;
use cogworker_server::config::{EnvVars, Key};

use crate::item_docs::{Item, items};
use crate::step::{self, TaskError};
use crate::workspace::{self, TextFile};

/// A table of a page.
struct Table {
    page: &'static str,
    name: &'static str,
    text: String,
}

pub(crate) fn run() -> Result<(), TaskError> {
    step::announce("config-reference");
    let root = workspace::root();
    for table in tables()? {
        let page = workspace::needed(&root, table.page)?;
        let text = written(&page, &table)
            .map_err(|finding| TaskError::Findings { step: "config-reference", findings: vec![finding] })?;
        if text != page.text {
            let path = root.join(table.page);
            fs::write(&path, text).map_err(|source| TaskError::Write { path, source })?;
            println!("{}: {}", table.page, table.name);
        }
    }
    Ok(())
}

/// The tables that are not as the code would have them.
pub(crate) fn findings() -> Result<Vec<String>, TaskError> {
    let root = workspace::root();
    let mut findings = Vec::new();
    for table in tables()? {
        let page = workspace::needed(&root, table.page)?;
        match written(&page, &table) {
            Ok(text) if text == page.text => {}
            Ok(_) => findings.push(format!(
                "{}: the table {} is not what the code says; cargo xtask config-reference writes it",
                table.page, table.name
            )),
            Err(finding) => findings.push(finding),
        }
    }
    Ok(findings)
}

/// The page with this table in it.
fn written(page: &TextFile, table: &Table) -> Result<String, String> {
    let (open, close) =
        (format!("<!-- table {} -->\n", table.name), format!("<!-- end {} -->\n", table.name));
    let missing = |what: &str| format!("{}: no line {:?}", page.path.display(), what.trim_end());
    let (before, rest) = page.text.split_once(&open).ok_or_else(|| missing(&open))?;
    let (_, after) = rest.split_once(&close).ok_or_else(|| missing(&close))?;
    Ok(format!("{before}{open}\n{}\n{close}{after}", table.text))
}

fn tables() -> Result<Vec<Table>, TaskError> {
    let root = workspace::root();
    let source = |path| workspace::needed(&root, path).map(|file| file.text);
    Ok(vec![
        Table {
            page: "docs/configuration.md",
            name: "settings",
            text: settings(
                &items(&source("crates/server/src/config.rs")?, "pub struct Config {"),
                &items(&source("crates/server/src/config/key.rs")?, "pub enum Key {"),
            ),
        },
        Table { page: "docs/configuration.md", name: "flags", text: worker_flags() },
        Table {
            page: "docs/deployment.md",
            name: "swarm-flags",
            text: flags(&items(&source("crates/swarm/src/args.rs")?, "pub(crate) struct SwarmArgs {")),
        },
        Table {
            page: "docs/cli.md",
            name: "web-flags",
            text: flags(&items(
                &source("crates/swarm/src/bin/cogworker/web.rs")?,
                "pub(crate) struct Options {",
            )),
        },
        Table {
            page: "docs/web.md",
            name: "web-options",
            text: web_options(&items(&source("crates/web/src/options.rs")?, "impl WebOptions {")),
        },
    ])
}

/// Where the page says more about a setting.
fn more(key: Key) -> &'static str {
    match key {
        Key::Queues => " See [Queues](#queues).",
        Key::Fetch => " See [Delivery](delivery.md#basic-fetch).",
        Key::Environment => " See [Environment](#environment).",
        Key::LogFormat => " See [Log](#log).",
        Key::HealthBind => " See [Operations](operations.md#health).",
        Key::Redis => " See [Redis](#redis).",
        Key::UniqueLockTtl => " See [Unique jobs](unique-jobs.md#how-long).",
        Key::PeriodicCatchUp => " See [Periodic jobs](periodic.md#what-can-be-relied-on).",
        Key::ShutdownTimeout => " See [Signals](signals.md#the-end-of-a-worker).",
        _ => "",
    }
}

fn settings(fields: &[Item], keys: &[Item]) -> String {
    let command = cli::command();
    let mut table = "| Setting | Default | Accepts | Meaning |\n|---|---|---|---|\n".to_owned();
    for (key, variant) in Key::ALL.iter().copied().zip(keys) {
        let field = fields.iter().find(|field| field.name == key.name());
        let doc = field.map_or(&variant.doc, |field| &field.doc);
        let variable = match key.env_var() {
            Some(variable) => format!("`{variable}`"),
            None => "`APP_ENV`, `RAILS_ENV`, `RACK_ENV`".to_owned(),
        };
        let flag = command.get_arguments().find(|arg| is_flag_of(arg, key)).map(named);
        let names = [Some(format!("`{key}`")), Some(variable), flag];
        let names: Vec<String> = names.into_iter().flatten().collect();
        let meaning = format!("{doc}{}", more(key));
        table.push_str(&cells(&[&names.join("<br>"), &default_of(key), &key.expected(), &meaning]));
    }
    table
}

fn is_flag_of(arg: &clap::Arg, key: Key) -> bool {
    key.flag().is_some_and(|flag| flag.strip_prefix("--") == arg.get_long())
}

/// What holds when nothing sets it, as `--print-config` prints it.
fn default_of(key: Key) -> String {
    let Ok(loaded) = cli::load(["worker"], &EnvVars::default(), ".".as_ref()) else { return String::new() };
    let report = loaded.report();
    let line = report.lines().find_map(|line| line.strip_prefix(&format!("{key}: ")));
    let value = line.and_then(|line| line.split("  # ").next()).unwrap_or_default().trim();
    if value == "~" { "none".to_owned() } else { format!("`{}`", value.replace('"', "")) }
}

/// The flags that are no setting of the table above.
fn worker_flags() -> String {
    let mut table = "| Flag | Meaning |\n|---|---|\n".to_owned();
    for arg in cli::command().get_arguments() {
        if !Key::ALL.iter().any(|key| is_flag_of(arg, *key)) {
            let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
            table.push_str(&cells(&[&named(arg), &help]));
        }
    }
    table.push_str(&cells(&["`-h`, `--help`", "Print the flags, then stop"]));
    table.push_str(&cells(&["`-V`, `--version`", "Print the version, then stop"]));
    table
}

/// `-c`, `--concurrency N`
fn named(arg: &clap::Arg) -> String {
    let value = arg.get_value_names().filter(|_| arg.get_action().takes_values());
    let value = value.and_then(|names| names.first()).map(|name| format!(" {name}")).unwrap_or_default();
    let long = arg.get_long().map(|long| format!("`--{long}{value}`"));
    let short = arg.get_short().map(|short| format!("`-{short}`"));
    short.into_iter().chain(long).collect::<Vec<_>>().join(", ")
}

/// The flags of a struct that clap reads; its help texts name variable and default in brackets.
fn flags(fields: &[Item]) -> String {
    let mut table = "| Flag | Variable | Default | Meaning |\n|---|---|---|---|\n".to_owned();
    for field in fields.iter().filter(|field| field.attributes.contains("long")) {
        let value = between(&field.attributes, "value_name = \"", "\"").map(|name| format!(" {name}"));
        let flag = format!("`--{}{}`", field.name.replace('_', "-"), value.unwrap_or_default());
        let variable = between(&field.doc, "[variable: ", "]").map(|name| format!("`{name}`"));
        let default = between(&field.doc, "[default: ", "]").map(str::to_owned).or_else(|| {
            let text = between(&field.attributes, "default_value = \"", "\"").map(|text| format!("`{text}`"));
            // The only default that is a constant is the address of `cogworker web`.
            text.or_else(|| {
                field.attributes.contains("DEFAULT_ADDRESS").then(|| "`127.0.0.1:9292`".to_owned())
            })
        });
        let meaning = field.doc.split(" [").next().unwrap_or_default();
        let row = [&*flag, &variable.unwrap_or_default(), &default.unwrap_or_default(), meaning];
        table.push_str(&cells(&row));
    }
    table
}

fn web_options(functions: &[Item]) -> String {
    let mut table = "| `WebOptions` | Meaning |\n|---|---|\n".to_owned();
    let is_setting =
        |function: &&Item| function.name != "new" && !function.attributes.contains("doc(hidden)");
    for function in functions.iter().filter(is_setting) {
        // A link of rustdoc's leads nowhere here.
        let doc = function.doc.replace("[`Session`](crate::Session)", "`Session`");
        table.push_str(&cells(&[&format!("`{}`", function.name), &doc]));
    }
    table
}

fn between<'t>(text: &'t str, start: &str, end: &str) -> Option<&'t str> {
    Some(text.split_once(start)?.1.split_once(end)?.0)
}

fn cells(cells: &[&str]) -> String {
    let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
    // An empty cell has one space.
    format!("| {} |\n", cells.join(" | ")).replace("|  |", "| |").replace("|  |", "| |")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(text: &str) -> TextFile {
        TextFile { path: "docs/a.md".into(), text: text.into() }
    }

    #[test]
    fn a_table_takes_the_place_of_what_stood_between_its_marks() {
        let table = Table { page: "docs/a.md", name: "t", text: "| new |\n".into() };
        let with = "# A\n\n<!-- table t -->\n\n| new |\n\n<!-- end t -->\n\nafter\n";
        let old = page("# A\n\n<!-- table t -->\nold\n<!-- end t -->\n\nafter\n");
        assert_eq!(written(&old, &table).as_deref(), Ok(with));
        assert_eq!(written(&page(with), &table).as_deref(), Ok(with));
        let missing = written(&page("# A\n<!-- table t -->\n"), &table);
        assert_eq!(missing.unwrap_err(), "docs/a.md: no line \"<!-- end t -->\"");
    }

    #[test]
    fn every_setting_has_a_row_with_its_meaning_default_and_variable() {
        let root = workspace::root();
        let source = |path| workspace::needed(&root, path).unwrap().text;
        let fields = items(&source("crates/server/src/config.rs"), "pub struct Config {");
        let keys = items(&source("crates/server/src/config/key.rs"), "pub enum Key {");
        assert_eq!(keys.len(), Key::ALL.len());
        let table = settings(&fields, &keys);
        let concurrency = "| `concurrency`<br>`COGWORKER_CONCURRENCY`<br>`-c`, `--concurrency N` | `10` | \
                           a whole number from 1 to 65536 | How many jobs run at the same time. |";
        assert!(table.contains(concurrency), "{table}");
        for row in table.lines().skip(2) {
            let meaning = row.split(" | ").last().unwrap_or_default();
            assert!(meaning.len() > 10 && !meaning.contains("super::"), "{row}");
        }
    }

    #[test]
    fn flags_are_told_with_what_their_help_says_in_brackets() {
        let source = "struct A {\n    /// Run this many [variable: N_VAR] [default: one]\n    \
                      #[arg(long, value_name = \"N\")]\n    a_count: Option<u8>,\n    /// Not a flag\n    b: u8,\n}\n";
        let table = flags(&items(source, "struct A {"));
        assert_eq!(table.lines().last(), Some("| `--a-count N` | `N_VAR` | one | Run this many |"));
    }
}
