//! Rules, functions and their statements.

use shoal_syntax::Span;

use super::{Check, fail, known};
use crate::{
    Argument, Binding, CheckKind, Code, FunctionId, IndexVec, Local, LocalId, LocalKind, Model, OutputItem,
    PropertyKind, Rule, Stmt, StmtKind, TypeId, TypedId,
};

/// Checks one piece of code.
pub(super) struct Verifier<'a> {
    pub(super) model: &'a Model,
    pub(super) locals: &'a IndexVec<LocalId, Local>,
    pub(super) pure: &'a [bool],
    /// Whether only pure functions may be called.
    pub(super) only_pure: bool,
    /// The result of the function the code belongs to, if it belongs to one.
    pub(super) result: Option<Option<TypeId>>,
}

impl Verifier<'_> {
    pub(super) fn rule(&self, rule: &Rule) -> Check {
        let head = Verifier { only_pure: true, ..*self };
        for param in &rule.params {
            head.bound(param.local, rule.span)?;
            head.domain(&param.domain, rule.span)?;
        }
        head.bindings(&rule.bindings)?;
        rule.guard.iter().try_for_each(|guard| head.truth(guard))?;
        self.code(&rule.code)
    }

    pub(super) fn code(&self, code: &Code) -> Check {
        self.locals()?;
        self.block(&code.body)
    }

    pub(super) fn locals(&self) -> Check {
        self.locals.iter().try_for_each(|local| known(&self.model.types, local.ty, local.span))
    }

    pub(super) fn bound(&self, local: LocalId, span: Span) -> Check {
        known(self.locals, local, span)?;
        match self.locals[local].kind {
            LocalKind::Bound => Ok(()),
            _ => fail(span, format!("`{}` is bound but is not of the kind", self.locals[local].name)),
        }
    }

    pub(super) fn block(&self, block: &[Stmt]) -> Check {
        block.iter().try_for_each(|stmt| self.stmt(stmt))
    }

    pub(super) fn stmt(&self, stmt: &Stmt) -> Check {
        let span = stmt.span;
        match &stmt.kind {
            StmtKind::Assign(place, value) => {
                self.writable(place)?;
                self.value_for(value, place.ty)
            }
            StmtKind::Clear(place) | StmtKind::Undefine(place) => self.writable(place),
            StmtKind::If(arms, other) => {
                for (condition, block) in arms {
                    self.truth(condition)?;
                    self.block(block)?;
                }
                self.block(other)
            }
            StmtKind::While { condition, body, .. } => {
                self.truth(condition)?;
                self.block(body)
            }
            StmtKind::For { local, domain, body } => {
                self.bound(*local, span)?;
                self.domain(domain, span)?;
                self.block(body)
            }
            StmtKind::Bind(bindings) => self.bindings(bindings),
            StmtKind::Choose { local, domain } => {
                self.bound(*local, span)?;
                self.domain(domain, span)
            }
            StmtKind::Check { kind, condition, property } => {
                known(&self.model.properties, *property, span)?;
                let fits = matches!(
                    (kind, &self.model.properties[*property].kind),
                    (CheckKind::Assert, PropertyKind::Assertion | PropertyKind::Bound)
                        | (CheckKind::Assume, PropertyKind::Assume(None))
                        | (CheckKind::Cover, PropertyKind::Cover(None))
                );
                if !fits {
                    return fail(span, "a check names a property of another kind");
                }
                condition.iter().try_for_each(|condition| self.truth(condition))
            }
            StmtKind::Return(value) => match (value, self.result.flatten()) {
                (None, None) => Ok(()),
                (Some(value), Some(ty)) => self.value_for(value, ty),
                _ => fail(span, "a return does not fit the result"),
            },
            StmtKind::Call(function, arguments) => self.call(*function, arguments, span),
            StmtKind::Output(items) => items.iter().try_for_each(|item| match item {
                OutputItem::Text(_) => Ok(()),
                OutputItem::Value(value) => self.expr_or_peek(value),
            }),
            StmtKind::MultisetAdd(place, value) => {
                self.writable(place)?;
                self.value_for(value, self.element_of_multiset(place)?)
            }
            StmtKind::MultisetRemove(place, slot) => {
                self.writable(place)?;
                self.element_of_multiset(place)?;
                self.slot(slot)
            }
            StmtKind::MultisetRemoveIf { place, local, condition } => {
                self.writable(place)?;
                self.element_of_multiset(place)?;
                self.bound(*local, span)?;
                self.truth(condition)
            }
            StmtKind::Insert { place, at, value } => {
                self.writable(place)?;
                at.iter().try_for_each(|at| self.integer(at))?;
                self.value_for(value, self.element_of_sequence(place)?)
            }
            StmtKind::Remove(place, at) => {
                self.writable(place)?;
                self.element_of_sequence(place)?;
                self.integer(at)
            }
            StmtKind::Create(place, sort) => {
                self.writable(place)?;
                known(&self.model.sorts, *sort, span)?;
                if self.model.sorts[*sort].fixed_size().is_some() {
                    return fail(span, "an element of a sort of fixed size is created");
                }
                if self.model.sorts_of(place.ty).contains(sort) { Ok(()) } else { fail(span, "wrong sort") }
            }
            StmtKind::Delete(element) => {
                self.expr(element)?;
                if self.model.sorts_of(element.ty).is_empty() {
                    fail(span, "not a reference")
                } else {
                    Ok(())
                }
            }
        }
    }

    pub(super) fn bindings(&self, bindings: &[Binding]) -> Check {
        bindings.iter().try_for_each(|binding| {
            let span = match &binding.to {
                Argument::Place(place) => place.span,
                Argument::Value(value) => value.span,
            };
            known(self.locals, binding.local, span)?;
            self.argument(&binding.to, &self.locals[binding.local], span)
        })
    }

    pub(super) fn call(&self, function: FunctionId, arguments: &[Argument], span: Span) -> Check {
        known(&self.model.functions, function, span)?;
        let callee = &self.model.functions[function];
        if self.only_pure && !self.pure[function.index()] {
            return fail(span, format!("`{}` changes the state where it may not", callee.name));
        }
        if arguments.len() != callee.params.len() {
            return fail(span, format!("`{}` is called with the wrong number of arguments", callee.name));
        }
        let params = callee.params.iter().map(|param| &callee.code.locals[*param]);
        arguments.iter().zip(params).try_for_each(|(argument, param)| self.argument(argument, param, span))
    }

    pub(super) fn argument(&self, argument: &Argument, param: &Local, span: Span) -> Check {
        match (param.kind, argument) {
            (LocalKind::Reference { writable }, Argument::Place(place)) => {
                if writable {
                    self.writable(place)?
                } else {
                    self.place(place)?
                };
                if self.model.same_values(place.ty, param.ty) {
                    Ok(())
                } else {
                    fail(span, format!("`{}` refers to a place of another type", param.name))
                }
            }
            (LocalKind::Variable | LocalKind::Reference { writable: false }, Argument::Value(value)) => {
                self.value_for(value, param.ty)
            }
            _ => fail(span, format!("`{}` cannot take this argument", param.name)),
        }
    }
}
