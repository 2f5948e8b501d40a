//! Conditions on clocks: what has to hold of the clocks for them to be true, or false.

use shoal_dbm::{Bound, ClockEvent, Constraint, LARGEST_CONSTANT, difference};
use shoal_model::{BinaryOp, Condition, Expr, ExprKind, LocalId, Quantifier, Type, UnaryOp};
use shoal_syntax::Span;

use super::{Clocked, ZoneMachine, ZoneResult, ZoneStop, refuse};

impl ZoneMachine<'_> {
    /// A condition, perhaps on clocks: what has to hold of the clocks for it to be true, or false.
    pub(crate) fn clocked(&mut self, expr: &Expr, positive: bool) -> ZoneResult<Clocked> {
        let known = |truth: bool| if truth == positive { vec![Vec::new()] } else { Vec::new() };
        match &expr.kind {
            // What compares two values says itself whether they are clocks; of others that is found out first.
            ExprKind::Binary(op, ..) if op.compares() => {}
            ExprKind::Unary(UnaryOp::Not, _)
            | ExprKind::And(_)
            | ExprKind::Or(_)
            | ExprKind::Implies(..)
            | ExprKind::Equal(..) => {}
            _ if self.reads_clock(expr) => {}
            _ => return Ok(known(self.eval(expr)? != 0)),
        }
        match &expr.kind {
            ExprKind::Unary(UnaryOp::Not, of) => self.clocked(of, !positive),
            ExprKind::And(parts) => self.join(parts.iter(), positive, positive),
            ExprKind::Or(parts) => self.join(parts.iter(), !positive, positive),
            ExprKind::Implies(left, right) => {
                // Most often that a process is somewhere: no clock is asked about one that is elsewhere.
                if !self.reads_clock(left) {
                    return match self.eval(left)? {
                        0 => Ok(known(true)),
                        _ => self.clocked(right, positive),
                    };
                }
                let left = self.clocked(left, !positive)?;
                if positive {
                    if left.iter().any(Vec::is_empty) {
                        return Ok(vec![Vec::new()]);
                    }
                    let right = self.clocked(right, true)?;
                    return Ok(either(left, right));
                }
                if left.is_empty() {
                    return Ok(Vec::new());
                }
                let right = self.clocked(right, false)?;
                Ok(both(left, right))
            }
            ExprKind::Cond(condition, then, other) => {
                let taken = if self.eval(condition)? != 0 { then } else { other };
                self.clocked(taken, positive)
            }
            ExprKind::Quantified {
                quantifier: quantifier @ (Quantifier::Forall | Quantifier::Exists),
                local,
                domain,
                body,
            } => {
                self.enter_quantifier(body);
                let values = self.values(domain, expr.span)?;
                let outer = self.local(*local);
                let all = (*quantifier == Quantifier::Forall) == positive;
                let ordered = self.decides(*quantifier, domain).is_some();
                let mut result = if all { vec![Vec::new()] } else { Vec::new() };
                for value in values {
                    self.tick()?;
                    self.set_local(*local, value);
                    let part = self.clocked(body, positive)?;
                    result = if all { both(result, part) } else { either(result, part) };
                    if ordered && is_decided(&result, all) {
                        break;
                    }
                }
                self.set_local(*local, outer);
                self.nesting -= 1;
                Ok(result)
            }
            ExprKind::Binary(op, left, right) if op.compares() => {
                match (self.is_clock(left), self.is_clock(right)) {
                    (true, false) => {
                        let c = self.eval(right)?;
                        self.timing(left, *op, c, positive)
                    }
                    (false, true) => {
                        let c = self.eval(left)?;
                        self.timing(right, op.mirrored(), c, positive)
                    }
                    (true, true) => self.difference(left, *op, right, positive),
                    (false, false) => Ok(known(self.eval(expr)? != 0)),
                }
            }
            ExprKind::Equal(left, right) if self.is_clock(left) || self.is_clock(right) => {
                let (clock, other) = if self.is_clock(left) { (left, right) } else { (right, left) };
                let compare = |machine: &mut Self, op: BinaryOp| match machine.is_clock(other) {
                    true => machine.difference(clock, op, other, positive),
                    false => {
                        let c = machine.eval(other)?;
                        machine.timing(clock, op, c, positive)
                    }
                };
                let (least, most) = (compare(self, BinaryOp::Ge)?, compare(self, BinaryOp::Le)?);
                Ok(if positive { both(least, most) } else { either(least, most) })
            }
            _ => Ok(known(self.eval(expr)? != 0)),
        }
    }

    pub(super) fn join<'e>(
        &mut self,
        parts: impl Iterator<Item = &'e Expr>,
        all: bool,
        positive: bool,
    ) -> ZoneResult<Clocked> {
        let mut result = if all { vec![Vec::new()] } else { Vec::new() };
        for part in parts {
            let part = self.clocked(part, positive)?;
            result = if all { both(result, part) } else { either(result, part) };
            if is_decided(&result, all) {
                break;
            }
        }
        Ok(result)
    }

    /// Whether a condition depends on clocks.
    pub(super) fn reads_clock(&self, expr: &Expr) -> bool {
        match &expr.kind {
            ExprKind::Read(_) => self.is_clock(expr),
            ExprKind::Unary(_, of) | ExprKind::Quantified { body: of, .. } => self.reads_clock(of),
            ExprKind::Binary(_, left, right)
            | ExprKind::Equal(left, right)
            | ExprKind::Implies(left, right) => self.reads_clock(left) || self.reads_clock(right),
            ExprKind::And(parts) | ExprKind::Or(parts) => parts.iter().any(|part| self.reads_clock(part)),
            ExprKind::Cond(condition, then, other) => {
                [condition, then, other].into_iter().any(|part| self.reads_clock(part))
            }
            _ => false,
        }
    }

    pub(super) fn is_clock(&self, expr: &Expr) -> bool {
        matches!(self.model.kind(expr.ty), Type::Clock)
    }

    pub(super) fn timing(
        &mut self,
        clock: &Expr,
        op: BinaryOp,
        c: i64,
        positive: bool,
    ) -> ZoneResult<Clocked> {
        let (number, more) = self.clock_term(clock)?;
        self.apart(number, 0, op, c - more, clock.span, positive)
    }

    /// Two clocks are compared, with numbers added to them or not.
    fn difference(&mut self, left: &Expr, op: BinaryOp, right: &Expr, positive: bool) -> ZoneResult<Clocked> {
        let ((one, more), (other, most)) = (self.clock_term(left)?, self.clock_term(right)?);
        self.apart(one, other, op, most - more, left.span, positive)
    }

    /// How far a clock is from another.
    fn apart(
        &mut self,
        left: usize,
        right: usize,
        op: BinaryOp,
        c: i64,
        span: Span,
        positive: bool,
    ) -> ZoneResult<Clocked> {
        let Some(c) = i32::try_from(c).ok().filter(|c| i64::from(c.abs()) <= LARGEST_CONSTANT) else {
            return refuse(format!("a clock constant beyond {LARGEST_CONSTANT}"), span);
        };
        let Some(constraint) = difference(left, right, op, c) else {
            return refuse("this comparison of a clock", span);
        };
        let constraint = if positive { constraint } else { constraint.negated() };
        match left == right {
            // A clock and itself.
            true if constraint.bound >= Bound::ZERO => Ok(vec![Vec::new()]),
            true => Ok(Vec::new()),
            false => Ok(vec![vec![constraint]]),
        }
    }

    /// A clock, and what is added to it.
    fn clock_term(&mut self, expr: &Expr) -> ZoneResult<(usize, i64)> {
        match &expr.kind {
            ExprKind::Read(place) => {
                let spot = self.spot(place)?;
                Ok((self.clock_at(spot, expr.span)?.0, 0))
            }
            ExprKind::Binary(BinaryOp::Add, clock, more) if self.is_clock(clock) => {
                let ((clock, so_far), more) = (self.clock_term(clock)?, self.eval(more)?);
                match so_far.checked_add(more).filter(|sum| sum.abs() <= LARGEST_CONSTANT) {
                    Some(sum) => Ok((clock, sum)),
                    None => refuse(format!("a clock constant beyond {LARGEST_CONSTANT}"), expr.span),
                }
            }
            _ => refuse("the value of a clock", expr.span),
        }
    }

    /// Settles on which side of each difference that is still going to be asked for the clocks are.
    pub(crate) fn split(&mut self, differences: &[Constraint]) -> ZoneResult {
        for constraint in differences {
            let zone = &self.state.zone;
            let entailed = |of: Constraint| zone.get(of.left, of.right) <= of.bound;
            if entailed(*constraint) || entailed(constraint.negated()) {
                continue;
            }
            let chosen = if self.decide(2)? == 0 { *constraint } else { constraint.negated() };
            self.constrain(&[chosen])?;
        }
        Ok(())
    }

    /// Goes on only where a condition holds.
    pub(crate) fn assume(&mut self, expr: &Expr) -> ZoneResult {
        self.assume_that(expr, true)
    }

    /// Goes on only where a condition is true, or false.
    pub(crate) fn assume_that(&mut self, expr: &Expr, truth: bool) -> ZoneResult {
        if !self.reads_clock(expr) {
            return require((self.eval(expr)? != 0) == truth);
        }
        let (frames, nesting) = (self.frames.len(), self.nesting);
        let ways = match self.clocked(expr, truth) {
            // Whether it is really evaluated as far as that may depend on clocks.
            Err(ZoneStop::Fault(_)) => {
                self.frames.truncate(frames);
                self.nesting = nesting;
                return self.in_order(expr, truth);
            }
            other => other?,
        };
        let way = self.decide(ways.len())?;
        self.constrain(&ways[way])
    }

    /// The same, where some part faults: parts are evaluated from left to right as far as is needed, each only where the
    /// clocks make those before it what they have to be.
    fn in_order(&mut self, expr: &Expr, truth: bool) -> ZoneResult {
        if !self.reads_clock(expr) {
            return require((self.eval(expr)? != 0) == truth);
        }
        match &expr.kind {
            ExprKind::Unary(UnaryOp::Not, of) => self.in_order(of, !truth),
            ExprKind::And(parts) => self.in_order_until(parts, false, truth),
            ExprKind::Or(parts) => self.in_order_until(parts, true, truth),
            ExprKind::Implies(left, right) => match truth && self.decide(2)? == 0 {
                true => self.in_order(left, false),
                false => {
                    self.in_order(left, true)?;
                    self.in_order(right, truth)
                }
            },
            ExprKind::Cond(condition, then, other) => {
                let taken = if self.eval(condition)? != 0 { then } else { other };
                self.in_order(taken, truth)
            }
            ExprKind::Quantified {
                quantifier: quantifier @ (Quantifier::Forall | Quantifier::Exists),
                local,
                domain,
                body,
            } => {
                self.enter_quantifier(body);
                let values = self.values(domain, expr.span)?;
                let outer = self.local(*local);
                match self.decides(*quantifier, domain) {
                    Some(ends) => self.values_until(*local, body, &values, ends, truth)?,
                    None => {
                        self.all_values(*local, body, &values, *quantifier == Quantifier::Forall, truth)?
                    }
                }
                self.set_local(*local, outer);
                self.nesting -= 1;
                Ok(())
            }
            _ => {
                let ways = self.clocked(expr, truth)?;
                let way = self.decide(ways.len())?;
                self.constrain(&ways[way])
            }
        }
    }

    /// Parts of which the first with the truth value `ends` decides: then all of them have it, else none has.
    fn in_order_until(&mut self, parts: &[Expr], ends: bool, truth: bool) -> ZoneResult {
        if truth != ends {
            return parts.iter().try_for_each(|part| self.in_order(part, !ends));
        }
        let last = self.decide(parts.len())?;
        parts[..last].iter().try_for_each(|part| self.in_order(part, !ends))?;
        self.in_order(&parts[last], ends)
    }

    /// The same for the values of a quantifier that have an order.
    fn values_until(
        &mut self,
        local: LocalId,
        body: &Expr,
        values: &[i64],
        ends: bool,
        truth: bool,
    ) -> ZoneResult {
        let last = if truth == ends { Some(self.decide(values.len())?) } else { None };
        for value in &values[..last.unwrap_or(values.len())] {
            self.set_local(local, *value);
            self.in_order(body, !ends)?;
        }
        if let Some(last) = last {
            self.set_local(local, values[last]);
            self.in_order(body, ends)?;
        }
        Ok(())
    }

    /// A quantifier over interchangeable elements: all of them are looked at, whatever the others say.
    fn all_values(
        &mut self,
        local: LocalId,
        body: &Expr,
        values: &[i64],
        usual: bool,
        truth: bool,
    ) -> ZoneResult {
        let mut all_usual = true;
        for value in values {
            self.set_local(local, *value);
            let is_usual = self.decide(2)? == 0;
            all_usual &= is_usual;
            self.in_order(body, usual == is_usual)?;
        }
        require((all_usual == usual) == truth)
    }

    pub(crate) fn constrain(&mut self, constraints: &[Constraint]) -> ZoneResult {
        for constraint in constraints {
            if let Some(events) = &mut self.events {
                events.push(ClockEvent::Holds(*constraint));
            }
            if !self.state.zone.constrain(*constraint) {
                return Err(ZoneStop::NoRun);
            }
        }
        Ok(())
    }

    /// Whether the state satisfies a condition on its own, with its frame.
    pub(crate) fn condition(&mut self, condition: &Condition, positive: bool) -> ZoneResult<Clocked> {
        self.push_frame(&condition.locals);
        let result = self.clocked(&condition.expr, positive);
        self.frames.pop();
        result
    }

    /// What has to hold of the clocks for these parts of a condition to be true.
    pub(crate) fn conjunction(&mut self, condition: &Condition, parts: &[&Expr]) -> ZoneResult<Clocked> {
        self.push_frame(&condition.locals);
        let result = self.join(parts.iter().copied(), true, true);
        self.frames.pop();
        result
    }

    /// Goes on only where a condition holds that is one conjunction on clocks; anywhere, if it is not.
    pub(crate) fn note(&mut self, condition: &Condition) -> ZoneResult {
        let (frames, nesting) = (self.frames.len(), self.nesting);
        match self.condition(condition, true) {
            Ok(ways) if ways.len() == 1 => self.constrain(&ways[0]),
            Err(ZoneStop::Halt(halt)) => Err(ZoneStop::Halt(halt)),
            _ => {
                self.frames.truncate(frames);
                self.nesting = nesting;
                Ok(())
            }
        }
    }

    pub(crate) fn assume_condition(&mut self, condition: &Condition, truth: bool) -> ZoneResult {
        self.push_frame(&condition.locals);
        let result = self.assume_that(&condition.expr, truth);
        self.frames.pop();
        result
    }
}

/// Whether further parts, of which all or one must hold, change nothing.
fn is_decided(result: &Clocked, all: bool) -> bool {
    if all { result.is_empty() } else { result.iter().any(Vec::is_empty) }
}

fn require(holds: bool) -> ZoneResult {
    if holds { Ok(()) } else { Err(ZoneStop::NoRun) }
}

fn both(left: Clocked, right: Clocked) -> Clocked {
    // What is true adds nothing.
    match (left.as_slice(), right.as_slice()) {
        ([only], _) if only.is_empty() => return right,
        (_, [only]) if only.is_empty() => return left,
        _ => {}
    }
    let mut result = Vec::new();
    for a in &left {
        for b in &right {
            let mut joined = a.clone();
            joined.extend(b.iter().filter(|constraint| !a.contains(constraint)));
            result.push(joined);
        }
    }
    result
}

fn either(mut left: Clocked, right: Clocked) -> Clocked {
    for part in right {
        if !left.contains(&part) {
            left.push(part);
        }
    }
    left
}
