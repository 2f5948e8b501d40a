//! AG EF: from which states a goal can be reached, by one pass backwards over the stored steps.

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

    /// A goal holds in a state.
    pub(crate) fn reached(&mut self, goal: usize, state: u32) {
        self.goals[goal].push(state);
    }

    /// For each goal, the first state from which it cannot be reached.
    pub(crate) fn hopeless(&self, states: usize) -> Vec<Option<u32>> {
        let (starts, sources) = self.backwards(states);
        let hopeless = |goals: &Vec<u32>| {
            let mut hopeful = vec![false; states];
            let mut queue = goals.clone();
            while let Some(state) = queue.pop() {
                if std::mem::replace(&mut hopeful[state as usize], true) {
                    continue;
                }
                let (from, to) = (starts[state as usize], starts[state as usize + 1]);
                queue.extend(&sources[from as usize..to as usize]);
            }
            hopeful.iter().position(|hopeful| !hopeful).map(|state| state as u32)
        };
        self.goals.iter().map(hopeless).collect()
    }

    /// The states before each state, one after another, and where those of each state begin.
    fn backwards(&self, states: usize) -> (Vec<u64>, Vec<u32>) {
        let mut starts = vec![0u64; states + 1];
        for edge in &self.edges {
            starts[*edge as u32 as usize + 1] += 1;
        }
        for state in 0..states {
            starts[state + 1] += starts[state];
        }
        let mut next = starts.clone();
        let mut sources = vec![0; self.edges.len()];
        for edge in &self.edges {
            let place = &mut next[*edge as u32 as usize];
            sources[*place as usize] = (*edge >> 32) as u32;
            *place += 1;
        }
        (starts, sources)
    }
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
        assert_eq!(edges.hopeless(4), [Some(3), None]);
    }
}
