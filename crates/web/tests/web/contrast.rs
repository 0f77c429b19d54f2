//! The colours: readable in both themes (WCAG 2.2 AA).

use std::collections::BTreeMap;

type Tokens = BTreeMap<String, String>;

fn block(css: &str, start: &str) -> Tokens {
    let body =
        css.split_once(start).and_then(|(_, rest)| rest.split_once('}')).map(|(body, _)| body).unwrap();
    let lines = body.lines().filter_map(|line| line.trim().strip_prefix("--")?.split_once(':'));
    lines.map(|(name, value)| (name.to_owned(), value.split(';').next().unwrap().trim().to_owned())).collect()
}

fn luminance(hex: &str) -> f64 {
    let channel = |at: usize| {
        let value = f64::from(u8::from_str_radix(&hex[at..at + 2], 16).unwrap()) / 255.0;
        if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
    };
    0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5)
}

fn contrast(a: &str, b: &str) -> f64 {
    let (a, b) = (luminance(a), luminance(b));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

/// Foreground, background, least contrast.
fn pairs() -> Vec<(&'static str, &'static str, f64)> {
    let cross = |fronts: &[&'static str], backs: &[&'static str], least: f64| {
        let pair = |front: &&'static str| backs.iter().map(|back| (*front, *back, least)).collect::<Vec<_>>();
        fronts.iter().flat_map(pair).collect::<Vec<_>>()
    };
    let planes = ["canvas", "surface", "raised", "sunken", "hover", "selected"];
    [
        cross(&["text", "text-2", "text-3", "accent", "warn", "danger"], &planes, 4.5),
        cross(&["text", "text-2", "text-3", "accent"], &["accent-soft"], 4.5),
        cross(&["text", "text-2", "text-3", "warn"], &["warn-soft"], 4.5),
        cross(&["text", "text-2", "text-3", "danger"], &["danger-soft"], 4.5),
        cross(&["on-accent"], &["accent", "accent-hover"], 4.5),
        cross(&["on-danger"], &["danger-fill", "danger-fill-hover"], 4.5),
        cross(
            &["line-control", "accent", "warn-mark", "danger-mark"],
            &["canvas", "surface", "sunken", "hover"],
            3.0,
        ),
        cross(&["chart-main", "chart-bad", "chart-bar"], &["surface"], 3.0),
    ]
    .concat()
}

#[test]
fn every_text_and_control_can_be_read_in_both_themes() {
    let css = include_str!("../../assets/css/10-tokens.css");
    let light = block(css, ":root {");
    let dark = block(css, ":root[data-theme=\"dark\"] {");
    assert_eq!(block(css, ":root:not([data-theme=\"light\"]) {"), dark, "the two dark blocks differ");
    for (theme, tokens) in [("light", light), ("dark", dark)] {
        for (front, back, least) in pairs() {
            let found = contrast(&tokens[front], &tokens[back]);
            assert!(found >= least, "{theme}: {front} on {back} is {found:.2}, below {least}");
        }
    }
}
