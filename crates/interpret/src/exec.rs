//! What statements mean.

use shoal_model::{
    Binding, CheckKind, Domain, Expr, FaultKind, LocalId, OutputItem, Place, Stmt, StmtKind, Type, Value,
};
use shoal_syntax::Span;

use crate::blame::blamed_on;
use crate::machine::{AddressHop, ExecStop, Executed, LocalCell, ReferenceMachine, fault};

/// How a statement ends.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum StmtEnd {
    /// The next statement follows.
    Next,
    /// The code is left.
    Return(Option<Value>),
}

impl<'a> ReferenceMachine<'a> {
    /// Runs statements until one leaves the code.
    pub(crate) fn block(&mut self, block: &'a [Stmt]) -> Executed<StmtEnd> {
        for stmt in block {
            self.executed += 1;
            let flow = self.deeper(|machine| machine.stmt(stmt))?;
            if flow != StmtEnd::Next {
                return Ok(flow);
            }
        }
        Ok(StmtEnd::Next)
    }

    /// Takes down which part of a check is false, if anybody asks.
    fn explain_check(&mut self, condition: Option<&'a Expr>) {
        if let (Some(None), Some(condition), Some(locals)) = (&self.asserted, condition, self.locals()) {
            self.asserted = Some(blamed_on(self, locals, condition, true).map(Box::new));
        }
    }

    /// Binds locals, in order: a later binding may use an earlier one.
    pub(crate) fn bind(&mut self, bindings: &'a [Binding]) -> Executed {
        for binding in bindings {
            if let Some(local) = self.local(binding.local) {
                let cell = self.argument(&binding.to, local)?;
                self.set(binding.local, cell);
            }
        }
        Ok(())
    }

    fn stmt(&mut self, stmt: &'a Stmt) -> Executed<StmtEnd> {
        let span = stmt.span;
        match &stmt.kind {
            StmtKind::Assign(place, value) => self.assign(place, value)?,
            StmtKind::Clear(place) => {
                let location = self.locate(place)?;
                let least = self.shapes().least(place.ty);
                *self.get_mut(&location, place.span)? = least;
            }
            StmtKind::Undefine(place) => {
                let location = self.locate(place)?;
                let blank = self.shapes().blank(place.ty);
                *self.get_mut(&location, place.span)? = blank;
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
                let mut rounds = 0;
                while self.truth(condition)? {
                    if rounds == *limit {
                        return fault(FaultKind::LoopLimit, span);
                    }
                    rounds += 1;
                    let flow = self.block(body)?;
                    if flow != StmtEnd::Next {
                        return Ok(flow);
                    }
                }
            }
            StmtKind::For { local, domain, body } => return self.for_each(*local, domain, body),
            StmtKind::Bind(bindings) => self.bind(bindings)?,
            StmtKind::Choose { local, domain } => self.choose(*local, domain)?,
            StmtKind::Check { kind, condition, property } => {
                let holds = match condition {
                    Some(condition) => self.truth(condition)?,
                    None => false,
                };
                if !holds && *kind != CheckKind::Cover {
                    self.explain_check(condition.as_ref());
                }
                match kind {
                    CheckKind::Assert if !holds => return fault(FaultKind::Assertion(*property), span),
                    CheckKind::Assume if !holds && self.assumes => return Err(ExecStop::Discarded),
                    CheckKind::Cover if holds && !self.covered.contains(property) => {
                        self.covered.push(*property);
                    }
                    CheckKind::Assert | CheckKind::Assume | CheckKind::Cover => {}
                }
            }
            StmtKind::Return(value) => return self.return_from(value.as_ref()),
            StmtKind::Call(function, arguments) => {
                self.call(*function, arguments, span)?;
            }
            StmtKind::Output(items) => {
                let mut text = String::new();
                for item in items {
                    match item {
                        OutputItem::Text(part) => text.push_str(part),
                        OutputItem::Value(value) => {
                            let value = self.eval(value)?;
                            text.push_str(&self.model.show(&value).to_string());
                        }
                    }
                }
                self.output.push(text);
            }
            StmtKind::MultisetAdd(place, value) => self.multiset_add(place, value, span)?,
            StmtKind::MultisetRemove(place, slot) => {
                let mut location = self.locate(place)?;
                let at = usize::try_from(self.integer(slot)?).unwrap_or(usize::MAX);
                let bag = location.clone();
                location.push(AddressHop::Slot(at));
                self.get(&location, slot.span)?;
                if let Value::Multiset(slots) = self.get_mut(&bag, place.span)? {
                    slots[at] = None;
                }
            }
            StmtKind::MultisetRemoveIf { place, local, condition } => {
                self.multiset_remove_if(place, *local, condition)?
            }
            StmtKind::Insert { place, at, value } => self.insert(place, at.as_ref(), value, span)?,
            StmtKind::Remove(place, at) => {
                let location = self.locate(place)?;
                let position = usize::try_from(self.integer(at)?).unwrap_or(usize::MAX);
                if let Value::Sequence(items) = self.get_mut(&location, place.span)? {
                    if position >= items.len() {
                        return fault(FaultKind::IndexOutOfRange, at.span);
                    }
                    items.remove(position);
                }
            }
            StmtKind::Create(place, sort) => {
                let location = self.locate(place)?;
                let Some(element) = self.create(*sort) else { return fault(FaultKind::SortLimit, span) };
                let element = self.fit(Value::Elem(*sort, element), place.ty, span)?;
                *self.get_mut(&location, place.span)? = element;
            }
            StmtKind::Delete(of) => match self.eval(of)? {
                // Elements of other sorts are not deleted: a model that tries it treats them as gone.
                Value::Elem(sort, element)
                    if self.model.sorts[sort].fixed_size().is_none()
                        && self.shapes().exists(sort, element) =>
                {
                    self.delete(sort, element);
                }
                Value::Null => return fault(FaultKind::NullReference, of.span),
                _ => return fault(FaultKind::DanglingReference, of.span),
            },
        }
        Ok(StmtEnd::Next)
    }

    fn assign(&mut self, place: &'a Place, value: &'a Expr) -> Executed {
        let span = value.span;
        let value = self.eval(value)?;
        let location = self.locate(place)?;
        let value = self.fit(value, place.ty, span)?;
        *self.get_mut(&location, place.span)? = value;
        Ok(())
    }

    fn for_each(&mut self, local: LocalId, domain: &'a Domain, body: &'a [Stmt]) -> Executed<StmtEnd> {
        let values = self.domain(domain)?;
        let outer = self.set(local, LocalCell::Unbound);
        for value in values {
            self.set(local, LocalCell::Value(value));
            let flow = self.block(body)?;
            if flow != StmtEnd::Next {
                return Ok(flow);
            }
        }
        self.set(local, outer);
        Ok(StmtEnd::Next)
    }

    /// Makes the next choice of the script, or the first of a new one. Where there is nothing to choose from,
    /// the step has no outcome.
    fn choose(&mut self, local: LocalId, domain: &'a Domain) -> Executed {
        let values: Vec<Value> = self.domain(domain)?.collect();
        let taken = match self.script.get(self.trail.len()) {
            Some(scripted) => values.iter().position(|value| value == scripted),
            None => Some(0).filter(|_| !values.is_empty()),
        };
        let taken = taken.ok_or(ExecStop::NoRun)?;
        self.set(local, LocalCell::Value(values[taken].clone()));
        self.trail.push((values, taken));
        Ok(())
    }

    fn return_from(&mut self, value: Option<&'a Expr>) -> Executed<StmtEnd> {
        let (Some(expr), Some(ty)) = (value, self.result_type()) else { return Ok(StmtEnd::Return(None)) };
        match self.value_for(expr, ty)? {
            // A result goes where an undefined value must not.
            Value::Undefined => fault(FaultKind::Undefined, expr.span),
            value => Ok(StmtEnd::Return(Some(value))),
        }
    }

    fn multiset_add(&mut self, place: &'a Place, value: &'a Expr, span: Span) -> Executed {
        let Type::Multiset { capacity, element } = self.model.kind(place.ty) else { return Ok(()) };
        let value_span = value.span;
        let value = self.eval(value)?;
        let location = self.locate(place)?;
        let value = self.fit(value, *element, value_span)?;
        if let Value::Multiset(slots) = self.get_mut(&location, place.span)? {
            if let Some(free) = slots.iter_mut().find(|slot| slot.is_none()) {
                *free = Some(value);
            } else if slots.len() < *capacity as usize {
                slots.push(Some(value));
            } else {
                return fault(FaultKind::Full, span);
            }
        }
        Ok(())
    }

    fn multiset_remove_if(&mut self, place: &'a Place, local: LocalId, condition: &'a Expr) -> Executed {
        let location = self.locate(place)?;
        let Value::Multiset(slots) = self.get(&location, place.span)?.clone() else { return Ok(()) };
        let outer = self.set(local, LocalCell::Unbound);
        let mut rest = Vec::new();
        for (position, slot) in slots.into_iter().enumerate() {
            self.set(local, LocalCell::Value(Value::Int(position as i64)));
            let removed = slot.is_some() && self.truth(condition)?;
            rest.push(slot.filter(|_| !removed));
        }
        self.set(local, outer);
        *self.get_mut(&location, place.span)? = Value::Multiset(rest);
        Ok(())
    }

    fn insert(&mut self, place: &'a Place, at: Option<&'a Expr>, value: &'a Expr, span: Span) -> Executed {
        let Type::Sequence { capacity, element } = self.model.kind(place.ty) else { return Ok(()) };
        let value_span = value.span;
        let value = self.eval(value)?;
        let location = self.locate(place)?;
        let position = match at {
            Some(at) => Some((usize::try_from(self.integer(at)?).unwrap_or(usize::MAX), at.span)),
            None => None,
        };
        let value = self.fit(value, *element, value_span)?;
        if let Value::Sequence(items) = self.get_mut(&location, place.span)? {
            if items.len() >= *capacity as usize {
                return fault(FaultKind::Full, span);
            }
            match position {
                None => items.push(value),
                Some((position, _)) if position <= items.len() => items.insert(position, value),
                Some((_, span)) => {
                    return fault(FaultKind::IndexOutOfRange, span);
                }
            }
        }
        Ok(())
    }
}
