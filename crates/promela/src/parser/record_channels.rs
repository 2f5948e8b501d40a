//! Channels that are declared as fields of a `typedef`.
//!
//! With `typedef T { chan c[m] = [n] of { ... } }`, a variable `T x[k]` makes k * m channels, which nothing else can take the
//! place of. They are a variable of their own, an array of them all, and `x[i].c[j]` is its element i * m + j.

use std::rc::Rc;

use shoal_model::BinaryOp;
use shoal_syntax::{Span, Spanned};

use super::{DeclaredItem, OrReported, Parser};
use crate::ast::{Expr, ExprKind, Field, Init, Type, VarRef, VariableId};

/// The fields that lead from a variable to channels of it.
pub(super) type ChannelPath = Vec<Rc<str>>;

impl Parser {
    /// Declares the channels that belong to a variable, beside it.
    pub(super) fn declare_channels_of(&mut self, owner: VariableId) {
        let variable = self.program.variables[owner].clone();
        let Type::Record(record) = variable.ty else { return };
        let mut found = Vec::new();
        self.channels_in(record, &mut Vec::new(), variable.length.into_iter().collect(), &mut found);
        for (path, lengths, field) in found {
            let name = format!("{}.{}", variable.name.node, path.join("."));
            let declared = DeclaredItem {
                name: Spanned::new(name.into(), variable.name.span),
                ty: Type::Chan,
                length: (!lengths.is_empty())
                    .then(|| lengths.iter().fold(1u32, |all, one| all.saturating_mul(*one))),
                init: field.init,
                hidden: variable.is_hidden,
            };
            let channels = self.declare(declared, variable.is_global, false);
            self.record_channels.insert((owner, path), channels);
        }
    }

    /// The fields of a record that declare channels, with the lengths of all arrays on the way.
    fn channels_in(
        &self,
        record: usize,
        path: &mut ChannelPath,
        lengths: Vec<u32>,
        found: &mut Vec<(ChannelPath, Vec<u32>, Field)>,
    ) {
        for field in &self.program.typedefs[record].fields {
            let mut lengths = lengths.clone();
            lengths.extend(field.length);
            path.push(field.name.node.clone());
            match (&field.ty, &field.init) {
                (Type::Record(inner), _) => self.channels_in(*inner, path, lengths, found),
                (Type::Chan, Some(Init::Channel { .. })) => {
                    found.push((path.clone(), lengths, field.clone()))
                }
                _ => {}
            }
            path.pop();
        }
    }

    /// A record with channels of its own cannot be where others could come to hold them.
    pub(super) fn refuse_channels_in(&mut self, ty: &Type, span: Span, place: &str) -> OrReported<()> {
        let Type::Record(record) = ty else { return Ok(()) };
        let mut found = Vec::new();
        self.channels_in(*record, &mut Vec::new(), Vec::new(), &mut found);
        match found.first() {
            None => Ok(()),
            Some(_) => self.unsupported(span, &format!("a record that declares channels {place}")),
        }
    }

    /// Puts the channels of a record in the place of the field that declares them.
    pub(super) fn channel_of_record(&self, var: VarRef) -> VarRef {
        let path: ChannelPath = var.fields.iter().map(|(name, _)| name.node.clone()).collect();
        let Some(channels) = self.record_channels.get(&(var.variable, path)) else { return var };
        let Some(indices) = self.indices(&var) else { return var };
        let span = var.span;
        let int = |value: u32| Expr { kind: ExprKind::Int(i64::from(value)), span };
        let binary = |op, a: Expr, b: Expr| Expr { kind: ExprKind::Binary(op, a.into(), b.into()), span };
        let index = indices.into_iter().reduce(|(before, length), (index, inner)| {
            // An index that is too large would lead to a channel of the next record.
            let low = binary(BinaryOp::Ge, index.clone(), int(0));
            let high = binary(BinaryOp::Lt, index.clone(), int(inner));
            let within = Expr { kind: ExprKind::And(low.into(), high.into()), span };
            let at = binary(BinaryOp::Add, binary(BinaryOp::Mul, before, int(inner)), index.clone());
            let nowhere = Expr { kind: ExprKind::Neg(int(1).into()), span };
            let kind = match self.fold(&within) {
                Some(1) => at.kind,
                _ => ExprKind::Cond(within.into(), at.into(), nowhere.into()),
            };
            (Expr { kind, span }, length.saturating_mul(inner))
        });
        let index = index.map(|(index, _)| Box::new(index));
        VarRef { variable: *channels, index, fields: Vec::new(), span }
    }

    /// The indices of a variable and its fields, with the lengths of the arrays. Nothing where one is missing or too much.
    fn indices(&self, var: &VarRef) -> Option<Vec<(Expr, u32)>> {
        let variable = &self.program.variables[var.variable];
        let mut all = vec![(var.index.as_deref().cloned(), variable.length)];
        let mut ty = &variable.ty;
        for (name, index) in &var.fields {
            let Type::Record(record) = ty else { return None };
            let fields = &self.program.typedefs[*record].fields;
            let field = fields.iter().find(|field| field.name.node == name.node)?;
            all.push((index.clone(), field.length));
            ty = &field.ty;
        }
        let fits = all.iter().all(|(index, length)| index.is_some() == length.is_some());
        fits.then(|| all.into_iter().filter_map(|(index, length)| Some((index?, length?))).collect())
    }
}
