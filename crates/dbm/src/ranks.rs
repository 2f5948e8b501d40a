//! Telling processes apart: colour refinement on a few elements of which every two are related somehow, as by the bounds between their
//! clocks. Colours are positions among the different keys, so they depend on what the keys say and not on which element is which.

use shoal_model::OrInternal;

/// The position of each key among the different keys.
pub fn ranks<K: Ord>(keys: &[K]) -> Vec<usize> {
    let mut different: Vec<&K> = keys.iter().collect();
    different.sort_unstable();
    different.dedup();
    let position = |key| different.binary_search(&key).ok().or_internal("a key is among the keys");
    keys.iter().map(position).collect()
}

/// How many ranks there are.
pub fn count(ranks: &[usize]) -> usize {
    ranks.iter().max().map_or(0, |last| last + 1)
}

/// What each element sees: the ranks of all others with what relates it to them, in an order that does not tell which is which.
pub fn around<L: Ord>(ranks: &[usize], relation: impl Fn(usize, usize) -> L) -> Vec<Vec<(usize, L)>> {
    let of = |at: usize| {
        let others = (0..ranks.len()).filter(|other| *other != at);
        let mut seen: Vec<(usize, L)> = others.map(|other| (ranks[other], relation(at, other))).collect();
        seen.sort_unstable();
        seen
    };
    (0..ranks.len()).map(of).collect()
}

/// Tells elements of the same rank apart by what they see, until that tells no more of them apart.
pub fn refine<L: Ord>(mut ranks: Vec<usize>, relation: impl Fn(usize, usize) -> L) -> Vec<usize> {
    ranks = self::ranks(&ranks);
    loop {
        let before = count(&ranks);
        if before == ranks.len() {
            return ranks;
        }
        let keys: Vec<_> =
            around(&ranks, &relation).into_iter().zip(&ranks).map(|(seen, rank)| (*rank, seen)).collect();
        ranks = self::ranks(&keys);
        if count(&ranks) == before {
            return ranks;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refined(elements: usize, edges: &[(usize, usize)]) -> Vec<usize> {
        refine(vec![0; elements], |a, b| edges.contains(&(a, b)) || edges.contains(&(b, a)))
    }

    #[test]
    fn ranks_are_dense_and_follow_the_keys() {
        assert_eq!(ranks(&["b", "a", "b", "d"]), [1, 0, 1, 2]);
        assert_eq!(count(&[1, 0, 1, 2]), 3);
        assert_eq!(count(&[]), 0);
    }

    #[test]
    fn ends_of_a_path_are_told_from_its_middle() {
        // Ends have one neighbour; the middle has none that is an end.
        assert_eq!(refined(5, &[(0, 1), (1, 2), (2, 3), (3, 4)]), [0, 2, 1, 2, 0]);
    }

    #[test]
    fn what_is_alike_stays_together() {
        assert_eq!(refined(4, &[(0, 1), (1, 2), (2, 3), (3, 0)]), [0; 4]);
        // Refinement alone does not tell a ring of six from two rings of three: who needs that has to search.
        assert_eq!(refined(6, &[(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3)]), [0; 6]);
    }

    #[test]
    fn ranks_do_not_depend_on_which_element_is_which() {
        let edges = [(0, 1), (1, 2), (1, 3), (3, 4)];
        let ranks = refined(5, &edges);
        let to = [3, 0, 4, 1, 2];
        let renamed: Vec<_> = edges.iter().map(|(a, b)| (to[*a], to[*b])).collect();
        let image = refined(5, &renamed);
        assert_eq!(ranks, to.map(|at| image[at]));
    }

    #[test]
    fn ranks_that_were_told_apart_stay_so() {
        assert_eq!(refine(vec![7, 3, 3], |_, _| 0), [1, 0, 0]);
    }
}
