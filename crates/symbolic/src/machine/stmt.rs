//! What statements mean.

use shoal_model::{
    Binding, CheckKind, Domain, Expr, FaultKind, LocalId, OutputItem, Place, Stmt, StmtKind, Value,
};

use super::{LocalContent, SymbolicMachine, tally::tallies};
use crate::{
    dd::{Bdd, DdResult, lacks},
    layout::{self, Bit},
    value::{SymbolicScalar, SymbolicValue},
};

impl<'a> SymbolicMachine<'a> {
    /// Runs statements one after another, each where the path leads.
    pub(crate) fn block(&mut self, block: &'a [Stmt]) -> DdResult<()> {
        for stmt in block {
            if self.is_idle()? {
                break;
            }
            self.stmt(stmt)?;
        }
        Ok(())
    }

    /// Binds locals, in order: a later binding may use an earlier one.
    pub(crate) fn bind(&mut self, bindings: &'a [Binding]) -> DdResult<()> {
        for binding in bindings {
            let Some(local) = self.frames.last().and_then(|frame| frame.locals.get(binding.local)) else {
                continue;
            };
            let cell = self.argument(&binding.to, local)?;
            self.set(binding.local, cell);
        }
        Ok(())
    }

    fn stmt(&mut self, stmt: &'a Stmt) -> DdResult<()> {
        let span = stmt.span;
        match &stmt.kind {
            StmtKind::Assign(place, value) => self.assign(place, value),
            StmtKind::Clear(place) => {
                let found = self.locate(place)?;
                let least = self.least(place.ty)?;
                self.write(&found, &least)
            }
            StmtKind::Undefine(place) => {
                let found = self.locate(place)?;
                let blank = self.blank(place.ty)?;
                self.write(&found, &blank)
            }
            StmtKind::If(arms, other) => self.branches(arms, other),
            StmtKind::While { condition, body, limit } => {
                let mut done = self.dd.no();
                for round in 0.. {
                    let truth = self.truth(condition)?;
                    done = done.or(&self.path.minus(&truth)?)?;
                    self.path = self.path.and(&truth)?;
                    if self.is_idle()? {
                        break;
                    }
                    if round == *limit {
                        let everywhere = self.dd.yes();
                        self.fault(&everywhere, FaultKind::LoopLimit, span)?;
                        break;
                    }
                    self.block(body)?;
                }
                self.path = done;
                Ok(())
            }
            StmtKind::For { local, domain, body } => self.for_each(*local, domain, body),
            StmtKind::Bind(bindings) => self.bind(bindings),
            StmtKind::Choose { local, domain } => self.choose(*local, domain, stmt),
            StmtKind::Check { kind, condition, property } => {
                let truth = match condition {
                    Some(condition) => self.truth(condition)?,
                    None => self.dd.no(),
                };
                match kind {
                    CheckKind::Assert => self.fault(&truth.not()?, FaultKind::Assertion(*property), span),
                    CheckKind::Assume if self.assumes => self.assume(&truth),
                    CheckKind::Cover => {
                        let place = truth.and(&self.path)?.and(&self.given)?;
                        self.covered.push((*property, place));
                        Ok(())
                    }
                    CheckKind::Assume => Ok(()),
                }
            }
            StmtKind::Return(value) => self.return_from(value.as_ref()),
            StmtKind::Call(function, arguments) => self.call(*function, arguments, span).map(|_| ()),
            StmtKind::Output(items) => {
                for item in items {
                    if let OutputItem::Value(value) = item {
                        self.eval(value)?;
                    }
                }
                Ok(())
            }
            StmtKind::MultisetAdd(place, value) => self.add_to_bag(place, value, span),
            StmtKind::MultisetRemove(place, slot) => self.take_from_bag(place, slot),
            StmtKind::MultisetRemoveIf { place, local, condition } => {
                self.filter_bag(place, *local, condition)
            }
            StmtKind::Insert { .. } | StmtKind::Remove(..) => lacks("sequences", span),
            StmtKind::Create(..) => lacks("creation of elements", span),
            StmtKind::Delete(_) => lacks("deletion of elements", span),
        }
    }

    fn assume(&mut self, truth: &Bdd) -> DdResult<()> {
        let place = self.path.and(&self.given)?.minus(truth)?;
        self.dropped = self.dropped.or(&place)?;
        self.dead = self.dead.or(&place)?;
        self.path = self.path.and(truth)?;
        Ok(())
    }

    fn assign(&mut self, place: &'a Place, value: &'a Expr) -> DdResult<()> {
        let span = value.span;
        let value = self.eval(value)?;
        let found = self.locate(place)?;
        let value = self.fit(value, place.ty, span)?;
        self.write(&found, &value)
    }

    fn branches(&mut self, arms: &'a [(Expr, Vec<Stmt>)], other: &'a [Stmt]) -> DdResult<()> {
        let mut ends = self.dd.no();
        for (condition, block) in arms {
            let truth = self.truth(condition)?;
            let rest = self.path.minus(&truth)?;
            self.path = self.path.and(&truth)?;
            self.block(block)?;
            ends = ends.or(&self.path)?;
            self.path = rest;
            if self.is_idle()? {
                break;
            }
        }
        self.block(other)?;
        self.path = self.path.or(&ends)?;
        Ok(())
    }

    fn for_each(&mut self, local: LocalId, domain: &'a Domain, body: &'a [Stmt]) -> DdResult<()> {
        let items = self.items(domain)?;
        let given = self.given.clone();
        let held = self.set(local, LocalContent::Unbound);
        self.each(items, local, Some(&tallies(body)), &mut |machine, item| {
            let outside = machine.path.minus(&item.when)?;
            let inside = machine.path.and(&item.when)?;
            machine.path = inside.clone();
            machine.given = given.and(&item.present)?;
            machine.block(body)?;
            if item.present.is_true() {
                machine.path = machine.path.or(&outside)?;
            } else {
                // A class that has no element does nothing, so nothing has ended there.
                machine.path = inside.or(&outside)?.minus(&machine.dead)?;
            }
            Ok(())
        })?;
        self.set(local, held);
        self.given = given;
        Ok(())
    }

    /// Makes the next choice of the script, or the first of a new one.
    fn choose(&mut self, local: LocalId, domain: &'a Domain, stmt: &'a Stmt) -> DdResult<()> {
        if let Domain::Slots(place) = domain {
            return lacks("the choice of a slot within a step", place.span);
        }
        if let (Some((bits, made)), Domain::Type(ty)) = (&mut self.free, domain) {
            let cell = layout::choice(self.model, *ty, *bits);
            *bits += cell.bits.len() as Bit;
            made.push(cell.clone());
            let value = layout::read(self.model, &self.dd, &cell)?;
            self.set(local, LocalContent::Value(SymbolicValue::Scalar(value)));
            return Ok(());
        }
        let values = self.constants(domain, stmt.span)?;
        let taken = self.take(values.clone());
        let Some(taken) = taken else {
            // There is nothing to choose from: the step has no outcome.
            let nothing = self.dd.no();
            return self.assume(&nothing);
        };
        let value = SymbolicValue::Scalar(SymbolicScalar::constant(&self.dd, &values[taken]));
        self.set(local, LocalContent::Value(value));
        Ok(())
    }

    /// Takes one of some values, as the script says or else the first, and notes it; nothing if there is none.
    pub(crate) fn take(&mut self, values: Vec<Value>) -> Option<usize> {
        let taken = match self.script.get(self.trail.len()) {
            Some(scripted) => values.iter().position(|value| value == scripted),
            None => Some(0).filter(|_| !values.is_empty()),
        }?;
        // Where there is only one, there is nothing to choose; but a trace tells it.
        self.trail.push((values, taken));
        Some(taken)
    }

    fn return_from(&mut self, value: Option<&'a Expr>) -> DdResult<()> {
        let result_type = self.frames.last().and_then(|frame| frame.result_type);
        if let (Some(expr), Some(ty)) = (value, result_type) {
            let span = expr.span;
            let value = self.eval(expr)?;
            let value = self.fit(value, ty, span)?;
            if let SymbolicValue::Scalar(scalar) = &value {
                self.fault(&scalar.undefined, FaultKind::Undefined, span)?;
            }
            let (dd, path) = (self.dd.clone(), self.path.clone());
            if let Some(frame) = self.frame() {
                frame.result = Some(match frame.result.take() {
                    Some(other) => value.merge(&dd, &path, &other)?,
                    None => value,
                });
            }
        }
        let path = self.path.clone();
        if let Some(frame) = self.frame() {
            frame.left = frame.left.or(&path)?;
        }
        self.path = self.dd.no();
        Ok(())
    }
}
