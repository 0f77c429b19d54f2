//! A table of texts.

use crate::text::{cut, shown, width};

/// Columns stand so far apart.
const GAP: &str = "  ";
/// A column is not made narrower than this to fit the terminal.
const NARROWEST: usize = 6;

/// How a column is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Column {
    /// Text, from the left.
    Text(&'static str),
    /// A number, from the right.
    Number(&'static str),
    /// A text that is cut first where the terminal is narrow.
    Long(&'static str),
}

impl Column {
    fn title(self) -> &'static str {
        match self {
            Self::Text(title) | Self::Number(title) | Self::Long(title) => title,
        }
    }
}

/// Rows of cells under titles.
#[derive(Debug)]
pub(crate) struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new(columns: impl Into<Vec<Column>>) -> Self {
        Self { columns: columns.into(), rows: Vec::new() }
    }

    /// Adds a row of one cell for each column.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().map(|cell| shown(&cell).into_owned()).collect());
    }

    /// The lines, the titles first; of at most so many columns each.
    pub(crate) fn lines(&self, columns: Option<usize>) -> Vec<String> {
        let titles: Vec<String> = self.columns.iter().map(|column| column.title().to_owned()).collect();
        let rows = || std::iter::once(&titles).chain(&self.rows);
        let mut widths: Vec<usize> = (0..self.columns.len())
            .map(|at| rows().map(|row| row.get(at).map_or(0, |cell| width(cell))).max().unwrap_or(0))
            .collect();
        if let Some(columns) = columns {
            self.fit(&mut widths, columns);
        }
        rows()
            .map(|row| {
                let line = self.line(row, &widths);
                match columns {
                    Some(columns) => cut(&line, columns).into_owned(),
                    None => line,
                }
            })
            .collect()
    }

    /// Takes columns from the widest of the long texts, then from the widest of all texts.
    fn fit(&self, widths: &mut [usize], columns: usize) {
        let gaps = GAP.len() * self.columns.len().saturating_sub(1);
        for of in [|column| matches!(column, Column::Long(_)), |column| !matches!(column, Column::Number(_))]
        {
            while widths.iter().sum::<usize>() + gaps > columns {
                let candidates =
                    (0..widths.len()).filter(|at| of(self.columns[*at]) && widths[*at] > NARROWEST);
                let Some(widest) = candidates.max_by_key(|at| widths[*at]) else { break };
                widths[widest] -= 1;
            }
        }
    }

    fn line(&self, row: &[String], widths: &[usize]) -> String {
        let mut line = String::new();
        for (at, ((cell, column), columns)) in row.iter().zip(&self.columns).zip(widths).enumerate() {
            if at > 0 {
                line.push_str(GAP);
            }
            let cell = cut(cell, *columns);
            let padding = " ".repeat(columns.saturating_sub(width(&cell)));
            match column {
                Column::Number(_) => line.extend([&padding, &*cell]),
                _ => line.extend([&*cell, &padding]),
            }
        }
        line.truncate(line.trim_end().len());
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new([Column::Text("NAME"), Column::Number("SIZE"), Column::Long("ARGS")]);
        table.row(["default".into(), "12,000".into(), "[1,2,3,4,5,6,7,8]".into()]);
        table.row(["日本".into(), "7".into(), "a\nb".into()]);
        table
    }

    #[test]
    fn columns_are_aligned_whatever_is_in_them() {
        assert_eq!(
            table().lines(None),
            ["NAME       SIZE  ARGS", "default  12,000  [1,2,3,4,5,6,7,8]", r"日本          7  a\nb",]
        );
    }

    #[test]
    fn a_narrow_terminal_cuts_the_long_texts_first() {
        assert_eq!(table().lines(Some(26))[1], "default  12,000  [1,2,3,4…");
        assert_eq!(table().lines(Some(20))[1], "defau…  12,000  [1,…");
        assert!(table().lines(Some(9)).iter().all(|line| width(line) <= 9));
    }
}
