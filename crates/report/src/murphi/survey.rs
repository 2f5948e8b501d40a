//! What a model uses: it decides how sorts are written, and who reads the text.

use std::collections::BTreeSet;

use shoal_model::{
    Domain, Expr, ExprKind, Model, Node, Place, PropertyKind, SortId, SortSize, Stmt, StmtKind, Type, TypeId, TypedId,
    Value, walk_code, walk_condition, walk_expr,
};

use super::{Said, aliasing::Aliasing, undefined::MaybeUndefined};
use crate::CannotSay;

/// What is known of a model before anything is written.
pub(crate) struct Survey<'m> {
    model: &'m Model,
    /// Why the elements of a sort are numbers, if they are.
    ranges: Vec<Option<&'static str>>,
    /// Which variables may be undefined.
    pub(crate) undefined: MaybeUndefined<'m>,
    /// What parameters stand for.
    pub(crate) aliasing: Aliasing<'m>,
    /// What Rumur does not read.
    pub(crate) not_for_rumur: BTreeSet<&'static str>,
    /// What CMurphi does not read.
    pub(crate) not_for_cmurphi: BTreeSet<&'static str>,
}

impl<'m> Survey<'m> {
    pub(crate) fn new(model: &'m Model) -> Said<Survey<'m>> {
        refuse_sorts(model)?;
        let mut not_for_rumur = BTreeSet::new();
        for def in model.types.iter() {
            match &def.kind {
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
            undefined: MaybeUndefined::new(model),
            aliasing: Aliasing::new(model),
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

    /// How many elements a sort has.
    pub(crate) fn size(&self, sort: SortId) -> Said<u32> {
        let sort = &self.model.sorts[sort];
        sort.fixed_size().ok_or_else(|| CannotSay::new(format!("the sort {}, which has no fixed size", sort.name)))
    }
}

fn refuse_sorts(model: &Model) -> Said<()> {
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

/// The place that an argument copies as it is, if it is one.
pub(crate) fn copied(expr: &Expr) -> Option<&Place> {
    match &expr.kind {
        ExprKind::Read(place) | ExprKind::Peek(place) => Some(place),
        _ => None,
    }
}
