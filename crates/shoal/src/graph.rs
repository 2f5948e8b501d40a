//! The reachable states and steps of a model, for pictures and for other tools.

use shoal_explicit::Graph;
use shoal_model::{Model, PropertyKind, SortId, Watch};

use crate::{Error, Loaded};

/// The sorts that the quotient of a graph is made by: those whose elements the rules, starts and assumptions do not tell apart. What
/// other properties name is no concern of the graph.
pub fn graph_symmetry(loaded: &Loaded) -> Vec<SortId> {
    let model = unasked(&loaded.model);
    let symmetry = shoal_analysis::symmetry(&model);
    model.sorts.ids().filter(|sort| symmetry.sorts[*sort].is_proved()).collect()
}

/// The graph of a model, up to a number of states and as far as the watch allows. With symmetric sorts (see [`graph_symmetry`]), its quotient: one
/// state of each orbit.
pub fn graph(loaded: &Loaded, symmetric: &[SortId], limit: usize, watch: &Watch) -> Result<Graph, Error> {
    shoal_explicit::graph(&unasked(&loaded.model), symmetric, limit, watch).map_err(Error::Unsupported)
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
