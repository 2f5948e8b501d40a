//! The reachable states and steps of a model, for pictures and for other tools.

use std::collections::HashMap;

use shoal_explicit::{Edge, Graph};
use shoal_model::{
    Domain, ExprKind, Model, PropertyId, PropertyKind, Ratio, Rule, SortId, State, Value, Watch,
};
use shoal_timed::{ClockFact, ZoneGraph, ZoneNode};
use shoal_verify::{Doubt, Looked};

use crate::{Error, Loaded};

/// The sorts that the quotient of a graph is made by: those whose elements the rules, starts and assumptions do not tell apart. What
/// other properties name is no concern of the graph.
pub fn graph_symmetry(loaded: &Loaded) -> Vec<SortId> {
    let model = unasked(&loaded.model);
    let symmetry = shoal_analysis::symmetry(&model);
    model.sorts.ids().filter(|sort| symmetry.sorts[*sort].is_proved()).collect()
}

/// The states and steps of a model. With clocks, a node is all states that differ only in what the clocks show, within a zone.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ModelGraph {
    /// The states, nearest to a start first. Clocks have no value in them.
    pub nodes: Vec<State>,
    /// The start states, as numbers of nodes.
    pub initial: Vec<usize>,
    /// The steps.
    pub edges: Vec<Edge>,
    /// Whether all states and steps are there: no limit was reached.
    pub complete: bool,
    /// The sorts whose elements are not told apart.
    pub symmetric: Vec<SortId>,
    /// What is known of the clocks in each node; nothing without clocks.
    pub zones: Vec<Vec<ClockFact>>,
}

impl ModelGraph {
    /// What is known of the clocks in a node.
    pub fn zone(&self, node: usize) -> &[ClockFact] {
        self.zones.get(node).map_or(&[], Vec::as_slice)
    }

    /// The node of a state: the state itself, or one that differs only in what the clocks show and has a zone with that. Names are
    /// compared as they are, so it is of use without symmetry.
    pub fn locate(&self, model: &Model, state: &State) -> Option<usize> {
        if self.zones.is_empty() {
            return self.nodes.iter().position(|known| known == state);
        }
        let clocks: HashMap<String, Ratio> = shoal_story::clocks_of(model, state).into_iter().collect();
        let shows = |clock: &str| clocks.get(clock).copied();
        let state = shoal_timed::without_clocks(model, state);
        let is_it = |node: &usize| {
            self.nodes[*node] == state && self.zone(*node).iter().all(|fact| fact.holds(&shows))
        };
        (0..self.nodes.len()).find(is_it)
    }

    fn plain(graph: Graph, symmetric: &[SortId]) -> ModelGraph {
        let Graph { nodes, initial, edges, complete } = graph;
        ModelGraph { nodes, initial, edges, complete, symmetric: symmetric.to_vec(), zones: Vec::new() }
    }

    fn timed(graph: ZoneGraph) -> ModelGraph {
        let ZoneGraph { nodes, initial, edges, complete, symmetric } = graph;
        let (nodes, zones) = nodes.into_iter().map(|ZoneNode { state, clocks }| (state, clocks)).unzip();
        let edge = |(from, to, rule, args)| Edge { from, to, rule, args };
        let edges = edges.into_iter().map(edge).collect();
        ModelGraph { nodes, initial, edges, complete, symmetric, zones }
    }
}

/// The graph of a model, up to a number of states and as far as the watch allows. With symmetric sorts (see [`graph_symmetry`]), its quotient: one
/// state of each orbit.
pub fn graph(
    loaded: &Loaded,
    symmetric: &[SortId],
    limit: usize,
    watch: &Watch,
) -> Result<ModelGraph, Error> {
    let model = unasked(&loaded.model);
    if model.has_clocks() {
        let graph = shoal_timed::graph(&model, symmetric, limit, watch).map_err(Error::Unsupported)?;
        return Ok(ModelGraph::timed(graph));
    }
    Ok(ModelGraph::plain(plain_graph(loaded, symmetric, limit, watch)?, symmetric))
}

/// The same without clocks.
pub(crate) fn plain_graph(
    loaded: &Loaded,
    symmetric: &[SortId],
    limit: usize,
    watch: &Watch,
) -> Result<Graph, Error> {
    if let Some(start) = loaded.model.starts.iter().find(|start| is_boundless(&loaded.model, start)) {
        let why = format!("it has no graph: there is no end of its starts ({})", start.name);
        return Err(Error::NotRunnable(why));
    }
    shoal_explicit::graph(&unasked(&loaded.model), symmetric, limit, watch).map_err(Error::Unsupported)
}

/// Whether there are more starts than anybody can go through.
fn is_boundless(model: &Model, start: &Rule) -> bool {
    const MOST: u64 = 1 << 40;
    let counts = start.params.iter().map(|parameter| match &parameter.domain {
        Domain::Type(ty) => model.cardinality(*ty).unwrap_or(u64::MAX),
        Domain::Range { from, to, .. } => match (&from.kind, &to.kind) {
            (ExprKind::Const(Value::Int(from)), ExprKind::Const(Value::Int(to))) => to.abs_diff(*from),
            _ => 1,
        },
        Domain::Slots(_) => 1,
    });
    counts.fold(1, u64::saturating_mul) > MOST
}

/// The sorts whose elements neither the steps nor the properties tell apart.
fn symmetric(loaded: &Loaded) -> Vec<SortId> {
    let symmetry = shoal_analysis::symmetry(&loaded.model);
    let alike = |sort: &SortId| symmetry.sorts[*sort].is_proved() && symmetry.sorts[*sort].pinned.is_empty();
    loaded.model.sorts.ids().filter(alike).collect()
}

/// The sorts that orbits are made by, and a state of each orbit.
pub type OrbitStates = (Vec<SortId>, Vec<State>);

/// All reachable states of a finite model, one of each orbit, and the sorts that orbits are made by: what a certificate has.
/// Nothing if there are more than so many.
pub fn states(loaded: &Loaded, limit: usize, watch: &Watch) -> Result<Option<OrbitStates>, Error> {
    let symmetric = symmetric(loaded);
    let graph = plain_graph(loaded, &symmetric, limit, watch)?;
    Ok(graph.complete.then_some((symmetric, graph.nodes)))
}

/// So many states are gone through where nobody asks for more.
const VERIFIED_STATES: usize = 20_000;

/// Checks that states are all that a finite model can reach, and that these properties hold in them: in all of them if `full`,
/// else in so many as is not too much. The inner error says why it is not accepted.
pub fn verify_states(
    loaded: &Loaded,
    (sorts, states): (&[SortId], &[State]),
    properties: &[PropertyId],
    full: bool,
    watch: &Watch,
) -> Result<Result<Looked, String>, Error> {
    let own = symmetric(loaded);
    if let Some(sort) = sorts.iter().find(|sort| !own.contains(sort)) {
        let name = loaded.model.sorts.get(*sort).map_or("?", |sort| sort.name.as_str());
        return Ok(Err(format!("the elements of `{name}` are not known to be interchangeable")));
    }
    let most = if full { None } else { Some(VERIFIED_STATES) };
    match shoal_verify::check_states(&loaded.model, sorts, states, properties, most, watch) {
        Ok(looked) => Ok(Ok(looked)),
        Err(Doubt::Rejected(why)) => Ok(Err(why)),
        Err(Doubt::Lacking(what)) => Ok(Err(format!("the checker does not support {what}"))),
        Err(Doubt::Stopped(why)) => Err(Error::Stopped(why)),
    }
}

/// The model with the same states and steps of which nothing is asked, so that no element is named by a question.
fn unasked(model: &Model) -> Model {
    let mut model = Model { fairness: Vec::new(), ..model.clone() };
    for property in model.properties.iter_mut() {
        match property.kind {
            // These have a part in what happens, or name nothing.
            PropertyKind::Assume(_)
            | PropertyKind::Assertion
            | PropertyKind::NoFaults
            | PropertyKind::Bound
            | PropertyKind::Extreme(_)
            | PropertyKind::Unclear(_)
            | PropertyKind::Cover(None) => {}
            PropertyKind::Invariant(_)
            | PropertyKind::Deadlock(_)
            | PropertyKind::Cover(Some(_))
            | PropertyKind::CoverDeadlock(_)
            | PropertyKind::AlwaysPossible(_)
            | PropertyKind::Temporal(..) => property.kind = PropertyKind::Assertion,
        }
    }
    model
}
