//! Bounds of global clocks by a control variable: where a process is says what its clocks are still going to be compared
//! with.
//!
//! For a clock and a control variable, the nodes are the variable's values, and an edge leads from a value to one it may be
//! changed to. Bounds are carried backwards over the edges on which the clock is not reset. What guards say about the
//! variable is used, what else they say is not; so there are more ways than there are in truth, and the bounds are great
//! enough. Of all control variables a clock takes the one that tells most: that of its own process.

use shoal_dbm::ClockBounds;
use shoal_model::{
    CheckKind, Expr, ExprKind, Model, PropertyKind, Root, Stmt, StmtKind, Type, UnaryOp, Unsupported, Value,
    VarId,
};

use super::reader::{ClockReader, NamedClock};

/// The bounds of a clock for each value of a cell.
pub(super) struct Controlled {
    pub(super) cell: usize,
    pub(super) limits: Vec<ClockBounds>,
}

/// Values of the control variable.
type ControlMask = Vec<bool>;

/// The graph of a control variable for one clock.
struct ControlGraph<'r, 'm> {
    reader: &'r ClockReader<'m>,
    control: VarId,
    clock: usize,
    reads: Vec<ClockBounds>,
    /// From, to: where the clock is not reset on the way.
    edges: Vec<(usize, usize)>,
}

/// The best bounds for a global clock, if some control variable says anything about it.
pub(super) fn controlled(
    reader: &ClockReader<'_>,
    clock: usize,
    anywhere: ClockBounds,
) -> Result<Option<Controlled>, Unsupported> {
    let mut best: Option<(i64, Controlled)> = None;
    for control in controls(reader.model) {
        let home = reader.layout.home(control);
        let values = reader.model.cardinality(reader.model.vars[control].ty).unwrap_or(0) as usize;
        if home.sort.is_some() || values < 2 {
            continue;
        }
        let mut graph = ControlGraph {
            reader,
            control,
            clock,
            reads: vec![ClockBounds::default(); values],
            edges: Vec::new(),
        };
        graph.read_model()?;
        let limits = graph.solve();
        let cost: i64 = limits.iter().map(cost).sum();
        if best.as_ref().is_none_or(|(least, _)| cost < *least) && cost < cost_of_all(anywhere, values) {
            best = Some((cost, Controlled { cell: home.at.cells, limits }));
        }
    }
    Ok(best.map(|(_, controlled)| controlled))
}

/// Variables that say where a process is, and that only rules write.
fn controls(model: &Model) -> Vec<VarId> {
    let written = |var: VarId, body: &[Stmt]| {
        let mut found = false;
        shoal_model::walk_block(body, &mut |node| {
            if let shoal_model::Node::Stmt(stmt) = node {
                found |= stmt.kind.written().is_some_and(|place| place.root == Root::Var(var));
            }
        });
        found
    };
    model
        .vars
        .enumerate()
        .filter(|(_, var)| matches!(model.kind(var.ty), Type::Enum { .. }))
        .filter(|(id, _)| !model.functions.iter().any(|function| written(*id, &function.code.body)))
        .map(|(id, _)| id)
        .collect()
}

fn cost(limits: &ClockBounds) -> i64 {
    [limits.lower, limits.upper].into_iter().flatten().map(|limit| i64::from(limit) + 1).sum()
}

fn cost_of_all(limits: ClockBounds, values: usize) -> i64 {
    cost(&limits) * values as i64
}

impl ControlGraph<'_, '_> {
    fn everywhere(&self) -> ControlMask {
        vec![true; self.reads.len()]
    }

    fn read_model(&mut self) -> Result<(), Unsupported> {
        let model = self.reader.model;
        for rule in model.rules.iter() {
            let mut at = self.everywhere();
            if let Some(guard) = &rule.guard {
                self.atoms(guard, true, &mut at);
                self.note(guard, true, &at)?;
            }
            let mut moved = false;
            self.block(&rule.code.body, &at, false, &mut moved)?;
        }
        for property in model.properties.iter() {
            match &property.kind {
                PropertyKind::Assume(Some(condition)) => self.held(&condition.expr, self.everywhere())?,
                kind => {
                    for condition in kind.conditions() {
                        self.note(&condition.expr, true, &self.everywhere())?;
                        self.note(&condition.expr, false, &self.everywhere())?;
                    }
                }
            }
        }
        match &model.while_time_passes {
            Some(condition) => self.held(&condition.expr, self.everywhere()),
            None => Ok(()),
        }
    }

    /// A block of a rule that begins where the variable has one of the values. `moved`: the variable may have changed.
    fn block(
        &mut self,
        body: &[Stmt],
        at: &ControlMask,
        reset_before: bool,
        moved: &mut bool,
    ) -> Result<(), Unsupported> {
        let reset = reset_before || body.iter().any(|stmt| self.resets(stmt));
        for stmt in body {
            let at = if *moved { self.everywhere() } else { at.clone() };
            match &stmt.kind {
                StmtKind::Assign(place, value) if place.root == Root::Var(self.control) => {
                    self.moves(&at, value, reset);
                    *moved = true;
                }
                StmtKind::Clear(place) | StmtKind::Undefine(place)
                    if place.root == Root::Var(self.control) =>
                {
                    let values = self.everywhere();
                    self.edges_between(&at, &values, reset);
                    *moved = true;
                }
                StmtKind::If(arms, other) => {
                    for (condition, body) in arms {
                        let mut inside = at.clone();
                        self.atoms(condition, true, &mut inside);
                        self.note(condition, true, &inside)?;
                        self.note(condition, false, &inside)?;
                        let mut inner = *moved;
                        self.block(body, &inside, reset, &mut inner)?;
                        *moved |= inner;
                    }
                    self.block(other, &at, reset, moved)?;
                }
                StmtKind::While { condition, body, .. } => {
                    self.note(condition, true, &self.everywhere())?;
                    self.note(condition, false, &self.everywhere())?;
                    *moved = true;
                    self.block(body, &self.everywhere(), false, moved)?;
                }
                StmtKind::For { body, .. } => {
                    *moved = true;
                    self.block(body, &self.everywhere(), false, moved)?;
                }
                StmtKind::Check { kind: CheckKind::Assume, condition: Some(condition), .. } => {
                    // It is true of the value that the variable has there, before or after it has changed.
                    self.held(condition, self.everywhere())?;
                }
                StmtKind::Check { condition: Some(condition), .. } => {
                    self.note(condition, true, &self.everywhere())?;
                    self.note(condition, false, &self.everywhere())?;
                }
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
        Ok(())
    }

    fn resets(&self, stmt: &Stmt) -> bool {
        match &stmt.kind {
            StmtKind::Assign(place, _) if *self.reader.model.kind(place.ty) == Type::Clock => {
                self.reader.clock_at(place, None) == NamedClock::Global(self.clock)
            }
            _ => false,
        }
    }

    fn moves(&mut self, at: &ControlMask, value: &Expr, reset: bool) {
        let to = match &value.kind {
            ExprKind::Const(Value::Enum(_, to)) => {
                let mut values = vec![false; self.reads.len()];
                values[*to as usize] = true;
                values
            }
            _ => self.everywhere(),
        };
        self.edges_between(at, &to, reset);
    }

    fn edges_between(&mut self, from: &ControlMask, to: &ControlMask, reset: bool) {
        if reset {
            return;
        }
        let chosen = |mask: &ControlMask| (0..mask.len()).filter(|value| mask[*value]).collect::<Vec<_>>();
        for from in chosen(from) {
            for to in chosen(to) {
                if !self.edges.contains(&(from, to)) {
                    self.edges.push((from, to));
                }
            }
        }
    }

    /// Leaves of a mask only the values for which a condition can be true (or false).
    fn atoms(&self, expr: &Expr, positive: bool, mask: &mut ControlMask) {
        match &expr.kind {
            ExprKind::And(parts) if positive => parts.iter().for_each(|part| self.atoms(part, true, mask)),
            ExprKind::Or(parts) if !positive => parts.iter().for_each(|part| self.atoms(part, false, mask)),
            ExprKind::Unary(UnaryOp::Not, of) => self.atoms(of, !positive, mask),
            ExprKind::Equal(left, right) => {
                if let (ExprKind::Read(place), ExprKind::Const(Value::Enum(_, value))) =
                    (&left.kind, &right.kind)
                    && place.root == Root::Var(self.control)
                {
                    let same = |at: usize| (at == *value as usize) == positive;
                    mask.iter_mut().enumerate().for_each(|(at, allowed)| *allowed &= same(at));
                }
            }
            _ => {}
        }
    }

    /// Notes the comparisons of the clock in a condition that is evaluated where the variable has one of the values.
    fn note(&mut self, expr: &Expr, positive: bool, at: &ControlMask) -> Result<(), Unsupported> {
        let mut found = ClockBounds::default();
        self.reader.signed_reads(expr, None, positive, &mut |clock, limits| match clock {
            NamedClock::Global(clock) if clock == self.clock => found = found.join(limits),
            NamedClock::Unknown => found = found.join(limits),
            _ => {}
        })?;
        for (reads, _) in self.reads.iter_mut().zip(at).filter(|(_, allowed)| **allowed) {
            *reads = reads.join(found);
        }
        Ok(())
    }

    /// Something that holds all the time: of an implication, the right side is read where the left side holds.
    fn held(&mut self, expr: &Expr, at: ControlMask) -> Result<(), Unsupported> {
        match &expr.kind {
            ExprKind::And(parts) => parts.iter().try_for_each(|part| self.held(part, at.clone())),
            ExprKind::Quantified { body, .. } => self.held(body, at),
            ExprKind::Implies(left, right) => {
                self.note(left, false, &at)?;
                let mut inside = at;
                self.atoms(left, true, &mut inside);
                self.held(right, inside)
            }
            _ => self.note(expr, true, &at),
        }
    }

    fn solve(&self) -> Vec<ClockBounds> {
        let mut limits = self.reads.clone();
        loop {
            let before = limits.clone();
            for (from, to) in &self.edges {
                limits[*from] = limits[*from].join(limits[*to]);
            }
            if limits == before {
                return limits;
            }
        }
    }
}
