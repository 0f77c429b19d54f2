//! Jobs that this process has handlers for and will never see, and queues that hardly exist.

use std::collections::BTreeSet;

use tracing::{info, warn};

use crate::config::meant_weight;

/// So many classes are named.
const NAMED: usize = 20;

/// Warns of an application without handlers and of likely slips in `read`; tells of handlers whose jobs go to queues that
/// are not among it, which is as it should be where other processes read those.
pub(super) fn tell_of_unread(classes: &[(&'static str, String)], read: &[String]) {
    if classes.is_empty() {
        warn!("the application has no handlers: every job that is fetched will fail");
    }
    unread(classes, read).iter().for_each(|line| info!("{line}"));
    likely_weights(read).iter().for_each(|warning| warn!("{warning}"));
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

fn unread(classes: &[(&'static str, String)], read: &[String]) -> Vec<String> {
    let unread: Vec<_> = classes.iter().filter(|(_, queue)| !read.contains(queue)).collect();
    let mut lines: Vec<String> = unread
        .iter()
        .take(NAMED)
        .map(|(class, queue)| format!("{class} goes to queue {queue}, which this process does not read"))
        .collect();
    match unread.len().saturating_sub(NAMED) {
        0 => {}
        more => lines.push(format!("and {more} more go to queues that this process does not read")),
    }
    lines
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
        let classes = |count: usize| {
            let mut classes = vec![("A", "low".to_owned()), ("B", "default".to_owned())];
            classes.extend((0..count).map(|n| ("Mail", format!("mail{n}"))));
            classes
        };
        assert_eq!(unread(&classes(0), &read), [""; 0]);
        assert_eq!(
            unread(&classes(1), &read),
            ["Mail goes to queue mail0, which this process does not read"]
        );
        assert_eq!(unread(&classes(20), &read).len(), 20);
        let many = unread(&classes(23), &read);
        assert_eq!(many.len(), 21);
        assert_eq!(many[20], "and 3 more go to queues that this process does not read");
    }
}
