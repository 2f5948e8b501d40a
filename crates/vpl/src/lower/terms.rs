//! Expressions: places, elements, integers, truth values.

use super::super::ast;
use super::super::ast::InfixOp;
use super::{LoopDomain, Lowerer, RegisterContent, VplVariable};
use shoal_model::{BinaryOp, Expr, ExprKind, LocalId, Place, Value};
use shoal_syntax::{
    Span,
    cursor::{Parsed, error, unknown},
};
use shoal_template::codes;

/// A lowered expression that is no truth value.
pub(super) enum VplTerm {
    Integer(Expr),
    Clock(Expr),
    /// An automaton of a family: an index variable.
    Element(usize, Expr),
    /// A register that holds automata, or 0.
    Reference(usize, Expr),
    /// The mode of an automaton.
    Mode(usize, Expr),
}

impl<'p> Lowerer<'p> {
    /// A clock or a register that is assigned to.
    pub(super) fn target(&mut self, expr: &'p ast::Expr) -> Parsed<(Place, VplVariable)> {
        let (name, index) = match &expr.kind {
            ast::ExprKind::Name(name) => (name.as_str(), None),
            ast::ExprKind::Index(name, index) => (name.node.as_str(), Some(index.as_ref())),
            _ => return error(codes::WRONG_KIND, expr.span, "a clock or a register is needed here"),
        };
        let Some(variable) = self.variables.get(name).copied() else {
            return unknown(name, expr.span, self.variables.keys().copied());
        };
        let place = self.b.place(variable.var, expr.span);
        match (variable.array, index) {
            (None, None) => Ok((place, variable)),
            (Some(over), Some(index)) => {
                let index = match over {
                    LoopDomain::Family(family) => self.element(family, index)?,
                    LoopDomain::Integers => self.integer(index)?,
                };
                Ok((self.b.index(place, index, expr.span), variable))
            }
            (None, Some(_)) => error(codes::WRONG_KIND, expr.span, format!("`{name}` is no array")),
            (Some(_), None) => {
                error(codes::WRONG_KIND, expr.span, format!("`{name}` is an array and needs an index"))
            }
        }
    }

    /// A value for a variable.
    pub(super) fn value_for(&mut self, variable: VplVariable, expr: &'p ast::Expr) -> Parsed<Expr> {
        match (variable.clock, variable.holds) {
            (true, _) => {
                let value = self.integer(expr)?;
                match value.kind {
                    ExprKind::Const(Value::Int(value)) if value < 0 => {
                        error(codes::OUT_OF_RANGE, expr.span, "clocks are never negative")
                    }
                    _ => Ok(value),
                }
            }
            (false, RegisterContent::Family(family)) => self.maybe_element(family, expr),
            (false, RegisterContent::Integers) => self.integer(expr),
        }
    }

    /// An automaton of a family: an index variable, a number, or a number that is computed.
    pub(super) fn element(&mut self, family: usize, expr: &'p ast::Expr) -> Parsed<Expr> {
        match self.term(expr)? {
            VplTerm::Element(of, element) | VplTerm::Reference(of, element) if of == family => Ok(element),
            VplTerm::Integer(number) => self.element_at(family, number, expr.span),
            _ => error(codes::WRONG_KIND, expr.span, "the index of an automaton is needed here"),
        }
    }

    pub(super) fn element_at(&mut self, family: usize, number: Expr, span: Span) -> Parsed<Expr> {
        let (first, sort, size) = {
            let family = &self.families[family];
            (family.first, family.sort, family.size)
        };
        let ty = self.b.reference(sort, false);
        if let ExprKind::Const(Value::Int(value)) = number.kind {
            let element = u32::try_from(value - first).ok();
            return match element.filter(|element| size.is_none_or(|size| *element < size)) {
                Some(element) => Ok(self.b.constant(Value::Elem(sort, element), ty, span)),
                None => error(codes::OUT_OF_RANGE, span, format!("there is no automaton {value}")),
            };
        }
        let offset = self.b.int(first, span);
        let position = self.b.binary(BinaryOp::Sub, number, offset, span);
        Ok(Expr { kind: ExprKind::ElementAt(sort, Box::new(position)), ty, span })
    }

    /// An automaton of a family, or 0 for none.
    pub(super) fn maybe_element(&mut self, family: usize, expr: &'p ast::Expr) -> Parsed<Expr> {
        if let ast::ExprKind::Number(0) = expr.kind {
            let sort = self.families[family].sort;
            let ty = self.b.reference(sort, true);
            return Ok(self.b.constant(Value::Null, ty, expr.span));
        }
        self.element(family, expr)
    }

    pub(super) fn integer(&mut self, expr: &'p ast::Expr) -> Parsed<Expr> {
        let term = self.term(expr)?;
        self.as_integer(term, expr.span)
    }

    /// The number of an automaton where a number is needed.
    pub(super) fn as_integer(&mut self, term: VplTerm, span: Span) -> Parsed<Expr> {
        match term {
            VplTerm::Integer(expr) => Ok(expr),
            VplTerm::Element(family, element) => {
                let ordinal = Expr { kind: ExprKind::Ordinal(Box::new(element)), ty: self.b.integer, span };
                let first = self.b.int(self.families[family].first, span);
                Ok(self.b.binary(BinaryOp::Add, ordinal, first, span))
            }
            VplTerm::Clock(_) => error(
                codes::UNSUPPORTED,
                span,
                "arithmetic on clocks is not supported: compare a clock with a number",
            ),
            _ => error(codes::WRONG_KIND, span, "a number is needed here"),
        }
    }

    pub(super) fn term(&mut self, expr: &'p ast::Expr) -> Parsed<VplTerm> {
        use ast::ExprKind as K;
        let span = expr.span;
        match &expr.kind {
            K::Number(number) => Ok(VplTerm::Integer(self.b.int(*number, span))),
            K::Minus(_) if self.constant(expr).is_ok() => {
                Ok(VplTerm::Integer(self.b.int(self.constant(expr)?, span)))
            }
            K::Name(name) if self.scope.iter().any(|(known, ..)| known == name) => {
                let found = self.scope.iter().rev().find(|(known, ..)| known == name).copied();
                let Some((_, local, family)) = found else {
                    return error(codes::INTERNAL, span, "a lost name");
                };
                Ok(VplTerm::Element(family, self.b.read_local(local, span)))
            }
            K::Name(_) | K::Index(..) => {
                let (place, variable) = self.target(expr)?;
                let read = self.b.read(place);
                Ok(match (variable.clock, variable.holds) {
                    (true, _) => VplTerm::Clock(read),
                    (false, RegisterContent::Integers) => VplTerm::Integer(read),
                    (false, RegisterContent::Family(family)) => VplTerm::Reference(family, read),
                })
            }
            K::Call(function, arguments) if function.node == "total" => {
                Ok(VplTerm::Integer(self.b.int(self.total(arguments, span)?, span)))
            }
            K::Call(function, arguments) if function.node == "mode" => match arguments.as_slice() {
                [ast::Expr { kind: K::Index(name, index), .. }] => {
                    let family = self.family_at(&name.node, name.span)?;
                    let element = self.element(family, index)?;
                    let place = self.mode_place(family, element, span);
                    Ok(VplTerm::Mode(family, self.b.read(place)))
                }
                _ => error(codes::WRONG_KIND, span, "`mode` takes an automaton, such as `mode(A[1])`"),
            },
            K::Call(function, _) => unknown(&function.node, function.span, ["total", "mode"].into_iter()),
            K::Binary(op, left, right) => match op.arithmetic() {
                Some(op) => {
                    let (left_term, right_term) = (self.term(left)?, self.term(right)?);
                    let (left, right) = match (left_term, right_term) {
                        (VplTerm::Clock(one), VplTerm::Clock(other)) => {
                            return self.b.clock_sum(op, one, other, span).map(VplTerm::Clock);
                        }
                        (VplTerm::Clock(clock), number) => {
                            let number = self.as_integer(number, right.span)?;
                            return self.b.clock_sum(op, clock, number, span).map(VplTerm::Clock);
                        }
                        (number, VplTerm::Clock(clock)) => {
                            let number = self.as_integer(number, left.span)?;
                            return self.b.clock_sum(op, number, clock, span).map(VplTerm::Clock);
                        }
                        (one, other) => {
                            (self.as_integer(one, left.span)?, self.as_integer(other, right.span)?)
                        }
                    };
                    Ok(VplTerm::Integer(self.b.binary(op, left, right, span)))
                }
                None => error(codes::WRONG_KIND, span, "a value is needed here, not a condition"),
            },
            _ => error(codes::WRONG_KIND, span, "a value is needed here"),
        }
    }

    /// A condition on one state.
    pub(crate) fn truth(&mut self, expr: &'p ast::Expr) -> Parsed<Expr> {
        use ast::ExprKind as K;
        let span = expr.span;
        match &expr.kind {
            K::Bool(value) => Ok(self.b.truth(*value, span)),
            K::Not(of) => {
                let of = self.truth(of)?;
                Ok(self.b.not(of))
            }
            K::Binary(InfixOp::And, left, right) => {
                let parts = vec![self.truth(left)?, self.truth(right)?];
                Ok(self.b.and(parts, span))
            }
            K::Binary(InfixOp::Or, left, right) => {
                let parts = vec![self.truth(left)?, self.truth(right)?];
                Ok(self.b.or(parts, span))
            }
            K::Binary(InfixOp::Implies, left, right) => {
                let (left, right) = (self.truth(left)?, self.truth(right)?);
                Ok(self.b.implies(left, right, span))
            }
            K::Binary(op, left, right) => self.comparison(*op, left, right, span),
            K::Quantified(all, names, family, body) => {
                let family = self.family_at(&family.node, family.span)?;
                let locals: Vec<LocalId> =
                    names.iter().map(|name| self.index_local(family, &name.node, name.span)).collect();
                self.scope.extend(
                    names.iter().zip(&locals).map(|(name, local)| (name.node.as_str(), *local, family)),
                );
                let body = self.truth(body)?;
                self.scope.truncate(self.scope.len() - names.len());
                Ok(locals
                    .into_iter()
                    .rev()
                    .fold(body, |body, local| self.b.quantified(*all, local, body, span)))
            }
            K::Paths(..) | K::Temporal(..) | K::Until(..) => error(
                codes::WRONG_KIND,
                span,
                "a condition on one state is needed here, not a temporal formula",
            ),
            _ => error(codes::WRONG_KIND, span, "a condition is needed here"),
        }
    }

    pub(super) fn comparison(
        &mut self,
        op: InfixOp,
        left: &'p ast::Expr,
        right: &'p ast::Expr,
        span: Span,
    ) -> Parsed<Expr> {
        if op.arithmetic().is_some() {
            return error(codes::WRONG_KIND, span, "a condition is needed here, not a value");
        }
        // A mode is compared with a name that is no variable.
        for (mode, name) in [(left, right), (right, left)] {
            if let (ast::ExprKind::Call(function, _), ast::ExprKind::Name(name)) = (&mode.kind, &name.kind)
                && function.node == "mode"
                && let VplTerm::Mode(family, read) = self.term(mode)?
            {
                let number = self.mode_number(family, name, span)?;
                let constant = self.mode_constant(family, number, span);
                return self.equality(op, read, constant, span);
            }
        }
        let (left_term, right_term) = (self.term(left)?, self.term(right)?);
        match (left_term, right_term) {
            (VplTerm::Clock(left), VplTerm::Integer(right))
            | (VplTerm::Integer(left), VplTerm::Clock(right)) => self.compare(op, left, right, span),
            (VplTerm::Clock(left), VplTerm::Clock(right)) => self.compare(op, left, right, span),
            (VplTerm::Mode(f, left), VplTerm::Mode(g, right)) if f == g => {
                self.equality(op, left, right, span)
            }
            (VplTerm::Reference(family, register), _) if matches!(op, InfixOp::Eq | InfixOp::Ne) => {
                let other = self.maybe_element(family, right)?;
                self.equality(op, register, other, span)
            }
            (_, VplTerm::Reference(family, register)) if matches!(op, InfixOp::Eq | InfixOp::Ne) => {
                let other = self.maybe_element(family, left)?;
                self.equality(op, register, other, span)
            }
            (VplTerm::Element(f, left), VplTerm::Element(g, right))
                if f == g && matches!(op, InfixOp::Eq | InfixOp::Ne) =>
            {
                self.equality(op, left, right, span)
            }
            (VplTerm::Element(f, element), VplTerm::Integer(number))
            | (VplTerm::Integer(number), VplTerm::Element(f, element))
                if matches!(op, InfixOp::Eq | InfixOp::Ne) && matches!(number.kind, ExprKind::Const(_)) =>
            {
                let other = self.element_at(f, number, span)?;
                self.equality(op, element, other, span)
            }
            (l, r) => {
                let (l, r) = (self.as_integer(l, left.span)?, self.as_integer(r, right.span)?);
                self.compare(op, l, r, span)
            }
        }
    }

    pub(super) fn equality(&mut self, op: InfixOp, left: Expr, right: Expr, span: Span) -> Parsed<Expr> {
        let equal = self.b.equal(left, right, span);
        match op {
            InfixOp::Eq => Ok(equal),
            InfixOp::Ne => Ok(self.b.not(equal)),
            _ => error(codes::WRONG_KIND, span, "these can only be equal or not"),
        }
    }

    pub(super) fn compare(&mut self, op: InfixOp, left: Expr, right: Expr, span: Span) -> Parsed<Expr> {
        if self.b.is_clock(&left) || self.b.is_clock(&right) {
            let compared = self.b.compare_clocks(op.order(), left, right, span)?;
            return Ok(if op == InfixOp::Ne { self.b.not(compared) } else { compared });
        }
        match op.order() {
            Some(op) => Ok(self.b.binary(op, left, right, span)),
            None => self.equality(op, left, right, span),
        }
    }
}
