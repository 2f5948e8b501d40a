//! How large rounds and their pieces are.

use super::{Search, total};
use crate::worker::SLICE;

/// Into how many pieces a round is cut: more than there are threads, so that none waits long for the others.
pub(super) const PIECES: usize = 32;
/// About how many successors a round should have: so many that threads seldom meet, so few that they stay in the
/// cache until they are stored. Fewer if they have more words than this.
const SUCCESSORS: u64 = 1 << 15;
const SHORT: usize = 4;
/// How many states a round may have at least, and at most if there are not many yet.
const ROUND: (u64, u64) = (64, 1 << 13);
/// Once there are many states, rounds grow with them, so that much is stored in a shard while it is in the cache: a round
/// may have this part of all states, and so many successors at most.
const PART: u64 = 4;
const MOST_SUCCESSORS: u64 = 1 << 22;
/// Into how many pieces for each thread a large round is cut. Few: the successors of each go to all shards.
const SHARES: u64 = 4;

impl Search<'_, '_> {
    /// How many states of a round the pieces should have. It depends on the threads only where that does not change the
    /// order in which states are expanded: pieces are then whole slices.
    pub(super) fn piece_size(&self, states: u64) -> u64 {
        let slice = SLICE as u64;
        if states < PIECES as u64 / 2 * slice {
            return states.div_ceil(PIECES as u64).max(16);
        }
        let pieces = (SHARES * self.job.threads as u64).min(PIECES as u64);
        states.div_ceil(pieces).next_multiple_of(slice)
    }

    /// How many states the next round should have. It depends on what was found, and not on the threads.
    pub(super) fn round_size(&self) -> u64 {
        let branching = self.statistics.transitions / self.expanded.max(1);
        let part = total(&self.lengths) / PART;
        let words = self.shared.layout.words();
        // What waits to be stored is no large part of the memory.
        let fits = self.job.limits.memory.map_or(u64::MAX, |limit| limit / (512 * (words as u64 + 4)));
        let most = MOST_SUCCESSORS.min(fits).max(SUCCESSORS);
        let successors = part.clamp(SUCCESSORS, most) / words.div_ceil(SHORT) as u64;
        (successors / branching.max(1)).clamp(ROUND.0, part.max(ROUND.1))
    }
}
