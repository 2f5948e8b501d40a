//! Two runs beside each other: which steps of one are steps of the other.

/// A row of two runs beside each other: the number of a step in each, or nothing where one has no such step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Beside {
    /// The step of the first run.
    pub left: Option<usize>,
    /// The step of the second run.
    pub right: Option<usize>,
}

/// More pairs of steps than this are not compared with each other.
const MOST_PAIRS: usize = 25_000_000;

/// Puts two runs beside each other so that as many steps as possible stand beside their like. False if they were too long for that: then
/// only what they begin and end with is put together.
pub fn align<T: PartialEq>(left: &[T], right: &[T]) -> (Vec<Beside>, bool) {
    let begin = left.iter().zip(right).take_while(|(one, other)| one == other).count();
    let (rest, other) = (&left[begin..], &right[begin..]);
    let end = rest.iter().rev().zip(other.iter().rev()).take_while(|(one, other)| one == other).count();
    let (rest, other) = (&rest[..rest.len() - end], &other[..other.len() - end]);
    let both =
        |at: usize, left: usize, right: usize| Beside { left: Some(left + at), right: Some(right + at) };
    let mut rows: Vec<Beside> = (0..begin).map(|at| both(at, 0, 0)).collect();
    let whole = rest.len().saturating_mul(other.len()) <= MOST_PAIRS;
    let middle = if whole { longest(rest, other) } else { apart(rest.len(), other.len()) };
    let moved =
        |row: Beside| Beside { left: row.left.map(|at| at + begin), right: row.right.map(|at| at + begin) };
    rows.extend(middle.into_iter().map(moved));
    rows.extend((0..end).map(|at| both(at, left.len() - end, right.len() - end)));
    (rows, whole)
}

/// Nothing beside anything.
fn apart(left: usize, right: usize) -> Vec<Beside> {
    let lefts = (0..left).map(|at| Beside { left: Some(at), right: None });
    lefts.chain((0..right).map(|at| Beside { left: None, right: Some(at) })).collect()
}

/// By a longest common subsequence.
fn longest<T: PartialEq>(left: &[T], right: &[T]) -> Vec<Beside> {
    let wide = right.len() + 1;
    // How many of the steps from each pair of places on can stand beside their like.
    let mut common = vec![0_u32; (left.len() + 1) * wide];
    for one in (0..left.len()).rev() {
        for other in (0..right.len()).rev() {
            common[one * wide + other] = match left[one] == right[other] {
                true => common[(one + 1) * wide + other + 1] + 1,
                false => common[(one + 1) * wide + other].max(common[one * wide + other + 1]),
            };
        }
    }
    let (mut rows, mut one, mut other) = (Vec::new(), 0, 0);
    while one < left.len() || other < right.len() {
        let (has_left, has_right) = (one < left.len(), other < right.len());
        if has_left && has_right && left[one] == right[other] {
            rows.push(Beside { left: Some(one), right: Some(other) });
            (one, other) = (one + 1, other + 1);
        } else if has_left
            && (!has_right || common[(one + 1) * wide + other] >= common[one * wide + other + 1])
        {
            rows.push(Beside { left: Some(one), right: None });
            one += 1;
        } else {
            rows.push(Beside { left: None, right: Some(other) });
            other += 1;
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(left: &str, right: &str) -> (String, String) {
        let (left, right): (Vec<char>, Vec<char>) = (left.chars().collect(), right.chars().collect());
        let (rows, whole) = align(&left, &right);
        assert!(whole);
        let line = |all: &[char], of: fn(&Beside) -> Option<usize>| {
            rows.iter().map(|row| of(row).map_or('-', |at| all[at])).collect::<String>()
        };
        (line(&left, |row| row.left), line(&right, |row| row.right))
    }

    #[test]
    fn like_stands_beside_like() {
        for (left, right, one, other) in [
            ("abc", "abc", "abc", "abc"),
            ("", "ab", "--", "ab"),
            ("abcd", "axcd", "ab-cd", "a-xcd"),
            ("abxcd", "abcd", "abxcd", "ab-cd"),
            ("xabcy", "zabcw", "x-abcy-", "-zabc-w"),
        ] {
            assert_eq!(drawn(left, right), (one.into(), other.into()), "{left} {right}");
        }
    }

    #[test]
    fn runs_that_are_too_long_share_their_ends_only() {
        let left: Vec<usize> = (0..6_000).collect();
        let right: Vec<usize> =
            (0..6_000).map(|at| if (10..5_990).contains(&at) { 9_999 + at } else { at }).collect();
        let (rows, whole) = align(&left, &right);
        assert!(!whole);
        assert_eq!(rows.len(), 20 + 2 * 5_980);
        assert_eq!(rows.iter().filter(|row| row.left.is_some() && row.right.is_some()).count(), 20);
    }
}
