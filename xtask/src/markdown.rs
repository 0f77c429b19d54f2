//! As much of Markdown as the guide uses: prose, links, anchors.

use std::path::{Component, Path, PathBuf};

/// The lines outside fenced code.
pub(crate) fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut fenced = false;
    text.lines().filter(move |line| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        !fenced && !fence
    })
}

/// The targets of `[text](target)` and `[name]: target`.
pub(crate) fn links(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in prose(text) {
        // Every second part is inline code, where brackets are no links.
        let line: String = line.split('`').step_by(2).collect::<Vec<_>>().join("code");
        for (start, opening) in line.match_indices("](") {
            let rest = &line[start + opening.len()..];
            if let Some(end) = rest.find(')') {
                found.extend(rest[..end].split_whitespace().next().map(str::to_owned));
            }
        }
        let definition = line.trim_start().strip_prefix('[').and_then(|line| line.split_once("]: "));
        if let Some((name, target)) = definition
            && !name.contains(['[', ']'])
        {
            found.extend(target.split_whitespace().next().map(str::to_owned));
        }
    }
    found
}

/// The anchors that code hosts make from headings: lower case, spaces to dashes, other signs dropped.
pub(crate) fn anchors(text: &str) -> impl Iterator<Item = String> {
    prose(text).filter(|line| line.starts_with('#')).map(|line| {
        let heading = line.trim_start_matches('#').trim().to_lowercase();
        heading
            .chars()
            .filter_map(|c| match c {
                ' ' => Some('-'),
                c if c.is_alphanumeric() || c == '-' || c == '_' => Some(c),
                _ => None,
            })
            .collect()
    })
}

/// Resolves `.` and `..` by name alone.
pub(crate) fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                normal.pop();
            }
            part => normal.push(part),
        }
    }
    normal
}

/// What becomes of a link.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Link {
    Stays,
    /// Leads elsewhere.
    To(String),
    /// Is text alone.
    Ends,
}

/// The text with its links led elsewhere; code stays as it is.
pub(crate) fn relinked(text: &str, decide: impl Fn(&str) -> Link) -> String {
    let mut fenced = false;
    let mut lines = Vec::new();
    for line in text.lines() {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        lines.push(if fenced || fence { line.to_owned() } else { relinked_line(line, &decide) });
    }
    lines.join("\n") + "\n"
}

fn relinked_line(line: &str, decide: impl Fn(&str) -> Link) -> String {
    let mut line = line.to_owned();
    let mut from = 0;
    while let Some(found) = line[from..].find("](") {
        let (close, start) = (from + found, from + found + 2);
        from = start;
        let Some(length) = line[start..].find(')') else { break };
        if !line[..close].matches('`').count().is_multiple_of(2) {
            continue;
        }
        match decide(&line[start..start + length]) {
            Link::Stays => {}
            Link::To(target) => line.replace_range(start..start + length, &target),
            Link::Ends => {
                let Some(open) = line[..close].rfind('[') else { continue };
                line.replace_range(close..start + length + 1, "");
                line.remove(open);
                from = close - 1;
            }
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_led_elsewhere_or_ended_and_code_stays() {
        let decide = |target: &str| match target {
            "a.md" => Link::To("b.md".into()),
            "folder" => Link::Ends,
            _ => Link::Stays,
        };
        let text = "[x](a.md), [`y`](folder) and [z](c.md), `[a](a.md)`, [w](a.md)\n```\n[x](a.md)\n```\n";
        let expected = "[x](b.md), `y` and [z](c.md), `[a](a.md)`, [w](b.md)\n```\n[x](a.md)\n```\n";
        assert_eq!(relinked(text, decide), expected);
    }
}
