//! Values of expressions without clocks.

use shoal_model::{
    Argument, Domain, Expr, ExprKind, FaultKind, FunctionId, LocalKind, Quantifier, UnaryOp, Value,
};
use shoal_syntax::Span;

use super::{CellsValue, MEMBERS, ZoneFlow, ZoneMachine, ZoneResult, fault, frame::ZoneFrame, refuse};
use crate::state::UNDEFINED;

impl ZoneMachine<'_> {
    /// The value of an expression without clocks.
    pub(crate) fn eval(&mut self, expr: &Expr) -> ZoneResult<i64> {
        let span = expr.span;
        match &expr.kind {
            ExprKind::Const(value) => Ok(self.encode(value)),
            ExprKind::Read(place) => match self.peek(place)? {
                UNDEFINED => fault(FaultKind::Undefined, span),
                value => Ok(value),
            },
            ExprKind::Peek(place) => self.peek(place),
            ExprKind::IsUndefined(place) => Ok(i64::from(self.peek(place)? == UNDEFINED)),
            ExprKind::Unary(UnaryOp::Not, of) => Ok(1 - self.eval(of)?),
            ExprKind::Unary(UnaryOp::Neg, of) => match self.eval(of)?.checked_neg() {
                Some(value) => Ok(value),
                None => fault(FaultKind::Overflow, span),
            },
            ExprKind::Unary(UnaryOp::BitNot, of) => Ok(!self.eval(of)?),
            ExprKind::Binary(op, left, right) => {
                let (left, right) = (self.eval(left)?, self.eval(right)?);
                match op.apply(left, right) {
                    Ok(value) => Ok(self.encode(&value)),
                    Err(kind) => fault(kind, span),
                }
            }
            ExprKind::Equal(left, right) if !self.is_composite(left.ty) => {
                Ok(i64::from(self.eval(left)? == self.eval(right)?))
            }
            ExprKind::Equal(left, right) => {
                let (left, right) = (self.cells(left)?, self.cells(right)?);
                Ok(i64::from(left == right))
            }
            ExprKind::And(parts) => {
                for part in parts {
                    if self.eval(part)? == 0 {
                        return Ok(0);
                    }
                }
                Ok(1)
            }
            ExprKind::Or(parts) => {
                for part in parts {
                    if self.eval(part)? != 0 {
                        return Ok(1);
                    }
                }
                Ok(0)
            }
            ExprKind::Implies(left, right) => {
                if self.eval(left)? == 0 {
                    Ok(1)
                } else {
                    self.eval(right)
                }
            }
            ExprKind::Cond(condition, then, other) => {
                let taken = if self.eval(condition)? != 0 { then } else { other };
                self.eval(taken)
            }
            ExprKind::Quantified { quantifier, local, domain, body } => {
                self.enter_quantifier(body);
                let values = self.values(domain, span)?;
                let outer = self.local(*local);
                let mut count = 0;
                let total = values.len();
                let decides = self.decides(*quantifier, domain);
                for value in values {
                    self.tick()?;
                    self.set_local(*local, value);
                    let holds = self.eval(body)? != 0;
                    if holds {
                        count += self.weight(*quantifier, value, span)?;
                    }
                    if decides == Some(holds) {
                        break;
                    }
                }
                self.set_local(*local, outer);
                self.nesting -= 1;
                Ok(match quantifier {
                    Quantifier::Forall => i64::from(count == total as i64),
                    Quantifier::Exists => i64::from(count > 0),
                    Quantifier::Count => count,
                })
            }
            ExprKind::Entry(table, position) => {
                let at = usize::try_from(self.eval(position)?).ok();
                match at.and_then(|at| self.model.tables[*table].entries.get(at)) {
                    Some(entry) => Ok(*entry),
                    None => fault(FaultKind::IndexOutOfRange, span),
                }
            }
            ExprKind::Call(function, arguments) => match self.called(*function, arguments, span)? {
                CellsValue::One(value) => Ok(value),
                CellsValue::Many(_) | CellsValue::None => refuse("a whole array or record as a number", span),
            },
            ExprKind::Ordinal(of) => {
                let value = self.eval(of)?;
                let value = self.decode(of.ty, value);
                match self.model.ordinal(of.ty, &value) {
                    Some(ordinal) => Ok(ordinal as i64),
                    None => fault(FaultKind::OutOfRange, span),
                }
            }
            ExprKind::ElementAt(sort, number) => {
                let number = self.eval(number)?;
                match u32::try_from(number)
                    .ok()
                    .filter(|number| Some(*number) < self.model.sorts[*sort].fixed_size())
                {
                    Some(number) => Ok(self.encode(&Value::Elem(*sort, number))),
                    None => fault(FaultKind::IndexOutOfRange, span),
                }
            }
            ExprKind::Exists(of) => Ok(i64::from(self.eval(of)? >= 0)),
            ExprKind::IsMember(..) | ExprKind::Len(_) => refuse("unions and sequences", span),
        }
    }

    pub(super) fn enter_quantifier(&mut self, body: &Expr) {
        if self.nesting == 0 {
            self.members = MEMBERS.max(1 + quantifiers(body)) + self.inside;
        }
        self.nesting += 1;
    }

    /// The truth of one value after which a quantifier looks at no other, if there is one: where values have an order the first
    /// that decides ends it, so that what faults behind it is not seen. Interchangeable elements are all looked at.
    pub(super) fn decides(&self, quantifier: Quantifier, domain: &Domain) -> Option<bool> {
        let ordered = match domain {
            Domain::Type(ty) => self.model.sorts_of(*ty).is_empty(),
            Domain::Range { .. } => true,
            Domain::Slots(_) => false,
        };
        match quantifier {
            Quantifier::Forall => ordered.then_some(false),
            Quantifier::Exists => ordered.then_some(true),
            Quantifier::Count => None,
        }
    }

    /// How many elements one that a quantifier looks at stands for.
    pub(super) fn weight(&self, quantifier: Quantifier, handle: i64, span: Span) -> ZoneResult<i64> {
        if quantifier != Quantifier::Count || handle < 0 {
            return Ok(1);
        }
        let (class, member) = Self::class(handle);
        let Some(class) = self.state.classes.get(class).filter(|class| class.count > self.members) else {
            return Ok(1);
        };
        if self.counting.cut.is_some() || self.nesting > 1 {
            return refuse("counting elements here", span);
        }
        let rest = i64::from(class.count - self.members);
        Ok(if member == 0 { 1 + rest } else { 1 })
    }

    /// The value of an expression, with all its parts if it has parts.
    pub(super) fn cells(&mut self, expr: &Expr) -> ZoneResult<CellsValue> {
        if !self.is_composite(expr.ty) {
            return self.eval(expr).map(CellsValue::One);
        }
        match &expr.kind {
            ExprKind::Read(place) | ExprKind::Peek(place) => self.parts(place),
            ExprKind::Cond(condition, then, other) => {
                let taken = if self.eval(condition)? != 0 { then } else { other };
                self.cells(taken)
            }
            ExprKind::Call(function, arguments) => self.called(*function, arguments, expr.span),
            _ => refuse("this expression for a whole array or record", expr.span),
        }
    }

    /// The result of a function.
    fn called(&mut self, function: FunctionId, arguments: &[Argument], span: Span) -> ZoneResult<CellsValue> {
        match self.call(function, arguments, span)? {
            ZoneFlow::Return(CellsValue::None) | ZoneFlow::Next => fault(FaultKind::NoResult, span),
            ZoneFlow::Return(cells) => Ok(cells),
        }
    }

    pub(super) fn call(
        &mut self,
        function: FunctionId,
        arguments: &[Argument],
        span: Span,
    ) -> ZoneResult<ZoneFlow> {
        self.tick()?;
        let callee = &self.model.functions[function];
        let mut frame = ZoneFrame::new(self.model, self.layout, &callee.code.locals, callee.result);
        for (param, argument) in callee.params.iter().zip(arguments) {
            let local = &callee.code.locals[*param];
            let refers = matches!(local.kind, LocalKind::Reference { .. });
            match argument {
                Argument::Place(place) if refers => frame.refer(*param, local.ty, self.spot(place)?),
                Argument::Place(place) => {
                    let cells = match self.is_composite(place.ty) {
                        true => self.parts(place)?,
                        false => CellsValue::One(self.peek(place)?),
                    };
                    frame.set(*param, cells);
                }
                // (A reference to a value is a local that holds it.)
                Argument::Value(value) => {
                    let cells = self.cells(value)?;
                    self.belongs(&cells, local.ty, value.span)?;
                    frame.set(*param, cells);
                }
            }
        }
        if self.frames.len() > shoal_model::CALL_DEPTH {
            return fault(FaultKind::CallDepth, span);
        }
        self.frames.push(frame);
        let flow = self.block(&callee.code.body)?;
        self.frames.pop();
        Ok(flow)
    }
}

/// How deeply quantifiers are nested in an expression.
fn quantifiers(expr: &Expr) -> u32 {
    let most = |parts: &[&Expr]| parts.iter().map(|part| quantifiers(part)).max().unwrap_or(0);
    match &expr.kind {
        ExprKind::Quantified { body, .. } => 1 + quantifiers(body),
        ExprKind::Unary(_, of)
        | ExprKind::Ordinal(of)
        | ExprKind::ElementAt(_, of)
        | ExprKind::Exists(of) => quantifiers(of),
        ExprKind::Binary(_, left, right) | ExprKind::Equal(left, right) | ExprKind::Implies(left, right) => {
            most(&[left, right])
        }
        ExprKind::And(parts) | ExprKind::Or(parts) => parts.iter().map(quantifiers).max().unwrap_or(0),
        ExprKind::Cond(condition, then, other) => most(&[condition, then, other]),
        _ => 0,
    }
}
