//! What formulas are evaluated on: locations, in each of which clocks may have some values, and edges between them. It is
//! made of a model, or of a state-graph.

use shoal_dbm::{ClockEvent, Federation, Zone, undone};
use shoal_model::Condition;

use super::paths::Computed;

/// A location.
pub struct ArenaLocation {
    /// What its clocks may be at all.
    pub domain: Zone,
    /// Where time may pass; nothing if it stands still.
    pub invariant: Option<Zone>,
    /// The edges that lead here.
    pub entering: Vec<usize>,
    /// The edges that leave.
    pub leaving: Vec<usize>,
}

impl ArenaLocation {
    /// A location without edges.
    pub fn new(domain: Zone, invariant: Option<Zone>) -> ArenaLocation {
        ArenaLocation { domain, invariant, entering: Vec::new(), leaving: Vec::new() }
    }
}

/// A step between locations.
pub struct ArenaEdge {
    /// The location that it leaves.
    pub from: usize,
    /// The location that it leads to.
    pub to: usize,
    /// What has to hold of the clocks, and how they are set, in order.
    pub events: Vec<ClockEvent>,
    /// Then clocks change places: clock `i + 1` becomes `places[i]`. Empty if all stay.
    pub places: Vec<usize>,
    /// And names: who was `i` is `names[i]` from there on. Empty if all keep theirs.
    pub names: Vec<usize>,
}

impl ArenaEdge {
    /// The valuations from which the edge leads into a set.
    pub fn before(&self, target: &Federation) -> Federation {
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
pub struct Arena {
    /// The locations.
    pub locations: Vec<ArenaLocation>,
    /// The edges.
    pub edges: Vec<ArenaEdge>,
    /// Where runs start, the integers that the clocks are there, and who is who.
    pub starts: Vec<(usize, Vec<i32>, Vec<usize>)>,
    /// The number of clocks.
    pub clocks: usize,
}

impl Arena {
    /// Adds an edge.
    pub fn connect(&mut self, edge: ArenaEdge) {
        self.locations[edge.from].leaving.push(self.edges.len());
        self.locations[edge.to].entering.push(self.edges.len());
        self.edges.push(edge);
    }
}

/// Something that formulas are evaluated on.
pub trait Space {
    /// The states in which a condition holds.
    fn atom(&self, condition: &Condition) -> Computed;
    /// The greatest constant that a clock is compared with.
    fn greatest(&self) -> i64;
    /// Whether clocks are compared with each other.
    fn compares_clocks(&self) -> bool;
}
