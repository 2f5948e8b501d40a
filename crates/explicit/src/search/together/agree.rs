//! What processes tell each other beside states.

use std::time::Duration;

use shoal_model::{SortId, StopReason, TypedId};

/// What all processes say at the end of a level.
#[derive(Default)]
pub(super) struct LevelReports {
    pub(super) new: u64,
    pub(super) rounds: u64,
    pub(super) bytes: u64,
    /// Whether somebody saves the search (1), and wants to do so now (2).
    pub(super) saving: u64,
    pub(super) stop: Option<StopReason>,
    pub(super) covered: Vec<u64>,
    /// For each property, the least state in which something is wrong: its distance, the property, and the state.
    pub(super) wrong: Vec<(u32, usize, Vec<u64>)>,
}

impl LevelReports {
    /// Adds the report of a process; nothing if it is none.
    pub(super) fn add(&mut self, report: &[u64], words: usize) -> Option<()> {
        let [new, rounds, bytes, saving, stop, detail, covered, rest @ ..] = report else { return None };
        self.new += new;
        self.rounds = self.rounds.max(*rounds);
        self.bytes += bytes;
        self.saving = self.saving.max(*saving);
        self.stop = self.stop.take().or_else(|| stop_reason(stop, detail));
        let (covered, rest) = rest.split_at_checked(usize::try_from(*covered).ok()?)?;
        self.covered.extend(covered);
        self.covered.sort_unstable();
        self.covered.dedup();
        if rest.len() % (2 + words) != 0 {
            return None;
        }
        for event in rest.chunks_exact(2 + words) {
            let found = (u32::try_from(event[1]).ok()?, usize::try_from(event[0]).ok()?, event[2..].to_vec());
            match self.wrong.iter_mut().find(|it| it.1 == found.1) {
                Some(known) => {
                    if (found.0, &found.2) < (known.0, &known.2) {
                        *known = found;
                    }
                }
                None => self.wrong.push(found),
            }
        }
        Some(())
    }
}

/// A reason to stop as two words.
pub(super) fn stop_code(reason: &StopReason) -> [u64; 2] {
    match reason {
        StopReason::Interrupted => [1, 0],
        StopReason::Time(limit) => [2, limit.as_millis() as u64],
        StopReason::Memory(limit) => [3, *limit],
        StopReason::States(limit) => [4, *limit],
        StopReason::Elements(sort) => [5, sort.index() as u64],
        StopReason::Disk(_) => [6, 0],
        StopReason::OtherViolation => [7, 0],
        StopReason::Depth(limit) => [8, *limit],
        StopReason::Overflow => [9, 0],
        StopReason::Lost(_) => [10, 0],
        StopReason::Bound(_)
        | StopReason::Omission(_)
        | StopReason::Walks(_)
        | StopReason::Unclear(_)
        | StopReason::AnyNumber(_)
        | StopReason::Granted(_)
        | StopReason::Counts(_)
        | StopReason::NoStart
        | StopReason::NotFollowed
        | StopReason::Unsupported(_)
        | StopReason::Internal(_) => [11, 0],
    }
}

/// The reason that two words say; nothing if a process wants to go on.
pub(super) fn stop_reason(code: &u64, detail: &u64) -> Option<StopReason> {
    Some(match code {
        0 => return None,
        1 => StopReason::Interrupted,
        2 => StopReason::Time(Duration::from_millis(*detail)),
        3 => StopReason::Memory(*detail),
        4 => StopReason::States(*detail),
        5 => StopReason::Elements(SortId::from_index(*detail as usize)),
        6 => StopReason::Disk("a process has no room left on its disk".into()),
        7 => StopReason::OtherViolation,
        8 => StopReason::Depth(*detail),
        9 => StopReason::Overflow,
        _ => StopReason::Lost("a process stopped for a reason of its own".into()),
    })
}
