//! Which local variables cannot be read any more, before they are written again, where control stands.
//!
//! SPIN sets such variables to 0 (its option `-o2` keeps them). Here the location only says which they are, and whoever
//! checks the model decides.

use std::collections::{BTreeMap, BTreeSet};

use super::{Lowerer, VarStorage, access::Accesses};
use crate::{
    ast::{ExprKind, Pattern, StmtKind, Type, VarRef, VariableId},
    flow::{ElementId, ElementKind},
    walk::SyntaxNode,
};

/// A step of a proctype: what it reads before it writes, what it writes whatever happens, and where it leads.
struct LocationEdge {
    reads: BTreeSet<VariableId>,
    writes: BTreeSet<VariableId>,
    to: Option<ElementId>,
}

impl Lowerer<'_> {
    /// For each location of a proctype, the fields of an entry that cannot be read before they are written.
    pub(super) fn dead_fields(&self, proc: usize) -> Vec<Vec<u32>> {
        let fields = self.fields_that_may_die(proc);
        let live = live(&self.edges(proc));
        let at = |location: &ElementId| {
            let live = live.get(location);
            let dead = fields.iter().filter(|(id, _)| live.is_none_or(|live| !live.contains(id)));
            dead.map(|(_, field)| *field).collect()
        };
        self.procs[proc].locations.iter().map(at).collect()
    }

    /// The local variables that only their process reads, with their fields. What objects or channels hang on is kept.
    fn fields_that_may_die(&self, proc: usize) -> Vec<(VariableId, u32)> {
        if self.options.dynamic {
            return Vec::new();
        }
        let mut seen = BTreeSet::new();
        self.walk_program(&mut |node| {
            if let SyntaxNode::Expr(expr) = node
                && let ExprKind::Remote(_, _, name, _) = &expr.kind
            {
                seen.insert(name.node.clone());
            }
        });
        let proctype = &self.program.proctypes[proc];
        let mut kept = Accesses::default();
        proctype.provided.iter().for_each(|provided| kept.expr(provided));
        let mut fields = Vec::new();
        for id in &proctype.variables {
            let variable = &self.program.variables[*id];
            let plain =
                !matches!(variable.ty, Type::Chan | Type::Record(_) | Type::Pointer(_) | Type::Function);
            if let Some(VarStorage::Field(field)) = self.homes.get(id)
                && plain
                && !seen.contains(&variable.name.node)
                && !kept.reads.contains(id)
            {
                fields.push((*id, *field as u32));
            }
        }
        fields
    }

    /// The steps from each place where control can be, inside sequences too.
    fn edges(&self, proc: usize) -> BTreeMap<ElementId, Vec<LocationEdge>> {
        let flow = &self.procs[proc].flow;
        let mut all: BTreeMap<ElementId, Vec<LocationEdge>> = BTreeMap::new();
        for location in &self.procs[proc].locations {
            for step in flow.outgoing(*location) {
                let mut edge = self.edge(proc, step.element);
                if let ElementKind::DStep(body, exit) = flow.elements[step.element].kind {
                    let first = flow.hunt(body.first, false);
                    for node in self.d_step_nodes(proc, first, exit) {
                        let inner = flow.outgoing(node).into_iter().map(|step| self.edge(proc, step.element));
                        let leave = |mut inner: LocationEdge| {
                            inner.to = if inner.to == Some(exit) { edge.to } else { inner.to };
                            inner
                        };
                        all.insert(node, inner.map(leave).collect());
                    }
                    edge.to = Some(first);
                }
                all.entry(*location).or_default().push(edge);
            }
        }
        all
    }

    fn edge(&self, proc: usize, element: ElementId) -> LocationEdge {
        let flow = &self.procs[proc].flow;
        let to = (element != flow.end).then(|| flow.target(element));
        let (mut reads, mut writes) = (BTreeSet::new(), BTreeSet::new());
        for element in [element].iter().chain(flow.merged_with(element)) {
            let ElementKind::Basic(kind) = &flow.elements[*element].kind else { continue };
            let mut accesses = Accesses::default();
            accesses.stmt(kind);
            reads.extend(accesses.reads.difference(&writes));
            writes.extend(self.writes_whole(kind));
        }
        LocationEdge { reads, writes, to }
    }

    /// The variables that a statement writes, whatever they held before.
    fn writes_whole(&self, kind: &StmtKind) -> Vec<VariableId> {
        match kind {
            StmtKind::Assign(Some(place), _) => self.whole(place).into_iter().collect(),
            StmtKind::Receive(receive) => {
                let stored = receive.parts.iter().filter_map(|part| match part {
                    Pattern::Store(place) => self.whole(place),
                    Pattern::Equal(_) | Pattern::Any => None,
                });
                stored.collect()
            }
            _ => Vec::new(),
        }
    }

    /// The variable, if the whole of it is named.
    fn whole(&self, place: &VarRef) -> Option<VariableId> {
        let is_one = self.program.variables[place.variable].length.is_none();
        (is_one && place.index.is_none() && place.fields.is_empty()).then_some(place.variable)
    }
}

/// What can be read from each place before it is written.
fn live(edges: &BTreeMap<ElementId, Vec<LocationEdge>>) -> BTreeMap<ElementId, BTreeSet<VariableId>> {
    let mut live: BTreeMap<ElementId, BTreeSet<VariableId>> = BTreeMap::new();
    let mut grows = true;
    while grows {
        grows = false;
        for (at, steps) in edges.iter().rev() {
            let mut here = live.get(at).cloned().unwrap_or_default();
            let before = here.len();
            for edge in steps {
                here.extend(&edge.reads);
                let later = edge.to.and_then(|to| live.get(&to)).into_iter().flatten();
                here.extend(later.filter(|id| !edge.writes.contains(id)));
            }
            if here.len() > before {
                grows = true;
                live.insert(*at, here);
            }
        }
    }
    live
}
