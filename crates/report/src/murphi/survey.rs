//! What a model uses: it decides how sorts are written, and who reads the text.

use std::collections::BTreeSet;

use shoal_model::{
    Domain, Expr, ExprKind, Model, Node, OrInternal as _, Place, PropertyKind, SortId, SortSize, Stmt,
    StmtKind, Type, TypeId, TypedId, Value, walk_code, walk_condition, walk_expr,
};

use super::{OrCannotSay, aliasing::ParameterAliases, undefined::MaybeUndefined};
use crate::CannotSay;

/// What is known of a model before anything is written.
pub(crate) struct Survey<'m> {
    model: &'m Model,
    /// Why the elements of a sort are numbers, if they are.
    ranges: Vec<Option<&'static str>>,
    /// The number before the first element of each sort, where elements are numbers.
    bases: Vec<i64>,
    /// Which variables may be undefined.
    pub(crate) undefined: MaybeUndefined<'m>,
    /// What parameters stand for.
    pub(crate) aliasing: ParameterAliases<'m>,
    /// What Rumur does not read.
    pub(crate) not_for_rumur: BTreeSet<&'static str>,
    /// What CMurphi does not read.
    pub(crate) not_for_cmurphi: BTreeSet<&'static str>,
}

impl<'m> Survey<'m> {
    pub(crate) fn new(model: &'m Model) -> OrCannotSay<Survey<'m>> {
        refuse_sorts(model)?;
        let mut not_for_rumur = BTreeSet::new();
        for (ty, def) in model.types.enumerate() {
            match &def.kind {
                Type::Union { .. } if is_of_pointers(model, ty) => {}
                Type::Union { .. } => _ = not_for_rumur.insert("unions"),
                Type::Multiset { .. } => _ = not_for_rumur.insert("multisets"),
                Type::Sequence { .. } => return Err(CannotSay::new("sequences")),
                Type::Clock => return Err(CannotSay::new("clocks")),
                Type::Bool
                | Type::Int { .. }
                | Type::Enum { .. }
                | Type::Ref { .. }
                | Type::Record { .. }
                | Type::Array { .. } => {}
            }
        }
        Ok(Survey {
            model,
            ranges: ranges(model),
            bases: bases(model)?,
            undefined: MaybeUndefined::new(model),
            aliasing: ParameterAliases::new(model),
            not_for_rumur,
            not_for_cmurphi: BTreeSet::new(),
        })
    }

    /// Whether the elements of a sort are numbers.
    pub(crate) fn is_range(&self, sort: SortId) -> bool {
        self.ranges[sort.index()].is_some()
    }

    /// The sorts whose elements are numbers, and why.
    pub(crate) fn ranges(&self) -> Vec<(SortId, &'static str)> {
        let all = self.model.sorts.ids().zip(&self.ranges);
        all.filter_map(|(sort, reason)| reason.map(|reason| (sort, reason))).collect()
    }

    /// The number before that of the first element.
    pub(crate) fn base(&self, sort: SortId) -> i64 {
        self.bases[sort.index()]
    }

    /// The least and the greatest number that stand for the values of a type, where numbers do.
    pub(crate) fn numbers_of(&self, ty: TypeId) -> Option<(i64, i64)> {
        match self.model.kind(ty) {
            Type::Int { lo, hi } => Some((*lo, *hi)),
            Type::Ref { sort, nullable } => {
                let (base, size) = (self.base(*sort), self.model.sorts[*sort].fixed_size()?);
                Some((if *nullable { 0 } else { base + 1 }, base + i64::from(size)))
            }
            Type::Union { members } if is_of_pointers(self.model, ty) => {
                let all: Option<Vec<_>> = members.iter().map(|member| self.numbers_of(*member)).collect();
                let all = all?;
                Some((all.iter().map(|(lo, _)| *lo).min()?, all.iter().map(|(_, hi)| *hi).max()?))
            }
            Type::Bool
            | Type::Enum { .. }
            | Type::Union { .. }
            | Type::Record { .. }
            | Type::Array { .. }
            | Type::Multiset { .. }
            | Type::Sequence { .. }
            | Type::Clock => None,
        }
    }

    /// Whether a range of numbers has some that stand for no value of the type: a pointer to a sort that is not the first.
    pub(crate) fn has_gap(&self, ty: TypeId) -> bool {
        matches!(self.model.kind(ty), Type::Ref { sort, nullable: true } if self.base(*sort) > 0)
    }

    /// How many elements a sort has.
    pub(crate) fn size(&self, sort: SortId) -> OrCannotSay<u32> {
        let sort = &self.model.sorts[sort];
        sort.fixed_size()
            .ok_or_else(|| CannotSay::new(format!("the sort {}, which has no fixed size", sort.name)))
    }
}

fn refuse_sorts(model: &Model) -> OrCannotSay<()> {
    for sort in model.sorts.iter() {
        match sort.size {
            SortSize::Fixed(_) => {}
            SortSize::Growing { .. } => {
                return Err(CannotSay::new(format!("elements of {} that come and go", sort.name)));
            }
            SortSize::Any => {
                return Err(CannotSay::new(format!("any number of elements of {}", sort.name)));
            }
        }
    }
    Ok(())
}

/// Why the elements of each sort are numbers, if they are.
fn ranges(model: &Model) -> Vec<Option<&'static str>> {
    let symmetry = shoal::symmetry_of_steps(model);
    let mut ranges: Vec<Option<&'static str>> = vec![None; model.sorts.len()];
    for (sort, known) in symmetry.sorts.enumerate() {
        if !known.is_proved() {
            ranges[sort.index()] = Some("its elements are not proved to be interchangeable");
        }
    }
    for def in model.types.iter() {
        if let Type::Ref { sort, nullable: true } = def.kind {
            ranges[sort.index()] = Some("a reference to it may be null");
        }
    }
    for ty in model.types.ids().filter(|ty| is_of_pointers(model, *ty)) {
        for sort in model.sorts_of(ty) {
            ranges[sort.index()] = Some("a reference to it may be null");
        }
    }
    let mut note = |node: Node<'_>| note_numbers(model, node, &mut ranges);
    for code in codes(model) {
        walk_code(code, &mut note);
    }
    for rule in model.rules.iter().chain(model.starts.iter()) {
        rule.guard.iter().for_each(|guard| walk_expr(guard, &mut note));
    }
    for property in model.properties.iter().filter(|property| is_written(&property.kind)) {
        property.kind.conditions().into_iter().for_each(|condition| walk_condition(condition, &mut note));
    }
    ranges
}

/// Whether a type is a union of references, and its values are numbers too: one of them may be null, here or in another union.
pub(crate) fn is_of_pointers(model: &Model, ty: TypeId) -> bool {
    let pointed = || {
        let unions = model.types.ids().filter(|ty| may_be_null(model, *ty));
        unions.flat_map(|ty| model.sorts_of(ty)).collect::<BTreeSet<SortId>>()
    };
    is_of_references(model, ty) && {
        let pointed = pointed();
        model.sorts_of(ty).iter().all(|sort| pointed.contains(sort))
    }
}

/// Whether a type is a union of references.
fn is_of_references(model: &Model, ty: TypeId) -> bool {
    let Type::Union { members } = model.kind(ty) else { return false };
    members.iter().all(|ty| matches!(model.kind(*ty), Type::Ref { .. }))
}

/// Whether a type is a union of references one of which may be null.
fn may_be_null(model: &Model, ty: TypeId) -> bool {
    let Type::Union { members } = model.kind(ty) else { return false };
    let is_nullable = |ty: &TypeId| matches!(model.kind(*ty), Type::Ref { nullable: true, .. });
    is_of_references(model, ty) && members.iter().any(is_nullable)
}

/// Elements of sorts in one union have numbers that differ: they follow each other in the order of the union.
fn bases(model: &Model) -> OrCannotSay<Vec<i64>> {
    let unions: Vec<TypeId> = model.types.ids().filter(|ty| is_of_pointers(model, *ty)).collect();
    let together: BTreeSet<SortId> = unions.iter().flat_map(|ty| model.sorts_of(*ty)).collect();
    let (mut bases, mut next) = (vec![0; model.sorts.len()], 0);
    for sort in together {
        bases[sort.index()] = next;
        next += i64::from(
            model.sorts[sort].fixed_size().or_internal("the size of a sort, of which others are refused"),
        );
    }
    for ty in unions {
        let Type::Union { members } = model.kind(ty) else { continue };
        let null_is_first =
            matches!(members.first().map(|ty| model.kind(*ty)), Some(Type::Ref { nullable: true, .. }));
        let has_null = may_be_null(model, ty);
        let first = model.sorts_of(ty).first().map_or(0, |sort| bases[sort.index()]);
        let mut end = if has_null { 0 } else { first };
        for sort in model.sorts_of(ty) {
            if bases[sort.index()] != end || (has_null && !null_is_first) {
                return Err(CannotSay::new("a union whose values are no numbers in a row"));
            }
            end += i64::from(
                model.sorts[sort].fixed_size().or_internal("the size of a sort, of which others are refused"),
            );
        }
    }
    Ok(bases)
}

/// Whether a property has a condition in the text.
fn is_written(kind: &PropertyKind) -> bool {
    !matches!(kind, PropertyKind::Temporal(..) | PropertyKind::CoverDeadlock(_))
}

/// All pieces of code.
pub(crate) fn codes(model: &Model) -> impl Iterator<Item = &shoal_model::Code> {
    let rules = model.starts.iter().chain(model.rules.iter()).map(|rule| &rule.code);
    model.functions.iter().map(|function| &function.code).chain(rules)
}

fn note_numbers(model: &Model, node: Node<'_>, ranges: &mut [Option<&'static str>]) {
    let mut set = |sorts: Vec<SortId>, why| sorts.iter().for_each(|sort| ranges[sort.index()] = Some(why));
    match node {
        Node::Expr(Expr { kind: ExprKind::Const(Value::Elem(sort, _)), .. }) => {
            set(vec![*sort], "the model names one of its elements");
        }
        Node::Expr(Expr { kind: ExprKind::ElementAt(sort, _), .. }) => {
            set(vec![*sort], "the model asks for the numbers of its elements");
        }
        Node::Expr(Expr { kind: ExprKind::Ordinal(of), .. }) => {
            set(model.sorts_of(of.ty), "the model asks for the numbers of its elements");
        }
        Node::Stmt(Stmt { kind: StmtKind::Clear(place), .. }) => {
            set(cleared(model, place.ty), "the model sets a reference to its first element");
        }
        Node::Expr(_) | Node::Stmt(_) | Node::Place(_) => {}
    }
}

/// Sorts whose first element a cleared value of a type has.
fn cleared(model: &Model, ty: TypeId) -> Vec<SortId> {
    model
        .sorts
        .ids()
        .filter(|sort| model.type_contains(ty, &|part| *part == Type::Ref { sort: *sort, nullable: false }))
        .collect()
}

/// The number that an expression is, if it is one.
pub(crate) fn constant(expr: &Expr) -> Option<i64> {
    match &expr.kind {
        ExprKind::Const(value) => value.as_int(),
        _ => None,
    }
}

/// The numbers of a range with constant bounds.
pub(crate) fn numbers(domain: &Domain) -> Option<(i64, i64, i64)> {
    match domain {
        Domain::Range { from, to, by } => Some((constant(from)?, constant(to)?, constant(by)?)),
        Domain::Type(_) | Domain::Slots(_) => None,
    }
}

/// Whether a range has no number. Rumur refuses one whose bounds are constants.
pub(crate) fn is_empty(domain: &Domain) -> bool {
    numbers(domain).is_some_and(|(from, to, by)| if by > 0 { from > to } else { by < 0 && from < to })
}

/// The place that an argument copies as it is, if it is one.
pub(crate) fn copied(expr: &Expr) -> Option<&Place> {
    match &expr.kind {
        ExprKind::Read(place) | ExprKind::Peek(place) => Some(place),
        _ => None,
    }
}
