//! How large rounds and their pieces are.

use super::{Search, total};
use crate::worker::{LevelPiece, SLICE, read};

/// Into how many pieces a round is cut at most: more than there are threads, so that none waits long for the others.
pub(super) const PIECES: usize = 32;
/// Pieces of few states go from shard to shard too often.
const LEAST_PIECE: u64 = 256;
/// How many words of successors a round may have for each state: as many as possible, so that much is stored in a shard while
/// it is in the cache, but what waits to be stored takes little memory beside what is. One for so many states, or for fewer if
/// there are many.
const STATES: (u64, u64) = (8, 2);
const MANY: u64 = 1 << 21;
/// So many words at least and at most.
const WORDS: (u64, u64) = (1 << 15, 1 << 23);
/// Of the memory there may be, the part that waits, in words of eight bytes.
const WAITING: u64 = 64 * 8;
/// How many states a round may have at least, and at most if there are not many yet.
const ROUND: (u64, u64) = (64, 1 << 13);
/// Cuts so many states of a level, from one on, into pieces. That depends on the threads only where it does not change the
/// order in which states are expanded: pieces of a large round are whole slices, each a thread's share of what is left. The first
/// are large, since a thread remembers states of its neighbourhood; the last are small, and no thread waits long for another.
pub(super) fn pieces(from: u64, states: u64, threads: usize) -> Vec<LevelPiece> {
    let (most, end, slice) = (PIECES as u64, from + states, SLICE as u64);
    let mut pieces = Vec::new();
    let mut from = from;
    while from < end {
        let size = if states < most / 2 * slice {
            states.div_ceil(most).max(LEAST_PIECE)
        } else {
            let share = (end - from).div_ceil(threads as u64);
            share.max(states.div_ceil(most)).next_multiple_of(slice)
        };
        let to = (from + size).min(end);
        pieces.push(LevelPiece { from, to });
        from = to;
    }
    pieces
}

impl Search<'_, '_> {
    /// How many states the next round should have. It depends on what was found, and not on the threads.
    pub(super) fn round_size(&self) -> u64 {
        let branching = self.statistics.transitions / self.expanded.max(1);
        let stored = total(&self.lengths);
        let words = stored / if stored < MANY { STATES.0 } else { STATES.1 };
        let limit = self.job.limits().memory.map_or(u64::MAX, |limit| limit / WAITING);
        let record = read(&self.shared.batches[0]).shape.length() as u64;
        let successors = words.clamp(WORDS.0, WORDS.1).min(limit) / record;
        (successors / branching.max(1)).clamp(ROUND.0, words.max(ROUND.1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where slices begin: they are expanded in this order.
    fn slices(states: u64, threads: usize) -> Vec<u64> {
        let pieces = pieces(1000, states, threads);
        assert!(pieces.len() <= PIECES, "{states} {threads}");
        pieces.into_iter().flat_map(|piece| (piece.from..piece.to).step_by(SLICE)).collect()
    }

    #[test]
    fn the_order_of_states_does_not_depend_on_threads() {
        for states in [1, 63, 64, 300, 8191, 8192, 8193, 10_000, 65_536, 1_000_001] {
            let alone = slices(states, 1);
            assert_eq!(alone[0], 1000);
            let far = alone.windows(2).find(|pair| pair[1] <= pair[0] || pair[1] > pair[0] + SLICE as u64);
            assert_eq!(far, None, "{states}");
            for threads in 2..70 {
                assert_eq!(slices(states, threads), alone, "{states} {threads}");
            }
        }
    }

    #[test]
    fn the_last_pieces_are_small() {
        let pieces = pieces(0, 1 << 20, 2);
        let sizes: Vec<u64> = pieces.iter().map(|piece| piece.to - piece.from).collect();
        assert_eq!(sizes.iter().sum::<u64>(), 1 << 20);
        assert!(sizes.is_sorted_by(|one, next| one >= next), "{sizes:?}");
        assert!(sizes[sizes.len() - 1] <= 1 << 15, "{sizes:?}");
    }
}
