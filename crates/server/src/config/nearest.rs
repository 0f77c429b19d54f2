//! The known name that a misspelt one was probably meant to be.

use cogworker_core::edit_distance::edit_distance;

/// The nearest of `known` to `name`, if it is near enough to be a slip of the keyboard.
pub(super) fn nearest<'k>(name: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let name = name.to_ascii_lowercase().replace('-', "_");
    known
        .into_iter()
        .filter_map(|candidate| {
            let limit = (candidate.len() / 4).clamp(1, 3);
            edit_distance(&name, candidate, limit).map(|distance| (distance, candidate))
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_finds_its_key_and_another_word_finds_none() {
        let known = ["concurrency", "queues", "fetch"];
        assert_eq!(nearest("concurency", known), Some("concurrency"));
        assert_eq!(nearest("Queue", known), Some("queues"));
        assert_eq!(nearest("fecth", known), Some("fetch"));
        assert_eq!(nearest("count", known), None);
        assert_eq!(nearest("", known), None);
    }
}
