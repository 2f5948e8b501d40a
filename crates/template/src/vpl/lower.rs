//! A [`Program`] to a Model.
//!
//! A family of automata is a sort. A register that is assigned or compared with the index of an automaton holds references
//! to that sort, and 0 is the reference to nobody; every other register holds integers. An array over `1..total(A)` has
//! one entry for each automaton of `A`. The mode is an array of its own.

use std::collections::BTreeMap;

use shoal_model::{
    BinaryOp, Code, Domain, Expr, ExprKind, LocalId, LocalKind, Model, Parameter, Place, Property,
    PropertyKind, Sort, SortId, SortSize, Stmt, StmtKind, Type, TypeId, Value, VarId,
};
use shoal_syntax::{Diagnostic, Span};

use super::{
    ast::{self, Op, Program},
    script::Script,
    usage::Usage,
};
use crate::{
    Options, Setting,
    build::{Builder, plain_rule},
    codes,
    cursor::{Parsed, error, unknown},
};

pub(crate) fn lower(program: &Program, text: &str, options: &Options) -> Parsed<(Model, Script)> {
    let mut lowerer = Lowerer {
        b: Builder::new(),
        program,
        text,
        families: Vec::new(),
        variables: BTreeMap::new(),
        scope: Vec::new(),
    };
    lowerer.families(options)?;
    lowerer.variables()?;
    lowerer.automata()?;
    lowerer.goals()?;
    let families =
        lowerer.families.iter().map(|family| (family.name.clone(), family.first, family.size)).collect();
    let script = Script { statements: program.manipulation.clone(), families };
    Ok((lowerer.b.model, script))
}

/// A family of automata.
struct Family<'p> {
    name: String,
    first: i64,
    size: Option<u32>,
    sort: SortId,
    modes: Vec<&'p str>,
    mode_type: TypeId,
    mode: VarId,
    automaton: &'p ast::Automaton,
}

/// A clock or a register.
#[derive(Clone, Copy)]
struct Variable {
    var: VarId,
    clock: bool,
    /// What it is indexed by.
    array: Option<Over>,
    holds: Holds,
}

#[derive(Clone, Copy)]
enum Over {
    Family(usize),
    Integers,
}

/// What a register holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Holds {
    Integers,
    /// The indices of a family.
    Family(usize),
}

/// A lowered expression that is no truth value.
enum Term {
    Integer(Expr),
    Clock(Expr),
    /// An automaton of a family: an index variable.
    Element(usize, Expr),
    /// A register that holds automata, or 0.
    Reference(usize, Expr),
    /// The mode of an automaton.
    Mode(usize, Expr),
}

pub(super) struct Lowerer<'p> {
    pub(super) b: Builder,
    pub(super) program: &'p Program,
    pub(super) text: &'p str,
    families: Vec<Family<'p>>,
    variables: BTreeMap<&'p str, Variable>,
    /// Index variables: name, local, family. An automaton's own is among them.
    scope: Vec<(&'p str, LocalId, usize)>,
}

impl<'p> Lowerer<'p> {
    fn families(&mut self, options: &Options) -> Parsed<()> {
        for (name, _) in &options.set {
            if !self.program.families.iter().any(|family| family.name.node == *name) {
                let span = self.program.families.first().map_or(Span::default(), |family| family.name.span);
                return error(
                    codes::BAD_SET,
                    span,
                    format!("there are no automata `{name}` to set the number of"),
                );
            }
        }
        for family in &self.program.families {
            if self.families.iter().any(|other| other.name == family.name.node) {
                return error(
                    codes::REDECLARED,
                    family.name.span,
                    format!("`{}` is declared twice", family.name.node),
                );
            }
            let first = self.constant(&family.first)?;
            let last = self.constant(&family.last)?;
            let setting = options.set.iter().rev().find(|(name, _)| *name == family.name.node);
            let count = match setting {
                Some((_, Setting::Any)) => None,
                Some((_, Setting::Number(count))) => Some(*count),
                None => Some(last - first + 1),
            };
            let size = match count.map(u32::try_from) {
                None => None,
                Some(Ok(size)) if size > 0 => Some(size),
                _ => {
                    return error(
                        codes::OUT_OF_RANGE,
                        family.last.span,
                        "there must be at least one automaton",
                    );
                }
            };
            let Ok(shown_first) = u32::try_from(first) else {
                return error(codes::OUT_OF_RANGE, family.first.span, "indices begin at 0 or more");
            };
            let automaton = self.description(family)?;
            let sort = self.b.model.sorts.push(Sort {
                name: family.name.node.clone(),
                size: size.map_or(SortSize::Any, SortSize::Fixed),
                first: shown_first,
                span: family.name.span,
            });
            let modes: Vec<&str> = automaton.modes.iter().map(|mode| mode.name.node.as_str()).collect();
            let variants = modes.iter().map(|mode| mode.to_string()).collect();
            let mode_type = self.b.ty(Type::Enum { variants });
            let index = self.b.reference(sort, false);
            let array = self.b.ty(Type::Array { index, element: mode_type });
            let name = match self.program.families.len() {
                1 => "mode".to_string(),
                _ => format!("mode_{}", family.name.node),
            };
            let mode = self.b.var(&name, array, automaton.name.span);
            let name = family.name.node.clone();
            self.families.push(Family { name, first, size, sort, modes, mode_type, mode, automaton });
        }
        match self.families.is_empty() {
            true => error(
                codes::MISSING,
                Span::default(),
                "there are no automata: `automata A : i = 1..3;` declares some",
            ),
            false => Ok(()),
        }
    }

    /// The one automaton that describes a family.
    fn description(&self, family: &'p ast::Family) -> Parsed<&'p ast::Automaton> {
        let mut found =
            self.program.automata.iter().filter(|automaton| automaton.name.node == family.name.node);
        let Some(automaton) = found.next() else {
            let message = format!("`{}` has no description `automaton {0}[i] {{ ... }}`", family.name.node);
            return error(codes::MISSING, family.name.span, message);
        };
        if let Some(second) = found.next() {
            return error(
                codes::REDECLARED,
                second.name.span,
                format!("`{}` is described twice", second.name.node),
            );
        }
        for (position, mode) in automaton.modes.iter().enumerate() {
            if automaton.modes[..position].iter().any(|other| other.name.node == mode.name.node) {
                return error(
                    codes::REDECLARED,
                    mode.name.span,
                    format!("mode `{}` is described twice", mode.name.node),
                );
            }
        }
        if automaton.modes.is_empty() {
            return error(codes::MISSING, automaton.name.span, "an automaton needs at least one mode");
        }
        Ok(automaton)
    }

    fn variables(&mut self) -> Parsed<()> {
        for variable in &self.program.variables {
            let name = variable.name.node.as_str();
            if self.variables.contains_key(name) || self.families.iter().any(|family| family.name == name) {
                return error(codes::REDECLARED, variable.name.span, format!("`{name}` is declared twice"));
            }
            let usage = Usage::of(name, self.program);
            let (scalar, holds) = match (variable.clock, usage.families.len()) {
                (true, _) => (self.b.ty(Type::Clock), Holds::Integers),
                (false, 1) if !usage.arithmetic && !usage.ordered && variable.values.is_none() => {
                    let wanted = usage.families.first().copied().unwrap_or_default();
                    let family = self.family_at(wanted, variable.name.span)?;
                    let sort = self.families[family].sort;
                    (self.b.reference(sort, true), Holds::Family(family))
                }
                _ => (self.integer_type(variable, &usage)?, Holds::Integers),
            };
            let array = match &variable.range {
                None => None,
                Some(range) => Some(self.array_index(range)?),
            };
            let ty = match array {
                None => scalar,
                Some((_, index)) => self.b.ty(Type::Array { index, element: scalar }),
            };
            let var = self.b.var(name, ty, variable.name.span);
            let array = array.map(|(over, _)| over);
            self.variables.insert(name, Variable { var, clock: variable.clock, array, holds });
        }
        Ok(())
    }

    /// The integers a register holds: those that are written in the text, 0 among them, or those declared.
    fn integer_type(&mut self, variable: &'p ast::Variable, usage: &Usage<'_>) -> Parsed<TypeId> {
        let (lo, hi) = match &variable.values {
            Some((first, last)) => (self.constant(first)?, self.constant(last)?),
            None if usage.arithmetic && usage.families.is_empty() => {
                let message = format!("`{}` is computed with; say what it can hold", variable.name.node);
                let error = Diagnostic::error(codes::OUT_OF_RANGE, variable.name.span, message);
                return Err(Box::new(error.help(format!("register {} : 0..9;", variable.name.node))));
            }
            None => {
                let indices =
                    self.families.iter().filter(|family| usage.families.contains(family.name.as_str()));
                let last =
                    indices.filter_map(|family| Some(family.first + i64::from(family.size?) - 1)).max();
                let numbers = || usage.numbers.iter().copied().chain(last).chain([0]);
                (numbers().min().unwrap_or(0), numbers().max().unwrap_or(0))
            }
        };
        Ok(self.b.ty(Type::Int { lo, hi: hi.max(lo) }))
    }

    /// `1..total(A)` is over the automata of `A`, everything else over integers.
    fn array_index(&mut self, range: &'p (ast::Expr, ast::Expr)) -> Parsed<(Over, TypeId)> {
        let (first, last) = range;
        if let ast::ExprKind::Call(function, arguments) = &last.kind
            && function.node == "total"
            && let [ast::Expr { kind: ast::ExprKind::Name(name), span }] = arguments.as_slice()
        {
            let family = self.family_at(name, *span)?;
            if self.constant(first)? == self.families[family].first {
                let sort = self.families[family].sort;
                return Ok((Over::Family(family), self.b.reference(sort, false)));
            }
        }
        let (lo, hi) = (self.constant(first)?, self.constant(last)?);
        if hi < lo {
            return error(
                codes::OUT_OF_RANGE,
                first.span.to(last.span),
                "an array needs at least one element",
            );
        }
        Ok((Over::Integers, self.b.ty(Type::Int { lo, hi })))
    }

    fn family_at(&self, name: &str, span: Span) -> Parsed<usize> {
        match self.families.iter().position(|family| family.name == name) {
            Some(family) => Ok(family),
            None => unknown(name, span, self.families.iter().map(|family| family.name.as_str())),
        }
    }

    /// An integer that is known now.
    fn constant(&self, expr: &ast::Expr) -> Parsed<i64> {
        use ast::ExprKind as K;
        let value = match &expr.kind {
            K::Number(number) => Some(*number),
            K::Minus(of) => self.constant(of)?.checked_neg(),
            K::Binary(op, left, right) => {
                let (left, right) = (self.constant(left)?, self.constant(right)?);
                op.arithmetic().and_then(|op| op.apply(left, right).ok()).and_then(|value| value.as_int())
            }
            K::Call(function, arguments) if function.node == "total" => {
                return self.total(arguments, expr.span);
            }
            _ => None,
        };
        match value {
            Some(value) => Ok(value),
            None => error(
                codes::NOT_CONSTANT,
                expr.span,
                "a number is needed that is known before the model runs",
            ),
        }
    }

    fn total(&self, arguments: &[ast::Expr], span: Span) -> Parsed<i64> {
        match arguments {
            [ast::Expr { kind: ast::ExprKind::Name(name), span }] => {
                let family = self.family_at(name, *span)?;
                match self.families[family].size {
                    Some(size) => Ok(size.into()),
                    None => {
                        let message =
                            format!("there may be any number of `{name}`, but here it matters how many");
                        error(codes::NOT_CONSTANT, *span, message)
                    }
                }
            }
            _ => error(codes::WRONG_KIND, span, "`total` takes the name of a family of automata"),
        }
    }

    /// Start, rules and invariants.
    fn automata(&mut self) -> Parsed<()> {
        self.start()?;
        for family in 0..self.families.len() {
            let automaton = self.families[family].automaton;
            for mode in &automaton.modes {
                for transition in &mode.moves {
                    self.rule(family, mode, transition)?;
                }
            }
        }
        self.invariant()
    }

    /// Every register is 0 and every automaton in its first mode, unless `initially` says otherwise.
    fn start(&mut self) -> Parsed<()> {
        let span = self.program.families[0].name.span;
        let mut body = Vec::new();
        let variables: Vec<Variable> = self.variables.values().copied().collect();
        for variable in variables {
            if !variable.clock {
                // The least value of a reference is nobody; of integers, 0 is asked for.
                let place = self.b.place(variable.var, span);
                match (variable.holds, self.zero_of(variable.var)) {
                    (Holds::Integers, Some(zero)) => body.push(self.b.assign_all(place, zero)),
                    _ => body.push(Stmt { kind: StmtKind::Clear(place), span }),
                }
            }
        }
        for family in 0..self.families.len() {
            let automaton = self.families[family].automaton;
            let local = self.index_local(family, &automaton.index.node, automaton.index.span);
            self.scope.push((&automaton.index.node, local, family));
            let mut first = 0;
            let mut inner = Vec::new();
            if let Some(initially) = &automaton.initially {
                self.initially(family, initially, &mut first, &mut inner)?;
            }
            let mode = self.mode_place(family, self.b.read_local(local, span), span);
            let value = self.mode_constant(family, first, span);
            inner.insert(0, self.b.assign(mode, value, span));
            let domain = Domain::Type(self.b.locals[local].ty);
            body.push(Stmt { kind: StmtKind::For { local, domain, body: inner }, span });
            self.scope.pop();
        }
        let code = Code { locals: self.b.take_locals(), body };
        self.b.model.starts.push(plain_rule("start", Vec::new(), None, code, span));
        Ok(())
    }

    fn zero_of(&self, var: VarId) -> Option<Expr> {
        let mut ty = self.b.model.vars[var].ty;
        if let Type::Array { element, .. } = self.b.model.kind(ty) {
            ty = *element;
        }
        let zero = matches!(self.b.model.kind(ty), Type::Int { lo, hi } if *lo < 0 && *hi >= 0);
        zero.then(|| self.b.int(0, self.b.model.vars[var].span))
    }

    /// The conjuncts of an `initially`: a mode, or a variable and its value.
    fn initially(
        &mut self,
        family: usize,
        expr: &'p ast::Expr,
        first: &mut usize,
        body: &mut Vec<Stmt>,
    ) -> Parsed<()> {
        use ast::ExprKind as K;
        match &expr.kind {
            K::Bool(true) => Ok(()),
            K::Binary(Op::And, left, right) => {
                self.initially(family, left, first, body)?;
                self.initially(family, right, first, body)
            }
            K::Name(name) if self.families[family].modes.contains(&name.as_str()) => {
                *first = self.mode_number(family, name, expr.span)?;
                Ok(())
            }
            K::Binary(Op::Eq, left, right) => {
                let (place, variable) = self.target(left)?;
                let value = self.value_for(variable, right)?;
                body.push(self.b.assign(place, value, expr.span));
                Ok(())
            }
            _ => error(codes::UNSUPPORTED, expr.span, "`initially` takes a mode and values, joined by `and`"),
        }
    }

    fn index_local(&mut self, family: usize, name: &str, span: Span) -> LocalId {
        let sort = self.families[family].sort;
        let ty = self.b.reference(sort, false);
        self.b.local(name, ty, LocalKind::Bound, span)
    }

    fn mode_place(&self, family: usize, element: Expr, span: Span) -> Place {
        self.b.index(self.b.place(self.families[family].mode, span), element, span)
    }

    fn mode_constant(&self, family: usize, mode: usize, span: Span) -> Expr {
        let ty = self.families[family].mode_type;
        self.b.constant(Value::Enum(ty, mode as u32), ty, span)
    }

    fn mode_number(&self, family: usize, name: &str, span: Span) -> Parsed<usize> {
        let modes = &self.families[family].modes;
        match modes.iter().position(|mode| *mode == name) {
            Some(mode) => Ok(mode),
            None => unknown(name, span, modes.iter().copied()),
        }
    }

    fn in_mode(&self, family: usize, element: Expr, mode: usize, span: Span) -> Expr {
        let place = self.mode_place(family, element, span);
        self.b.equal(self.b.read(place), self.mode_constant(family, mode, span), span)
    }

    fn rule(&mut self, family: usize, mode: &'p ast::Mode, transition: &'p ast::Move) -> Parsed<()> {
        let automaton = self.families[family].automaton;
        let span = transition.span;
        let local = self.index_local(family, &automaton.index.node, automaton.index.span);
        self.scope.push((&automaton.index.node, local, family));
        let source = self.mode_number(family, &mode.name.node, mode.name.span)?;
        let target = self.mode_number(family, &transition.target.node, transition.target.span)?;
        let element = self.b.read_local(local, automaton.index.span);
        let here = self.in_mode(family, element.clone(), source, mode.name.span);
        let when = self.truth(&transition.when)?;
        let guard = self.b.and(vec![here, when], transition.when.span);
        let mut body = Vec::new();
        for (left, right) in &transition.assigns {
            let (place, variable) = self.target(left)?;
            let value = self.value_for(variable, right)?;
            body.push(self.b.assign(place, value, left.span.to(right.span)));
        }
        if target != source {
            let place = self.mode_place(family, element, transition.target.span);
            let value = self.mode_constant(family, target, transition.target.span);
            body.push(self.b.assign(place, value, transition.target.span));
        }
        self.scope.pop();
        let domain = Domain::Type(self.b.locals[local].ty);
        let params = vec![Parameter { local, domain }];
        let code = Code { locals: self.b.take_locals(), body };
        let name = format!("{} -> {}", mode.name.node, transition.target.node);
        self.b.model.rules.push(plain_rule(&name, params, Some(guard), code, span));
        Ok(())
    }

    /// What must hold in every state and while time passes: every automaton's invariant of the mode it is in.
    fn invariant(&mut self) -> Parsed<()> {
        let mut parts = Vec::new();
        for family in 0..self.families.len() {
            let automaton = self.families[family].automaton;
            let local = self.index_local(family, &automaton.index.node, automaton.index.span);
            self.scope.push((&automaton.index.node, local, family));
            let mut modes = Vec::new();
            for (position, mode) in automaton.modes.iter().enumerate() {
                let Some(invariant) = &mode.invariant else { continue };
                let holds = self.truth(invariant)?;
                if holds.kind != ExprKind::Const(Value::Bool(true)) {
                    let element = self.b.read_local(local, invariant.span);
                    let here = self.in_mode(family, element, position, mode.name.span);
                    modes.push(self.b.implies(here, holds, invariant.span));
                }
            }
            self.scope.pop();
            if !modes.is_empty() {
                let body = self.b.and(modes, automaton.name.span);
                parts.push(self.b.quantified(true, local, body, automaton.name.span));
            }
        }
        let span = self.program.automata[0].name.span;
        let any = !parts.is_empty();
        let expr = self.b.and(parts, span);
        let condition = self.b.condition(expr);
        if any {
            let kind = PropertyKind::Assume(Some(condition.clone()));
            self.b.model.properties.push(Property { name: "invariants of modes".into(), kind, span });
        }
        if self.program.variables.iter().any(|variable| variable.clock) {
            self.b.model.while_time_passes = Some(condition);
        }
        Ok(())
    }

    /// A clock or a register that is assigned to.
    fn target(&mut self, expr: &'p ast::Expr) -> Parsed<(Place, Variable)> {
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
                    Over::Family(family) => self.element(family, index)?,
                    Over::Integers => self.integer(index)?,
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
    fn value_for(&mut self, variable: Variable, expr: &'p ast::Expr) -> Parsed<Expr> {
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
            (false, Holds::Family(family)) => self.maybe_element(family, expr),
            (false, Holds::Integers) => self.integer(expr),
        }
    }

    /// An automaton of a family: an index variable, a number, or a number that is computed.
    fn element(&mut self, family: usize, expr: &'p ast::Expr) -> Parsed<Expr> {
        match self.term(expr)? {
            Term::Element(of, element) | Term::Reference(of, element) if of == family => Ok(element),
            Term::Integer(number) => self.element_at(family, number, expr.span),
            _ => error(codes::WRONG_KIND, expr.span, "the index of an automaton is needed here"),
        }
    }

    fn element_at(&mut self, family: usize, number: Expr, span: Span) -> Parsed<Expr> {
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
    fn maybe_element(&mut self, family: usize, expr: &'p ast::Expr) -> Parsed<Expr> {
        if let ast::ExprKind::Number(0) = expr.kind {
            let sort = self.families[family].sort;
            let ty = self.b.reference(sort, true);
            return Ok(self.b.constant(Value::Null, ty, expr.span));
        }
        self.element(family, expr)
    }

    fn integer(&mut self, expr: &'p ast::Expr) -> Parsed<Expr> {
        let term = self.term(expr)?;
        self.as_integer(term, expr.span)
    }

    /// The number of an automaton where a number is needed.
    fn as_integer(&mut self, term: Term, span: Span) -> Parsed<Expr> {
        match term {
            Term::Integer(expr) => Ok(expr),
            Term::Element(family, element) => {
                let ordinal = Expr { kind: ExprKind::Ordinal(Box::new(element)), ty: self.b.integer, span };
                let first = self.b.int(self.families[family].first, span);
                Ok(self.b.binary(BinaryOp::Add, ordinal, first, span))
            }
            Term::Clock(_) => error(
                codes::UNSUPPORTED,
                span,
                "arithmetic on clocks is not supported: compare a clock with a number",
            ),
            _ => error(codes::WRONG_KIND, span, "a number is needed here"),
        }
    }

    fn term(&mut self, expr: &'p ast::Expr) -> Parsed<Term> {
        use ast::ExprKind as K;
        let span = expr.span;
        match &expr.kind {
            K::Number(number) => Ok(Term::Integer(self.b.int(*number, span))),
            K::Minus(_) if self.constant(expr).is_ok() => {
                Ok(Term::Integer(self.b.int(self.constant(expr)?, span)))
            }
            K::Name(name) if self.scope.iter().any(|(known, ..)| known == name) => {
                let found = self.scope.iter().rev().find(|(known, ..)| known == name).copied();
                let Some((_, local, family)) = found else {
                    return error(codes::INTERNAL, span, "a lost name");
                };
                Ok(Term::Element(family, self.b.read_local(local, span)))
            }
            K::Name(_) | K::Index(..) => {
                let (place, variable) = self.target(expr)?;
                let read = self.b.read(place);
                Ok(match (variable.clock, variable.holds) {
                    (true, _) => Term::Clock(read),
                    (false, Holds::Integers) => Term::Integer(read),
                    (false, Holds::Family(family)) => Term::Reference(family, read),
                })
            }
            K::Call(function, arguments) if function.node == "total" => {
                Ok(Term::Integer(self.b.int(self.total(arguments, span)?, span)))
            }
            K::Call(function, arguments) if function.node == "mode" => match arguments.as_slice() {
                [ast::Expr { kind: K::Index(name, index), .. }] => {
                    let family = self.family_at(&name.node, name.span)?;
                    let element = self.element(family, index)?;
                    let place = self.mode_place(family, element, span);
                    Ok(Term::Mode(family, self.b.read(place)))
                }
                _ => error(codes::WRONG_KIND, span, "`mode` takes an automaton, such as `mode(A[1])`"),
            },
            K::Call(function, _) => unknown(&function.node, function.span, ["total", "mode"].into_iter()),
            K::Binary(op, left, right) => match op.arithmetic() {
                Some(op) => {
                    let (left, right) = (self.integer(left)?, self.integer(right)?);
                    if let (ExprKind::Const(Value::Int(l)), ExprKind::Const(Value::Int(r))) =
                        (&left.kind, &right.kind)
                        && let Ok(Value::Int(value)) = op.apply(*l, *r)
                    {
                        return Ok(Term::Integer(self.b.int(value, span)));
                    }
                    Ok(Term::Integer(self.b.binary(op, left, right, span)))
                }
                None => error(codes::WRONG_KIND, span, "a value is needed here, not a condition"),
            },
            _ => error(codes::WRONG_KIND, span, "a value is needed here"),
        }
    }

    /// A condition on one state.
    pub(super) fn truth(&mut self, expr: &'p ast::Expr) -> Parsed<Expr> {
        use ast::ExprKind as K;
        let span = expr.span;
        match &expr.kind {
            K::Bool(value) => Ok(self.b.truth(*value, span)),
            K::Not(of) => {
                let of = self.truth(of)?;
                Ok(self.b.not(of))
            }
            K::Binary(Op::And, left, right) => {
                let parts = vec![self.truth(left)?, self.truth(right)?];
                Ok(self.b.and(parts, span))
            }
            K::Binary(Op::Or, left, right) => {
                let parts = vec![self.truth(left)?, self.truth(right)?];
                Ok(self.b.or(parts, span))
            }
            K::Binary(Op::Implies, left, right) => {
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

    fn comparison(&mut self, op: Op, left: &'p ast::Expr, right: &'p ast::Expr, span: Span) -> Parsed<Expr> {
        if op.arithmetic().is_some() {
            return error(codes::WRONG_KIND, span, "a condition is needed here, not a value");
        }
        // A mode is compared with a name that is no variable.
        for (mode, name) in [(left, right), (right, left)] {
            if let (ast::ExprKind::Call(function, _), ast::ExprKind::Name(name)) = (&mode.kind, &name.kind)
                && function.node == "mode"
                && let Term::Mode(family, read) = self.term(mode)?
            {
                let number = self.mode_number(family, name, span)?;
                let constant = self.mode_constant(family, number, span);
                return self.equality(op, read, constant, span);
            }
        }
        let (left_term, right_term) = (self.term(left)?, self.term(right)?);
        match (left_term, right_term) {
            (Term::Clock(left), Term::Integer(right)) | (Term::Integer(left), Term::Clock(right)) => {
                self.compare(op, left, right, span)
            }
            (Term::Clock(left), Term::Clock(right)) => self.compare(op, left, right, span),
            (Term::Mode(f, left), Term::Mode(g, right)) if f == g => self.equality(op, left, right, span),
            (Term::Reference(family, register), _) if matches!(op, Op::Eq | Op::Ne) => {
                let other = self.maybe_element(family, right)?;
                self.equality(op, register, other, span)
            }
            (_, Term::Reference(family, register)) if matches!(op, Op::Eq | Op::Ne) => {
                let other = self.maybe_element(family, left)?;
                self.equality(op, register, other, span)
            }
            (Term::Element(f, left), Term::Element(g, right)) if f == g && matches!(op, Op::Eq | Op::Ne) => {
                self.equality(op, left, right, span)
            }
            (Term::Element(f, element), Term::Integer(number))
            | (Term::Integer(number), Term::Element(f, element))
                if matches!(op, Op::Eq | Op::Ne) && matches!(number.kind, ExprKind::Const(_)) =>
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

    fn equality(&mut self, op: Op, left: Expr, right: Expr, span: Span) -> Parsed<Expr> {
        let equal = self.b.equal(left, right, span);
        match op {
            Op::Eq => Ok(equal),
            Op::Ne => Ok(self.b.not(equal)),
            _ => error(codes::WRONG_KIND, span, "these can only be equal or not"),
        }
    }

    fn compare(&mut self, op: Op, left: Expr, right: Expr, span: Span) -> Parsed<Expr> {
        match op.order() {
            Some(op) => Ok(self.b.binary(op, left, right, span)),
            // The clock stands on the left of an equality.
            None if *self.b.model.kind(right.ty) == Type::Clock => self.equality(op, right, left, span),
            None => self.equality(op, left, right, span),
        }
    }
}
