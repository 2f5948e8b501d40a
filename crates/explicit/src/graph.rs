//! The graph of all states and steps, for pictures and other tools.

use std::ops::ControlFlow;

use shoal_code::{Layout, Machine, Program, Stepper, Visitor, args, compile};
use shoal_model::{Fault, Model, RuleId, SortId, State, TypedId, Unsupported, Value, Watch};

use crate::{
    canon::Canon,
    monitor::Monitors,
    room::Rooms,
    search::{canon_for, store_for},
    store::{Inserted, NONE, Store},
    support::ENGINE,
};

/// The reachable states and the steps between them. With symmetry, one state of each orbit.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// The states, nearest to a start first.
    pub nodes: Vec<State>,
    /// The start states, as numbers of nodes.
    pub initial: Vec<usize>,
    /// The steps.
    pub edges: Vec<Edge>,
    /// Whether all states and steps are there: the limit was not reached.
    pub complete: bool,
}

/// A step.
#[derive(Clone, Debug, PartialEq)]
pub struct Edge {
    /// The node before.
    pub from: usize,
    /// The node after; with symmetry, the representative of the state after.
    pub to: usize,
    /// The rule that fires.
    pub rule: RuleId,
    /// The values of its parameters.
    pub args: Vec<Value>,
}

/// Explores a model and gives the graph, up to a number of states. Steps that fault are not in it.
pub fn graph(
    model: &Model,
    symmetric: &[SortId],
    limit_states: usize,
    watch: &Watch,
) -> Result<Graph, Unsupported> {
    let mut rooms = Rooms::first(model);
    loop {
        let (mut graph, full) = graph_in(&rooms.model(model), symmetric, limit_states, watch)?;
        match full {
            Some(sort) if rooms.enlarge(sort) => {}
            _ => {
                graph.complete &= full.is_none();
                return Ok(graph);
            }
        }
    }
}

/// The graph of a model whose sorts do not grow beyond a limit, and a sort that needs more room.
fn graph_in(
    model: &Model,
    symmetric: &[SortId],
    limit_states: usize,
    watch: &Watch,
) -> Result<(Graph, Option<SortId>), Unsupported> {
    let layout = shoal_code::accept(model, ENGINE)?;
    let foreseen = shoal_analysis::foresee(model);
    let model = foreseen.as_ref().unwrap_or(model);
    let program = compile(model, &layout, ENGINE)?.under(watch);
    let job = shoal_model::Job { symmetric: symmetric.to_vec(), ..shoal_model::Job::new(Vec::new()) };
    let mut builder = Builder {
        model,
        layout: &layout,
        program: &program,
        canon: canon_for(model, &layout, symmetric, shoal_model::Representatives::Exact)?,
        store: store_for(&layout, None),
        monitors: Monitors::new(model, &program, &job),
        judge: Machine::new(&program),
        cells: vec![0; layout.cells()],
        words: vec![0; layout.words()],
        current: NONE,
        limit: limit_states,
        watch: watch.clone(),
        graph: Graph { complete: true, ..Graph::default() },
    };
    builder.run();
    Ok((builder.graph, program.full()))
}

struct Builder<'m> {
    model: &'m Model,
    layout: &'m Layout,
    program: &'m Program,
    canon: Option<Canon>,
    store: Store,
    monitors: Monitors,
    judge: Machine<'m>,
    cells: Vec<i64>,
    words: Vec<u64>,
    current: u32,
    limit: usize,
    watch: Watch,
    graph: Graph,
}

impl Builder<'_> {
    fn run(&mut self) {
        let mut stepper = Stepper::new(self.model, self.layout, self.program);
        let watch = self.watch.clone();
        if stepper.starts_within(&watch, self).is_err() {
            self.graph.complete = false;
        }
        let mut cells = vec![0; self.layout.cells()];
        let mut words = vec![0; self.layout.words()];
        let mut next = 0;
        while next < self.store.len() {
            if self.watch.check().is_err() {
                self.graph.complete = false;
                break;
            }
            self.current = next as u32;
            self.store.get(self.current, &mut words);
            self.layout.unpack(&words, &mut cells);
            let _ = stepper.expand(&cells, self);
            if self.program.stopped().is_some() {
                self.graph.complete = false;
                break;
            }
            next += 1;
        }
    }

    /// The node of the state in `cells`, if there is one.
    fn node(&mut self) -> Option<usize> {
        if let Some(canon) = &mut self.canon {
            canon.canonicalise(&mut self.cells);
        }
        self.layout.pack(&self.cells, &mut self.words);
        if !self.store.contains(&self.words) {
            self.judge.state_mut().copy_from_slice(&self.cells);
            let assumptions = &self.monitors.assumptions;
            if !assumptions.iter().all(|(_, pc)| self.judge.holds(*pc) == Ok(true)) {
                return None;
            }
            if self.store.len() >= self.limit {
                self.graph.complete = false;
                return None;
            }
        }
        match self.store.insert(&self.words, NONE, 0) {
            Inserted::Known(number) => Some(number as usize),
            Inserted::New(number) => {
                self.graph.nodes.push(self.layout.decode(self.model, &self.cells));
                Some(number as usize)
            }
            Inserted::Full => {
                self.graph.complete = false;
                None
            }
        }
    }
}

impl Visitor for Builder<'_> {
    fn fired(&mut self, rule: usize, machine: &Machine<'_>, _moves: bool) -> ControlFlow<()> {
        self.cells.copy_from_slice(machine.state());
        if self.canon.as_mut().is_some_and(|canon| canon.loses(&self.cells)) {
            return ControlFlow::Continue(());
        }
        let Some(to) = self.node() else {
            // There may be no end of starts, and there is no room for another.
            return if self.current == NONE { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
        };
        if self.current == NONE {
            if !self.graph.initial.contains(&to) {
                self.graph.initial.push(to);
            }
            return ControlFlow::Continue(());
        }
        let args = args(self.model, &self.program.rules[rule], machine);
        let edge = Edge { from: self.current as usize, to, rule: RuleId::from_index(rule), args };
        self.graph.edges.push(edge);
        ControlFlow::Continue(())
    }

    fn body_fault(&mut self, _rule: usize, _machine: &Machine<'_>, _fault: Fault) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn guard_fault(&mut self, _rule: usize, _args: Vec<Value>, _fault: Fault) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}
