//! What expressions and statements mean on lumped zones.
//!
//! A machine runs code on one state. Where there are several ways to go on (an argument, a choice, a disjunct of a
//! condition on clocks) it takes the one its script names and notes how many there were; running it again with the next
//! script takes the next. So all code is written as if there were one way only.

use shoal_model::{
    Argument, BinaryOp, CheckKind, Condition, Domain, Expr, ExprKind, Fault, FaultKind, FunctionId, LocalId,
    Model, Place, Projection, Quantifier, Root, SortId, Stmt, StmtKind, Type, TypeId, TypedId, UnaryOp,
    Unsupported, Value,
};
use shoal_syntax::Span;

use super::{
    layout::{ENGINE, Layout, Room},
    state::{Counting, NOBODY, State, UNDEFINED},
};
use crate::{
    dbm::{Constraint, LARGEST_CONSTANT},
    system::{constraint, mirrored},
};

/// Why a run ends early.
#[derive(Clone, Debug)]
pub(crate) enum Stop {
    /// There is no such run: a guard or an assumption does not hold.
    NoRun,
    /// Something is wrong.
    Fault(Fault),
    /// The engine cannot go on.
    Unsupported(Unsupported),
}

pub(crate) type Run<T = ()> = Result<T, Stop>;

fn fault<T>(kind: FaultKind, span: Span) -> Run<T> {
    Err(Stop::Fault(Fault { kind, span }))
}

pub(crate) fn refuse<T>(construct: impl Into<String>, span: Span) -> Run<T> {
    Err(Stop::Unsupported(Unsupported { engine: ENGINE, construct: construct.into(), span: Some(span) }))
}

/// A disjunction of conjunctions of clock constraints: what is left of a condition when its cells are known.
pub(crate) type Clocked = Vec<Vec<Constraint>>;

/// Something that happened to the clocks, for finding times.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Event {
    /// A constraint had to hold.
    Holds(Constraint),
    /// A clock was set.
    Set(usize, i32),
}

/// A member of a class that a quantifier is looking at: its class, and which of the members it is.
const MEMBER: i64 = 1 << 32;
/// At least so many members of a class are looked at by quantifiers: those whose clocks the zone has.
const MEMBERS: u32 = 2;

/// Runs code on a state.
pub(crate) struct Machine<'a> {
    pub(crate) model: &'a Model,
    pub(crate) layout: &'a Layout,
    pub(crate) counting: Counting,
    pub(crate) state: State,
    frames: Vec<Vec<i64>>,
    /// The decisions to take; after them, the first of everything.
    script: Vec<usize>,
    /// The decisions taken, and how many ways there were.
    trail: Vec<(usize, usize)>,
    /// Values of choices, for traces.
    pub(crate) choices: Vec<Value>,
    /// What happened to clocks, if anybody wants to know.
    pub(crate) events: Option<Vec<Event>>,
    /// How many quantifiers are around.
    nesting: u32,
    /// So many members of a class are looked at: as many as quantifiers are nested, for more cannot be told apart.
    members: u32,
}

/// Where a scalar is.
enum Spot {
    Global(usize),
    Class(usize, usize),
    Local(LocalId),
    /// A clock's number in the zone; of the second member of a class too, where there is one.
    Clock(usize, Option<usize>),
}

/// Control flow.
pub(crate) enum Flow {
    Next,
    Return(i64),
}

impl<'a> Machine<'a> {
    pub(crate) fn new(
        model: &'a Model,
        layout: &'a Layout,
        counting: Counting,
        state: State,
        script: Vec<usize>,
    ) -> Self {
        Machine {
            model,
            layout,
            counting,
            state,
            frames: Vec::new(),
            script,
            trail: Vec::new(),
            choices: Vec::new(),
            events: None,
            nesting: 0,
            members: MEMBERS,
        }
    }

    /// The script after this run's, if there is another way.
    pub(crate) fn next_script(&self) -> Option<Vec<usize>> {
        let mut trail = self.trail.clone();
        while let Some((taken, ways)) = trail.pop() {
            if taken + 1 < ways {
                let mut script: Vec<usize> = trail.iter().map(|(taken, _)| *taken).collect();
                script.push(taken + 1);
                return Some(script);
            }
        }
        None
    }

    /// One of several ways.
    fn decide(&mut self, ways: usize) -> Run<usize> {
        if ways == 0 {
            return Err(Stop::NoRun);
        }
        let way = self.script.get(self.trail.len()).copied().unwrap_or(0);
        self.trail.push((way, ways));
        Ok(way)
    }

    pub(crate) fn push_frame(&mut self, locals: usize) {
        self.frames.push(vec![UNDEFINED; locals]);
    }

    pub(crate) fn set_local(&mut self, local: LocalId, value: i64) {
        if let Some(slot) = self.frames.last_mut().and_then(|frame| frame.get_mut(local.index())) {
            *slot = value;
        }
    }

    /// A local of the rule itself.
    pub(crate) fn bottom_local(&self, local: LocalId) -> i64 {
        self.frames.first().and_then(|frame| frame.get(local.index())).copied().unwrap_or(UNDEFINED)
    }

    fn local(&self, local: LocalId) -> i64 {
        self.frames.last().and_then(|frame| frame.get(local.index())).copied().unwrap_or(UNDEFINED)
    }

    fn is_lumped(&self, sort: SortId) -> bool {
        self.layout.local[sort.index()].is_some()
    }

    /// The class that stands for a member.
    fn class(handle: i64) -> (usize, usize) {
        ((handle % MEMBER) as usize, (handle / MEMBER) as usize)
    }

    /// A value as a number.
    pub(crate) fn encode(&self, value: &Value) -> i64 {
        match value {
            Value::Bool(value) => i64::from(*value),
            Value::Int(value) => *value,
            Value::Enum(_, at) => i64::from(*at),
            Value::Null => NOBODY,
            Value::Elem(sort, element) if self.is_lumped(*sort) => {
                let pinned = |class: &super::state::Class| {
                    class.sort == sort.index() && class.cells[0] == i64::from(*element)
                };
                self.state.classes.iter().position(pinned).map_or(UNDEFINED, |class| class as i64)
            }
            Value::Elem(_, element) => i64::from(*element),
            _ => UNDEFINED,
        }
    }

    /// A number as a value of a type; elements of lumped sorts by their first member, where members are known.
    pub(crate) fn decode(&self, ty: TypeId, number: i64) -> Value {
        if number == UNDEFINED {
            return Value::Undefined;
        }
        match self.model.kind(ty) {
            Type::Bool => Value::Bool(number != 0),
            Type::Enum { .. } => Value::Enum(ty, number as u32),
            Type::Ref { .. } if number == NOBODY => Value::Null,
            Type::Ref { sort, .. } if self.is_lumped(*sort) => {
                let class = &self.state.classes[Self::class(number).0];
                let name = u32::try_from(class.cells[0]).ok().or(class.members.first().copied());
                Value::Elem(*sort, name.unwrap_or_default())
            }
            Type::Ref { sort, .. } => Value::Elem(*sort, number as u32),
            _ => Value::Int(number),
        }
    }

    /// Gives a parameter one of its values. A member of a lumped sort is taken out of its class.
    pub(crate) fn bind_parameter(&mut self, local: LocalId, domain: &Domain, span: Span) -> Run {
        let value = match domain {
            Domain::Type(ty) => match self.model.kind(*ty) {
                Type::Ref { sort, nullable } if self.is_lumped(*sort) => {
                    let classes: Vec<usize> = (0..self.state.classes.len())
                        .filter(|class| self.state.classes[*class].sort == sort.index())
                        .collect();
                    let way = self.decide(classes.len() + usize::from(*nullable))?;
                    match classes.get(way) {
                        None => NOBODY,
                        Some(class) => self.single_out(*class)? as i64,
                    }
                }
                _ => {
                    let ways = self.model.cardinality(*ty).unwrap_or(0);
                    let way = self.decide(ways as usize)?;
                    let value = self.model.value_at(*ty, way as u64).unwrap_or(Value::Undefined);
                    self.encode(&value)
                }
            },
            Domain::Range { .. } => {
                let values = self.values(domain, span)?;
                let way = self.decide(values.len())?;
                values[way]
            }
            Domain::Slots(_) => return refuse("slots of multisets", span),
        };
        self.set_local(local, value);
        Ok(())
    }

    /// One member of a class as a class of its own.
    fn single_out(&mut self, class: usize) -> Run<usize> {
        let count = self.state.classes[class].count;
        if count == 1 {
            return Ok(class);
        }
        let left = self.counting.less_one(count);
        let way = self.decide(left.len())?;
        self.state.split(self.layout, class, left[way]);
        Ok(self.state.classes.len() - 1)
    }

    /// The values of a domain that is no lumped sort.
    fn values(&mut self, domain: &Domain, span: Span) -> Run<Vec<i64>> {
        match domain {
            Domain::Type(ty) => match self.model.kind(*ty) {
                Type::Ref { sort, nullable } if self.is_lumped(*sort) => {
                    let mut members: Vec<i64> = if *nullable { vec![NOBODY] } else { Vec::new() };
                    for (number, class) in self.state.classes.iter().enumerate() {
                        if class.sort == sort.index() {
                            let shown = i64::from(class.count.min(self.members));
                            members.extend((0..shown).map(|member| number as i64 + member * MEMBER));
                        }
                    }
                    Ok(members)
                }
                _ => Ok(self.model.values(*ty).map(|value| self.encode(&value)).collect()),
            },
            Domain::Range { from, to, by } => {
                let (first, last, step) = (self.eval(from)?, self.eval(to)?, self.eval(by)?);
                if step == 0 {
                    return fault(FaultKind::ZeroStep, by.span);
                }
                let inside = |value: &i64| if step > 0 { *value <= last } else { *value >= last };
                let next = |value: &i64| value.checked_add(step).filter(inside);
                Ok(std::iter::successors(Some(first).filter(inside), next).collect())
            }
            Domain::Slots(_) => refuse("slots of multisets", span),
        }
    }

    fn spot(&mut self, place: &Place) -> Run<Spot> {
        let (mut at, class, mut ty, mut path) = match place.root {
            Root::Local(local) if place.path.is_empty() => return Ok(Spot::Local(local)),
            Root::Local(_) => return refuse("local arrays and records", place.span),
            Root::Var(var) => {
                let home = self.layout.home(var);
                let ty = self.model.vars[var].ty;
                match (home.sort, place.path.split_first()) {
                    (None, _) => (home.at, None, ty, place.path.as_slice()),
                    (Some(_), Some((Projection::Index(index), rest))) => {
                        let element = match self.model.kind(ty) {
                            Type::Array { element, .. } => *element,
                            _ => ty,
                        };
                        let handle = self.eval(index)?;
                        if handle == NOBODY {
                            return fault(FaultKind::NullReference, index.span);
                        }
                        (home.at, Some(Self::class(handle)), element, rest)
                    }
                    _ => return refuse("whole arrays over a sort", place.span),
                }
            }
        };
        while let Some((projection, rest)) = path.split_first() {
            path = rest;
            match (projection, self.model.kind(ty)) {
                (Projection::Field(field), Type::Record { fields }) => {
                    for before in &fields[..*field as usize] {
                        let room = self.layout.room(before.ty);
                        at = Room { cells: at.cells + room.cells, clocks: at.clocks + room.clocks };
                    }
                    ty = fields[*field as usize].ty;
                }
                (Projection::Index(index), Type::Array { index: of, element }) => {
                    let (of, element) = (*of, *element);
                    let value = self.eval(index)?;
                    let value = self.decode(of, value);
                    let Some(position) = self.model.ordinal(of, &value) else {
                        return fault(FaultKind::IndexOutOfRange, index.span);
                    };
                    let room = self.layout.room(element);
                    let position = position as usize;
                    at = Room {
                        cells: at.cells + room.cells * position,
                        clocks: at.clocks + room.clocks * position,
                    };
                    ty = element;
                }
                _ => return refuse("slots and items", place.span),
            }
        }
        let clock = *self.model.kind(ty) == Type::Clock;
        Ok(match (clock, class) {
            (true, None) => Spot::Clock(1 + at.clocks, None),
            (true, Some((class, member))) => {
                let shown = self.state.classes[class].shown();
                if member >= shown {
                    return refuse("clocks of three different elements in one condition", place.span);
                }
                let own = self.state.clock_of(self.layout, class, member) + at.clocks;
                let twin =
                    (shown == 2).then(|| self.state.clock_of(self.layout, class, 1 - member) + at.clocks);
                Spot::Clock(own, twin)
            }
            (false, None) => Spot::Global(at.cells),
            (false, Some((class, _))) => Spot::Class(class, at.cells),
        })
    }

    fn peek(&mut self, place: &Place) -> Run<i64> {
        match self.spot(place)? {
            Spot::Global(cell) => Ok(self.state.globals[cell]),
            Spot::Class(class, cell) => Ok(self.state.classes[class].cells[cell]),
            Spot::Local(local) => Ok(self.local(local)),
            Spot::Clock(..) => refuse("the value of a clock", place.span),
        }
    }

    /// The value of an expression without clocks.
    pub(crate) fn eval(&mut self, expr: &Expr) -> Run<i64> {
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
            ExprKind::Equal(left, right) => Ok(i64::from(self.eval(left)? == self.eval(right)?)),
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
                for value in values {
                    self.set_local(*local, value);
                    if self.eval(body)? != 0 {
                        count += self.weight(*quantifier, value, span)?;
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
            ExprKind::Entry(..) => refuse("tables", span),
            ExprKind::Call(function, arguments) => {
                let values = self.arguments(arguments)?;
                match self.call(*function, values, span)? {
                    Flow::Return(value) => Ok(value),
                    Flow::Next => fault(FaultKind::NoResult, span),
                }
            }
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

    fn enter_quantifier(&mut self, body: &Expr) {
        if self.nesting == 0 {
            self.members = MEMBERS.max(1 + quantifiers(body));
        }
        self.nesting += 1;
    }

    /// How many elements one that a quantifier looks at stands for.
    fn weight(&self, quantifier: Quantifier, handle: i64, span: Span) -> Run<i64> {
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

    fn arguments(&mut self, arguments: &[Argument]) -> Run<Vec<i64>> {
        let value = |argument: &Argument| match argument {
            Argument::Value(value) => self.eval(value),
            Argument::Place(place) => refuse("references to places", place.span),
        };
        arguments.iter().map(value).collect()
    }

    fn call(&mut self, function: FunctionId, arguments: Vec<i64>, span: Span) -> Run<Flow> {
        let callee = &self.model.functions[function];
        if self.frames.len() > shoal_model::CALL_DEPTH {
            return fault(FaultKind::CallDepth, span);
        }
        self.push_frame(callee.code.locals.len());
        for (param, value) in callee.params.iter().zip(arguments) {
            if !matches!(callee.code.locals[*param].kind, shoal_model::LocalKind::Variable) {
                return refuse("parameters that are references", span);
            }
            self.set_local(*param, value);
        }
        let flow = self.block(&callee.code.body)?;
        self.frames.pop();
        Ok(flow)
    }

    /// A condition, perhaps on clocks: what has to hold of the clocks for it to be true, or false.
    pub(crate) fn clocked(&mut self, expr: &Expr, positive: bool) -> Run<Clocked> {
        let known = |truth: bool| if truth == positive { vec![Vec::new()] } else { Vec::new() };
        match &expr.kind {
            ExprKind::Unary(UnaryOp::Not, of) => self.clocked(of, !positive),
            ExprKind::And(parts) => self.join(parts.iter(), positive, positive),
            ExprKind::Or(parts) => self.join(parts.iter(), !positive, positive),
            ExprKind::Implies(left, right) => {
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
                Ok(both(&left, &right))
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
                let mut result = if all { vec![Vec::new()] } else { Vec::new() };
                for value in values {
                    self.set_local(*local, value);
                    let part = self.clocked(body, positive)?;
                    result = if all { both(&result, &part) } else { either(result, part) };
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
                        self.timing(right, mirrored(*op), c, positive)
                    }
                    (true, true) => refuse("comparing two clocks", expr.span),
                    (false, false) => Ok(known(self.eval(expr)? != 0)),
                }
            }
            ExprKind::Equal(left, right) if self.is_clock(left) || self.is_clock(right) => {
                let (clock, other) = if self.is_clock(left) { (left, right) } else { (right, left) };
                if self.is_clock(other) {
                    return refuse("comparing two clocks", expr.span);
                }
                let c = self.eval(other)?;
                let least = self.timing(clock, BinaryOp::Ge, c, positive)?;
                let most = self.timing(clock, BinaryOp::Le, c, positive)?;
                Ok(if positive { both(&least, &most) } else { either(least, most) })
            }
            _ => Ok(known(self.eval(expr)? != 0)),
        }
    }

    fn join<'e>(&mut self, parts: impl Iterator<Item = &'e Expr>, all: bool, positive: bool) -> Run<Clocked> {
        let mut result = if all { vec![Vec::new()] } else { Vec::new() };
        for part in parts {
            let part = self.clocked(part, positive)?;
            result = if all { both(&result, &part) } else { either(result, part) };
            // What is decided is decided.
            if all && result.is_empty() || !all && result.iter().any(Vec::is_empty) {
                break;
            }
        }
        Ok(result)
    }

    fn is_clock(&self, expr: &Expr) -> bool {
        *self.model.kind(expr.ty) == Type::Clock
    }

    fn timing(&mut self, clock: &Expr, op: BinaryOp, c: i64, positive: bool) -> Run<Clocked> {
        let ExprKind::Read(place) = &clock.kind else { return refuse("the value of a clock", clock.span) };
        let Spot::Clock(number, _) = self.spot(place)? else { return refuse("a lost clock", clock.span) };
        let Some(c) = i32::try_from(c).ok().filter(|c| i64::from(c.abs()) <= LARGEST_CONSTANT) else {
            return refuse(format!("a clock constant beyond {LARGEST_CONSTANT}"), clock.span);
        };
        match constraint(number, op, c) {
            Some(constraint) => Ok(vec![vec![if positive { constraint } else { constraint.negated() }]]),
            None => refuse("this comparison of a clock", clock.span),
        }
    }

    /// Goes on only where a condition holds.
    pub(crate) fn assume(&mut self, expr: &Expr) -> Run {
        let ways = self.clocked(expr, true)?;
        let way = self.decide(ways.len())?;
        self.constrain(&ways[way])
    }

    pub(crate) fn constrain(&mut self, constraints: &[Constraint]) -> Run {
        for constraint in constraints {
            if let Some(events) = &mut self.events {
                events.push(Event::Holds(*constraint));
            }
            if !self.state.zone.constrain(*constraint) {
                return Err(Stop::NoRun);
            }
        }
        Ok(())
    }

    /// Whether the state satisfies a condition on its own, with its frame.
    pub(crate) fn condition(&mut self, condition: &Condition, positive: bool) -> Run<Clocked> {
        self.push_frame(condition.locals.len());
        let result = self.clocked(&condition.expr, positive);
        self.frames.pop();
        result
    }

    pub(crate) fn assume_condition(&mut self, condition: &Condition) -> Run {
        self.push_frame(condition.locals.len());
        let result = self.assume(&condition.expr);
        self.frames.pop();
        result
    }

    pub(crate) fn block(&mut self, body: &[Stmt]) -> Run<Flow> {
        for stmt in body {
            if let Flow::Return(value) = self.stmt(stmt)? {
                return Ok(Flow::Return(value));
            }
        }
        Ok(Flow::Next)
    }

    fn stmt(&mut self, stmt: &Stmt) -> Run<Flow> {
        let span = stmt.span;
        match &stmt.kind {
            StmtKind::Assign(place, value) => {
                let number = self.eval(value)?;
                self.write(place, number, value.span)?;
            }
            StmtKind::Clear(place) => {
                let ty = place.ty;
                self.clear(place, ty)?;
            }
            StmtKind::If(arms, other) => {
                for (condition, body) in arms {
                    let (yes, no) = (self.clocked(condition, true)?, self.clocked(condition, false)?);
                    let way = self.decide(yes.len() + no.len())?;
                    match yes.get(way) {
                        Some(constraints) => {
                            self.constrain(constraints)?;
                            return self.block(body);
                        }
                        None => self.constrain(&no[way - yes.len()])?,
                    }
                }
                return self.block(other);
            }
            StmtKind::While { condition, body, limit } => {
                let mut rounds = 0;
                while self.eval(condition)? != 0 {
                    rounds += 1;
                    if rounds > *limit {
                        return fault(FaultKind::LoopLimit, span);
                    }
                    if let Flow::Return(value) = self.block(body)? {
                        return Ok(Flow::Return(value));
                    }
                }
            }
            StmtKind::For { local, domain, body } => {
                let values = match domain {
                    // Like members do the same: see `can_lump`.
                    Domain::Type(ty) if self.model.sorts_of(*ty).iter().any(|sort| self.is_lumped(*sort)) => {
                        let sorts = self.model.sorts_of(*ty);
                        let own = |class: &usize| {
                            sorts.iter().any(|sort| sort.index() == self.state.classes[*class].sort)
                        };
                        (0..self.state.classes.len()).filter(own).map(|class| class as i64).collect()
                    }
                    _ => self.values(domain, span)?,
                };
                for value in values {
                    self.set_local(*local, value);
                    if let Flow::Return(value) = self.block(body)? {
                        return Ok(Flow::Return(value));
                    }
                }
            }
            StmtKind::Choose { local, domain } => {
                let values = self.values(domain, span)?;
                let way = self.decide(values.len())?;
                self.set_local(*local, values[way]);
                let ty = match domain {
                    Domain::Type(ty) => *ty,
                    _ => match self.model.types.enumerate().find(|(_, def)| def.kind == Type::INTEGER) {
                        Some((ty, _)) => ty,
                        None => return refuse("choices from a range", span),
                    },
                };
                let value = self.decode(ty, values[way]);
                self.choices.push(value);
            }
            StmtKind::Check { kind, condition, property } => match (kind, condition) {
                (CheckKind::Assume, Some(condition)) => self.assume(condition)?,
                (CheckKind::Assume, None) => return Err(Stop::NoRun),
                (CheckKind::Assert, condition) => {
                    let holds = match condition {
                        Some(condition) => self.eval(condition)? != 0,
                        None => false,
                    };
                    if !holds {
                        return fault(FaultKind::Assertion(*property), span);
                    }
                }
                (CheckKind::Cover, _) => return refuse("covers inside of steps", span),
            },
            StmtKind::Return(None) => return Ok(Flow::Return(UNDEFINED)),
            StmtKind::Return(Some(value)) => {
                let value = self.eval(value)?;
                return Ok(Flow::Return(value));
            }
            StmtKind::Call(function, arguments) => {
                let values = self.arguments(arguments)?;
                self.call(*function, values, span)?;
            }
            StmtKind::Bind(bindings) => {
                for binding in bindings {
                    match &binding.to {
                        Argument::Value(value) => {
                            let value = self.eval(value)?;
                            self.set_local(binding.local, value);
                        }
                        Argument::Place(place) => {
                            return refuse("references to places", place.span);
                        }
                    }
                }
            }
            StmtKind::Output(_) => {}
            StmtKind::Undefine(place) => self.write(place, UNDEFINED, span)?,
            _ => return refuse("multisets, sequences and growing sorts", span),
        }
        Ok(Flow::Next)
    }

    /// Writes a number to a scalar place, if it belongs to its type.
    fn write(&mut self, place: &Place, number: i64, span: Span) -> Run {
        if let Type::Int { lo, hi } = self.model.kind(place.ty)
            && number != UNDEFINED
            && !(*lo..=*hi).contains(&number)
        {
            return fault(FaultKind::OutOfRange, span);
        }
        if let Type::Ref { nullable: false, .. } = self.model.kind(place.ty)
            && number == NOBODY
        {
            return fault(FaultKind::OutOfRange, span);
        }
        match self.spot(place)? {
            Spot::Global(cell) => self.state.globals[cell] = number,
            Spot::Class(class, cell) => self.state.classes[class].cells[cell] = number,
            Spot::Local(local) => self.set_local(local, number),
            Spot::Clock(clock, twin) => {
                let Some(value) = i32::try_from(number)
                    .ok()
                    .filter(|value| *value >= 0 && i64::from(*value) <= LARGEST_CONSTANT)
                else {
                    return fault(FaultKind::OutOfRange, span);
                };
                for clock in [Some(clock), twin].into_iter().flatten() {
                    self.state.zone.reset(clock, value);
                    if let Some(events) = &mut self.events {
                        events.push(Event::Set(clock, value));
                    }
                }
            }
        }
        Ok(())
    }

    /// Gives every scalar part its least value.
    fn clear(&mut self, place: &Place, ty: TypeId) -> Run {
        match self.model.kind(ty) {
            Type::Array { index, element } => {
                let (index, element) = (*index, *element);
                let lumped =
                    matches!(self.model.kind(index), Type::Ref { sort, .. } if self.is_lumped(*sort));
                let keys: Vec<Value> = if lumped { Vec::new() } else { self.model.values(index).collect() };
                if lumped {
                    return self.clear_lumped(place, index, element);
                }
                for key in keys {
                    let constant = Expr { kind: ExprKind::Const(key), ty: index, span: place.span };
                    let mut inner = place.clone();
                    inner.path.push(Projection::Index(constant));
                    inner.ty = element;
                    self.clear(&inner, element)?;
                }
                Ok(())
            }
            Type::Record { fields } => {
                for (at, field) in fields.iter().enumerate() {
                    let mut inner = place.clone();
                    inner.path.push(Projection::Field(at as u32));
                    inner.ty = field.ty;
                    self.clear(&inner, field.ty)?;
                }
                Ok(())
            }
            Type::Clock => self.write(place, 0, place.span),
            _ => {
                let least = self.model.least(ty);
                let least = self.encode(&least);
                self.write(place, least, place.span)
            }
        }
    }

    /// The same for the entries of every class.
    fn clear_lumped(&mut self, place: &Place, index: TypeId, element: TypeId) -> Run {
        let Root::Var(var) = place.root else { return refuse("local arrays", place.span) };
        if *self.model.kind(element) == Type::Clock {
            return refuse("clearing an array of clocks", place.span);
        }
        let (sorts, home) = (self.model.sorts_of(index), self.layout.home(var));
        let room = self.layout.room(element);
        for class in 0..self.state.classes.len() {
            if sorts.iter().any(|sort| sort.index() == self.state.classes[class].sort) {
                for cell in home.at.cells..home.at.cells + room.cells {
                    let ty = self.layout.local_types[self.state.classes[class].sort][cell];
                    let least = self.model.least(ty);
                    let least = self.encode(&least);
                    self.state.classes[class].cells[cell] = least;
                }
            }
        }
        Ok(())
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

fn both(left: &Clocked, right: &Clocked) -> Clocked {
    let mut result = Vec::new();
    for a in left {
        for b in right {
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
