//! What can happen to one element: rules and invariants as far as they concern it.

use shoal_dbm::ClockBounds;
use shoal_model::{
    Domain, Expr, ExprKind, LocalId, Node, Place, Projection, PropertyKind, Root, SortId, Stmt, StmtKind,
    Type, TypedId, UnaryOp, Unsupported, Value, walk_block,
};

use super::{
    BoundsByNode, ME, OTHER, assumed_in, node_of, open_conditions,
    reader::{ClockReader, NamedClock, local_of},
    solve::join,
};
use crate::state::{NOBODY, ZoneState};

/// What an element's node must be, or is not.
#[derive(Clone, Debug)]
pub(super) struct NodeAtom {
    pub(super) at: usize,
    pub(super) value: i64,
    pub(super) equal: bool,
}

/// What happens to an element.
#[derive(Clone, Debug, Default)]
pub(super) struct ElementEvent {
    pub(super) when: Vec<NodeAtom>,
    pub(super) reads: Vec<ClockBounds>,
    pub(super) resets: Vec<bool>,
    /// What entries of the node become: a value, or any.
    pub(super) sets: Vec<(usize, Option<i64>)>,
    /// Whether each of the sets may as well not happen.
    pub(super) perhaps: bool,
}

/// The graph of one element of a sort.
pub(super) struct ElementGraph<'r, 'm> {
    pub(super) reader: &'r ClockReader<'m>,
    pub(super) sort: SortId,
    pub(super) cells: usize,
    /// The global cells that hold references to the sort.
    pub(super) references: Vec<usize>,
    pub(super) clocks: usize,
    pub(super) ways: Vec<ElementEvent>,
    /// What is read in nodes: by invariants.
    pub(super) held: Vec<ElementEvent>,
    pub(super) always: Vec<ClockBounds>,
}

impl<'r, 'm> ElementGraph<'r, 'm> {
    pub(super) fn bounds(
        reader: &'r ClockReader<'m>,
        sort: SortId,
        starts: &[ZoneState],
        anywhere: &[ClockBounds],
    ) -> Result<Option<BoundsByNode>, Unsupported> {
        let layout = reader.layout;
        let holds = |(_, of): &(usize, &Option<SortId>)| **of == Some(sort);
        let references = layout.global_refs.iter().enumerate().filter(holds).map(|(cell, _)| cell).collect();
        let room = layout.local[sort.index()].unwrap_or_default();
        let mut local = ElementGraph {
            reader,
            sort,
            cells: room.cells - 1,
            references,
            clocks: room.clocks,
            ways: Vec::new(),
            held: Vec::new(),
            always: vec![ClockBounds::default(); room.clocks],
        };
        // References from element to element are not followed.
        if layout.local_refs[sort.index()].iter().any(Option::is_some) || !local.understand()? {
            return Ok(None);
        }
        let mut nodes: Vec<Vec<i64>> = Vec::new();
        for state in starts {
            for class in (0..state.classes.len()).filter(|class| state.classes[*class].sort == sort.index()) {
                nodes.push(node_of(layout, state, class));
            }
        }
        nodes.sort();
        nodes.dedup();
        Ok(local.solve(nodes).map(|known| {
            // Never more than anywhere.
            let cap = |limits: Vec<ClockBounds>| {
                let min = |a: Option<i32>, b: Option<i32>| a.zip(b).map(|(a, b)| a.min(b));
                let pairs = limits.into_iter().zip(anywhere);
                pairs
                    .map(|(l, a)| ClockBounds { lower: min(l.lower, a.lower), upper: min(l.upper, a.upper) })
                    .collect()
            };
            known.into_iter().map(|(node, limits)| (node, cap(limits))).collect()
        }))
    }

    /// Reads rules, invariants and properties; false if something is not understood.
    pub(super) fn understand(&mut self) -> Result<bool, Unsupported> {
        let model = self.reader.model;
        for rule in model.rules.iter() {
            if !rule.bindings.is_empty() || !self.is_plain_body(&rule.code.body) {
                return Ok(false);
            }
            let of_sort = |domain: &Domain| matches!(domain, Domain::Type(ty) if model.sorts_of(*ty).contains(&self.sort));
            let roles: Vec<LocalId> =
                rule.params.iter().filter(|param| of_sort(&param.domain)).map(|param| param.local).collect();
            for role in roles.iter().map(|role| Some(*role)).chain([None]) {
                let mut way = self.way();
                if let Some(guard) = &rule.guard {
                    if role.is_some() {
                        self.atoms(guard, role, true, &mut way.when);
                    }
                    let mut unknown = false;
                    self.reads(guard, role, &mut way, &mut unknown)?;
                    if unknown {
                        return Ok(false);
                    }
                }
                for condition in open_conditions(&rule.code.body) {
                    let mut unknown = false;
                    self.reads(condition, role, &mut way, &mut unknown)?;
                    // The other branch is taken where it is false.
                    let mut other = self.way();
                    self.reads_when(condition, role, false, &mut other, &mut unknown)?;
                    join(&mut way.reads, &other.reads, &[]);
                    if unknown {
                        return Ok(false);
                    }
                }
                let mut loose = self.way();
                loose.when = way.when.clone();
                loose.reads = way.reads.clone();
                loose.perhaps = true;
                self.effects(&rule.code.body, role, roles.len() > 1, false, &mut way, &mut loose);
                if !loose.sets.is_empty() {
                    // What may happen in the midst of what surely does: both orders are covered by trying them one by one.
                    for set in &loose.sets {
                        way.perhaps = true;
                        way.sets.push(*set);
                    }
                }
                self.ways.push(way);
            }
        }
        let assumed = model.properties.iter().filter_map(|property| match &property.kind {
            PropertyKind::Assume(Some(condition)) => Some(&condition.expr),
            _ => None,
        });
        let in_steps = model.rules.iter().flat_map(|rule| assumed_in(&rule.code.body));
        let passing = model.while_time_passes.iter().map(|condition| &condition.expr);
        for invariant in assumed.chain(in_steps).chain(passing) {
            if !self.invariant(invariant, None, Vec::new())? {
                return Ok(false);
            }
        }
        let mut always = std::mem::take(&mut self.always);
        for property in
            model.properties.iter().filter(|property| !matches!(property.kind, PropertyKind::Assume(_)))
        {
            for condition in property.kind.conditions() {
                self.reader.clock_reads(&condition.expr, None, &mut |clock, limits| match clock {
                    NamedClock::Local(sort, clock, _) if sort == self.sort => {
                        always[clock] = always[clock].join(limits)
                    }
                    NamedClock::Unknown => always.iter_mut().for_each(|limit| *limit = limit.join(limits)),
                    _ => {}
                })?;
            }
        }
        self.always = always;
        Ok(true)
    }

    pub(super) fn way(&self) -> ElementEvent {
        ElementEvent {
            reads: vec![ClockBounds::default(); self.clocks],
            resets: vec![false; self.clocks],
            ..ElementEvent::default()
        }
    }

    /// Reads of the element's own clocks; of a clock of an element that is not plainly another, too.
    pub(super) fn reads(
        &self,
        expr: &Expr,
        me: Option<LocalId>,
        way: &mut ElementEvent,
        unknown: &mut bool,
    ) -> Result<(), Unsupported> {
        self.reads_when(expr, me, true, way, unknown)
    }

    pub(super) fn reads_when(
        &self,
        expr: &Expr,
        me: Option<LocalId>,
        positive: bool,
        way: &mut ElementEvent,
        unknown: &mut bool,
    ) -> Result<(), Unsupported> {
        self.reader.signed_reads(expr, me, positive, &mut |clock, limits| match clock {
            NamedClock::Local(sort, clock, mine) if sort == self.sort && (mine || !plain_other(expr)) => {
                way.reads[clock] = way.reads[clock].join(limits);
            }
            NamedClock::Unknown => *unknown = true,
            _ => {}
        })
    }

    /// The conjuncts of a guard that say something about the element.
    pub(super) fn atoms(&self, expr: &Expr, me: Option<LocalId>, positive: bool, atoms: &mut Vec<NodeAtom>) {
        match &expr.kind {
            ExprKind::And(parts) if positive => {
                parts.iter().for_each(|part| self.atoms(part, me, true, atoms))
            }
            ExprKind::Or(parts) if !positive => {
                parts.iter().for_each(|part| self.atoms(part, me, false, atoms))
            }
            ExprKind::Unary(UnaryOp::Not, of) => self.atoms(of, me, !positive, atoms),
            ExprKind::Equal(left, right) => {
                for (place, value) in [(left, right), (right, left)] {
                    if let ExprKind::Read(place) = &place.kind
                        && let Some(at) = self.entry(place, me)
                        && let Some(value) = self.value(value, me, at)
                    {
                        atoms.push(NodeAtom { at, value, equal: positive });
                    }
                }
            }
            ExprKind::Read(place) => {
                if let Some(at) = self.entry(place, me) {
                    atoms.push(NodeAtom { at, value: 1, equal: positive });
                }
            }
            _ => {}
        }
    }

    /// The entry of the node that a place is. A clock is none: its home counts the cells before it, which are others'.
    pub(super) fn entry(&self, place: &Place, me: Option<LocalId>) -> Option<usize> {
        let Root::Var(var) = place.root else { return None };
        if matches!(self.reader.model.kind(place.ty), Type::Clock) {
            return None;
        }
        let home = self.reader.layout.home(var);
        match (home.sort, place.path.as_slice()) {
            (Some(sort), [Projection::Index(index)])
                if sort == self.sort && me.is_some() && local_of(index) == me =>
            {
                Some(home.at.cells - 1)
            }
            (None, []) => {
                let reference = self.references.iter().position(|cell| *cell == home.at.cells);
                reference.map(|at| self.cells + at)
            }
            _ => None,
        }
    }

    /// The value that an entry is compared with or set to; nothing if it is not known.
    pub(super) fn value(&self, expr: &Expr, me: Option<LocalId>, at: usize) -> Option<i64> {
        if at >= self.cells {
            return match &expr.kind {
                ExprKind::Const(Value::Null) => Some(NOBODY),
                _ if me.is_some() && local_of(expr) == me => Some(ME),
                _ => None,
            };
        }
        match &expr.kind {
            ExprKind::Const(Value::Bool(value)) => Some(i64::from(*value)),
            ExprKind::Const(Value::Int(value)) => Some(*value),
            ExprKind::Const(Value::Enum(_, value)) => Some(i64::from(*value)),
            _ => None,
        }
    }

    /// What code does to the element. What is inside of a branch, or done to an element that may be this one, is only
    /// perhaps done.
    pub(super) fn effects(
        &self,
        body: &[Stmt],
        me: Option<LocalId>,
        rivals: bool,
        branch: bool,
        way: &mut ElementEvent,
        loose: &mut ElementEvent,
    ) {
        for stmt in body {
            match &stmt.kind {
                StmtKind::Assign(place, value) => {
                    if *self.reader.model.kind(place.ty) == Type::Clock {
                        if let NamedClock::Local(sort, clock, true) = self.reader.clock_at(place, me)
                            && sort == self.sort
                            && !branch
                        {
                            way.resets[clock] = true;
                        }
                    } else if let Some(at) = self.entry(place, me) {
                        let set = match (at >= self.cells, me.is_some(), self.value(value, me, at)) {
                            // Somebody else writes itself.
                            (true, false, None) if is_plain(value) => Some(OTHER),
                            (_, _, known) => known,
                        };
                        if branch {
                            loose.sets.push((at, set));
                        } else {
                            way.sets.push((at, set));
                        }
                    } else if self.is_of_sort(place) && (rivals || me.is_none() && !is_param_write(place)) {
                        let Root::Var(var) = place.root else { continue };
                        let at = self.reader.layout.home(var).at.cells - 1;
                        loose.sets.push((at, self.value(value, None, at)));
                    }
                }
                StmtKind::Clear(place) | StmtKind::Undefine(place) => {
                    if let Some(at) = self.entry(place, me) {
                        loose.sets.push((at, None));
                    }
                }
                StmtKind::If(arms, other) => {
                    arms.iter().for_each(|(_, body)| self.effects(body, me, rivals, true, way, loose));
                    self.effects(other, me, rivals, true, way, loose);
                }
                StmtKind::For { body, local, domain } => {
                    let model = self.reader.model;
                    // In a loop over the sort the element is one of them.
                    let all = matches!(domain, Domain::Type(ty) if model.sorts_of(*ty).contains(&self.sort));
                    let inner = if all { Some(*local) } else { me };
                    self.effects(body, inner, rivals, true, way, loose);
                }
                StmtKind::While { body, .. } => self.effects(body, me, rivals, true, way, loose),
                StmtKind::Bind(_)
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

    /// Whether all that code does to elements and to references to them is to be seen in it: no call does any of it, and
    /// nothing with parts is written.
    fn is_plain_body(&self, body: &[Stmt]) -> bool {
        let (model, layout) = (self.reader.model, self.reader.layout);
        let pure = model.pure_functions();
        let is_whole = |place: &Place| match place.root {
            Root::Local(_) => true,
            Root::Var(var) => {
                let home = layout.home(var);
                let size = layout.room(model.vars[var].ty).cells;
                let refers =
                    || layout.global_refs[home.at.cells..home.at.cells + size].contains(&Some(self.sort));
                let scalar = !matches!(model.kind(place.ty), Type::Array { .. } | Type::Record { .. });
                match home.sort {
                    Some(sort) if sort == self.sort => scalar && place.path.len() == 1,
                    Some(_) => true,
                    None => scalar && place.path.is_empty() || !refers(),
                }
            }
        };
        let mut plain = true;
        walk_block(body, &mut |node| match node {
            Node::Stmt(stmt) => {
                plain &= match &stmt.kind {
                    StmtKind::Call(function, _) => pure[function.index()],
                    StmtKind::Bind(_) => false,
                    other => other.written().is_none_or(is_whole),
                }
            }
            Node::Expr(Expr { kind: ExprKind::Call(function, _), .. }) => plain &= pure[function.index()],
            _ => {}
        });
        plain
    }

    pub(super) fn is_of_sort(&self, place: &Place) -> bool {
        matches!(place.root, Root::Var(var) if self.reader.layout.home(var).sort == Some(self.sort))
    }

    /// Invariants: for every element, what it reads while it is in some nodes.
    pub(super) fn invariant(
        &mut self,
        expr: &Expr,
        me: Option<LocalId>,
        when: Vec<NodeAtom>,
    ) -> Result<bool, Unsupported> {
        match &expr.kind {
            ExprKind::And(parts) => {
                for part in parts {
                    if !self.invariant(part, me, when.clone())? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            ExprKind::Quantified { local, domain: Domain::Type(ty), body, .. }
                if me.is_none() && self.reader.model.sorts_of(*ty).contains(&self.sort) =>
            {
                self.invariant(body, Some(*local), when)
            }
            ExprKind::Implies(left, right) => {
                let mut way = self.way();
                let mut unknown = false;
                way.when = when.clone();
                self.reads_when(left, me, false, &mut way, &mut unknown)?;
                self.held.push(way);
                let mut when = when;
                self.atoms(left, me, true, &mut when);
                Ok(!unknown && self.invariant(right, me, when)?)
            }
            _ => {
                let mut way = self.way();
                let mut unknown = false;
                way.when = when;
                self.reads(expr, me, &mut way, &mut unknown)?;
                self.held.push(way);
                Ok(!unknown)
            }
        }
    }
}

/// Whether an expression is a local: an element, and where nobody is in question, not this one.
fn is_plain(expr: &Expr) -> bool {
    local_of(expr).is_some()
}

/// Whether a place is an entry for an element that a local names: that is covered by its own role.
fn is_param_write(place: &Place) -> bool {
    matches!(place.path.first(), Some(Projection::Index(index)) if local_of(index).is_some())
}

/// A guard whose clocks are all named by locals reads those of other elements only through other roles.
fn plain_other(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::And(parts) | ExprKind::Or(parts) => parts.iter().all(plain_other),
        ExprKind::Unary(_, of) => plain_other(of),
        ExprKind::Implies(left, right) | ExprKind::Binary(_, left, right) | ExprKind::Equal(left, right) => {
            plain_other(left) && plain_other(right)
        }
        ExprKind::Read(place) => place.path.iter().all(|projection| match projection {
            Projection::Index(index) => local_of(index).is_some(),
            _ => false,
        }),
        ExprKind::Const(_) => true,
        _ => false,
    }
}
