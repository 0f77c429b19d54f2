//! One picture a metric: a bar for each system, with the span from its least to its greatest value.

use std::fmt::Write;
use std::fs;
use std::io;
use std::path::Path;

use super::report::{Report, Row, shown};

const WIDTH: f64 = 760.0;
const LEFT: f64 = 210.0;
const BAR_SPACE: f64 = 300.0 + 120.0;
const ROW: f64 = 30.0;
const TOP: f64 = 48.0;

/// Writes them into `folder`; how many there are.
pub(crate) fn write_all(report: &Report, folder: &Path) -> io::Result<usize> {
    fs::create_dir_all(folder)?;
    let metrics = report.metrics();
    for metric in &metrics {
        fs::write(folder.join(format!("{metric}.svg")), svg(metric, &report.rows_of(metric)))?;
    }
    Ok(metrics.len())
}

fn svg(metric: &str, rows: &[&Row]) -> String {
    let most = rows.iter().map(|row| row.max()).fold(f64::MIN_POSITIVE, f64::max);
    let height = TOP + ROW * rows.len() as f64 + 12.0;
    let unit = rows.first().map_or("", |row| row.unit);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" viewBox=\"0 0 {WIDTH} {height}\" \
         font-family=\"system-ui, sans-serif\" font-size=\"13\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n\
         <text x=\"16\" y=\"28\" font-size=\"16\" font-weight=\"600\" fill=\"#111827\">{} <tspan fill=\"#6b7280\" \
         font-size=\"13\" font-weight=\"400\">{}, medians, with least and greatest</tspan></text>\n",
        escaped(metric),
        escaped(unit)
    );
    for (index, row) in rows.iter().enumerate() {
        let y = TOP + ROW * index as f64;
        let at = |value: f64| LEFT + BAR_SPACE * (value / most).clamp(0.0, 1.0);
        let fill = if row.label == "cogworker" { "#4f46e5" } else { "#9ca3af" };
        let (middle, end) = (y + ROW / 2.0, at(row.median()));
        // Writing to a text cannot fail.
        let _ = writeln!(
            svg,
            "<text x=\"{:.0}\" y=\"{:.1}\" text-anchor=\"end\" fill=\"#111827\">{}</text>\
             <rect x=\"{LEFT}\" y=\"{:.1}\" width=\"{:.1}\" height=\"18\" rx=\"2\" fill=\"{fill}\"/>\
             <path d=\"M{:.1} {middle:.1}H{:.1}\" stroke=\"#111827\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" fill=\"#111827\">{}</text>",
            LEFT - 10.0,
            middle + 4.5,
            escaped(&row.label),
            y + 6.0,
            (end - LEFT).max(1.0),
            at(row.min()),
            at(row.max()),
            at(row.max()) + 8.0,
            middle + 4.5,
            shown(row.median())
        );
    }
    svg.push_str("</svg>\n");
    svg
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::super::report::{Measured, Metric};
    use super::super::system::System;
    use super::*;

    #[test]
    fn each_metric_has_a_picture_with_a_bar_for_each_system() {
        let mut report = Report::default();
        let ours = System::ours().unwrap();
        let other = System { name: "a<b".into(), is_ours: false, ..System::ours().unwrap() };
        for system in [&ours, &other] {
            let metrics = vec![Metric::new("push_1", "jobs/s", 12_345.0)];
            report.add(system, Measured { metrics, ..Measured::default() });
        }
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(write_all(&report, folder.path()).unwrap(), 1);
        let svg = std::fs::read_to_string(folder.path().join("push_1.svg")).unwrap();
        assert_eq!(svg.matches("height=\"18\"").count(), 2);
        assert!(svg.contains("a&lt;b (safe)") && svg.contains("12345"), "{svg}");
    }
}
