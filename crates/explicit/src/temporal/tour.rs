//! A run on concrete states that is fair to each of many elements, where one stands for all in the graph.
//!
//! The run is in a concrete state all the time. To come to where an element's constraint holds, it looks at the state
//! as if that element were the marked one, finds the way in the graph, and takes the same steps with the names as they are. When it
//! has been to everybody it goes back to the orbit in which it began, and does it all again until it begins in a
//! state in which it began before.

use std::collections::{HashMap, VecDeque};

use shoal_analysis::mirror::FairMark;
use shoal_model::{OrInternal, Trace};

use super::{
    lasso::{Relabelling, RunSoFar, StepGoal, Unroll},
    marks::StepsInside,
};
use crate::{canon::StateStructure, search::KripkeView};

/// No run is longer.
const MOST_STEPS: usize = 20_000;

/// Where a run is to go on for ever.
pub(super) struct FairTour<'t> {
    pub(super) graph: &'t KripkeView<'t>,
    pub(super) steps: &'t StepsInside<'t>,
    /// The bits of labels that are constraints on no element, or on one that the formula names.
    pub(super) plain: Vec<u32>,
    pub(super) marks: Vec<TourMark<'t>>,
}

/// An element that stands for others.
pub(super) struct TourMark<'t> {
    /// The bits of labels that are its constraints.
    pub(super) constraints: Vec<u32>,
    /// How each of them changes places with it; for itself, not at all.
    pub(super) swaps: Vec<Option<Relabelling<'t>>>,
}

/// How the elements that a mark stands for change places with it.
pub(super) fn swaps<'t>(structure: &'t StateStructure, mark: &FairMark) -> Vec<Option<Relabelling<'t>>> {
    let sort = structure.sorts.iter().find(|sort| sort.id == mark.sort);
    let first = sort.or_internal("what is marked can be exchanged").first;
    let swap = |other: &u32| {
        let mut permutation: Vec<u32> = (0..structure.elements as u32).collect();
        permutation.swap((first + mark.element) as usize, (first + other) as usize);
        Some(Relabelling { structure, permutation })
    };
    std::iter::once(None).chain(mark.others.iter().map(swap)).collect()
}

/// What a way leads to.
#[derive(Clone, Copy)]
enum WayGoal {
    /// A step of an acceptance set of the formula.
    Set(u32),
    /// A state in which a condition holds.
    Label(u32),
    /// A state of the graph with one of the automaton, by at least one step.
    Home(u64),
}

/// A run, and the state of the automaton.
struct Touring<'m> {
    run: RunSoFar<'m>,
    automaton: u32,
}

impl<'m> Unroll<'_, 'm> {
    /// The run: a way of representatives, and from there on around for ever.
    pub(super) fn tour(&mut self, stem: &[u32], automaton: u32, tour: &FairTour<'_>) -> Option<Trace> {
        let mut touring = Touring { run: self.along(stem)?, automaton };
        let mut seen: HashMap<(Vec<i64>, u32), usize> = HashMap::new();
        loop {
            let RunSoFar { trace, cells, stepper } = &mut touring.run;
            if self.is_stuck(cells, stepper) {
                trace.loops_to = Some(trace.steps.len());
                return Some(touring.run.trace);
            }
            let here = (cells.clone(), touring.automaton);
            if let Some(begun) = seen.get(&here) {
                trace.loops_to = Some(*begun);
                return Some(touring.run.trace);
            }
            seen.insert(here, trace.steps.len());
            let home = self.pair(&touring, None, tour)?;
            self.round(&mut touring, tour)?;
            if !self.go(&mut touring, None, WayGoal::Home(home), &seen, tour)? {
                // It has come to where there is no way back from: to fewer and fewer states.
                seen.clear();
            }
        }
    }

    /// Goes to where each constraint holds, of each element.
    fn round(&mut self, touring: &mut Touring<'m>, tour: &FairTour<'_>) -> Option<()> {
        let nowhere = HashMap::new();
        let sets = (0..tour.steps.sets()).map(WayGoal::Set);
        let plain = tour.plain.iter().map(|bit| WayGoal::Label(*bit));
        for goal in sets.chain(plain) {
            self.go(touring, None, goal, &nowhere, tour)?.then_some(())?;
        }
        for mark in &tour.marks {
            for swap in &mark.swaps {
                for bit in &mark.constraints {
                    let goal = WayGoal::Label(*bit);
                    self.go(touring, swap.as_ref(), goal, &nowhere, tour)?.then_some(())?;
                }
            }
        }
        Some(())
    }

    /// Where the run is in the graph, seen with elements in other places.
    fn pair(
        &mut self,
        touring: &Touring<'m>,
        seen: Option<&Relabelling<'_>>,
        tour: &FairTour<'_>,
    ) -> Option<u64> {
        let cells = &touring.run.cells;
        let mut cells = seen.map_or_else(|| cells.clone(), |renaming| renaming.image(cells));
        if let Some(canon) = &mut self.canon {
            canon.canonicalise(&mut cells);
        }
        let mut words = vec![0; self.layout.words()];
        self.layout.pack(&cells, &mut words);
        let position = tour.graph.dense(tour.graph.find(&words)?) as u64;
        Some(position * tour.steps.width() + u64::from(touring.automaton))
    }

    /// Goes on to a goal; false if no way leads there. Nothing if the run gets too long.
    fn go(
        &mut self,
        touring: &mut Touring<'m>,
        renamed: Option<&Relabelling<'_>>,
        goal: WayGoal,
        seen: &HashMap<(Vec<i64>, u32), usize>,
        tour: &FairTour<'_>,
    ) -> Option<bool> {
        let from = self.pair(touring, renamed, tour)?;
        let Some(way) = way(from, goal, tour) else { return Some(false) };
        let prefer: HashMap<Vec<i64>, usize> =
            seen.iter().map(|((cells, _), at)| (cells.clone(), *at)).collect();
        let nothing = HashMap::new();
        for (at, pair) in way.iter().enumerate() {
            let prefer = if at + 1 == way.len() { &prefer } else { &nothing };
            let target = tour.graph.number((pair / tour.steps.width()) as usize);
            touring.automaton = (pair % tour.steps.width()) as u32;
            let RunSoFar { trace, cells, stepper } = &mut touring.run;
            self.step(trace, cells, StepGoal { target, renamed, prefer }, stepper)?;
            (trace.steps.len() <= MOST_STEPS).then_some(())?;
        }
        Some(true)
    }
}

/// A shortest way to a goal, without its beginning.
fn way(from: u64, goal: WayGoal, tour: &FairTour<'_>) -> Option<Vec<u64>> {
    let width = tour.steps.width();
    let holds =
        |pair: u64, bit: u32| tour.graph.label(tour.graph.number((pair / width) as usize)) >> bit & 1 == 1;
    if let WayGoal::Label(bit) = goal
        && holds(from, bit)
    {
        return Some(Vec::new());
    }
    let mut before: HashMap<u64, u64> = HashMap::from([(from, from)]);
    let mut queue = VecDeque::from([from]);
    while let Some(pair) = queue.pop_front() {
        for (to, sets) in tour.steps.from(pair) {
            let is_goal = match goal {
                WayGoal::Set(set) => sets >> set & 1 == 1,
                WayGoal::Label(bit) => holds(to, bit),
                WayGoal::Home(home) => to == home,
            };
            if is_goal {
                let mut way = vec![to];
                let mut at = pair;
                while at != from {
                    way.push(at);
                    at = before[&at];
                }
                way.reverse();
                return Some(way);
            }
            before.entry(to).or_insert_with(|| {
                queue.push_back(to);
                pair
            });
        }
    }
    None
}
