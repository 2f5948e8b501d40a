//! Runs of a model that together do everything it can do: tests for what implements it.
//!
//! The reachable states and steps are explored; then a run goes on from where it stands to the nearest thing that is not covered
//! yet, until it is long, and the next one begins. Each run is replayed by the reference interpreter before it is handed back.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use shoal_explicit::{Edge, Graph};
use shoal_interpret::{Firing, Instance, Interpreter};
use shoal_model::{
    PropertyId, PropertyKind, Ratio, RuleId, StartId, State, Step, Trace, TypedId, Value, Watch, under,
};

use crate::{Asked, Error, Loaded, graph::plain_graph};

/// Something that a test is to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TestItem {
    /// A rule fires.
    Rule(RuleId),
    /// A rule fires, and the next step is another rule's or its own.
    Pair(RuleId, RuleId),
    /// A goal is reached, by its number.
    Goal(usize),
}

/// A state or a step that is to be seen.
#[derive(Clone, Debug)]
pub struct TestGoal {
    /// What it is called.
    pub name: String,
    /// When it is reached.
    pub reached: GoalReached,
}

/// When a goal is reached.
#[derive(Clone, Debug)]
pub enum GoalReached {
    /// When a property of the model that asks whether something can happen is satisfied.
    Covered(PropertyId),
    /// In a state where an expression is true.
    Holds(Box<Asked>),
}

/// What is to be covered, and how.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TestOptions {
    /// Every rule.
    pub rules: bool,
    /// Every two rules of which the one fires right after the other.
    pub pairs: bool,
    /// Every goal of these.
    pub goals: Vec<TestGoal>,
    /// A run that has so many steps is long enough. One that is needed to get somewhere may be longer.
    pub length: usize,
    /// So many states are explored.
    pub states: usize,
    /// When to end.
    pub watch: Watch,
}

impl Default for TestOptions {
    fn default() -> Self {
        let goals = Vec::new();
        TestOptions { rules: true, pairs: true, goals, length: 50, states: 20_000, watch: Watch::default() }
    }
}

/// A run, and what it is the first to show.
#[derive(Clone, Debug, PartialEq)]
pub struct TestRun {
    /// The run.
    pub trace: Trace,
    /// What no run before it shows.
    pub covers: Vec<TestItem>,
}

/// Runs that cover what can be covered.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Tests {
    /// The runs.
    pub runs: Vec<TestRun>,
    /// What was wanted.
    pub wanted: BTreeSet<TestItem>,
    /// What no run shows. It cannot happen if everything was explored.
    pub missing: BTreeSet<TestItem>,
    /// How many states were explored.
    pub states: usize,
    /// Whether these are all there are.
    pub complete: bool,
}

/// The goals that a model names itself.
pub fn goals_of(loaded: &Loaded) -> Vec<TestGoal> {
    let asked = loaded.asked.iter().map(|id| (*id, &loaded.model.properties[*id]));
    let goals = asked.filter(|(_, property)| matches!(property.kind, PropertyKind::Cover(_)));
    goals.map(|(id, it)| TestGoal { name: it.title(), reached: GoalReached::Covered(id) }).collect()
}

/// Makes tests. Models with clocks or with any number of elements are refused by name.
pub fn generate_tests(loaded: &Loaded, options: &TestOptions) -> Result<Tests, Error> {
    let graph = plain_graph(loaded, &[], options.states, &options.watch)?;
    under(&options.watch, || covering(loaded, &graph, options)).map_err(Error::Stopped)?
}

fn covering(loaded: &Loaded, graph: &Graph, options: &TestOptions) -> Result<Tests, Error> {
    options.watch.check().map_err(Error::Stopped)?;
    let interpreter =
        Interpreter::new(&loaded.model).map_err(|error| Error::NotRunnable(error.to_string()))?;
    let map = Map::of(loaded, &interpreter, graph, options)?;
    let starts = StartRuns::of(&interpreter, graph);
    let mut wanted = map.possible.clone();
    let rules = loaded.model.rules.ids();
    if options.rules {
        wanted.extend(rules.map(TestItem::Rule));
    }
    wanted.extend((0..options.goals.len()).map(TestItem::Goal));
    let missing = wanted.difference(&map.possible).copied().collect();
    let mut left = map.possible.clone();
    let mut runs = Vec::new();
    while !left.is_empty() {
        let tour = map.tour(&mut left, options)?;
        let trace = map.trace(&interpreter, &starts, &tour)?;
        shoal_interpret::replay(&loaded.model, &trace)
            .map_err(|error| Error::Internal(format!("a test does not replay: {error}")))?;
        runs.push(TestRun { trace, covers: tour.covers });
    }
    Ok(Tests { runs, wanted, missing, states: graph.nodes.len(), complete: graph.complete })
}

/// The explored part of a model, with what is to be seen in it.
struct Map<'g> {
    graph: &'g Graph,
    /// The edges that leave each state.
    leaving: Vec<Vec<usize>>,
    /// The goals reached in each state, and on each edge.
    in_state: BTreeMap<usize, Vec<usize>>,
    on_edge: BTreeMap<usize, Vec<usize>>,
    pairs: bool,
    /// What can be covered.
    possible: BTreeSet<TestItem>,
}

/// A way through the graph.
struct Tour {
    start: usize,
    edges: Vec<usize>,
    covers: Vec<TestItem>,
}

/// Where a run stands, and the rule that led there, if that matters.
type RunPosition = (usize, Option<RuleId>);

impl<'g> Map<'g> {
    fn of(
        loaded: &Loaded,
        interpreter: &Interpreter<'_>,
        graph: &'g Graph,
        options: &TestOptions,
    ) -> Result<Map<'g>, Error> {
        let mut leaving = vec![Vec::new(); graph.nodes.len()];
        let mut arriving = vec![BTreeSet::new(); graph.nodes.len()];
        for (number, edge) in graph.edges.iter().enumerate() {
            leaving[edge.from].push(number);
            arriving[edge.to].insert(edge.rule);
        }
        let (in_state, on_edge) = goals_reached(loaded, interpreter, graph, options)?;
        let mut possible = BTreeSet::new();
        for edge in &graph.edges {
            if options.rules {
                possible.insert(TestItem::Rule(edge.rule));
            }
            if options.pairs {
                possible.extend(arriving[edge.from].iter().map(|before| TestItem::Pair(*before, edge.rule)));
            }
        }
        let goals = in_state.values().chain(on_edge.values()).flatten();
        possible.extend(goals.map(|goal| TestItem::Goal(*goal)));
        Ok(Map { graph, leaving, in_state, on_edge, pairs: options.pairs, possible })
    }

    /// What is seen in a state.
    fn seen_in(&self, state: usize) -> impl Iterator<Item = TestItem> {
        self.in_state.get(&state).into_iter().flatten().map(|goal| TestItem::Goal(*goal))
    }

    /// What is seen when a step is made after a rule has fired.
    fn seen_on(&self, last: Option<RuleId>, number: usize) -> impl Iterator<Item = TestItem> {
        let edge = &self.graph.edges[number];
        let pair = last.map(|last| TestItem::Pair(last, edge.rule));
        let on_edge = self.on_edge.get(&number).into_iter().flatten().map(|goal| TestItem::Goal(*goal));
        [TestItem::Rule(edge.rule)].into_iter().chain(pair).chain(on_edge).chain(self.seen_in(edge.to))
    }

    /// One run: from the start to the nearest thing that is left, from there to the next.
    fn tour(&self, left: &mut BTreeSet<TestItem>, options: &TestOptions) -> Result<Tour, Error> {
        let none = || Error::Internal("nothing leads to a step that was explored".into());
        let starts: Vec<RunPosition> = self.graph.initial.iter().map(|start| (*start, None)).collect();
        let (start, mut way) = self.nearest(&starts, left, &options.watch)?.ok_or_else(none)?;
        let mut tour = Tour { start, edges: Vec::new(), covers: Vec::new() };
        tour.covers.extend(self.seen_in(start).filter(|item| left.remove(item)));
        let (mut at, mut last) = (start, None);
        loop {
            for number in way {
                tour.covers.extend(self.seen_on(last, number).filter(|item| left.remove(item)));
                let edge = &self.graph.edges[number];
                (at, last) = (edge.to, Some(edge.rule));
                tour.edges.push(number);
            }
            if left.is_empty() || tour.edges.len() >= options.length {
                return Ok(tour);
            }
            match self.nearest(&[(at, last)], left, &options.watch)? {
                Some((_, next)) if tour.edges.len() + next.len() <= options.length => way = next,
                _ => return Ok(tour),
            }
        }
    }

    /// The shortest way from one of some places to something that is left, and where it begins; breadth first. A rule that led
    /// to a place is a part of it only if pairs are wanted.
    fn nearest(
        &self,
        from: &[RunPosition],
        left: &BTreeSet<TestItem>,
        watch: &Watch,
    ) -> Result<Option<(usize, Vec<usize>)>, Error> {
        let mut before: BTreeMap<RunPosition, Option<(RunPosition, usize)>> = BTreeMap::new();
        let mut waiting = VecDeque::new();
        for place in from {
            if place.1.is_none() && self.seen_in(place.0).any(|item| left.contains(&item)) {
                return Ok(Some((place.0, Vec::new())));
            }
            before.insert(*place, None);
            waiting.push_back(*place);
        }
        let mut ticker = watch.ticker();
        while let Some(place) = waiting.pop_front() {
            ticker.tick().map_err(Error::Stopped)?;
            for number in &self.leaving[place.0] {
                let edge = &self.graph.edges[*number];
                let next = (edge.to, self.pairs.then_some(edge.rule));
                if self.seen_on(place.1, *number).any(|item| left.contains(&item)) {
                    return Ok(Some(way_back(&before, place, *number)));
                }
                before.entry(next).or_insert_with(|| {
                    waiting.push_back(next);
                    Some((place, *number))
                });
            }
        }
        Ok(None)
    }

    /// The run, with what the steps chose on the way.
    fn trace(&self, interpreter: &Interpreter<'_>, starts: &StartRuns, tour: &Tour) -> Result<Trace, Error> {
        let state = self.graph.nodes[tour.start].clone();
        let begins = starts.0.get(&tour.start);
        let (start, args, choices) =
            begins.ok_or_else(|| Error::Internal("no start makes a state that was explored".into()))?.clone();
        let mut steps = Vec::new();
        for number in &tour.edges {
            let edge = &self.graph.edges[*number];
            let choices = self.choices(interpreter, edge)?;
            let (rule, args, state) = (edge.rule, edge.args.clone(), self.graph.nodes[edge.to].clone());
            steps.push(Step { delay: Ratio::ZERO, rule, args, choices, state });
        }
        Ok(Trace { start, args, choices, state, steps, loops_to: None })
    }

    fn choices(&self, interpreter: &Interpreter<'_>, edge: &Edge) -> Result<Vec<Value>, Error> {
        let instance = Instance { rule: edge.rule, args: edge.args.clone() };
        let goal = Firing::State(self.graph.nodes[edge.to].clone());
        let mut branches = interpreter.fire(&self.graph.nodes[edge.from], &instance).into_iter();
        let found = branches.find(|branch| branch.result == goal);
        let branch = found.ok_or_else(|| {
            Error::Internal(format!("rule {} does not lead where it was explored to lead", edge.rule.index()))
        })?;
        Ok(branch.choices)
    }
}

/// How each start state is made: the start, its arguments, what it chooses.
struct StartRuns(BTreeMap<usize, (StartId, Vec<Value>, Vec<Value>)>);

impl StartRuns {
    fn of(interpreter: &Interpreter<'_>, graph: &Graph) -> StartRuns {
        let wanted: BTreeMap<&State, usize> =
            graph.initial.iter().map(|number| (&graph.nodes[*number], *number)).collect();
        let foreseen = shoal_analysis::foresee(interpreter.model());
        let ahead = foreseen.as_ref().and_then(|model| Interpreter::new(model).ok());
        let mut made = BTreeMap::new();
        for (start, args, branch) in ahead.as_ref().unwrap_or(interpreter).starts_up_to(usize::MAX) {
            let Firing::State(state) = &branch.result else { continue };
            if let Some(number) = wanted.get(state) {
                made.entry(*number).or_insert((start, args, branch.choices));
            }
        }
        StartRuns(made)
    }
}

/// The edges to a place and one more, and the state where they begin.
fn way_back(
    before: &BTreeMap<RunPosition, Option<(RunPosition, usize)>>,
    mut place: RunPosition,
    last: usize,
) -> (usize, Vec<usize>) {
    let mut way = vec![last];
    while let Some(Some((previous, number))) = before.get(&place) {
        way.push(*number);
        place = *previous;
    }
    way.reverse();
    (place.0, way)
}

/// The goals by the states or the edges that they are reached in.
type ReachedIn = BTreeMap<usize, Vec<usize>>;

fn goals_reached(
    loaded: &Loaded,
    interpreter: &Interpreter<'_>,
    graph: &Graph,
    options: &TestOptions,
) -> Result<(ReachedIn, ReachedIn), Error> {
    let (mut in_state, mut on_edge) = (ReachedIn::new(), ReachedIn::new());
    let mut ticker = options.watch.ticker();
    for (goal, wanted) in options.goals.iter().enumerate() {
        let is_state = |state: &State| match &wanted.reached {
            // What faults in a state is not reached there.
            GoalReached::Holds(asked) => asked.value(state) == Ok(Value::Bool(true)),
            GoalReached::Covered(id) => match &loaded.model.properties[*id].kind {
                PropertyKind::Cover(Some(condition)) => interpreter.holds(state, condition) == Ok(true),
                _ => false,
            },
        };
        for (number, state) in graph.nodes.iter().enumerate() {
            ticker.tick().map_err(Error::Stopped)?;
            if is_state(state) {
                in_state.entry(number).or_default().push(goal);
            }
        }
        let GoalReached::Covered(id) = &wanted.reached else { continue };
        if !matches!(loaded.model.properties[*id].kind, PropertyKind::Cover(None)) {
            continue;
        }
        for (number, edge) in graph.edges.iter().enumerate() {
            ticker.tick().map_err(Error::Stopped)?;
            let instance = Instance { rule: edge.rule, args: edge.args.clone() };
            let leads = Firing::State(graph.nodes[edge.to].clone());
            let branches = interpreter.fire(&graph.nodes[edge.from], &instance);
            if branches.iter().any(|branch| branch.result == leads && branch.covered.contains(id)) {
                on_edge.entry(number).or_default().push(goal);
            }
        }
    }
    Ok((in_state, on_edge))
}
