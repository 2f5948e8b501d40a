//! What expressions and calls mean.

use shoal_model::{
    Argument, BinaryOp, CALL_DEPTH, Domain, Expr, ExprKind, FaultKind, FunctionId, Local, LocalId, LocalKind,
    OrInternal, Quantifier, UnaryOp, Value, internal,
};
use shoal_syntax::Span;

use super::{LocalContent, SymbolicMachine, bag};
use crate::{
    bits::{self, BitVector},
    dd::{Bdd, DdResult, lacks},
    value::{ScalarData, SymbolicScalar, SymbolicValue},
};

impl<'a> SymbolicMachine<'a> {
    /// The value of an expression. It is undefined only if the expression is a `Peek`.
    pub(crate) fn eval(&mut self, expr: &'a Expr) -> DdResult<SymbolicValue> {
        let span = expr.span;
        let truth = match &expr.kind {
            ExprKind::Const(value) => {
                return Ok(SymbolicValue::Scalar(SymbolicScalar::constant(&self.dd, value)));
            }
            ExprKind::Read(place) => {
                let value = self.peek(place)?;
                if let SymbolicValue::Scalar(scalar) = &value {
                    self.fault(&scalar.undefined, FaultKind::Undefined, span)?;
                }
                return Ok(value);
            }
            ExprKind::Peek(place) => return self.peek(place),
            ExprKind::IsUndefined(place) => match self.peek(place)? {
                SymbolicValue::Scalar(scalar) => scalar.undefined,
                _ => self.dd.no(),
            },
            ExprKind::Unary(UnaryOp::Not, operand) => self.truth(operand)?.not()?,
            ExprKind::Unary(UnaryOp::BitNot, operand) => {
                let number = self.integer(operand)?;
                return self.number(bits::complement(&number)?);
            }
            ExprKind::Unary(UnaryOp::Neg, operand) => {
                let number = self.integer(operand)?;
                let zero = bits::constant(&self.dd, 0);
                return self.arithmetic(BinaryOp::Sub, &zero, &number, span);
            }
            ExprKind::Binary(op, left, right) => return self.binary(*op, left, right, span),
            ExprKind::Equal(left, _) if bag::has_bags(self.model, left.ty) => {
                return lacks("comparison of multisets", span);
            }
            ExprKind::Equal(left, right) => {
                let (left, right) = (self.eval(left)?, self.eval(right)?);
                left.equal(&self.dd, &right)?
            }
            ExprKind::And(operands) => self.junction(operands, false)?,
            ExprKind::Or(operands) => self.junction(operands, true)?,
            ExprKind::Implies(left, right) => {
                let outer = self.path.clone();
                let left = self.truth(left)?;
                self.path = self.path.and(&left)?;
                let right = if self.is_idle()? { self.dd.yes() } else { self.truth(right)? };
                self.resume(&outer)?;
                left.not()?.or(&right)?
            }
            ExprKind::Cond(condition, then, other) => return self.conditional(condition, then, other),
            ExprKind::Quantified { quantifier, local, domain, body } => {
                return self.quantified(*quantifier, *local, domain, body);
            }
            ExprKind::Call(function, arguments) => {
                return match self.call(*function, arguments, span)? {
                    Some(value) => Ok(value),
                    None => self.blank(expr.ty),
                };
            }
            ExprKind::Entry(..) => return lacks("tables", span),
            ExprKind::IsMember(value, ty) => {
                let scalar = self.scalar(value)?;
                let mut member = self.dd.no();
                for (value, place) in scalar.cases(&self.dd, &self.dd.yes())? {
                    if self.belongs(&value, *ty) {
                        member = member.or(&place)?;
                    }
                }
                member
            }
            ExprKind::Ordinal(of) => return self.ordinal(of, span),
            ExprKind::ElementAt(sort, number) => {
                if self.counted.contains_key(sort) {
                    return lacks("the number of a counted element", span);
                }
                return self.element_at(*sort, number, span);
            }
            ExprKind::Len(place) if bag::has_bags(self.model, place.ty) => {
                let count = self.population(place)?;
                return self.number(count);
            }
            ExprKind::Len(_) => return lacks("sequences", span),
            ExprKind::Exists(of) => {
                let scalar = self.scalar(of)?;
                let mut exists = self.dd.no();
                for (value, place) in scalar.cases(&self.dd, &self.dd.yes())? {
                    if matches!(value, Value::Elem(..)) {
                        exists = exists.or(&place)?;
                    }
                }
                exists
            }
        };
        Ok(SymbolicValue::Scalar(SymbolicScalar::truth(&self.dd, truth)))
    }

    /// A scalar.
    pub(crate) fn scalar(&mut self, expr: &'a Expr) -> DdResult<SymbolicScalar> {
        match self.eval(expr)? {
            SymbolicValue::Scalar(scalar) => Ok(scalar),
            SymbolicValue::Record(_) | SymbolicValue::Array(_) | SymbolicValue::Family(..) => {
                internal!("a scalar is composite")
            }
        }
    }

    /// A truth value.
    pub(crate) fn truth(&mut self, expr: &'a Expr) -> DdResult<Bdd> {
        let scalar = self.scalar(expr)?;
        self.fault(&scalar.undefined, FaultKind::Undefined, expr.span)?;
        match scalar.data {
            ScalarData::Bool(truth) => Ok(truth),
            ScalarData::Cases(cases) => {
                let is_true = cases.into_iter().filter(|(value, _)| *value == Value::Bool(true));
                self.dd.any(is_true.map(|(_, place)| place))
            }
            ScalarData::Int(_) => internal!("a number is asked whether it is true"),
        }
    }

    /// An integer.
    pub(crate) fn integer(&mut self, expr: &'a Expr) -> DdResult<BitVector> {
        let scalar = self.scalar(expr)?;
        self.fault(&scalar.undefined, FaultKind::Undefined, expr.span)?;
        match scalar.data {
            ScalarData::Int(number) => Ok(number),
            ScalarData::Cases(cases) => {
                let mut number = bits::constant(&self.dd, 0);
                let mut nulls = self.dd.no();
                for (value, place) in cases {
                    match value {
                        Value::Int(value) => {
                            number = bits::choose(&place, &bits::constant(&self.dd, value), &number)?;
                        }
                        _ => nulls = nulls.or(&place)?,
                    }
                }
                self.fault(&nulls, FaultKind::NullReference, expr.span)?;
                Ok(number)
            }
            ScalarData::Bool(_) => internal!("a truth value is asked for its number"),
        }
    }

    pub(crate) fn number(&self, bits: BitVector) -> DdResult<SymbolicValue> {
        Ok(SymbolicValue::Scalar(SymbolicScalar::defined(&self.dd, ScalarData::Int(bits))))
    }

    fn binary(
        &mut self,
        op: BinaryOp,
        left: &'a Expr,
        right: &'a Expr,
        span: Span,
    ) -> DdResult<SymbolicValue> {
        let (a, b) = (self.integer(left)?, self.integer(right)?);
        if !op.compares() {
            return self.arithmetic(op, &a, &b, span);
        }
        let truth = match op {
            BinaryOp::Lt => bits::less(&self.dd, &a, &b)?,
            BinaryOp::Gt => bits::less(&self.dd, &b, &a)?,
            BinaryOp::Le => bits::less(&self.dd, &b, &a)?.not()?,
            BinaryOp::Ge => bits::less(&self.dd, &a, &b)?.not()?,
            other => internal!("{other:?} compares"),
        };
        Ok(SymbolicValue::Scalar(SymbolicScalar::truth(&self.dd, truth)))
    }

    fn arithmetic(
        &mut self,
        op: BinaryOp,
        a: &BitVector,
        b: &BitVector,
        span: Span,
    ) -> DdResult<SymbolicValue> {
        let under = self.path.and(&self.given)?;
        let Some(result) = bits::apply(&self.dd, op, a, b, &under)? else {
            return lacks("a division or shift of numbers with so many values", span);
        };
        for (place, kind) in result.faults {
            self.fault(&place, kind, span)?;
        }
        self.number(result.bits)
    }

    /// All of the operands, or any of them: from left to right until the answer is known.
    fn junction(&mut self, operands: &'a [Expr], any: bool) -> DdResult<Bdd> {
        let outer = self.path.clone();
        let mut result = self.dd.constant(!any);
        for operand in operands {
            self.path = if any { self.path.minus(&result)? } else { self.path.and(&result)? };
            if self.is_idle()? {
                break;
            }
            let truth = self.truth(operand)?;
            result = if any { result.or(&truth)? } else { result.and(&truth)? };
        }
        self.resume(&outer)?;
        Ok(result)
    }

    fn conditional(
        &mut self,
        condition: &'a Expr,
        then: &'a Expr,
        other: &'a Expr,
    ) -> DdResult<SymbolicValue> {
        let condition = self.truth(condition)?;
        let outer = self.path.clone();
        let branch = |machine: &mut Self, taken: &Bdd, expr: &'a Expr| -> DdResult<Option<SymbolicValue>> {
            machine.path = outer.and(taken)?;
            let value = if machine.is_idle()? { None } else { Some(machine.eval(expr)?) };
            machine.resume(&outer)?;
            Ok(value)
        };
        let then_value = branch(self, &condition, then)?;
        let other_value = branch(self, &condition.not()?, other)?;
        match (then_value, other_value) {
            (Some(then), Some(other)) => then.merge(&self.dd, &condition, &other),
            (Some(value), None) | (None, Some(value)) => Ok(value),
            (None, None) => self.blank(then.ty),
        }
    }

    fn quantified(
        &mut self,
        quantifier: Quantifier,
        local: LocalId,
        domain: &'a Domain,
        body: &'a Expr,
    ) -> DdResult<SymbolicValue> {
        let all = quantifier == Quantifier::Count || self.is_unordered(domain);
        let items = self.items(domain)?;
        let (outer, given) = (self.path.clone(), self.given.clone());
        let (mut holds, mut fails) = (self.dd.no(), self.dd.no());
        let mut count = bits::constant(&self.dd, 0);
        let held = self.set(local, LocalContent::Unbound);
        self.each(items, local, None, &mut |machine, item| {
            machine.resume(&outer)?;
            match quantifier {
                Quantifier::Forall if !all => machine.path = machine.path.minus(&fails)?,
                Quantifier::Exists if !all => machine.path = machine.path.minus(&holds)?,
                _ => {}
            }
            machine.path = machine.path.and(&item.when)?;
            machine.given = given.and(&item.present)?;
            if machine.is_idle()? {
                return Ok(());
            }
            let truth = machine.truth(body)?;
            let here = machine.path.and(&item.present)?;
            holds = holds.or(&truth.and(&here)?)?;
            fails = fails.or(&here.minus(&truth)?)?;
            if quantifier == Quantifier::Count {
                let zero = bits::constant(&machine.dd, 0);
                let part = bits::choose(&truth.and(&item.when)?, &item.weight, &zero)?;
                count = bits::add(&machine.dd, &count, &part)?;
            }
            Ok(())
        })?;
        self.set(local, held);
        self.given = given;
        self.resume(&outer)?;
        let truth = match quantifier {
            Quantifier::Forall => fails.not()?,
            Quantifier::Exists => holds,
            Quantifier::Count => return self.number(count),
        };
        Ok(SymbolicValue::Scalar(SymbolicScalar::truth(&self.dd, truth)))
    }

    fn ordinal(&mut self, of: &'a Expr, span: Span) -> DdResult<SymbolicValue> {
        let scalar = self.scalar(of)?;
        let mut number = bits::constant(&self.dd, 0);
        let mut none = scalar.undefined.clone();
        for (value, place) in scalar.cases(&self.dd, &self.dd.yes())? {
            if let Value::Elem(sort, _) = &value
                && self.counted.contains_key(sort)
            {
                return lacks("the number of a counted element", span);
            }
            match self.model.ordinal(of.ty, &value).and_then(|ordinal| i64::try_from(ordinal).ok()) {
                Some(ordinal) => {
                    number = bits::choose(&place, &bits::constant(&self.dd, ordinal), &number)?;
                }
                None => none = none.or(&place)?,
            }
        }
        self.fault(&none, FaultKind::OutOfRange, span)?;
        self.number(number)
    }

    fn element_at(
        &mut self,
        sort: shoal_model::SortId,
        number: &'a Expr,
        span: Span,
    ) -> DdResult<SymbolicValue> {
        let number = self.integer(number)?;
        let size = self.model.sorts[sort].fixed_size().or_internal("a sort in diagrams has a size");
        let mut cases = Vec::new();
        let mut found = self.dd.no();
        for element in 0..size {
            let here = bits::equal(&self.dd, &number, &bits::constant(&self.dd, i64::from(element)))?;
            if !here.is_false() {
                found = found.or(&here)?;
                cases.push((Value::Elem(sort, element), here));
            }
        }
        let outside = found.not()?;
        self.fault(&outside, FaultKind::IndexOutOfRange, span)?;
        Ok(SymbolicValue::Scalar(SymbolicScalar::defined(&self.dd, ScalarData::Cases(cases))))
    }

    /// Calls a function; gives its result if it has one.
    pub(crate) fn call(
        &mut self,
        function: FunctionId,
        arguments: &'a [Argument],
        span: Span,
    ) -> DdResult<Option<SymbolicValue>> {
        let callee = &self.model.functions[function];
        let mut cells = Vec::new();
        for (param, argument) in callee.params.iter().zip(arguments) {
            cells.push((*param, self.argument(argument, &callee.code.locals[*param])?));
        }
        if self.is_idle()? {
            return Ok(None);
        }
        if self.height() > CALL_DEPTH {
            let everywhere = self.dd.yes();
            self.fault(&everywhere, FaultKind::CallDepth, span)?;
            return Ok(None);
        }
        let outer = self.path.clone();
        self.enter(&callee.code.locals, callee.result)?;
        for (param, cell) in cells {
            self.set(param, cell);
        }
        self.block(&callee.code.body)?;
        let Some(frame) = self.leave() else { return Ok(None) };
        if callee.result.is_some() {
            // What has come to the end has no result.
            let everywhere = self.dd.yes();
            self.fault(&everywhere, FaultKind::NoResult, span)?;
        }
        self.resume(&outer)?;
        Ok(frame.result)
    }

    /// What an argument makes of a local: a reference to its place, or a copy of its value.
    pub(crate) fn argument(&mut self, argument: &'a Argument, local: &'a Local) -> DdResult<LocalContent> {
        match argument {
            Argument::Place(place) if matches!(local.kind, LocalKind::Reference { .. }) => {
                Ok(LocalContent::Refers(self.locate(place)?))
            }
            Argument::Place(place) => Ok(LocalContent::Value(self.peek(place)?)),
            Argument::Value(value) => {
                let span = value.span;
                let value = self.eval(value)?;
                Ok(LocalContent::Value(self.fit(value, local.ty, span)?))
            }
        }
    }
}
