//! Temporal formulas on one infinite run, by the definition.

use shoal_model::{Automaton, Fault, Formula, State, Trace};

use crate::{Interpreter, ReplayError};

/// A run that goes on for ever: finitely many states, of which the last is followed by an earlier one or by itself.
#[derive(Clone, Debug)]
pub struct Lasso<'t> {
    states: Vec<&'t State>,
    /// The state after the last.
    back: usize,
}

impl<'t> Lasso<'t> {
    /// The infinite run that a trace shows, if it shows one.
    pub fn new(trace: &'t Trace) -> Option<Self> {
        let back = trace.loops_to?;
        let mut states: Vec<&State> = trace.states().collect();
        if back < trace.steps.len() {
            // The last state is the one at `back` again.
            states.pop();
        }
        (back < states.len()).then_some(Lasso { states, back })
    }

    /// Checks that every fairness constraint holds again and again, and that the formula is false.
    pub(crate) fn confirm(
        &self,
        interpreter: &Interpreter<'_>,
        formula: &Formula,
    ) -> Result<(), ReplayError> {
        for condition in &interpreter.model().fairness {
            let mut fair = false;
            for state in &self.states[self.back..] {
                fair |= interpreter.holds(state, condition).map_err(ReplayError::OtherFault)?;
            }
            if !fair {
                return Err(ReplayError::Unfair);
            }
        }
        match self.satisfies(interpreter, formula).map_err(ReplayError::OtherFault)? {
            true => Err(ReplayError::FormulaHolds),
            false => Ok(()),
        }
    }

    /// Whether a formula of linear time is true of the run.
    pub fn satisfies(&self, interpreter: &Interpreter<'_>, formula: &Formula) -> Result<bool, Fault> {
        Ok(self.truth(interpreter, formula)?[0])
    }

    /// Whether a formula is true at each state of the trace, of which the last may be an earlier one again.
    pub(crate) fn along(&self, interpreter: &Interpreter<'_>, formula: &Formula) -> Result<Vec<bool>, Fault> {
        let mut truth = self.truth(interpreter, formula)?;
        truth.push(truth[self.back]);
        Ok(truth)
    }

    /// Whether a formula is true at each state.
    fn truth(&self, interpreter: &Interpreter<'_>, formula: &Formula) -> Result<Vec<bool>, Fault> {
        let truth = |formula: &Formula| self.truth(interpreter, formula);
        let all = vec![true; self.states.len()];
        let none = vec![false; self.states.len()];
        Ok(match formula {
            Formula::Atom(condition) => self
                .states
                .iter()
                .map(|state| interpreter.holds(state, condition))
                .collect::<Result<_, _>>()?,
            Formula::Not(of) => truth(of)?.into_iter().map(|it| !it).collect(),
            Formula::And(of) => {
                let each: Vec<Vec<bool>> = of.iter().map(truth).collect::<Result<_, _>>()?;
                (0..all.len()).map(|at| each.iter().all(|it| it[at])).collect()
            }
            Formula::Or(of) => {
                let each: Vec<Vec<bool>> = of.iter().map(truth).collect::<Result<_, _>>()?;
                (0..all.len()).map(|at| each.iter().any(|it| it[at])).collect()
            }
            // There is one path only.
            Formula::AllPaths(of) | Formula::SomePath(of) => truth(of)?,
            Formula::Next(of) => {
                let of = truth(of)?;
                (0..of.len()).map(|at| of[self.after(at)]).collect()
            }
            Formula::Always(_, of) => self.weakest(&none, &truth(of)?),
            Formula::Eventually(_, of) => self.strongest(&all, &truth(of)?),
            Formula::Until(_, a, b) => self.strongest(&truth(a)?, &truth(b)?),
            Formula::Release(_, a, b) => self.weakest(&truth(a)?, &truth(b)?),
            Formula::Never(observer) => self.unobserved(interpreter, observer)?,
        })
    }

    /// Whether an observer accepts no run, from each state.
    fn unobserved(&self, interpreter: &Interpreter<'_>, observer: &Automaton) -> Result<Vec<bool>, Fault> {
        // A pair is a state of the run and one of the observer.
        let count = observer.states.len();
        let mut next: Vec<Vec<usize>> = Vec::new();
        for (at, state) in self.states.iter().enumerate() {
            for own in &observer.states {
                let mut steps = Vec::new();
                for (condition, to) in &own.steps {
                    if interpreter.holds(state, condition)? {
                        steps.push(self.after(at) * count + to);
                    }
                }
                next.push(steps);
            }
        }
        let reachable = |from: usize| {
            let mut seen = vec![false; next.len()];
            let mut todo = next[from].clone();
            while let Some(pair) = todo.pop() {
                if !std::mem::replace(&mut seen[pair], true) {
                    todo.extend(&next[pair]);
                }
            }
            seen
        };
        let accepted: Vec<bool> = (0..next.len())
            .map(|pair| observer.states[pair % count].accepting && reachable(pair)[pair])
            .collect();
        let accepts = |from: usize| {
            let seen = reachable(from);
            (0..accepted.len()).any(|pair| accepted[pair] && (seen[pair] || pair == from))
        };
        Ok((0..self.states.len()).map(|at| !accepts(at * count)).collect())
    }

    fn after(&self, at: usize) -> usize {
        if at + 1 < self.states.len() { at + 1 } else { self.back }
    }

    /// `a until b`: the least solution of `x = b or (a and next x)`.
    fn strongest(&self, a: &[bool], b: &[bool]) -> Vec<bool> {
        self.solve(false, |at, next| b[at] || (a[at] && next))
    }

    /// `a release b`: the greatest solution of `x = b and (a or next x)`.
    fn weakest(&self, a: &[bool], b: &[bool]) -> Vec<bool> {
        self.solve(true, |at, next| b[at] && (a[at] || next))
    }

    fn solve(&self, first: bool, step: impl Fn(usize, bool) -> bool) -> Vec<bool> {
        let mut solution = vec![first; self.states.len()];
        loop {
            let better: Vec<bool> =
                (0..solution.len()).map(|at| step(at, solution[self.after(at)])).collect();
            if better == solution {
                return solution;
            }
            solution = better;
        }
    }
}
