//! Constant arrays and records at indices that are known only when the model runs.

use shoal_model::{BinaryOp, Expr, ExprKind, Table, TableId, Type, TypeId, Value};
use shoal_syntax::{Span, cursor::Parsed};
use shoal_template::codes;

use super::{ExprView, Lowerer, error, unsupported};
use crate::ast::{self, ExprKind as K};

impl<'n> Lowerer<'n> {
    /// A part of a constant, at indices that are known only when the model runs: an entry of a table with all its parts.
    pub(super) fn looked_up(&mut self, expr: &'n ast::Expr, view: &ExprView<'n>) -> Parsed<Option<Expr>> {
        let span = expr.span;
        let mut root = expr;
        let mut steps = Vec::new();
        while let K::Index(of, _) | K::Dot(of, _) = &root.kind {
            steps.insert(0, root);
            root = of;
        }
        let Some(constant) = self.known(root, view) else { return Ok(None) };
        let (mut ty, mut known, mut at) = (constant.ty, 0, None);
        for step in steps {
            let (inside, offset) = match &step.kind {
                K::Index(_, index) => self.element_at(ty, index, view, step.span)?,
                K::Dot(_, field) => self.field_at(ty, field)?,
                _ => return Ok(None),
            };
            ty = inside;
            match offset.kind {
                ExprKind::Const(Value::Int(offset)) => known += offset,
                _ => {
                    at = Some(match at {
                        Some(at) => self.b.binary(BinaryOp::Add, at, offset, span),
                        None => offset,
                    })
                }
            }
        }
        if !self.b.model.kind(ty).is_scalar() {
            return unsupported("a whole constant array or record as a value", span);
        }
        let known = self.b.int(known, span);
        let at = at.map_or(known.clone(), |at| self.b.binary(BinaryOp::Add, at, known, span));
        let table = self.table(constant.values.to_vec());
        let entry = Expr { kind: ExprKind::Entry(table, Box::new(at)), ty: self.b.integer, span };
        Ok(Some(if *self.b.model.kind(ty) == Type::Bool { self.as_truth(entry)? } else { entry }))
    }

    pub(super) fn table(&mut self, entries: Vec<i64>) -> TableId {
        let known = self.b.model.tables.enumerate().find(|(_, table)| table.entries == entries);
        match known.map(|(id, _)| id) {
            Some(id) => id,
            None => self.b.model.tables.push(Table { name: format!("{} constants", entries.len()), entries }),
        }
    }

    /// The type of an array's elements, and where the one at an index begins. An index that is outside leads out of every
    /// table.
    fn element_at(
        &mut self,
        ty: TypeId,
        index: &'n ast::Expr,
        view: &ExprView<'n>,
        span: Span,
    ) -> Parsed<(TypeId, Expr)> {
        const OUTSIDE: i64 = -(1 << 40);
        let Type::Array { index: by, element } = *self.b.model.kind(ty) else {
            return error(codes::WRONG_KIND, span, "this is no array");
        };
        let Type::Int { lo, hi } = *self.b.model.kind(by) else {
            return unsupported("a constant array over a scalar type", span);
        };
        let size = self.parts(element) as i64;
        let value = self.integer(index, view)?;
        if let ExprKind::Const(Value::Int(value)) = value.kind {
            let offset = if (lo..=hi).contains(&value) { (value - lo) * size } else { OUTSIDE };
            return Ok((element, self.b.int(offset, span)));
        }
        let number = |value: i64| self.b.int(value, span);
        let inside = vec![
            self.b.binary(BinaryOp::Ge, value.clone(), number(lo), span),
            self.b.binary(BinaryOp::Le, value.clone(), number(hi), span),
        ];
        let inside = self.b.and(inside, span);
        let from_first = self.b.binary(BinaryOp::Sub, value, number(lo), span);
        let offset = self.b.binary(BinaryOp::Mul, from_first, number(size), span);
        let kind = ExprKind::Cond(Box::new(inside), Box::new(offset), Box::new(number(OUTSIDE)));
        Ok((element, Expr { kind, ty: self.b.integer, span }))
    }

    /// The type of a field, and where it begins.
    fn field_at(&mut self, ty: TypeId, name: &ast::Name) -> Parsed<(TypeId, Expr)> {
        let mut at = 0;
        if let Type::Record { fields } = self.b.model.kind(ty) {
            for field in fields {
                if field.name == name.node {
                    return Ok((field.ty, self.b.int(at, name.span)));
                }
                at += self.parts(field.ty) as i64;
            }
        }
        error(codes::UNKNOWN_NAME, name.span, format!("there is no field `{}`", name.node))
    }
}
