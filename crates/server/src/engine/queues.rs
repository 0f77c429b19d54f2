//! The queues that a process reads, their weights, and which of them are paused.

use std::sync::Arc;
use std::time::Instant;

/// Each distinct queue with its weight: how often it was named (RFETCH-11).
#[derive(Debug)]
pub(crate) struct Queues {
    names: Vec<Arc<str>>,
    weights: Vec<u32>,
    paused: Vec<bool>,
    /// Queues that cannot be read, and until when they are left alone.
    barred: Vec<Option<Instant>>,
}

impl Queues {
    pub(crate) fn new(configured: &[String]) -> Self {
        let mut queues =
            Self { names: Vec::new(), weights: Vec::new(), paused: Vec::new(), barred: Vec::new() };
        for name in configured {
            match queues.names.iter().position(|known| **known == **name) {
                Some(index) => queues.weights[index] += 1,
                None => {
                    queues.names.push(name.as_str().into());
                    queues.weights.push(1);
                    queues.paused.push(false);
                    queues.barred.push(None);
                }
            }
        }
        queues
    }

    pub(crate) fn names(&self) -> &[Arc<str>] {
        &self.names
    }

    pub(crate) fn count(&self) -> usize {
        self.names.len()
    }

    pub(crate) fn name(&self, index: usize) -> &Arc<str> {
        &self.names[index]
    }

    /// The queue a stray belongs to, among ours if it is one of them.
    pub(crate) fn shared_name(&self, name: &str) -> Arc<str> {
        self.names.iter().find(|known| &***known == name).cloned().unwrap_or_else(|| name.into())
    }

    pub(crate) fn is_paused(&self, index: usize) -> bool {
        self.paused[index]
    }

    pub(crate) fn any_paused(&self) -> bool {
        self.paused.contains(&true)
    }

    pub(crate) fn set_paused(&mut self, index: usize, paused: bool) {
        self.paused[index] = paused;
    }

    /// Takes over the whole pause set.
    pub(crate) fn set_all_paused(&mut self, names: &[String]) {
        for (index, name) in self.names.iter().enumerate() {
            self.paused[index] = names.iter().any(|paused| **paused == **name);
        }
    }

    /// Leaves a queue that cannot be read alone until `until`, so that it holds up no other.
    pub(crate) fn bar(&mut self, index: usize, until: Instant) {
        self.barred[index] = Some(until);
    }

    pub(crate) fn is_barred(&self, index: usize) -> bool {
        self.barred[index].is_some()
    }

    /// Admits the queues whose time is over; true when there were any.
    pub(crate) fn admit(&mut self, now: Instant) -> bool {
        let mut admitted = false;
        for until in &mut self.barred {
            admitted |= until.take_if(|until| *until <= now).is_some();
        }
        admitted
    }

    /// When the next queue is to be admitted.
    pub(crate) fn next_admission(&self) -> Option<Instant> {
        self.barred.iter().flatten().min().copied()
    }

    /// The queues that may be read, in a random order in which a queue comes before another as
    /// often as its weight says.
    pub(crate) fn draw_order(&self) -> Vec<usize> {
        let mut left: Vec<usize> = (0..self.names.len()).filter(|index| !self.is_barred(*index)).collect();
        let mut total: u32 = left.iter().map(|index| self.weights[*index]).sum();
        let mut order = Vec::with_capacity(left.len());
        while left.len() > 1 {
            let mut draw = fastrand::u32(0..total.max(1));
            let mut at = 0;
            while draw >= self.weights[left[at]] && at + 1 < left.len() {
                draw -= self.weights[left[at]];
                at += 1;
            }
            let index = left.swap_remove(at);
            total -= self.weights[index];
            order.push(index);
        }
        order.extend(left);
        order
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn repeated_names_are_weights_rfetch_11() {
        let queues = Queues::new(&names(&["default", "low", "default", "default"]));
        assert_eq!(queues.count(), 2);
        let first = (0..20_000).filter(|_| queues.draw_order()[0] == 0).count();
        assert!(
            (14_300..15_700).contains(&first),
            "3 of 4 draws should begin with default: {first} of 20,000"
        );
    }

    #[test]
    fn a_barred_queue_is_left_out_until_its_time_is_over() {
        let mut queues = Queues::new(&names(&["a", "b", "b"]));
        let now = Instant::now();
        queues.bar(1, now + std::time::Duration::from_secs(1));
        assert!(!queues.admit(now));
        assert_eq!((queues.draw_order(), queues.is_barred(1)), (vec![0], true));
        assert!(queues.admit(now + std::time::Duration::from_secs(1)));
        assert_eq!((queues.draw_order().len(), queues.next_admission()), (2, None));
    }

    proptest! {
        #[test]
        fn a_drawn_order_has_every_queue_once(weights in proptest::collection::vec(1u32..5, 1..12)) {
            let configured: Vec<String> = weights
                .iter()
                .enumerate()
                .flat_map(|(index, weight)| std::iter::repeat_n(format!("q{index}"), *weight as usize))
                .collect();
            let queues = Queues::new(&configured);
            let mut order = queues.draw_order();
            order.sort_unstable();
            prop_assert_eq!(order, (0..weights.len()).collect::<Vec<_>>());
        }
    }
}
