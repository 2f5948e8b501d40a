//! Whether the elements of a sort are interchangeable.
//!
//! A sort is proved symmetric if every rule, start, function and condition does the same to a state with the
//! elements permuted as to the state itself, permuted afterwards. The Model is made so that this holds of
//! everything in it, with these exceptions, which are all that is looked for here:
//!
//! - A constant names an element. The element is *pinned*: permutations that leave it alone are still fine.
//! - `Ordinal` and `ElementAt` turn elements into numbers and back.
//! - `Clear` gives a reference the least element.
//! - A loop over the elements is executed from the first to the last; see the module `commute`.
//! - A quantifier whose body calls a function with effects is such a loop in disguise.
//! - The slots of a bag are in the order of what they hold, or of how it was put there. So a loop over slots
//!   must commute as well, or the order of elements that the bag holds shows. (Quantifiers over slots look at
//!   all of them, as those over elements do.)
//!
//! Elements of growing sorts are interchangeable by the same rules: a new element is any fresh one.

use std::collections::BTreeSet;

use shoal_model::{
    CheckKind, Code, Domain, Expr, ExprKind, FunctionId, IndexVec, Model, Node, Parameter, Place, Property,
    PropertyId, PropertyKind, Rule, SortId, Stmt, StmtKind, Type, TypeId, TypedId, Value, walk_argument,
    walk_code, walk_condition, walk_domain, walk_expr,
};
use shoal_syntax::Span;

use crate::{
    commute::{Conflict, ConflictKind},
    effects::{Action, Event, Footprint, Source, Written},
    loops::{Loop, for_each_loop},
    mirror,
};

/// Which sorts of a model are symmetric.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Symmetry {
    /// What is known of each sort.
    pub sorts: IndexVec<SortId, SortSymmetry>,
}

/// What is known of the symmetry of a sort.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SortSymmetry {
    /// What breaks it, in the order of the source; empty if it is proved that its elements are
    /// interchangeable, but for those pinned.
    pub breaks: Vec<Break>,
    /// The elements that the model names outside of temporal properties and fairness. They stay put; the others may
    /// be permuted.
    pub pinned: BTreeSet<u32>,
}

/// A part of the source that tells elements apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Break {
    /// Where.
    pub span: Span,
    /// One sentence for people, without a capital or a full stop.
    pub reason: String,
    /// What kind of part.
    pub kind: BreakKind,
}

/// The ways to tell elements apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BreakKind {
    /// The number of an element is used.
    Ordinal,
    /// An element is found by its number.
    ElementAt,
    /// A reference is set to the least element.
    Clear,
    /// The last round of a loop decides what stays.
    LastWrite,
    /// A round of a loop reads what other rounds write.
    CrossRead,
    /// A loop is left early.
    EarlyExit,
    /// A round of a loop may end the step without a fault.
    DroppedStep,
    /// Elements are created or deleted in a loop.
    Population,
    /// A quantifier calls a function with effects.
    Effects,
    /// A loop could not be followed: recursion, or too much code.
    NotFollowed,
}

impl SortSymmetry {
    /// Whether the elements that are not pinned are proved interchangeable.
    pub fn is_proved(&self) -> bool {
        self.breaks.is_empty()
    }
}

/// Says for each sort whether its elements are interchangeable, and if not, why.
pub fn symmetry(model: &Model) -> Symmetry {
    let mut search = Search::new(model);
    search.model();
    search.finish()
}

/// The elements of each sort that stay put while some properties are decided: those that the model names, and those that
/// the properties name. Every permutation that leaves them alone changes no verdict on these properties.
pub fn fixed(model: &Model, properties: &[PropertyId]) -> IndexVec<SortId, BTreeSet<u32>> {
    let mut fixed: IndexVec<SortId, BTreeSet<u32>> =
        symmetry(model).sorts.iter().map(|sort| sort.pinned.clone()).collect();
    let asked = properties.iter().flat_map(|id| model.properties[*id].kind.conditions());
    for (sort, element) in asked.chain(&model.fairness).flat_map(mirror::named) {
        fixed[sort].insert(element);
    }
    fixed
}

/// The search for what tells elements apart.
struct Search<'a> {
    model: &'a Model,
    found: IndexVec<SortId, SortSymmetry>,
    /// For each function, whether the order in which calls of it are made may show.
    has_effects: Vec<bool>,
    /// Breaks by the order of slots, with the sorts whose elements the bag holds. Further sorts are to blame
    /// if a loop fills bags in their order, which is known at the end.
    by_slots: Vec<(Vec<SortId>, Break)>,
    /// The sorts in whose order loops fill bags.
    fill_bags: BTreeSet<SortId>,
}

impl<'a> Search<'a> {
    fn new(model: &'a Model) -> Self {
        Search {
            model,
            found: model.sorts.iter().map(|_| SortSymmetry::default()).collect(),
            has_effects: functions_with_effects(model),
            by_slots: Vec::new(),
            fill_bags: BTreeSet::new(),
        }
    }

    fn model(&mut self) {
        let model = self.model;
        for rule in model.starts.iter().chain(model.rules.iter()) {
            self.rule(rule);
        }
        for (id, function) in model.functions.enumerate() {
            self.code(&function.code);
            self.loops(Source::function(model, id));
        }
        let is_temporal = |property: &&Property| matches!(property.kind, PropertyKind::Temporal(..));
        let of_others = model.properties.iter().filter(|it| !is_temporal(it));
        let conditions = of_others.flat_map(|property| property.kind.conditions());
        for condition in conditions.chain(&model.while_time_passes) {
            walk_condition(condition, &mut |node| self.node(node));
        }
        // What temporal properties name matters only where those are decided.
        let pinned: Vec<BTreeSet<u32>> = self.found.iter().map(|sort| sort.pinned.clone()).collect();
        let of_temporal = model.properties.iter().filter(is_temporal);
        let conditions = of_temporal.flat_map(|property| property.kind.conditions());
        for condition in conditions.chain(&model.fairness) {
            walk_condition(condition, &mut |node| self.node(node));
        }
        self.found.iter_mut().zip(pinned).for_each(|(sort, pinned)| sort.pinned = pinned);
    }

    fn rule(&mut self, rule: &'a Rule) {
        let mut visit = |node| self.node(node);
        for Parameter { domain, .. } in &rule.params {
            walk_domain(domain, &mut visit);
        }
        rule.bindings.iter().for_each(|binding| walk_argument(&binding.to, &mut visit));
        rule.guard.iter().for_each(|guard| walk_expr(guard, &mut visit));
        self.code(&rule.code);
        self.loops(Source::rule(rule));
    }

    fn code(&mut self, code: &'a Code) {
        walk_code(code, &mut |node| self.node(node));
    }

    fn loops(&mut self, source: Source<'a>) {
        for_each_loop(self.model, source, &mut |found| self.check_loop(&found));
    }

    fn check_loop(&mut self, found: &Loop<'_, 'a>) {
        let (sorts, by_slots) = match found.domain {
            Domain::Type(ty) => (self.model.sorts_of(*ty), false),
            Domain::Slots(bag) => (self.sorts_in_bag(bag), true),
            Domain::Range { .. } => return,
        };
        if sorts.is_empty() && !by_slots {
            return;
        }
        let round = found.round();
        if fills_bag(&round) {
            self.fill_bags.extend(&sorts);
        }
        for conflict in found.conflicts(&round) {
            if by_slots {
                self.by_slots.push((sorts.clone(), conflict.into()));
            } else {
                self.add(&sorts, &conflict.into());
            }
        }
    }

    fn finish(mut self) -> Symmetry {
        for (mut sorts, found) in std::mem::take(&mut self.by_slots) {
            sorts.extend(&self.fill_bags);
            self.add(&sorts, &found);
        }
        for (id, sort) in self.model.sorts.enumerate() {
            let found = &mut self.found[id];
            found.breaks.sort_by_key(|found| found.span);
            // There is only one way to order fewer than two elements.
            if sort.fixed_size().is_some_and(|size| size < 2) {
                found.breaks.clear();
            }
        }
        Symmetry { sorts: self.found }
    }

    fn add(&mut self, sorts: &[SortId], found: &Break) {
        for sort in sorts {
            let breaks = &mut self.found[*sort].breaks;
            if !breaks.contains(found) {
                breaks.push(found.clone());
            }
        }
    }

    /// Looks at one part of code by itself.
    fn node(&mut self, node: Node<'a>) {
        match node {
            Node::Stmt(stmt) => self.stmt(stmt),
            Node::Expr(expr) => self.expr(expr),
            Node::Place(_) => {}
        }
    }

    fn stmt(&mut self, stmt: &'a Stmt) {
        match &stmt.kind {
            StmtKind::Clear(place) => {
                for sort in self.sorts_cleared(place.ty) {
                    let name = &self.model.sorts[sort].name;
                    let reason = format!("`clear` gives a reference into `{name}` its first element");
                    self.add(&[sort], &Break { span: stmt.span, reason, kind: BreakKind::Clear });
                }
            }
            StmtKind::MultisetRemoveIf { place, condition, .. } if self.calls_effects(condition) => {
                let found = effects_in_quantifier(stmt.span);
                self.by_slots.push((self.sorts_in_bag(place), found));
            }
            _ => {}
        }
    }

    fn expr(&mut self, expr: &'a Expr) {
        match &expr.kind {
            ExprKind::Const(Value::Elem(sort, element)) => {
                self.found[*sort].pinned.insert(*element);
            }
            ExprKind::Ordinal(of) => {
                for sort in self.model.sorts_of(of.ty) {
                    let name = &self.model.sorts[sort].name;
                    let reason = format!("the number of an element of `{name}` is used");
                    self.add(&[sort], &Break { span: expr.span, reason, kind: BreakKind::Ordinal });
                }
            }
            ExprKind::ElementAt(sort, _) => {
                let reason =
                    format!("an element of `{}` is found by its number", self.model.sorts[*sort].name);
                self.add(&[*sort], &Break { span: expr.span, reason, kind: BreakKind::ElementAt });
            }
            ExprKind::Quantified { domain, body, .. } => self.quantifier(domain, body, expr.span),
            _ => {}
        }
    }

    fn quantifier(&mut self, domain: &Domain, body: &'a Expr, span: Span) {
        if self.calls_effects(body) {
            let found = effects_in_quantifier(span);
            match domain {
                Domain::Type(ty) => self.add(&self.model.sorts_of(*ty), &found),
                Domain::Slots(bag) => self.by_slots.push((self.sorts_in_bag(bag), found)),
                Domain::Range { .. } => {}
            }
        }
    }

    fn calls_effects(&self, expr: &Expr) -> bool {
        let mut calls = false;
        walk_expr(expr, &mut |node| {
            if let Node::Expr(Expr { kind: ExprKind::Call(function, _), .. }) = node {
                calls |= self.has_effects[function.index()];
            }
        });
        calls
    }

    /// The sorts whose first element `Clear` puts somewhere in a place of this type.
    fn sorts_cleared(&self, ty: TypeId) -> Vec<SortId> {
        match self.model.kind(ty) {
            Type::Ref { sort, nullable: false } => vec![*sort],
            Type::Union { members } => {
                members.first().map(|first| self.sorts_cleared(*first)).unwrap_or_default()
            }
            Type::Record { fields } => fields.iter().flat_map(|field| self.sorts_cleared(field.ty)).collect(),
            Type::Array { element, .. } => self.sorts_cleared(*element),
            _ => Vec::new(),
        }
    }

    /// The sorts whose elements decide the order in which a bag is kept.
    fn sorts_in_bag(&self, bag: &Place) -> Vec<SortId> {
        let holds = |sort: &SortId| {
            let is_of = |ty: &Type| matches!(ty, Type::Ref { sort: of, .. } if of == sort);
            self.model.type_contains(bag.ty, &is_of)
        };
        self.model.sorts.ids().filter(holds).collect()
    }
}

fn effects_in_quantifier(span: Span) -> Break {
    let reason = "a function with effects is called for each element in turn".into();
    Break { span, reason, kind: BreakKind::Effects }
}

/// Functions that are not pure, or may drop the step: then a fault of another call may or may not come first.
fn functions_with_effects(model: &Model) -> Vec<bool> {
    let pure = model.pure_functions();
    let has_effects = |function: FunctionId| {
        let code = &model.functions[function].code;
        let mut found = false;
        walk_code(code, &mut |node| {
            found |= matches!(node, Node::Stmt(stmt) if is_assumption(stmt));
        });
        found || !pure[function.index()]
    };
    let mut effects: Vec<bool> = model.functions.ids().map(has_effects).collect();
    // A function has the effects of those it calls.
    loop {
        let before = effects.clone();
        for (id, function) in model.functions.enumerate() {
            walk_code(&function.code, &mut |node| match node {
                Node::Stmt(Stmt { kind: StmtKind::Call(callee, _), .. })
                | Node::Expr(Expr { kind: ExprKind::Call(callee, _), .. }) => {
                    effects[id.index()] |= before[callee.index()];
                }
                _ => {}
            });
        }
        if effects == before {
            return effects;
        }
    }
}

fn is_assumption(stmt: &Stmt) -> bool {
    matches!(stmt.kind, StmtKind::Check { kind: CheckKind::Assume, .. })
}

fn fills_bag(round: &Footprint<'_>) -> bool {
    round.accesses.iter().any(|access| access.action == Action::Write(Written::Added))
}

impl From<Conflict> for Break {
    fn from(conflict: Conflict) -> Break {
        let kind = match conflict.kind {
            ConflictKind::LastWrite => BreakKind::LastWrite,
            ConflictKind::CrossRead => BreakKind::CrossRead,
            ConflictKind::Event(event) => match event {
                Event::Return => BreakKind::EarlyExit,
                Event::Create | Event::Delete => BreakKind::Population,
                Event::Assume | Event::Choose { .. } => BreakKind::DroppedStep,
                Event::Recursion(_) | Event::TooLarge => BreakKind::NotFollowed,
            },
        };
        Break { span: conflict.span, reason: conflict.reason, kind }
    }
}
