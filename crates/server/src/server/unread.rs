//! Jobs that this process has handlers for and will never see, and queues that hardly exist.

use std::collections::BTreeSet;

use tracing::warn;

use crate::config::meant_weight;

/// So many classes are named.
const NAMED: usize = 20;

/// Tells of an application without handlers, and of handlers whose jobs go to queues that are not among
/// `read`: mostly a queue was forgotten, where no other process is meant to read it.
pub(super) fn warn_of_unread(classes: &[(&'static str, String)], read: &[String]) {
    let warnings = warnings(classes, read).into_iter().chain(likely_weights(read));
    warnings.for_each(|warning| warn!("{warning}"));
}

/// Names may have colons: one that ends in a number is no error.
fn likely_weights(read: &[String]) -> Vec<String> {
    let names: BTreeSet<&str> = read.iter().map(String::as_str).collect();
    let told = |name: &&str| {
        let meant = meant_weight(name)?;
        Some(format!(
            "queue {name} is read by that whole name: did you mean {},{}?",
            meant.name, meant.weight
        ))
    };
    names.iter().filter_map(told).take(NAMED).collect()
}

fn warnings(classes: &[(&'static str, String)], read: &[String]) -> Vec<String> {
    if classes.is_empty() {
        return vec!["the application has no handlers: every job that is fetched will fail".to_owned()];
    }
    let unread: Vec<_> = classes.iter().filter(|(_, queue)| !read.contains(queue)).collect();
    let mut warnings: Vec<String> = unread
        .iter()
        .take(NAMED)
        .map(|(class, queue)| format!("{class} goes to queue {queue}, which this process does not read"))
        .collect();
    match unread.len().saturating_sub(NAMED) {
        0 => {}
        more => warnings.push(format!("and {more} more go to queues that this process does not read")),
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_that_ends_in_a_weight_after_a_colon_is_told_once() {
        let read = ["default:2", "a::b", "b:", ":3", "c:0", "c:1001", "c:x", "t:1", "default:2"];
        assert_eq!(
            likely_weights(&read.map(str::to_owned)),
            [
                "queue default:2 is read by that whole name: did you mean default,2?",
                "queue t:1 is read by that whole name: did you mean t,1?"
            ]
        );
    }

    #[test]
    fn at_most_twenty_classes_are_named_and_the_others_counted() {
        let read = ["default".to_owned(), "low".to_owned()];
        let classes = |unread: usize| {
            let mut classes = vec![("A", "low".to_owned()), ("B", "default".to_owned())];
            classes.extend((0..unread).map(|n| ("Mail", format!("mail{n}"))));
            classes
        };
        assert_eq!(warnings(&classes(0), &read), [""; 0]);
        assert_eq!(
            warnings(&classes(1), &read),
            ["Mail goes to queue mail0, which this process does not read"]
        );
        assert_eq!(warnings(&classes(20), &read).len(), 20);
        let many = warnings(&classes(23), &read);
        assert_eq!(many.len(), 21);
        assert_eq!(many[20], "and 3 more go to queues that this process does not read");
    }
}
