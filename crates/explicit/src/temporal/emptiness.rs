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

use shoal_model::{Progress, StopReason};

use super::{
    automaton::{Automaton, mask},
    graph::{Budget, Graph},
};

/// What the search found.
pub(crate) enum Answer {
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

/// A state of the product: a state of the graph and one of the automaton, in one number.
type Pair = u64;

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
    graph: &'g Graph,
    automaton: &'g Automaton,
    /// The conditions of the automaton, then those of fairness, as numbers of conditions of the graph.
    bits: &'g [u32],
    /// All acceptance sets.
    all: u64,
}

/// Where among the steps of a state the search is.
#[derive(Clone, Copy, Default)]
struct Cursor {
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
struct Search {
    /// For each state, its number in the order found; 0 if it was not found, or [`DEAD`].
    numbers: Vec<u32>,
    found: u32,
    live: Vec<Pair>,
    components: Vec<Component>,
    frames: Vec<(Pair, Cursor)>,
}

impl Search {
    fn enter(&mut self, pair: Pair, incoming: u64) {
        self.found += 1;
        self.numbers[pair as usize] = self.found;
        self.live.push(pair);
        self.components.push(Component { first: self.found, sets: 0, incoming, cyclic: false });
        self.frames.push((pair, Cursor::default()));
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
    fn is_first(&self, pair: Pair) -> bool {
        self.components.last().is_some_and(|component| component.first == self.numbers[pair as usize])
    }

    /// All steps of a state are done.
    fn leave(&mut self, pair: Pair) {
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
    pub(crate) fn new(graph: &'g Graph, automaton: &'g Automaton, bits: &'g [u32]) -> Self {
        let fairness = (bits.len() - automaton.atoms) as u32;
        Product { graph, automaton, bits, all: mask(automaton.sets + fairness) }
    }

    pub(crate) fn search(&self, budget: &mut Budget<'_>) -> Answer {
        let pairs = self.graph.len() * self.automaton.states.len();
        let bytes = self.graph.store.bytes() + self.graph.bytes() + pairs as u64 * 4;
        // Numbers of pairs must fit.
        let too_many = (pairs >= DEAD as usize).then_some(StopReason::Memory(bytes));
        if let Some(reason) = budget.memory(bytes).or(too_many) {
            return Answer::Stopped(reason);
        }
        let mut search = Search {
            numbers: vec![0; pairs],
            found: 0,
            live: Vec::new(),
            components: Vec::new(),
            frames: Vec::new(),
        };
        // Once there is a cycle, its component is completed, if that does not take too long.
        let mut give_up_at = DEAD;
        for start in self.starts() {
            if search.numbers[start as usize] == 0 {
                search.enter(start, 0);
            }
            while let Some((pair, mut cursor)) = search.frames.last().copied() {
                if let Some(reason) = budget.look(|| self.progress(&search)) {
                    return Answer::Stopped(reason);
                }
                let Some((to, sets)) = self.next(pair, &mut cursor) else {
                    if search.accepted_on_top(self.all)
                        && search.is_first(pair)
                        && let Some(inside) = search.accepted(self.all)
                    {
                        return self.show(&search, inside);
                    }
                    search.leave(pair);
                    continue;
                };
                if let Some(frame) = search.frames.last_mut() {
                    frame.1 = cursor;
                }
                match search.numbers[to as usize] {
                    0 => search.enter(to, sets),
                    DEAD => {}
                    number => search.join(number, sets),
                }
                if give_up_at == DEAD && search.accepted_on_top(self.all) {
                    give_up_at = search.found.saturating_add(MOST_MORE);
                }
                if search.found >= give_up_at
                    && let Some(inside) = search.accepted(self.all)
                {
                    return self.show(&search, inside);
                }
            }
        }
        Answer::Empty
    }

    fn progress(&self, search: &Search) -> Progress {
        Progress {
            states: self.graph.len() as u64,
            transitions: u64::from(search.found),
            frontier: search.frames.len() as u64,
            memory_bytes: self.graph.store.bytes() + self.graph.bytes() + search.numbers.len() as u64 * 4,
            ..Progress::default()
        }
    }

    fn starts(&self) -> impl Iterator<Item = Pair> + '_ {
        self.graph.initial.iter().map(|state| self.pair(*state, 0))
    }

    fn pair(&self, state: u32, of_automaton: u32) -> Pair {
        u64::from(state) * self.automaton.states.len() as u64 + u64::from(of_automaton)
    }

    fn state(&self, pair: Pair) -> u32 {
        (pair / self.automaton.states.len() as u64) as u32
    }

    /// The next step from a state of the product, with the acceptance sets it belongs to.
    fn next(&self, pair: Pair, cursor: &mut Cursor) -> Option<(Pair, u64)> {
        let state = self.state(pair);
        let transitions = &self.automaton.states[(pair % self.automaton.states.len() as u64) as usize];
        let after = self.graph.after(state);
        let label = self.gather(self.graph.label(state));
        while let Some(transition) = transitions.get(cursor.transition as usize) {
            let enabled = label & transition.holds == transition.holds && label & transition.fails == 0;
            if let Some(target) = after.get(cursor.target as usize).filter(|_| enabled) {
                cursor.target += 1;
                let fair = if self.automaton.atoms < 64 { label >> self.automaton.atoms } else { 0 };
                let fair = if self.automaton.sets < 64 { fair << self.automaton.sets } else { 0 };
                return Some((self.pair(*target, transition.to), transition.sets | fair));
            }
            *cursor = Cursor { transition: cursor.transition + 1, target: 0 };
        }
        None
    }

    /// The truth of the automaton's conditions, then of fairness.
    fn gather(&self, label: u64) -> u64 {
        self.bits.iter().enumerate().fold(0, |sum, (at, bit)| sum | (label >> bit & 1) << at)
    }

    fn steps(&self, pair: Pair) -> impl Iterator<Item = (Pair, u64)> + '_ {
        let mut cursor = Cursor::default();
        std::iter::from_fn(move || self.next(pair, &mut cursor))
    }

    /// Ways to a component and through all acceptance sets in it.
    fn show(&self, search: &Search, numbers: Range<u32>) -> Answer {
        let inside = |pair: Pair| {
            let number = search.numbers[pair as usize];
            number != DEAD && numbers.contains(&number)
        };
        // A short run is worth some work, in small components.
        let tries = (MOST_WORK / search.live.len().max(1)).clamp(1, MOST_TRIES);
        let states = |pairs: &[Pair]| pairs.iter().map(|pair| self.state(*pair)).collect();
        let cycle = |stem: Vec<Pair>| {
            let cycle = self.cycle(stem[stem.len() - 1], &inside);
            Cycle { stem: states(&stem), cycle: states(&cycle) }
        };
        let mut cycles: Vec<Cycle> = self.ways_inside(&inside, tries).into_iter().map(cycle).collect();
        cycles.sort_by_key(|it| it.stem.len() + it.cycle.len());
        cycles.truncate(MOST_SHOWN);
        Answer::Cycles(cycles)
    }

    /// A shortest way to each of the nearest states of a component.
    fn ways_inside(&self, inside: &dyn Fn(Pair) -> bool, tries: usize) -> Vec<Vec<Pair>> {
        let mut before: HashMap<Pair, Pair> = self.starts().map(|pair| (pair, pair)).collect();
        let mut queue: VecDeque<Pair> = self.starts().collect();
        let mut ways = Vec::new();
        while let Some(pair) = queue.pop_front() {
            if inside(pair) {
                ways.push(way_back(&before, pair));
                if ways.len() == tries {
                    break;
                }
            }
            for (to, _) in self.steps(pair) {
                before.entry(to).or_insert_with(|| {
                    queue.push_back(to);
                    pair
                });
            }
        }
        ways
    }

    /// A way around, from a state of a component through steps of all acceptance sets and back.
    fn cycle(&self, home: Pair, inside: &dyn Fn(Pair) -> bool) -> Vec<Pair> {
        let (mut cycle, mut missing, mut at) = (Vec::new(), self.all, home);
        while missing != 0 || at != home || cycle.is_empty() {
            let wanted = |to: Pair, sets: u64| if missing == 0 { to == home } else { sets & missing != 0 };
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
        from: Pair,
        allowed: &dyn Fn(Pair) -> bool,
        wanted: &dyn Fn(Pair, u64) -> bool,
    ) -> Vec<Pair> {
        let mut before: HashMap<Pair, Pair> = HashMap::from([(from, from)]);
        let mut queue: VecDeque<Pair> = VecDeque::from([from]);
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
fn way_back(before: &HashMap<Pair, Pair>, to: Pair) -> Vec<Pair> {
    let mut way = vec![to];
    let mut at = to;
    while let Some(earlier) = before.get(&at).copied().filter(|earlier| *earlier != at) {
        way.push(earlier);
        at = earlier;
    }
    way.reverse();
    way
}
