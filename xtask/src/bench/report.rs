//! Results: medians over the repeats, as a table and as JSON.

use std::collections::BTreeMap;
use std::fmt;

/// The measurements of every workload, in the order of their first run.
#[derive(Default)]
pub(crate) struct Report {
    order: Vec<String>,
    values: BTreeMap<String, (&'static str, Vec<f64>)>,
}

impl Report {
    /// Adds one measurement.
    pub(crate) fn add(&mut self, workload: &str, unit: &'static str, value: f64) {
        if !self.values.contains_key(workload) {
            self.order.push(workload.to_owned());
        }
        self.values.entry(workload.to_owned()).or_insert((unit, Vec::new())).1.push(value);
    }

    fn rows(&self) -> impl Iterator<Item = (&str, &'static str, f64, f64, f64)> {
        self.order.iter().filter_map(|name| {
            let (unit, values) = self.values.get(name)?;
            let mut sorted = values.clone();
            sorted.sort_by(f64::total_cmp);
            Some((name.as_str(), *unit, sorted[sorted.len() / 2], sorted[0], sorted[sorted.len() - 1]))
        })
    }

    /// `{"results":[{"workload","system","version","at_least_once","unit","median","min","max"}]}`
    pub(crate) fn to_json(&self) -> String {
        let results: Vec<serde_json::Value> = self
            .rows()
            .map(|(workload, unit, median, min, max)| {
                serde_json::json!({
                    "workload": workload,
                    "system": "cogworker",
                    "version": env!("CARGO_PKG_VERSION"),
                    "at_least_once": true,
                    "unit": unit,
                    "median": median,
                    "min": min,
                    "max": max,
                })
            })
            .collect();
        serde_json::json!({ "results": results }).to_string()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<26} {:>14} {:>14} {:>14}  unit", "workload", "median", "min", "max")?;
        for (name, unit, median, min, max) in self.rows() {
            let shown =
                |value: f64| if value >= 1000.0 { format!("{value:.0}") } else { format!("{value:.3}") };
            writeln!(f, "{name:<26} {:>14} {:>14} {:>14}  {unit}", shown(median), shown(min), shown(max))?;
        }
        Ok(())
    }
}
