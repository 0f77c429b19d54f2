//! Results: medians over the repeats, as a table and as JSON.

use std::fmt;

use super::system::System;

/// One figure of a run.
#[derive(Debug, Clone)]
pub(crate) struct Metric {
    pub(crate) name: String,
    pub(crate) unit: &'static str,
    pub(crate) value: f64,
}

/// What a run of a workload gave.
#[derive(Debug, Clone, Default)]
pub(crate) struct Measured {
    pub(crate) metrics: Vec<Metric>,
    pub(crate) cpu_worker_s: f64,
    pub(crate) cpu_redis_s: f64,
    /// The workload, and why the system has nothing of the kind.
    pub(crate) unsupported: Option<(&'static str, String)>,
}

/// The measurements of all workloads and systems, in the order of their first run.
#[derive(Default)]
pub(crate) struct Report {
    pub(crate) rows: Vec<Row>,
    notes: Vec<String>,
}

/// The measurements of one metric of one system.
pub(crate) struct Row {
    pub(crate) metric: String,
    pub(crate) unit: &'static str,
    pub(crate) label: String,
    system: String,
    version: String,
    at_least_once: bool,
    loses: String,
    values: Vec<f64>,
    cpu_worker_s: Vec<f64>,
    cpu_redis_s: Vec<f64>,
}

impl Metric {
    pub(crate) fn new(name: impl Into<String>, unit: &'static str, value: f64) -> Self {
        Self { name: name.into(), unit, value }
    }
}

impl Measured {
    pub(crate) fn unsupported(workload: &'static str, reason: &str) -> Self {
        Self { unsupported: Some((workload, reason.to_owned())), ..Self::default() }
    }
}

impl Row {
    pub(crate) fn median(&self) -> f64 {
        median(&self.values)
    }

    pub(crate) fn min(&self) -> f64 {
        self.values.iter().copied().fold(f64::INFINITY, f64::min)
    }

    pub(crate) fn max(&self) -> f64 {
        self.values.iter().copied().fold(f64::NEG_INFINITY, f64::max)
    }
}

/// The middle one, or the mean of the two in the middle.
fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        count if count % 2 == 1 => sorted[count / 2],
        count => f64::midpoint(sorted[count / 2 - 1], sorted[count / 2]),
    }
}

impl Report {
    /// Adds what a run gave.
    pub(crate) fn add(&mut self, system: &System, measured: Measured) {
        if let Some((workload, reason)) = measured.unsupported {
            self.note(format!("{workload}: {} cannot: {reason}", system.label()));
        }
        for Metric { name, unit, value } in measured.metrics {
            let label = system.label();
            let known = self.rows.iter_mut().find(|row| row.metric == name && row.label == label);
            let row = match known {
                Some(row) => row,
                None => {
                    self.rows.push(Row {
                        metric: name,
                        unit,
                        label,
                        system: system.name.clone(),
                        version: system.version.clone(),
                        at_least_once: system.at_least_once,
                        loses: system.loses.clone(),
                        values: Vec::new(),
                        cpu_worker_s: Vec::new(),
                        cpu_redis_s: Vec::new(),
                    });
                    // It was just added.
                    let Some(row) = self.rows.last_mut() else { continue };
                    row
                }
            };
            row.values.push(value);
            row.cpu_worker_s.push(measured.cpu_worker_s);
            row.cpu_redis_s.push(measured.cpu_redis_s);
        }
    }

    /// Notes that a system did not get through.
    pub(crate) fn fail(&mut self, system: &System, workload: &str, error: &str) {
        self.note(format!("{workload}: {} failed: {error}", system.label()));
    }

    /// Adds a line below the table, once.
    pub(crate) fn note(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// The metrics in the order of their first run.
    pub(crate) fn metrics(&self) -> Vec<&str> {
        let mut metrics: Vec<&str> = Vec::new();
        for row in &self.rows {
            if !metrics.contains(&row.metric.as_str()) {
                metrics.push(&row.metric);
            }
        }
        metrics
    }

    pub(crate) fn rows_of(&self, metric: &str) -> Vec<&Row> {
        self.rows.iter().filter(|row| row.metric == metric).collect()
    }

    pub(crate) fn to_json(&self) -> String {
        let results: Vec<serde_json::Value> = self
            .rows
            .iter()
            .map(|row| {
                serde_json::json!({
                    "workload": row.metric,
                    "system": row.system,
                    "mode": row.label,
                    "version": row.version,
                    "at_least_once": row.at_least_once,
                    "lost_on_kill_9": row.loses,
                    "unit": row.unit,
                    "median": row.median(),
                    "min": row.min(),
                    "max": row.max(),
                    "cpu_worker_s": median(&row.cpu_worker_s),
                    "cpu_redis_s": median(&row.cpu_redis_s),
                })
            })
            .collect();
        serde_json::json!({ "results": results, "notes": self.notes }).to_string()
    }
}

/// A value with as many digits as it deserves.
pub(crate) fn shown(value: f64) -> String {
    match value.abs() {
        large if large >= 1000.0 => format!("{value:.0}"),
        some if some >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.3}"),
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:<26} {:<26} {:>9} {:>9} {:>9}  {:<12} {:>8} {:>8}",
            "metric", "system", "median", "min", "max", "unit", "worker s", "redis s"
        )?;
        for metric in self.metrics() {
            for row in self.rows_of(metric) {
                writeln!(
                    f,
                    "{:<26} {:<26} {:>9} {:>9} {:>9}  {:<12} {:>8.2} {:>8.2}",
                    metric,
                    row.label,
                    shown(row.median()),
                    shown(row.min()),
                    shown(row.max()),
                    row.unit,
                    median(&row.cpu_worker_s),
                    median(&row.cpu_redis_s),
                )?;
            }
        }
        for note in &self.notes {
            writeln!(f, "{note}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_an_even_number_lies_between_the_two_in_the_middle() {
        assert_eq!(median(&[9.0, 1.0, 5.0]), 5.0);
        assert_eq!(median(&[9.0, 1.0, 5.0, 6.0]), 5.5);
    }

    #[test]
    fn json_has_one_result_for_each_metric_and_system() {
        let mut report = Report::default();
        let system = System::ours().unwrap();
        for value in [3.0, 1.0, 2.0] {
            let metrics = vec![Metric::new("push_1", "jobs/s", value)];
            report.add(&system, Measured { metrics, cpu_worker_s: 0.5, ..Measured::default() });
        }
        let json: serde_json::Value = serde_json::from_str(&report.to_json()).unwrap();
        let [result] = json["results"].as_array().unwrap().as_slice() else { panic!("{json}") };
        assert_eq!(result["workload"], "push_1");
        assert_eq!(result["system"], "cogworker");
        assert_eq!(result["at_least_once"], true);
        assert_eq!([&result["median"], &result["min"], &result["max"]], [2.0, 1.0, 3.0]);
        assert_eq!(result["cpu_worker_s"], 0.5);
    }
}
