//! Where a command writes what it found: tables for people, lines of JSON for programs.

use std::io::{self, BufWriter, IsTerminal, Stdout, Write};

use serde::Serialize;

use crate::table::Table;
use crate::text::{cut, shown};

/// The narrowest terminal that is believed to be one.
const NARROWEST: usize = 20;

/// Standard output.
pub(crate) struct Output {
    out: BufWriter<Stdout>,
    /// Whether each thing is a line of JSON.
    pub(crate) json: bool,
    /// The terminal's width; `None` when it is none, and everything is written whole.
    pub(crate) columns: Option<usize>,
    colours: bool,
}

/// A colour, or another way to stand out.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Style {
    Bold,
    Green,
    Yellow,
    Red,
}

impl Output {
    pub(crate) fn new(json: bool) -> Self {
        let columns = terminal_size().map(|(columns, _)| columns);
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let colours = columns.is_some()
            && set("NO_COLOR").is_none()
            && set("TERM").is_some_and(|terminal| terminal != "dumb");
        Self { out: BufWriter::new(io::stdout()), json, columns, colours }
    }

    /// A thing, as one line of JSON.
    pub(crate) fn record(&mut self, record: &impl Serialize) -> io::Result<()> {
        let line = serde_json::to_string(record).map_err(io::Error::other)?;
        // Of a job that is carried as it is stored, blanks may be line breaks; inside texts these are escaped.
        writeln!(self.out, "{}", line.replace(['\n', '\r'], " "))
    }

    /// A line, for people.
    pub(crate) fn line(&mut self, line: &str) -> io::Result<()> {
        writeln!(self.out, "{}", shown(line))
    }

    /// A line that is cut where the terminal ends.
    pub(crate) fn short_line(&mut self, line: &str) -> io::Result<()> {
        let line = shown(line);
        writeln!(
            self.out,
            "{}",
            self.columns.map_or(line.clone(), |columns| cut(&line, columns).into_owned().into())
        )
    }

    pub(crate) fn table(&mut self, table: &Table) -> io::Result<()> {
        for (at, line) in table.lines(self.columns).iter().enumerate() {
            let line = if at == 0 { self.styled(Style::Bold, line) } else { line.clone() };
            writeln!(self.out, "{line}")?;
        }
        Ok(())
    }

    /// Text as it is, with no regard to what is in it.
    pub(crate) fn raw(&mut self, text: &str) -> io::Result<()> {
        self.out.write_all(text.as_bytes())
    }

    pub(crate) fn styled(&self, style: Style, text: &str) -> String {
        if !self.colours {
            return text.to_owned();
        }
        let code = match style {
            Style::Bold => 1,
            Style::Green => 32,
            Style::Yellow => 33,
            Style::Red => 31,
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }

    /// Writes what is still held back. A reader that has gone shows here at the latest.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Columns and rows of the terminal that standard output is.
pub(crate) fn terminal_size() -> Option<(usize, usize)> {
    let out = io::stdout();
    if !out.is_terminal() {
        return None;
    }
    let size = rustix::termios::tcgetwinsize(&out).ok();
    // A terminal that does not know its size is of the usual one.
    let size = size.filter(|size| usize::from(size.ws_col) >= NARROWEST);
    Some(size.map_or((80, 24), |size| (size.ws_col.into(), size.ws_row.into())))
}
