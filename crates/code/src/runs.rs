//! Expands packed states one after the other.
//!
//! So the code of the rules runs for many states, and then that of the search, and each stays in the processor's cache.

use std::ops::Range;

use crate::{
    exec::Machine,
    jit::{Native, NativeFunction, Runner},
};

/// So many words of successors are made before the visitor's turn, and so many states are expanded. Few in debug builds,
/// so that tests see all of it used.
const ROOM: usize = if cfg!(debug_assertions) { 24 } else { 1024 };
const STATES: usize = 256;

/// A run, and what came of the last.
pub(crate) struct RunBuffer<'m> {
    native: &'m Native,
    how: How,
    /// The successors, each the number of its rule and its packed form.
    found: Vec<u64>,
    /// Where those of each state end.
    ends: Vec<u64>,
}

/// What expands a state.
#[derive(Clone, Copy)]
enum How {
    /// Code for many.
    Many(Runner),
    /// Code for one, on a machine.
    One(NativeFunction),
}

impl<'m> RunBuffer<'m> {
    /// Nothing if the machine's own code cannot do it.
    pub(crate) fn new(native: &'m Native) -> Option<RunBuffer<'m>> {
        let how = match native.runner() {
            Some(runner) => How::Many(runner),
            None => How::One(native.expander()?),
        };
        let found = match how {
            How::Many(runner) => vec![0; ROOM + runner.most],
            How::One(_) => Vec::new(),
        };
        Some(RunBuffer { native, how, found, ends: Vec::new() })
    }

    /// Expands states of so many words, up to the first that must be expanded by itself, and while there is room. Gives
    /// how many.
    pub(crate) fn run(&mut self, machine: &mut Machine<'_>, states: &[u64], width: usize) -> usize {
        let count = (states.len() / width).min(STATES);
        let states = &states[..count * width];
        match self.how {
            How::Many(runner) => {
                self.ends.resize(count, 0);
                self.native.run(runner, states, &mut self.found, ROOM, &mut self.ends)
            }
            How::One(expander) => {
                machine.let_wait(true);
                self.ends.clear();
                let ends = states.chunks_exact(width).map_while(|it| machine.expand_held(expander, it));
                self.ends.extend(ends.map(|end| end as u64));
                self.found.clear();
                self.found.extend_from_slice(machine.waiting().1);
                self.ends.len()
            }
        }
    }

    /// The successors of some states of the last run.
    #[inline]
    pub(crate) fn successors(&self, states: Range<usize>) -> &[u64] {
        let before = |at: usize| at.checked_sub(1).map_or(0, |last| self.ends[last] as usize);
        &self.found[before(states.start)..before(states.end)]
    }
}
