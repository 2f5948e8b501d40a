//! Who came first: a history variable that keeps the elements of a sort that satisfy a predicate in the order in which
//! they came to satisfy it.
//!
//! The order is a list with links in both directions. It is changed by one procedure, which puts an element at the end or
//! takes it out, and which never faults; that procedure is called behind statements that may change the predicate of an
//! element that a local names. Where it is called matters for what can be proved with it, and for nothing else: whatever is
//! called when, the variables are always a list.

use shoal_model::{
    Argument, Code, Domain, Expr, ExprKind, Function, FunctionId, IndexVec, Local, LocalId, LocalKind, Model,
    Node, Place, Projection, Quantifier, Root, SortId, SortSize, Stmt, StmtKind, Type, TypeDef, TypeId,
    TypedId, UnaryOp, Var, VarId, print_expr, walk_code, walk_expr,
};
use shoal_syntax::Span;

/// A predicate of one element that depends on nothing but what is kept for the element.
#[derive(Clone, Debug, PartialEq)]
pub struct Arrival {
    /// The sort of the element.
    pub sort: SortId,
    /// The element in the body.
    pub local: LocalId,
    /// The body of a quantifier.
    pub body: Expr,
    /// Whether it is satisfied where the body is false.
    pub negated: bool,
    /// The locals of the body.
    pub locals: IndexVec<LocalId, Local>,
    /// References to the sort.
    reference: TypeId,
}

/// The variables in which a list of elements is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArrivalList {
    /// The sort of the elements.
    pub sort: SortId,
    /// The element that came first; undefined if the list is empty.
    pub first: VarId,
    /// The one that came last.
    pub last: VarId,
    /// For each element the one before it.
    pub before: VarId,
    /// For each element the one after it.
    pub after: VarId,
}

/// The predicates of single elements that the model asks about, each once: what some element satisfies comes first, then what
/// a quantifier asks of its element alone besides what it asks of others (`exists t: !isundefined(watched[t]) & watched[t] = n`).
pub fn arrivals(model: &Model) -> Vec<Arrival> {
    let (mut found, mut parts) = (Vec::new(), Vec::new());
    let mut see = |node: Node<'_>, locals: &IndexVec<LocalId, Local>| {
        if let Node::Expr(Expr { kind: ExprKind::Quantified { quantifier, local, domain, body }, .. }) = node
            && let Some(asked) = AskedOfElement::of(model, *quantifier, *local, domain, locals)
        {
            match asked.arrival(body, asked.negated) {
                Some(arrival) => add(model, &mut found, arrival),
                None => asked.parts(body, asked.negated, &mut |part| add(model, &mut parts, part)),
            }
        }
    };
    for condition in model.properties.iter().flat_map(|property| property.kind.conditions()) {
        walk_expr(&condition.expr, &mut |node| see(node, &condition.locals));
    }
    for rule in model.rules.iter() {
        rule.guard.iter().for_each(|guard| walk_expr(guard, &mut |node| see(node, &rule.code.locals)));
        walk_code(&rule.code, &mut |node| see(node, &rule.code.locals));
    }
    for function in model.functions.iter() {
        walk_code(&function.code, &mut |node| see(node, &function.code.locals));
    }
    found.sort_by_key(|arrival: &Arrival| arrival.negated);
    parts.sort_by_key(|arrival: &Arrival| arrival.negated);
    parts.into_iter().for_each(|part| add(model, &mut found, part));
    found
}

fn add(model: &Model, found: &mut Vec<Arrival>, arrival: Arrival) {
    if !found.iter().any(|it| same(model, it, &arrival)) {
        found.push(arrival);
    }
}

/// Whether two predicates are the same but for the name of their element.
fn same(model: &Model, a: &Arrival, b: &Arrival) -> bool {
    let text = |of: &Arrival| {
        let element = Local { name: "$".into(), ..of.locals[of.local].clone() };
        let body = PredicateRewriter::of(of, &mut Vec::new())?;
        Some(print_expr(model, &[element].into_iter().collect(), &body))
    };
    (a.sort, a.negated) == (b.sort, b.negated) && text(a) == text(b)
}

/// A quantifier over a sort with any number of elements.
struct AskedOfElement<'a> {
    sort: SortId,
    reference: TypeId,
    local: LocalId,
    locals: &'a IndexVec<LocalId, Local>,
    /// Whether it is decided where its body is false.
    negated: bool,
}

impl<'a> AskedOfElement<'a> {
    fn of(
        model: &Model,
        quantifier: Quantifier,
        local: LocalId,
        domain: &Domain,
        locals: &'a IndexVec<LocalId, Local>,
    ) -> Option<AskedOfElement<'a>> {
        let negated = match quantifier {
            Quantifier::Forall => true,
            Quantifier::Exists => false,
            Quantifier::Count => return None,
        };
        let Domain::Type(reference) = domain else { return None };
        let Type::Ref { sort, nullable: false } = model.kind(*reference) else { return None };
        let is_any = model.sorts[*sort].size == SortSize::Any;
        is_any.then_some(AskedOfElement { sort: *sort, reference: *reference, local, locals, negated })
    }

    /// That the element satisfies a condition (or, negated, that it does not), if that is about the element alone.
    fn arrival(&self, body: &Expr, negated: bool) -> Option<Arrival> {
        let arrival = Arrival {
            sort: self.sort,
            local: self.local,
            body: body.clone(),
            negated,
            locals: self.locals.clone(),
            reference: self.reference,
        };
        let mut reads = Vec::new();
        let fits = PredicateRewriter::of(&arrival, &mut reads).is_some() && !reads.is_empty();
        fits.then_some(arrival)
    }

    /// What has to be true (or, negated, false) of the element alone where a condition is.
    fn parts(&self, body: &Expr, negated: bool, add: &mut dyn FnMut(Arrival)) {
        let mut part = |of: &Expr, negated: bool| match self.arrival(of, negated) {
            Some(arrival) => add(arrival),
            None => self.parts(of, negated, add),
        };
        match (&body.kind, negated) {
            (ExprKind::And(of), false) | (ExprKind::Or(of), true) => {
                of.iter().for_each(|of| part(of, negated));
            }
            (ExprKind::Unary(UnaryOp::Not, of), _) => part(of, !negated),
            (ExprKind::Implies(a, b), true) => {
                part(a, false);
                part(b, true);
            }
            // Nothing else has parts that must all be so. What is missed is an order that is not tried.
            _ => {}
        }
    }
}

/// Rewrites the body of a predicate for a procedure whose first local is the element. Nothing where the body is more than
/// comparisons of what is kept for the element, which cannot fault where all of it is defined.
struct PredicateRewriter<'a> {
    local: LocalId,
    reads: &'a mut Vec<Place>,
}

impl PredicateRewriter<'_> {
    fn of(arrival: &Arrival, reads: &mut Vec<Place>) -> Option<Expr> {
        PredicateRewriter { local: arrival.local, reads }.expr(&arrival.body)
    }

    fn expr(&mut self, expr: &Expr) -> Option<Expr> {
        let kind = match &expr.kind {
            ExprKind::Const(value) => ExprKind::Const(value.clone()),
            ExprKind::Read(place) => ExprKind::Read(self.place(place)?),
            ExprKind::Peek(place) => ExprKind::Peek(self.place(place)?),
            ExprKind::IsUndefined(place) => ExprKind::IsUndefined(self.place(place)?),
            ExprKind::Unary(UnaryOp::Not, of) => ExprKind::Unary(UnaryOp::Not, self.boxed(of)?),
            ExprKind::Binary(op, a, b) if op.compares() => {
                ExprKind::Binary(*op, self.boxed(a)?, self.boxed(b)?)
            }
            ExprKind::Equal(a, b) => ExprKind::Equal(self.boxed(a)?, self.boxed(b)?),
            ExprKind::And(of) => ExprKind::And(of.iter().map(|it| self.expr(it)).collect::<Option<_>>()?),
            ExprKind::Or(of) => ExprKind::Or(of.iter().map(|it| self.expr(it)).collect::<Option<_>>()?),
            ExprKind::Implies(a, b) => ExprKind::Implies(self.boxed(a)?, self.boxed(b)?),
            ExprKind::IsMember(of, ty) => ExprKind::IsMember(self.boxed(of)?, *ty),
            ExprKind::Unary(UnaryOp::Neg | UnaryOp::BitNot, _)
            | ExprKind::Binary(..)
            | ExprKind::Cond(..)
            | ExprKind::Quantified { .. }
            | ExprKind::Call(..)
            | ExprKind::Ordinal(_)
            | ExprKind::ElementAt(..)
            | ExprKind::Entry(..)
            | ExprKind::Len(_)
            | ExprKind::Exists(_) => return None,
        };
        Some(Expr { kind, ty: expr.ty, span: expr.span })
    }

    fn boxed(&mut self, expr: &Expr) -> Option<Box<Expr>> {
        self.expr(expr).map(Box::new)
    }

    /// A cell of the element: its only index is the element.
    fn place(&mut self, place: &Place) -> Option<Place> {
        let first = LocalId::from_index(0);
        if place.root == Root::Local(self.local) && place.path.is_empty() {
            return Some(Place { root: Root::Local(first), ..place.clone() });
        }
        let Root::Var(_) = place.root else { return None };
        let (mut path, mut indices) = (Vec::new(), 0);
        for projection in &place.path {
            path.push(match projection {
                Projection::Field(at) => Projection::Field(*at),
                Projection::Index(index) if plain_local(index) == Some(self.local) => {
                    indices += 1;
                    Projection::Index(self.expr(index)?)
                }
                Projection::Index(_) | Projection::Slot(_) | Projection::Item(_) => return None,
            });
        }
        let place = Place { path, ..place.clone() };
        if indices != 1 {
            return None;
        }
        self.reads.push(place.clone());
        Some(place)
    }
}

/// The local that an expression is.
fn plain_local(expr: &Expr) -> Option<LocalId> {
    match &expr.kind {
        ExprKind::Read(place) | ExprKind::Peek(place) => match place.root {
            Root::Local(local) if place.path.is_empty() => Some(local),
            Root::Local(_) | Root::Var(_) => None,
        },
        _ => None,
    }
}

/// The model with a list of the elements that satisfy a predicate, in the order in which they came to.
pub fn with_arrivals(model: &Model, arrival: &Arrival) -> Option<(Model, ArrivalList)> {
    let mut model = model.clone();
    let mut reads = Vec::new();
    let body = PredicateRewriter::of(arrival, &mut reads)?;
    let reference = arrival.reference;
    let array = Type::Array { index: reference, element: reference };
    let array = model.types.push(TypeDef { name: None, kind: array });
    let mut var =
        |name: &str, ty: TypeId| model.vars.push(Var { name: format!("${name}"), ty, span: Span::default() });
    let list = ArrivalList {
        sort: arrival.sort,
        first: var("first", reference),
        last: var("last", reference),
        before: var("before", array),
        after: var("after", array),
    };
    let write = ListProcedure { list, reference, truth: arrival.body.ty };
    let is_in = write.is_in(body, &reads, arrival.negated);
    let name = arrival.locals[arrival.local].name.clone();
    let element = Local { name, ty: reference, kind: LocalKind::Variable, span: Span::default() };
    let function = model.functions.push(Function {
        name: "$arrive".into(),
        params: vec![LocalId::from_index(0)],
        result: None,
        code: Code { locals: [element].into_iter().collect(), body: write.body(is_in) },
        span: Span::default(),
    });
    let sites = Sites { model: &model.clone(), function, reads: &reads, sort: arrival.sort };
    for rule in model.rules.iter_mut() {
        sites.block(&mut rule.code.body, &rule.code.locals);
    }
    for (id, of) in model.functions.iter_mut().enumerate() {
        if id != function.index() {
            sites.block(&mut of.code.body, &of.code.locals);
        }
    }
    Some((model.made_by("keeping the order in which elements come"), list))
}

/// The procedure that puts its element at the end of the list or takes it out.
struct ListProcedure {
    list: ArrivalList,
    reference: TypeId,
    truth: TypeId,
}

impl ListProcedure {
    fn truth(&self, kind: ExprKind) -> Expr {
        Expr { kind, ty: self.truth, span: Span::default() }
    }

    fn element(&self) -> Expr {
        let place = Place {
            root: Root::Local(LocalId::from_index(0)),
            path: Vec::new(),
            ty: self.reference,
            span: Span::default(),
        };
        Expr { kind: ExprKind::Read(place), ty: self.reference, span: Span::default() }
    }

    fn whole(&self, var: VarId) -> Place {
        Place { root: Root::Var(var), path: Vec::new(), ty: self.reference, span: Span::default() }
    }

    fn entry(&self, var: VarId, of: Expr) -> Place {
        Place { path: vec![Projection::Index(of)], ..self.whole(var) }
    }

    fn read(&self, place: Place) -> Expr {
        Expr { kind: ExprKind::Read(place), ty: self.reference, span: Span::default() }
    }

    fn peek(&self, place: Place) -> Expr {
        Expr { kind: ExprKind::Peek(place), ty: self.reference, span: Span::default() }
    }

    fn not(&self, expr: Expr) -> Expr {
        self.truth(ExprKind::Unary(UnaryOp::Not, Box::new(expr)))
    }

    /// Whether the element is to be in the list: all that the predicate reads is defined, and it is satisfied.
    fn is_in(&self, body: Expr, reads: &[Place], negated: bool) -> Expr {
        let defined = |place: &Place| self.not(self.truth(ExprKind::IsUndefined(place.clone())));
        let body = if negated { self.not(body) } else { body };
        self.truth(ExprKind::And(reads.iter().map(defined).chain([body]).collect()))
    }

    /// Whether it is in the list.
    fn was_in(&self) -> Expr {
        let before = self.entry(self.list.before, self.element());
        let has_before = self.not(self.truth(ExprKind::IsUndefined(before)));
        let first = Box::new(self.peek(self.whole(self.list.first)));
        let is_first = self.truth(ExprKind::Equal(first, Box::new(self.element())));
        self.truth(ExprKind::Or(vec![has_before, is_first]))
    }

    fn body(&self, is_in: Expr) -> Vec<Stmt> {
        let arrives = self.truth(ExprKind::And(vec![is_in.clone(), self.not(self.was_in())]));
        let leaves = self.truth(ExprKind::And(vec![self.not(is_in), self.was_in()]));
        vec![stmt(StmtKind::If(vec![(arrives, self.arrive()), (leaves, self.leave())], Vec::new()))]
    }

    fn arrive(&self) -> Vec<Stmt> {
        let ArrivalList { first, last, before, after, .. } = self.list;
        let empty = self.truth(ExprKind::IsUndefined(self.whole(last)));
        let to_first = assign(self.whole(first), self.element());
        let behind_last = assign(self.entry(after, self.read(self.whole(last))), self.element());
        vec![
            assign(self.entry(before, self.element()), self.peek(self.whole(last))),
            stmt(StmtKind::If(vec![(empty, vec![to_first])], vec![behind_last])),
            assign(self.whole(last), self.element()),
        ]
    }

    fn leave(&self) -> Vec<Stmt> {
        let ArrivalList { first, last, before, after, .. } = self.list;
        let (element, entry) = (|| self.element(), |var, of| self.entry(var, of));
        let is_first = self.truth(ExprKind::IsUndefined(entry(before, element())));
        let is_last = self.truth(ExprKind::IsUndefined(entry(after, element())));
        let next = || self.peek(entry(after, element()));
        let previous = || self.peek(entry(before, element()));
        let to_next = entry(after, self.read(entry(before, element())));
        let to_previous = entry(before, self.read(entry(after, element())));
        vec![
            stmt(StmtKind::If(
                vec![(is_first, vec![assign(self.whole(first), next())])],
                vec![assign(to_next, next())],
            )),
            stmt(StmtKind::If(
                vec![(is_last, vec![assign(self.whole(last), previous())])],
                vec![assign(to_previous, previous())],
            )),
            stmt(StmtKind::Undefine(entry(before, element()))),
            stmt(StmtKind::Undefine(entry(after, element()))),
        ]
    }
}

fn stmt(kind: StmtKind) -> Stmt {
    Stmt { kind, span: Span::default() }
}

fn assign(place: Place, value: Expr) -> Stmt {
    stmt(StmtKind::Assign(place, value))
}

/// Where the procedure is called.
struct Sites<'a> {
    model: &'a Model,
    function: FunctionId,
    reads: &'a [Place],
    sort: SortId,
}

impl Sites<'_> {
    fn block(&self, block: &mut Vec<Stmt>, locals: &IndexVec<LocalId, Local>) {
        let mut done = Vec::new();
        for mut stmt in block.drain(..) {
            match &mut stmt.kind {
                StmtKind::If(arms, other) => {
                    arms.iter_mut().for_each(|(_, arm)| self.block(arm, locals));
                    self.block(other, locals);
                }
                StmtKind::While { body, .. } | StmtKind::For { body, .. } => self.block(body, locals),
                _ => {}
            }
            let call = stmt.kind.written().and_then(|place| self.element(place, locals)).map(|element| {
                let call = StmtKind::Call(self.function, vec![Argument::Value(element)]);
                Stmt { kind: call, span: stmt.span }
            });
            done.push(stmt);
            done.extend(call);
        }
        *block = done;
    }

    /// The element whose predicate a write may change, where a local names it: that cannot fault.
    fn element(&self, written: &Place, locals: &IndexVec<LocalId, Local>) -> Option<Expr> {
        let index = |read: &Place| {
            let at = read.path.iter().position(|projection| matches!(projection, Projection::Index(_)))?;
            match written.path.get(at)? {
                Projection::Index(index) => Some(index),
                Projection::Field(_) | Projection::Slot(_) | Projection::Item(_) => None,
            }
        };
        let index = self.reads.iter().filter(|read| overlap(written, read)).find_map(index)?;
        let local = &locals[plain_local(index)?];
        let is_element = *self.model.kind(local.ty) == Type::Ref { sort: self.sort, nullable: false };
        let is_own = !matches!(local.kind, LocalKind::Reference { .. });
        (is_element && is_own).then(|| index.clone())
    }
}

/// Whether a place may be a part of another, or the other way round.
fn overlap(a: &Place, b: &Place) -> bool {
    let alike = |(a, b): (&Projection, &Projection)| match (a, b) {
        (Projection::Field(a), Projection::Field(b)) => a == b,
        // Where two places step differently they are of different types, and if not, nothing is known of them.
        (Projection::Field(_) | Projection::Index(_) | Projection::Slot(_) | Projection::Item(_), _) => true,
    };
    a.root == b.root && a.path.iter().zip(&b.path).all(alike)
}
