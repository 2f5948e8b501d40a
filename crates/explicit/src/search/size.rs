//! How large rounds and their pieces are.

use super::{Search, total};
use crate::worker::{Piece, SLICE};

/// Into how many pieces a round is cut at most: more than there are threads, so that none waits long for the others.
pub(super) const PIECES: usize = 32;
/// Pieces of few states go from shard to shard too often.
const LEAST_PIECE: u64 = 256;
/// How many successors a round may have: this part of all states, so that much is stored in a shard while it is in the cache,
/// but what waits to be stored takes little memory beside what is; a larger part if there are many states.
const PART: (u64, u64) = (16, 4);
const MANY: u64 = 1 << 21;
/// So many at least and at most: fewer if they have more words than `SHORT`.
const SUCCESSORS: (u64, u64) = (1 << 13, 1 << 22);
const SHORT: usize = 4;
/// How many states a round may have at least, and at most if there are not many yet.
const ROUND: (u64, u64) = (64, 1 << 13);
/// Each piece of a large round has the part of what is left that is one of so many for each thread: those that are done
/// last are small, and no thread waits long for another.
const SHARES: u64 = 2;

impl Search<'_, '_> {
    /// Cuts so many states of a level, from one on, into pieces. That depends on the threads only where it does not change
    /// the order in which states are expanded: pieces are then whole slices.
    pub(super) fn pieces(&self, from: u64, states: u64) -> Vec<Piece> {
        let (most, end, slice) = (PIECES as u64, from + states, SLICE as u64);
        let mut pieces = Vec::new();
        let mut from = from;
        while from < end {
            let size = if states < most / 2 * slice {
                states.div_ceil(most).max(LEAST_PIECE)
            } else {
                let share = (end - from).div_ceil(SHARES * self.job.threads as u64);
                share.max(states.div_ceil(most)).next_multiple_of(slice)
            };
            pieces.push(Piece { from, to: (from + size).min(end) });
            from += size;
        }
        pieces
    }

    /// How many states the next round should have. It depends on what was found, and not on the threads.
    pub(super) fn round_size(&self) -> u64 {
        let branching = self.statistics.transitions / self.expanded.max(1);
        let stored = total(&self.lengths);
        let part = stored / if stored < MANY { PART.0 } else { PART.1 };
        let words = self.shared.layout.words();
        // What waits to be stored is no large part of the memory.
        let fits = self.job.limits.memory.map_or(u64::MAX, |limit| limit / (512 * (words as u64 + 4)));
        let successors = part.clamp(SUCCESSORS.0, SUCCESSORS.1).min(fits) / words.div_ceil(SHORT) as u64;
        (successors / branching.max(1)).clamp(ROUND.0, part.max(ROUND.1))
    }
}
