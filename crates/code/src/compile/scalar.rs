//! Scalar values in registers and their conversion from type to type.

use shoal_model::{FaultKind, OrInternal, Type, TypeId, Value};
use shoal_syntax::Span;

use super::Compiler;
use crate::{
    code::{CodeMap, IntRange, Op, Outside, Reg, Shown},
    layout::{AtomKind, atoms},
};

/// A scalar value that code has computed.
#[derive(Clone, Debug)]
pub(super) struct Scalar {
    /// Its type.
    pub(super) ty: TypeId,
    pub(super) form: Form,
}

/// Where a scalar value is.
#[derive(Clone, Debug)]
pub(super) enum Form {
    /// Known.
    Const(Value),
    /// An integer as it is.
    Raw(Reg),
    /// A code of the scalar's type that is not 0.
    Code(Reg),
    /// A code of the scalar's type that may be 0.
    Maybe(Reg),
}

impl Scalar {
    pub(super) fn new(ty: TypeId, form: Form) -> Scalar {
        Scalar { ty, form }
    }

    pub(super) fn shown(reg: Reg, shown: Shown, ty: TypeId) -> Scalar {
        match shown {
            Shown::Raw => Scalar::new(ty, Form::Raw(reg)),
            Shown::Code(ty) => Scalar::new(ty, Form::Code(reg)),
        }
    }
}

impl Compiler<'_> {
    /// The integer as it is. The value is not undefined.
    pub(super) fn raw(&mut self, scalar: &Scalar) -> Reg {
        match (&scalar.form, self.model.kind(scalar.ty)) {
            (Form::Const(value), _) => {
                self.constant(value.as_int().or_internal("a constant that is a number"))
            }
            (Form::Raw(reg), _) => *reg,
            (Form::Code(reg) | Form::Maybe(reg), Type::Int { lo, .. }) if *lo != 1 => {
                let dst = self.temp();
                self.emit(Op::Offset { dst, src: *reg, add: lo.wrapping_sub(1) });
                dst
            }
            (Form::Code(reg) | Form::Maybe(reg), _) => *reg,
        }
    }

    /// The code of the value in a type, 0 if it is undefined.
    pub(super) fn code(&mut self, scalar: &Scalar, to: TypeId, outside: Outside) -> Reg {
        match &scalar.form {
            Form::Const(value) => self.code_of_constant(value, to, outside),
            Form::Raw(reg) => self.code_of_raw(*reg, to, outside),
            Form::Code(reg) | Form::Maybe(reg) if self.model.same_values(scalar.ty, to) => *reg,
            Form::Code(reg) => self.code_of_code(*reg, scalar.ty, to, outside, true),
            Form::Maybe(reg) => self.code_of_code(*reg, scalar.ty, to, outside, false),
        }
    }

    fn code_of_constant(&mut self, value: &Value, to: TypeId, outside: Outside) -> Reg {
        match (constant_code(self.model, to, value), outside) {
            (Some(code), _) => self.constant(code),
            (None, Outside::Nothing) => self.constant(-1),
            (None, Outside::Fault(kind, span)) => {
                self.fault(kind, span);
                self.constant(0)
            }
        }
    }

    fn code_of_raw(&mut self, src: Reg, to: TypeId, outside: Outside) -> Reg {
        let dst = self.temp();
        let mut range = IntRange { lo: 0, hi: -1, add: 0, outside };
        for atom in atoms(self.model, to) {
            if let AtomKind::Int { lo, hi } = atom.kind {
                range.lo = lo;
                range.hi = hi;
                range.add = (atom.first as i64).wrapping_sub(lo);
                if (lo, hi) == (i64::MIN, i64::MAX) {
                    // The one integer without a code.
                    range.hi -= 1;
                    if let Outside::Fault(kind, _) = &mut range.outside {
                        *kind = FaultKind::Overflow;
                    }
                }
            }
        }
        let range = self.range(range);
        self.emit(Op::Encode { dst, src, range });
        dst
    }

    fn code_of_code(&mut self, src: Reg, from: TypeId, to: TypeId, outside: Outside, defined: bool) -> Reg {
        let map = self.map_between(from, to, outside);
        let all = (1, self.model.cardinality(from).unwrap_or(u64::MAX));
        let dst = self.temp();
        match map.pieces[..] {
            [(first, last, add)] if (first, last) == all && defined => {
                self.emit(Op::Offset { dst, src, add });
            }
            _ => {
                self.program.maps.push(map);
                let map = self.program.maps.len() as u32 - 1;
                self.emit(Op::Map { dst, src, map });
            }
        }
        dst
    }

    fn map_between(&self, from: TypeId, to: TypeId, outside: Outside) -> CodeMap {
        let targets = atoms(self.model, to);
        let mut pieces: Vec<(u64, u64, i64)> = Vec::new();
        for atom in atoms(self.model, from) {
            for target in &targets {
                let shift = (target.first as i64).wrapping_sub(atom.first as i64);
                match (atom.kind, target.kind) {
                    (AtomKind::Int { lo, hi }, AtomKind::Int { lo: first, hi: last }) => {
                        let (least, greatest) = (lo.max(first), hi.min(last));
                        if least > greatest {
                            continue;
                        }
                        let code = |value: i64| atom.first.wrapping_add(value.wrapping_sub(lo) as u64);
                        let shift = shift.wrapping_add(lo).wrapping_sub(first);
                        pieces.push((code(least), code(greatest), shift));
                    }
                    (kind, other) if kind == other && atom.count > 0 => {
                        pieces.push((atom.first, atom.first + atom.count - 1, shift));
                        break;
                    }
                    _ => {}
                }
            }
        }
        CodeMap { pieces, null: None, outside }
    }

    /// The position from 0 of an index, as a register and what is to be added to it.
    pub(super) fn position(&mut self, index: &Scalar, of: TypeId, span: Span) -> (Reg, i64) {
        let outside = Outside::Fault(FaultKind::IndexOutOfRange, span);
        let null = |ty| atoms(self.model, ty).into_iter().find(|atom| atom.kind == AtomKind::Null);
        // Null is no index unless the array has an element for it.
        let null = null(index.ty).filter(|_| null(of).is_none());
        match (&index.form, self.model.kind(of)) {
            (Form::Code(reg), _) if self.model.same_values(index.ty, of) => (*reg, -1),
            (Form::Raw(_) | Form::Code(_), Type::Int { lo, hi }) if self.is_integer(index.ty) => {
                let src = self.raw(index);
                let dst = self.temp();
                let range = self.range(IntRange { lo: *lo, hi: *hi, add: 0, outside });
                self.emit(Op::Index { dst, src, range });
                (dst, 0)
            }
            (Form::Code(reg) | Form::Maybe(reg), _) => {
                let dst = self.temp();
                let map =
                    CodeMap { null: null.map(|atom| atom.first), ..self.map_between(index.ty, of, outside) };
                self.program.maps.push(map);
                let map = self.program.maps.len() as u32 - 1;
                self.emit(Op::Map { dst, src: *reg, map });
                (dst, -1)
            }
            _ => (self.code(index, of, outside), -1),
        }
    }

    pub(super) fn range(&mut self, range: IntRange) -> u32 {
        self.program.ranges.push(range);
        self.program.ranges.len() as u32 - 1
    }

    pub(super) fn is_integer(&self, ty: TypeId) -> bool {
        matches!(self.model.kind(ty), Type::Int { .. })
    }

    /// The value, with a fault if it may be undefined.
    pub(super) fn defined(&mut self, scalar: Scalar, span: Span) -> Scalar {
        match scalar.form {
            Form::Maybe(src) => {
                let site = self.site(span);
                self.emit(Op::Defined { src, site });
                Scalar::new(scalar.ty, Form::Code(src))
            }
            _ => scalar,
        }
    }
}

/// The code of a value in a scalar type, if it belongs to it and has one.
pub(super) fn constant_code(model: &shoal_model::Model, ty: TypeId, value: &Value) -> Option<i64> {
    model.ordinal(ty, value).and_then(|ordinal| ordinal.checked_add(1)).map(|code| code as i64)
}
