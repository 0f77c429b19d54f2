//! How far two spellings of a name are apart, for messages that guess what was meant.

/// Names beyond so many characters are not compared: what comes from Redis may be of any length, and
/// the effort grows with the product of both.
const LONGEST: usize = 128;

/// How many characters to insert, delete, replace or swap with their neighbour; `None` when these are
/// more than `limit`, or a name is too long to be a slip of the keyboard.
pub fn edit_distance(left: &str, right: &str, limit: usize) -> Option<usize> {
    let (left, right) = (characters(left)?, characters(right)?);
    if left.len().abs_diff(right.len()) > limit {
        return None;
    }
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
    last.last().copied().filter(|distance| *distance <= limit)
}

fn characters(name: &str) -> Option<Vec<char>> {
    let characters: Vec<char> = name.chars().take(LONGEST + 1).collect();
    (characters.len() <= LONGEST).then_some(characters)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_distance_counts_insertions_deletions_replacements_and_swaps() {
        for (left, right, expected) in
            [("", "", 0), ("a", "", 1), ("", "ab", 2), ("kitten", "sitting", 3), ("hots", "host", 1)]
        {
            assert_eq!(edit_distance(left, right, 9), Some(expected), "{left} {right}");
        }
    }

    #[test]
    fn what_is_further_apart_than_the_limit_or_very_long_has_no_distance() {
        assert_eq!(edit_distance("kitten", "sitting", 3), Some(3));
        assert_eq!(edit_distance("kitten", "sitting", 2), None);
        assert_eq!(edit_distance("a", "abcd", 2), None);
        let long = "x".repeat(LONGEST);
        assert_eq!(edit_distance(&long, &long, 1), Some(0));
        let longer = "é".repeat(LONGEST + 1);
        assert_eq!(edit_distance(&longer, &longer, usize::MAX), None);
    }
}
