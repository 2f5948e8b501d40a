//! What formulas are evaluated on: locations, in each of which clocks may have some values, and edges between them. It is
//! made of a model, or of a state-graph.

use shoal_model::Condition;

use super::paths::Found;
use crate::{
    dbm::Zone,
    federation::Federation,
    zones::machine::{Event, undone},
};

/// A location.
pub(crate) struct Room {
    /// What its clocks may be at all.
    pub(crate) domain: Zone,
    /// Where time may pass; nothing if it stands still.
    pub(crate) invariant: Option<Zone>,
    /// The edges that lead here.
    pub(crate) entering: Vec<usize>,
    /// The edges that leave.
    pub(crate) leaving: Vec<usize>,
}

impl Room {
    pub(crate) fn new(domain: Zone, invariant: Option<Zone>) -> Room {
        Room { domain, invariant, entering: Vec::new(), leaving: Vec::new() }
    }
}

/// A step between locations.
pub(crate) struct Edge {
    pub(crate) from: usize,
    pub(crate) to: usize,
    /// What has to hold of the clocks, and how they are set, in order.
    pub(crate) events: Vec<Event>,
    /// Then clocks change places: clock `i + 1` becomes `places[i]`. Empty if all stay.
    pub(crate) places: Vec<usize>,
    /// And names: who was `i` is `names[i]` from there on. Empty if all keep theirs.
    pub(crate) names: Vec<usize>,
}

impl Edge {
    /// The valuations from which the edge leads into a set.
    pub(crate) fn before(&self, target: &Federation) -> Federation {
        target.zones().iter().filter_map(|zone| undone(&self.events, self.moved_back(zone))).collect()
    }

    /// A zone after the clocks have changed places, as it is before. Clocks of our own are behind, and stay.
    fn moved_back(&self, zone: &Zone) -> Zone {
        if self.places.is_empty() {
            return zone.clone();
        }
        let own = self.places.len() + 1..zone.dim();
        zone.select(&self.places.iter().copied().chain(own).collect::<Vec<_>>())
    }
}

/// Locations, edges, and where it starts.
pub(crate) struct Arena {
    pub(crate) locations: Vec<Room>,
    pub(crate) edges: Vec<Edge>,
    /// Where runs start, the integers that the clocks are there, and who is who.
    pub(crate) starts: Vec<(usize, Vec<i32>, Vec<usize>)>,
    /// The number of clocks.
    pub(crate) clocks: usize,
}

impl Arena {
    /// Adds an edge.
    pub(crate) fn connect(&mut self, edge: Edge) {
        self.locations[edge.from].leaving.push(self.edges.len());
        self.locations[edge.to].entering.push(self.edges.len());
        self.edges.push(edge);
    }
}

/// Something that formulas are evaluated on.
pub(crate) trait Space {
    /// The states in which a condition holds.
    fn atom(&self, condition: &Condition) -> Found;
    /// The greatest constant that a clock is compared with.
    fn greatest(&self) -> i64;
    /// Whether clocks are compared with each other.
    fn compares_clocks(&self) -> bool;
}
