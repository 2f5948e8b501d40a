//! A network to a Model.

use std::collections::BTreeMap;

use shoal_model::{
    BinaryOp, Code, DeadlockKind, Domain, Expr, ExprKind, LocalId, LocalKind, Model, Parameter, Place,
    Property, PropertyKind, Rule, Stmt, Type, TypeId, Value, VarId,
};
use shoal_syntax::{Diagnostic, Diagnostics, SourceId, Span};

use super::{
    ast::{self, ExprKind as K, Kind, Nta},
    parser,
};
use crate::{
    Options, Setting,
    build::{Builder, plain_rule},
    codes,
    cursor::{Parsed, error},
};

/// What a name means.
#[derive(Clone, Debug)]
enum Meaning {
    Const(i64),
    Scalar(VarId),
    Array(VarId),
    /// A channel; of an array of channels, the first.
    Channel {
        first: usize,
        size: Option<i64>,
        urgent: bool,
    },
    /// A variable of a `select`.
    Local(LocalId),
}

type Scope = BTreeMap<String, Meaning>;

/// A process.
struct Process<'n> {
    name: String,
    template: &'n ast::Template,
    scope: Scope,
    location: VarId,
    location_type: TypeId,
}

struct Lowerer<'n> {
    b: Builder,
    options: &'n Options,
    globals: Scope,
    processes: Vec<Process<'n>>,
    channels: usize,
    start: Vec<Stmt>,
    span: Span,
}

pub(super) fn lower(
    id: SourceId,
    nta: &Nta,
    options: &Options,
    diagnostics: &mut Diagnostics,
) -> Parsed<Model> {
    let span = Span::new(id, 0, 0);
    let mut lowerer = Lowerer {
        b: Builder::new(),
        options,
        globals: Scope::new(),
        processes: Vec::new(),
        channels: 0,
        start: Vec::new(),
        span,
    };
    let mut globals = Scope::new();
    for declaration in &nta.declarations {
        lowerer.declare("", declaration, &mut globals)?;
    }
    lowerer.globals = globals;
    for name in &nta.system {
        lowerer.instantiate(nta, name)?;
    }
    if lowerer.processes.is_empty() {
        return error(codes::MISSING, span, "there is no `system` line with processes");
    }
    lowerer.finish_start();
    lowerer.rules()?;
    lowerer.invariants()?;
    for (text, place) in &nta.queries {
        if let Err(problem) = lowerer.query(id, text, *place) {
            let message = format!("the query `{}` is left out: {}", text.trim(), problem.message);
            diagnostics.push(Diagnostic::warning(codes::QUERY_LEFT_OUT, *place, message));
        }
    }
    Ok(lowerer.b.model)
}

impl<'n> Lowerer<'n> {
    fn declare(&mut self, prefix: &str, declaration: &'n ast::Declaration, scope: &mut Scope) -> Parsed<()> {
        let (name, span) = (&declaration.name.node, declaration.name.span);
        let size = match &declaration.size {
            Some(size) => Some(self.constant(size, scope)?),
            None => None,
        };
        if size.is_some_and(|size| !(1..=100_000).contains(&size)) {
            return error(codes::OUT_OF_RANGE, span, "an array needs at least one element, and not too many");
        }
        let meaning = match &declaration.kind {
            Kind::Const => {
                if size.is_some() {
                    return error(codes::UNSUPPORTED, span, "not supported: arrays of constants");
                }
                let set = self.options.set.iter().find(|(set, _)| prefix.is_empty() && set == name);
                let value = match (set, &declaration.start) {
                    (Some((_, Setting::Number(value))), _) => *value,
                    (_, Some(value)) => self.constant(value, scope)?,
                    (_, None) => return error(codes::NOT_CONSTANT, span, "a constant needs a value"),
                };
                Meaning::Const(value)
            }
            Kind::Channel { urgent } => {
                let first = self.channels;
                self.channels += size.unwrap_or(1) as usize;
                Meaning::Channel { first, size, urgent: *urgent }
            }
            Kind::Int(_) | Kind::Bool | Kind::Clock => {
                let scalar = match &declaration.kind {
                    Kind::Clock => self.b.ty(Type::Clock),
                    Kind::Bool => self.b.boolean,
                    Kind::Int(Some((first, last))) => {
                        let (lo, hi) = (self.constant(first, scope)?, self.constant(last, scope)?);
                        if hi < lo {
                            return error(codes::OUT_OF_RANGE, span, "an empty range");
                        }
                        self.b.ty(Type::Int { lo, hi })
                    }
                    _ => self.b.ty(Type::Int { lo: -32768, hi: 32767 }),
                };
                let ty = match size {
                    None => scalar,
                    Some(size) => {
                        let index = self.b.ty(Type::Int { lo: 0, hi: size - 1 });
                        self.b.ty(Type::Array { index, element: scalar })
                    }
                };
                let var = self.b.var(&format!("{prefix}{name}"), ty, span);
                let start = match &declaration.start {
                    Some(value) => self.constant(value, scope)?,
                    None => 0,
                };
                self.start_value(var, start, size, scalar, span)?;
                if size.is_some() { Meaning::Array(var) } else { Meaning::Scalar(var) }
            }
        };
        scope.insert(name.clone(), meaning);
        Ok(())
    }

    fn start_value(
        &mut self,
        var: VarId,
        value: i64,
        size: Option<i64>,
        scalar: TypeId,
        span: Span,
    ) -> Parsed<()> {
        let constant = match self.b.model.kind(scalar) {
            Type::Clock => return Ok(()),
            Type::Bool => self.b.truth(value != 0, span),
            // What begins outside of its range begins at its least value.
            Type::Int { lo, hi } => self.b.int(if (*lo..=*hi).contains(&value) { value } else { *lo }, span),
            _ => return error(codes::INTERNAL, span, "a lost type"),
        };
        for index in 0..size.unwrap_or(1) {
            let mut place = self.b.place(var, span);
            if size.is_some() {
                place = self.b.index(place, self.b.int(index, span), span);
            }
            self.start.push(self.b.assign(place, constant.clone(), span));
        }
        Ok(())
    }

    fn instantiate(&mut self, nta: &'n Nta, name: &'n ast::Name) -> Parsed<()> {
        let instance = nta.instances.iter().find(|(instance, ..)| instance.node == name.node);
        let template_name = instance.map_or(name, |(_, template, _)| template);
        let named = |template: &&ast::Template| {
            template.name.as_ref().is_some_and(|own| own.node == template_name.node)
        };
        let Some(template) = nta.templates.iter().find(named) else {
            return error(
                codes::UNKNOWN_NAME,
                name.span,
                format!("there is no template `{}`", template_name.node),
            );
        };
        let arguments = instance.map_or(&[][..], |(.., arguments)| arguments);
        if arguments.len() != template.parameters.len() {
            let message = format!("`{}` needs {} arguments", template_name.node, template.parameters.len());
            return error(codes::UNSUPPORTED, name.span, message);
        }
        let mut scope = self.globals.clone();
        for (parameter, argument) in template.parameters.iter().zip(arguments) {
            let meaning = match &argument.kind {
                K::Name(name) => self.globals.get(name).cloned(),
                _ => None,
            };
            let meaning = match meaning {
                Some(meaning) => meaning,
                None => Meaning::Const(self.constant(argument, &self.globals)?),
            };
            scope.insert(parameter.node.clone(), meaning);
        }
        let prefix = format!("{}.", name.node);
        for declaration in &template.declarations {
            self.declare(&prefix, declaration, &mut scope)?;
        }
        if template.locations.is_empty() {
            return error(codes::MISSING, name.span, "a process needs at least one location");
        }
        let variants = template.locations.iter().map(|location| location.name.node.clone()).collect();
        let location_type = self.b.ty(Type::Enum { variants });
        let location = self.b.var(&name.node, location_type, name.span);
        let first = template.start.as_ref().and_then(|start| position(template, start)).unwrap_or(0);
        let value = self.b.constant(Value::Enum(location_type, first as u32), location_type, name.span);
        self.start.push(self.b.assign(self.b.place(location, name.span), value, name.span));
        self.processes.push(Process { name: name.node.clone(), template, scope, location, location_type });
        Ok(())
    }

    fn finish_start(&mut self) {
        let code = Code { locals: self.b.take_locals(), body: std::mem::take(&mut self.start) };
        let rule = plain_rule("start", Vec::new(), None, code, self.span);
        self.b.model.starts.push(rule);
    }

    fn constant(&self, expr: &ast::Expr, scope: &Scope) -> Parsed<i64> {
        let value = match &expr.kind {
            K::Number(number) => Some(*number),
            K::Bool(value) => Some(i64::from(*value)),
            K::Name(name) => match scope.get(name) {
                Some(Meaning::Const(value)) => Some(*value),
                _ => None,
            },
            K::Minus(of) => self.constant(of, scope)?.checked_neg(),
            K::Binary(op, left, right) => {
                let (left, right) = (self.constant(left, scope)?, self.constant(right, scope)?);
                arithmetic(op).and_then(|op| op.apply(left, right).ok()).and_then(|value| value.as_int())
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

    fn at(&self, process: usize, location: usize, span: Span) -> Expr {
        let process = &self.processes[process];
        let constant =
            self.b.constant(Value::Enum(process.location_type, location as u32), process.location_type, span);
        self.b.equal(self.b.read(self.b.place(process.location, span)), constant, span)
    }

    fn rules(&mut self) -> Parsed<()> {
        for process in 0..self.processes.len() {
            let template = self.processes[process].template;
            for edge in &template.edges {
                match &edge.sync {
                    None => self.rule(&[(process, edge)], false)?,
                    Some((channel, true)) => {
                        let (number, urgent) = self.channel(process, channel)?;
                        for other in (0..self.processes.len()).filter(|other| *other != process) {
                            for receiver in &self.processes[other].template.edges {
                                if let Some((channel, false)) = &receiver.sync
                                    && self.channel(other, channel)?.0 == number
                                {
                                    self.rule(&[(process, edge), (other, receiver)], urgent)?;
                                }
                            }
                        }
                    }
                    Some((_, false)) => {}
                }
            }
        }
        Ok(())
    }

    fn channel(&self, process: usize, expr: &ast::Expr) -> Parsed<(usize, bool)> {
        let scope = &self.processes[process].scope;
        let (name, index) = match &expr.kind {
            K::Name(name) => (name, None),
            K::Index(of, index) => match &of.kind {
                K::Name(name) => (name, Some(self.constant(index, scope)?)),
                _ => return error(codes::UNSUPPORTED, expr.span, "not supported: this kind of channel"),
            },
            _ => return error(codes::UNSUPPORTED, expr.span, "not supported: this kind of channel"),
        };
        match (scope.get(name), index) {
            (Some(Meaning::Channel { first, size: None, urgent }), None) => Ok((*first, *urgent)),
            (Some(Meaning::Channel { first, size: Some(size), urgent }), Some(index))
                if (0..*size).contains(&index) =>
            {
                Ok((first + index as usize, *urgent))
            }
            _ => error(codes::UNKNOWN_NAME, expr.span, format!("`{name}` is no channel here")),
        }
    }

    /// One rule for an edge, or for two that synchronise: the sender's effects come first.
    fn rule(&mut self, edges: &[(usize, &'n ast::Edge)], urgent: bool) -> Parsed<()> {
        let span = edges[0].1.span;
        let (mut params, mut guards, mut body, mut names) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut committed = false;
        let mut moves = Vec::new();
        for (process, edge) in edges {
            let template = self.processes[*process].template;
            let (Some(from), Some(to)) = (position(template, &edge.from), position(template, &edge.to))
            else {
                return error(codes::UNKNOWN_NAME, edge.span, "an edge between locations that are not there");
            };
            let mut scope = self.processes[*process].scope.clone();
            for (name, first, last) in &edge.select {
                let (lo, hi) = (self.constant(first, &scope)?, self.constant(last, &scope)?);
                let ty = self.b.ty(Type::Int { lo, hi: hi.max(lo) });
                let local = self.b.local(&name.node, ty, LocalKind::Bound, name.span);
                params.push(Parameter { local, domain: Domain::Type(ty) });
                scope.insert(name.node.clone(), Meaning::Local(local));
            }
            guards.push(self.at(*process, from, edge.span));
            if let Some(guard) = &edge.guard {
                guards.push(self.truth(guard, &scope)?);
            }
            for assign in &edge.assigns {
                body.push(self.assign(assign, &scope)?);
            }
            committed |= template.locations[from].committed;
            moves.push((*process, to));
            let (from, to) = (&template.locations[from].name.node, &template.locations[to].name.node);
            names.push(format!("{}: {from} -> {to}", self.processes[*process].name));
        }
        if !committed {
            guards.push(self.nobody_committed(span));
        }
        for (process, to) in moves {
            let own = &self.processes[process];
            let value = self.b.constant(Value::Enum(own.location_type, to as u32), own.location_type, span);
            body.push(self.b.assign(self.b.place(own.location, span), value, span));
        }
        let guard = Some(self.b.and(guards, span));
        let code = Code { locals: self.b.take_locals(), body };
        let name = names.join(", ");
        self.b.model.rules.push(Rule { urgent, ..plain_rule(&name, params, guard, code, span) });
        Ok(())
    }

    /// While somebody is in a committed location, only such processes move.
    fn nobody_committed(&self, span: Span) -> Expr {
        let mut parts = Vec::new();
        for (number, process) in self.processes.iter().enumerate() {
            for (at, location) in process.template.locations.iter().enumerate() {
                if location.committed {
                    parts.push(self.b.not(self.at(number, at, span)));
                }
            }
        }
        self.b.and(parts, span)
    }

    /// Invariants of locations; in urgent ones time does not pass.
    fn invariants(&mut self) -> Parsed<()> {
        let (mut held, mut still) = (Vec::new(), Vec::new());
        for number in 0..self.processes.len() {
            let template = self.processes[number].template;
            for (at, location) in template.locations.iter().enumerate() {
                let span = location.name.span;
                if let Some(invariant) = &location.invariant {
                    let scope = self.processes[number].scope.clone();
                    let invariant = self.truth(invariant, &scope)?;
                    held.push(self.b.implies(self.at(number, at, span), invariant, span));
                }
                if location.urgent {
                    still.push(self.b.not(self.at(number, at, span)));
                }
            }
        }
        if !held.is_empty() {
            let expr = self.b.and(held.clone(), self.span);
            let condition = self.b.condition(expr);
            let kind = PropertyKind::Assume(Some(condition));
            self.b.model.properties.push(Property {
                name: "invariants of locations".into(),
                kind,
                span: self.span,
            });
        }
        held.extend(still);
        let expr = self.b.and(held, self.span);
        self.b.model.while_time_passes = Some(self.b.condition(expr));
        Ok(())
    }

    fn place(&mut self, expr: &ast::Expr, scope: &Scope) -> Parsed<Place> {
        let unknown =
            |name: &str| error(codes::UNKNOWN_NAME, expr.span, format!("`{name}` is no variable here"));
        match &expr.kind {
            K::Name(name) => match scope.get(name) {
                Some(Meaning::Scalar(var)) => Ok(self.b.place(*var, expr.span)),
                _ => unknown(name),
            },
            K::Index(of, index) => match &of.kind {
                K::Name(name) => match scope.get(name).cloned() {
                    Some(Meaning::Array(var)) => {
                        let index = self.integer(index, scope)?;
                        Ok(self.b.index(self.b.place(var, expr.span), index, expr.span))
                    }
                    _ => unknown(name),
                },
                _ => error(codes::UNSUPPORTED, expr.span, "not supported: this kind of variable"),
            },
            _ => error(codes::WRONG_KIND, expr.span, "a variable is needed here"),
        }
    }

    /// The value of an expression: a truth value, an integer or a clock.
    fn value(&mut self, expr: &ast::Expr, scope: &Scope) -> Parsed<Expr> {
        let span = expr.span;
        match &expr.kind {
            K::Number(number) => Ok(self.b.int(*number, span)),
            K::Bool(value) => Ok(self.b.truth(*value, span)),
            K::Name(name) => match scope.get(name) {
                Some(Meaning::Const(value)) => Ok(self.b.int(*value, span)),
                Some(Meaning::Local(local)) => Ok(self.b.read_local(*local, span)),
                _ => {
                    let place = self.place(expr, scope)?;
                    Ok(self.b.read(place))
                }
            },
            K::Index(..) => {
                let place = self.place(expr, scope)?;
                Ok(self.b.read(place))
            }
            K::Dot(process, name) => self.member(process, name, span),
            K::Not(of) => {
                let of = self.truth(of, scope)?;
                Ok(self.b.not(of))
            }
            K::Minus(of) => {
                let of = self.integer(of, scope)?;
                let zero = self.b.int(0, span);
                Ok(self.b.binary(BinaryOp::Sub, zero, of, span))
            }
            K::Cond(condition, then, other) => {
                let condition = self.truth(condition, scope)?;
                let (then, other) = (self.integer(then, scope)?, self.integer(other, scope)?);
                let kind = ExprKind::Cond(Box::new(condition), Box::new(then), Box::new(other));
                Ok(Expr { kind, ty: self.b.integer, span })
            }
            K::Binary("&&", left, right) => {
                let parts = vec![self.truth(left, scope)?, self.truth(right, scope)?];
                Ok(self.b.and(parts, span))
            }
            K::Binary("||", left, right) => {
                let parts = vec![self.truth(left, scope)?, self.truth(right, scope)?];
                Ok(self.b.or(parts, span))
            }
            K::Binary("imply", left, right) => {
                let (left, right) = (self.truth(left, scope)?, self.truth(right, scope)?);
                Ok(self.b.implies(left, right, span))
            }
            K::Binary(op, left, right) => {
                let (l, r) = (self.value(left, scope)?, self.value(right, scope)?);
                let clock = |b: &Builder, expr: &Expr| *b.model.kind(expr.ty) == Type::Clock;
                if let Some(op) = arithmetic(op) {
                    if clock(&self.b, &l) || clock(&self.b, &r) {
                        return error(codes::UNSUPPORTED, span, "not supported: differences of clocks");
                    }
                    let (l, r) = (self.as_integer(l), self.as_integer(r));
                    return Ok(self.b.binary(op, l, r, span));
                }
                let both_bool = self.b.is_truth(&l) && self.b.is_truth(&r);
                let (l, r) = if both_bool { (l, r) } else { (self.as_integer(l), self.as_integer(r)) };
                let compare = match *op {
                    "<" => BinaryOp::Lt,
                    "<=" => BinaryOp::Le,
                    ">" => BinaryOp::Gt,
                    ">=" => BinaryOp::Ge,
                    _ => {
                        let equal = if clock(&self.b, &r) {
                            self.b.equal(r, l, span)
                        } else {
                            self.b.equal(l, r, span)
                        };
                        return Ok(if *op == "==" { equal } else { self.b.not(equal) });
                    }
                };
                Ok(self.b.binary(compare, l, r, span))
            }
            K::Assign(..) => {
                error(codes::UNSUPPORTED, span, "not supported: an assignment inside of an expression")
            }
        }
    }

    /// `P.location` or `P.variable`
    fn member(&mut self, process: &str, name: &str, span: Span) -> Parsed<Expr> {
        let Some(number) = self.processes.iter().position(|own| own.name == process) else {
            return error(codes::UNKNOWN_NAME, span, format!("there is no process `{process}`"));
        };
        let template = self.processes[number].template;
        if let Some(at) = template.locations.iter().position(|location| location.name.node == name) {
            return Ok(self.at(number, at, span));
        }
        match self.processes[number].scope.get(name) {
            Some(Meaning::Scalar(var)) => Ok(self.b.read(self.b.place(*var, span))),
            Some(Meaning::Const(value)) => Ok(self.b.int(*value, span)),
            _ => {
                error(codes::UNKNOWN_NAME, span, format!("`{process}` has no location or variable `{name}`"))
            }
        }
    }

    fn truth(&mut self, expr: &ast::Expr, scope: &Scope) -> Parsed<Expr> {
        let value = self.value(expr, scope)?;
        if self.b.is_truth(&value) {
            return Ok(value);
        }
        let zero = self.b.int(0, expr.span);
        let equal = self.b.equal(value, zero, expr.span);
        Ok(self.b.not(equal))
    }

    fn integer(&mut self, expr: &ast::Expr, scope: &Scope) -> Parsed<Expr> {
        let value = self.value(expr, scope)?;
        Ok(self.as_integer(value))
    }

    fn as_integer(&self, expr: Expr) -> Expr {
        if !self.b.is_truth(&expr) {
            return expr;
        }
        let span = expr.span;
        let (one, zero) = (self.b.int(1, span), self.b.int(0, span));
        Expr { kind: ExprKind::Cond(Box::new(expr), Box::new(one), Box::new(zero)), ty: self.b.integer, span }
    }

    fn assign(&mut self, expr: &ast::Expr, scope: &Scope) -> Parsed<Stmt> {
        let K::Assign(op, left, right) = &expr.kind else {
            return error(codes::UNSUPPORTED, expr.span, "not supported: this kind of update");
        };
        let place = self.place(left, scope)?;
        let is_bool = *self.b.model.kind(place.ty) == Type::Bool;
        let mut value = if is_bool { self.truth(right, scope)? } else { self.integer(right, scope)? };
        if let Some(op) = arithmetic(op) {
            if *self.b.model.kind(place.ty) == Type::Clock {
                return error(codes::UNSUPPORTED, expr.span, "not supported: arithmetic on clocks");
            }
            value = self.b.binary(op, self.b.read(place.clone()), value, expr.span);
        }
        Ok(self.b.assign(place, value, expr.span))
    }

    fn query(&mut self, id: SourceId, text: &str, place: Span) -> Parsed<()> {
        let trimmed = text.trim();
        let offset = place.start as usize + text.len() - text.trim_start().len();
        let (rest, always) = match (trimmed.strip_prefix("A[]"), trimmed.strip_prefix("E<>")) {
            (Some(rest), _) => (rest, true),
            (_, Some(rest)) => (rest, false),
            _ => return error(codes::UNSUPPORTED, place, "only `A[]` and `E<>` are decided"),
        };
        let compact: String = rest.chars().filter(|c| !c.is_whitespace() && *c != '(' && *c != ')').collect();
        let kind = if always && (compact == "notdeadlock" || compact == "!deadlock") {
            PropertyKind::Deadlock(DeadlockKind::Stuck)
        } else {
            let expr = parser::parse(id, rest, offset + 3, |parser| parser.expr())?;
            let scope = self.globals.clone();
            let truth = self.truth(&expr, &scope)?;
            let condition = self.b.condition(truth);
            if always { PropertyKind::Invariant(condition) } else { PropertyKind::Cover(Some(condition)) }
        };
        self.b.model.properties.push(Property { name: trimmed.to_string(), kind, span: place });
        Ok(())
    }
}

fn position(template: &ast::Template, id: &str) -> Option<usize> {
    template.locations.iter().position(|location| location.id == id)
}

fn arithmetic(op: &str) -> Option<BinaryOp> {
    match op {
        "+" => Some(BinaryOp::Add),
        "-" => Some(BinaryOp::Sub),
        "*" => Some(BinaryOp::Mul),
        "/" => Some(BinaryOp::Div),
        "%" => Some(BinaryOp::Rem),
        _ => None,
    }
}
