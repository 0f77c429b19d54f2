//! The documented items of a Rust source: names, doc comments, attributes.
//!
//! Enough of the language for this workspace's own formatted sources, where an item's doc comment stands on the lines
//! above it.

/// One field, variant or function, and what is said about it.
#[derive(Debug, PartialEq)]
pub(crate) struct Item {
    pub(crate) name: String,
    /// The first paragraph on one line, without the ids of rules at its end.
    pub(crate) doc: String,
    pub(crate) attributes: String,
}

/// The items right inside the block that the line `opening` opens.
pub(crate) fn items(source: &str, opening: &str) -> Vec<Item> {
    let mut lines = source.lines().skip_while(|line| *line != opening).skip(1);
    let (mut doc, mut attributes, mut items): (Vec<&str>, String, Vec<Item>) = Default::default();
    for line in lines.by_ref().take_while(|line| *line != "}") {
        // Deeper ones belong to something else, and a closing bracket to what was there.
        let Some(line) = line.strip_prefix("    ").filter(|line| !line.starts_with(' ')) else { continue };
        if let Some(text) = line.strip_prefix("///") {
            doc.push(text.trim());
        } else if line.starts_with("#[") {
            attributes.push_str(line);
        } else if let Some(name) = name(line) {
            let paragraph: Vec<&str> = doc.iter().copied().take_while(|line| !line.is_empty()).collect();
            let doc = without_ids(&paragraph.join(" "));
            items.push(Item { name, doc, attributes: std::mem::take(&mut attributes) });
        }
        if !line.starts_with("///") && !line.starts_with("#[") {
            doc.clear();
            attributes.clear();
        }
    }
    items
}

fn name(line: &str) -> Option<String> {
    let line = line.strip_prefix("pub(crate) ").or_else(|| line.strip_prefix("pub ")).unwrap_or(line);
    let (line, is_function) = line.strip_prefix("fn ").map_or((line, false), |rest| (rest, true));
    let end = line.find(|c: char| !c.is_alphanumeric() && c != '_')?;
    let follows = line[end..].chars().next()?;
    let is_item = if is_function { matches!(follows, '(' | '<') } else { matches!(follows, ':' | ',') };
    (is_item && end > 0).then(|| line[..end].to_owned())
}

/// Without `(CONF-07, CONF-08)` at the end, which says where the rule comes from.
fn without_ids(doc: &str) -> String {
    let sentence = doc.trim_end_matches('.');
    match sentence.rsplit_once(" (") {
        Some((text, ids))
            if ids.ends_with(')')
                && ids
                    .bytes()
                    .all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b"-, )".contains(&b)) =>
        {
            format!("{text}{}", &doc[sentence.len()..])
        }
        _ => doc.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "\
/// Not this.
struct Other {
    /// Nor this.
    pub other: u8,
}

struct Options {
    /// Where it
    /// listens (CONF-07, RFETCH-05).
    ///
    /// Not the first paragraph.
    #[arg(long, value_name = \"ADDRESS\")]
    bind: SocketAddr,
    #[doc(hidden)]
    pub timings: Timings,
    /// A function.
    pub fn title(mut self, title: impl Into<String>) -> Self {
        /// Deeper.
        let deeper: u8 = 1;
    }
    /// A variant, or two (of them)
    Variant,
}
";

    #[test]
    fn items_are_found_with_their_first_paragraph_and_attributes() {
        let found = items(SOURCE, "struct Options {");
        let told: Vec<_> = found.iter().map(|item| (&*item.name, &*item.doc)).collect();
        assert_eq!(
            told,
            [
                ("bind", "Where it listens."),
                ("timings", ""),
                ("title", "A function."),
                ("Variant", "A variant, or two (of them)"),
            ]
        );
        assert_eq!(found[0].attributes, "#[arg(long, value_name = \"ADDRESS\")]");
        assert!(items(SOURCE, "struct Nothing {").is_empty());
    }
}
