//! Where to find transitions.

use shoal_certificate::{System, Transition};

/// The transitions by the shared state they leave or enter.
#[derive(Clone, Debug)]
pub(crate) struct TransitionIndex {
    starts: Vec<u32>,
    ids: Vec<u32>,
}

impl TransitionIndex {
    /// By the shared state before.
    pub(crate) fn leaving(system: &System) -> TransitionIndex {
        TransitionIndex::by(system, |transition| transition.from)
    }

    /// By the shared state after.
    pub(crate) fn entering(system: &System) -> TransitionIndex {
        TransitionIndex::by(system, |transition| transition.to)
    }

    fn by(system: &System, key: impl Fn(&Transition) -> u32) -> TransitionIndex {
        let mut starts = vec![0u32; system.shared as usize + 1];
        for transition in &system.transitions {
            starts[key(transition) as usize + 1] += 1;
        }
        for at in 1..starts.len() {
            starts[at] += starts[at - 1];
        }
        let mut next = starts.clone();
        let mut ids = vec![0; system.transitions.len()];
        for (id, transition) in system.transitions.iter().enumerate() {
            let slot = &mut next[key(transition) as usize];
            ids[*slot as usize] = id as u32;
            *slot += 1;
        }
        TransitionIndex { starts, ids }
    }

    pub(crate) fn of(&self, shared: u32) -> &[u32] {
        let (from, to) = (self.starts[shared as usize], self.starts[shared as usize + 1]);
        &self.ids[from as usize..to as usize]
    }
}
