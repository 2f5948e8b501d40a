//! What expressions and statements mean where not every element is known.

use shoal_model::{
    CheckKind, Domain, Expr, ExprKind, FaultKind, LocalId, LocalKind, OutputItem, Place, Quantifier, SortId,
    Stmt, StmtKind, Type, TypeId, TypedId, UnaryOp, Value,
};
use shoal_syntax::Span;

use super::{
    facts::{Loop, WindowPredicate, open_sorts},
    machine::{
        Assumption, EvaluationKey, WindowMachine, WindowResult, WindowSlot, WindowStop, fault, lacking, unfit,
    },
    structure::{STAR, WindowStructure, sorted},
};

/// How a block ends: nothing if the next statement follows, otherwise what is returned.
type WindowFlow = Option<Option<Value>>;

/// What is assumed of an evaluation of a quantifier or a loop.
enum WindowAssumed {
    Nothing,
    Nobody,
    Somebody,
}

impl<'m> WindowMachine<'_, 'm> {
    pub(crate) fn eval(&mut self, expr: &'m Expr) -> WindowResult<Value> {
        self.deeper(|machine| machine.eval_here(expr))
    }

    fn eval_here(&mut self, expr: &'m Expr) -> WindowResult<Value> {
        let (span, shape) = (expr.span, self.facts.shape);
        Ok(match &expr.kind {
            ExprKind::Const(value) => value.clone(),
            ExprKind::Read(place) => match self.peek(place)? {
                Value::Undefined => return fault(FaultKind::Undefined, span),
                value => value,
            },
            ExprKind::Peek(place) => self.peek(place)?,
            ExprKind::IsUndefined(place) => Value::Bool(self.peek(place)? == Value::Undefined),
            ExprKind::Unary(UnaryOp::Not, of) => Value::Bool(!self.truth(of)?),
            ExprKind::Unary(UnaryOp::BitNot, of) => Value::Int(!self.integer(of)?),
            ExprKind::Unary(UnaryOp::Neg, of) => match self.integer(of)?.checked_neg() {
                Some(value) => Value::Int(value),
                None => return fault(FaultKind::Overflow, span),
            },
            ExprKind::Binary(op, left, right) => {
                let (a, b) = (self.eval(left)?, self.eval(right)?);
                match (&a, &b) {
                    (Value::Int(a), Value::Int(b)) => op.apply(*a, *b).or_else(|kind| fault(kind, span))?,
                    (Value::Int(_), other) => return unfit(other, right.span),
                    (other, _) => return unfit(other, left.span),
                }
            }
            ExprKind::Equal(left, right) => {
                let (a, b) = (self.eval(left)?, self.eval(right)?);
                if shape.is_open(left.ty) || shape.is_open(right.ty) {
                    return lacking("a comparison of arrays over a sort with any number");
                }
                Value::Bool(sorted(a) == sorted(b))
            }
            ExprKind::And(parts) => {
                for part in parts {
                    if !self.truth(part)? {
                        return Ok(Value::Bool(false));
                    }
                }
                Value::Bool(true)
            }
            ExprKind::Or(parts) => {
                for part in parts {
                    if self.truth(part)? {
                        return Ok(Value::Bool(true));
                    }
                }
                Value::Bool(false)
            }
            ExprKind::Implies(left, right) => Value::Bool(!self.truth(left)? || self.truth(right)?),
            ExprKind::Cond(condition, then, other) => {
                let taken = if self.truth(condition)? { then } else { other };
                self.eval(taken)?
            }
            ExprKind::Quantified { quantifier, local, domain, body } => {
                self.quantified(expr, *quantifier, *local, domain, body)?
            }
            ExprKind::Call(function, arguments) => {
                match self.call(*function, arguments, span, expr as *const Expr as usize)? {
                    Some(value) => value,
                    None => return fault(FaultKind::NoResult, span),
                }
            }
            ExprKind::IsMember(of, ty) => {
                let value = self.eval(of)?;
                if self.grows(*ty) {
                    return lacking("a type that grows with the number of elements");
                }
                Value::Bool(shape.belongs(*ty, &value))
            }
            ExprKind::Ordinal(of) => {
                let value = self.eval(of)?;
                if shape.model.sorts_of(of.ty).iter().any(|sort| shape.is_any(*sort)) {
                    return lacking("the number of an element");
                }
                match shape.model.ordinal(of.ty, &value).map(i64::try_from) {
                    Some(Ok(ordinal)) => Value::Int(ordinal),
                    Some(Err(_)) => return fault(FaultKind::Overflow, span),
                    None => return fault(FaultKind::OutOfRange, span),
                }
            }
            ExprKind::ElementAt(sort, number) => {
                let size = shape.model.sorts[*sort].fixed_size();
                let Some(size) = size else { return lacking("an element found by its number") };
                match u32::try_from(self.integer(number)?).ok().filter(|number| *number < size) {
                    Some(number) => Value::Elem(*sort, number),
                    None => return fault(FaultKind::IndexOutOfRange, span),
                }
            }
            ExprKind::Entry(table, at) => {
                let at = usize::try_from(self.integer(at)?).ok();
                match at.and_then(|at| shape.model.tables[*table].entries.get(at)) {
                    Some(entry) => Value::Int(*entry),
                    None => return fault(FaultKind::IndexOutOfRange, span),
                }
            }
            ExprKind::Len(place) => match self.peek(place)? {
                Value::Multiset(slots) => Value::Int(slots.iter().flatten().count() as i64),
                other => return unfit(&other, span),
            },
            ExprKind::Exists(of) => Value::Bool(matches!(self.eval(of)?, Value::Elem(..))),
        })
    }

    fn quantified(
        &mut self,
        expr: &'m Expr,
        quantifier: Quantifier,
        local: LocalId,
        domain: &'m Domain,
        body: &'m Expr,
    ) -> WindowResult<Value> {
        let site = expr as *const Expr as usize;
        let (values, open) = self.domain(domain)?;
        let counts = quantifier == Quantifier::Count;
        let all = counts || self.is_unordered(domain);
        // The values that decide a quantifier, or are counted.
        let mut deciding = Vec::new();
        let outer = self.set(local, WindowSlot::Unbound);
        for value in values {
            self.set(local, WindowSlot::Value(value.clone()));
            self.around.push((site, value.clone()));
            if self.truth(body)? != (quantifier == Quantifier::Forall) {
                deciding.push(value);
            }
            self.around.pop();
            if !all && !deciding.is_empty() {
                break;
            }
        }
        self.set(local, outer);
        let answer = |decided: bool| match quantifier {
            Quantifier::Forall => Value::Bool(!decided),
            Quantifier::Exists => Value::Bool(decided),
            Quantifier::Count => Value::Int(deciding.len() as i64),
        };
        let decided = !deciding.is_empty();
        if open.is_empty() {
            return Ok(answer(decided));
        }
        if let Some(predicate) = self.facts.sites.get(&site).copied()
            && !self.is_disturbed(predicate)
        {
            return Ok(answer(decided || self.bit(predicate)));
        }
        let key = self.key(site);
        match self.assumed(&key, &deciding)? {
            WindowAssumed::Nobody => Ok(answer(decided)),
            WindowAssumed::Somebody if !counts => Ok(answer(true)),
            WindowAssumed::Somebody | WindowAssumed::Nothing if decided && !counts => Ok(answer(true)),
            WindowAssumed::Somebody | WindowAssumed::Nothing => Err(WindowStop::Ask(key, open, !counts)),
        }
    }

    fn is_unordered(&self, domain: &Domain) -> bool {
        match domain {
            Domain::Type(ty) => !self.facts.shape.model.sorts_of(*ty).is_empty(),
            Domain::Range { .. } => false,
            Domain::Slots(_) => true,
        }
    }

    fn key(&self, site: usize) -> EvaluationKey {
        let mut key = self.around.clone();
        key.push((site, Value::Undefined));
        key
    }

    /// What is assumed of an evaluation in which these elements matter.
    fn assumed(&self, key: &EvaluationKey, matter: &[Value]) -> WindowResult<WindowAssumed> {
        let mut assumed = WindowAssumed::Nothing;
        for assumption in self.assumptions {
            match assumption {
                Assumption::Nobody(of, known) if of == key => {
                    if matter.iter().any(|value| self.is_late(value, known)) {
                        return Err(WindowStop::Contradiction);
                    }
                    assumed = WindowAssumed::Nobody;
                }
                Assumption::Witness(of, (sort, number)) if of == key => {
                    if !matter.contains(&Value::Elem(*sort, *number)) {
                        return Err(WindowStop::Contradiction);
                    }
                }
                Assumption::Somebody(of) if of == key => assumed = WindowAssumed::Somebody,
                Assumption::Nobody(..)
                | Assumption::Witness(..)
                | Assumption::Somebody(_)
                | Assumption::NobodyAfter(..)
                | Assumption::WitnessAfter(..)
                | Assumption::SomebodyAfter(_) => {}
            }
        }
        Ok(assumed)
    }

    /// Whether an element was not known when so many were.
    fn is_late(&self, value: &Value, known: &[u32]) -> bool {
        matches!(value, Value::Elem(sort, number) if self.facts.shape.is_any(*sort) && *number >= known[sort.index()])
    }

    pub(crate) fn block(&mut self, block: &'m [Stmt]) -> WindowResult<WindowFlow> {
        for stmt in block {
            let flow = self.deeper(|machine| machine.stmt(stmt))?;
            if flow.is_some() {
                return Ok(flow);
            }
            self.keep_order(stmt)?;
        }
        Ok(None)
    }

    fn stmt(&mut self, stmt: &'m Stmt) -> WindowResult<WindowFlow> {
        let (span, site) = (stmt.span, stmt as *const Stmt as usize);
        match &stmt.kind {
            StmtKind::Assign(place, value) => {
                let held = self.eval(value)?;
                let location = self.locate(place)?;
                let held = self.fit(held, place.ty, value.span)?;
                self.put(&location, place.ty, held, place.span)?;
            }
            StmtKind::Clear(place) => {
                let location = self.locate(place)?;
                let least = self.least(place.ty)?;
                self.put(&location, place.ty, least, place.span)?;
            }
            StmtKind::Undefine(place) => {
                let location = self.locate(place)?;
                let blank = self.facts.shape.blank(place.ty, self.known());
                self.put(&location, place.ty, blank, place.span)?;
            }
            StmtKind::If(arms, other) => {
                for (condition, block) in arms {
                    if self.truth(condition)? {
                        return self.block(block);
                    }
                }
                return self.block(other);
            }
            StmtKind::While { condition, body, limit } => {
                for round in 0_u64.. {
                    self.around.push((site, Value::Int(round as i64)));
                    let goes_on = self.truth(condition)?;
                    if goes_on && round == *limit {
                        return fault(FaultKind::LoopLimit, span);
                    }
                    let flow = if goes_on { self.block(body)? } else { None };
                    self.around.pop();
                    if flow.is_some() || !goes_on {
                        return Ok(flow);
                    }
                }
            }
            StmtKind::For { local, domain, body } => return self.for_each(stmt, *local, domain, body),
            StmtKind::Bind(bindings) => self.bind(bindings)?,
            StmtKind::Choose { local, domain } => {
                let value = self.choose(|machine| machine.options(domain))?;
                self.set(*local, WindowSlot::Value(value));
            }
            StmtKind::Check { kind, condition, property } => {
                let holds = match condition {
                    Some(condition) => self.truth(condition)?,
                    None => false,
                };
                match kind {
                    CheckKind::Assert if !holds => return fault(FaultKind::Assertion(*property), span),
                    CheckKind::Assume if !holds && self.assumes => return Err(WindowStop::Dead),
                    CheckKind::Assert | CheckKind::Assume | CheckKind::Cover => {}
                }
            }
            StmtKind::Return(value) => {
                let (Some(expr), Some(ty)) = (value, self.frame().result) else { return Ok(Some(None)) };
                let held = self.eval(expr)?;
                return match self.fit(held, ty, expr.span)? {
                    Value::Undefined => fault(FaultKind::Undefined, expr.span),
                    held => Ok(Some(Some(held))),
                };
            }
            StmtKind::Call(function, arguments) => drop(self.call(*function, arguments, span, site)?),
            StmtKind::Output(items) => {
                for item in items {
                    if let OutputItem::Value(value) = item {
                        self.eval(value)?;
                    }
                }
            }
            StmtKind::MultisetAdd(place, value) => self.add(place, value, span)?,
            StmtKind::MultisetRemove(place, slot) => {
                let location = self.locate(place)?;
                let at = usize::try_from(self.integer(slot)?).unwrap_or(usize::MAX);
                self.get(&location, place.span)?;
                match self.get_mut(&location) {
                    Value::Multiset(slots) if slots.get(at).is_some_and(Option::is_some) => slots[at] = None,
                    _ => return fault(FaultKind::EmptySlot, slot.span),
                }
            }
            StmtKind::MultisetRemoveIf { place, local, condition } => {
                let location = self.locate(place)?;
                let Value::Multiset(slots) = self.get(&location, place.span)?.clone() else {
                    return lacking("slots of what is no multiset");
                };
                let outer = self.set(*local, WindowSlot::Unbound);
                let mut rest = Vec::new();
                for (at, slot) in slots.into_iter().enumerate() {
                    let value = Value::Int(at as i64);
                    self.set(*local, WindowSlot::Value(value.clone()));
                    self.around.push((site, value));
                    let removed = slot.is_some() && self.truth(condition)?;
                    self.around.pop();
                    rest.push(slot.filter(|_| !removed));
                }
                self.set(*local, outer);
                *self.get_mut(&location) = Value::Multiset(rest);
            }
            StmtKind::Insert { .. } | StmtKind::Remove(..) => return lacking("sequences"),
            StmtKind::Create(..) | StmtKind::Delete(_) => return lacking("elements that come and go"),
        }
        Ok(None)
    }

    fn add(&mut self, place: &'m Place, value: &'m Expr, span: Span) -> WindowResult {
        let Type::Multiset { capacity, element } = self.facts.shape.model.kind(place.ty) else {
            return lacking("slots of what is no multiset");
        };
        let held = self.eval(value)?;
        let location = self.locate(place)?;
        let held = self.fit(held, *element, value.span)?;
        self.get(&location, place.span)?;
        let grows = self.grows(place.ty);
        let Value::Multiset(slots) = self.get_mut(&location) else {
            return lacking("a multiset that is none");
        };
        if let Some(free) = slots.iter_mut().find(|slot| slot.is_none()) {
            *free = Some(held);
        } else if slots.len() < *capacity as usize {
            slots.push(Some(held));
        } else if grows {
            return lacking("a multiset that grows with the number of elements, and is full");
        } else {
            return fault(FaultKind::Full, span);
        }
        Ok(())
    }

    /// The value of a type in which every scalar is the least.
    fn least(&self, ty: TypeId) -> WindowResult<Value> {
        let shape = self.facts.shape;
        Ok(match shape.model.kind(ty) {
            Type::Record { fields } => {
                Value::Record(fields.iter().map(|field| self.least(field.ty)).collect::<WindowResult<_>>()?)
            }
            Type::Array { index, element } => {
                Value::Array(vec![self.least(*element)?; shape.entries(*index, self.known())])
            }
            Type::Multiset { .. } => Value::Multiset(Vec::new()),
            Type::Sequence { .. } | Type::Clock => return lacking("this `clear`"),
            Type::Bool | Type::Int { .. } | Type::Enum { .. } => shape.model.least(ty),
            Type::Ref { nullable: true, .. } => Value::Null,
            Type::Ref { sort, .. } if shape.is_any(*sort) => return lacking("`clear` of a reference"),
            Type::Ref { .. } => shape.model.least(ty),
            Type::Union { members } => match members.first() {
                Some(first) => self.least(*first)?,
                None => return lacking("this `clear`"),
            },
        })
    }

    fn for_each(
        &mut self,
        stmt: &'m Stmt,
        local: LocalId,
        domain: &'m Domain,
        body: &'m [Stmt],
    ) -> WindowResult<WindowFlow> {
        let site = stmt as *const Stmt as usize;
        let (values, _) = self.domain(domain)?;
        let open = open_sorts(self.facts.shape, domain);
        let facts = self.facts;
        let about = match (open.is_empty(), facts.loops.get(&site)) {
            (true, _) => None,
            (false, Some(Loop { returns: true, .. })) => {
                return lacking("a `return` in a loop over a sort with any number");
            }
            (false, Some(about)) => Some(about),
            (false, None) => shoal_model::internal!("a loop that was not looked at"),
        };
        let key = self.key(site);
        let outer = self.set(local, WindowSlot::Unbound);
        let mut matter = Vec::new();
        self.rounds += u32::from(!open.is_empty());
        for value in values {
            self.set(local, WindowSlot::Value(value.clone()));
            let before = about.map(|about| self.beyond(&value, local, about));
            self.around.push((site, value.clone()));
            let flow = self.block(body)?;
            self.around.pop();
            if flow.is_some() {
                return Ok(flow);
            }
            if let (Some(before), Some(about)) = (before, about)
                && before != self.beyond(&value, local, about)
            {
                matter.push(value);
            }
        }
        self.rounds -= u32::from(!open.is_empty());
        self.set(local, outer);
        let Some(about) = about else { return Ok(None) };
        match (&mut self.dirty, &about.writes) {
            (Some(dirty), Some(writes)) => dirty.extend(writes.iter().cloned()),
            _ => self.dirty = None,
        }
        match self.assumed(&key, &matter)? {
            WindowAssumed::Nobody => {}
            WindowAssumed::Nothing | WindowAssumed::Somebody => {
                return Err(WindowStop::Ask(key, open, false));
            }
        }
        for private in &about.private {
            self.set(*private, WindowSlot::Left);
        }
        Ok(None)
    }

    /// Everything but what is kept for an element, and what every round begins anew.
    fn beyond(&self, value: &Value, local: LocalId, about: &Loop) -> (Vec<Value>, Vec<Vec<WindowSlot>>) {
        let shape = self.facts.shape;
        let strip = |ty: TypeId, of: &Value| match value {
            Value::Elem(sort, number) => self.without(ty, of, *sort, *number),
            _ => of.clone(),
        };
        let vars = shape.model.vars.iter().zip(&self.values).map(|(var, of)| strip(var.ty, of)).collect();
        let last = self.frames.len() - 1;
        let mut locals = Vec::new();
        for (height, frame) in self.frames.iter().enumerate() {
            let skip = |id: LocalId| {
                height == last
                    && (id == local
                        || about.private.contains(&id)
                        || frame.locals[id].kind == LocalKind::Bound)
            };
            let slots = frame.locals.enumerate().filter(|(id, _)| !skip(*id)).map(|(id, about)| match &frame
                .slots[id.index()]
            {
                WindowSlot::Value(held) => WindowSlot::Value(strip(about.ty, held)),
                other => other.clone(),
            });
            locals.push(slots.collect());
        }
        (vars, locals)
    }

    /// A value without the entry of an element in arrays over its sort.
    fn without(&self, ty: TypeId, value: &Value, sort: SortId, number: u32) -> Value {
        let shape = self.facts.shape;
        match (shape.model.kind(ty), value) {
            (Type::Record { fields }, Value::Record(values)) => {
                let parts = fields.iter().zip(values);
                Value::Record(
                    parts.map(|(field, value)| self.without(field.ty, value, sort, number)).collect(),
                )
            }
            (Type::Array { index, element }, Value::Array(values)) => {
                let own = |at: usize| shape.over(*index) == Some(sort) && at == number as usize;
                let rest = values.iter().enumerate().filter(|(at, _)| !own(*at));
                Value::Array(rest.map(|(_, value)| self.without(*element, value, sort, number)).collect())
            }
            (_, value) => value.clone(),
        }
    }

    /// Whether a known element satisfies a predicate now. One for which it faults does not.
    pub(crate) fn satisfies(&mut self, predicate: usize, number: u32) -> WindowResult<bool> {
        let facts = self.facts;
        self.satisfies_predicate(&facts.predicates[predicate], number)
    }

    pub(crate) fn satisfies_predicate(
        &mut self,
        about: &WindowPredicate<'m>,
        number: u32,
    ) -> WindowResult<bool> {
        self.enter(about.locals, None);
        self.set(about.local, WindowSlot::Value(Value::Elem(about.sort, number)));
        let truth = self.truth(about.body);
        self.leave();
        match truth {
            Ok(truth) => Ok(truth != about.forall),
            Err(WindowStop::Fault(_)) => Ok(false),
            Err(stop) => Err(stop),
        }
    }

    /// What the run has come to: the bits that may have changed are asked for anew. `shown` is how many elements of each
    /// sort the run began with.
    pub(crate) fn finish(mut self, shown: &[u32]) -> WindowResult<WindowStructure> {
        let mut bits = 0;
        for (predicate, about) in self.facts.predicates.iter().enumerate() {
            if !self.is_disturbed(predicate) {
                bits |= u32::from(self.bit(predicate)) << predicate;
                continue;
            }
            let mut satisfied = Vec::new();
            for number in shown[about.sort.index()]..self.known()[about.sort.index()] {
                if self.satisfies(predicate, number)? {
                    satisfied.push(Value::Elem(about.sort, number));
                }
            }
            let (mut nobody, mut somebody) = (false, false);
            for assumption in self.assumptions {
                match assumption {
                    Assumption::NobodyAfter(of, known) if *of == predicate => {
                        nobody = true;
                        if satisfied.iter().any(|value| self.is_late(value, known)) {
                            return Err(WindowStop::Contradiction);
                        }
                    }
                    Assumption::WitnessAfter(of, (sort, number)) if *of == predicate => {
                        if !satisfied.contains(&Value::Elem(*sort, *number)) {
                            return Err(WindowStop::Contradiction);
                        }
                    }
                    Assumption::SomebodyAfter(of) if *of == predicate => somebody = true,
                    Assumption::Nobody(..)
                    | Assumption::Witness(..)
                    | Assumption::Somebody(_)
                    | Assumption::NobodyAfter(..)
                    | Assumption::WitnessAfter(..)
                    | Assumption::SomebodyAfter(_) => {}
                }
            }
            // Who is known and satisfies it is added where elements are forgotten; then it does not matter who else does.
            match (satisfied.is_empty(), nobody, somebody) {
                (false, _, _) | (true, true, _) => {}
                (true, false, true) => bits |= 1 << predicate,
                (true, false, false) => return Err(WindowStop::AskAfter(predicate)),
            }
        }
        let known = self.known().to_vec();
        Ok(WindowStructure { values: self.values, known, bits })
    }
}

/// Whether a value is an element that is not known.
pub(crate) fn is_star(value: &Value) -> bool {
    matches!(value, Value::Elem(_, number) if *number >= STAR)
}
