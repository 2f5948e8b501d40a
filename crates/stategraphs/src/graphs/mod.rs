//! State-graphs: what a set of processes can do in any environment, and the manipulators on such graphs.
//!
//! A node records for each variable which values it may still have, and the *entry zone*: the timer valuations right after
//! the step that leads there, before time passes (storing the zone after time has passed gives other counts than the
//! paper's). Two nodes are the same if all recordings are equal; there is no inclusion.
//!
//! What a variable may be is written as in the paper's Lemma 1. For a set H of processes, the *private* values of a variable
//! are those that H writes (or that it starts with) and nobody outside H does. A node records the private values that are
//! still possible; the others always are. Where nobody outside H writes the variable, all values are private, and the
//! record is its exact value.
//!
//! Each graph over-approximates its processes: every state of H in any environment lies in a node, and every step has an
//! arc. So [`merge`] may follow the arcs of its components and evaluate guards on the record of the product.

mod bypass;
mod canon;
mod check;
mod explore;
mod formulas;
mod print;
mod reduce;

use shoal_dbm::Zone;
use std::{fmt, time::Duration};

use crate::system::{ProcessSystem, ValueMask};

pub use bypass::bypass_internal_transition;
pub use check::{GraphAnswer, check};
pub use explore::{base, merge, merge_within, read_write};
pub use print::{to_aut, to_dot, to_parts, to_text};
pub use reduce::{shield_clock, shield_variables, symmetry};

/// A state-graph of some processes of a system.
#[derive(Clone, Debug)]
pub struct StateGraph {
    /// The processes, in order.
    pub members: Vec<usize>,
    /// The timers the zones are about: clock `i + 1` is timer `timers[i]`.
    pub timers: Vec<usize>,
    /// The nodes; the first is where it starts.
    pub nodes: Vec<GraphNode>,
    /// The arcs that leave each node.
    pub arcs: Vec<Vec<Arc>>,
    /// The reducers that made it, in order, since the processes were merged.
    pub reducers: Vec<Reducer>,
    /// Whether facts about variables that others write are recorded (Lemma 1).
    pub tracked: bool,
    /// Whether internal transitions have been bypassed, so that equal records do not mean equal behaviour.
    pub bypassed: bool,
    /// Whether nodes stand for all their images under permutations of processes.
    pub folded: bool,
    /// How long it took to make, its components included.
    pub time: Duration,
}

/// A node: what is recorded.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GraphNode {
    /// For each variable of the system, the private values that it may have.
    pub facts: Vec<ValueMask>,
    /// The timer valuations on entry. A timer that was shielded may have any value.
    pub zone: Zone,
    /// The timers that are shielded, in order: nobody reads them before they are reset. One that merely may have any value
    /// is another thing: somebody may read it.
    pub shielded: Vec<usize>,
}

/// An arc.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arc {
    /// Who moves, and which of its rules fires; several in one step where transitions have been bypassed.
    pub moves: Vec<(usize, usize)>,
    /// Where it leads.
    pub target: usize,
    /// What takes the state after the moves to the one that the target records: process `i` becomes `permutation[i]`.
    /// Empty if nothing changes.
    pub permutation: Vec<usize>,
    /// Whether it is counted. Of moves that a permutation of the source takes to one another only the first is; the
    /// others are kept, because in a product they may differ.
    pub counted: bool,
}

/// What makes a graph smaller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reducer {
    /// Lemma 1: what others cannot have written.
    ReadWrite,
    /// Lemma 2: timers that are reset before they are read.
    ShieldClock,
    /// Variables that are written before they are read.
    ShieldVariables,
    /// One node for all its images under permutations of like processes.
    Symmetry,
    /// Internal transitions joined with what follows.
    Bypass,
}

impl Reducer {
    /// All of them.
    pub const ALL: [Reducer; 5] = [
        Reducer::ReadWrite,
        Reducer::ShieldClock,
        Reducer::ShieldVariables,
        Reducer::Symmetry,
        Reducer::Bypass,
    ];

    /// Its name in VPL.
    pub fn name(self) -> &'static str {
        match self {
            Reducer::ReadWrite => "read_write",
            Reducer::ShieldClock => "shield_clock",
            Reducer::ShieldVariables => "shield_variables",
            Reducer::Symmetry => "symmetry",
            Reducer::Bypass => "bypass_internal_transition",
        }
    }

    /// Its short name in the paper's tables.
    pub fn short(self) -> &'static str {
        match self {
            Reducer::ReadWrite => "rw",
            Reducer::ShieldClock => "sc",
            Reducer::ShieldVariables => "sv",
            Reducer::Symmetry => "sm",
            Reducer::Bypass => "bit",
        }
    }

    /// The reducer with this name, long or short.
    pub fn named(name: &str) -> Option<Reducer> {
        Reducer::ALL.into_iter().find(|reducer| reducer.name() == name || reducer.short() == name)
    }

    /// Which properties it keeps.
    pub fn preserves(self) -> &'static str {
        match self {
            Reducer::ReadWrite => "all formulas: it takes away only what cannot be reached",
            Reducer::ShieldClock => "all formulas: the timers of properties are kept",
            Reducer::ShieldVariables => "all formulas: the variables of properties are kept",
            Reducer::Symmetry => {
                "all formulas: those that are not symmetric are evaluated on all images of a node"
            }
            Reducer::Bypass => "what can be reached, of variables that are not internal",
        }
    }

    /// Applies it.
    pub fn apply(self, system: &ProcessSystem<'_>, graph: &StateGraph) -> Result<StateGraph, GraphRefusal> {
        match self {
            Reducer::ReadWrite => read_write(system, graph),
            Reducer::ShieldClock => Ok(shield_clock(system, graph)),
            Reducer::ShieldVariables => Ok(shield_variables(system, graph)),
            Reducer::Symmetry => symmetry(system, graph),
            Reducer::Bypass => bypass_internal_transition(system, graph),
        }
    }
}

/// Why a manipulator cannot be applied, or was given up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GraphRefusal {
    /// Two graphs that share a process cannot be merged.
    Shared(String),
    /// No two processes are interchangeable, and this is why two of them are not.
    NotSymmetric(String),
    /// More nodes than this are not made.
    TooLarge(usize),
    /// The property cannot be decided on the graph.
    Property(String),
    /// The merged graph has no state: the start does not satisfy the invariants.
    Empty,
}

impl fmt::Display for GraphRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GraphRefusal::Shared(name) => write!(f, "both graphs have the process {name}"),
            GraphRefusal::NotSymmetric(why) => write!(f, "symmetry does not apply: {why}"),
            GraphRefusal::TooLarge(limit) => write!(f, "the graph has more than {limit} nodes"),
            GraphRefusal::Property(why) => f.write_str(why),
            GraphRefusal::Empty => f.write_str("the start does not satisfy the invariants"),
        }
    }
}

impl std::error::Error for GraphRefusal {}

/// Graphs of more nodes than this are given up.
pub const MOST_NODES: usize = 2_000_000;

impl StateGraph {
    /// How many nodes it has.
    pub fn node_count(&self) -> usize {
        self.nodes.len()
    }

    /// How many arcs it has, of like ones under a node's permutations one.
    pub fn arc_count(&self) -> usize {
        self.arcs.iter().flatten().filter(|arc| arc.counted).count()
    }

    /// Nodes and arcs.
    pub fn size(&self) -> usize {
        self.node_count() + self.arc_count()
    }

    /// Whether it is of all processes, so that nothing comes from outside.
    pub fn is_closed(&self, system: &ProcessSystem<'_>) -> bool {
        self.members.len() == system.processes.len()
    }

    /// The same graph with only the nodes that can be reached, in the order they are.
    fn trimmed(mut self) -> StateGraph {
        let mut number = vec![usize::MAX; self.nodes.len()];
        let mut order = vec![0];
        number[0] = 0;
        let mut next = 0;
        while next < order.len() {
            for arc in &self.arcs[order[next]] {
                if number[arc.target] == usize::MAX {
                    number[arc.target] = order.len();
                    order.push(arc.target);
                }
            }
            next += 1;
        }
        let mut arcs = std::mem::take(&mut self.arcs);
        self.arcs = order.iter().map(|node| std::mem::take(&mut arcs[*node])).collect();
        for arc in self.arcs.iter_mut().flatten() {
            arc.target = number[arc.target];
        }
        self.nodes = order.iter().map(|node| self.nodes[*node].clone()).collect();
        self
    }
}

/// What is private to a set of processes.
struct Privacy {
    /// For each cell, the private values.
    private: Vec<ValueMask>,
    /// For each cell, the values that others write.
    outside: Vec<ValueMask>,
    /// For each cell, whether somebody outside reads it.
    read_outside: Vec<bool>,
    /// For each timer, whether somebody outside sets it, so that nothing is known of it.
    set_outside: Vec<bool>,
    /// For each timer, whether somebody outside reads it.
    timed_outside: Vec<bool>,
}

impl Privacy {
    fn new(system: &ProcessSystem<'_>, members: &[usize]) -> Privacy {
        let cells = system.cells.len();
        let (mut inside, mut outside) = (vec![0; cells], vec![0; cells]);
        let mut read_outside = vec![false; cells];
        let (mut set_outside, mut timed_outside) =
            (vec![false; system.timers.len()], vec![false; system.timers.len()]);
        for (position, cell) in system.cells.iter().enumerate() {
            inside[position] |= 1 << cell.start;
        }
        for (number, process) in system.processes.iter().enumerate() {
            let member = members.contains(&number);
            let written = if member { &mut inside } else { &mut outside };
            let assigns = process.rules.iter().flat_map(|rule| &rule.assigns);
            assigns.for_each(|(cell, value)| written[*cell] |= 1 << value);
            if member {
                continue;
            }
            let resets = process.rules.iter().flat_map(|rule| &rule.resets);
            resets.for_each(|(timer, _)| set_outside[*timer] = true);
            let guards = process.rules.iter().map(|rule| &rule.guard);
            for part in guards.chain(process.invariant.iter().flatten()) {
                part.cells.iter().for_each(|(cell, _)| read_outside[*cell] = true);
                part.clocks().for_each(|timer| timed_outside[timer] = true);
            }
        }
        let all = |cell: usize| full(system.cells[cell].size);
        let private = (0..cells)
            .map(|cell| if outside[cell] == 0 { all(cell) } else { inside[cell] & !outside[cell] })
            .collect();
        Privacy { private, outside, read_outside, set_outside, timed_outside }
    }

    /// Whether nobody else writes a cell.
    fn is_exact(&self, cell: usize) -> bool {
        self.outside[cell] == 0
    }
}

/// All values of a cell of this size.
fn full(size: u32) -> ValueMask {
    if size >= 128 { ValueMask::MAX } else { (1 << size) - 1 }
}
