//! Operations of a script name their keys by position.

use std::collections::HashMap;

use crate::redis::Call;

/// Declares each key once and passes its position in the script's KEYS; 0 stands for no key.
#[derive(Debug, Default)]
pub(super) struct KeyPositions {
    seen: HashMap<String, usize>,
}

impl KeyPositions {
    /// Adds the position of `key` as the call's next argument.
    pub(super) fn push(&mut self, key: Option<String>, call: &mut Call) {
        let Some(key) = key else { return call.push(0usize) };
        let position = match self.seen.get(&key) {
            Some(position) => *position,
            None => {
                call.push_key(key.clone());
                self.seen.insert(key, call.key_count());
                call.key_count()
            }
        };
        call.push(position);
    }
}
