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

/// Where a formula is true at least and at most: the two differ only where conditions fault.
struct TruthBounds {
    least: Vec<bool>,
    most: Vec<bool>,
}

impl TruthBounds {
    fn exactly(value: bool, count: usize) -> Self {
        TruthBounds { least: vec![value; count], most: vec![value; count] }
    }

    fn map(self, of: impl Fn(&[bool]) -> Vec<bool>) -> Self {
        TruthBounds { least: of(&self.least), most: of(&self.most) }
    }

    /// Combined by something that is true of more where its operands are.
    fn with(&self, other: &TruthBounds, of: impl Fn(&[bool], &[bool]) -> Vec<bool>) -> Self {
        TruthBounds { least: of(&self.least, &other.least), most: of(&self.most, &other.most) }
    }
}

fn pairs(a: &[bool], b: &[bool], of: impl Fn(bool, bool) -> bool) -> Vec<bool> {
    a.iter().zip(b).map(|(a, b)| of(*a, *b)).collect()
}

/// Whether a condition holds at least and at most. The first fault is kept.
fn known(holds: Result<bool, Fault>, fault: &mut Option<Fault>) -> (bool, bool) {
    match holds {
        Ok(holds) => (holds, holds),
        Err(found) => {
            fault.get_or_insert(found);
            (false, true)
        }
    }
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
        let mut fault = None;
        match (self.bounds(interpreter, formula, &mut fault).most[0], fault) {
            // False, whatever the conditions say that fault.
            (false, _) => Ok(()),
            (true, Some(fault)) => Err(ReplayError::OtherFault(fault)),
            (true, None) => Err(ReplayError::FormulaHolds),
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
        let mut fault = None;
        let bounds = self.bounds(interpreter, formula, &mut fault);
        fault.map_or(Ok(bounds.least), Err)
    }

    /// Whether a formula is true at each state, as far as that does not depend on conditions that fault. The first fault is
    /// kept.
    fn bounds(
        &self,
        interpreter: &Interpreter<'_>,
        formula: &Formula,
        fault: &mut Option<Fault>,
    ) -> TruthBounds {
        let mut bounds = |formula: &Formula| self.bounds(interpreter, formula, fault);
        let count = self.states.len();
        let (all, none) = (TruthBounds::exactly(true, count), TruthBounds::exactly(false, count));
        match formula {
            Formula::Atom(condition) => {
                let mut of = TruthBounds { least: Vec::new(), most: Vec::new() };
                for state in &self.states {
                    let (least, most) = known(interpreter.holds(state, condition), fault);
                    of.least.push(least);
                    of.most.push(most);
                }
                of
            }
            Formula::Not(of) => {
                let TruthBounds { least, most } = bounds(of);
                let not = |of: Vec<bool>| of.into_iter().map(|it| !it).collect();
                TruthBounds { least: not(most), most: not(least) }
            }
            Formula::And(of) => {
                of.iter().fold(all, |rest, of| rest.with(&bounds(of), |a, b| pairs(a, b, |a, b| a && b)))
            }
            Formula::Or(of) => {
                of.iter().fold(none, |rest, of| rest.with(&bounds(of), |a, b| pairs(a, b, |a, b| a || b)))
            }
            // There is one path only.
            Formula::AllPaths(of) | Formula::SomePath(of) => bounds(of),
            Formula::Next(of) => bounds(of).map(|of| (0..count).map(|at| of[self.after(at)]).collect()),
            Formula::Always(_, of) => none.with(&bounds(of), |a, b| self.weakest(a, b)),
            Formula::Eventually(_, of) => all.with(&bounds(of), |a, b| self.strongest(a, b)),
            Formula::Until(_, a, b) => {
                let (a, b) = (bounds(a), bounds(b));
                a.with(&b, |a, b| self.strongest(a, b))
            }
            Formula::Release(_, a, b) => {
                let (a, b) = (bounds(a), bounds(b));
                a.with(&b, |a, b| self.weakest(a, b))
            }
            // An observer that can take more steps accepts more.
            Formula::Never(observer) => TruthBounds {
                least: self.unobserved(interpreter, observer, true, fault),
                most: self.unobserved(interpreter, observer, false, fault),
            },
        }
    }

    /// Whether an observer accepts no run, from each state. Conditions that fault are taken to hold or not.
    fn unobserved(
        &self,
        interpreter: &Interpreter<'_>,
        observer: &Automaton,
        faulting: bool,
        fault: &mut Option<Fault>,
    ) -> Vec<bool> {
        // A pair is a state of the run and one of the observer.
        let count = observer.states.len();
        let mut next: Vec<Vec<usize>> = Vec::new();
        for (at, state) in self.states.iter().enumerate() {
            for own in &observer.states {
                let mut steps = Vec::new();
                for (condition, to) in &own.steps {
                    let (least, most) = known(interpreter.holds(state, condition), fault);
                    if if faulting { most } else { least } {
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
        (0..self.states.len()).map(|at| !accepts(at * count)).collect()
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
