//! AG EF: from which states a goal can be reached, by one pass backwards over the stored steps.

use std::io::{self, Read, Write};

use crate::bytes::{get_all, get_list, put_all};

/// The steps of the search and the states where each goal holds.
pub(crate) struct Edges {
    /// From and to, in one word.
    edges: Vec<u64>,
    /// For each goal, the states where it holds.
    goals: Vec<Vec<u32>>,
}

impl Edges {
    pub(crate) fn new(goals: usize) -> Edges {
        Edges { edges: Vec::new(), goals: vec![Vec::new(); goals] }
    }

    /// Bytes in use, and what the pass backwards will need.
    pub(crate) fn bytes(&self) -> u64 {
        let goals: usize = self.goals.iter().map(Vec::capacity).sum();
        (self.edges.capacity() * 8 + self.edges.len() * 4 + goals * 4) as u64
    }

    /// Adds a step; false if there is no memory.
    pub(crate) fn push(&mut self, from: u32, to: u32) -> bool {
        if self.edges.try_reserve(1).is_err() {
            return false;
        }
        self.edges.push(u64::from(from) << 32 | u64::from(to));
        true
    }

    /// Writes all of it.
    pub(crate) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        put_all(out, self.edges.len(), self.edges.iter().copied())?;
        for goal in &self.goals {
            put_all(out, goal.len(), goal.iter().map(|state| u64::from(*state)))?;
        }
        Ok(())
    }

    /// Reads what was written.
    pub(crate) fn read(&mut self, input: &mut dyn Read) -> io::Result<()> {
        get_list(input, &mut self.edges)?;
        for goal in &mut self.goals {
            get_all(input, |states| {
                goal.extend(states.iter().map(|state| *state as u32));
                Ok(())
            })?;
        }
        Ok(())
    }

    /// A goal holds in a state.
    pub(crate) fn reached(&mut self, goal: usize, state: u32) {
        self.goals[goal].push(state);
    }

    /// For each goal, which states it can be reached from. States have consecutive positions from `dense`.
    pub(crate) fn hopeful(
        parts: &[&Edges],
        goals: usize,
        states: usize,
        dense: impl Fn(u32) -> usize,
    ) -> Vec<Vec<bool>> {
        let (starts, sources) = backwards(parts, states, &dense);
        let hopeful = |goal: usize| {
            let mut hopeful = vec![false; states];
            let mut queue: Vec<usize> =
                parts.iter().flat_map(|part| &part.goals[goal]).map(|state| dense(*state)).collect();
            while let Some(state) = queue.pop() {
                if std::mem::replace(&mut hopeful[state], true) {
                    continue;
                }
                let (from, to) = (starts[state] as usize, starts[state + 1] as usize);
                queue.extend(sources[from..to].iter().map(|source| *source as usize));
            }
            hopeful
        };
        (0..goals).map(hopeful).collect()
    }
}

/// The states before each state, one after another, and where those of each state begin.
fn backwards(parts: &[&Edges], states: usize, dense: impl Fn(u32) -> usize) -> (Vec<u64>, Vec<u32>) {
    let edges = || parts.iter().flat_map(|part| &part.edges);
    let mut starts = vec![0u64; states + 1];
    let mut count = 0;
    for edge in edges() {
        starts[dense(*edge as u32) + 1] += 1;
        count += 1;
    }
    for state in 0..states {
        starts[state + 1] += starts[state];
    }
    let mut next = starts.clone();
    let mut sources = vec![0; count];
    for edge in edges() {
        let place = &mut next[dense(*edge as u32)];
        sources[*place as usize] = dense((*edge >> 32) as u32) as u32;
        *place += 1;
    }
    (starts, sources)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_without_a_way_to_the_goal_is_found() {
        let mut edges = Edges::new(2);
        for (from, to) in [(0, 1), (1, 2), (2, 0), (1, 3), (3, 3)] {
            assert!(edges.push(from, to));
        }
        edges.reached(0, 0);
        edges.reached(1, 3);
        let hopeful = Edges::hopeful(&[&edges], 2, 4, |number| number as usize);
        assert_eq!(hopeful, [vec![true, true, true, false], vec![true; 4]]);
    }
}
