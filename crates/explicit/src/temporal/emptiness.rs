//! Whether the product of a graph and an automaton has a cycle that is accepted.
//!
//! Couvreur's search: depth first, with the strongly connected components met so far on a stack, each with the
//! acceptance sets that its steps belong to. Components grow together where the search meets a state on the stack again;
//! one that has steps of all sets has a cycle that is accepted. What is shown is then looked for breadth first: a shortest way to
//! a state of that component, and in it from one set to the next; from several such states, and the shortest are given.

use std::{
    collections::{HashMap, VecDeque},
    ops::Range,
};

use shoal_model::{OrInternal, StopReason};

use super::{
    automaton::{BuchiAutomaton, BuchiTransition, mask},
    marks::Markings,
};
use crate::search::{KripkeView, Spending};

/// What the search found.
pub(crate) enum EmptinessAnswer {
    /// No cycle is accepted.
    Empty,
    /// It came to the end of its budget.
    Stopped(StopReason),
    /// Some cycles, the shortest first.
    Cycles(Vec<Cycle>),
}

/// States of the graph: a way from a start, and from its last state around and back to it.
pub(crate) struct Cycle {
    pub(crate) stem: Vec<u32>,
    pub(crate) cycle: Vec<u32>,
}

/// A way to a state from which a run goes on for ever that is accepted whichever elements are marked; the state of the automaton
/// there, and the pairs of states among which it goes on.
pub(crate) struct MarkedCycle {
    pub(crate) stem: Vec<u32>,
    pub(crate) automaton: u32,
    pub(crate) inside: Vec<bool>,
}

/// A state of the product: a state of the graph and one of the automaton, in one number.
type ProductState = u64;

/// From how many states of a component a cycle is looked for, and how many states may be looked at for that.
const MOST_TRIES: usize = 200;
const MOST_WORK: usize = 1_000_000;
/// How many cycles are given: on concrete states, the shortest need not be the first.
const MOST_SHOWN: usize = 16;
/// How many states may still be found to complete a component that has a cycle.
const MOST_MORE: u32 = 200_000;

/// A state that no cycle goes through.
const DEAD: u32 = u32::MAX;

pub(crate) struct Product<'g> {
    graph: &'g KripkeView<'g>,
    /// The transitions of each state of the automaton, with the conditions as they are numbered in labels.
    transitions: Vec<Vec<BuchiTransition>>,
    /// Whether the automaton only waits in its first state, which it can do in every state of the graph; see [`waits`].
    waits: bool,
    /// The conditions of fairness, as numbers of bits of labels, and the first of their acceptance sets.
    fairness: &'g [u32],
    first_fair: u32,
    /// All acceptance sets.
    all: u64,
}

/// Whether an automaton can stay in its first state whatever it reads, does not come back to it, and nothing is accepted there.
/// Then it can be there in every state of the graph, and no cycle has to be looked for among these pairs.
pub(crate) fn waits(automaton: &BuchiAutomaton) -> bool {
    let loops =
        |transition: &BuchiTransition| (transition.holds, transition.fails, transition.to) == (0, 0, 0);
    let accepts =
        |transition: &BuchiTransition| transition.sets & mask(automaton.sets) == mask(automaton.sets);
    let to_first: Vec<&BuchiTransition> = automaton.states.iter().flatten().filter(|it| it.to == 0).collect();
    let from_first = automaton.states.first().is_some_and(|first| first.iter().any(loops));
    from_first && matches!(to_first[..], [only] if loops(only) && !accepts(only))
}

/// The labels of states whose steps a search for cycles looks at: all conditions of the first mask hold and none of the second.
pub(crate) fn wanted(automaton: &BuchiAutomaton, bits: &[u32]) -> Vec<(u64, u64)> {
    let waits = waits(automaton);
    let used = |transition: &&BuchiTransition| !(waits && transition.to == 0);
    let transitions = automaton.states.iter().flatten().filter(used);
    transitions.map(|it| (scatter(it.holds, bits), scatter(it.fails, bits))).collect()
}

/// Conditions of an automaton as they are numbered in labels.
fn scatter(conditions: u64, bits: &[u32]) -> u64 {
    let own = bits.iter().enumerate().filter(|(at, _)| conditions >> at & 1 == 1);
    own.fold(0, |label, (_, bit)| label | 1 << bit)
}

/// A state of the product on the way, and where among its steps the search is.
#[derive(Clone, Copy)]
struct PairFrame<'g> {
    pair: ProductState,
    label: u64,
    after: &'g [u32],
    cursor: StepCursor,
}

/// Where among the steps of a state the search is.
#[derive(Clone, Copy, Default)]
struct StepCursor {
    transition: u32,
    target: u32,
}

/// A component that is still on the stack.
struct Component {
    /// The number of its first state.
    first: u32,
    /// The acceptance sets of the steps in it, and of the step that led to it.
    sets: u64,
    incoming: u64,
    /// Whether there is a step from it to itself.
    cyclic: bool,
}

/// The stacks of the search.
struct CycleSearch<'g> {
    /// For each state, its number in the order found; 0 if it was not found, or [`DEAD`].
    numbers: Vec<u32>,
    found: u32,
    live: Vec<ProductState>,
    components: Vec<Component>,
    frames: Vec<PairFrame<'g>>,
}

impl<'g> CycleSearch<'g> {
    fn enter(&mut self, frame: PairFrame<'g>, incoming: u64) {
        let pair = frame.pair;
        self.found += 1;
        self.numbers[pair as usize] = self.found;
        self.live.push(pair);
        self.components.push(Component { first: self.found, sets: 0, incoming, cyclic: false });
        self.frames.push(frame);
    }

    /// A step leads to a state with this number, whose component is on the stack: all above it join it.
    fn join(&mut self, number: u32, sets: u64) {
        let mut sets = sets;
        while self.components.last().is_some_and(|component| component.first > number) {
            let joined = self.components.pop();
            sets |= joined.map_or(0, |joined| joined.sets | joined.incoming);
        }
        if let Some(component) = self.components.last_mut() {
            component.sets |= sets;
            component.cyclic = true;
        }
    }

    /// The numbers of the states of the topmost component that has a cycle with steps of all these sets.
    fn accepted(&self, all: u64) -> Option<Range<u32>> {
        let accepts = |component: &Component| component.cyclic && component.sets == all;
        let at = self.components.iter().rposition(accepts)?;
        let end = self.components.get(at + 1).map_or(DEAD, |component| component.first);
        Some(self.components[at].first..end)
    }

    /// Whether that is the component on top.
    fn accepted_on_top(&self, all: u64) -> bool {
        self.components.last().is_some_and(|component| component.cyclic && component.sets == all)
    }

    /// Whether a state is the first of the component on top.
    fn is_first(&self, pair: ProductState) -> bool {
        self.components.last().is_some_and(|component| component.first == self.numbers[pair as usize])
    }

    /// All steps of a state are done.
    fn leave(&mut self, pair: ProductState) {
        self.frames.pop();
        if !self.is_first(pair) {
            return;
        }
        self.components.pop();
        while let Some(last) = self.live.pop() {
            self.numbers[last as usize] = DEAD;
            if last == pair {
                break;
            }
        }
    }
}

impl<'g> Product<'g> {
    pub(crate) fn new(graph: &'g KripkeView<'g>, automaton: &'g BuchiAutomaton, bits: &'g [u32]) -> Self {
        let (own, fairness) = bits.split_at(automaton.atoms);
        let numbered = |it: &BuchiTransition| BuchiTransition {
            holds: scatter(it.holds, own),
            fails: scatter(it.fails, own),
            ..it.clone()
        };
        let numbered = |state: &Vec<BuchiTransition>| state.iter().map(numbered).collect();
        Product {
            graph,
            transitions: automaton.states.iter().map(numbered).collect(),
            waits: waits(automaton),
            fairness,
            first_fair: automaton.sets,
            all: mask(automaton.sets + fairness.len() as u32),
        }
    }

    pub(crate) fn search(&self, budget: &mut Spending<'_>) -> EmptinessAnswer {
        let pairs = self.graph.len() * self.transitions.len();
        let bytes = pairs as u64 * 4;
        // Numbers of pairs must fit.
        let too_many = (pairs >= DEAD as usize).then_some(StopReason::Memory(bytes));
        if let Some(reason) = budget.memory(bytes).or(too_many) {
            return EmptinessAnswer::Stopped(reason);
        }
        let mut search = CycleSearch {
            numbers: vec![0; pairs],
            found: 0,
            live: Vec::new(),
            components: Vec::new(),
            frames: Vec::new(),
        };
        let mut give_up_at = DEAD;
        if !self.waits {
            for start in self.graph.initial() {
                if let Some(answer) = self.search_from(start, 0, &mut search, &mut give_up_at, budget) {
                    return answer;
                }
            }
            return EmptinessAnswer::Empty;
        }
        for (state, after) in self.graph.entries() {
            if let Some(reason) = budget.look() {
                return EmptinessAnswer::Stopped(reason);
            }
            for transition in self.leaving(state) {
                for to in after {
                    let answer = self.search_from(*to, transition.to, &mut search, &mut give_up_at, budget);
                    if let Some(answer) = answer {
                        return answer;
                    }
                }
            }
        }
        EmptinessAnswer::Empty
    }

    /// Where the automaton waits in its first state: how it can leave it when it reads a state.
    fn leaving(&self, state: u32) -> impl Iterator<Item = &BuchiTransition> {
        let label = self.graph.label(state);
        self.transitions[0].iter().filter(move |it| it.to != 0 && it.reads(label))
    }

    /// A way to a cycle that is accepted whichever elements are marked in its states.
    pub(crate) fn search_marked(
        &self,
        markings: &Markings,
        budget: &mut Spending<'_>,
    ) -> Result<Option<MarkedCycle>, StopReason> {
        let pairs = self.graph.len() * self.transitions.len();
        let bytes = pairs as u64 * 9;
        let too_many = (pairs >= DEAD as usize).then_some(StopReason::Memory(bytes));
        if let Some(reason) = budget.memory(bytes).or(too_many) {
            return Err(reason);
        }
        let mut inside = self.in_accepted_components(budget)?;
        markings.keep_all_or_none(&mut inside, self.transitions.len());
        if !inside.contains(&true) {
            return Ok(None);
        }
        let ways = self.ways_inside(&|pair| inside[pair as usize], 1);
        let (stem, pair) = ways.into_iter().next().or_internal("what was found from a start has a way to it");
        let automaton = (pair % self.transitions.len() as u64) as u32;
        Ok(Some(MarkedCycle { stem, automaton, inside }))
    }

    /// The pairs in components that have steps of all acceptance sets (Tarjan).
    fn in_accepted_components(&self, budget: &mut Spending<'_>) -> Result<Vec<bool>, StopReason> {
        let pairs = self.graph.len() * self.transitions.len();
        let (mut order, mut lowest) = (vec![0u32; pairs], vec![0u32; pairs]);
        let mut accepted = vec![false; pairs];
        let (mut live, mut found) = (Vec::new(), 0);
        let mut way: Vec<PairFrame<'_>> = Vec::new();
        for (_, root, _) in self.seeds() {
            if order[root as usize] == 0 {
                way.push(self.frame(self.state(root), root));
            }
            while let Some(frame) = way.last_mut() {
                budget.look().map_or(Ok(()), Err)?;
                let here = frame.pair as usize;
                if order[here] == 0 {
                    found += 1;
                    (order[here], lowest[here]) = (found, found);
                    live.push(frame.pair);
                }
                if let Some((to, next, _)) = self.next(frame) {
                    match order[next as usize] {
                        0 => way.push(self.frame(to, next)),
                        DEAD => {}
                        number => lowest[here] = lowest[here].min(number),
                    }
                    continue;
                }
                way.pop();
                if let Some(before) = way.last() {
                    let before = before.pair as usize;
                    lowest[before] = lowest[before].min(lowest[here]);
                }
                if lowest[here] == order[here] {
                    let first = live.iter().rposition(|pair| *pair as usize == here);
                    let first = first.or_internal("a pair whose component is complete is still live");
                    let component: Vec<ProductState> = live.split_off(first);
                    let is_accepted = self.is_accepted(&component, &order, order[here]);
                    for pair in component {
                        order[pair as usize] = DEAD;
                        accepted[pair as usize] = is_accepted;
                    }
                }
            }
        }
        Ok(accepted)
    }

    /// Whether a component, of the pairs found since its first that are not done, has steps of all acceptance sets inside.
    fn is_accepted(&self, component: &[ProductState], order: &[u32], first: u32) -> bool {
        let inside = |to: ProductState| (first..DEAD).contains(&order[to as usize]);
        let steps = component.iter().flat_map(|pair| self.steps(*pair)).filter(|(to, _)| inside(*to));
        let (cyclic, sets) = steps.fold((false, 0), |(_, all), (_, sets)| (true, all | sets));
        cyclic && sets == self.all
    }

    /// Searches on from a state of the product. Once there is a cycle, its component is completed, if that does not take too
    /// long.
    fn search_from(
        &self,
        state: u32,
        of_automaton: u32,
        search: &mut CycleSearch<'g>,
        give_up_at: &mut u32,
        budget: &mut Spending<'_>,
    ) -> Option<EmptinessAnswer> {
        let pair = self.pair(state, of_automaton);
        if search.numbers[pair as usize] != 0 {
            return None;
        }
        search.enter(self.frame(state, pair), 0);
        while let Some(frame) = search.frames.last_mut() {
            if let Some(reason) = budget.look() {
                return Some(EmptinessAnswer::Stopped(reason));
            }
            let Some((to, next, sets)) = self.next(frame) else {
                let pair = frame.pair;
                if search.accepted_on_top(self.all)
                    && search.is_first(pair)
                    && let Some(inside) = search.accepted(self.all)
                {
                    return Some(self.show(search, inside));
                }
                search.leave(pair);
                continue;
            };
            match search.numbers[next as usize] {
                0 => search.enter(self.frame(to, next), sets),
                DEAD => continue,
                number => search.join(number, sets),
            }
            if *give_up_at == DEAD && search.accepted_on_top(self.all) {
                *give_up_at = search.found.saturating_add(MOST_MORE);
            }
            if search.found >= *give_up_at
                && let Some(inside) = search.accepted(self.all)
            {
                return Some(self.show(search, inside));
            }
        }
        None
    }

    #[inline]
    fn pair(&self, state: u32, of_automaton: u32) -> ProductState {
        self.graph.dense(state) as u64 * self.transitions.len() as u64 + u64::from(of_automaton)
    }

    fn state(&self, pair: ProductState) -> u32 {
        self.graph.number((pair / self.transitions.len() as u64) as usize)
    }

    #[inline]
    fn frame(&self, state: u32, pair: ProductState) -> PairFrame<'g> {
        let (label, after) = (self.graph.label(state), self.graph.after(state));
        PairFrame { pair, label, after, cursor: StepCursor::default() }
    }

    /// The next step from a state of the product: the states of the graph and of the product that it leads to, and the acceptance
    /// sets it belongs to.
    #[inline]
    fn next(&self, frame: &mut PairFrame<'_>) -> Option<(u32, ProductState, u64)> {
        let transitions = &self.transitions[(frame.pair % self.transitions.len() as u64) as usize];
        while let Some(transition) = transitions.get(frame.cursor.transition as usize) {
            let target = frame.after.get(frame.cursor.target as usize);
            if let Some(target) = target.filter(|_| transition.reads(frame.label)) {
                frame.cursor.target += 1;
                return Some((
                    *target,
                    self.pair(*target, transition.to),
                    transition.sets | self.fair(frame.label),
                ));
            }
            frame.cursor = StepCursor { transition: frame.cursor.transition + 1, target: 0 };
        }
        None
    }

    /// The acceptance sets of fairness that a state belongs to.
    #[inline]
    fn fair(&self, label: u64) -> u64 {
        let sets = self.fairness.iter().enumerate();
        sets.fold(0, |sets, (at, bit)| sets | (label >> bit & 1) << (self.first_fair as usize + at))
    }

    pub(super) fn steps(&self, pair: ProductState) -> impl Iterator<Item = (ProductState, u64)> + '_ {
        let mut frame = self.frame(self.state(pair), pair);
        std::iter::from_fn(move || self.next(&mut frame).map(|(_, to, sets)| (to, sets)))
    }

    /// Ways to a component and through all acceptance sets in it.
    fn show(&self, search: &CycleSearch<'_>, numbers: Range<u32>) -> EmptinessAnswer {
        let inside = |pair: ProductState| {
            let number = search.numbers[pair as usize];
            number != DEAD && numbers.contains(&number)
        };
        // A short run is worth some work, in small components.
        let tries = (MOST_WORK / search.live.len().max(1)).clamp(1, MOST_TRIES);
        let cycle = |(stem, home): (Vec<u32>, ProductState)| {
            let cycle = self.cycle(home, &inside);
            Cycle { stem, cycle: cycle.into_iter().map(|pair| self.state(pair)).collect() }
        };
        let mut cycles: Vec<Cycle> = self.ways_inside(&inside, tries).into_iter().map(cycle).collect();
        cycles.sort_by_key(|it| it.stem.len() + it.cycle.len());
        cycles.truncate(MOST_SHOWN);
        EmptinessAnswer::Cycles(cycles)
    }

    /// Where ways begin: how many steps lead there, the state of the product, and the state before it, where the automaton
    /// waits. The nearest to a start first.
    fn seeds(&self) -> Vec<(u32, ProductState, Option<u32>)> {
        if !self.waits {
            return self.graph.initial().map(|state| (0, self.pair(state, 0), None)).collect();
        }
        let depths = self.graph.depths();
        let mut seeds = Vec::new();
        for (state, after) in self.graph.entries() {
            for transition in self.leaving(state) {
                let depth = depths[self.graph.dense(state)] + 1;
                seeds.extend(after.iter().map(|to| (depth, self.pair(*to, transition.to), Some(state))));
            }
        }
        seeds.sort_by_key(|(depth, ..)| *depth);
        seeds
    }

    /// A shortest way to each of the nearest states of a component: states of the graph, and the last of the product.
    fn ways_inside(
        &self,
        inside: &dyn Fn(ProductState) -> bool,
        tries: usize,
    ) -> Vec<(Vec<u32>, ProductState)> {
        let mut seeds = self.seeds().into_iter().peekable();
        let mut begins: HashMap<ProductState, Option<u32>> = HashMap::new();
        let mut before: HashMap<ProductState, ProductState> = HashMap::new();
        let mut queue: VecDeque<(u32, ProductState)> = VecDeque::new();
        let mut ways = Vec::new();
        loop {
            let next = queue.front().map_or(u32::MAX, |(depth, _)| *depth);
            if let Some((depth, pair, from)) = seeds.next_if(|(depth, ..)| *depth <= next) {
                if let std::collections::hash_map::Entry::Vacant(entry) = before.entry(pair) {
                    entry.insert(pair);
                    begins.insert(pair, from);
                    queue.push_front((depth, pair));
                }
                continue;
            }
            let Some((depth, pair)) = queue.pop_front() else { return ways };
            if inside(pair) {
                let way = way_back(&before, pair);
                let mut stem = begins[&way[0]].map_or(Vec::new(), |from| self.graph.way(from));
                stem.extend(way.iter().map(|pair| self.state(*pair)));
                ways.push((stem, pair));
                if ways.len() == tries {
                    return ways;
                }
            }
            for (to, _) in self.steps(pair) {
                before.entry(to).or_insert_with(|| {
                    queue.push_back((depth + 1, to));
                    pair
                });
            }
        }
    }

    /// A way around, from a state of a component through steps of all acceptance sets and back.
    fn cycle(&self, home: ProductState, inside: &dyn Fn(ProductState) -> bool) -> Vec<ProductState> {
        let (mut cycle, mut missing, mut at) = (Vec::new(), self.all, home);
        while missing != 0 || at != home || cycle.is_empty() {
            let wanted =
                |to: ProductState, sets: u64| if missing == 0 { to == home } else { sets & missing != 0 };
            let way = self.way(at, inside, &wanted);
            // The sets of the steps on the way count as well, for the same step of the graph.
            for pair in way.windows(2) {
                let step = |missing: u64| {
                    let sets = self.steps(pair[0]).filter(|(to, _)| *to == pair[1]).map(|(_, sets)| sets);
                    sets.max_by_key(|sets| (sets & missing).count_ones()).unwrap_or(0)
                };
                missing &= !step(missing);
            }
            let Some(last) = way.last().copied().filter(|_| way.len() > 1) else { break };
            at = last;
            cycle.extend(way.into_iter().skip(1));
        }
        cycle
    }

    /// A shortest way from a state through allowed ones, up to a step that is wanted; at least one step.
    fn way(
        &self,
        from: ProductState,
        allowed: &dyn Fn(ProductState) -> bool,
        wanted: &dyn Fn(ProductState, u64) -> bool,
    ) -> Vec<ProductState> {
        let mut before: HashMap<ProductState, ProductState> = HashMap::from([(from, from)]);
        let mut queue: VecDeque<ProductState> = VecDeque::from([from]);
        while let Some(pair) = queue.pop_front() {
            for (to, sets) in self.steps(pair).filter(|(to, _)| allowed(*to)) {
                if wanted(to, sets) {
                    let mut way = way_back(&before, pair);
                    way.push(to);
                    return way;
                }
                before.entry(to).or_insert_with(|| {
                    queue.push_back(to);
                    pair
                });
            }
        }
        Vec::new()
    }
}

/// The way that led to a state, by the state before each.
fn way_back(before: &HashMap<ProductState, ProductState>, to: ProductState) -> Vec<ProductState> {
    let mut way = vec![to];
    let mut at = to;
    while let Some(earlier) = before.get(&at).copied().filter(|earlier| *earlier != at) {
        way.push(earlier);
        at = earlier;
    }
    way.reverse();
    way
}
