//! The graph of all states and steps, for pictures and other tools.

use std::ops::ControlFlow;

use shoal_code::{Machine, Program, Stepper, Steps, Visitor, args};
use shoal_model::{
    Fault, Job, Model, PropertyId, Quiet, RuleId, SortId, State, StopReason, TypedId, Unsupported, Value,
    Watch,
};

use crate::{
    kripke::WantedSteps,
    room::Rooms,
    search::{self, Findings, Nowhere, ReadOutcome, Refusal, SearchReader},
    support::unsupported,
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
    let watch = watch.with_states(Some(limit_states as u64));
    let job = Job { symmetric: symmetric.to_vec(), watch, ..Job::new(Vec::new()) };
    let mut picture = GraphPicture::default();
    let found = search::check_and_keep(model, &job, &mut Quiet, &mut Nowhere, Some(&mut picture));
    found.map_err(|refusal| match refusal {
        Refusal::Unsupported(unsupported) => unsupported,
        Refusal::Saved(error) => unsupported(error.to_string(), None),
    })?;
    Ok((picture.graph, picture.full))
}

/// Draws what a search has found.
#[derive(Default)]
struct GraphPicture {
    graph: Graph,
    full: Option<SortId>,
}

impl SearchReader for GraphPicture {
    fn conditions(&self) -> &[PropertyId] {
        &[]
    }

    // The search knows which states follow each other, but not by which values of parameters.
    fn wanted(&self) -> WantedSteps {
        WantedSteps::default()
    }

    fn steps(&self, _: &mut Program) -> Steps {
        Steps::All
    }

    fn give_up_at(&self) -> Option<u64> {
        None
    }

    fn read(&mut self, explored: &mut Findings<'_, '_>) -> ReadOutcome {
        if let Some(Some(StopReason::Elements(sort))) = explored.end {
            self.full = Some(sort);
        }
        let Findings { model, layout, program, .. } = *explored;
        let complete = explored.end == Some(None);
        let mut drawing = GraphDrawing {
            nodes: vec![None; explored.graph.len()],
            order: Vec::new(),
            cells: vec![0; layout.cells()],
            words: vec![0; layout.words()],
            current: None,
            graph: Graph { complete, ..Graph::default() },
            explored,
        };
        let whole = drawing.run(&mut Stepper::new(model, layout, program));
        drawing.graph.complete &= whole;
        self.graph = drawing.graph;
        ReadOutcome { violated: false, done: true }
    }
}

/// Takes the steps of all states again, now with their parameters.
struct GraphDrawing<'x, 'e, 'm> {
    explored: &'x mut Findings<'e, 'm>,
    /// The node of each state.
    nodes: Vec<Option<usize>>,
    /// The states of the nodes, packed.
    order: Vec<Vec<u64>>,
    cells: Vec<i64>,
    words: Vec<u64>,
    /// The node whose steps are taken.
    current: Option<usize>,
    graph: Graph,
}

impl<'m> GraphDrawing<'_, '_, 'm> {
    /// False if there was no time for all of them.
    fn run(&mut self, stepper: &mut Stepper<'m>) -> bool {
        let watch = self.explored.budget.job.watch.clone();
        if stepper.starts_within(&watch, self).is_err() {
            return false;
        }
        let mut node = 0;
        while let Some(state) = self.order.get(node).cloned() {
            self.current = Some(node);
            if watch.check().is_err() {
                return false;
            }
            let _ = stepper.expand_steps(&state, Steps::All, self);
            if self.explored.program.stopped().is_some() {
                return false;
            }
            node += 1;
        }
        true
    }

    /// The node of the state in `cells`, if the search has found it.
    fn node(&mut self) -> Option<usize> {
        let Findings { model, layout, ref mut canon, ref graph, .. } = *self.explored;
        if let Some(canon) = canon {
            canon.canonicalise(&mut self.cells);
        }
        layout.pack(&self.cells, &mut self.words);
        let state = graph.dense(graph.find(&self.words)?);
        let next = self.order.len();
        let node = *self.nodes[state].get_or_insert(next);
        if node == next {
            self.order.push(self.words.clone());
            self.graph.nodes.push(layout.decode(model, &self.cells));
        }
        Some(node)
    }
}

impl Visitor for GraphDrawing<'_, '_, '_> {
    fn fired(&mut self, rule: usize, machine: &Machine<'_>, _moves: bool) -> ControlFlow<()> {
        self.cells.copy_from_slice(machine.state());
        if self.explored.canon.as_mut().is_some_and(|canon| canon.loses(&self.cells)) {
            return ControlFlow::Continue(());
        }
        match (self.node(), self.current) {
            // There may be no end of starts, and there is no room for another.
            (None, None) if !self.graph.complete => return ControlFlow::Break(()),
            (None, _) => {}
            (Some(to), None) => {
                if !self.graph.initial.contains(&to) {
                    self.graph.initial.push(to);
                }
            }
            (Some(to), Some(from)) => {
                let Findings { model, program, .. } = *self.explored;
                let args = args(model, &program.rules[rule], machine);
                self.graph.edges.push(Edge { from, to, rule: RuleId::from_index(rule), args });
            }
        }
        ControlFlow::Continue(())
    }

    fn body_fault(&mut self, _rule: usize, _machine: &Machine<'_>, _fault: Fault) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn guard_fault(&mut self, _rule: usize, _args: Vec<Value>, _fault: Fault) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}
