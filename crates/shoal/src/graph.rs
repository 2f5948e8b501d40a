//! The reachable states and steps of a model, for pictures and for other tools.

use shoal_explicit::Graph;
use shoal_model::{SortId, Watch};

use crate::{Error, Loaded};

/// The graph of a model, up to a number of states and as far as the watch allows. With symmetric sorts (see [`crate::Plan`]), its quotient: one
/// state of each orbit.
pub fn graph(loaded: &Loaded, symmetric: &[SortId], limit: usize, watch: &Watch) -> Result<Graph, Error> {
    shoal_explicit::graph(&loaded.model, symmetric, limit, watch).map_err(Error::Unsupported)
}
