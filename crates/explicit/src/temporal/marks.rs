//! Fairness to each of many elements that are alike: one of them is marked, and stands for all.
//!
//! Elements are exchanged as long as they are not marked, so a state stands for an orbit together with one element of it. A path of
//! such states is a path of the model along which the same element stays marked; so the components of the graph are those of the
//! model, seen from the marked element, and one of them meets the marked element's constraint if the component of the model
//! meets the constraint of that very element. A component of the model is fair to all elements if it is so seen from each
//! of them: if a state lies in such components whichever element is marked in it (adr 430).

use std::collections::HashMap;

use shoal_model::{Model, OrInternal, PropertyKind, Reason, Representatives, StopReason, Violation};

use super::{
    FormulaTask, TaskAnswer, TaskGroup, TaskKind,
    automaton::BuchiAutomaton,
    branching::{BranchingEvaluator, StateSet},
    emptiness::Product,
    lasso::Unroll,
    tour::{FairTour, TourMark, swaps},
};
use crate::{
    canon::{Canon, CanonRefused, StateStructure, TooManyElements},
    search::{Findings, KripkeView},
    shards::History,
};

/// Which states differ in nothing but which element is marked.
pub(crate) struct Markings {
    /// For each state by position, the number of its class.
    classes: Vec<u32>,
    count: usize,
}

impl Markings {
    /// The classes of the states of a graph; the canonical forms are those without marks.
    fn new(explored: &mut Findings<'_, '_>, unmarked: &mut Canon) -> Result<Markings, StopReason> {
        let Findings { layout, shards, ref graph, .. } = *explored;
        let words = layout.words();
        let bytes = graph.len() as u64 * (words as u64 * 8 + 40);
        if let Some(reason) = explored.budget.memory(bytes) {
            return Err(reason);
        }
        let mut known: HashMap<Vec<u64>, u32> = HashMap::new();
        let mut cells = vec![0; layout.cells()];
        let mut classes = Vec::with_capacity(graph.len());
        for number in graph.numbers() {
            explored.budget.look().map_or(Ok(()), Err)?;
            let mut packed = shards.key(number);
            layout.unpack(&packed, &mut cells);
            unmarked.canonicalise(&mut cells);
            layout.pack(&cells, &mut packed);
            let next = known.len() as u32;
            classes.push(*known.entry(packed).or_insert(next));
        }
        Ok(Markings { classes, count: known.len() })
    }

    /// Keeps of a set of states, or of pairs of a state with one of so many others, those that are in it whichever element
    /// is marked.
    pub(crate) fn keep_all_or_none(&self, set: &mut [bool], width: usize) {
        let mut all = vec![true; self.count * width];
        let place = |at: usize| self.classes[at / width] as usize * width + at % width;
        for (at, is_in) in set.iter().enumerate() {
            all[place(at)] &= is_in;
        }
        for (at, is_in) in set.iter_mut().enumerate() {
            *is_in &= all[place(at)];
        }
    }
}

impl TaskGroup<'_, '_> {
    /// What can be said of a task in which elements stand for others.
    pub(super) fn decide_marked(
        &self,
        task: &FormulaTask,
        bits: &[u32],
        explored: &mut Findings<'_, '_>,
    ) -> TaskAnswer {
        // Only all states tell how a state can be marked.
        if explored.end != Some(None) {
            return TaskAnswer::Open(None);
        }
        match self.violated_marked(task, bits, explored) {
            Ok(None) => TaskAnswer::Open(None),
            Ok(Some(violation)) => TaskAnswer::Violated(violation),
            Err(reason) => TaskAnswer::Open(Some(reason)),
        }
    }

    fn violated_marked(
        &self,
        task: &FormulaTask,
        bits: &[u32],
        explored: &mut Findings<'_, '_>,
    ) -> Result<Option<Violation>, StopReason> {
        let unmarked = self.unmarked(task, explored.model);
        let refused = |why: CanonRefused| StopReason::Unsupported(why.words().to_string());
        let symmetric = &self.decider.job.symmetric;
        let canon = Canon::new(&unmarked, explored.layout, symmetric, Representatives::Exact);
        let mut canon =
            canon.map_err(refused)?.or_internal("elements that stand for others can be exchanged");
        let structure = StateStructure::new(&unmarked, explored.layout, symmetric);
        let structure = structure.map_err(|TooManyElements| refused(CanonRefused::TooManyElements))?;
        let markings = Markings::new(explored, &mut canon)?;
        let (own, fairness) = bits.split_at(bits.len() - task.fairness);
        let shown = match &task.asks {
            TaskKind::Branching(formula) => {
                let found = BranchingEvaluator::new(
                    &explored.graph,
                    formula,
                    own,
                    fairness,
                    Some(&markings),
                    &mut explored.budget,
                )?
                .counterexample(formula)?;
                let Some(witness) = found else { return Ok(None) };
                let inside = witness.tour.map(|inside| (inside, 0));
                (witness.stem, inside)
            }
            TaskKind::Linear(automaton) => {
                let product = Product::new(&explored.graph, automaton, bits);
                let Some(found) = product.search_marked(&markings, &mut explored.budget)? else {
                    return Ok(None);
                };
                (found.stem, Some((found.inside, found.automaton)))
            }
        };
        self.show_marked(task, fairness, shown, &structure, explored).map(Some)
    }

    /// A run that shows a violation; an error if none is found that is short enough.
    fn show_marked(
        &self,
        task: &FormulaTask,
        fairness: &[u32],
        (stem, inside): (Vec<u32>, Option<(StateSet, u32)>),
        structure: &StateStructure,
        explored: &mut Findings<'_, '_>,
    ) -> Result<Violation, StopReason> {
        let Findings { model, layout, program, shards, ref mut canon, ref graph, .. } = *explored;
        let mut unroll = Unroll::new(model, layout, program, shards, canon.as_deref_mut());
        let Some((inside, automaton)) = inside else {
            let trace = unroll.run(&stem, &[]);
            return Ok(Violation { reason: Reason::FormulaFalse, trace });
        };
        let marks = task.marks.iter().map(|mark| TourMark {
            constraints: mark.constraints.iter().map(|at| fairness[*at]).collect(),
            swaps: swaps(structure, &mark.mark),
        });
        let marked = |at: &usize| task.marks.iter().any(|mark| mark.constraints.contains(at));
        let plain = (0..fairness.len()).filter(|at| !marked(at)).map(|at| fairness[at]).collect();
        let bits = self.bits(task);
        let own = &bits[..bits.len() - fairness.len()];
        let product = match &task.asks {
            TaskKind::Branching(_) => None,
            TaskKind::Linear(automaton) => Some((Product::new(graph, automaton, own), automaton)),
        };
        let steps = StepsInside { graph, product, inside };
        let tour = FairTour { graph, steps: &steps, plain, marks: marks.collect() };
        match unroll.tour(&stem, automaton, &tour) {
            Some(trace) => Ok(Violation { reason: Reason::FormulaFalse, trace: Some(trace) }),
            None => Err(StopReason::Unsupported(
                "a run that is fair to each of so many elements, which is too long to be shown".into(),
            )),
        }
    }

    /// The model in which nobody is marked for a task.
    fn unmarked(&self, task: &FormulaTask, model: &Model) -> Model {
        let about_mark = |at: usize| {
            let first = task.conditions.len() - task.fairness;
            task.marks.iter().any(|mark| mark.constraints.iter().any(|it| first + it == at))
        };
        let kept: Vec<_> =
            (0..task.conditions.len()).filter(|at| !about_mark(*at)).map(|at| &task.conditions[at]).collect();
        let mut model = model.clone();
        for (condition, id) in self.conditions.iter().zip(&self.asked) {
            if !kept.contains(&condition) {
                model.properties[*id].kind = PropertyKind::Assertion;
            }
        }
        model
    }
}

/// The steps of a run that violates the task, among states from which it can go on for ever.
pub(super) struct StepsInside<'g> {
    graph: &'g KripkeView<'g>,
    /// With an automaton, where the formula is one of linear time.
    product: Option<(Product<'g>, &'g BuchiAutomaton)>,
    inside: StateSet,
}

impl StepsInside<'_> {
    /// How many states the automaton has.
    pub(super) fn width(&self) -> u64 {
        self.product.as_ref().map_or(1, |(_, automaton)| automaton.states.len() as u64)
    }

    /// How many acceptance sets the formula has.
    pub(super) fn sets(&self) -> u32 {
        self.product.as_ref().map_or(0, |(_, automaton)| automaton.sets)
    }

    /// The steps from a state of the graph and one of the automaton, each with the acceptance sets of the formula it
    /// belongs to.
    pub(super) fn from(&self, pair: u64) -> Vec<(u64, u64)> {
        let mut steps: Vec<(u64, u64)> = match &self.product {
            None => {
                let after = self.graph.after(self.graph.number(pair as usize));
                after.iter().map(|to| (self.graph.dense(*to) as u64, 0)).collect()
            }
            Some((product, _)) => product.steps(pair).collect(),
        };
        steps.retain(|(to, _)| self.inside[*to as usize]);
        steps
    }
}
