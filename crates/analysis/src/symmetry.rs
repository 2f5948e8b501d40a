//! Whether the elements of a sort are interchangeable.
//!
//! A sort is proved symmetric if every rule, function and condition (and start, where that matters) does the same to a state with the
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
    CheckKind, Code, Condition, Domain, Expr, ExprKind, FunctionId, IndexVec, Model, Node, Parameter, Place,
    PropertyId, PropertyKind, Rule, RuleId, SortId, Stmt, StmtKind, Type, TypeId, TypedId, Value,
    walk_argument, walk_code, walk_condition, walk_domain, walk_expr,
};
use shoal_syntax::Span;

use crate::{
    commute::{Conflict, ConflictKind},
    effects::{AccessKind, CodeEffect, Footprint, Source, Written},
    loops::{CodeEntry, ForLoop, for_each_loop, loops_called},
    mirror,
    mutant::{self, AnalysisMutant},
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
    /// The code that the breaks stand in.
    broken_in: BTreeSet<CodeOrigin>,
}

/// A piece of code of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum CodeOrigin {
    Start,
    Rule(RuleId),
    Function(FunctionId),
    Property(PropertyId),
    /// Fairness, or what holds while time passes.
    Elsewhere,
}

/// What may tell elements apart: everything else is proved not to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Suspects {
    /// Rules.
    pub rules: BTreeSet<RuleId>,
    /// Properties.
    pub properties: BTreeSet<PropertyId>,
    /// Whether there is more: fairness, or what holds while time passes.
    pub others: bool,
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

/// Says for each sort whether its elements are interchangeable in all that the model does, its starts included, and
/// if not, why.
pub fn symmetry(model: &Model) -> Symmetry {
    let mut search = DistinctionSearch::new(model);
    search.starts();
    search.steps(&|_| true);
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

/// Says the same without looking at the starts. That is enough for a search on representatives: where rules and
/// properties do not tell elements apart, a path of representatives lifts to one of concrete states from whichever
/// start it begins at. But not every state of a reached orbit need be reached then.
pub fn symmetry_of_steps(model: &Model) -> Symmetry {
    let used = functions_of_steps(model);
    let mut search = DistinctionSearch::new(model);
    search.steps(&|function| used[function.index()]);
    search.finish()
}

/// Says the same of the starts alone; nothing if that cannot be told without a look at the steps: where loops go through the slots
/// of a bag, sorts are to blame in whose order other loops fill bags.
pub fn symmetry_of_starts(model: &Model) -> Option<Symmetry> {
    let used = functions_called(model, |visit| model.starts.iter().for_each(|start| walk_rule(start, visit)));
    let mut search = DistinctionSearch::new(model);
    search.starts();
    search.scope = SearchScope::Starts;
    search.functions(&|function| used[function.index()]);
    (search.by_slots.is_empty() && search.fill_bags.is_empty()).then(|| search.finish())
}

impl Symmetry {
    /// What may tell the elements of some sorts apart, by itself or through a function that it calls.
    pub fn suspects(&self, model: &Model, sorts: &[SortId]) -> Suspects {
        let broken: BTreeSet<CodeOrigin> =
            sorts.iter().flat_map(|sort| self.sorts[*sort].broken_in.iter().copied()).collect();
        let callers = callers(model, &broken);
        let mut suspects = Suspects::default();
        for origin in broken.into_iter().chain(callers) {
            match origin {
                // Starts are not looked at here, and functions by those who call them.
                CodeOrigin::Start | CodeOrigin::Function(_) => {}
                CodeOrigin::Rule(rule) => drop(suspects.rules.insert(rule)),
                CodeOrigin::Property(property) => drop(suspects.properties.insert(property)),
                CodeOrigin::Elsewhere => suspects.others = true,
            }
        }
        suspects
    }
}

/// Everything that calls functions in a set, by itself or through others.
fn callers(model: &Model, broken: &BTreeSet<CodeOrigin>) -> BTreeSet<CodeOrigin> {
    let mut reaching: Vec<bool> =
        model.functions.ids().map(|id| broken.contains(&CodeOrigin::Function(id))).collect();
    let calls = |reaching: &[bool], node: Node<'_>| match node {
        Node::Stmt(Stmt { kind: StmtKind::Call(callee, _), .. })
        | Node::Expr(Expr { kind: ExprKind::Call(callee, _), .. }) => reaching[callee.index()],
        Node::Stmt(_) | Node::Expr(_) | Node::Place(_) => false,
    };
    loop {
        let before = reaching.clone();
        for (id, function) in model.functions.enumerate() {
            walk_code(&function.code, &mut |node| reaching[id.index()] |= calls(&before, node));
        }
        if reaching == before {
            break;
        }
    }
    let mut found = BTreeSet::new();
    for (id, rule) in model.rules.enumerate() {
        walk_rule(rule, &mut |node| {
            if calls(&reaching, node) {
                found.insert(CodeOrigin::Rule(id));
            }
        });
    }
    for (origin, condition) in conditions(model) {
        walk_condition(condition, &mut |node| {
            if calls(&reaching, node) {
                found.insert(origin);
            }
        });
    }
    found
}

/// The conditions of a model.
fn conditions(model: &Model) -> Vec<(CodeOrigin, &Condition)> {
    let of_properties = model.properties.enumerate().flat_map(|(id, property)| {
        property.kind.conditions().into_iter().map(move |condition| (CodeOrigin::Property(id), condition))
    });
    let others = model.while_time_passes.iter().chain(&model.fairness);
    of_properties.chain(others.map(|condition| (CodeOrigin::Elsewhere, condition))).collect()
}

/// How many accesses are walked, over all calls, to see what loops of functions do where they are called. What is not
/// proved for want of patience can still be checked.
const MOST_WALKED: usize = 2_000_000;

/// A loop of a function, as it is executed from the outside.
struct Called<'a> {
    stmt: &'a Stmt,
    origin: CodeOrigin,
    sorts: Vec<SortId>,
    by_slots: bool,
    fills_bag: bool,
    conflicts: Vec<Conflict>,
}

/// From where functions are called, for those who look for what tells elements apart.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SearchScope {
    Steps,
    Starts,
    All,
}

/// The search for what tells elements apart.
struct DistinctionSearch<'a> {
    model: &'a Model,
    scope: SearchScope,
    /// What is being looked at.
    origin: CodeOrigin,
    found: IndexVec<SortId, SortSymmetry>,
    /// For each function, whether the order in which calls of it are made may show.
    has_effects: Vec<bool>,
    /// Breaks by the order of slots, with the sorts whose elements the bag holds. Further sorts are to blame
    /// if a loop fills bags in their order, which is known at the end.
    by_slots: Vec<(Vec<SortId>, Break, CodeOrigin)>,
    /// The sorts in whose order loops fill bags.
    fill_bags: BTreeSet<SortId>,
}

impl<'a> DistinctionSearch<'a> {
    fn new(model: &'a Model) -> Self {
        DistinctionSearch {
            model,
            scope: SearchScope::Steps,
            origin: CodeOrigin::Start,
            found: model.sorts.iter().map(|_| SortSymmetry::default()).collect(),
            has_effects: functions_with_effects(model),
            by_slots: Vec::new(),
            fill_bags: BTreeSet::new(),
        }
    }

    fn starts(&mut self) {
        self.scope = SearchScope::All;
        self.origin = CodeOrigin::Start;
        self.model.starts.iter().for_each(|start| self.rule(start));
    }

    /// Everything but the starts; of the functions, those that are used.
    fn steps(&mut self, used: &dyn Fn(FunctionId) -> bool) {
        let model = self.model;
        for (id, rule) in model.rules.enumerate() {
            self.origin = CodeOrigin::Rule(id);
            self.rule(rule);
        }
        self.functions(used);
        let is_temporal = |origin: CodeOrigin| match origin {
            CodeOrigin::Property(id) => matches!(model.properties[id].kind, PropertyKind::Temporal(..)),
            CodeOrigin::Start | CodeOrigin::Rule(_) | CodeOrigin::Function(_) | CodeOrigin::Elsewhere => {
                false
            }
        };
        for (origin, condition) in conditions(model) {
            let pinned: Vec<BTreeSet<u32>> = self.found.iter().map(|sort| sort.pinned.clone()).collect();
            self.origin = origin;
            walk_condition(condition, &mut |node| self.node(node));
            // What temporal properties and fairness name matters only where those are decided.
            if is_temporal(origin) || model.fairness.iter().any(|it| std::ptr::eq(it, condition)) {
                self.found.iter_mut().zip(pinned).for_each(|(sort, pinned)| sort.pinned = pinned);
            }
        }
    }

    /// The functions that are used.
    fn functions(&mut self, used: &dyn Fn(FunctionId) -> bool) {
        for (id, function) in self.model.functions.enumerate().filter(|(id, _)| used(*id)) {
            self.origin = CodeOrigin::Function(id);
            self.code(&function.code);
        }
        self.loops_of_functions(used);
    }

    fn rule(&mut self, rule: &'a Rule) {
        walk_rule(rule, &mut |node| self.node(node));
        self.loops(Source::rule(rule));
    }

    fn code(&mut self, code: &'a Code) {
        walk_code(code, &mut |node| self.node(node));
    }

    fn loops(&mut self, source: Source<'a>) {
        for_each_loop(self.model, source, &mut |found| self.check_loop(&found));
    }

    /// The loops of functions: by themselves, and those that do not pass so, wherever they are called.
    fn loops_of_functions(&mut self, used: &dyn Fn(FunctionId) -> bool) {
        let model = self.model;
        let mut open: Vec<(FunctionId, &'a Stmt)> = Vec::new();
        for id in model.functions.ids().filter(|id| used(*id)) {
            for_each_loop(model, Source::function(model, id), &mut |found| {
                if self.ordered_sorts(found.domain).is_some() && !found.conflicts(&found.round()).is_empty() {
                    open.push((id, found.stmt()));
                }
            });
        }
        let called = self.loops_where_called(&open);
        let is_known = |stmt: &Stmt| called.iter().flatten().any(|known| std::ptr::eq(known.stmt, stmt));
        for id in model.functions.ids().filter(|id| used(*id)) {
            self.origin = CodeOrigin::Function(id);
            for_each_loop(model, Source::function(model, id), &mut |found| {
                if !is_known(found.stmt()) {
                    self.check_loop(&found);
                }
            });
        }
        for known in called.into_iter().flatten().filter(|_| !mutant::is(AnalysisMutant::CallersAreNotAsked))
        {
            self.origin = known.origin;
            self.judge_loop(&known.sorts, known.by_slots, known.fills_bag, known.conflicts);
        }
    }

    /// What loops of functions do where these are called from the outside; nothing if not all calls can be followed.
    fn loops_where_called(&self, open: &[(FunctionId, &'a Stmt)]) -> Option<Vec<Called<'a>>> {
        let model = self.model;
        let wanted: Vec<&Stmt> = open.iter().map(|(_, stmt)| *stmt).collect();
        let functions = open.iter().map(|(function, _)| CodeOrigin::Function(*function)).collect();
        let callers = callers(model, &functions);
        let mut entries: Vec<(CodeOrigin, CodeEntry<'_>)> = Vec::new();
        if self.scope != SearchScope::Steps && !open.is_empty() {
            entries.extend(model.starts.iter().map(|start| (CodeOrigin::Start, CodeEntry::Rule(start))));
        }
        if self.scope != SearchScope::Starts {
            let rules = model.rules.enumerate();
            entries.extend(rules.map(|(id, rule)| (CodeOrigin::Rule(id), CodeEntry::Rule(rule))));
            let conditions = conditions(model).into_iter();
            entries.extend(conditions.map(|(origin, condition)| (origin, CodeEntry::Condition(condition))));
        }
        entries.retain(|(origin, _)| *origin == CodeOrigin::Start || callers.contains(origin));
        let (mut found, mut fuel) = (Vec::new(), MOST_WALKED);
        for (origin, entry) in entries {
            let calls = loops_called(model, entry, &wanted, &mut fuel);
            if !calls.complete {
                return None;
            }
            for (stmt, domain, round, conflicts) in calls.loops {
                let Some((sorts, by_slots)) = self.ordered_sorts(domain) else { continue };
                let (_, stmt) = open.iter().find(|(_, it)| std::ptr::eq(*it, stmt))?;
                let fills_bag = fills_bag(&round);
                found.push(Called { stmt, origin, sorts, by_slots, fills_bag, conflicts });
            }
        }
        Some(found)
    }

    fn check_loop(&mut self, found: &ForLoop<'_, 'a>) {
        let Some((sorts, by_slots)) = self.ordered_sorts(found.domain) else { return };
        let round = found.round();
        let conflicts = found.conflicts(&round);
        self.judge_loop(&sorts, by_slots, fills_bag(&round), conflicts);
    }

    /// The sorts in whose order a loop goes, and whether that is the order of slots; nothing if there is none.
    fn ordered_sorts(&self, domain: &Domain) -> Option<(Vec<SortId>, bool)> {
        match domain {
            Domain::Type(ty) => {
                Some((self.model.sorts_of(*ty), false)).filter(|(sorts, _)| !sorts.is_empty())
            }
            Domain::Slots(bag) => Some((self.sorts_in_bag(bag), true)),
            Domain::Range { .. } => None,
        }
    }

    fn judge_loop(&mut self, sorts: &[SortId], by_slots: bool, fills: bool, conflicts: Vec<Conflict>) {
        let sorts = sorts.to_vec();
        if fills {
            self.fill_bags.extend(&sorts);
        }
        for conflict in conflicts {
            if by_slots {
                self.by_slots.push((sorts.clone(), conflict.into(), self.origin));
            } else {
                self.add(&sorts, &conflict.into());
            }
        }
    }

    fn finish(mut self) -> Symmetry {
        for (mut sorts, found, origin) in std::mem::take(&mut self.by_slots) {
            sorts.extend(&self.fill_bags);
            self.origin = origin;
            self.add(&sorts, &found);
        }
        for (id, sort) in self.model.sorts.enumerate() {
            let found = &mut self.found[id];
            found.breaks.sort_by_key(|found| found.span);
            // There is only one way to order fewer than two elements.
            if sort.fixed_size().is_some_and(|size| size < 2) {
                found.breaks.clear();
                found.broken_in.clear();
            }
        }
        Symmetry { sorts: self.found }
    }

    fn add(&mut self, sorts: &[SortId], found: &Break) {
        for sort in sorts {
            let known = &mut self.found[*sort];
            known.broken_in.insert(self.origin);
            if !known.breaks.contains(found) {
                known.breaks.push(found.clone());
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
                self.by_slots.push((self.sorts_in_bag(place), found, self.origin));
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
                Domain::Slots(bag) => self.by_slots.push((self.sorts_in_bag(bag), found, self.origin)),
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
    let assumes = |function: FunctionId| {
        let mut found = false;
        walk_code(&model.functions[function].code, &mut |node| {
            found |= matches!(node, Node::Stmt(stmt) if is_assumption(stmt));
        });
        found
    };
    let mut drops: Vec<bool> = model.functions.ids().map(assumes).collect();
    // A function drops the step where one that it calls does.
    loop {
        let before = drops.clone();
        for (id, function) in model.functions.enumerate() {
            walk_code(&function.code, &mut |node| match node {
                Node::Stmt(Stmt { kind: StmtKind::Call(callee, _), .. })
                | Node::Expr(Expr { kind: ExprKind::Call(callee, _), .. }) => {
                    drops[id.index()] |= before[callee.index()];
                }
                _ => {}
            });
        }
        if drops == before {
            break;
        }
    }
    model.pure_functions().into_iter().zip(drops).map(|(pure, drops)| drops || !pure).collect()
}

/// Which functions rules, properties and fairness call, by themselves or through others.
fn functions_of_steps(model: &Model) -> Vec<bool> {
    functions_called(model, |visit| {
        model.rules.iter().for_each(|rule| walk_rule(rule, visit));
        for (_, condition) in conditions(model) {
            walk_condition(condition, &mut |node| visit(node));
        }
    })
}

/// For each function, whether some code calls it, by itself or through others.
fn functions_called<'a>(model: &'a Model, walk: impl FnOnce(&mut dyn FnMut(Node<'a>))) -> Vec<bool> {
    let mut used = vec![false; model.functions.len()];
    let mut waiting: Vec<FunctionId> = Vec::new();
    let mut call = |node: Node<'_>, waiting: &mut Vec<FunctionId>| {
        if let Node::Stmt(Stmt { kind: StmtKind::Call(callee, _), .. })
        | Node::Expr(Expr { kind: ExprKind::Call(callee, _), .. }) = node
            && !std::mem::replace(&mut used[callee.index()], true)
        {
            waiting.push(*callee);
        }
    };
    walk(&mut |node| call(node, &mut waiting));
    while let Some(function) = waiting.pop() {
        walk_code(&model.functions[function].code, &mut |node| call(node, &mut waiting));
    }
    used
}

/// Visits all parts of a rule.
fn walk_rule<'a>(rule: &'a Rule, visit: &mut dyn FnMut(Node<'a>)) {
    let mut visit = |node| visit(node);
    for Parameter { domain, .. } in &rule.params {
        walk_domain(domain, &mut visit);
    }
    rule.bindings.iter().for_each(|binding| walk_argument(&binding.to, &mut visit));
    rule.guard.iter().for_each(|guard| walk_expr(guard, &mut visit));
    walk_code(&rule.code, &mut visit);
}

fn is_assumption(stmt: &Stmt) -> bool {
    matches!(stmt.kind, StmtKind::Check { kind: CheckKind::Assume, .. })
}

fn fills_bag(round: &Footprint<'_>) -> bool {
    round.accesses.iter().any(|access| access.action == AccessKind::Write(Written::Added))
}

impl From<Conflict> for Break {
    fn from(conflict: Conflict) -> Break {
        let kind = match conflict.kind {
            ConflictKind::LastWrite => BreakKind::LastWrite,
            ConflictKind::CrossRead => BreakKind::CrossRead,
            ConflictKind::Event(event) => match event {
                CodeEffect::Return => BreakKind::EarlyExit,
                CodeEffect::Create | CodeEffect::Delete => BreakKind::Population,
                CodeEffect::Assume | CodeEffect::Choose { .. } => BreakKind::DroppedStep,
                CodeEffect::Recursion(_) | CodeEffect::TooLarge => BreakKind::NotFollowed,
            },
        };
        Break { span: conflict.span, reason: conflict.reason, kind }
    }
}
