//! Expressions.

use shoal_model::{
    BinaryOp, Domain, Expr, ExprKind, LocalKind, Place, Projection, Quantifier as Quantified, Root, Type,
    TypeId, UnaryOp,
};
use shoal_syntax::{Span, cursor::Parsed};
use shoal_template::codes;

use super::{
    ExprView, Lowerer, Meaning, error, processes::OpenArgument, rates, types::Constant, unsupported,
};
use crate::ast::{self, ExprKind as K, Quantifier};

impl<'n> Lowerer<'n> {
    /// The value of an expression: a truth value, an integer, an element or a clock.
    pub(super) fn value(&mut self, expr: &'n ast::Expr, view: &ExprView<'n>) -> Parsed<Expr> {
        let span = expr.span;
        match &expr.kind {
            K::Number(number) => Ok(self.b.int(*number, span)),
            K::Bool(value) => Ok(self.b.truth(*value, span)),
            K::Name(_) | K::Index(..) | K::Dot(..) => self.named_value(expr, view),
            K::Call(name, arguments) if name.node == "abs" && !view.scope.contains_key("abs") => {
                let [of] = &arguments[..] else {
                    return error(codes::WRONG_KIND, span, "`abs` needs one argument");
                };
                let of = self.integer(of, view)?;
                self.magnitude(of, span)
            }
            K::Call(name, arguments) => self.call_value(name, arguments, view, view, span),
            K::Not(of) => {
                let of = self.truth(of, view)?;
                Ok(self.b.not(of))
            }
            K::Minus(of) => {
                let of = self.integer(of, view)?;
                let kind = ExprKind::Unary(UnaryOp::Neg, Box::new(of));
                Ok(Expr { kind, ty: self.b.integer, span })
            }
            K::Cond(condition, then, other) => self.conditional(condition, then, other, view, span),
            K::Binary(op @ ("&&" | "||" | "imply"), left, right) => {
                let left = self.truth(left, view)?;
                let (does, right) = self.apart_from(|lowerer| lowerer.truth(right, view))?;
                Ok(match (does.is_empty(), *op) {
                    (false, op) => self.perhaps(op, left, does, right, span),
                    (true, "&&") => self.b.and(vec![left, right], span),
                    (true, "||") => self.b.or(vec![left, right], span),
                    (true, _) => self.b.implies(left, right, span),
                })
            }
            K::Binary("==", left, right) if rates::written(left, right).is_some() => {
                if let Some((clock, rate)) = rates::written(left, right) {
                    self.rate(clock, rate, view)?;
                }
                Ok(self.b.truth(true, span))
            }
            K::Rate(_) => rates::alone(span),
            K::Binary("**", ..) if self.constant(expr, view).is_ok() => {
                Ok(self.b.int(self.constant(expr, view)?, span))
            }
            K::Binary(op, left, right) => {
                let (left, right) = self.operands(left, right, view)?;
                self.binary(op, left, right, span)
            }
            K::Assign(assign) => self.assigned_value(assign, view, span),
            K::Quantified(quantifier, name, ty, body) => {
                self.quantified(*quantifier, name, ty, body, view, span)
            }
            K::CallOf(process, name, arguments) => {
                let (number, members) = self.process_named(process, view)?;
                let own = self.view_of(number, members);
                self.call_value(name, arguments, &own, view, span)
            }
            K::Deadlock => match self.deadlock {
                Some(truth) => Ok(self.b.truth(truth, span)),
                None => unsupported("`deadlock` here", span),
            },
        }
    }

    fn magnitude(&mut self, of: Expr, span: Span) -> Parsed<Expr> {
        let mark = self.mark();
        let of = self.kept(of, mark, true)?;
        let negative = self.b.binary(BinaryOp::Lt, of.clone(), self.b.int(0, span), span);
        let minus = ExprKind::Unary(UnaryOp::Neg, Box::new(of.clone()));
        let minus = Expr { kind: minus, ty: self.b.integer, span };
        let kind = ExprKind::Cond(Box::new(negative), Box::new(minus), Box::new(of));
        Ok(Expr { kind, ty: self.b.integer, span })
    }

    pub(super) fn truth(&mut self, expr: &'n ast::Expr, view: &ExprView<'n>) -> Parsed<Expr> {
        let value = self.value(expr, view)?;
        self.as_truth(value)
    }

    pub(super) fn integer(&mut self, expr: &'n ast::Expr, view: &ExprView<'n>) -> Parsed<Expr> {
        let value = self.value(expr, view)?;
        self.as_integer(value)
    }

    /// A truth value: an integer is true unless it is 0.
    pub(super) fn as_truth(&self, value: Expr) -> Parsed<Expr> {
        let span = value.span;
        match self.b.model.kind(value.ty) {
            Type::Bool => Ok(value),
            Type::Int { .. } => {
                let equal = self.b.equal(value, self.b.int(0, span), span);
                Ok(self.b.not(equal))
            }
            _ => error(codes::WRONG_KIND, span, "a truth value or an integer is needed here"),
        }
    }

    /// An integer: true is 1.
    pub(super) fn as_integer(&self, value: Expr) -> Parsed<Expr> {
        let value = self.as_number(value);
        match self.b.model.kind(value.ty) {
            Type::Int { .. } => Ok(value),
            Type::Clock => unsupported("the value of a clock", value.span),
            _ => error(codes::WRONG_KIND, value.span, "an integer is needed here"),
        }
    }

    /// A truth value as the number it is; anything else stays what it is.
    pub(super) fn as_number(&self, expr: Expr) -> Expr {
        if !self.b.is_truth(&expr) {
            return expr;
        }
        let span = expr.span;
        let (one, zero) = (self.b.int(1, span), self.b.int(0, span));
        Expr { kind: ExprKind::Cond(Box::new(expr), Box::new(one), Box::new(zero)), ty: self.b.integer, span }
    }

    /// A value that something of a type is to have.
    pub(super) fn as_type(&self, value: Expr, ty: TypeId) -> Parsed<Expr> {
        let (span, kind) = (value.span, self.b.model.kind(ty));
        match kind {
            Type::Bool => self.as_truth(value),
            Type::Int { .. } if self.is_numbered(value.ty) => {
                self.meets_elements(ty);
                error(codes::WRONG_KIND, span, "an element where a number is needed")
            }
            Type::Ref { .. } if self.is_numbered(ty) => self.as_element(value, ty),
            // A clock is set to an integer.
            Type::Int { .. } | Type::Clock => self.as_integer(value),
            _ if self.has_clock(value.ty) => unsupported("the value of a clock", span),
            _ if self.b.model.may_meet(ty, value.ty) => Ok(value),
            _ => error(codes::WRONG_KIND, span, "this value is of another type"),
        }
    }

    /// Lowers something that may not be evaluated, or not just once: what it does could not be taken out of it.
    pub(super) fn without_effects<T>(&mut self, part: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        let prelude = self.prelude.take();
        let result = part(self);
        self.prelude = prelude;
        result
    }

    /// Whether a clock is part of a type.
    pub(super) fn has_clock(&self, ty: TypeId) -> bool {
        self.b.model.type_contains(ty, &|part| *part == Type::Clock)
    }

    pub(super) fn is_clock(&self, expr: &Expr) -> bool {
        *self.b.model.kind(expr.ty) == Type::Clock
    }

    fn conditional(
        &mut self,
        condition: &'n ast::Expr,
        then: &'n ast::Expr,
        other: &'n ast::Expr,
        view: &ExprView<'n>,
        span: Span,
    ) -> Parsed<Expr> {
        let condition = self.truth(condition, view)?;
        let (then_does, then) = self.apart_from(|lowerer| lowerer.value(then, view))?;
        let (other_does, other) = self.apart_from(|lowerer| lowerer.value(other, view))?;
        if self.has_clock(then.ty) || self.has_clock(other.ty) {
            return unsupported("a choice between clocks", span);
        }
        let (then, other) = match self.b.is_truth(&then) && self.b.is_truth(&other) {
            true => (then, other),
            false => (self.as_number(then), self.as_number(other)),
        };
        let (then, other) = self.both_elements(then, other)?;
        if !self.b.model.may_meet(then.ty, other.ty) {
            return error(codes::WRONG_KIND, span, "a choice between values of different types");
        }
        let ty = match self.b.model.kind(then.ty) {
            Type::Int { .. } => self.b.integer,
            _ => then.ty,
        };
        if !then_does.is_empty() || !other_does.is_empty() {
            let arms = [(then_does, then), (other_does, other)];
            return Ok(self.either_way(condition, arms, ty, span));
        }
        Ok(Expr { kind: ExprKind::Cond(Box::new(condition), Box::new(then), Box::new(other)), ty, span })
    }

    /// An operator on integers, or a comparison.
    pub(super) fn binary(&mut self, op: &str, left: Expr, right: Expr, span: Span) -> Parsed<Expr> {
        if self.is_clock(&left) || self.is_clock(&right) {
            let (left, right) = (self.as_number(left), self.as_number(right));
            let number = |expr: &Expr| matches!(self.b.model.kind(expr.ty), Type::Int { .. } | Type::Clock);
            if !number(&left) || !number(&right) {
                return error(codes::WRONG_KIND, span, "values of different types are compared");
            }
            return match (op, BinaryOp::of_symbol(op)) {
                ("==", _) => self.b.compare_clocks(None, left, right, span),
                ("!=", _) => self.b.compare_clocks(None, left, right, span).map(|equal| self.b.not(equal)),
                (_, Some(op)) if op.compares() => self.b.compare_clocks(Some(op), left, right, span),
                (_, Some(op)) => self.b.clock_sum(op, left, right, span),
                (_, None) => unsupported("arithmetic on clocks", span),
            };
        }
        if op == "==" || op == "!=" {
            let truths = self.b.is_truth(&left) && self.b.is_truth(&right);
            let (left, right) =
                if truths { (left, right) } else { (self.as_number(left), self.as_number(right)) };
            if self.has_clock(left.ty) || self.has_clock(right.ty) {
                return unsupported("comparing arrays or records of clocks", span);
            }
            let (left, right) = self.both_elements(left, right)?;
            if !self.b.model.may_meet(left.ty, right.ty) {
                return error(codes::WRONG_KIND, span, "values of different types are compared");
            }
            let equal = self.b.equal(left, right, span);
            return Ok(if op == "==" { equal } else { self.b.not(equal) });
        }
        let references = |expr: &Expr| matches!(self.b.model.kind(expr.ty), Type::Ref { .. });
        if references(&left) || references(&right) {
            return error(
                codes::WRONG_KIND,
                span,
                "elements of a scalar type can only be compared by == and !=",
            );
        }
        let number = |expr: &Expr| matches!(self.b.model.kind(expr.ty), Type::Int { .. } | Type::Clock);
        let (left, right) = (self.as_number(left), self.as_number(right));
        if !number(&left) || !number(&right) {
            return error(codes::WRONG_KIND, span, "numbers are needed here");
        }
        if op == "**" {
            return self.power(left, right, span);
        }
        if op == "<?" || op == ">?" {
            let (left, right) = (self.as_integer(left)?, self.as_integer(right)?);
            let mark = self.mark();
            let [left, right] = [self.kept(left, mark, true)?, self.kept(right, mark, true)?];
            let compare = if op == "<?" { BinaryOp::Le } else { BinaryOp::Ge };
            let condition = Box::new(self.b.binary(compare, left.clone(), right.clone(), span));
            let kind = ExprKind::Cond(condition, Box::new(left), Box::new(right));
            return Ok(Expr { kind, ty: self.b.integer, span });
        }
        match BinaryOp::of_symbol(op) {
            Some(op) => Ok(self.b.binary(op, left, right, span)),
            None => error(codes::INTERNAL, span, "an operator that is none"),
        }
    }

    /// A quantifier. Over integers it is taken apart, so that processes can be named by their numbers.
    fn quantified(
        &mut self,
        quantifier: Quantifier,
        name: &'n ast::Name,
        ty: &'n ast::TypeExpr,
        body: &'n ast::Expr,
        view: &ExprView<'n>,
        span: Span,
    ) -> Parsed<Expr> {
        let ty = self.data(ty, &name.node, view)?;
        let parts = match self.integers(ty, span)? {
            Some(values) => values,
            None => return self.over_elements(quantifier, name, ty, body, view, span),
        };
        let mut lowered = Vec::new();
        for value in parts {
            let view = view.with(&name.node, self.single(ty, value));
            lowered.push(self.without_effects(|lowerer| match quantifier {
                Quantifier::Sum => lowerer.integer(body, &view),
                _ => lowerer.truth(body, &view),
            })?);
        }
        Ok(match quantifier {
            Quantifier::Forall => self.b.and(lowered, span),
            Quantifier::Exists => self.b.or(lowered, span),
            Quantifier::Sum => {
                let zero = self.b.int(0, span);
                lowered.into_iter().fold(zero, |sum, part| self.b.binary(BinaryOp::Add, sum, part, span))
            }
        })
    }

    fn over_elements(
        &mut self,
        quantifier: Quantifier,
        name: &'n ast::Name,
        ty: TypeId,
        body: &'n ast::Expr,
        view: &ExprView<'n>,
        span: Span,
    ) -> Parsed<Expr> {
        let local = self.b.local(&name.node, ty, LocalKind::Bound, name.span);
        let view = view.with(&name.node, Meaning::Local(local));
        let body = self.without_effects(|lowerer| lowerer.value(body, &view))?;
        if self.is_numbered(ty) && !self.never_faults(&body) {
            return unsupported("what may fault under a quantifier over elements that are numbers", span);
        }
        if quantifier != Quantifier::Sum {
            let body = self.as_truth(body)?;
            return Ok(self.b.quantified(quantifier == Quantifier::Forall, local, body, span));
        }
        if !self.b.is_truth(&body) {
            return unsupported("a sum of numbers over a scalar type", span);
        }
        let (quantifier, domain) = (Quantified::Count, Domain::Type(ty));
        let kind = ExprKind::Quantified { quantifier, local, domain, body: Box::new(body) };
        Ok(Expr { kind, ty: self.b.integer, span })
    }

    /// The value of a constant, a variable, a part of one, or something of a process.
    fn named_value(&mut self, expr: &'n ast::Expr, view: &ExprView<'n>) -> Parsed<Expr> {
        let span = expr.span;
        if let Some(known) = self.known(expr, view) {
            if known.values.len() == 1 && self.b.model.kind(known.ty).is_scalar() {
                return Ok(self.known_value(&known, span));
            }
            return self.whole_constant(&known, span);
        }
        match &expr.kind {
            K::Name(name) => match view.scope.get(name) {
                Some(Meaning::Member(number)) => match view.members.get(*number) {
                    Some(member) => Ok(Expr { span, ..member.clone() }),
                    None => error(codes::INTERNAL, span, "a process without its number"),
                },
                Some(Meaning::AnyNumber) => self.constant(expr, view).map(|number| self.b.int(number, span)),
                _ => {
                    let place = self.place(expr, view)?;
                    Ok(self.b.read(place))
                }
            },
            K::Dot(process, name) if self.names_process(process, view) => {
                self.of_process(process, name, view, span)
            }
            _ => match self.looked_up(expr, view)? {
                Some(entry) => Ok(entry),
                None => {
                    let place = self.place(expr, view)?;
                    Ok(self.b.read(place))
                }
            },
        }
    }

    fn known_value(&self, known: &Constant, span: Span) -> Expr {
        match self.b.model.kind(known.ty) {
            Type::Bool => self.b.truth(known.values[0] != 0, span),
            _ => self.b.int(known.values[0], span),
        }
    }

    /// Whether the left side of a dot is a process.
    pub(super) fn names_process(&self, expr: &ast::Expr, view: &ExprView<'n>) -> bool {
        match &expr.kind {
            K::Name(name) => {
                !view.scope.contains_key(name) && self.processes.iter().any(|process| process.line == *name)
            }
            K::Call(name, _) => self.processes.iter().any(|process| process.line == name.node),
            _ => false,
        }
    }

    /// The process that an expression names, and which members of its family.
    pub(super) fn process_named(
        &mut self,
        process: &'n ast::Expr,
        view: &ExprView<'n>,
    ) -> Parsed<(usize, Vec<Expr>)> {
        let (line, given) = match &process.kind {
            K::Name(name) => (name, &[][..]),
            K::Call(name, arguments) => (&name.node, arguments.as_slice()),
            _ => return error(codes::WRONG_KIND, process.span, "a process is needed here"),
        };
        for number in 0..self.processes.len() {
            if self.processes[number].line == *line
                && let Some(members) = self.given_members(number, given, view)?
            {
                return Ok((number, members));
            }
        }
        error(codes::UNKNOWN_NAME, process.span, format!("there is no such process `{line}`"))
    }

    /// What a process sees.
    pub(super) fn view_of(&self, number: usize, members: Vec<Expr>) -> ExprView<'n> {
        let scope = self.processes[number].scope.clone();
        ExprView { scope, members, home: Some(number), result: None }
    }

    /// `P.location`, `P(1).variable`
    fn of_process(
        &mut self,
        process: &'n ast::Expr,
        name: &'n ast::Name,
        view: &ExprView<'n>,
        span: Span,
    ) -> Parsed<Expr> {
        let (number, members) = self.process_named(process, view)?;
        let template = self.processes[number].template;
        if let Some(at) = template.locations.iter().position(|location| location.name.node == name.node) {
            return Ok(self.at(number, &members, at, span));
        }
        match self.processes[number].scope.get(&name.node) {
            Some(Meaning::Constant(constant)) if constant.values.len() == 1 => {
                Ok(self.known_value(constant, span))
            }
            Some(Meaning::Member(member)) => match members.get(*member) {
                Some(member) => Ok(Expr { span, ..member.clone() }),
                None => error(codes::INTERNAL, span, "a process without its number"),
            },
            _ => {
                let place = self.place_of_process(process, name, view, span)?;
                Ok(self.b.read(place))
            }
        }
    }

    /// A variable of a process.
    fn place_of_process(
        &mut self,
        process: &'n ast::Expr,
        name: &'n ast::Name,
        view: &ExprView<'n>,
        span: Span,
    ) -> Parsed<Place> {
        let (number, members) = self.process_named(process, view)?;
        let own = self.view_of(number, members);
        match own.scope.get(&name.node) {
            Some(Meaning::Variable(variable)) => Ok(self.variable_place(variable, &own, span)),
            _ => {
                let line = &self.processes[number].line;
                let message = format!("`{line}` has no location or variable `{}`", name.node);
                error(codes::UNKNOWN_NAME, name.span, message)
            }
        }
    }

    /// The members of its family that arguments name, if they name this process.
    fn given_members(
        &mut self,
        number: usize,
        given: &'n [ast::Expr],
        view: &ExprView<'n>,
    ) -> Parsed<Option<Vec<Expr>>> {
        let arguments = self.processes[number].arguments.clone();
        if arguments.len() != given.len() {
            return Ok(None);
        }
        let mut members = Vec::new();
        for (argument, given) in arguments.iter().zip(given) {
            match argument {
                OpenArgument::Number(own) if self.constant(given, view)? == *own => {}
                OpenArgument::Number(_) => return Ok(None),
                OpenArgument::Member => {
                    let ty = self.processes[number].family[members.len()];
                    let member = self.value(given, view)?;
                    members.push(if self.is_numbered(ty) { self.as_element(member, ty)? } else { member });
                }
            }
        }
        Ok(Some(members))
    }

    /// A place that can be written.
    pub(super) fn place(&mut self, expr: &'n ast::Expr, view: &ExprView<'n>) -> Parsed<Place> {
        let span = expr.span;
        match &expr.kind {
            K::Name(name) => match view.scope.get(name) {
                Some(Meaning::Variable(variable)) => Ok(self.variable_place(variable, view, span)),
                Some(Meaning::Local(local)) => {
                    let ty = self.b.locals[*local].ty;
                    Ok(Place { root: Root::Local(*local), path: Vec::new(), ty, span })
                }
                Some(_) => error(codes::WRONG_KIND, span, format!("`{name}` is no variable")),
                None => self.unknown(name, view, span),
            },
            K::Index(of, index) => {
                let mut place = self.place(of, view)?;
                let Type::Array { index: by, element } = *self.b.model.kind(place.ty) else {
                    return error(codes::WRONG_KIND, of.span, "this is no array");
                };
                let value = self.value(index, view)?;
                let mut value = self.as_number(value);
                if self.is_numbered(by) {
                    value = self.as_element(value, by)?;
                } else if self.is_numbered(value.ty) {
                    self.meets_elements(by);
                }
                if !self.b.model.may_meet(by, value.ty) {
                    return error(codes::WRONG_KIND, index.span, "the array is not indexed by this");
                }
                place.path.push(Projection::Index(value));
                Ok(Place { ty: element, span, ..place })
            }
            K::Dot(process, name) if self.names_process(process, view) => {
                self.place_of_process(process, name, view, span)
            }
            K::Dot(of, field) => {
                let mut place = self.place(of, view)?;
                let found = match self.b.model.kind(place.ty) {
                    Type::Record { fields } => {
                        fields.iter().enumerate().find(|(_, own)| own.name == field.node)
                    }
                    _ => None,
                };
                let Some((at, ty)) = found.map(|(at, own)| (at as u32, own.ty)) else {
                    return error(
                        codes::UNKNOWN_NAME,
                        field.span,
                        format!("there is no field `{}`", field.node),
                    );
                };
                place.path.push(Projection::Field(at));
                Ok(Place { ty, span, ..place })
            }
            _ => error(codes::WRONG_KIND, span, "a variable is needed here"),
        }
    }
}
