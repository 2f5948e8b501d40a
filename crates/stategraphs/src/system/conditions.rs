//! Conditions as disjunctions of conjunctions.

use shoal_dbm::{ClockBounds, Constraint, LARGEST_CONSTANT, constraint};
use shoal_model::{BinaryOp, Condition, Domain, Expr, ExprKind, Quantifier, UnaryOp, Value};
use shoal_syntax::Span;

use super::{BoundValues, Conjunction, Dnf, OrUnsupported, ProcessSystem, places::PlainTerm, unsupported};

/// More conjuncts than this in one guard are refused.
const MOST_DISJUNCTS: usize = 4096;

impl ProcessSystem<'_> {
    /// The negation of a condition on states, as a disjunction.
    pub fn violations(&self, condition: &Condition) -> OrUnsupported<Dnf> {
        self.dnf(&condition.expr, &Vec::new(), false)
    }

    /// A condition on states, as a disjunction.
    pub fn states(&self, condition: &Condition) -> OrUnsupported<Dnf> {
        self.dnf(&condition.expr, &Vec::new(), true)
    }

    /// Marks the cells and timers that a condition mentions.
    pub fn mention(&self, condition: &Condition, cells: &mut [bool], timers: &mut [bool]) {
        self.mention_expr(&condition.expr, &mut Vec::new(), cells, timers);
    }

    pub(super) fn mention_expr(
        &self,
        expr: &Expr,
        env: &mut BoundValues,
        cells: &mut [bool],
        timers: &mut [bool],
    ) {
        match &expr.kind {
            ExprKind::Quantified { local, domain: Domain::Type(ty), body, .. } => {
                for value in self.model.values(*ty) {
                    env.push((*local, value));
                    self.mention_expr(body, env, cells, timers);
                    env.pop();
                }
            }
            ExprKind::Read(place) | ExprKind::Peek(place) => match self.find(place, env) {
                Ok(PlainTerm::Cell(cell)) => cells[cell] = true,
                Ok(PlainTerm::Timer(timer)) => timers[timer] = true,
                Ok(PlainTerm::Const(_)) => {}
                // Not known which: any.
                Err(_) => {
                    cells.fill(true);
                    timers.fill(true);
                }
            },
            ExprKind::And(parts) | ExprKind::Or(parts) => {
                parts.iter().for_each(|part| self.mention_expr(part, env, cells, timers));
            }
            ExprKind::Unary(_, of) | ExprKind::Ordinal(of) | ExprKind::ElementAt(_, of) => {
                self.mention_expr(of, env, cells, timers);
            }
            ExprKind::Binary(_, left, right)
            | ExprKind::Equal(left, right)
            | ExprKind::Implies(left, right) => {
                self.mention_expr(left, env, cells, timers);
                self.mention_expr(right, env, cells, timers);
            }
            ExprKind::Const(_) => {}
            _ => {
                cells.fill(true);
                timers.fill(true);
            }
        }
    }

    pub(super) fn all(
        &self,
        parts: impl Iterator<Item = OrUnsupported<Dnf>>,
        span: Span,
    ) -> OrUnsupported<Dnf> {
        let mut whole = vec![Conjunction::default()];
        for part in parts {
            let part = part?;
            let mut next = Vec::new();
            for left in &whole {
                next.extend(part.iter().filter_map(|right| left.and(right)));
            }
            if next.len() > MOST_DISJUNCTS {
                return unsupported("a condition with too many cases", span);
            }
            whole = next;
        }
        Ok(whole)
    }

    pub(super) fn any(&self, parts: impl Iterator<Item = OrUnsupported<Dnf>>) -> OrUnsupported<Dnf> {
        let mut whole: Dnf = Vec::new();
        for part in parts {
            for conjunction in part? {
                if !whole.contains(&conjunction) {
                    whole.push(conjunction);
                }
            }
        }
        Ok(whole)
    }

    pub(super) fn dnf(&self, expr: &Expr, env: &BoundValues, positive: bool) -> OrUnsupported<Dnf> {
        let known = |truth: bool| if truth == positive { vec![Conjunction::default()] } else { Vec::new() };
        let each =
            |parts: &[Expr]| parts.iter().map(|part| self.dnf(part, env, positive)).collect::<Vec<_>>();
        let span = expr.span;
        match &expr.kind {
            ExprKind::Const(Value::Bool(value)) => Ok(known(*value)),
            ExprKind::Unary(UnaryOp::Not, of) => self.dnf(of, env, !positive),
            ExprKind::And(parts) if positive => self.all(each(parts).into_iter(), span),
            ExprKind::And(parts) => self.any(each(parts).into_iter()),
            ExprKind::Or(parts) if positive => self.any(each(parts).into_iter()),
            ExprKind::Or(parts) => self.all(each(parts).into_iter(), span),
            ExprKind::Implies(left, right) => {
                let parts = [self.dnf(left, env, !positive), self.dnf(right, env, positive)];
                if positive { self.any(parts.into_iter()) } else { self.all(parts.into_iter(), span) }
            }
            ExprKind::Quantified { quantifier, local, domain: Domain::Type(ty), body } => {
                let mut parts = Vec::new();
                for value in self.model.values(*ty) {
                    let mut env = env.clone();
                    env.push((*local, value));
                    parts.push(self.dnf(body, &env, positive));
                }
                match (quantifier, positive) {
                    (Quantifier::Forall, true) | (Quantifier::Exists, false) => {
                        self.all(parts.into_iter(), span)
                    }
                    (Quantifier::Forall, false) | (Quantifier::Exists, true) => self.any(parts.into_iter()),
                    (Quantifier::Count, _) => unsupported("counting", span),
                }
            }
            ExprKind::Equal(left, right) => match (self.term(left, env)?, self.term(right, env)?) {
                (PlainTerm::Const(left), PlainTerm::Const(right)) => Ok(known(left == right)),
                (PlainTerm::Cell(cell), PlainTerm::Const(value))
                | (PlainTerm::Const(value), PlainTerm::Cell(cell)) => {
                    Ok(self.members(cell, positive, |own| *own == value))
                }
                (PlainTerm::Cell(left), PlainTerm::Cell(right)) => {
                    Ok(self.pairs(left, right, |l, r| (l == r) == positive))
                }
                (PlainTerm::Timer(timer), PlainTerm::Const(Value::Int(value)))
                | (PlainTerm::Const(Value::Int(value)), PlainTerm::Timer(timer)) => {
                    let parts =
                        [BinaryOp::Le, BinaryOp::Ge].map(|op| timing(timer, op, value, positive, span));
                    if positive { self.all(parts.into_iter(), span) } else { self.any(parts.into_iter()) }
                }
                _ => unsupported("comparing two clocks", span),
            },
            ExprKind::Binary(op, left, right) if op.compares() => {
                match (self.term(left, env)?, self.term(right, env)?) {
                    (PlainTerm::Const(Value::Int(l)), PlainTerm::Const(Value::Int(r))) => {
                        Ok(known(op.apply(l, r) == Ok(Value::Bool(true))))
                    }
                    (PlainTerm::Timer(timer), PlainTerm::Const(Value::Int(value))) => {
                        timing(timer, *op, value, positive, span)
                    }
                    (PlainTerm::Const(Value::Int(value)), PlainTerm::Timer(timer)) => {
                        timing(timer, op.mirrored(), value, positive, span)
                    }
                    (PlainTerm::Cell(cell), PlainTerm::Const(Value::Int(value))) => {
                        Ok(self.members(cell, positive, |own| compare_ints(*op, own, &Value::Int(value))))
                    }
                    (PlainTerm::Const(Value::Int(value)), PlainTerm::Cell(cell)) => {
                        Ok(self.members(cell, positive, |own| compare_ints(*op, &Value::Int(value), own)))
                    }
                    (PlainTerm::Cell(left), PlainTerm::Cell(right)) => {
                        Ok(self.pairs(left, right, |l, r| compare_ints(*op, l, r) == positive))
                    }
                    _ => unsupported("comparing two clocks", span),
                }
            }
            ExprKind::Read(_) => match self.term(expr, env)? {
                PlainTerm::Const(value) => Ok(known(value == Value::Bool(true))),
                PlainTerm::Cell(cell) => Ok(self.members(cell, positive, |own| *own == Value::Bool(true))),
                PlainTerm::Timer(_) => unsupported("a clock as a condition", span),
            },
            _ => unsupported("this kind of condition", span),
        }
    }

    /// The cell has a value for which the question is answered so.
    pub(super) fn members(&self, cell: usize, positive: bool, holds: impl Fn(&Value) -> bool) -> Dnf {
        let mut mask = 0;
        for (position, value) in self.model.values(self.cells[cell].ty).enumerate() {
            if holds(&value) == positive {
                mask |= 1 << position;
            }
        }
        if mask == 0 {
            Vec::new()
        } else {
            vec![Conjunction { cells: vec![(cell, mask)], timers: Vec::new() }]
        }
    }

    /// The cells have values that are related so.
    pub(super) fn pairs(&self, left: usize, right: usize, holds: impl Fn(&Value, &Value) -> bool) -> Dnf {
        let mut dnf = Vec::new();
        for (position, value) in self.model.values(self.cells[left].ty).enumerate() {
            let here = Conjunction { cells: vec![(left, 1 << position)], timers: Vec::new() };
            let there = self.members(right, true, |other| holds(&value, other));
            dnf.extend(there.iter().filter_map(|there| here.and(there)));
        }
        dnf
    }
}

impl Conjunction {
    /// Both; nothing if no state of the cells satisfies both.
    pub fn and(&self, other: &Conjunction) -> Option<Conjunction> {
        let mut both = self.clone();
        for (cell, mask) in &other.cells {
            match both.cells.binary_search_by_key(cell, |(cell, _)| *cell) {
                Ok(at) => {
                    both.cells[at].1 &= mask;
                    if both.cells[at].1 == 0 {
                        return None;
                    }
                }
                Err(at) => both.cells.insert(at, (*cell, *mask)),
            }
        }
        both.timers.extend(other.timers.iter().filter(|timer| !self.timers.contains(timer)));
        Some(both)
    }

    /// The timers that it is about, some more than once.
    pub fn clocks(&self) -> impl Iterator<Item = usize> + '_ {
        let ends = self.timers.iter().flat_map(|constraint| [constraint.left, constraint.right]);
        ends.filter(|clock| *clock > 0).map(|clock| clock - 1)
    }

    /// Whether what it asks of timers is asked by another, too.
    fn asks_no_more_than(&self, other: &Conjunction) -> bool {
        self.timers.iter().all(|constraint| other.timers.contains(constraint))
    }
}

/// Whether a disjunction is a zone wherever the cells are known: of any two parts that are possible together, one asks no
/// more of the timers than the other.
pub(super) fn is_convex(dnf: &Dnf) -> bool {
    let together = |a: &Conjunction, b: &Conjunction| a.and(b).is_some();
    dnf.iter().enumerate().all(|(at, a)| {
        let others = dnf[at + 1..].iter().filter(|b| together(a, b));
        others.into_iter().all(|b| a.asks_no_more_than(b) || b.asks_no_more_than(a))
    })
}

/// Raises the limits of the clock that a constraint is on.
pub(crate) fn note_limit(limits: &mut [ClockBounds], constraint: &Constraint) {
    let Some(c) = constraint.bound.constant() else { return };
    if constraint.right == 0 && constraint.left > 0 {
        let limit = &mut limits[constraint.left - 1].upper;
        *limit = (*limit).max(Some(c));
    } else if constraint.left == 0 && constraint.right > 0 {
        let limit = &mut limits[constraint.right - 1].lower;
        *limit = (*limit).max(Some(-c));
    }
}

pub(super) fn constant(value: i64, span: Span) -> OrUnsupported<i32> {
    if value.abs() <= LARGEST_CONSTANT {
        return Ok(value as i32);
    }
    unsupported(format!("a clock constant beyond {LARGEST_CONSTANT}"), span)
}

pub(super) fn compare_ints(op: BinaryOp, left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Int(left), Value::Int(right)) => op.apply(*left, *right) == Ok(Value::Bool(true)),
        _ => shoal_model::internal!("{left:?} and {right:?} are compared as numbers"),
    }
}

pub(super) fn timing(
    timer: usize,
    op: BinaryOp,
    value: i64,
    positive: bool,
    span: Span,
) -> OrUnsupported<Dnf> {
    let c = constant(value, span)?;
    let Some(constraint) = constraint(timer + 1, op, c) else {
        return unsupported("this comparison of a clock", span);
    };
    let constraint = if positive { constraint } else { constraint.negated() };
    Ok(vec![Conjunction { cells: Vec::new(), timers: vec![constraint] }])
}
