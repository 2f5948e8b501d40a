//! Statements and calls.

use shoal_model::{
    Argument, Binding, CheckKind, Code, Expr, ExprKind, FunctionId, LocalKind, Model, OutputItem, Place,
    Stmt, StmtKind, TypeId,
};

use super::{LocalSlot, PathResult, PathStop, RunFlow, RunSpot, SymbolicRun};
use crate::{
    cells::{StateCells, UNDEFINED, bounds},
    value::Val,
};

impl<'a> SymbolicRun<'a, '_> {
    pub(super) fn bind(&mut self, bindings: &'a [Binding]) -> PathResult<()> {
        for binding in bindings {
            let local = &self.frame().locals[binding.local];
            let (kind, ty) = (local.kind, local.ty);
            let slot = self.argument(&binding.to, kind, ty)?;
            self.set(binding.local, slot);
        }
        Ok(())
    }

    fn argument(&mut self, argument: &'a Argument, kind: LocalKind, ty: TypeId) -> PathResult<LocalSlot> {
        match argument {
            Argument::Place(place) => match self.locate(place)? {
                RunSpot::Cells(at) => Ok(LocalSlot::Cells(at)),
                RunSpot::Local(_) => Err(PathStop::NotFollowed("references to variables of a step")),
            },
            Argument::Value(value) => {
                let value = self.eval(value)?;
                match kind {
                    LocalKind::Variable | LocalKind::Bound => Ok(LocalSlot::Scalar(self.fit(value, ty)?)),
                    LocalKind::Reference { .. } => Ok(LocalSlot::Scalar(value)),
                }
            }
        }
    }

    pub(super) fn call(
        &mut self,
        function: FunctionId,
        arguments: &'a [Argument],
    ) -> PathResult<Option<Val>> {
        let function = &self.model.functions[function];
        let Code { locals, body } = &function.code;
        let mut slots = Vec::new();
        for (param, argument) in function.params.iter().zip(arguments) {
            slots.push((*param, self.argument(argument, locals[*param].kind, locals[*param].ty)?));
        }
        self.enter(locals)?;
        for (param, slot) in slots {
            self.set(param, slot);
        }
        let flow = self.block(body)?;
        self.frames.pop();
        match (flow, function.result) {
            (RunFlow::Return(Some(value)), Some(ty)) => {
                let value = self.fit(value, ty)?;
                Ok(Some(self.must_be_defined(value)?))
            }
            _ => Ok(None),
        }
    }

    pub(super) fn block(&mut self, block: &'a [Stmt]) -> PathResult<RunFlow> {
        for stmt in block {
            let flow = self.stmt(stmt)?;
            if matches!(flow, RunFlow::Return(_)) {
                return Ok(flow);
            }
        }
        Ok(RunFlow::Next)
    }

    fn stmt(&mut self, stmt: &'a Stmt) -> PathResult<RunFlow> {
        self.burn(1)?;
        match &stmt.kind {
            StmtKind::Assign(place, value) => self.assign(place, value)?,
            StmtKind::Clear(place) => self.fill(place, |model, ty| bounds(model, ty).map(|it| it.0))?,
            StmtKind::Undefine(place) => self.fill(place, |_, _| Some(UNDEFINED))?,
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
                        return Err(PathStop::Faults(None));
                    }
                    rounds += 1;
                    let flow = self.block(body)?;
                    if matches!(flow, RunFlow::Return(_)) {
                        return Ok(flow);
                    }
                }
            }
            StmtKind::For { local, domain, body } => {
                let values = self.domain(domain)?;
                let outer = self.set(*local, LocalSlot::Unbound);
                for value in values {
                    self.set(*local, LocalSlot::Scalar(Val::Const(value)));
                    let flow = self.block(body)?;
                    if matches!(flow, RunFlow::Return(_)) {
                        return Ok(flow);
                    }
                }
                self.set(*local, outer);
            }
            StmtKind::Bind(bindings) => self.bind(bindings)?,
            StmtKind::Choose { local, domain } => {
                let values = self.domain(domain)?;
                if values.is_empty() {
                    return Err(PathStop::Not);
                }
                let taken = values[self.decide(values.len())];
                self.choices.push(taken);
                self.set(*local, LocalSlot::Scalar(Val::Const(taken)));
            }
            StmtKind::Check { kind, condition, property } => {
                let holds = match condition {
                    Some(condition) => self.truth(condition)?,
                    None => false,
                };
                match kind {
                    CheckKind::Assert if !holds => return Err(PathStop::Faults(Some(*property))),
                    CheckKind::Assume if !holds => return Err(PathStop::Not),
                    CheckKind::Cover if holds => self.covered.push(*property),
                    CheckKind::Assert | CheckKind::Assume | CheckKind::Cover => {}
                }
            }
            StmtKind::Return(value) => {
                let value = match value {
                    Some(value) => Some(self.eval(value)?),
                    None => None,
                };
                return Ok(RunFlow::Return(value));
            }
            StmtKind::Call(function, arguments) => {
                self.call(*function, arguments)?;
            }
            StmtKind::Output(items) => {
                for item in items {
                    if let OutputItem::Value(value) = item {
                        self.eval(value)?;
                    }
                }
            }
            StmtKind::MultisetAdd(..)
            | StmtKind::MultisetRemove(..)
            | StmtKind::MultisetRemoveIf { .. }
            | StmtKind::Insert { .. }
            | StmtKind::Remove(..)
            | StmtKind::Create(..)
            | StmtKind::Delete(_) => return Err(PathStop::NotFollowed("elements, multisets and sequences")),
        }
        Ok(RunFlow::Next)
    }

    fn assign(&mut self, place: &'a Place, value: &'a Expr) -> PathResult<()> {
        let size = self.size(place.ty)?;
        if size != 1 {
            let (ExprKind::Read(from) | ExprKind::Peek(from)) = &value.kind else {
                return Err(PathStop::NotFollowed("whole records as values"));
            };
            let (RunSpot::Cells(from), RunSpot::Cells(to)) = (self.locate(from)?, self.locate(place)?) else {
                return Err(PathStop::NotFollowed("variables that hold records"));
            };
            if !same_types(self.cells, from, to, size) {
                return Err(PathStop::NotFollowed("records of other types"));
            }
            let copied: Vec<Val> = (from..from + size).map(|cell| self.read_cell(cell)).collect();
            self.store.extend((to..).zip(copied));
            return Ok(());
        }
        let value = self.eval(value)?;
        let spot = self.locate(place)?;
        let value = self.fit(value, place.ty)?;
        match spot {
            RunSpot::Cells(at) => {
                self.store.insert(at, value);
            }
            RunSpot::Local(local) => {
                self.set(local, LocalSlot::Scalar(value));
            }
        }
        Ok(())
    }

    fn fill(&mut self, place: &'a Place, with: impl Fn(&Model, TypeId) -> Option<i64>) -> PathResult<()> {
        let size = self.size(place.ty)?;
        match self.locate(place)? {
            RunSpot::Cells(at) => {
                for cell in at..at + size {
                    let value = with(self.model, self.cells.types[cell as usize]);
                    let value = value.ok_or(PathStop::NotFollowed("values that are no numbers"))?;
                    self.store.insert(cell, Val::Const(value));
                }
            }
            RunSpot::Local(local) => {
                let value =
                    with(self.model, place.ty).ok_or(PathStop::NotFollowed("values that are no numbers"))?;
                self.set(local, LocalSlot::Scalar(Val::Const(value)));
            }
        }
        Ok(())
    }
}

/// Whether two rows of cells are of the same types.
fn same_types(cells: &StateCells, from: u32, to: u32, size: u32) -> bool {
    let row = |at: u32| &cells.types[at as usize..(at + size) as usize];
    row(from) == row(to)
}
