//! A model made ready for the open world: how much of it a view shows, what context predicates it has, what its loops do.

use std::{cell::RefCell, rc::Rc};

use rustc_hash::FxHashMap;
use shoal_analysis::ArrivalList;
use shoal_model::{
    Argument, Code, Domain, Expr, ExprKind, IndexVec, Local, LocalId, Model, Node, Place, Projection,
    PropertyId, PropertyKind, Quantifier, Root, Stmt, StmtKind, Type, TypeId, TypedId, UnaryOp,
    walk_argument, walk_code, walk_domain, walk_expr,
};

use crate::{
    cell::Cell,
    chain::Chain,
    effects::{LoopFacts, loop_facts},
    layout::{Lacking, ViewLayout},
    screen::Screen,
    shared::ReferenceFamilies,
    sieve::Sieve,
    structure::{Drawing, Glance, Known, Pick, Structure, StructureShape},
};

/// A closed question about one element: whether the body of a quantifier decides it.
#[derive(Debug)]
pub(crate) struct Predicate<'m> {
    pub(crate) sort: usize,
    pub(crate) local: LocalId,
    pub(crate) body: &'m Expr,
    /// Whether it is satisfied where the body is false.
    pub(crate) forall: bool,
    pub(crate) locals: &'m IndexVec<LocalId, Local>,
}

/// A condition that is to hold for all values of its parameters.
#[derive(Debug)]
pub(crate) struct ViewClaim<'m> {
    pub(crate) property: PropertyId,
    pub(crate) locals: &'m IndexVec<LocalId, Local>,
    /// What the quantifiers at its head bind.
    pub(crate) params: Vec<(LocalId, TypeId)>,
    pub(crate) body: &'m Expr,
    /// Whether it is the contrary of the body that is to hold.
    pub(crate) negated: bool,
    /// How deeply quantifiers and loops over each sort are nested in the body.
    pub(crate) depth: Vec<usize>,
}

/// A condition without the quantifiers at its head.
struct ConditionHead<'m> {
    params: Vec<(LocalId, TypeId)>,
    body: &'m Expr,
    negated: bool,
}

pub(crate) struct OpenSystem<'m> {
    /// With as many elements in each sort as there is room for.
    pub(crate) model: &'m Model,
    /// Which sorts have any number of elements.
    pub(crate) any: Vec<bool>,
    /// How many elements of each sort a view has.
    pub(crate) view: Vec<usize>,
    /// How many a structure may have.
    pub(crate) room: Vec<usize>,
    pub(crate) layout: ViewLayout,
    pub(crate) shape: StructureShape,
    /// For each sort, views without one element of it.
    pub(crate) pivots: Vec<Option<(StructureShape, Glance)>>,
    /// All orders of the elements of a view.
    pub(crate) orders: Vec<Glance>,
    /// The elements of a view.
    pub(crate) whole: Glance,
    /// By known elements and sort: the glances at as many elements as a view has, the newest of the sort among them.
    pub(crate) glances: Glances,
    /// Room to make views in.
    pub(crate) drawing: RefCell<Drawing>,
    /// By sort and element: the cells that belong to it.
    pub(crate) own: Vec<Vec<Vec<usize>>>,
    pub(crate) predicates: Vec<Predicate<'m>>,
    sites: FxHashMap<usize, usize>,
    loops: FxHashMap<usize, LoopFacts>,
    /// By family: the predicates that read it.
    watchers: Vec<u32>,
    /// By cell: whether it belongs to an element that views do not have.
    beyond: Vec<bool>,
    /// By type: whether it has an array over a sort with any number.
    open: Vec<bool>,
    pub(crate) claims: Vec<ViewClaim<'m>>,
    /// The list in which elements are kept in the order in which they came, if there is one.
    pub(crate) chain: Option<Chain>,
    /// The references that elements have.
    pub(crate) references: ReferenceFamilies,
    /// How deeply quantifiers and loops over each sort are nested in rules and starts.
    pub(crate) depth: Vec<usize>,
    /// By rule: what makes its guard false for everybody.
    pub(crate) screens: FxHashMap<usize, Screen<'m>>,
    /// By rule: how its guard begins.
    pub(crate) sieves: FxHashMap<usize, Sieve>,
    /// By quantifier and loop: what has to be so of an element that matters to it.
    pub(crate) witness_sieves: FxHashMap<usize, Sieve>,
}

/// Glances that were made ready, by what they are at.
pub(crate) type Glances = RefCell<FxHashMap<(Known, usize), Rc<[Glance]>>>;

/// At most so many context predicates are kept.
const MOST_PREDICATES: usize = 10;

impl<'m> OpenSystem<'m> {
    /// `model` has so many elements of each sort as there is room for.
    pub(crate) fn new(
        model: &'m Model,
        any: &[bool],
        view: &[usize],
        bits: bool,
        asked: &[PropertyId],
        list: Option<&ArrivalList>,
    ) -> Result<Self, Lacking> {
        let layout = ViewLayout::new(model, any)?;
        let room: Vec<usize> =
            model.sorts.iter().map(|sort| sort.fixed_size().unwrap_or(0) as usize).collect();
        let shape = StructureShape::new(&layout, any, view);
        let pivot = |sort: usize| {
            let mut counts = view.to_vec();
            counts[sort] = counts[sort].checked_sub(1).filter(|_| any[sort])?;
            let pick: Pick = counts.iter().map(|count| (0..*count).collect()).collect();
            let shape = StructureShape::new(&layout, any, &counts);
            let glance = Glance::new(&layout, any, &room, &shape, &pick);
            Some((shape, glance))
        };
        let pivots = (0..any.len()).map(pivot).collect();
        let whole: Pick = view.iter().map(|count| (0..*count).collect()).collect();
        let whole = Glance::new(&layout, any, &room, &shape, &whole);
        let beyond = layout
            .cells
            .iter()
            .map(|cell| cell.dims.iter().any(|dim| any[dim.sort] && dim.element >= view[dim.sort]));
        let beyond = beyond.collect();
        let over_any = |part: &Type| match part {
            Type::Array { index, .. } => model.sorts_of(*index).iter().any(|sort| any[sort.index()]),
            _ => false,
        };
        let open = model.types.ids().map(|ty| model.type_contains(ty, &over_any)).collect();
        let mut own: Vec<Vec<Vec<usize>>> = room.iter().map(|count| vec![Vec::new(); *count]).collect();
        for (at, cell) in layout.cells.iter().enumerate() {
            for (which, dim) in cell.dims.iter().enumerate() {
                let again =
                    cell.dims[..which].iter().any(|it| it.sort == dim.sort && it.element == dim.element);
                if !again {
                    own[dim.sort][dim.element].push(at);
                }
            }
        }
        let mut system = OpenSystem {
            model,
            any: any.to_vec(),
            view: view.to_vec(),
            room,
            watchers: vec![0; layout.families.len()],
            chain: list.map(|list| Chain::new(list, &layout)),
            references: ReferenceFamilies::new(model, &layout, any, view),
            layout,
            shape,
            pivots,
            orders: Vec::new(),
            whole,
            glances: Glances::default(),
            drawing: RefCell::default(),
            own,
            predicates: Vec::new(),
            sites: FxHashMap::default(),
            loops: FxHashMap::default(),
            beyond,
            open,
            claims: Vec::new(),
            depth: vec![0; any.len()],
            screens: FxHashMap::default(),
            sieves: FxHashMap::default(),
            witness_sieves: FxHashMap::default(),
        };
        system.find_loops();
        system.find_claims(asked);
        if bits {
            system.find_predicates();
        }
        system.orders = system.all_orders().iter().map(|pick| system.glance(&system.shape, pick)).collect();
        let depth = system.nesting();
        system.depth = depth;
        system.find_screens();
        system.find_sieves();
        system.find_witness_sieves();
        Ok(system)
    }

    pub(crate) fn predicate_at(&self, site: usize) -> Option<usize> {
        self.sites.get(&site).copied()
    }

    pub(crate) fn loop_at(&self, site: usize) -> Option<&LoopFacts> {
        self.loops.get(&site)
    }

    /// The predicates that read a cell.
    pub(crate) fn watchers(&self, offset: usize) -> u32 {
        self.watchers[self.layout.cells[offset].family]
    }

    pub(crate) fn watchers_of(&self, family: usize) -> u32 {
        self.watchers[family]
    }

    pub(crate) fn all_predicates(&self) -> u32 {
        (1 << self.predicates.len()) - 1
    }

    pub(crate) fn is_indexed(&self, offset: usize) -> bool {
        self.layout.families[self.layout.cells[offset].family].indexed
    }

    pub(crate) fn is_beyond_view(&self, offset: usize) -> bool {
        self.beyond[offset]
    }

    pub(crate) fn is_open(&self, ty: TypeId) -> bool {
        self.open[ty.index()]
    }

    /// Whether a type has more values where there are more elements, other than those elements.
    pub(crate) fn grows(&self, ty: TypeId) -> bool {
        let is_open = |ty: TypeId| self.model.open_bounds.iter().any(|(open, _)| *open == ty);
        match self.model.kind(ty) {
            Type::Union { members } => members.iter().any(|member| is_open(*member)),
            _ => is_open(ty),
        }
    }

    pub(crate) fn has_bag(&self, ty: TypeId) -> bool {
        self.model.type_contains(ty, &|part| matches!(part, Type::Multiset { .. }))
    }

    /// A structure of blank elements, as before a start.
    pub(crate) fn blank(&self) -> Structure {
        let mut cells = vec![Cell::ABSENT; self.layout.cells.len()];
        self.shape.offsets.iter().for_each(|at| cells[*at] = Cell::UNDEFINED);
        Structure {
            known: self.shape.counts.clone(),
            cells,
            bits: 0,
            stars: smallvec::smallvec![0; self.any.len()],
        }
    }

    /// Whether the cells of the same elements are different for sure. Bags are left out: their order means nothing.
    pub(crate) fn differ(&self, a: &[Cell], b: &[Cell]) -> bool {
        let in_bag = |at: usize| {
            self.layout
                .bags
                .iter()
                .any(|bag| (bag.offset..bag.offset + bag.capacity * bag.width).contains(&at))
        };
        (0..a.len()).any(|at| a[at] != b[at] && !in_bag(at))
    }

    /// The one sort with any number that a quantifier ranges over, if it is nothing else.
    pub(crate) fn open_domain(&self, domain: &Domain) -> Option<usize> {
        match domain {
            Domain::Type(ty) => match self.model.kind(*ty) {
                Type::Ref { sort, nullable: false } if self.any[sort.index()] => Some(sort.index()),
                _ => None,
            },
            Domain::Range { .. } | Domain::Slots(_) => None,
        }
    }

    fn find_loops(&mut self) {
        let model = self.model;
        let codes = (model.starts.iter().chain(model.rules.iter()).map(|rule| &rule.code))
            .chain(model.functions.iter().map(|function| &function.code));
        for code in codes {
            let mut found: Vec<&'m Stmt> = Vec::new();
            walk_code(code, &mut |node| {
                if let Node::Stmt(stmt @ Stmt { kind: StmtKind::For { .. }, .. }) = node {
                    found.push(stmt);
                }
            });
            for stmt in found {
                if let StmtKind::For { local, domain: Domain::Type(ty), body } = &stmt.kind
                    && model.sorts_of(*ty).iter().any(|sort| self.any[sort.index()])
                {
                    let facts = loop_facts(model, &self.layout, &code.locals, *local, body);
                    self.loops.insert(stmt as *const Stmt as usize, facts);
                }
            }
        }
    }

    /// What is asked of every view: the invariants that are asked for, and all of them where it is asked whether anything faults.
    fn find_claims(&mut self, asked: &[PropertyId]) {
        let kind = |property: &PropertyId| &self.model.properties[*property].kind;
        let all = asked.iter().any(|property| *kind(property) == PropertyKind::NoFaults);
        for property in self.model.properties.ids().filter(|property| all || asked.contains(property)) {
            let PropertyKind::Invariant(condition) = kind(&property) else { continue };
            for part in condition.expr.conjuncts() {
                let ConditionHead { params, body, negated } = self.head(part);
                let mut depth = vec![0; self.any.len()];
                self.nested_expr(body, &mut Vec::new(), &mut depth);
                let locals = &condition.locals;
                self.claims.push(ViewClaim { property, locals, params, body, negated, depth });
            }
        }
    }

    /// What is asked of every choice of elements: `forall` at the head of a condition, and `exists` where it is denied.
    fn head(&self, mut body: &'m Expr) -> ConditionHead<'m> {
        let (mut params, mut negated) = (Vec::new(), false);
        loop {
            match &body.kind {
                ExprKind::Unary(UnaryOp::Not, of) => (body, negated) = (of, !negated),
                ExprKind::Quantified {
                    quantifier,
                    local,
                    domain: domain @ Domain::Type(ty),
                    body: inner,
                } if self.open_domain(domain).is_some() && quantifier.is_for_all(negated) => {
                    params.push((*local, *ty));
                    body = inner;
                }
                _ => return ConditionHead { params, body, negated },
            }
        }
    }

    fn find_predicates(&mut self) {
        let model = self.model;
        let mut found: Vec<(&'m Expr, &'m IndexVec<LocalId, Local>)> = Vec::new();
        for rule in model.rules.iter() {
            let locals = &rule.code.locals;
            let mut visit = |node: Node<'m>| {
                if let Node::Expr(expr) = node {
                    found.push((expr, locals));
                }
            };
            rule.guard.iter().for_each(|guard| walk_expr(guard, &mut visit));
        }
        let bodies = model
            .functions
            .iter()
            .map(|function| &function.code)
            .chain(model.rules.iter().map(|rule| &rule.code));
        for code in bodies {
            walk_code(code, &mut |node| {
                if let Node::Expr(expr) = node {
                    found.push((expr, &code.locals));
                }
            });
        }
        for claim in &self.claims {
            walk_expr(claim.body, &mut |node| {
                if let Node::Expr(expr) = node {
                    found.push((expr, claim.locals));
                }
            });
        }
        for (expr, locals) in found {
            self.add_predicate(expr, locals);
        }
    }

    fn add_predicate(&mut self, expr: &'m Expr, locals: &'m IndexVec<LocalId, Local>) {
        let ExprKind::Quantified { quantifier, local, domain, body } = &expr.kind else { return };
        let forall = match quantifier {
            Quantifier::Forall => true,
            Quantifier::Exists => false,
            Quantifier::Count => return,
        };
        let Some(sort) = self.open_domain(domain) else { return };
        let mut families = Vec::new();
        if !self.is_closed(body, &|it| it == *local, &mut families) {
            return;
        }
        let same = |it: &Predicate<'_>| {
            it.sort == sort && it.forall == forall && same_expr(it.body, it.local, body, *local)
        };
        let at = match self.predicates.iter().position(same) {
            Some(at) => at,
            None if self.predicates.len() == MOST_PREDICATES => return,
            None => {
                self.predicates.push(Predicate { sort, local: *local, body, forall, locals });
                self.predicates.len() - 1
            }
        };
        for family in families {
            self.watchers[family] |= 1 << at;
        }
        self.sites.insert(expr as *const Expr as usize, at);
    }

    fn nesting(&self) -> Vec<usize> {
        let mut depth = vec![0; self.any.len()];
        let mut most = |part: Vec<usize>| {
            for (depth, part) in depth.iter_mut().zip(part) {
                *depth = part.max(*depth);
            }
        };
        for rule in self.model.starts.iter().chain(self.model.rules.iter()) {
            if let Some(guard) = &rule.guard {
                let mut part = vec![0; self.any.len()];
                self.nested_expr(guard, &mut Vec::new(), &mut part);
                most(part);
            }
            for binding in &rule.bindings {
                walk_argument(&binding.to, &mut |node| {
                    if let Node::Expr(expr) = node {
                        let mut part = vec![0; self.any.len()];
                        self.nested_expr(expr, &mut Vec::new(), &mut part);
                        most(part);
                    }
                });
            }
            most(self.nested_code(&rule.code, &mut Vec::new()));
        }
        depth
    }

    fn nested_code(&self, code: &Code, calls: &mut Vec<usize>) -> Vec<usize> {
        let mut depth = vec![0; self.any.len()];
        self.nested_block(&code.body, calls, &mut depth);
        depth
    }

    /// Raises the depths to those of the statements.
    fn nested_block(&self, block: &[Stmt], calls: &mut Vec<usize>, depth: &mut [usize]) {
        for stmt in block {
            match &stmt.kind {
                StmtKind::For { domain, body, .. } => {
                    let mut inner = vec![0; depth.len()];
                    self.nested_block(body, calls, &mut inner);
                    self.enclosed(domain, inner, depth);
                    self.nested_domain(domain, calls, depth);
                }
                StmtKind::If(arms, other) => {
                    for (condition, block) in arms {
                        self.nested_expr(condition, calls, depth);
                        self.nested_block(block, calls, depth);
                    }
                    self.nested_block(other, calls, depth);
                }
                StmtKind::While { condition, body, .. } => {
                    self.nested_expr(condition, calls, depth);
                    self.nested_block(body, calls, depth);
                }
                StmtKind::Call(function, _) => {
                    self.nested_call(function.index(), calls, depth);
                    self.nested_parts(stmt, calls, depth);
                }
                StmtKind::Assign(..)
                | StmtKind::Clear(_)
                | StmtKind::Undefine(_)
                | StmtKind::Bind(_)
                | StmtKind::Choose { .. }
                | StmtKind::Check { .. }
                | StmtKind::Return(_)
                | StmtKind::Output(_)
                | StmtKind::MultisetAdd(..)
                | StmtKind::MultisetRemove(..)
                | StmtKind::MultisetRemoveIf { .. }
                | StmtKind::Insert { .. }
                | StmtKind::Remove(..)
                | StmtKind::Create(..)
                | StmtKind::Delete(_) => self.nested_parts(stmt, calls, depth),
            }
        }
    }

    /// All expressions of a statement that has no blocks.
    fn nested_parts(&self, stmt: &Stmt, calls: &mut Vec<usize>, depth: &mut [usize]) {
        shoal_model::walk_block(std::slice::from_ref(stmt), &mut |node| {
            if let Node::Expr(expr) = node {
                self.nested_expr(expr, calls, depth);
            }
        });
    }

    fn nested_domain(&self, domain: &Domain, calls: &mut Vec<usize>, depth: &mut [usize]) {
        walk_domain(domain, &mut |node| {
            if let Node::Expr(expr) = node {
                self.nested_expr(expr, calls, depth);
            }
        });
    }

    fn nested_call(&self, function: usize, calls: &mut Vec<usize>, depth: &mut [usize]) {
        if calls.contains(&function) {
            // Recursion: as deep as can be.
            depth.fill(usize::MAX / 2);
            return;
        }
        calls.push(function);
        let callee = self.model.functions.as_slice().get(function);
        if let Some(callee) = callee {
            self.nested_block(&callee.code.body, calls, depth);
        }
        calls.pop();
    }

    fn enclosed(&self, domain: &Domain, mut inner: Vec<usize>, depth: &mut [usize]) {
        if let Domain::Type(ty) = domain {
            for sort in self.model.sorts_of(*ty) {
                inner[sort.index()] += usize::from(self.any[sort.index()]);
            }
        }
        for (depth, inner) in depth.iter_mut().zip(inner) {
            *depth = inner.max(*depth);
        }
    }

    fn nested_expr(&self, expr: &Expr, calls: &mut Vec<usize>, depth: &mut [usize]) {
        match &expr.kind {
            ExprKind::Quantified { domain, body, .. } => {
                let mut inner = vec![0; depth.len()];
                self.nested_expr(body, calls, &mut inner);
                self.enclosed(domain, inner, depth);
                self.nested_domain(domain, calls, depth);
            }
            _ => {
                // Parts that are not in a quantifier; those that are come again inside.
                let mut parts = Vec::new();
                walk_expr(expr, &mut |node| {
                    if let Node::Expr(part) = node {
                        match &part.kind {
                            ExprKind::Quantified { .. } if !std::ptr::eq(part, expr) => parts.push(part),
                            ExprKind::Call(function, _) => self.nested_call(function.index(), calls, depth),
                            _ => {}
                        }
                    }
                });
                parts.into_iter().for_each(|part| self.nested_expr(part, calls, depth));
            }
        }
    }
}

/// Whether two closed expressions are the same but for the name of their element and where they stand.
fn same_expr(a: &Expr, la: LocalId, b: &Expr, lb: LocalId) -> bool {
    let same = |a: &Expr, b: &Expr| same_expr(a, la, b, lb);
    let same_place = |a: &Place, b: &Place| {
        let roots = match (a.root, b.root) {
            (Root::Local(a), Root::Local(b)) => a == la && b == lb,
            (a, b) => a == b,
        };
        roots
            && a.path.len() == b.path.len()
            && a.path.iter().zip(&b.path).all(|(a, b)| match (a, b) {
                (Projection::Field(a), Projection::Field(b)) => a == b,
                (Projection::Index(a), Projection::Index(b)) => same(a, b),
                _ => false,
            })
    };
    match (&a.kind, &b.kind) {
        (ExprKind::Const(a), ExprKind::Const(b)) => a == b,
        (ExprKind::Read(a), ExprKind::Read(b))
        | (ExprKind::Peek(a), ExprKind::Peek(b))
        | (ExprKind::IsUndefined(a), ExprKind::IsUndefined(b)) => same_place(a, b),
        (ExprKind::Unary(f, a), ExprKind::Unary(g, b)) => f == g && same(a, b),
        (ExprKind::IsMember(a, f), ExprKind::IsMember(b, g)) => f == g && same(a, b),
        (ExprKind::Binary(f, a, c), ExprKind::Binary(g, b, d)) => f == g && same(a, b) && same(c, d),
        (ExprKind::Equal(a, c), ExprKind::Equal(b, d))
        | (ExprKind::Implies(a, c), ExprKind::Implies(b, d)) => same(a, b) && same(c, d),
        (ExprKind::And(a), ExprKind::And(b)) | (ExprKind::Or(a), ExprKind::Or(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (ExprKind::Cond(a, c, e), ExprKind::Cond(b, d, f)) => same(a, b) && same(c, d) && same(e, f),
        (ExprKind::Call(f, a), ExprKind::Call(g, b)) => {
            f == g
                && a.iter().zip(b).all(|(a, b)| match (a, b) {
                    (Argument::Value(a), Argument::Value(b)) => same(a, b),
                    (Argument::Place(a), Argument::Place(b)) => same_place(a, b),
                    (Argument::Value(_), Argument::Place(_)) | (Argument::Place(_), Argument::Value(_)) => {
                        false
                    }
                })
        }
        _ => false,
    }
}
