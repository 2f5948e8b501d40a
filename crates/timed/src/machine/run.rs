//! Statements.

use shoal_model::{
    Argument, Binding, CheckKind, Domain, Expr, FaultKind, OrInternal, Stmt, StmtKind, Type, TypedId,
};

use super::{CellsValue, ZoneFlow, ZoneMachine, ZoneResult, ZoneStop, fault, refuse};

impl ZoneMachine<'_> {
    pub(crate) fn block(&mut self, body: &[Stmt]) -> ZoneResult<ZoneFlow> {
        for stmt in body {
            if let ZoneFlow::Return(value) = self.stmt(stmt)? {
                return Ok(ZoneFlow::Return(value));
            }
        }
        Ok(ZoneFlow::Next)
    }

    pub(crate) fn bind(&mut self, bindings: &[Binding]) -> ZoneResult {
        for binding in bindings {
            match &binding.to {
                Argument::Value(value) => {
                    let cells = self.cells(value)?;
                    self.frame().set(binding.local, cells);
                }
                Argument::Place(place) => {
                    let spot = self.spot(place)?;
                    self.frame().refer(binding.local, place.ty, spot);
                }
            }
        }
        Ok(())
    }

    /// Whether a condition is true; where clocks decide, both are ways to go on.
    fn branch(&mut self, condition: &Expr) -> ZoneResult<bool> {
        if !self.reads_clock(condition) {
            return Ok(self.eval(condition)? != 0);
        }
        let truth = self.decide(2)? == 0;
        self.assume_that(condition, truth)?;
        Ok(truth)
    }

    pub(super) fn stmt(&mut self, stmt: &Stmt) -> ZoneResult<ZoneFlow> {
        let span = stmt.span;
        match &stmt.kind {
            StmtKind::Assign(place, value) => {
                let cells = self.cells(value)?;
                self.write(place, &cells, value.span)?;
            }
            StmtKind::Clear(place) => {
                let ty = place.ty;
                self.clear(place, ty)?;
            }
            StmtKind::If(arms, other) => {
                for (condition, body) in arms {
                    if self.branch(condition)? {
                        return self.block(body);
                    }
                }
                return self.block(other);
            }
            StmtKind::While { condition, body, limit } => {
                let mut rounds = 0;
                while self.eval(condition)? != 0 {
                    rounds += 1;
                    self.tick()?;
                    if rounds > *limit {
                        return fault(FaultKind::LoopLimit, span);
                    }
                    if let ZoneFlow::Return(value) = self.block(body)? {
                        return Ok(ZoneFlow::Return(value));
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
                    self.tick()?;
                    self.set_local(*local, value);
                    if let ZoneFlow::Return(value) = self.block(body)? {
                        return Ok(ZoneFlow::Return(value));
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
                (CheckKind::Assume, None) => return Err(ZoneStop::NoRun),
                (CheckKind::Assert, condition) => {
                    let holds = match condition {
                        Some(condition) => self.branch(condition)?,
                        None => false,
                    };
                    if !holds {
                        return fault(FaultKind::Assertion(*property), span);
                    }
                }
                (CheckKind::Cover, _) => return refuse("covers inside of steps", span),
            },
            StmtKind::Return(None) => return Ok(ZoneFlow::Return(CellsValue::None)),
            StmtKind::Return(Some(value)) => {
                let cells = self.cells(value)?;
                let ty = self.frame().result.or_internal("a value is returned where there is a result");
                self.belongs(&cells, ty, value.span)?;
                return Ok(ZoneFlow::Return(cells));
            }
            StmtKind::Call(function, arguments) => {
                self.call(*function, arguments, span)?;
            }
            StmtKind::Bind(bindings) => self.bind(bindings)?,
            StmtKind::Output(_) => {}
            StmtKind::Undefine(place) => {
                let cells = self.undefined(place.ty);
                self.write(place, &cells, span)?;
            }
            _ => return refuse("multisets, sequences and growing sorts", span),
        }
        Ok(ZoneFlow::Next)
    }
}
