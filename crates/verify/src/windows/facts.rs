//! What the text of a model tells: the quantifiers that predicates are made of, what loops may write, how deeply elements
//! are nested.

use std::collections::{BTreeMap, HashMap};

use shoal_certificate::OpenPredicate;
use shoal_model::{
    Argument, Binding, Code, Domain, Expr, ExprKind, FunctionId, IndexVec, Local, LocalId, LocalKind, Model,
    Node, Place, Projection, Property, PropertyKind, Quantifier, Root, Rule, SortId, Stmt, StmtKind, Type,
    TypedId, UnaryOp, VarId, print_expr, walk_argument, walk_block, walk_expr,
};

use super::{order::WindowOrder, structure::WindowShape};

/// A variable and the way into it: fields by their position, nothing for an index.
pub(crate) type Path = (VarId, Vec<Option<u32>>);

/// A closed question about one element.
#[derive(Clone)]
pub(crate) struct WindowPredicate<'m> {
    pub(crate) sort: SortId,
    pub(crate) local: LocalId,
    pub(crate) body: &'m Expr,
    pub(crate) locals: &'m IndexVec<LocalId, Local>,
    /// Whether an element satisfies it where the body is false.
    pub(crate) forall: bool,
    /// What the body reads that belongs to no element.
    pub(crate) shared: Vec<Path>,
    /// What it reads of the element.
    pub(crate) own: Vec<Path>,
}

impl WindowPredicate<'_> {
    /// Whether it is the one that a proof names.
    fn is(&self, model: &Model, asked: &OpenPredicate) -> bool {
        (self.sort.index() as u32, self.forall) == (asked.sort, asked.negated)
            && self.locals[self.local].name == asked.element
            && print_expr(model, self.locals, self.body) == asked.body
    }
}

/// What is known of a loop over a sort with any number of elements.
pub(crate) struct Loop {
    /// What its rounds may write; nothing if that cannot be told.
    pub(crate) writes: Option<Vec<Path>>,
    /// The locals that every round writes before it reads them.
    pub(crate) private: Vec<LocalId>,
    /// Whether a round may leave the code.
    pub(crate) returns: bool,
}

pub(crate) struct Facts<'m> {
    pub(crate) shape: WindowShape<'m>,
    pub(crate) predicates: Vec<WindowPredicate<'m>>,
    /// By the place of a quantifier in memory: its predicate.
    pub(crate) sites: HashMap<usize, usize>,
    pub(crate) loops: HashMap<usize, Loop>,
    /// The order in which elements came to satisfy a predicate, if windows show one.
    pub(crate) order: Option<WindowOrder<'m>>,
}

/// All quantifiers of a model in a fixed order: those of each rule's guard and body, of each function, of each property.
fn quantifiers(model: &Model) -> Vec<(&Expr, &IndexVec<LocalId, Local>)> {
    fn note<'m>(
        node: Node<'m>,
        locals: &'m IndexVec<LocalId, Local>,
        found: &mut Vec<(&'m Expr, &'m IndexVec<LocalId, Local>)>,
    ) {
        if let Node::Expr(expr @ Expr { kind: ExprKind::Quantified { .. }, .. }) = node {
            found.push((expr, locals));
        }
    }
    let mut found = Vec::new();
    for rule in model.rules.iter() {
        rule.guard
            .iter()
            .for_each(|guard| walk_expr(guard, &mut |node| note(node, &rule.code.locals, &mut found)));
        walk_block(&rule.code.body, &mut |node| note(node, &rule.code.locals, &mut found));
    }
    for function in model.functions.iter() {
        walk_block(&function.code.body, &mut |node| note(node, &function.code.locals, &mut found));
    }
    for Property { kind, .. } in model.properties.iter() {
        for condition in kind.conditions() {
            walk_expr(&condition.expr, &mut |node| note(node, &condition.locals, &mut found));
        }
    }
    found
}

impl<'m> Facts<'m> {
    /// Nothing if the predicates are not questions that the model asks.
    pub(crate) fn of(
        model: &'m Model,
        asked: &[OpenPredicate],
        order: Option<&OpenPredicate>,
    ) -> Option<Facts<'m>> {
        let shape = WindowShape { model };
        let mut facts = Facts {
            shape,
            predicates: Vec::new(),
            sites: HashMap::new(),
            loops: HashMap::new(),
            order: None,
        };
        let all: Vec<_> = quantifiers(model)
            .into_iter()
            .filter_map(|(expr, locals)| {
                closed(shape, expr, locals).map(|(predicate, key)| (expr, predicate, key))
            })
            .collect();
        let meant = |asked: &OpenPredicate| {
            let mut meant = all.iter().filter(|(_, predicate, _)| predicate.is(model, asked));
            let (_, first, key) = meant.next()?;
            // What prints alike must ask the same.
            meant.all(|(_, _, other)| other == key).then_some((first, key))
        };
        for asked in asked {
            let (first, key) = meant(asked)?;
            for (expr, _, other) in &all {
                if other == key {
                    facts.sites.insert(*expr as *const Expr as usize, facts.predicates.len());
                }
            }
            facts.predicates.push(first.clone());
        }
        if let Some(order) = order {
            facts.order = Some(WindowOrder::of(model, part(shape, order)?)?);
        }
        for rule in model.starts.iter().chain(model.rules.iter()) {
            facts.find_loops(&rule.code, &rule.bindings);
        }
        for function in model.functions.iter() {
            facts.find_loops(&function.code, &[]);
        }
        Some(facts)
    }

    fn find_loops(&mut self, code: &'m Code, bindings: &'m [Binding]) {
        let shape = self.shape;
        let binds = all_bindings(code, bindings);
        walk_block(&code.body, &mut |node| {
            let Node::Stmt(stmt @ Stmt { kind: StmtKind::For { domain, body, .. }, .. }) = node else {
                return;
            };
            if open_sorts(shape, domain).is_empty() {
                return;
            }
            let mut writes = Writes { model: shape.model, found: Some(Vec::new()) };
            let scope =
                FactScope { locals: &code.locals, binds: &binds, params: BTreeMap::new(), calls: Vec::new() };
            writes.block(body, &scope);
            let mut returns = false;
            walk_block(body, &mut |node| {
                returns |= matches!(node, Node::Stmt(Stmt { kind: StmtKind::Return(_), .. }));
            });
            let private = code.locals.ids().filter(|local| is_private(code, &binds, *local, body)).collect();
            let facts = Loop { writes: writes.found, private, returns };
            self.loops.insert(stmt as *const Stmt as usize, facts);
        });
    }

    /// How deeply quantifiers and loops over a sort are nested in rules, starts and the invariants.
    pub(crate) fn depth(&self, sort: SortId) -> usize {
        let model = self.shape.model;
        let nesting = Nesting { model, sort };
        let of_rule = |rule: &Rule| {
            let guard = rule.guard.iter().map(|guard| nesting.expr(guard, &mut Vec::new()));
            let bound = rule
                .bindings
                .iter()
                .map(|binding| nesting.walk(&mut Vec::new(), |see| walk_argument(&binding.to, see)));
            let body = nesting.block(&rule.code.body, &mut Vec::new());
            guard.chain(bound).max().unwrap_or(0).max(body)
        };
        let rules = model.starts.iter().chain(model.rules.iter()).map(of_rule);
        let properties = model.properties.iter().map(|property| match &property.kind {
            PropertyKind::Invariant(condition) => {
                let parts = condition.expr.conjuncts().into_iter();
                parts.map(|part| nesting.inner(part, false)).max().unwrap_or(0)
            }
            _ => 0,
        });
        rules.chain(properties).max().unwrap_or(0)
    }
}

/// The sorts with any number of elements that a domain has values of.
pub(crate) fn open_sorts(shape: WindowShape<'_>, domain: &Domain) -> Vec<SortId> {
    match domain {
        Domain::Type(ty) => {
            shape.model.sorts_of(*ty).into_iter().filter(|sort| shape.is_any(*sort)).collect()
        }
        Domain::Range { .. } | Domain::Slots(_) => Vec::new(),
    }
}

/// A quantifier as a question about one element, and a text that no other question has. Nothing if its answer for an
/// element depends on more than what is kept for the element and what belongs to none.
fn closed<'m>(
    shape: WindowShape<'m>,
    expr: &'m Expr,
    locals: &'m IndexVec<LocalId, Local>,
) -> Option<(WindowPredicate<'m>, String)> {
    let ExprKind::Quantified { quantifier, local, domain: domain @ Domain::Type(ty), body } = &expr.kind
    else {
        return None;
    };
    let forall = match quantifier {
        Quantifier::Forall => true,
        Quantifier::Exists => false,
        Quantifier::Count => return None,
    };
    let ([sort], true) = (&open_sorts(shape, domain)[..], shape.over(*ty).is_some()) else { return None };
    question(shape, (*sort, *local), forall, body, locals)
}

/// A condition on one element, and a text that no other has.
fn question<'m>(
    shape: WindowShape<'m>,
    (sort, local): (SortId, LocalId),
    forall: bool,
    body: &'m Expr,
    locals: &'m IndexVec<LocalId, Local>,
) -> Option<(WindowPredicate<'m>, String)> {
    let text = format!("{forall} {sort:?}: ");
    let scope = vec![(local, true)];
    let (calls, shared, own) = (Vec::new(), Vec::new(), Vec::new());
    let mut question = WindowQuestion { shape, scope, calls, text, shared, own };
    question.expr(body)?;
    let WindowQuestion { text, shared, own, .. } = question;
    Some((WindowPredicate { sort, local, body, locals, forall, shared, own }, text))
}

/// What an order is of: a condition on one element that stands in a quantifier over it. Nothing if there is no such, or if
/// several print alike and ask for something else.
fn part<'m>(shape: WindowShape<'m>, asked: &OpenPredicate) -> Option<WindowPredicate<'m>> {
    let mut found: Option<(WindowPredicate<'m>, String)> = None;
    let mut unclear = false;
    for (expr, locals) in quantifiers(shape.model) {
        let ExprKind::Quantified { local, domain: domain @ Domain::Type(ty), body, .. } = &expr.kind else {
            continue;
        };
        let ([sort], true) = (&open_sorts(shape, domain)[..], shape.over(*ty).is_some()) else { continue };
        let element = (*sort, *local);
        walk_expr(body, &mut |node| {
            let Node::Expr(part) = node else { return };
            if *shape.model.kind(part.ty) != Type::Bool {
                return;
            }
            let Some((predicate, key)) = question(shape, element, asked.negated, part, locals) else {
                return;
            };
            if predicate.is(shape.model, asked) {
                unclear |= found.as_ref().is_some_and(|(_, other)| *other != key);
                found.get_or_insert((predicate, key));
            }
        });
    }
    found.filter(|_| !unclear).map(|(predicate, _)| predicate)
}

struct WindowQuestion<'m> {
    shape: WindowShape<'m>,
    /// The locals that may be used, and whether they are the element itself.
    scope: Vec<(LocalId, bool)>,
    /// The functions that are being looked at.
    calls: Vec<FunctionId>,
    text: String,
    shared: Vec<Path>,
    own: Vec<Path>,
}

impl WindowQuestion<'_> {
    fn all<'e>(&mut self, what: &str, parts: impl IntoIterator<Item = &'e Expr>) -> Option<()> {
        self.text += &format!("({what}");
        for part in parts {
            self.text.push(' ');
            self.expr(part)?;
        }
        self.text.push(')');
        Some(())
    }

    fn expr(&mut self, expr: &Expr) -> Option<()> {
        match &expr.kind {
            ExprKind::Const(value) => {
                self.text += &format!("{value:?}");
                Some(())
            }
            ExprKind::Read(place) => self.place("read", place),
            ExprKind::Peek(place) => self.place("peek", place),
            ExprKind::IsUndefined(place) => self.place("undefined", place),
            ExprKind::Unary(op, of) => self.all(&format!("{op:?}"), [&**of]),
            ExprKind::Binary(op, a, b) => self.all(&format!("{op:?}"), [&**a, &**b]),
            ExprKind::Equal(a, b) if self.shape.model.kind(a.ty).is_scalar() => {
                self.all("equal", [&**a, &**b])
            }
            ExprKind::And(parts) => self.all("and", parts),
            ExprKind::Or(parts) => self.all("or", parts),
            ExprKind::Implies(a, b) => self.all("implies", [&**a, &**b]),
            ExprKind::Cond(a, b, c) => self.all("if", [&**a, &**b, &**c]),
            ExprKind::IsMember(of, ty) => self.all(&format!("member of {ty:?}"), [&**of]),
            ExprKind::Call(function, arguments) => self.call(*function, arguments),
            ExprKind::Equal(..)
            | ExprKind::Quantified { .. }
            | ExprKind::Ordinal(_)
            | ExprKind::ElementAt(..)
            | ExprKind::Entry(..)
            | ExprKind::Len(_)
            | ExprKind::Exists(_) => None,
        }
    }

    /// A function whose value is that of one expression.
    fn call(&mut self, function: FunctionId, arguments: &[Argument]) -> Option<()> {
        let callee = &self.shape.model.functions[function];
        let [Stmt { kind: StmtKind::Return(Some(value)), .. }] = &callee.code.body[..] else { return None };
        if self.calls.contains(&function) {
            return None;
        }
        self.text += &format!("(call {function:?}");
        let mut scope = Vec::new();
        for (param, argument) in callee.params.iter().zip(arguments) {
            self.text.push(' ');
            match argument {
                Argument::Value(value) => self.expr(value)?,
                Argument::Place(place) => self.place("at", place)?,
            }
            scope.push((*param, self.passes_it(argument)));
        }
        self.text.push(' ');
        let outer = std::mem::replace(&mut self.scope, scope);
        self.calls.push(function);
        self.expr(value)?;
        self.calls.pop();
        self.scope = outer;
        self.text.push(')');
        Some(())
    }

    /// Whether an argument is the element itself.
    fn passes_it(&self, argument: &Argument) -> bool {
        match argument {
            Argument::Value(Expr { kind: ExprKind::Read(place) | ExprKind::Peek(place), .. })
            | Argument::Place(place) => self.is_element(place),
            Argument::Value(_) => false,
        }
    }

    fn is_element(&self, place: &Place) -> bool {
        place.path.is_empty()
            && self.scope.iter().any(|(local, is_it)| place.root == Root::Local(*local) && *is_it)
    }

    fn place(&mut self, how: &str, place: &Place) -> Option<()> {
        if !self.shape.model.kind(place.ty).is_scalar() {
            return None;
        }
        self.text += &format!("({how} ");
        let var = match place.root {
            Root::Local(local) => {
                let (_, is_it) = self.scope.iter().find(|(of, _)| *of == local)?;
                self.text += &if *is_it { "it)".to_string() } else { format!("{local:?})") };
                return place.path.is_empty().then_some(());
            }
            Root::Var(var) => var,
        };
        self.text += &format!("{var:?}");
        let (mut path, mut own) = (Vec::new(), false);
        for projection in &place.path {
            match projection {
                Projection::Field(at) => {
                    self.text += &format!(".{at}");
                    path.push(Some(*at));
                }
                Projection::Index(index) => {
                    self.text.push('[');
                    let open =
                        self.shape.model.sorts_of(index.ty).iter().any(|sort| self.shape.is_any(*sort));
                    if open {
                        own = true;
                        self.is_it(index)?;
                    } else {
                        self.expr(index)?;
                    }
                    self.text.push(']');
                    path.push(None);
                }
                Projection::Slot(_) | Projection::Item(_) => return None,
            }
        }
        self.text.push(')');
        if own {
            self.own.push((var, path))
        } else {
            self.shared.push((var, path))
        }
        Some(())
    }

    /// An index that is the element itself.
    fn is_it(&mut self, index: &Expr) -> Option<()> {
        let (ExprKind::Read(place) | ExprKind::Peek(place)) = &index.kind else { return None };
        self.text += "it";
        self.is_element(place).then_some(())
    }
}

/// Whether a cell of the one family may be a cell of the other.
pub(crate) fn may_meet(a: &Path, b: &Path) -> bool {
    a.0 == b.0
        && a.1.iter().zip(&b.1).all(|steps| match steps {
            (Some(a), Some(b)) => a == b,
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        })
}

fn all_bindings<'m>(code: &'m Code, bindings: &'m [Binding]) -> Vec<&'m Binding> {
    let mut all: Vec<&Binding> = bindings.iter().collect();
    walk_block(&code.body, &mut |node| {
        if let Node::Stmt(Stmt { kind: StmtKind::Bind(more), .. }) = node {
            all.extend(more);
        }
    });
    all
}

/// Whether every round of a loop gives a variable of the code a value before anything reads it.
fn is_private(code: &Code, binds: &[&Binding], local: LocalId, body: &[Stmt]) -> bool {
    let is_it = |place: &Place| place.root == Root::Local(local);
    let referred = |binding: &&Binding| matches!(&binding.to, Argument::Place(place) if is_it(place));
    if code.locals[local].kind != LocalKind::Variable || binds.iter().any(referred) {
        return false;
    }
    let mentions = |node: Node<'_>| matches!(node, Node::Place(place) if is_it(place));
    for stmt in body {
        let (mut whole, mut mentioned) = (false, false);
        match &stmt.kind {
            StmtKind::Assign(place, value) if is_it(place) && place.path.is_empty() => {
                whole = true;
                walk_expr(value, &mut |node| mentioned |= mentions(node));
            }
            StmtKind::Undefine(place) | StmtKind::Clear(place) if is_it(place) && place.path.is_empty() => {
                whole = true
            }
            _ => walk_block(std::slice::from_ref(stmt), &mut |node| mentioned |= mentions(node)),
        }
        if whole || mentioned {
            return whole && !mentioned;
        }
    }
    false
}

/// Where the code is that is looked at: its locals, what its references may be bound to, what its parameters are.
struct FactScope<'m, 's> {
    locals: &'m IndexVec<LocalId, Local>,
    binds: &'s [&'m Binding],
    params: BTreeMap<LocalId, Option<Vec<Path>>>,
    calls: Vec<FunctionId>,
}

/// The variables that code may write; nothing if that cannot be told.
struct Writes<'m> {
    model: &'m Model,
    found: Option<Vec<Path>>,
}

impl<'m> Writes<'m> {
    fn block(&mut self, block: &'m [Stmt], scope: &FactScope<'m, '_>) {
        let mut calls: Vec<(FunctionId, &'m [Argument])> = Vec::new();
        let mut places: Vec<&'m Place> = Vec::new();
        walk_block(block, &mut |node| match node {
            Node::Stmt(Stmt { kind: StmtKind::Call(function, arguments), .. })
            | Node::Expr(Expr { kind: ExprKind::Call(function, arguments), .. }) => {
                calls.push((*function, arguments));
            }
            Node::Stmt(stmt) => places.extend(stmt.kind.written()),
            Node::Expr(_) | Node::Place(_) => {}
        });
        for place in places {
            self.add(targets(place, scope, 0));
        }
        for (function, arguments) in calls {
            self.call(function, arguments, scope);
        }
    }

    fn add(&mut self, paths: Option<Vec<Path>>) {
        match (&mut self.found, paths) {
            (Some(found), Some(paths)) => found.extend(paths),
            _ => self.found = None,
        }
    }

    fn call(&mut self, function: FunctionId, arguments: &'m [Argument], scope: &FactScope<'m, '_>) {
        if scope.calls.contains(&function) {
            self.found = None;
            return;
        }
        let callee = &self.model.functions[function];
        let mut params = BTreeMap::new();
        for (param, argument) in callee.params.iter().zip(arguments) {
            if let Argument::Place(place) = argument {
                params.insert(*param, targets(place, scope, 0));
            } else {
                params.insert(*param, Some(Vec::new()));
            }
        }
        let calls = [&scope.calls[..], &[function]].concat();
        let binds = all_bindings(&callee.code, &[]);
        self.block(
            &callee.code.body,
            &FactScope { locals: &callee.code.locals, binds: &binds, params, calls },
        );
    }
}

/// The variables that a place may lead into: none if it is a local of the code.
fn targets(place: &Place, scope: &FactScope<'_, '_>, depth: usize) -> Option<Vec<Path>> {
    let mut found = match place.root {
        Root::Var(var) => vec![(var, Vec::new())],
        Root::Local(local) => match (scope.params.get(&local), scope.locals[local].kind) {
            (Some(paths), LocalKind::Reference { .. }) => paths.clone()?,
            (_, LocalKind::Bound | LocalKind::Variable) => return Some(Vec::new()),
            (None, LocalKind::Reference { .. }) => {
                let own: Vec<&&Binding> =
                    scope.binds.iter().filter(|binding| binding.local == local).collect();
                if own.is_empty() || depth > 20 {
                    return None;
                }
                let mut all = Vec::new();
                for binding in own {
                    if let Argument::Place(place) = &binding.to {
                        all.extend(targets(place, scope, depth + 1)?);
                    }
                }
                all
            }
        },
    };
    for (_, path) in &mut found {
        path.extend(place.path.iter().map(|projection| match projection {
            Projection::Field(at) => Some(*at),
            Projection::Index(_) | Projection::Slot(_) | Projection::Item(_) => None,
        }));
    }
    Some(found)
}

/// As good as without end.
const DEEP: usize = 1_000;

/// How deeply quantifiers and loops over a sort are nested.
struct Nesting<'m> {
    model: &'m Model,
    sort: SortId,
}

impl<'m> Nesting<'m> {
    fn walk(&self, calls: &mut Vec<FunctionId>, walk: impl FnOnce(&mut dyn FnMut(Node<'m>))) -> usize {
        let mut parts: Vec<Node<'m>> = Vec::new();
        walk(&mut |node| parts.push(node));
        parts.into_iter().map(|node| self.node(node, calls)).max().unwrap_or(0)
    }

    fn expr(&self, expr: &'m Expr, calls: &mut Vec<FunctionId>) -> usize {
        self.walk(calls, |see| walk_expr(expr, see))
    }

    fn block(&self, block: &'m [Stmt], calls: &mut Vec<FunctionId>) -> usize {
        self.walk(calls, |see| walk_block(block, see))
    }

    /// The depth of what begins here; parts of it are met by themselves as well.
    fn node(&self, node: Node<'m>, calls: &mut Vec<FunctionId>) -> usize {
        match node {
            Node::Expr(Expr { kind: ExprKind::Quantified { domain, body, .. }, .. }) => {
                self.ranges(domain) + self.expr(body, calls)
            }
            Node::Stmt(Stmt { kind: StmtKind::For { domain, body, .. }, .. }) => {
                self.ranges(domain) + self.block(body, calls)
            }
            Node::Expr(Expr { kind: ExprKind::Call(function, _), .. })
            | Node::Stmt(Stmt { kind: StmtKind::Call(function, _), .. }) => {
                if calls.contains(function) {
                    return DEEP;
                }
                calls.push(*function);
                let depth = self.block(&self.model.functions[*function].code.body, calls);
                calls.pop();
                depth
            }
            Node::Stmt(_) | Node::Expr(_) | Node::Place(_) => 0,
        }
    }

    /// The depth below the quantifiers at the head of an invariant, which ask about every choice of elements.
    fn inner(&self, expr: &'m Expr, denied: bool) -> usize {
        match &expr.kind {
            ExprKind::Quantified { quantifier, body, domain, .. }
                if self.ranges(domain) > 0 && quantifier.is_for_all(denied) =>
            {
                self.inner(body, denied)
            }
            ExprKind::Unary(UnaryOp::Not, of) => self.inner(of, !denied),
            _ => self.expr(expr, &mut Vec::new()),
        }
    }

    fn ranges(&self, domain: &'m Domain) -> usize {
        match domain {
            Domain::Type(ty) => usize::from(self.model.sorts_of(*ty).contains(&self.sort)),
            Domain::Range { .. } | Domain::Slots(_) => 0,
        }
    }
}
