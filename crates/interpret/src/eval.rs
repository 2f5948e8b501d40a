//! What expressions, domains, places and calls mean.

use std::{cmp::Ordering, sync::PoisonError};

use shoal_model::{
    Argument, BinaryOp, CALL_DEPTH, Domain, Expr, ExprKind, FaultKind, FunctionId, Local, LocalId, LocalKind,
    OrInternal, Place, Projection, Quantifier, Ratio, Root, Type, TypeId, UnaryOp, Value,
};
use shoal_syntax::Span;

use crate::{
    exec::StmtEnd,
    machine::{AddressHop, Executed, LocalCell, ReferenceMachine, ValueAddress, fault},
    reads,
    regions::minus,
    values::{GrowingIndex, normal},
};

/// The fault of using a value where another kind of value is needed. Of a well-formed model only null and
/// undefined values come here.
fn unfit<T>(value: &Value, span: Span) -> Executed<T> {
    match value {
        Value::Null => fault(FaultKind::NullReference, span),
        _ => fault(FaultKind::Undefined, span),
    }
}

impl<'a> ReferenceMachine<'a> {
    /// The value of an expression. It is undefined only if the expression is a `Peek`.
    pub(crate) fn eval(&mut self, expr: &'a Expr) -> Executed<Value> {
        self.deeper(|machine| machine.eval_here(expr))
    }

    /// A truth value.
    pub(crate) fn truth(&mut self, expr: &'a Expr) -> Executed<bool> {
        match self.eval(expr)? {
            Value::Bool(value) => Ok(value),
            other => unfit(&other, expr.span),
        }
    }

    /// An integer.
    pub(crate) fn integer(&mut self, expr: &'a Expr) -> Executed<i64> {
        match self.eval(expr)? {
            Value::Int(value) => Ok(value),
            other => unfit(&other, expr.span),
        }
    }

    /// A value that is to be written to a place of a type.
    pub(crate) fn value_for(&mut self, expr: &'a Expr, ty: TypeId) -> Executed<Value> {
        let value = self.eval(expr)?;
        self.fit(value, ty, expr.span)
    }

    /// The value as one of the type.
    pub(crate) fn fit(&self, value: Value, ty: TypeId, span: Span) -> Executed<Value> {
        match self.shapes().fit(value, ty) {
            Some(value) => Ok(value),
            None => fault(FaultKind::OutOfRange, span),
        }
    }

    fn eval_here(&mut self, expr: &'a Expr) -> Executed<Value> {
        let span = expr.span;
        match &expr.kind {
            ExprKind::Const(value) => Ok(value.clone()),
            ExprKind::Read(place) => match self.peek(place)? {
                Value::Undefined => fault(FaultKind::Undefined, span),
                value => Ok(value),
            },
            ExprKind::Peek(place) => self.peek(place),
            ExprKind::IsUndefined(place) => Ok(Value::Bool(self.peek(place)? == Value::Undefined)),
            ExprKind::Unary(op, operand) => self.unary(*op, operand, span),
            ExprKind::Binary(op, left, right) => self.binary(*op, left, right, span),
            ExprKind::Equal(left, right) => {
                let (left, right) = (self.eval(left)?, self.eval(right)?);
                if let (Value::Clock(clock), Value::Int(bound)) | (Value::Int(bound), Value::Clock(clock)) =
                    (&left, &right)
                {
                    self.compares(*clock, *bound);
                }
                Ok(Value::Bool(same(left, right)))
            }
            ExprKind::And(operands) => {
                for operand in operands {
                    if !self.truth(operand)? {
                        return Ok(Value::Bool(false));
                    }
                }
                Ok(Value::Bool(true))
            }
            ExprKind::Or(operands) => {
                for operand in operands {
                    if self.truth(operand)? {
                        return Ok(Value::Bool(true));
                    }
                }
                Ok(Value::Bool(false))
            }
            ExprKind::Implies(left, right) => Ok(Value::Bool(!self.truth(left)? || self.truth(right)?)),
            ExprKind::Cond(condition, then, other) => {
                let taken = if self.truth(condition)? { then } else { other };
                self.eval(taken)
            }
            ExprKind::Quantified { quantifier, local, domain, body } => {
                self.quantified(*quantifier, *local, domain, body)
            }
            ExprKind::Call(function, arguments) => match self.call(*function, arguments, span)? {
                Some(value) => Ok(value),
                None => fault(FaultKind::NoResult, span),
            },
            ExprKind::IsMember(value, ty) => {
                let value = self.eval(value)?;
                Ok(Value::Bool(self.shapes().belongs(&value, *ty)))
            }
            ExprKind::Ordinal(of) => {
                let value = self.eval(of)?;
                match self.model.ordinal(of.ty, &value).map(i64::try_from) {
                    Some(Ok(ordinal)) => Ok(Value::Int(ordinal)),
                    Some(Err(_)) => fault(FaultKind::Overflow, span),
                    None => fault(FaultKind::OutOfRange, span),
                }
            }
            ExprKind::ElementAt(sort, number) => {
                let number = u32::try_from(self.integer(number)?).ok();
                match number.filter(|number| self.shapes().exists(*sort, *number)) {
                    Some(number) => Ok(Value::Elem(*sort, number)),
                    None => fault(FaultKind::IndexOutOfRange, span),
                }
            }
            ExprKind::Entry(table, position) => {
                let position = usize::try_from(self.integer(position)?).ok();
                match position.and_then(|position| self.model.tables[*table].entries.get(position)) {
                    Some(entry) => Ok(Value::Int(*entry)),
                    None => fault(FaultKind::IndexOutOfRange, span),
                }
            }
            ExprKind::Len(place) => match self.peek(place)? {
                Value::Multiset(slots) => Ok(Value::Int(slots.iter().flatten().count() as i64)),
                Value::Sequence(items) => Ok(Value::Int(items.len() as i64)),
                other => unfit(&other, span),
            },
            ExprKind::Exists(of) => match self.eval(of)? {
                Value::Elem(sort, element) => Ok(Value::Bool(self.shapes().exists(sort, element))),
                _ => Ok(Value::Bool(false)),
            },
        }
    }

    fn unary(&mut self, op: UnaryOp, operand: &'a Expr, span: Span) -> Executed<Value> {
        match op {
            UnaryOp::Not => Ok(Value::Bool(!self.truth(operand)?)),
            UnaryOp::BitNot => Ok(Value::Int(!self.integer(operand)?)),
            UnaryOp::Neg => match self.integer(operand)?.checked_neg() {
                Some(value) => Ok(Value::Int(value)),
                None => fault(FaultKind::Overflow, span),
            },
        }
    }

    fn binary(&mut self, op: BinaryOp, left: &'a Expr, right: &'a Expr, span: Span) -> Executed<Value> {
        let compares: Option<fn(Ordering) -> bool> = match op {
            BinaryOp::Lt => Some(Ordering::is_lt),
            BinaryOp::Le => Some(Ordering::is_le),
            BinaryOp::Gt => Some(Ordering::is_gt),
            BinaryOp::Ge => Some(Ordering::is_ge),
            _ => None,
        };
        if let Some(holds) = compares {
            let (a, b) = (self.eval(left)?, self.eval(right)?);
            return match (&a, &b) {
                (Value::Int(a), Value::Int(b)) => Ok(Value::Bool(holds(a.cmp(b)))),
                (Value::Clock(a), Value::Clock(b)) => Ok(Value::Bool(holds(a.cmp(b)))),
                (Value::Clock(clock), Value::Int(bound)) => {
                    self.compares(*clock, *bound);
                    Ok(Value::Bool(holds(clock.cmp_int(*bound))))
                }
                (Value::Int(bound), Value::Clock(clock)) => {
                    self.compares(*clock, *bound);
                    Ok(Value::Bool(holds(clock.cmp_int(*bound).reverse())))
                }
                (Value::Int(_) | Value::Clock(_), _) => unfit(&b, right.span),
                _ => unfit(&a, left.span),
            };
        }
        if *self.model.kind(left.ty) == Type::Clock && op == BinaryOp::Add {
            let (clock, number) = (self.eval(left)?, self.integer(right)?);
            let Value::Clock(clock) = clock else { return unfit(&clock, left.span) };
            let number = u64::try_from(number).ok().and_then(|number| Ratio::new(number, 1));
            return match number.and_then(|number| clock.checked_add(number)) {
                Some(sum) => Ok(Value::Clock(sum)),
                None => fault(FaultKind::Overflow, span),
            };
        }
        let (a, b) = (self.integer(left)?, self.integer(right)?);
        op.apply(a, b).or_else(|kind| fault(kind, span))
    }

    /// A clock is compared with a number: says when that comes out otherwise.
    fn compares(&self, clock: Ratio, bound: i64) {
        let bound = u64::try_from(bound).ok().and_then(|bound| Ratio::new(bound, 1));
        if let (Some(turning), Some(after)) = (self.turning, bound.and_then(|bound| minus(bound, clock))) {
            turning.lock().unwrap_or_else(PoisonError::into_inner).push(after);
        }
    }

    fn quantified(
        &mut self,
        quantifier: Quantifier,
        local: LocalId,
        domain: &'a Domain,
        body: &'a Expr,
    ) -> Executed<Value> {
        let all = quantifier == Quantifier::Count || self.is_unordered(domain);
        let values = self.domain(domain)?;
        let (mut holds, mut fails) = (0, 0);
        let outer = self.set(local, LocalCell::Unbound);
        for value in values {
            self.set(local, LocalCell::Value(value));
            if self.truth(body)? {
                holds += 1;
            } else {
                fails += 1;
            }
            let known = match quantifier {
                Quantifier::Forall => fails > 0,
                Quantifier::Exists => holds > 0,
                Quantifier::Count => false,
            };
            if known && !all {
                break;
            }
        }
        self.set(local, outer);
        Ok(match quantifier {
            Quantifier::Forall => Value::Bool(fails == 0),
            Quantifier::Exists => Value::Bool(holds > 0),
            Quantifier::Count => Value::Int(holds),
        })
    }

    /// Whether a domain is of interchangeable things, so that nothing may depend on their order. Slots are: they
    /// are sorted by what is in them, and that may be elements of a sort.
    fn is_unordered(&self, domain: &Domain) -> bool {
        match domain {
            Domain::Type(ty) => !self.model.sorts_of(*ty).is_empty(),
            Domain::Range { .. } => false,
            Domain::Slots(_) => true,
        }
    }

    /// The values of a domain, fixed now.
    pub(crate) fn domain(&mut self, domain: &'a Domain) -> Executed<Box<dyn Iterator<Item = Value> + 'a>> {
        match domain {
            Domain::Type(ty) => match (self.model.growing_index(*ty), self.model.kind(*ty)) {
                (Some(sort), Type::Ref { nullable, .. }) => {
                    let null = nullable.then_some(Value::Null);
                    let elements = self.shapes().elements(sort).map(|element| Value::Elem(sort, element));
                    Ok(Box::new(null.into_iter().chain(elements.collect::<Vec<_>>())))
                }
                _ => Ok(Box::new(self.model.values(*ty))),
            },
            Domain::Range { from, to, by } => {
                let (first, last, step) = (self.integer(from)?, self.integer(to)?, self.integer(by)?);
                if step == 0 {
                    return fault(FaultKind::ZeroStep, by.span);
                }
                let inside = move |value: &i64| if step > 0 { *value <= last } else { *value >= last };
                let next = move |value: &i64| value.checked_add(step).filter(inside);
                Ok(Box::new(std::iter::successors(Some(first).filter(inside), next).map(Value::Int)))
            }
            Domain::Slots(place) => {
                let Value::Multiset(slots) = self.peek(place)? else { return Ok(Box::new([].into_iter())) };
                let slots = slots.into_iter().enumerate();
                Ok(Box::new(
                    slots.filter(|(_, slot)| slot.is_some()).map(|(position, _)| Value::Int(position as i64)),
                ))
            }
        }
    }

    /// Whether a value is one of a domain. Those of a type have an order, so that not all of them are looked at.
    pub(crate) fn is_of(&mut self, domain: &'a Domain, value: &Value) -> Executed<bool> {
        match domain {
            Domain::Type(ty) if self.model.growing_index(*ty).is_none() => {
                let size = self.model.cardinality(*ty).unwrap_or(0);
                Ok(self.model.ordinal(*ty, value).is_some_and(|ordinal| ordinal < size))
            }
            Domain::Type(_) | Domain::Range { .. } | Domain::Slots(_) => {
                Ok(self.domain(domain)?.any(|other| other == *value))
            }
        }
    }

    /// The value at a place, undefined or not.
    pub(crate) fn peek(&mut self, place: &'a Place) -> Executed<Value> {
        let location = self.locate(place)?;
        if let Some(log) = &mut self.read {
            log.extend(reads::cell(&location));
        }
        self.get(&location, place.span).cloned()
    }

    /// Finds a place: evaluates its indices from left to right and checks that each leads somewhere.
    pub(crate) fn locate(&mut self, place: &'a Place) -> Executed<ValueAddress> {
        let (mut location, mut ty) = match place.root {
            Root::Var(var) => (ValueAddress::var(var), self.model.vars[var].ty),
            Root::Local(local) => match (self.locate_local(local), self.local(local)) {
                (Some(location), Some(local)) => (location, local.ty),
                _ => return fault(FaultKind::Undefined, place.span),
            },
        };
        for projection in &place.path {
            let (hop, span) = self.hop(projection, ty, place.span)?;
            location.push(hop);
            self.get(&location, span)?;
            ty = match (projection, self.model.kind(ty)) {
                (Projection::Field(at), Type::Record { fields }) => {
                    fields.get(*at as usize).or_internal("a projection names a field of its record").ty
                }
                (
                    _,
                    Type::Array { element, .. }
                    | Type::Multiset { element, .. }
                    | Type::Sequence { element, .. },
                ) => *element,
                _ => return fault(FaultKind::Undefined, place.span),
            };
        }
        Ok(location)
    }

    /// One step into a value of type `ty`, and the span to blame if it leads nowhere.
    fn hop(&mut self, projection: &'a Projection, ty: TypeId, whole: Span) -> Executed<(AddressHop, Span)> {
        match projection {
            Projection::Field(at) => Ok((AddressHop::Field(*at as usize), whole)),
            Projection::Index(index) => {
                let value = self.eval(index)?;
                let Type::Array { index: of, .. } = self.model.kind(ty) else {
                    return unfit(&value, index.span);
                };
                let hop = match (self.model.growing_index(*of), &value) {
                    (_, Value::Undefined) => return fault(FaultKind::Undefined, index.span),
                    (Some(_), Value::Elem(sort, element)) => Some(AddressHop::Element(*sort, *element)),
                    (Some(_), _) => None,
                    (None, value) => self.model.ordinal(*of, value).map(|at| AddressHop::Entry(at as usize)),
                };
                match (hop, value) {
                    (Some(hop), _) => Ok((hop, index.span)),
                    (None, Value::Null) => fault(FaultKind::NullReference, index.span),
                    (None, _) => fault(FaultKind::IndexOutOfRange, index.span),
                }
            }
            Projection::Slot(slot) => match usize::try_from(self.integer(slot)?) {
                Ok(at) => Ok((AddressHop::Slot(at), slot.span)),
                Err(_) => fault(FaultKind::EmptySlot, slot.span),
            },
            Projection::Item(item) => match usize::try_from(self.integer(item)?) {
                Ok(at) => Ok((AddressHop::Item(at), item.span)),
                Err(_) => fault(FaultKind::IndexOutOfRange, item.span),
            },
        }
    }

    /// Calls a function; gives its result if it has one.
    pub(crate) fn call(
        &mut self,
        function: FunctionId,
        arguments: &'a [Argument],
        span: Span,
    ) -> Executed<Option<Value>> {
        let callee = &self.model.functions[function];
        let mut cells = Vec::new();
        for (param, argument) in callee.params.iter().zip(arguments) {
            cells.push((*param, self.argument(argument, &callee.code.locals[*param])?));
        }
        if self.height() > CALL_DEPTH {
            return fault(FaultKind::CallDepth, span);
        }
        let mut frame = self.frame(&callee.code.locals, callee.result);
        for (param, cell) in cells {
            frame.set(param, cell);
        }
        self.push(frame);
        let flow = self.block(&callee.code.body);
        self.pop();
        match (flow?, callee.result) {
            (StmtEnd::Return(Some(value)), _) => Ok(Some(value)),
            (StmtEnd::Next | StmtEnd::Return(None), None) => Ok(None),
            (StmtEnd::Next | StmtEnd::Return(None), Some(_)) => fault(FaultKind::NoResult, span),
        }
    }

    /// What an argument makes of a local: a reference to its place, or a copy of its value. A reference to a
    /// value is a temporary in the local itself.
    pub(crate) fn argument(&mut self, argument: &'a Argument, local: &'a Local) -> Executed<LocalCell> {
        match argument {
            Argument::Place(place) if matches!(local.kind, LocalKind::Reference { .. }) => {
                Ok(LocalCell::Refers(self.locate(place)?))
            }
            Argument::Place(place) => Ok(LocalCell::Value(self.peek(place)?)),
            Argument::Value(value) => Ok(LocalCell::Value(self.value_for(value, local.ty)?)),
        }
    }
}

/// Whether two values are the same. Where in a bag an element lies does not matter.
fn same(left: Value, right: Value) -> bool {
    match (&left, &right) {
        (Value::Clock(clock), Value::Int(value)) | (Value::Int(value), Value::Clock(clock)) => {
            clock.cmp_int(*value).is_eq()
        }
        _ => normal(left) == normal(right),
    }
}
