//! Finds entries on the own in-progress list that nobody here holds.
//!
//! They come from calls whose reply got lost: the jobs were moved and never delivered. An entry
//! is a stray only when two looks, some time apart, both find it unheld (REC-01), so that one
//! which is just being delivered is left alone.

use std::collections::HashMap;

use bytes::Bytes;

#[derive(Debug, Default)]
pub(crate) struct Reconciler {
    suspects: HashMap<Bytes, usize>,
}

impl Reconciler {
    /// Compares what the list shows with what this process holds; the same bytes may be there
    /// more than once. The strays that the previous look found too.
    pub(crate) fn look<'a>(&mut self, listed: &[Bytes], held: impl Iterator<Item = &'a Bytes>) -> Vec<Bytes> {
        let mut unheld: HashMap<Bytes, usize> = HashMap::new();
        for raw in listed {
            *unheld.entry(raw.clone()).or_default() += 1;
        }
        for raw in held {
            if let Some(count) = unheld.get_mut(raw) {
                *count = count.saturating_sub(1);
            }
        }
        unheld.retain(|_, count| *count > 0);
        let mut strays = Vec::new();
        for (raw, count) in &mut unheld {
            let seen_before = self.suspects.get(raw).copied().unwrap_or(0);
            let confirmed = seen_before.min(*count);
            strays.extend(std::iter::repeat_n(raw.clone(), confirmed));
            *count -= confirmed;
        }
        unheld.retain(|_, count| *count > 0);
        self.suspects = unheld;
        strays
    }

    /// True while a second look is due soon.
    pub(crate) fn has_suspects(&self) -> bool {
        !self.suspects.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &'static str) -> Bytes {
        Bytes::from_static(text.as_bytes())
    }

    #[test]
    fn an_entry_is_a_stray_at_the_second_look() {
        let mut reconciler = Reconciler::default();
        let listed = [raw("a"), raw("b")];
        assert!(reconciler.look(&listed, [raw("a")].iter()).is_empty());
        assert_eq!(reconciler.look(&listed, [raw("a")].iter()), [raw("b")]);
        assert!(!reconciler.has_suspects());
    }

    #[test]
    fn an_entry_that_was_delivered_meanwhile_is_left_alone() {
        let mut reconciler = Reconciler::default();
        assert!(reconciler.look(&[raw("a")], [].iter()).is_empty());
        assert!(reconciler.look(&[raw("a")], [raw("a")].iter()).is_empty());
        assert!(reconciler.look(&[raw("a")], [].iter()).is_empty(), "it starts over");
    }

    #[test]
    fn equal_payloads_are_counted_not_merged() {
        let mut reconciler = Reconciler::default();
        let listed = [raw("a"), raw("a"), raw("a")];
        assert!(reconciler.look(&listed, [raw("a")].iter()).is_empty());
        assert_eq!(reconciler.look(&listed, [raw("a"), raw("a")].iter()), [raw("a")]);
    }
}
