//! Formulas of branching time on the graph of all states: for each part of a formula, the states where it holds.
//!
//! Paths are infinite and fair, as those of linear time are. Operators over some path are enough: those over all paths say that
//! there is none with the opposite. Until is a walk backwards; always looks for strongly connected components in which every
//! constraint is met (Clarke, Emerson, Sistla 1986), and walks backwards from them.
//!
//! On representatives it is the same: a permutation that leaves alone what the formula and the constraints name takes paths to
//! paths and changes the truth of no part.

use std::collections::{HashMap, VecDeque};

use shoal_model::{Condition, Formula, OrInternal, StopReason, internal};

use super::marks::Markings;
use crate::search::{Backwards, KripkeView, Spending};

/// A formula of branching time over conditions, by number.
#[derive(Clone, Debug)]
pub(crate) enum BranchingFormula {
    Atom(u32),
    Not(Box<BranchingFormula>),
    And(Vec<BranchingFormula>),
    Or(Vec<BranchingFormula>),
    /// On some path, in the next state: EX.
    Next(Box<BranchingFormula>),
    /// On some path, the first until the second: E(a U b).
    Until(Box<BranchingFormula>, Box<BranchingFormula>),
    /// On some path, always: EG.
    Always(Box<BranchingFormula>),
}

impl BranchingFormula {
    /// The formula, with its conditions numbered as they are found. Nothing if it is not of branching time.
    pub(crate) fn of(formula: &Formula, conditions: &mut Vec<Condition>) -> Option<BranchingFormula> {
        let mut all = |of: &[Formula]| {
            of.iter().map(|of| BranchingFormula::of(of, conditions)).collect::<Option<Vec<_>>>()
        };
        match formula {
            Formula::Atom(condition) => {
                let known = conditions.iter().position(|it| it == condition);
                let number = known.unwrap_or_else(|| {
                    conditions.push(condition.clone());
                    conditions.len() - 1
                });
                Some(BranchingFormula::Atom(number as u32))
            }
            Formula::Not(of) => Some(BranchingFormula::not(BranchingFormula::of(of, conditions)?)),
            Formula::And(of) => Some(BranchingFormula::And(all(of)?)),
            Formula::Or(of) => Some(BranchingFormula::Or(all(of)?)),
            Formula::SomePath(path) => BranchingFormula::on_some_path(path, true, conditions),
            // There is no path with the opposite.
            Formula::AllPaths(path) => {
                Some(BranchingFormula::not(BranchingFormula::on_some_path(path, false, conditions)?))
            }
            Formula::Next(_)
            | Formula::Always(..)
            | Formula::Eventually(..)
            | Formula::Until(..)
            | Formula::Release(..)
            | Formula::Never(_) => None,
        }
    }

    /// On some path, a formula of paths or its opposite.
    fn on_some_path(
        path: &Formula,
        positive: bool,
        conditions: &mut Vec<Condition>,
    ) -> Option<BranchingFormula> {
        let mut part = |of: &Formula| {
            let of = BranchingFormula::of(of, conditions)?;
            Some(if positive { of } else { BranchingFormula::not(of) })
        };
        Some(match (path, positive) {
            (Formula::Next(of), _) => BranchingFormula::Next(Box::new(part(of)?)),
            (Formula::Always(_, of), true) | (Formula::Eventually(_, of), false) => {
                BranchingFormula::Always(Box::new(part(of)?))
            }
            (Formula::Always(_, of), false) | (Formula::Eventually(_, of), true) => {
                BranchingFormula::Until(Box::new(BranchingFormula::And(Vec::new())), Box::new(part(of)?))
            }
            (Formula::Until(_, a, b), true) | (Formula::Release(_, a, b), false) => {
                BranchingFormula::Until(Box::new(part(a)?), Box::new(part(b)?))
            }
            // The second until and with the first, or for ever.
            (Formula::Until(_, a, b), false) | (Formula::Release(_, a, b), true) => {
                let (a, b) = (part(a)?, part(b)?);
                let both = BranchingFormula::And(vec![a, b.clone()]);
                let until = BranchingFormula::Until(Box::new(b.clone()), Box::new(both));
                BranchingFormula::Or(vec![until, BranchingFormula::Always(Box::new(b))])
            }
            (
                Formula::Atom(_)
                | Formula::Not(_)
                | Formula::And(_)
                | Formula::Or(_)
                | Formula::AllPaths(_)
                | Formula::SomePath(_)
                | Formula::Never(_),
                _,
            ) => return None,
        })
    }

    fn not(of: BranchingFormula) -> BranchingFormula {
        match of {
            BranchingFormula::Not(of) => *of,
            of => BranchingFormula::Not(Box::new(of)),
        }
    }

    /// How many sets of states there are at the same time while it is evaluated, at most.
    fn sets(&self) -> u64 {
        match self {
            BranchingFormula::Atom(_) => 1,
            BranchingFormula::Not(of) | BranchingFormula::Next(of) | BranchingFormula::Always(of) => {
                1 + of.sets()
            }
            BranchingFormula::And(of) | BranchingFormula::Or(of) => {
                1 + of.iter().map(BranchingFormula::sets).max().unwrap_or(0)
            }
            BranchingFormula::Until(a, b) => 2 + a.sets().max(b.sets()),
        }
    }

    /// Whether to show it needs more than the state itself.
    fn goes_on(&self, truth: bool) -> bool {
        match self {
            BranchingFormula::Atom(_) => false,
            BranchingFormula::Not(of) => of.goes_on(!truth),
            BranchingFormula::And(of) | BranchingFormula::Or(of) => of.iter().any(|part| part.goes_on(truth)),
            BranchingFormula::Next(_) | BranchingFormula::Until(..) | BranchingFormula::Always(_) => truth,
        }
    }
}

/// States, by position.
pub(crate) type StateSet = Vec<bool>;

/// A run of representatives that shows that a formula is false, as far as one run can: a way, and from its last state around and
/// back to it, unless it ends there.
pub(crate) struct Witness {
    pub(crate) stem: Vec<u32>,
    pub(crate) cycle: Vec<u32>,
    /// Where elements stand for others: the states among which a run goes on for ever that is fair to all.
    pub(crate) tour: Option<StateSet>,
}

/// Evaluates formulas on a graph that has all states and steps.
pub(crate) struct BranchingEvaluator<'g, 'b, 's> {
    graph: &'g KripkeView<'g>,
    backwards: Backwards,
    /// The bits of labels that the formula's conditions are, and those of fairness.
    bits: &'g [u32],
    fairness: &'g [u32],
    /// Which states differ in nothing but which elements stand for others, if some do.
    markings: Option<&'g Markings>,
    /// Where a fair path begins.
    fair: StateSet,
    /// Where the run that is shown goes on, if elements stand for others.
    tour: Option<StateSet>,
    budget: &'b mut Spending<'s>,
}

/// Bytes that strongly connected components take for each state, beside sets of them.
const COMPONENTS: u64 = 4 + 4 + 16 + 4;

impl<'g, 'b, 's> BranchingEvaluator<'g, 'b, 's> {
    /// The error says why it is stopped.
    pub(crate) fn new(
        graph: &'g KripkeView<'g>,
        formula: &BranchingFormula,
        bits: &'g [u32],
        fairness: &'g [u32],
        markings: Option<&'g Markings>,
        budget: &'b mut Spending<'s>,
    ) -> Result<Self, StopReason> {
        let states = graph.len() as u64;
        let bytes = Backwards::bytes(graph) + states * (COMPONENTS + 4 + formula.sets());
        if let Some(reason) = budget.memory(bytes) {
            return Err(reason);
        }
        let backwards = Backwards::new(graph);
        let (fair, tour) = (Vec::new(), None);
        let mut evaluator =
            BranchingEvaluator { graph, backwards, bits, fairness, markings, fair, tour, budget };
        evaluator.fair = evaluator.always(&vec![true; graph.len()])?;
        Ok(evaluator)
    }

    /// A run that shows that the formula does not hold in all starts; nothing if it does.
    pub(crate) fn counterexample(
        &mut self,
        formula: &BranchingFormula,
    ) -> Result<Option<Witness>, StopReason> {
        let holds = self.holds(formula)?;
        let fails = |start: &u32| !holds[self.graph.dense(*start)];
        let Some(start) = self.graph.initial().find(fails) else { return Ok(None) };
        let mut way = vec![start];
        let cycle = match self.explain(formula, false, &mut way)? {
            Some(from) => way.split_off(from + 1),
            None => Vec::new(),
        };
        Ok(Some(Witness { stem: way, cycle, tour: self.tour.take() }))
    }

    /// Where a formula holds.
    fn holds(&mut self, formula: &BranchingFormula) -> Result<StateSet, StopReason> {
        Ok(match formula {
            BranchingFormula::Atom(number) => self.labelled(self.bits[*number as usize]),
            BranchingFormula::Not(of) => self.holds(of)?.into_iter().map(|it| !it).collect(),
            BranchingFormula::And(of) => self.combine(of, true, |a, b| a & b)?,
            BranchingFormula::Or(of) => self.combine(of, false, |a, b| a | b)?,
            BranchingFormula::Next(of) => {
                let goal = self.on_a_fair_path(of)?;
                let mut found = vec![false; self.graph.len()];
                for (from, after) in self.graph.entries() {
                    self.look()?;
                    found[self.graph.dense(from)] = after.iter().any(|to| goal[self.graph.dense(*to)]);
                }
                found
            }
            BranchingFormula::Until(a, b) => {
                let (a, goal) = (self.holds(a)?, self.on_a_fair_path(b)?);
                self.until(&a, goal)?
            }
            BranchingFormula::Always(of) => {
                let of = self.holds(of)?;
                self.always(&of)?
            }
        })
    }

    fn look(&mut self) -> Result<(), StopReason> {
        self.budget.look().map_or(Ok(()), Err)
    }

    fn labelled(&self, bit: u32) -> StateSet {
        self.graph.numbers().map(|number| self.graph.label(number) >> bit & 1 == 1).collect()
    }

    fn combine(
        &mut self,
        of: &[BranchingFormula],
        start: bool,
        by: fn(bool, bool) -> bool,
    ) -> Result<StateSet, StopReason> {
        let mut found = vec![start; self.graph.len()];
        for of in of {
            let of = self.holds(of)?;
            found.iter_mut().zip(of).for_each(|(found, of)| *found = by(*found, of));
        }
        Ok(found)
    }

    /// Where a formula holds and a fair path begins.
    fn on_a_fair_path(&mut self, of: &BranchingFormula) -> Result<StateSet, StopReason> {
        let mut found = self.holds(of)?;
        found.iter_mut().zip(&self.fair).for_each(|(found, fair)| *found &= *fair);
        Ok(found)
    }

    /// From where a goal is reached through states of a set.
    fn until(&mut self, through: &StateSet, goal: StateSet) -> Result<StateSet, StopReason> {
        let mut found = goal;
        let mut queue: Vec<u32> = (0..found.len() as u32).filter(|at| found[*at as usize]).collect();
        while let Some(at) = queue.pop() {
            self.look()?;
            for before in self.backwards.before(at as usize) {
                let at = *before as usize;
                if through[at] && !found[at] {
                    found[at] = true;
                    queue.push(*before);
                }
            }
        }
        Ok(found)
    }

    /// Where a fair path begins that stays in a set.
    fn always(&mut self, set: &StateSet) -> Result<StateSet, StopReason> {
        let endless = self.endless(set)?;
        self.until(set, endless)
    }

    /// The states of a set in components, inside it, that have a step and meet every constraint, whoever stands for others.
    fn endless(&mut self, set: &StateSet) -> Result<StateSet, StopReason> {
        let mut endless = self.in_fair_components(set)?;
        if let Some(markings) = self.markings {
            markings.keep_all_or_none(&mut endless, 1);
        }
        Ok(endless)
    }

    /// The states of a set in components, inside it, that have a step and meet every constraint (Tarjan).
    fn in_fair_components(&mut self, set: &StateSet) -> Result<StateSet, StopReason> {
        let mut endless = vec![false; set.len()];
        // The order in which states are found, 0 before; and for those that are done, the greatest number.
        let mut order = vec![0u32; set.len()];
        let mut lowest = vec![0u32; set.len()];
        let (mut live, mut way, mut found) = (Vec::new(), Vec::new(), 0);
        for root in (0..set.len()).filter(|at| set[*at]) {
            if order[root] != 0 {
                continue;
            }
            way.push((root as u32, 0u32));
            while let Some((at, step)) = way.last_mut() {
                self.budget.look().map_or(Ok(()), Err)?;
                let here = *at as usize;
                if *step == 0 {
                    found += 1;
                    (order[here], lowest[here]) = (found, found);
                    live.push(*at);
                }
                let after = self.graph.after(self.graph.number(here));
                if let Some(to) = after.get(*step as usize) {
                    *step += 1;
                    let to = self.graph.dense(*to);
                    match order[to] {
                        _ if !set[to] => {}
                        0 => way.push((to as u32, 0)),
                        u32::MAX => {}
                        number => lowest[here] = lowest[here].min(number),
                    }
                    // A state with steps is not begun anew.
                    continue;
                }
                way.pop();
                if let Some((before, _)) = way.last() {
                    let before = *before as usize;
                    lowest[before] = lowest[before].min(lowest[here]);
                }
                if lowest[here] == order[here] {
                    let first = live.iter().rposition(|it| *it as usize == here);
                    let first = first.or_internal("a state whose component is complete is still live");
                    let component = live.split_off(first);
                    let fair = self.is_fair(&component, &order, order[here], set);
                    for at in component {
                        order[at as usize] = u32::MAX;
                        endless[at as usize] = fair;
                    }
                }
            }
        }
        Ok(endless)
    }

    /// Whether a component, of the states found since its first that are not done, has a step inside and meets every constraint.
    fn is_fair(&self, component: &[u32], order: &[u32], first: u32, set: &StateSet) -> bool {
        let label = |at: &u32| self.graph.label(self.graph.number(*at as usize));
        let meets = |bit: &u32| component.iter().any(|at| label(at) >> bit & 1 == 1);
        let inside = |to: &u32| {
            let to = self.graph.dense(*to);
            set[to] && order[to] >= first && order[to] != u32::MAX
        };
        let steps = |at: &u32| self.graph.after(self.graph.number(*at as usize)).iter().any(inside);
        (component.len() > 1 || component.iter().any(steps)) && self.fairness.iter().all(meets)
    }

    /// Goes on from the last state to show that the formula has this truth there. Gives where the run loops, if it does: its last
    /// state is that one again.
    fn explain(
        &mut self,
        formula: &BranchingFormula,
        truth: bool,
        way: &mut Vec<u32>,
    ) -> Result<Option<usize>, StopReason> {
        match (formula, truth) {
            (BranchingFormula::Not(of), truth) => self.explain(of, !truth, way),
            // One part is to blame, and is shown.
            (BranchingFormula::And(of), false) | (BranchingFormula::Or(of), true) => {
                for part in of {
                    if self.holds(part)?[self.last(way)] == truth {
                        return self.explain(part, truth, way);
                    }
                }
                Ok(None)
            }
            // All parts are to blame; one that goes on is shown.
            (BranchingFormula::And(of), true) | (BranchingFormula::Or(of), false) => {
                match of.iter().find(|part| part.goes_on(truth)) {
                    Some(part) => self.explain(part, truth, way),
                    None => Ok(None),
                }
            }
            (BranchingFormula::Next(of), true) => {
                let goal = self.on_a_fair_path(of)?;
                let after = self.graph.after(way[way.len() - 1]).iter();
                way.extend(after.copied().find(|to| goal[self.graph.dense(*to)]));
                self.finish(of, way)
            }
            (BranchingFormula::Until(a, b), true) => {
                let (through, goal) = (self.holds(a)?, self.on_a_fair_path(b)?);
                if !goal[self.last(way)] && !self.walk(way, &|at| through[at], &|at| goal[at])? {
                    internal!("until holds where its goal is reached");
                }
                self.finish(b, way)
            }
            (BranchingFormula::Always(of), true) => {
                let set = self.holds(of)?;
                self.lasso(&set, way)
            }
            // That there is no such path is not shown by one.
            (BranchingFormula::Atom(_), _)
            | (
                BranchingFormula::Next(_) | BranchingFormula::Until(..) | BranchingFormula::Always(_),
                false,
            ) => Ok(None),
        }
    }

    fn last(&self, way: &[u32]) -> usize {
        self.graph.dense(way[way.len() - 1])
    }

    /// Shows the formula at the last state, then goes on along any fair path, so that the run is one of those that count.
    fn finish(
        &mut self,
        formula: &BranchingFormula,
        way: &mut Vec<u32>,
    ) -> Result<Option<usize>, StopReason> {
        if let Some(from) = self.explain(formula, true, way)? {
            return Ok(Some(from));
        }
        if self.tour.is_some() {
            return Ok(None);
        }
        match self.fair[self.last(way)] {
            true => self.lasso(&vec![true; self.graph.len()], way),
            false => Ok(None),
        }
    }

    /// A shortest way from the last state, of at least one step, to a goal; all before it allowed. False if there is none.
    fn walk(
        &mut self,
        way: &mut Vec<u32>,
        allowed: &dyn Fn(usize) -> bool,
        goal: &dyn Fn(usize) -> bool,
    ) -> Result<bool, StopReason> {
        let from = way[way.len() - 1];
        let mut before: HashMap<u32, u32> = HashMap::new();
        let mut queue = VecDeque::from([from]);
        while let Some(at) = queue.pop_front() {
            self.look()?;
            for to in self.graph.after(at) {
                let position = self.graph.dense(*to);
                if goal(position) {
                    let mut steps = vec![*to, at];
                    while let Some(earlier) = before.get(&steps[steps.len() - 1]) {
                        steps.push(*earlier);
                    }
                    // The last is where it began.
                    steps.pop();
                    way.extend(steps.into_iter().rev());
                    return Ok(true);
                }
                if allowed(position) && *to != from && !before.contains_key(to) {
                    before.insert(*to, at);
                    queue.push_back(*to);
                }
            }
        }
        Ok(false)
    }

    /// A fair path from the last state that stays in a set for ever: a way from constraint to constraint, and back to the first
    /// state. If there is no way back, it begins anew where it has come to: it comes to fewer and fewer states.
    fn lasso(&mut self, set: &StateSet, way: &mut Vec<u32>) -> Result<Option<usize>, StopReason> {
        if self.markings.is_some() {
            // From where it can go on for ever, it is shown on states in which every element has its own name.
            let endless = self.endless(set)?;
            if !endless[self.last(way)] && !self.walk(way, &|at| set[at], &|at| endless[at])? {
                internal!("a fair path comes to where it can go on");
            }
            self.tour = Some(endless);
            return Ok(None);
        }
        let inside = self.always(set)?;
        let fairness = self.fairness;
        loop {
            let from = way.len() - 1;
            let home = self.last(way);
            for bit in fairness {
                let (graph, bit) = (self.graph, *bit);
                let meets = |at: usize| inside[at] && graph.label(graph.number(at)) >> bit & 1 == 1;
                self.walk(way, &|at| inside[at], &meets)?;
            }
            let here = self.last(way);
            if way.len() > from + 1 && here == home {
                return Ok(Some(from));
            }
            if self.walk(way, &|at| inside[at], &|at| at == home)? {
                return Ok(Some(from));
            }
            if fairness.is_empty() {
                self.walk(way, &|at| inside[at], &|at| inside[at])?;
            }
            if way.len() == from + 1 {
                internal!("a fair path goes on");
            }
        }
    }
}
