//! Truth values as jumps: no register holds a truth value that only decides where to go on.

use shoal_model::{BinaryOp, Expr, ExprKind, Quantifier, UnaryOp};

use super::{
    Compiler, JumpLabel,
    expr::{calls, compares, known_truth},
    scalar::{Form, Scalar, constant_code},
};
use crate::{
    code::{CellsShape, CodeMap, Op, Outside, Reg, TRUE},
    layout::{AtomKind, atoms},
};

impl Compiler<'_> {
    /// Goes on at `to` if the expression is `when`, otherwise with what follows.
    pub(super) fn branch(&mut self, expr: &Expr, when: bool, to: JumpLabel) {
        let mark = self.next;
        self.branch_inner(expr, when, to);
        self.next = mark;
    }

    fn branch_inner(&mut self, expr: &Expr, when: bool, to: JumpLabel) {
        if let Some(value) = known_truth(expr) {
            if value == when {
                self.jump(to);
            }
            return;
        }
        match &expr.kind {
            ExprKind::Unary(UnaryOp::Not, operand) => self.branch(operand, !when, to),
            ExprKind::And(operands) => self.branch_all(operands.iter().map(|it| (it, true)), when, to),
            // One holds: not all do not.
            ExprKind::Or(operands) => self.branch_all(operands.iter().map(|it| (it, false)), !when, to),
            ExprKind::Implies(left, right) => {
                self.branch_all([(&**left, true), (&**right, false)].into_iter(), !when, to);
            }
            ExprKind::Equal(left, right) => self.branch_equal(left, right, when, to),
            ExprKind::Binary(op, left, right) if compares(*op) => {
                self.branch_compare(*op, left, right, when, to);
            }
            ExprKind::IsUndefined(place) => {
                let address = self.place(place);
                let src = self.peek(address);
                self.jump_if_is(src, 0, when, to);
            }
            ExprKind::IsMember(value, ty) => {
                let scalar = self.scalar_or_undefined(value);
                let src = self.code(&scalar, *ty, Outside::Nothing);
                self.jump_if_member(src, when, to);
            }
            ExprKind::Exists(value) => {
                let scalar = self.scalar(value);
                self.branch_exists(&scalar, when, to);
            }
            ExprKind::Quantified { quantifier, local, domain, body } if *quantifier != Quantifier::Count => {
                let src = self.quantified(*quantifier, *local, domain, body);
                self.jump_if_is(src, TRUE, when, to);
            }
            _ => {
                let scalar = self.scalar(expr);
                let src = self.code(&scalar, expr.ty, Outside::Nothing);
                self.jump_if_is(src, TRUE, when, to);
            }
        }
    }

    /// Goes on at `to` if whether each operand is what is wanted of it is `when`; stops at the first that is not.
    fn branch_all<'e>(
        &mut self,
        operands: impl Iterator<Item = (&'e Expr, bool)>,
        when: bool,
        to: JumpLabel,
    ) {
        if !when {
            operands.for_each(|(operand, wanted)| self.branch(operand, !wanted, to));
            return;
        }
        let past = self.label();
        operands.for_each(|(operand, wanted)| self.branch(operand, !wanted, past));
        self.jump(to);
        self.bind(past);
    }

    fn branch_equal(&mut self, left: &Expr, right: &Expr, when: bool, to: JumpLabel) {
        if !self.is_scalar(left.ty) {
            let first = self.composite(left, calls(right));
            let second = self.composite(right, false);
            let mut bags = Vec::new();
            self.layout.bags_in(self.model, left.ty, 0, &mut bags);
            self.program.shapes.push(CellsShape { length: self.size(left.ty), bags });
            let (dst, shape) = (self.temp(), self.program.shapes.len() as u32 - 1);
            self.emit(Op::Same { dst, left: first, right: second, shape });
            self.jump_if_is(dst, TRUE, when, to);
            return;
        }
        let left = self.scalar_or_undefined(left);
        let right = self.scalar_or_undefined(right);
        match (&left.form, &right.form) {
            (Form::Const(left), Form::Const(right)) => {
                if (left == right) == when {
                    self.jump(to);
                }
            }
            (Form::Const(value), _) => self.branch_is(&right, value, when, to),
            (_, Form::Const(value)) => self.branch_is(&left, value, when, to),
            _ => {
                let (left, right) = self.comparable(&left, &right);
                self.emit(if when {
                    Op::JumpEqual { left, right, to: to.0 }
                } else {
                    Op::JumpDiffer { left, right, to: to.0 }
                });
            }
        }
    }

    /// Both values in one encoding, in which they are equal exactly if the values are.
    fn comparable(&mut self, left: &Scalar, right: &Scalar) -> (Reg, Reg) {
        let defined = |scalar: &Scalar| !matches!(scalar.form, Form::Maybe(_));
        let same = self.model.same_values(left.ty, right.ty);
        match (&left.form, &right.form) {
            (Form::Code(left) | Form::Maybe(left), Form::Code(right) | Form::Maybe(right)) if same => {
                (*left, *right)
            }
            _ if self.is_integer(left.ty) && self.is_integer(right.ty) && defined(left) && defined(right) => {
                (self.raw(left), self.raw(right))
            }
            // An integer as it is has no type of its own to speak of: the other's is used.
            (Form::Raw(_), _) => (self.code(left, right.ty, Outside::Nothing), self.own_code(right)),
            _ => (self.own_code(left), self.code(right, left.ty, Outside::Nothing)),
        }
    }

    fn own_code(&mut self, scalar: &Scalar) -> Reg {
        self.code(scalar, scalar.ty, Outside::Nothing)
    }

    /// Elements of a sort of fixed size always exist; nothing else does.
    fn branch_exists(&mut self, scalar: &Scalar, when: bool, to: JumpLabel) {
        let exists = match scalar.form {
            Form::Const(shoal_model::Value::Elem(..)) => true,
            Form::Const(_) | Form::Raw(_) => false,
            Form::Code(src) | Form::Maybe(src) => {
                if self.branch_exists_now(scalar.ty, src, when, to) {
                    return;
                }
                let elements = atoms(self.model, scalar.ty).into_iter();
                let elements = elements.filter(|it| matches!(it.kind, AtomKind::Elem(_)) && it.count > 0);
                let pieces = elements.map(|it| (it.first, it.first + it.count - 1, 0)).collect();
                self.program.maps.push(CodeMap { pieces, null: None, outside: Outside::Nothing });
                let (dst, map) = (self.temp(), self.program.maps.len() as u32 - 1);
                self.emit(Op::Map { dst, src, map });
                self.jump_if_member(dst, when, to);
                return;
            }
        };
        if exists == when {
            self.jump(to);
        }
    }

    /// Whether a converted code is neither undefined nor of another type.
    fn jump_if_member(&mut self, src: Reg, when: bool, to: JumpLabel) {
        self.emit(if when {
            Op::JumpAbove { src, value: 0, to: to.0 }
        } else {
            Op::JumpBelow { src, value: 1, to: to.0 }
        });
    }

    fn branch_is(&mut self, scalar: &Scalar, value: &shoal_model::Value, when: bool, to: JumpLabel) {
        match scalar.form {
            Form::Raw(src) => match value.as_int() {
                Some(value) => self.jump_if_is(src, value, when, to),
                None if !when => self.jump(to),
                None => {}
            },
            Form::Code(src) | Form::Maybe(src) => match constant_code(self.model, scalar.ty, value) {
                Some(code) => self.jump_if_is(src, code, when, to),
                None if !when => self.jump(to),
                None => {}
            },
            Form::Const(_) => {}
        }
    }

    fn branch_compare(&mut self, op: BinaryOp, left: &Expr, right: &Expr, when: bool, to: JumpLabel) {
        let left = self.scalar(left);
        let right = self.scalar(right);
        // The comparison that must hold to jump.
        let op = match (op, when) {
            (op, true) => op,
            (BinaryOp::Lt, false) => BinaryOp::Ge,
            (BinaryOp::Le, false) => BinaryOp::Gt,
            (BinaryOp::Gt, false) => BinaryOp::Le,
            (_, false) => BinaryOp::Lt,
        };
        if let Form::Const(value) = &right.form
            && let Some(value) = value.as_int()
            && let Ok(value) = i32::try_from(value)
            && value > i32::MIN
            && value < i32::MAX
        {
            let src = self.raw(&left);
            self.emit(match op {
                BinaryOp::Lt => Op::JumpBelow { src, value, to: to.0 },
                BinaryOp::Le => Op::JumpBelow { src, value: value + 1, to: to.0 },
                BinaryOp::Gt => Op::JumpAbove { src, value, to: to.0 },
                _ => Op::JumpAbove { src, value: value - 1, to: to.0 },
            });
            return;
        }
        let (left, right) = (self.raw(&left), self.raw(&right));
        self.emit(match op {
            BinaryOp::Lt => Op::JumpLess { left, right, to: to.0 },
            BinaryOp::Le => Op::JumpAtMost { left, right, to: to.0 },
            BinaryOp::Gt => Op::JumpLess { left: right, right: left, to: to.0 },
            _ => Op::JumpAtMost { left: right, right: left, to: to.0 },
        });
    }

    /// Goes on at `to` if whether the register holds the value is `when`.
    pub(super) fn jump_if_is(&mut self, src: Reg, value: i64, when: bool, to: JumpLabel) {
        let op = match (i32::try_from(value), when) {
            (Ok(value), true) => Op::JumpIs { src, value, to: to.0 },
            (Ok(value), false) => Op::JumpIsNot { src, value, to: to.0 },
            (Err(_), when) => {
                let right = self.constant(value);
                match when {
                    true => Op::JumpEqual { left: src, right, to: to.0 },
                    false => Op::JumpDiffer { left: src, right, to: to.0 },
                }
            }
        };
        self.emit(op);
    }
}
