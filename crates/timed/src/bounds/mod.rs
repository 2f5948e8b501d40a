//! What clocks are still going to be compared with: the bounds of the abstraction Extra+LU.
//!
//! For clocks of the elements of a lumped sort they are found on a small graph of one element: its nodes are what the
//! element's cells are, and for each global reference whether it names nobody, this element or another. Guards are read as
//! far as they say something about that, and ignored otherwise; so the graph has more ways than there are, and the bounds
//! are great enough. In Fischer's protocol this sees that a process that waits while the lock names another cannot read its
//! clock before it has reset it. A global clock has bounds by a control variable (`control`).

mod control;
mod differences;
mod element;
mod reader;
mod solve;

use std::collections::HashMap;

use shoal_dbm::{ClockBounds, Constraint};
use shoal_model::{
    CheckKind, Expr, ExprKind, Model, Node, Place, Root, Stmt, StmtKind, TypedId, Unsupported, walk_expr,
};

pub(crate) use self::differences::{are_asked, concern_elements};
pub(crate) use self::reader::local_of;
use self::{
    control::{Controlled, controlled},
    differences::ClockDifference,
    element::ElementGraph,
    reader::{ClockReader, NamedClock},
};
use super::{
    layout::ZoneLayout,
    state::{NOBODY, ZoneState},
};

/// Bounds for every clock in every state.
pub(crate) struct ExtrapolationBounds {
    global: Vec<ClockBounds>,
    /// By global clock: its bounds where a control variable has each of its values.
    controlled: Vec<Option<Controlled>>,
    /// By sort: the bounds of an element's clocks wherever it is.
    anywhere: Vec<Vec<ClockBounds>>,
    /// By sort: the bounds in each node of the graph of one element.
    known: Vec<Option<BoundsByNode>>,
    differences: Vec<ClockDifference>,
}

/// The bounds of an element's clocks in each node of its graph.
type BoundsByNode = HashMap<Vec<i64>, Vec<ClockBounds>>;

/// What a global reference is to an element.
const OTHER: i64 = -2;
const ME: i64 = -3;

/// Larger graphs of one element are not made.
const MOST_NODES: usize = 20_000;

impl ExtrapolationBounds {
    /// Finds the bounds of a model. `starts` are the states it starts in. With `precise` off, a clock has the same bounds
    /// everywhere.
    pub(crate) fn new(
        model: &Model,
        layout: &ZoneLayout,
        starts: &[ZoneState],
        precise: bool,
    ) -> Result<ExtrapolationBounds, Unsupported> {
        let mut bounds = ExtrapolationBounds {
            global: vec![ClockBounds::default(); layout.global.clocks],
            controlled: Vec::new(),
            anywhere: layout
                .local
                .iter()
                .map(|room| vec![ClockBounds::default(); room.map_or(0, |room| room.clocks)])
                .collect(),
            known: vec![None; layout.local.len()],
            differences: Vec::new(),
        };
        let reader = ClockReader { model, layout };
        bounds.differences = differences::all(&reader, &all_conditions(model))?;
        for expr in all_conditions(model) {
            reader.clock_reads(expr, None, &mut |clock, limits| match clock {
                NamedClock::Global(clock) => bounds.global[clock] = bounds.global[clock].join(limits),
                NamedClock::Local(sort, clock, _) => {
                    let limit = &mut bounds.anywhere[sort.index()][clock];
                    *limit = limit.join(limits);
                }
                // Somewhere in an array: any of them.
                NamedClock::Unknown => {
                    bounds.global.iter_mut().for_each(|limit| *limit = limit.join(limits));
                    bounds.anywhere.iter_mut().flatten().for_each(|limit| *limit = limit.join(limits));
                }
            })?;
        }
        if !bounds.differences.is_empty() {
            bounds.add(differences::greatest_reset(&reader)?);
            return Ok(bounds);
        }
        // What functions read is known only of the model as a whole.
        if precise && !functions_read_clocks(&reader)? {
            for (clock, anywhere) in bounds.global.iter().enumerate() {
                bounds.controlled.push(controlled(&reader, clock, *anywhere)?);
            }
            for sort in model.sorts.ids() {
                if !bounds.anywhere[sort.index()].is_empty() {
                    bounds.known[sort.index()] =
                        ElementGraph::bounds(&reader, sort, starts, &bounds.anywhere[sort.index()])?;
                }
            }
        }
        Ok(bounds)
    }

    /// Makes all limits greater.
    fn add(&mut self, more: i32) {
        let add = |limit: &mut Option<i32>| *limit = limit.map(|limit| limit.saturating_add(more));
        for limits in self.global.iter_mut().chain(self.anywhere.iter_mut().flatten()) {
            add(&mut limits.lower);
            add(&mut limits.upper);
        }
    }

    /// The differences of clocks that are still going to be asked for, in a state.
    pub(crate) fn differences(&self, layout: &ZoneLayout, state: &ZoneState) -> Vec<Constraint> {
        self.differences.iter().flat_map(|difference| difference.of(layout, state)).collect()
    }

    /// Whether clocks are compared with each other.
    pub(crate) fn compares_clocks(&self) -> bool {
        !self.differences.is_empty()
    }

    /// The greatest constant that any clock is compared with.
    pub(crate) fn greatest(&self) -> i64 {
        let all = self.global.iter().chain(self.anywhere.iter().flatten());
        all.flat_map(|limits| [limits.lower, limits.upper]).flatten().max().map_or(0, i64::from)
    }

    /// The bounds of the clocks of a state's zone, in their order.
    pub(crate) fn of(&self, layout: &ZoneLayout, state: &ZoneState) -> Vec<ClockBounds> {
        let mut limits = self.global.clone();
        for (limit, controlled) in limits.iter_mut().zip(&self.controlled) {
            if let Some(controlled) = controlled
                && let Ok(value) = usize::try_from(state.globals[controlled.cell])
            {
                *limit = controlled.limits.get(value).copied().unwrap_or(*limit);
            }
        }
        for number in 0..state.classes.len() {
            let class = &state.classes[number];
            let known =
                self.known[class.sort].as_ref().and_then(|known| known.get(&node_of(layout, state, number)));
            let own = known.unwrap_or(&self.anywhere[class.sort]);
            for _ in 0..class.shown() {
                limits.extend(own);
            }
        }
        limits
    }
}

/// The node of a class: its cells, and what each global reference to its sort is to it.
fn node_of(layout: &ZoneLayout, state: &ZoneState, class: usize) -> Vec<i64> {
    let own = &state.classes[class];
    let mut node = own.cells[1..].to_vec();
    for (cell, sort) in state.globals.iter().zip(&layout.global_refs) {
        if sort.is_some_and(|sort| sort.index() == own.sort) {
            node.push(match *cell {
                NOBODY => NOBODY,
                cell if cell == class as i64 => ME,
                _ => OTHER,
            });
        }
    }
    node
}

/// Every expression that may read a clock.
fn all_conditions(model: &Model) -> Vec<&Expr> {
    let mut all: Vec<&Expr> = model.rules.iter().filter_map(|rule| rule.guard.as_ref()).collect();
    all.extend(model.while_time_passes.iter().map(|condition| &condition.expr));
    for property in model.properties.iter() {
        all.extend(property.kind.conditions().into_iter().map(|condition| &condition.expr));
    }
    let bodies = model.rules.iter().chain(model.starts.iter()).map(|rule| &rule.code.body);
    for body in bodies.chain(model.functions.iter().map(|function| &function.code.body)) {
        conditions_in(body, &mut all);
    }
    all
}

fn functions_read_clocks(reader: &ClockReader<'_>) -> Result<bool, Unsupported> {
    let mut conditions = Vec::new();
    reader.model.functions.iter().for_each(|function| conditions_in(&function.code.body, &mut conditions));
    let mut found = false;
    for condition in conditions {
        reader.clock_reads(condition, None, &mut |_, _| found = true)?;
    }
    Ok(found)
}

fn conditions_in<'m>(body: &'m [Stmt], all: &mut Vec<&'m Expr>) {
    for stmt in body {
        match &stmt.kind {
            StmtKind::If(arms, other) => {
                for (condition, body) in arms {
                    all.push(condition);
                    conditions_in(body, all);
                }
                conditions_in(other, all);
            }
            StmtKind::While { condition, body, .. } => {
                all.push(condition);
                conditions_in(body, all);
            }
            StmtKind::For { body, .. } => conditions_in(body, all),
            StmtKind::Check { condition: Some(condition), .. } => all.push(condition),
            StmtKind::Assign(..)
            | StmtKind::Clear(_)
            | StmtKind::Undefine(_)
            | StmtKind::Bind(_)
            | StmtKind::Choose { .. }
            | StmtKind::Check { .. }
            | StmtKind::Return(_)
            | StmtKind::Call(..)
            | StmtKind::Output(_)
            | StmtKind::MultisetAdd(..)
            | StmtKind::MultisetRemove(..)
            | StmtKind::MultisetRemoveIf { .. }
            | StmtKind::Insert { .. }
            | StmtKind::Remove(..)
            | StmtKind::Create(..)
            | StmtKind::Delete(_) => {}
        }
    }
}

/// The parts of the conditions that steps assume and that speak of no local: they are like invariants.
fn assumed_in(body: &[Stmt]) -> Vec<&Expr> {
    let assumed = body.iter().filter_map(|stmt| match &stmt.kind {
        StmtKind::Check { kind: CheckKind::Assume, condition, .. } => condition.as_ref(),
        _ => None,
    });
    let parts = assumed.flat_map(|condition| match &condition.kind {
        ExprKind::And(parts) => parts.as_slice(),
        _ => std::slice::from_ref(condition),
    });
    parts.filter(|part| is_closed(part)).collect()
}

/// Whether an expression reads no local but those it binds itself.
fn is_closed(expr: &Expr) -> bool {
    let (mut read, mut bound) = (Vec::new(), Vec::new());
    walk_expr(expr, &mut |node| match node {
        Node::Place(Place { root: Root::Local(local), .. }) => read.push(*local),
        Node::Expr(Expr { kind: ExprKind::Quantified { local, .. }, .. }) => bound.push(*local),
        _ => {}
    });
    read.iter().all(|local| bound.contains(local))
}

/// The conditions of a body but for those parts that are like invariants.
fn open_conditions(body: &[Stmt]) -> Vec<&Expr> {
    let closed = assumed_in(body);
    let mut all = Vec::new();
    conditions_in(body, &mut all);
    let parts = all.into_iter().flat_map(|condition| match &condition.kind {
        ExprKind::And(parts)
            if parts.iter().any(|part| closed.iter().any(|known| std::ptr::eq(*known, part))) =>
        {
            parts.as_slice()
        }
        _ => std::slice::from_ref(condition),
    });
    parts.filter(|part| !closed.iter().any(|known| std::ptr::eq(*known, *part))).collect()
}
