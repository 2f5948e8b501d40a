//! Ranges of integers that only tell processes apart, as sorts.
//!
//! Most models number their processes (`typedef int[1,N] id_t; process P(const id_t id)`) and then do nothing with the numbers
//! but to compare, store and pass them. Such a network means the same if the range is a scalar type, and then processes are
//! interchangeable. Which variables hold numbers of processes is found by trying: a declaration of integers that meets an
//! element is noted, and the network is lowered again with a holder of elements in its place, until nothing new is met. If
//! something is done with an element that only a number can, the trial has failed and the network is lowered with numbers.
//!
//! A holder may also hold one number outside of the range (`id := 0` for "nobody" where processes count from 1): that is the
//! null reference. Where a quantifier is a conjunction that ends early, one over a sort looks at every element; so
//! what could fault there is left to numbers.

use std::{
    cell::{Cell, RefCell},
    collections::{BTreeMap, BTreeSet},
};

use shoal_model::{
    Expr, ExprKind, Place, Projection, Sort, SortId, SortSize, Type, TypeDef, TypeId, UnaryOp, Value,
};
use shoal_syntax::{Span, cursor::Parsed};
use shoal_template::codes;

use super::{Lowerer, error};
use crate::ast::{Declaration, Nta, Parameter, TypeKind};

/// A declaration of integers: where its type or its size stands, and the name that it gives.
pub(super) type Declared = (Span, String);

/// A range that is tried as a sort, and what is known of it.
#[derive(Clone, Debug, Default)]
pub(super) struct Trial {
    /// The declaration of the range.
    range: Declared,
    /// Declarations of integers that hold elements.
    holders: BTreeSet<Declared>,
    /// The sort, and the least and greatest number of its elements.
    sort: Option<(SortId, i64, i64)>,
    /// The types of integers and holders, as they are declared.
    declared: BTreeMap<TypeId, (Declared, i64, i64)>,
    /// The one number that is no element.
    nobody: Cell<Option<i64>>,
    /// Declarations that have met an element.
    met: RefCell<BTreeSet<Declared>>,
}

impl Trial {
    /// The ranges to try: those of parameters that the system line leaves open.
    pub(super) fn candidates(nta: &Nta) -> Vec<Trial> {
        let typedef = |of: &str| {
            nta.declarations.iter().find_map(|declaration| match declaration {
                Declaration::Type(name, shape) if name.node == of && shape.dimensions.is_empty() => {
                    matches!(shape.base.kind, TypeKind::Int(Some(_)))
                        .then(|| (shape.base.span, name.node.clone()))
                }
                _ => None,
            })
        };
        let mut found: Vec<Trial> = Vec::new();
        for (name, _) in &nta.system {
            for parameter in open_parameters(nta, &name.node) {
                let TypeKind::Name(of) = &parameter.shape.base.kind else { continue };
                if let Some(range) = typedef(of)
                    && found.iter().all(|trial| trial.range != range)
                {
                    found.push(Trial { range, ..Trial::default() });
                }
            }
        }
        found
    }

    /// The trial with what has been met as holders; nothing if nothing new was.
    pub(super) fn again(&self) -> Option<Trial> {
        let met = self.met.take();
        let new = met.iter().any(|declared| !self.holders.contains(declared));
        let holders = self.holders.union(&met).cloned().collect();
        new.then(|| Trial { range: self.range.clone(), holders, ..Trial::default() })
    }

    /// Whether the number that is no element is in the range of everything that may hold it: where it is not, storing it faults,
    /// and a null reference would not.
    pub(super) fn nobody_fits(&self) -> bool {
        let holders = || self.declared.values().filter(|(declared, ..)| self.holders.contains(declared));
        self.nobody.get().is_none_or(|nobody| holders().all(|(_, lo, hi)| (*lo..=*hi).contains(&nobody)))
    }

    /// The sort, once it is declared.
    pub(super) fn sort(&self) -> Option<SortId> {
        self.sort.map(|(sort, ..)| sort)
    }
}

/// The parameters that a name in the system line leaves open.
fn open_parameters<'n>(nta: &'n Nta, name: &str) -> &'n [Parameter] {
    if let Some(instance) = nta.instances.iter().find(|instance| instance.name.node == name) {
        return &instance.parameters;
    }
    let named = |own: &Option<crate::ast::Name>| own.as_ref().is_some_and(|own| own.node == name);
    nta.templates.iter().find(|template| named(&template.name)).map_or(&[], |template| &template.parameters)
}

/// The number that an expression is.
fn known(expr: &Expr) -> Option<i64> {
    match &expr.kind {
        ExprKind::Const(Value::Int(number)) => Some(*number),
        ExprKind::Unary(UnaryOp::Neg, of) => known(of)?.checked_neg(),
        _ => None,
    }
}

impl Lowerer<'_> {
    /// The type of integers that are declared so, or of what takes their place in a trial.
    pub(super) fn integers_declared(&mut self, declared: Declared, lo: i64, hi: i64) -> Parsed<TypeId> {
        let kind = Type::Int { lo, hi };
        let Some(trial) = &mut self.trial else { return Ok(self.b.ty(kind)) };
        if declared == trial.range {
            return self.range_as_sort(declared, lo, hi);
        }
        let kind = match (trial.sort, trial.holders.contains(&declared)) {
            (Some((sort, least, most)), true) if lo <= least && most <= hi => {
                Type::Ref { sort, nullable: true }
            }
            (_, true) => return error(codes::WRONG_KIND, declared.0, "this does not hold all elements"),
            (_, false) => kind,
        };
        // A type of its own, by which its declaration is found again.
        let ty = self.b.model.types.push(TypeDef { name: None, kind });
        trial.declared.insert(ty, (declared, lo, hi));
        Ok(ty)
    }

    fn range_as_sort(&mut self, declared: Declared, lo: i64, hi: i64) -> Parsed<TypeId> {
        let (span, name) = declared;
        let size = hi.checked_sub(lo).and_then(|most| u32::try_from(most + 1).ok());
        let (Some(size), Ok(first)) = (size, u32::try_from(lo)) else {
            return error(codes::OUT_OF_RANGE, span, "these numbers are not those of processes");
        };
        let sort = self.b.model.sorts.push(Sort { name, size: SortSize::Fixed(size), first, span });
        if let Some(trial) = &mut self.trial {
            trial.sort = Some((sort, lo, hi));
        }
        Ok(self.b.reference(sort, false))
    }

    /// The type by which an array of so many entries is indexed.
    pub(super) fn size_declared(&mut self, declared: Declared, size: i64) -> Parsed<TypeId> {
        let holds = self.trial.as_ref().is_some_and(|trial| trial.holders.contains(&declared));
        match self.trial.as_ref().and_then(|trial| trial.sort) {
            Some((sort, 0, most)) if holds && most == size - 1 => Ok(self.b.reference(sort, false)),
            _ if holds => {
                error(codes::WRONG_KIND, declared.0, "this array has not an entry for each element")
            }
            _ => self.integers_declared(declared, 0, size - 1),
        }
    }

    /// Whether a type is that of elements that are numbers in the source.
    pub(super) fn is_numbered(&self, ty: TypeId) -> bool {
        let sort = self.trial.as_ref().and_then(Trial::sort);
        matches!(self.b.model.kind(ty), Type::Ref { sort: of, .. } if Some(*of) == sort)
    }

    /// Notes that integers which are declared so meet elements.
    pub(super) fn meets_elements(&self, ty: TypeId) {
        if let Some(trial) = &self.trial
            && let Some((declared, ..)) = trial.declared.get(&ty)
        {
            trial.met.borrow_mut().insert(declared.clone());
        }
    }

    /// A value as an element or as nobody, where one is needed.
    pub(super) fn as_element(&self, value: Expr, ty: TypeId) -> Parsed<Expr> {
        let span = value.span;
        match (known(&value), self.b.model.kind(value.ty)) {
            (Some(number), _) => self.numbered(number, ty, span),
            (None, Type::Int { .. }) => {
                self.meets_elements(value.ty);
                error(codes::WRONG_KIND, span, "a number where an element is needed")
            }
            _ => Ok(value),
        }
    }

    /// The element that has a number.
    fn numbered(&self, number: i64, ty: TypeId, span: Span) -> Parsed<Expr> {
        let Some(trial) = &self.trial else {
            return error(codes::INTERNAL, span, "an element with a number outside of a trial");
        };
        let nullable = matches!(self.b.model.kind(ty), Type::Ref { nullable: true, .. });
        match trial.sort {
            Some((sort, least, most)) if (least..=most).contains(&number) => {
                // (The difference is below the size, which is a u32.)
                Ok(self.b.constant(Value::Elem(sort, (number - least) as u32), ty, span))
            }
            _ if nullable && trial.nobody.get().is_none_or(|nobody| nobody == number) => {
                trial.nobody.set(Some(number));
                Ok(self.b.constant(Value::Null, ty, span))
            }
            _ => error(codes::WRONG_KIND, span, "a number that no element has"),
        }
    }

    /// What a variable that holds elements begins with; nothing if it holds those of a scalar type.
    pub(super) fn first_number(&self, ty: TypeId, number: Option<i64>, span: Span) -> Option<Parsed<Expr>> {
        let trial = self.trial.as_ref().filter(|_| self.is_numbered(ty))?;
        let (lo, hi) = match (trial.declared.get(&ty), trial.sort) {
            (Some((_, lo, hi)), _) => (*lo, *hi),
            (None, Some((_, lo, hi))) => (lo, hi),
            (None, None) => return None,
        };
        let least = if (lo..=hi).contains(&0) { 0 } else { lo };
        Some(self.numbered(number.unwrap_or(least), ty, span))
    }

    /// Two values that are compared or chosen between: a number beside an element is one.
    pub(super) fn both_elements(&self, left: Expr, right: Expr) -> Parsed<(Expr, Expr)> {
        match (self.is_numbered(left.ty), self.is_numbered(right.ty)) {
            (true, false) => {
                let right = self.as_element(right, left.ty)?;
                Ok((left, right))
            }
            (false, true) => Ok((self.as_element(left, right.ty)?, right)),
            (true, true) | (false, false) => Ok((left, right)),
        }
    }

    /// Whether an expression has a value in every state.
    pub(super) fn never_faults(&self, expr: &Expr) -> bool {
        let all = |parts: &[Expr]| parts.iter().all(|part| self.never_faults(part));
        match &expr.kind {
            ExprKind::Const(_) => true,
            ExprKind::Read(place) => self.is_there(place),
            ExprKind::Unary(_, of) => self.never_faults(of),
            ExprKind::And(parts) | ExprKind::Or(parts) => all(parts),
            ExprKind::Implies(left, right) | ExprKind::Equal(left, right) => {
                self.never_faults(left) && self.never_faults(right)
            }
            ExprKind::Binary(op, left, right) => {
                op.compares() && self.never_faults(left) && self.never_faults(right)
            }
            ExprKind::Quantified { body, .. } => self.never_faults(body),
            ExprKind::Cond(condition, then, other) => {
                [condition, then, other].into_iter().all(|part| self.never_faults(part))
            }
            // What may fault, or is not looked into.
            ExprKind::Peek(_)
            | ExprKind::IsUndefined(_)
            | ExprKind::Call(..)
            | ExprKind::IsMember(..)
            | ExprKind::Ordinal(_)
            | ExprKind::ElementAt(..)
            | ExprKind::Entry(..)
            | ExprKind::Len(_)
            | ExprKind::Exists(_) => false,
        }
    }

    /// Whether every index of a place is an element.
    fn is_there(&self, place: &Place) -> bool {
        place.path.iter().all(|projection| match projection {
            Projection::Index(index) => {
                matches!(self.b.model.kind(index.ty), Type::Ref { nullable: false, .. })
                    && self.never_faults(index)
            }
            Projection::Field(_) => true,
            Projection::Slot(_) | Projection::Item(_) => false,
        })
    }
}
