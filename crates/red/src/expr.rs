//! Expressions and conditions, for one process or for none.
//!
//! A pointer is a reference to an element of a sort, so equality of pointers, NULL and `P` leave processes
//! interchangeable. A number that stands for a process names it, and arithmetic or order on addresses counts processes:
//! NULL is 0 and the first process is 1.

use shoal_model::{BinaryOp, Expr, ExprKind, LocalId, LocalKind, Place, Type, TypeId, Value};
use shoal_syntax::{
    Span,
    cursor::{Parsed, error, unknown},
};
use shoal_template::{build::TemplateBuilder, codes};

use super::{
    ast::{self, Chain, ExprKind as K, InfixOp, Name},
    declare::{RedDeclarations, RedVariable},
};

/// What expressions are lowered with.
pub(super) struct RedScope<'p> {
    pub(super) b: TemplateBuilder,
    pub(super) declared: RedDeclarations<'p>,
    /// Whether connectives look at all of their operands.
    pub(super) strict: bool,
    /// The process whose local variables have no owner written; none in properties.
    pub(super) own: Option<LocalId>,
    /// The variables of quantifiers around here.
    bound: Vec<(&'p str, LocalId)>,
}

/// A lowered expression that is no truth value.
#[derive(Clone)]
pub(super) enum RedTerm {
    Number(Expr),
    /// A process or NULL.
    Address(Expr),
    /// A named mode.
    Mode(Expr),
}

/// A place and what it holds.
pub(super) struct RedTarget {
    pub(super) place: Place,
    pub(super) holds: FieldContent,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum FieldContent {
    Numbers,
    Addresses,
    Modes,
}

impl<'p> RedScope<'p> {
    pub(super) fn new(b: TemplateBuilder, declared: RedDeclarations<'p>, strict: bool) -> Self {
        RedScope { b, declared, strict, own: None, bound: Vec::new() }
    }

    /// A new bound local for a process.
    pub(super) fn process_local(&mut self, name: &str, ty: TypeId, span: Span) -> LocalId {
        self.b.local(name, ty, LocalKind::Bound, span)
    }

    /// A condition on one state.
    pub(super) fn truth(&mut self, expr: &'p ast::Expr) -> Parsed<Expr> {
        let span = expr.span;
        match &expr.kind {
            K::Truth(value) => Ok(self.b.truth(*value, span)),
            K::Not(of) => {
                let of = self.truth(of)?;
                Ok(self.b.not(of))
            }
            K::Binary(InfixOp::And, left, right) => {
                let parts = vec![self.truth(left)?, self.truth(right)?];
                Ok(self.joined(true, parts, span))
            }
            K::Binary(InfixOp::Or, left, right) => {
                let parts = vec![self.truth(left)?, self.truth(right)?];
                Ok(self.joined(false, parts, span))
            }
            K::Binary(InfixOp::Implies, left, right) => {
                let (left, right) = (self.truth(left)?, self.truth(right)?);
                match self.strict {
                    true => {
                        let left = self.b.not(left);
                        Ok(self.joined(false, vec![left, right], span))
                    }
                    false => Ok(self.b.implies(left, right, span)),
                }
            }
            K::Comparison(first, rest) => self.comparison(first, rest, span),
            K::Quantified(all, names, family, body) => self.quantified(*all, names, family, body, span),
            _ => error(codes::WRONG_KIND, span, "a condition is needed here, not a value"),
        }
    }

    /// All hold, or one holds. The paper's connectives fault if any operand does; those of the Model stop early, so the
    /// paper's are operators on numbers there.
    fn joined(&mut self, all: bool, parts: Vec<Expr>, span: Span) -> Expr {
        if !self.strict {
            return if all { self.b.and(parts, span) } else { self.b.or(parts, span) };
        }
        let op = if all { BinaryOp::BitAnd } else { BinaryOp::BitOr };
        let numbers = parts.into_iter().map(|part| self.ordinal(part)).collect::<Vec<_>>();
        let joined = numbers.into_iter().reduce(|left, right| self.b.binary(op, left, right, span));
        let joined = joined.unwrap_or_else(|| self.b.int(i64::from(all), span));
        let one = self.b.int(1, span);
        self.b.equal(joined, one, span)
    }

    fn ordinal(&self, of: Expr) -> Expr {
        let span = of.span;
        Expr { kind: ExprKind::Ordinal(Box::new(of)), ty: self.b.integer, span }
    }

    fn quantified(
        &mut self,
        all: bool,
        names: &'p [Name],
        family: &'p Option<Name>,
        body: &'p ast::Expr,
        span: Span,
    ) -> Parsed<Expr> {
        let ty = match family {
            Some(family) => self.declared.family(family)?.ty,
            None => self.declared.process,
        };
        let mut locals = Vec::new();
        for name in names {
            if name.node == "P" || self.declared.variable(&name.node).is_some() {
                let message = format!("`{}` means something else already", name.node);
                return error(codes::REDECLARED, name.span, message);
            }
            let local = self.process_local(&name.node, ty, name.span);
            self.bound.push((&name.node, local));
            locals.push(local);
        }
        let body = self.truth(body)?;
        self.bound.truncate(self.bound.len() - names.len());
        let quantify = |body, local: LocalId| self.b.quantified(all, local, body, span);
        Ok(locals.into_iter().rev().fold(body, quantify))
    }

    fn comparison(
        &mut self,
        first: &'p ast::Expr,
        rest: &'p [(InfixOp, ast::Expr)],
        span: Span,
    ) -> Parsed<Expr> {
        let mut parts = Vec::new();
        let mut left = (first, self.term(first)?);
        for (op, expr) in rest {
            let right = self.term(expr)?;
            let span = left.0.span.to(expr.span);
            parts.push(self.compare(*op, left.1, right.clone(), span)?);
            left = (expr, right);
        }
        match parts.len() {
            1 => Ok(parts.remove(0)),
            _ => Ok(self.joined(true, parts, span)),
        }
    }

    fn compare(&mut self, op: InfixOp, left: RedTerm, right: RedTerm, span: Span) -> Parsed<Expr> {
        if let Some(order) = op.order() {
            let (left, right) = (self.as_number(left), self.as_number(right));
            return Ok(self.b.binary(order, left, right, span));
        }
        let (left, right) = match (left, right) {
            (RedTerm::Mode(left), RedTerm::Mode(right))
            | (RedTerm::Address(left), RedTerm::Address(right)) => (left, right),
            (RedTerm::Address(address), RedTerm::Number(number))
            | (RedTerm::Number(number), RedTerm::Address(address))
                if matches!(number.kind, ExprKind::Const(_)) =>
            {
                (address, self.as_address(RedTerm::Number(number))?)
            }
            (RedTerm::Mode(_), _) | (_, RedTerm::Mode(_)) => {
                return error(codes::WRONG_KIND, span, "a mode can only be compared with a mode");
            }
            (left, right) => (self.as_number(left), self.as_number(right)),
        };
        // A process of one family is none of another. (Pointers lead to all families and have one type.)
        let sort = |of: &Expr| match self.b.model.kind(of.ty) {
            Type::Ref { sort, .. } => Some(*sort),
            _ => None,
        };
        let apart = sort(&left).zip(sort(&right)).is_some_and(|(left, right)| left != right);
        let equal = if apart { self.b.truth(false, span) } else { self.b.equal(left, right, span) };
        Ok(if op == InfixOp::Ne { self.b.not(equal) } else { equal })
    }

    /// A value of any kind.
    pub(super) fn term(&mut self, expr: &'p ast::Expr) -> Parsed<RedTerm> {
        let span = expr.span;
        match &expr.kind {
            K::Number(number) => Ok(RedTerm::Number(self.b.int(*number, span))),
            K::Truth(value) => Ok(RedTerm::Number(self.b.int(i64::from(*value), span))),
            K::Null => Ok(RedTerm::Address(self.null(span))),
            K::Own => match self.own {
                Some(own) => Ok(RedTerm::Address(self.b.read_local(own, span))),
                None => error(codes::WRONG_KIND, span, "`P` is the process that moves; here there is none"),
            },
            K::Minus(of) => {
                let zero = self.b.int(0, span);
                let of = self.number(of)?;
                Ok(RedTerm::Number(self.b.binary(BinaryOp::Sub, zero, of, span)))
            }
            K::Binary(op, left, right) => match op.arithmetic() {
                Some(op) => {
                    let (left, right) = (self.number(left)?, self.number(right)?);
                    Ok(RedTerm::Number(self.b.binary(op, left, right, span)))
                }
                None => error(codes::WRONG_KIND, span, "a value is needed here, not a condition"),
            },
            K::Chain(chain) => self.chain(chain),
            K::Not(_) | K::Comparison(..) | K::Quantified(..) => {
                error(codes::WRONG_KIND, span, "a value is needed here, not a condition")
            }
        }
    }

    fn number(&mut self, expr: &'p ast::Expr) -> Parsed<Expr> {
        let term = self.term(expr)?;
        Ok(self.as_number(term))
    }

    /// A number, or the number of a process or of a mode.
    fn as_number(&self, term: RedTerm) -> Expr {
        match term {
            RedTerm::Number(number) => number,
            RedTerm::Mode(mode) => self.ordinal(mode),
            RedTerm::Address(address) => {
                // `P` alone is of a type without NULL; as an address it counts from 1 among all processes.
                let span = address.span;
                let all = self.declared.pointer;
                if self.b.model.same_values(address.ty, all) {
                    return self.ordinal(address);
                }
                let family = self.declared.families.iter().find(|family| family.ty == address.ty);
                // Of any number of processes none has a number, whatever is added to it.
                let before = family.and_then(|family| family.before).map_or(0, i64::from);
                let first = self.b.int(before + 1, span);
                self.b.binary(BinaryOp::Add, self.ordinal(address), first, span)
            }
        }
    }

    /// A process or NULL, perhaps by its number.
    pub(super) fn as_address(&mut self, term: RedTerm) -> Parsed<Expr> {
        let number = match term {
            RedTerm::Address(address) => return Ok(address),
            RedTerm::Mode(mode) => {
                return error(codes::WRONG_KIND, mode.span, "a process is needed here, not a mode");
            }
            RedTerm::Number(number) => number,
        };
        let span = number.span;
        match number.kind {
            ExprKind::Const(Value::Int(0)) => Ok(self.null(span)),
            ExprKind::Const(Value::Int(value)) => self.named_process(value, span),
            _ => {
                let zero = self.b.int(0, span);
                let is_null = self.b.equal(number.clone(), zero, span);
                let process = self.process_at(number, span)?;
                Ok(self.either(is_null, self.null(span), process, span))
            }
        }
    }

    fn null(&self, span: Span) -> Expr {
        self.b.constant(Value::Null, self.declared.pointer, span)
    }

    fn either(&self, condition: Expr, then: Expr, other: Expr, span: Span) -> Expr {
        let kind = ExprKind::Cond(Box::new(condition), Box::new(then), Box::new(other));
        Expr { kind, ty: self.declared.pointer, span }
    }

    /// The process with a number that is known now.
    fn named_process(&self, number: i64, span: Span) -> Parsed<Expr> {
        for family in &self.declared.families {
            let (Some(before), Some(size)) = (family.before, family.size) else { return numbered(span) };
            let position = number - 1 - i64::from(before);
            if (0..i64::from(size)).contains(&position) {
                let value = Value::Elem(family.sort, position as u32);
                return Ok(self.b.constant(value, family.ty, span));
            }
        }
        error(codes::OUT_OF_RANGE, span, format!("there is no process {number}"))
    }

    /// The process with a number that is computed; faults if there is none.
    fn process_at(&self, number: Expr, span: Span) -> Parsed<Expr> {
        let mut found: Option<Expr> = None;
        for family in self.declared.families.iter().rev() {
            let (Some(before), Some(size)) = (family.before, family.size) else { return numbered(span) };
            let first = self.b.int(i64::from(before) + 1, span);
            let position = self.b.binary(BinaryOp::Sub, number.clone(), first, span);
            let kind = ExprKind::ElementAt(family.sort, Box::new(position));
            let element = Expr { kind, ty: family.ty, span };
            found = Some(match found {
                None => element,
                Some(later) => {
                    let last = self.b.int(i64::from(before + size), span);
                    let here = self.b.binary(BinaryOp::Le, number.clone(), last, span);
                    self.either(here, element, later, span)
                }
            });
        }
        Ok(found.unwrap_or_else(|| self.null(span)))
    }

    /// A name: of a constant, a bound process, a mode; or a variable, perhaps of another process.
    fn chain(&mut self, chain: &'p Chain) -> Parsed<RedTerm> {
        let name = chain.head.node.as_str();
        if chain.index.is_none() && chain.hops.is_empty() {
            if let Some(local) = self.bound_process(name) {
                return Ok(RedTerm::Address(self.b.read_local(local, chain.span)));
            }
            if let Some(value) = self.declared.constants.number(&chain.head)? {
                return Ok(RedTerm::Number(self.b.int(value, chain.span)));
            }
            let modes = &self.declared.modes;
            if self.declared.variable(name).is_none() && modes.has(name) {
                let constant = modes.constant(&self.b, name, chain.span)?;
                return Ok(if modes.named { RedTerm::Mode(constant) } else { RedTerm::Number(constant) });
            }
        }
        let RedTarget { place, holds } = self.place(chain)?;
        let read = self.b.read(place);
        Ok(match holds {
            FieldContent::Numbers => RedTerm::Number(read),
            FieldContent::Addresses => RedTerm::Address(read),
            FieldContent::Modes => RedTerm::Mode(read),
        })
    }

    fn bound_process(&self, name: &str) -> Option<LocalId> {
        self.bound.iter().rev().find(|(known, _)| *known == name).map(|(_, local)| *local)
    }

    /// The variable that a chain leads to.
    pub(super) fn place(&mut self, chain: &'p Chain) -> Parsed<RedTarget> {
        let head = &chain.head;
        let mut target = match self.bound_process(&head.node) {
            // `p->x` of a bound process is `x[p]`.
            Some(local) if chain.index.is_none() && !chain.hops.is_empty() => {
                let process = self.b.read_local(local, head.span);
                let (first, rest) = (&chain.hops[0], &chain.hops[1..]);
                let target = self.local_of(first, process, head.span.to(first.span))?;
                return self.follow(target, rest, head.span);
            }
            _ => self.head(chain)?,
        };
        target.place.span = match &chain.index {
            Some(index) => head.span.to(index.span),
            None => head.span,
        };
        self.follow(target, &chain.hops, head.span)
    }

    /// Follows the pointers of a chain.
    fn follow(&mut self, mut target: RedTarget, hops: &'p [Name], start: Span) -> Parsed<RedTarget> {
        for hop in hops {
            if target.holds != FieldContent::Addresses {
                let message = "only a pointer leads to another process";
                return error(codes::WRONG_KIND, target.place.span, message);
            }
            let pointer = self.b.read(target.place);
            target = self.local_of(hop, pointer, start.to(hop.span))?;
        }
        Ok(target)
    }

    /// The variable that a chain begins with.
    fn head(&mut self, chain: &'p Chain) -> Parsed<RedTarget> {
        let head = &chain.head;
        let name = head.node.as_str();
        let global = self.declared.variable(name).filter(|variable| !variable.local);
        match (global, &chain.index, self.own) {
            (Some(variable), None, _) => {
                Ok(RedTarget { place: self.b.place(variable.var, head.span), holds: holds(variable) })
            }
            (Some(_), Some(_), _) => error(
                codes::WRONG_KIND,
                head.span,
                format!("`{name}` is global: there is only one, and no process's own"),
            ),
            (None, Some(index), _) => {
                let term = self.term(index)?;
                let process = match term {
                    RedTerm::Number(number) if !matches!(number.kind, ExprKind::Const(_)) => {
                        self.process_at(number, index.span)?
                    }
                    RedTerm::Number(Expr { kind: ExprKind::Const(Value::Int(value)), .. }) => {
                        self.named_process(value, index.span)?
                    }
                    term => self.as_address(term)?,
                };
                self.local_of(head, process, chain.span)
            }
            (None, None, Some(own)) => {
                let process = self.b.read_local(own, head.span);
                self.local_of(head, process, head.span)
            }
            (None, None, None) => {
                self.check_known(head)?;
                let message = format!("`{name}` is local: say whose, as in `{name}[p]`");
                error(codes::WRONG_KIND, head.span, message)
            }
        }
    }

    /// A local variable of a process.
    fn local_of(&mut self, name: &'p Name, process: Expr, span: Span) -> Parsed<RedTarget> {
        if name.node == "mode" {
            let modes = &self.declared.modes;
            let holds = if modes.named { FieldContent::Modes } else { FieldContent::Numbers };
            let place = self.b.index(self.b.place(modes.var, name.span), process, span);
            return Ok(RedTarget { place, holds });
        }
        self.check_known(name)?;
        match self.declared.variable(&name.node) {
            Some(variable) if variable.local => {
                let place = self.b.index(self.b.place(variable.var, name.span), process, span);
                Ok(RedTarget { place, holds: holds(variable) })
            }
            _ => error(
                codes::WRONG_KIND,
                name.span,
                format!("`{}` is no local variable, and no process has its own", name.node),
            ),
        }
    }

    fn check_known(&self, name: &Name) -> Parsed<()> {
        let declared = &self.declared;
        let known = name.node == "mode"
            || declared.variable(&name.node).is_some()
            || declared.constants.has(&name.node)
            || declared.modes.has(&name.node)
            || self.bound_process(&name.node).is_some();
        if known {
            return Ok(());
        }
        let variables = declared.variables.iter().map(|variable| variable.name);
        let others = declared.constants.names().chain(self.bound.iter().map(|(name, _)| *name));
        unknown(&name.node, name.span, variables.chain(others).chain(["mode", "P", "NULL"]))
    }

    /// A value for a variable.
    pub(super) fn value_for(&mut self, holds: FieldContent, expr: &'p ast::Expr) -> Parsed<Expr> {
        let term = self.term(expr)?;
        match (holds, term) {
            (FieldContent::Numbers, RedTerm::Mode(_)) => {
                error(codes::WRONG_KIND, expr.span, "a number is needed here, not a mode")
            }
            (FieldContent::Numbers, term) => Ok(self.as_number(term)),
            (FieldContent::Addresses, term) => self.as_address(term),
            (FieldContent::Modes, RedTerm::Mode(mode)) => Ok(mode),
            (FieldContent::Modes, _) => error(codes::WRONG_KIND, expr.span, "a mode is needed here"),
        }
    }
}

fn numbered<T>(span: Span) -> Parsed<T> {
    let message = "not supported: a process by its number where there are any number of processes";
    error(codes::UNSUPPORTED, span, message)
}

fn holds(variable: RedVariable<'_>) -> FieldContent {
    if variable.pointer { FieldContent::Addresses } else { FieldContent::Numbers }
}
