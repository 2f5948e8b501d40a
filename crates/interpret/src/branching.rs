//! Formulas of branching time by brute force: all states that can be reached from some, and a truth value for each.
//!
//! Paths are those of linear time: infinite, fair, and where nothing can happen the state stays for ever.

use std::collections::HashMap;

use shoal_model::{
    Condition, DeadlockKind, Fault, Formula, Logic, Model, PropertyId, PropertyKind, State, Trace, internal,
};

use crate::{Firing, Interpreter, ReplayError, lasso::Lasso};

/// All states that can be reached from some, and the steps between them.
pub struct Branching<'m> {
    interpreter: Interpreter<'m>,
    states: Vec<State>,
    after: Vec<Vec<usize>>,
    roots: Vec<usize>,
    fairness: Vec<Vec<bool>>,
    /// Where a fair path begins.
    fair: Vec<bool>,
}

impl<'m> Branching<'m> {
    /// The states that can be reached from these; nothing if there are more than a number. Fails where a fairness
    /// constraint faults.
    pub fn new(
        interpreter: Interpreter<'m>,
        roots: Vec<State>,
        limit: usize,
    ) -> Result<Option<Branching<'m>>, Fault> {
        let mut graph = Branching {
            interpreter,
            states: Vec::new(),
            after: Vec::new(),
            roots: Vec::new(),
            fairness: Vec::new(),
            fair: Vec::new(),
        };
        let mut index = HashMap::new();
        for root in roots {
            let at = graph.add(root, &mut index);
            graph.roots.push(at);
        }
        let mut next = 0;
        while next < graph.states.len() {
            if graph.states.len() > limit {
                return Ok(None);
            }
            let state = graph.states[next].clone();
            let mut after = Vec::new();
            for (_, branch) in interpreter.steps(&state).branches {
                if let Firing::State(to) = branch.result
                    && interpreter.dropped_by(&to) == Ok(None)
                {
                    after.push(graph.add(to, &mut index));
                }
            }
            if interpreter.is_deadlock(&state, &DeadlockKind::Stuck)? {
                after.push(next);
            }
            after.sort_unstable();
            after.dedup();
            graph.after.push(after);
            next += 1;
        }
        for condition in &interpreter.model().fairness {
            let truth = graph.truth(condition)?;
            graph.fairness.push(truth);
        }
        graph.fair = graph.always(&vec![true; graph.states.len()]);
        Ok(Some(graph))
    }

    fn add(&mut self, state: State, index: &mut HashMap<State, usize>) -> usize {
        *index.entry(state).or_insert_with_key(|state| {
            self.states.push(state.clone());
            self.states.len() - 1
        })
    }

    /// Whether a formula holds in all states it began with.
    pub fn holds(&self, formula: &Formula) -> Result<bool, Fault> {
        let truth = self.eval(formula)?;
        Ok(self.roots.iter().all(|root| truth[*root]))
    }

    fn truth(&self, condition: &Condition) -> Result<Vec<bool>, Fault> {
        self.states.iter().map(|state| self.interpreter.holds(state, condition)).collect()
    }

    /// The number of a state.
    pub(crate) fn find(&self, state: &State) -> Option<usize> {
        self.states.iter().position(|it| it == state)
    }

    /// Whether a formula holds, for each state.
    pub(crate) fn eval(&self, formula: &Formula) -> Result<Vec<bool>, Fault> {
        let all = |of: &[Formula]| of.iter().map(|of| self.eval(of)).collect::<Result<Vec<_>, _>>();
        let each = |of: &dyn Fn(usize) -> bool| (0..self.states.len()).map(of).collect::<Vec<bool>>();
        Ok(match formula {
            Formula::Atom(condition) => self.truth(condition)?,
            Formula::Not(of) => not(&self.eval(of)?),
            Formula::And(of) => {
                let of = all(of)?;
                each(&|at| of.iter().all(|it| it[at]))
            }
            Formula::Or(of) => {
                let of = all(of)?;
                each(&|at| of.iter().any(|it| it[at]))
            }
            // On all paths: there is no path on which the opposite is true.
            Formula::AllPaths(path) => match path.as_ref() {
                Formula::Next(of) => not(&self.next(&not(&self.eval(of)?))),
                Formula::Always(_, of) => not(&self.until(&each(&|_| true), &not(&self.eval(of)?))),
                Formula::Eventually(_, of) => not(&self.always(&not(&self.eval(of)?))),
                Formula::Until(_, a, b) => not(&self.release(&not(&self.eval(a)?), &not(&self.eval(b)?))),
                Formula::Release(_, a, b) => not(&self.until(&not(&self.eval(a)?), &not(&self.eval(b)?))),
                other => self.eval(other)?,
            },
            Formula::SomePath(path) => match path.as_ref() {
                Formula::Next(of) => self.next(&self.eval(of)?),
                Formula::Always(_, of) => self.always(&self.eval(of)?),
                Formula::Eventually(_, of) => self.until(&each(&|_| true), &self.eval(of)?),
                Formula::Until(_, a, b) => self.until(&self.eval(a)?, &self.eval(b)?),
                Formula::Release(_, a, b) => self.release(&self.eval(a)?, &self.eval(b)?),
                other => self.eval(other)?,
            },
            Formula::Next(_)
            | Formula::Always(..)
            | Formula::Eventually(..)
            | Formula::Until(..)
            | Formula::Release(..)
            | Formula::Never(_) => internal!("a formula that is not of branching time"),
        })
    }

    /// On some fair path, next.
    fn next(&self, of: &[bool]) -> Vec<bool> {
        let goes = |at: usize| self.after[at].iter().any(|to| of[*to] && self.fair[*to]);
        (0..of.len()).map(goes).collect()
    }

    /// On some fair path, the first until the second.
    fn until(&self, a: &[bool], b: &[bool]) -> Vec<bool> {
        let mut found: Vec<bool> = b.iter().zip(&self.fair).map(|(b, fair)| *b && *fair).collect();
        loop {
            let better: Vec<bool> = (0..found.len())
                .map(|at| found[at] || (a[at] && self.after[at].iter().any(|to| found[*to])))
                .collect();
            if better == found {
                return found;
            }
            found = better;
        }
    }

    /// On some fair path, the second until and with the first, or for ever.
    fn release(&self, a: &[bool], b: &[bool]) -> Vec<bool> {
        let both: Vec<bool> = a.iter().zip(b).map(|(a, b)| *a && *b).collect();
        let (until, always) = (self.until(b, &both), self.always(b));
        until.iter().zip(&always).map(|(a, b)| *a || *b).collect()
    }

    /// On some fair path, always: from where, inside, a component can be reached that has a step and meets every
    /// constraint.
    fn always(&self, set: &[bool]) -> Vec<bool> {
        let mut found = vec![false; set.len()];
        for component in components(&self.after, set) {
            let inside = |at: &usize| self.after[*at].iter().any(|to| component.contains(to));
            let meets = |constraint: &Vec<bool>| component.iter().any(|at| constraint[*at]);
            if component.iter().any(inside) && self.fairness.iter().all(meets) {
                component.iter().for_each(|at| found[*at] = true);
            }
        }
        loop {
            let better: Vec<bool> = (0..found.len())
                .map(|at| found[at] || (set[at] && self.after[at].iter().any(|to| found[*to])))
                .collect();
            if better == found {
                return found;
            }
            found = better;
        }
    }
}

/// The strongly connected components inside a set, by two walks (Kosaraju).
pub(crate) fn components(after: &[Vec<usize>], set: &[bool]) -> Vec<Vec<usize>> {
    let mut before = vec![Vec::new(); set.len()];
    for at in (0..set.len()).filter(|at| set[*at]) {
        after[at].iter().filter(|to| set[**to]).for_each(|to| before[*to].push(at));
    }
    let mut done = vec![false; set.len()];
    let mut finished = Vec::new();
    for root in (0..set.len()).filter(|at| set[*at]) {
        let mut stack = vec![(root, 0)];
        if std::mem::replace(&mut done[root], true) {
            continue;
        }
        while let Some((at, edge)) = stack.pop() {
            match after[at].get(edge) {
                Some(to) => {
                    stack.push((at, edge + 1));
                    if set[*to] && !std::mem::replace(&mut done[*to], true) {
                        stack.push((*to, 0));
                    }
                }
                None => finished.push(at),
            }
        }
    }
    let mut taken = vec![false; set.len()];
    let mut components = Vec::new();
    for root in finished.into_iter().rev() {
        let mut component = Vec::new();
        let mut stack = vec![root];
        while let Some(at) = stack.pop() {
            if !std::mem::replace(&mut taken[at], true) {
                component.push(at);
                stack.extend(&before[at]);
            }
        }
        if !component.is_empty() {
            components.push(component);
        }
    }
    components
}

pub(crate) fn not(of: &[bool]) -> Vec<bool> {
    of.iter().map(|it| !it).collect()
}

impl Interpreter<'_> {
    /// The states it starts in.
    pub(crate) fn starts(&self) -> Vec<State> {
        let mut states = Vec::new();
        for (start, args) in self.start_instances() {
            for branch in self.run_start(start, &args) {
                if let Firing::State(state) = branch.result
                    && self.dropped_by(&state) == Ok(None)
                {
                    states.push(state);
                }
            }
        }
        states
    }
}

/// The truth of every property of branching time, by brute force; none if there are too many states or one faults.
pub fn decide_branching(model: &Model, limit: usize) -> Option<Vec<(PropertyId, bool)>> {
    let interpreter = Interpreter::new(model).ok()?;
    let roots = interpreter.starts();
    let graph = Branching::new(interpreter, roots, limit).ok()??;
    let mut found = Vec::new();
    for (id, property) in model.properties.enumerate() {
        if let PropertyKind::Temporal(Logic::Ctl, formula) = &property.kind {
            found.push((id, graph.holds(formula).ok()?));
        }
    }
    Some(found)
}

/// Checks that a formula is false where a trace begins. If it speaks of all paths only, the run itself shows it: what is
/// true on all paths is true on this one. Otherwise all states are looked at.
pub(crate) fn confirm(
    interpreter: &Interpreter<'_>,
    formula: &Formula,
    trace: &Trace,
    budget: usize,
) -> Result<(), ReplayError> {
    // A conjunction is false where one of its parts is, whatever is wrong with the others.
    let parts = match formula {
        Formula::And(of) => of.as_slice(),
        other => std::slice::from_ref(other),
    };
    let shows = |part: &Formula, lasso: &Lasso<'_>| {
        is_universal(part, true) && lasso.confirm(interpreter, part) == Ok(())
    };
    if let Some(lasso) = Lasso::new(trace)
        && parts.iter().any(|part| shows(part, &lasso))
    {
        return Ok(());
    }
    match Branching::new(*interpreter, vec![trace.state.clone()], budget) {
        Ok(Some(graph)) => {
            let found: Vec<Result<bool, Fault>> = parts.iter().map(|part| graph.holds(part)).collect();
            if found.contains(&Ok(false)) {
                return Ok(());
            }
            let holds = found.into_iter().find_map(Result::err).map(ReplayError::OtherFault);
            Err(holds.unwrap_or(ReplayError::FormulaHolds))
        }
        Ok(None) => Err(ReplayError::NotConfirmed { budget }),
        Err(fault) => Err(ReplayError::OtherFault(fault)),
    }
}

/// Whether a formula (or its negation) speaks of all paths only.
pub(crate) fn is_universal(formula: &Formula, positive: bool) -> bool {
    match formula {
        Formula::Atom(_) => true,
        // An observer of single runs: not a formula of branching time.
        Formula::Never(_) => false,
        Formula::Not(of) => is_universal(of, !positive),
        Formula::And(of) | Formula::Or(of) => of.iter().all(|of| is_universal(of, positive)),
        Formula::AllPaths(of) => positive && is_universal(of, positive),
        Formula::SomePath(of) => !positive && is_universal(of, positive),
        Formula::Next(of) | Formula::Always(_, of) | Formula::Eventually(_, of) => is_universal(of, positive),
        Formula::Until(_, a, b) | Formula::Release(_, a, b) => {
            is_universal(a, positive) && is_universal(b, positive)
        }
    }
}
