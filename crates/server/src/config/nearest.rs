//! The known name that a misspelt one was probably meant to be.

/// The nearest of `known` to `name`, if it is near enough to be a slip of the keyboard.
pub(super) fn nearest<'k>(name: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let name = name.to_ascii_lowercase().replace('-', "_");
    if name.len() > 64 {
        return None;
    }
    known
        .into_iter()
        .map(|candidate| (distance(&name, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= (candidate.len() / 4).clamp(1, 3))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// How many characters to insert, delete, replace or swap with their neighbour.
fn distance(left: &str, right: &str) -> usize {
    let (left, right): (Vec<char>, Vec<char>) = (left.chars().collect(), right.chars().collect());
    let cost = |row: &[usize], column: usize| row.get(column).copied().unwrap_or(usize::MAX / 2);
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=right.len()).collect();
    for (line, from) in left.iter().enumerate() {
        let mut row = vec![line + 1];
        for (column, to) in right.iter().enumerate() {
            let replaced = cost(&last, column) + usize::from(from != to);
            let mut best = replaced.min(cost(&last, column + 1) + 1).min(cost(&row, column) + 1);
            let swapped = line > 0 && column > 0 && left[line - 1] == *to && right[column - 1] == *from;
            if swapped {
                best = best.min(cost(&before_last, column - 1) + 1);
            }
            row.push(best);
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last.last().copied().unwrap_or_default()
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

    #[test]
    fn the_distance_counts_insertions_deletions_replacements_and_swaps() {
        for (left, right, expected) in
            [("", "", 0), ("a", "", 1), ("", "ab", 2), ("kitten", "sitting", 3), ("hots", "host", 1)]
        {
            assert_eq!(distance(left, right), expected, "{left} {right}");
        }
    }
}
