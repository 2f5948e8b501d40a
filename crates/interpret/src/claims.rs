//! What a run shows of a formula of branching time, state by state.
//!
//! A formula that is false at the start is false because of one of its parts, at the start or further on along the run.
//! The parts are followed in the way that counterexamples are made: one conjunct that fails, the way to a state that
//! shows it, all states of a path on which something never comes. What is claimed of a state has been checked: on the run
//! itself if the formula speaks of all paths only, else on all states that can be reached.

use std::collections::HashMap;

use shoal_model::{Formula, Logic, Model, PropertyId, PropertyKind, Reason, State, Trace, Violation};

use crate::{
    Interpreter,
    branching::{Branching, is_universal},
    lasso::Lasso,
};

/// That a part of a formula holds or fails in a state of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// Which state, by number.
    pub state: usize,
    /// The part.
    pub formula: Formula,
    /// Whether it holds.
    pub holds: bool,
}

/// What the run of a violation shows of a formula of branching time; nothing of anything else, nor where more than
/// `budget` states would have to be looked at.
pub fn claims(model: &Model, property: PropertyId, violation: &Violation, budget: usize) -> Vec<Claim> {
    let PropertyKind::Temporal(Logic::Ctl, formula) = &model.properties[property].kind else {
        return Vec::new();
    };
    let (Reason::FormulaFalse, Some(trace)) = (&violation.reason, &violation.trace) else {
        return Vec::new();
    };
    let Ok(interpreter) = Interpreter::new(model) else { return Vec::new() };
    let Some(mut shown) = ShownRun::new(interpreter, formula, trace, budget) else { return Vec::new() };
    let mut claims = Vec::new();
    shown.follow(0, formula, false, &mut claims);
    claims.sort_by_key(|claim| claim.state);
    claims.dedup();
    claims
}

/// A run, and where the truth of formulas on it comes from.
struct ShownRun<'t> {
    interpreter: Interpreter<'t>,
    oracle: Oracle<'t>,
    /// How many states the run has.
    states: usize,
    /// The truth of the parts that were asked for, along the run.
    known: HashMap<*const Formula, Vec<bool>>,
}

enum Oracle<'t> {
    /// What is false on one path is false on all.
    Run(Lasso<'t>),
    /// All states, and which of them are those of the run.
    Graph(Box<Branching<'t>>, Vec<usize>),
}

impl<'t> ShownRun<'t> {
    fn new(interpreter: Interpreter<'t>, formula: &Formula, trace: &'t Trace, budget: usize) -> Option<Self> {
        let states: Vec<&State> = trace.states().collect();
        let lasso = Lasso::new(trace).filter(|lasso| {
            is_universal(formula, true) && lasso.satisfies(&interpreter, formula) == Ok(false)
        });
        let oracle = match lasso {
            Some(lasso) => Oracle::Run(lasso),
            None => {
                let graph = Branching::new(interpreter, vec![trace.state.clone()], budget).ok()??;
                let numbers = states.iter().map(|state| graph.find(state)).collect::<Option<_>>()?;
                Oracle::Graph(Box::new(graph), numbers)
            }
        };
        Some(ShownRun { interpreter, oracle, states: states.len(), known: HashMap::new() })
    }

    /// Whether a part has this truth in a state of the run; never if it faults somewhere.
    fn is(&mut self, at: usize, formula: &Formula, holds: bool) -> bool {
        let key = std::ptr::from_ref(formula);
        if !self.known.contains_key(&key) {
            let truth = match &self.oracle {
                Oracle::Run(lasso) => lasso.along(&self.interpreter, formula),
                Oracle::Graph(graph, numbers) => {
                    graph.eval(formula).map(|truth| numbers.iter().map(|at| truth[*at]).collect())
                }
            };
            self.known.insert(key, truth.unwrap_or_default());
        }
        self.known[&key].get(at) == Some(&holds)
    }

    /// Claims that a part has this truth in a state, and follows the run as far as it shows why. Says whether it does.
    fn follow(&mut self, at: usize, formula: &Formula, holds: bool, claims: &mut Vec<Claim>) -> bool {
        if let Formula::Not(of) = formula {
            return self.follow(at, of, !holds, claims);
        }
        // Of a junction its parts are claimed: with quantifiers written out it can be long.
        let is = match formula {
            Formula::And(_) | Formula::Or(_) => self.is(at, formula, holds),
            _ => self.claim(at, formula, holds, claims),
        };
        match formula {
            _ if !is => false,
            Formula::And(of) | Formula::Or(of) if matches!(formula, Formula::Or(_)) == holds => {
                self.one_of(at, of, holds, claims)
            }
            Formula::And(of) | Formula::Or(of) => {
                // All are to blame. A run can show one that needs more than this state.
                let mut open = true;
                for part in of {
                    if goes_on(part, holds) && !std::mem::take(&mut open) {
                        continue;
                    }
                    self.follow(at, part, holds, claims);
                }
                true
            }
            Formula::AllPaths(path) if !holds => self.path(at, formula, path, holds, claims),
            Formula::SomePath(path) if holds => self.path(at, formula, path, holds, claims),
            // That there is no such path is not shown by one.
            _ => true,
        }
    }

    /// Follows the first of some parts that has this truth and that the run shows.
    fn one_of(&mut self, at: usize, of: &[Formula], holds: bool, claims: &mut Vec<Claim>) -> bool {
        for part in of {
            let mut more = Vec::new();
            if self.follow(at, part, holds, &mut more) {
                claims.extend(more);
                return true;
            }
        }
        false
    }

    fn claim(&mut self, at: usize, formula: &Formula, holds: bool, claims: &mut Vec<Claim>) -> bool {
        let is = self.is(at, formula, holds);
        if is {
            claims.push(Claim { state: at, formula: formula.clone(), holds });
        }
        is
    }

    /// The run from a state on is a path on which a formula of one path has this truth, so that the formula around it
    /// has it too.
    fn path(
        &mut self,
        at: usize,
        around: &Formula,
        path: &Formula,
        holds: bool,
        claims: &mut Vec<Claim>,
    ) -> bool {
        match (path, holds) {
            (Formula::Next(of), _) => {
                let next = if at + 1 < self.states { at + 1 } else { at };
                self.follow(next, of, holds, claims)
            }
            (Formula::Eventually(_, of), true) | (Formula::Always(_, of), false) => {
                self.up_to(at, around, None, of, holds, claims)
            }
            (Formula::Eventually(_, of), false) | (Formula::Always(_, of), true) => {
                self.throughout(at, around, of, holds, claims)
            }
            (Formula::Until(_, a, b), true) => self.up_to(at, around, Some(a), b, true, claims),
            (Formula::Release(_, a, b), false) => self.up_to(at, around, Some(a), b, false, claims),
            // The second never comes, or the first ends before.
            (Formula::Until(_, a, b), false) | (Formula::Release(_, a, b), true) => {
                let broken = (at..self.states).find(|at| self.is(*at, a, holds));
                let end = broken.unwrap_or(self.states - 1);
                if !(at..=end).all(|at| self.is(at, b, holds)) {
                    return false;
                }
                for here in at..=end {
                    self.claim(here, around, holds, claims);
                    self.claim(here, b, holds, claims);
                }
                broken.is_none_or(|here| self.follow(here, a, holds, claims))
            }
            _ => false,
        }
    }

    /// From state to state to the first in which the goal has this truth.
    fn up_to(
        &mut self,
        at: usize,
        around: &Formula,
        through: Option<&Formula>,
        goal: &Formula,
        holds: bool,
        claims: &mut Vec<Claim>,
    ) -> bool {
        let Some(end) = (at..self.states).find(|at| self.is(*at, goal, holds)) else { return false };
        for here in at..end {
            self.claim(here, around, holds, claims);
            if let Some(through) = through
                && !self.claim(here, through, holds, claims)
            {
                return false;
            }
        }
        self.follow(end, goal, holds, claims)
    }

    /// In all states from here on.
    fn throughout(
        &mut self,
        at: usize,
        around: &Formula,
        of: &Formula,
        holds: bool,
        claims: &mut Vec<Claim>,
    ) -> bool {
        let all = (at..self.states).all(|at| self.is(at, of, holds));
        for here in (at..self.states).filter(|_| all) {
            self.claim(here, around, holds, claims);
            self.claim(here, of, holds, claims);
        }
        all
    }
}

/// Whether showing it needs more than the state itself.
fn goes_on(formula: &Formula, holds: bool) -> bool {
    match formula {
        Formula::Not(of) => goes_on(of, !holds),
        Formula::And(of) | Formula::Or(of) => of.iter().any(|part| goes_on(part, holds)),
        Formula::AllPaths(_) => !holds,
        Formula::SomePath(_) => holds,
        _ => false,
    }
}
