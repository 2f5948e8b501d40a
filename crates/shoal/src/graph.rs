//! The reachable states and steps of a model, for pictures and for other tools.

use shoal_explicit::Graph;
use shoal_model::SortId;

use crate::{Error, Loaded};

/// The graph of a model, up to a number of states. With symmetric sorts (see [`crate::Plan`]), its quotient: one
/// state of each orbit.
pub fn graph(loaded: &Loaded, symmetric: &[SortId], limit: usize) -> Result<Graph, Error> {
    shoal_explicit::graph(&loaded.model, symmetric, limit).map_err(Error::Unsupported)
}
