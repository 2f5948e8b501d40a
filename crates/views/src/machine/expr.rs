//! Expressions.

use shoal_model::{Domain, Expr, ExprKind, FaultKind, LocalId, Place, Quantifier, Root, TypedId, UnaryOp};

use super::{Data, ViewMachine, ViewSlot};
use crate::mutant::{self, Mutant};
use crate::{
    cell::{Cell, ViewScalar},
    decision::{Decision, RunResult, SiteKey, Stop, fault, unfit},
    layout::{belongs, position},
};

impl<'m> ViewMachine<'_, 'm> {
    pub(crate) fn truth(&mut self, expr: &'m Expr) -> RunResult<bool> {
        match self.scalar(expr)? {
            ViewScalar::Bool(value) => Ok(value),
            other => unfit(other, expr.span),
        }
    }

    pub(super) fn integer(&mut self, expr: &'m Expr) -> RunResult<i64> {
        match self.scalar(expr)? {
            ViewScalar::Int(value) => Ok(value),
            other => unfit(other, expr.span),
        }
    }

    pub(super) fn scalar(&mut self, expr: &'m Expr) -> RunResult<ViewScalar> {
        let data = match &expr.kind {
            ExprKind::Read(place) => match self.peek_scalar(place)? {
                Some(ViewScalar::Undefined) => return fault(FaultKind::Undefined, expr.span),
                Some(scalar) => return Ok(scalar),
                None => self.eval(expr)?,
            },
            ExprKind::Peek(place) => match self.peek_scalar(place)? {
                Some(scalar) => return Ok(scalar),
                None => self.eval(expr)?,
            },
            _ => self.eval(expr)?,
        };
        match data {
            Data::Scalar(scalar) => Ok(scalar),
            Data::Block(_) => Err(Stop::lacking("a composite value as a scalar".into(), expr.span)),
        }
    }

    /// What a place of a scalar type holds; nothing if it is of another type.
    fn peek_scalar(&mut self, place: &'m Place) -> RunResult<Option<ViewScalar>> {
        if let Root::Local(local) = place.root {
            self.settle(local)?;
        }
        if let (Root::Local(local), true) = (place.root, place.path.is_empty())
            && let Some(frame) = self.frames.last()
            && let ViewSlot::Data(Data::Scalar(scalar)) = &frame.slots[local.index()]
        {
            return Ok(Some(*scalar));
        }
        if !self.system.model.kind(place.ty).is_scalar() {
            return Ok(None);
        }
        match self.peek(place)? {
            Data::Scalar(scalar) => Ok(Some(scalar)),
            Data::Block(_) => Ok(None),
        }
    }

    pub(super) fn eval(&mut self, expr: &'m Expr) -> RunResult<Data> {
        let span = expr.span;
        let scalar = match &expr.kind {
            ExprKind::Const(value) => match ViewScalar::of(value) {
                Some(scalar) => scalar,
                None => return Err(Stop::lacking("a constant that is not a scalar".into(), span)),
            },
            ExprKind::Read(place) => match self.peek(place)? {
                Data::Scalar(ViewScalar::Undefined) => return fault(FaultKind::Undefined, span),
                data => return Ok(data),
            },
            ExprKind::Peek(place) => return self.peek(place),
            ExprKind::IsUndefined(place) => {
                ViewScalar::Bool(self.peek(place)? == Data::Scalar(ViewScalar::Undefined))
            }
            ExprKind::Unary(op, operand) => match op {
                UnaryOp::Not => ViewScalar::Bool(!self.truth(operand)?),
                UnaryOp::BitNot => ViewScalar::Int(!self.integer(operand)?),
                UnaryOp::Neg => match self.integer(operand)?.checked_neg() {
                    Some(value) => ViewScalar::Int(value),
                    None => return fault(FaultKind::Overflow, span),
                },
            },
            ExprKind::Binary(op, left, right) => {
                let (a, b) = (self.scalar(left)?, self.scalar(right)?);
                match (a, b) {
                    (ViewScalar::Int(a), ViewScalar::Int(b)) => match op.apply(a, b) {
                        Ok(value) => match ViewScalar::of(&value) {
                            Some(scalar) => scalar,
                            None => return Err(Stop::lacking("this arithmetic".into(), span)),
                        },
                        Err(kind) => return fault(kind, span),
                    },
                    (ViewScalar::Int(_), other) => return unfit(other, right.span),
                    (other, _) => return unfit(other, left.span),
                }
            }
            ExprKind::Equal(left, right) => {
                let (a, b) = (self.eval(left)?, self.eval(right)?);
                if !matches!((&a, &b), (Data::Scalar(_), Data::Scalar(_)))
                    && (self.system.is_open(left.ty) || self.system.has_bag(left.ty))
                {
                    let what =
                        "a comparison of arrays over a sort with any number of elements, or of multisets";
                    return Err(Stop::lacking(what.into(), span));
                }
                let alike = matches!((&a, &b), (Data::Scalar(ViewScalar::Star(a, _)), Data::Scalar(ViewScalar::Star(b, _))) if a == b);
                ViewScalar::Bool(a == b || alike && mutant::is(Mutant::StarsAreOne))
            }
            ExprKind::And(operands) => {
                let mut all = true;
                for operand in operands {
                    all = self.truth(operand)?;
                    if !all {
                        break;
                    }
                }
                ViewScalar::Bool(all)
            }
            ExprKind::Or(operands) => {
                let mut some = false;
                for operand in operands {
                    some = self.truth(operand)?;
                    if some {
                        break;
                    }
                }
                ViewScalar::Bool(some)
            }
            ExprKind::Implies(left, right) => ViewScalar::Bool(!self.truth(left)? || self.truth(right)?),
            ExprKind::Cond(condition, then, other) => {
                let taken = if self.truth(condition)? { then } else { other };
                return self.eval(taken);
            }
            ExprKind::Quantified { quantifier, local, domain, body } => {
                self.quantified(expr, *quantifier, *local, domain, body)?
            }
            ExprKind::Call(function, arguments) => {
                match self.call(*function, arguments, span, expr as *const Expr as usize)? {
                    Some(data) => return Ok(data),
                    None => return fault(FaultKind::NoResult, span),
                }
            }
            ExprKind::IsMember(of, ty) => {
                let value = self.scalar(of)?;
                if self.system.grows(*ty) {
                    return Err(Stop::lacking("a type that grows with the number of elements".into(), span));
                }
                ViewScalar::Bool(belongs(self.system.model, *ty, value))
            }
            ExprKind::Ordinal(of) => {
                let value = self.scalar(of)?;
                if self.system.model.sorts_of(of.ty).iter().any(|sort| self.system.any[sort.index()]) {
                    return Err(Stop::lacking("the number of an element".into(), span));
                }
                match position(self.system.model, of.ty, value).map(i64::try_from) {
                    Some(Ok(number)) => ViewScalar::Int(number),
                    Some(Err(_)) => return fault(FaultKind::Overflow, span),
                    None => return fault(FaultKind::OutOfRange, span),
                }
            }
            ExprKind::ElementAt(sort, number) => {
                if self.system.any[sort.index()] {
                    return Err(Stop::lacking("an element found by its number".into(), span));
                }
                let number = u32::try_from(self.integer(number)?).ok();
                match number.filter(|number| (*number as usize) < self.from.known[sort.index()]) {
                    Some(number) => ViewScalar::Elem(*sort, number),
                    None => return fault(FaultKind::IndexOutOfRange, span),
                }
            }
            ExprKind::Entry(table, at) => {
                let at = usize::try_from(self.integer(at)?).ok();
                match at.and_then(|at| self.system.model.tables[*table].entries.get(at)) {
                    Some(entry) => ViewScalar::Int(*entry),
                    None => return fault(FaultKind::IndexOutOfRange, span),
                }
            }
            ExprKind::Len(place) => {
                let location = self.locate(place)?;
                let (width, capacity) = self.bag(place)?;
                let mut count = 0;
                for slot in 0..capacity {
                    count += i64::from(self.cell(&location, slot * width)? == Cell::TAKEN);
                }
                ViewScalar::Int(count)
            }
            ExprKind::Exists(of) => match self.scalar(of)? {
                ViewScalar::Elem(..) | ViewScalar::Star(..) => ViewScalar::Bool(true),
                ViewScalar::Undefined
                | ViewScalar::Null
                | ViewScalar::Bool(_)
                | ViewScalar::Int(_)
                | ViewScalar::Enum(..) => ViewScalar::Bool(false),
            },
        };
        Ok(Data::Scalar(scalar))
    }

    pub(super) fn key(&self, site: usize) -> SiteKey {
        SiteKey { site, around: self.around.as_slice().into() }
    }

    fn quantified(
        &mut self,
        expr: &'m Expr,
        quantifier: Quantifier,
        local: LocalId,
        domain: &'m Domain,
        body: &'m Expr,
    ) -> RunResult<ViewScalar> {
        let site = expr as *const Expr as usize;
        let (values, open, unordered) = self.domain(domain)?;
        let all = unordered || quantifier == Quantifier::Count;
        let (mut holds, mut fails) = (Vec::new(), Vec::new());
        let outer = self.put(local, ViewSlot::Unbound);
        for value in values {
            self.set(local, value);
            self.around.push((site, value));
            let truth = self.truth(body)?;
            self.around.pop();
            if truth {
                holds.push(value)
            } else {
                fails.push(value)
            }
            let known = match quantifier {
                Quantifier::Forall => !fails.is_empty(),
                Quantifier::Exists => !holds.is_empty(),
                Quantifier::Count => false,
            };
            if known && !all {
                break;
            }
        }
        self.put(local, outer);
        let answer = |decided: bool| match quantifier {
            Quantifier::Forall => ViewScalar::Bool(!decided),
            Quantifier::Exists => ViewScalar::Bool(decided),
            Quantifier::Count => ViewScalar::Int(holds.len() as i64),
        };
        let deciders = if quantifier == Quantifier::Forall { &fails } else { &holds };
        if open.is_empty() || mutant::is(Mutant::QuantifiersByWhatIsKnown) {
            return Ok(answer(!deciders.is_empty()));
        }
        let counts = quantifier == Quantifier::Count;
        if let Some(predicate) = self
            .system
            .predicate_at(site)
            .filter(|it| self.disturbed >> it & 1 == 0 || mutant::is(Mutant::BitsNeverChange))
        {
            return Ok(answer(!deciders.is_empty() || self.bits >> predicate & 1 == 1));
        }
        let key = self.key(site);
        let assumed = self.assumed(&key, deciders)?;
        match assumed {
            Assumed::Somebody if !counts => Ok(answer(true)),
            Assumed::Nobody => Ok(answer(!deciders.is_empty())),
            _ if !counts && !deciders.is_empty() => Ok(answer(true)),
            Assumed::Somebody | Assumed::Nothing => {
                let locals = self.site_locals(site);
                Err(Stop::asks(key, open, !counts, locals))
            }
        }
    }

    /// What the decisions say of an evaluation in which these elements matter.
    pub(super) fn assumed(&self, key: &SiteKey, matter: &[ViewScalar]) -> RunResult<Assumed> {
        let mut assumed = Assumed::Nothing;
        for decision in self.decisions {
            match decision {
                Decision::Nobody { key: of, known } if of == key => {
                    // One of those that became known later does after all.
                    let late = |value: &ViewScalar| matches!(value, ViewScalar::Elem(sort, element) if self.system.any[sort.index()] && *element as usize >= known[sort.index()]);
                    if matter.iter().any(late) {
                        return Err(Stop::Contradiction);
                    }
                    assumed = Assumed::Nobody;
                }
                Decision::Witness { key: of, sort, element } if of == key => {
                    let is_it = |value: &ViewScalar| matches!(value, ViewScalar::Elem(of, number) if of.index() == *sort && *number as usize == *element);
                    if !matter.iter().any(is_it) {
                        return Err(Stop::Contradiction);
                    }
                }
                Decision::Somebody { key: of } if of == key => assumed = Assumed::Somebody,
                Decision::Nobody { .. }
                | Decision::Witness { .. }
                | Decision::Somebody { .. }
                | Decision::NobodyAfter(_)
                | Decision::WitnessAfter { .. }
                | Decision::SomebodyAfter(_) => {}
            }
        }
        Ok(assumed)
    }
}

/// What the decisions say of a quantifier or a loop.
pub(super) enum Assumed {
    Nothing,
    Nobody,
    Somebody,
}
