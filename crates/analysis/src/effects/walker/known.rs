//! What is known of the values of locals: parts that were given a value, and conditions that this decides.
//!
//! Generators of protocols write `msg.dst := machine_of(n)` with a record of which one field is defined, and then ask which:
//! `if !isundefined(msg.dst.cache)`. So values are followed field by field, into records that functions return, and what
//! cannot happen is not walked.

use shoal_model::{
    CheckKind, Expr, ExprKind, Projection, Root, Stmt, StmtKind, Type, TypeId, UnaryOp, Value,
};

use super::{Walker, common};
use crate::effects::{
    AbstractValue, AccessBase, AccessPath, AccessStep, Fact, LocalRef, Written, differ, of_other_types,
};
use crate::mutant::{self, AnalysisMutant};

/// Parts of a value that are known: the way to each, and what it is.
pub(super) type KnownParts = Vec<(Vec<AccessStep>, AbstractValue)>;

impl<'a> Walker<'a> {
    /// After a write: what is known of the values of locals.
    pub(super) fn learn(&mut self, location: &AccessPath, written: &Written) {
        if !mutant::is(AnalysisMutant::WritesForgetNothing) {
            self.known.retain(|(known, _)| !known.may_meet(location));
        }
        match written {
            Written::Value(sym) => self.know(location, &[(vec![], sym.clone())]),
            Written::Undefined => {
                let mut leaves = KnownParts::new();
                if let Some(ty) = location.end(self.model) {
                    self.undefined(ty, &mut vec![], &mut leaves);
                }
                self.know(location, &leaves);
            }
            // The parts of a copy are known to whoever copies.
            Written::Copy(_)
            | Written::Least
            | Written::Highest
            | Written::Lowest
            | Written::Increased
            | Written::Decreased
            | Written::Raised
            | Written::Lowered
            | Written::Added
            | Written::Removed
            | Written::Changed => {}
        }
    }

    /// Adds what is known of the parts of a location.
    pub(super) fn know(&mut self, location: &AccessPath, parts: &[(Vec<AccessStep>, AbstractValue)]) {
        let followed = matches!(location.base, AccessBase::Local(_))
            && location.path.iter().all(|step| matches!(step, AccessStep::Field(_)));
        for (path, sym) in parts.iter().filter(|(_, sym)| followed && *sym != AbstractValue::Unknown) {
            let mut part = location.clone();
            part.path.extend(path.iter().cloned());
            self.known.retain(|(known, _)| *known != part);
            self.known.push((part, sym.clone()));
        }
    }

    /// The fields of an undefined value, down to those that are no records.
    fn undefined(&self, ty: TypeId, path: &mut Vec<AccessStep>, leaves: &mut KnownParts) {
        match self.model.kind(ty) {
            Type::Record { fields } => {
                for (at, field) in fields.iter().enumerate() {
                    path.push(AccessStep::Field(at as u32));
                    self.undefined(field.ty, path, leaves);
                    path.pop();
                }
            }
            Type::Bool | Type::Int { .. } | Type::Enum { .. } | Type::Ref { .. } | Type::Union { .. } => {
                leaves.push((path.clone(), AbstractValue::Const(Value::Undefined)));
            }
            Type::Array { .. } | Type::Multiset { .. } | Type::Sequence { .. } | Type::Clock => {}
        }
    }

    /// What is known of the parts of an expression that was just walked.
    pub(super) fn parts(&mut self, expr: &Expr) -> KnownParts {
        match &expr.kind {
            ExprKind::Call(..) => match self.fold(expr) {
                Some(value) => vec![(vec![], AbstractValue::Const(value))],
                None => std::mem::take(&mut self.returned),
            },
            ExprKind::Read(place) | ExprKind::Peek(place) => match self.sym(expr) {
                AbstractValue::Unknown => self.parts_at(place.root, &place.path),
                sym => vec![(vec![], sym)],
            },
            _ => match self.sym(expr) {
                AbstractValue::Unknown => vec![],
                sym => vec![(vec![], sym)],
            },
        }
    }

    pub(super) fn parts_at(&self, root: Root, path: &[Projection]) -> KnownParts {
        let Some(location) = self.fields_from(root, path) else { return vec![] };
        let inside = self.known.iter().filter(|(known, _)| location.contains(known));
        inside.map(|(known, sym)| (known.path[location.path.len()..].to_vec(), sym.clone())).collect()
    }

    /// The location that fields lead to; nothing if there is more than fields on the way.
    pub(super) fn fields_from(&self, root: Root, path: &[Projection]) -> Option<AccessPath> {
        let (mut location, _) = self.root(root);
        for step in path {
            match step {
                Projection::Field(field) => location.path.push(AccessStep::Field(*field)),
                Projection::Index(_) | Projection::Slot(_) | Projection::Item(_) => return None,
            }
        }
        Some(location)
    }

    /// Of a function that returns in several places: what all of them return.
    pub(super) fn note_result(&mut self, parts: KnownParts) {
        let before = self.frame.result.take();
        self.frame.result = Some(match before {
            Some(before) => common(before, &parts),
            None => parts,
        });
    }

    /// Whether a condition holds, where what is known decides it. Should it fault, nothing that hangs on it happens.
    pub(super) fn truth(&self, condition: &Expr) -> Option<bool> {
        match &condition.kind {
            ExprKind::Unary(UnaryOp::Not, operand) => self.truth(operand).map(|truth| !truth),
            ExprKind::And(operands) => self.truths(operands, false),
            ExprKind::Or(operands) => self.truths(operands, true),
            ExprKind::Implies(left, right) => match (self.truth(left), self.truth(right)) {
                (Some(false), _) | (_, Some(true)) => Some(true),
                (Some(true), right) => right,
                (None, _) => None,
            },
            ExprKind::IsUndefined(place) => match self.sym_at(place) {
                AbstractValue::Const(value) => Some(value == Value::Undefined),
                AbstractValue::Fixed(local) => self.ranging.contains_key(&local).then_some(false),
                AbstractValue::Unknown => None,
            },
            ExprKind::Equal(left, right) => self.equal(&self.sym(left), &self.sym(right)),
            ExprKind::IsMember(operand, member) => match self.sym(operand) {
                sym @ AbstractValue::Fixed(local) if self.ranging.contains_key(&local) => {
                    self.is_member(&sym, *member)
                }
                AbstractValue::Fixed(_) | AbstractValue::Const(_) | AbstractValue::Unknown => None,
            },
            _ => match self.fold(condition) {
                Some(Value::Bool(truth)) => Some(truth),
                _ => None,
            },
        }
    }

    /// What operands come to of which one that is `by` decides.
    fn truths(&self, operands: &[Expr], by: bool) -> Option<bool> {
        let mut all = Some(!by);
        for operand in operands {
            match self.truth(operand) {
                Some(truth) if truth == by => return Some(by),
                Some(_) => {}
                None => all = None,
            }
        }
        all
    }

    fn equal(&self, left: &AbstractValue, right: &AbstractValue) -> Option<bool> {
        match (left, right) {
            (AbstractValue::Unknown, _) | (_, AbstractValue::Unknown) => None,
            (left, right) if left == right => Some(true),
            (AbstractValue::Const(_), AbstractValue::Const(_)) => Some(false),
            (AbstractValue::Fixed(local), AbstractValue::Const(Value::Undefined))
            | (AbstractValue::Const(Value::Undefined), AbstractValue::Fixed(local))
                if self.ranging.contains_key(local) =>
            {
                Some(false)
            }
            _ => {
                let facts = &self.facts[..];
                let apart =
                    differ(facts, left, right) || of_other_types(self.model, (facts, left), (facts, right));
                apart.then_some(false)
            }
        }
    }

    /// Whether a value is of a type, as far as facts say.
    fn is_member(&self, sym: &AbstractValue, member: TypeId) -> Option<bool> {
        self.facts.iter().find_map(|fact| match fact {
            Fact::Is(of, ty) if of == sym => match self.model.kind(*ty) {
                Type::Ref { nullable: false, .. } | Type::Enum { .. }
                    if self.model.same_values(*ty, member) =>
                {
                    Some(true)
                }
                _ => (!self.model.may_meet(*ty, member)).then_some(false),
            },
            Fact::Is(..) | Fact::Differ(..) => None,
        })
    }

    /// What is known of a value of a union that is not of one of its members: it is of the other, if there is one other. It is
    /// known only of what is defined.
    pub(super) fn is_other(&self, local: LocalRef, ty: TypeId, member: TypeId) -> Vec<Fact> {
        let Type::Union { members } = self.model.kind(ty) else { return vec![] };
        let others: Vec<TypeId> =
            members.iter().copied().filter(|other| !self.model.same_values(*other, member)).collect();
        match others[..] {
            [other] if self.ranging.contains_key(&local) => {
                vec![Fact::Is(AbstractValue::Fixed(local), other)]
            }
            _ => vec![],
        }
    }
}

/// Whether nothing that stands after a block is executed: it ends in a return or in an error.
pub(super) fn ends(block: &[Stmt]) -> bool {
    match block.last().map(|stmt| &stmt.kind) {
        Some(StmtKind::Return(_)) => true,
        Some(StmtKind::Check { kind, condition: None, .. }) => match kind {
            CheckKind::Assert | CheckKind::Assume => true,
            CheckKind::Cover => false,
        },
        Some(StmtKind::If(arms, other)) => arms.iter().all(|(_, arm)| ends(arm)) && ends(other),
        _ => false,
    }
}
