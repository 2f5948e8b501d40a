//! Elements that come and go: those of growing sorts, of which the layout keeps for each number what became of it.

use shoal_model::{Expr, FaultKind, Model, Place, SortId, Type, TypeId, Value};
use shoal_syntax::Span;

use super::{
    Compiler, JumpLabel,
    place::Address,
    scalar::{Form, Scalar},
};
use crate::{
    code::{FALSE, Op, Reg, TRUE},
    layout::{Population, growing_index},
};

/// What becomes of a number, as the code of a truth value.
const FREE: i32 = 0;
const DELETED: i64 = FALSE;
const EXISTS: i32 = TRUE as i32;

impl Compiler<'_> {
    fn population(&self, sort: SortId) -> Option<Population> {
        self.layout.populations().iter().find(|it| it.sort == sort).copied()
    }

    /// The element with this number (less the bias) must exist if the array is over a growing sort.
    pub(super) fn must_exist(&mut self, of: TypeId, (index, bias): (Reg, i64), span: Span) {
        let Some(population) = growing_index(self.model, of).and_then(|sort| self.population(sort)) else {
            return;
        };
        let ok = self.label();
        let src = self.peek(life(population, index, bias));
        self.emit(Op::JumpIs { src, value: EXISTS, to: ok.0 });
        self.fault(FaultKind::DanglingReference, span);
        self.bind(ok);
    }

    /// Whether the element exists whose code this is; the code is one of an element of a growing sort.
    pub(super) fn branch_exists_now(&mut self, ty: TypeId, code: Reg, when: bool, to: JumpLabel) -> bool {
        let Type::Ref { sort, nullable } = *self.model.kind(ty) else { return false };
        let Some(population) = self.population(sort) else { return false };
        let past = self.label();
        let not = if when { past } else { to };
        if nullable {
            self.emit(Op::JumpIs { src: code, value: 1, to: not.0 });
        }
        let src = self.peek(life(population, code, -1 - i64::from(nullable)));
        self.jump_if_is(src, i64::from(EXISTS), when, to);
        self.bind(past);
        true
    }

    /// A choice among the elements of a growing sort that took a number which no element has is none: there is no such run.
    pub(super) fn must_be_there(&mut self, ty: TypeId, code: Reg) {
        let there = self.label();
        if self.branch_exists_now(ty, code, true, there) {
            // To choose from nothing is what ends a run without a trace.
            let (dst, count) = (self.temp(), self.constant(0));
            self.emit(Op::Choose { dst, count });
        }
        self.bind(there);
    }

    /// Takes the lowest number that is free and writes the reference.
    pub(super) fn create(&mut self, place: &Place, sort: SortId, span: Span) {
        let Some(population) = self.population(sort) else { return };
        let address = self.place(place);
        let (found, full) = (self.label(), self.label());
        // Counts from 1, as the codes of a reference that cannot be null do.
        let number = self.constant(1);
        let again = self.bound_label();
        if population.room > 0 {
            let src = self.peek(life(population, number, -1));
            self.emit(Op::JumpIs { src, value: FREE, to: found.0 });
            self.count_up(number, i64::from(population.room), again);
        }
        self.bind(full);
        self.program.creations.push((span, sort));
        self.fault(FaultKind::SortLimit, span);
        self.bind(found);
        let exists = self.constant(i64::from(EXISTS));
        self.store(life(population, number, -1), exists);
        let scalar = Scalar::new(population.index, Form::Code(number));
        let src = self.code(&scalar, place.ty, super::out_of_range(span));
        self.store(address, src);
    }

    /// Deletes an element that exists.
    pub(super) fn delete(&mut self, of: &Expr) {
        let scalar = self.scalar(of);
        let sorts = self.model.sorts_of(of.ty);
        let Some(population) = sorts.first().and_then(|sort| self.population(*sort)) else {
            return self.fault(FaultKind::DanglingReference, of.span);
        };
        if scalar_is_null(&scalar) {
            return self.fault(FaultKind::NullReference, of.span);
        }
        let (index, bias) = self.position(&scalar, population.index, of.span);
        self.must_exist(population.index, (index, bias), of.span);
        let deleted = self.constant(DELETED);
        self.store(life(population, index, bias), deleted);
        let arrays = self.layout.arrays_over(self.model, population.sort);
        for (base, stride) in arrays {
            let address = self.temp();
            let bias = (i64::from(base) + bias * i64::from(stride)) as i32;
            self.emit(Op::Scale { dst: address, index, stride, bias });
            self.emit(Op::Fill { address, length: stride, value: 0 });
        }
    }
}

/// Where it is kept what became of a number: the register plus the bias.
fn life(population: Population, index: Reg, bias: i64) -> Address {
    Address::Indexed { base: (i64::from(population.first) + bias) as i32, index, stride: 1 }
}

fn scalar_is_null(scalar: &Scalar) -> bool {
    matches!(scalar.form, Form::Const(Value::Null))
}

/// Whether values of a type have an entry for each element of a growing sort.
pub(crate) fn has_growing_array(model: &Model, ty: TypeId) -> bool {
    model.type_contains(ty, &|part| match part {
        Type::Array { index, .. } => growing_index(model, *index).is_some(),
        _ => false,
    })
}
