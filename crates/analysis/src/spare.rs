//! Data of which one instance shows all: where no state holds more values than there are, less those a step can choose.
//!
//! Elements of a sort that is data ([`crate::is_data`]) are copied and compared, and nothing else. Say that an instance has `n` of
//! them, that a step chooses at most `c`, and that none of its reachable states holds more than `n - c` different ones. Then
//! every reachable state of a larger instance is one of these, with other names: a start or a step from such a state has to do
//! with at most `n` elements, those that the state holds and those that it chooses; under names of the small instance it
//! is a step there. And a run of a smaller instance is a run of this one. So what holds in all its states holds in those of every
//! instance. (Not that something can always happen: a smaller instance has less to choose from.)
//!
//! That `c` elements are held by nothing is one more invariant: [`with_spare`].

use shoal_model::{
    Condition, Domain, Expr, ExprKind, IndexVec, Local, LocalId, LocalKind, Model, Node, Place, Projection,
    Property, PropertyId, PropertyKind, Quantifier, Root, Rule, SortId, Stmt, StmtKind, Type, TypeId,
    UnaryOp, verify, walk_block, walk_code,
};
use shoal_syntax::Span;

/// More choices of a step than this are not looked for.
const MOST_CHOICES: usize = 3;

/// The model, an instance in which these sorts are data, with an invariant that in every state so many elements of each of them
/// are held by nothing as a step can choose. Nothing if that cannot be said.
pub fn with_spare(model: &Model, sorts: &[SortId]) -> Option<(Model, PropertyId)> {
    let truth = model.types.enumerate().find(|(_, ty)| ty.kind == Type::Bool).map(|(id, _)| id)?;
    let number = model.types.enumerate().find(|(_, ty)| ty.kind == Type::INTEGER).map(|(id, _)| id);
    let mut claim = SpareClaim { model, truth, number, locals: IndexVec::new() };
    let mut parts = Vec::new();
    for sort in sorts {
        let is_it = |ty: &Type| matches!(ty, Type::Ref { sort: of, nullable: false } if of == sort);
        let ty = model.types.enumerate().find(|(_, ty)| is_it(&ty.kind)).map(|(id, _)| id)?;
        let choices = most_choices(model, *sort)?;
        if choices > 0 {
            parts.push(claim.spare(*sort, ty, choices, &mut Vec::new())?);
        }
    }
    let expr = claim.connect(ExprKind::And(parts));
    let mut bounded = model.clone();
    let kind = PropertyKind::Invariant(Condition { locals: claim.locals, expr });
    let property = Property { name: "spare values".into(), kind, span: Span::default() };
    let id = bounded.properties.push(property);
    verify(&bounded).is_ok().then_some((bounded, id))
}

/// How many elements of a sort a start or a step chooses at most.
fn most_choices(model: &Model, sort: SortId) -> Option<usize> {
    let chooses = |domain: &Domain| matches!(domain, Domain::Type(ty) if model.sorts_of(*ty).contains(&sort));
    let is_choice = |node: &Node<'_>| matches!(node, Node::Stmt(Stmt { kind: StmtKind::Choose { domain, .. }, .. }) if chooses(domain));
    // In a loop or a function there may be any number of choices.
    let mut uncounted = false;
    for function in model.functions.iter() {
        walk_code(&function.code, &mut |node| uncounted |= is_choice(&node));
    }
    let mut of_rule = |rule: &Rule| {
        let params = rule.params.iter().filter(|param| chooses(&param.domain)).count();
        let mut stated = 0;
        walk_code(&rule.code, &mut |node| {
            stated += usize::from(is_choice(&node));
            if let Node::Stmt(Stmt {
                kind: StmtKind::For { body, .. } | StmtKind::While { body, .. }, ..
            }) = node
            {
                walk_block(body, &mut |node| uncounted |= is_choice(&node));
            }
        });
        params + stated
    };
    let most = model.starts.iter().chain(model.rules.iter()).map(&mut of_rule).max().unwrap_or(0);
    Some(most).filter(|most| *most <= MOST_CHOICES && !uncounted)
}

/// Makes the invariant.
struct SpareClaim<'m> {
    model: &'m Model,
    truth: TypeId,
    /// The type of positions.
    number: Option<TypeId>,
    locals: IndexVec<LocalId, Local>,
}

impl SpareClaim<'_> {
    fn connect(&self, kind: ExprKind) -> Expr {
        Expr { kind, ty: self.truth, span: Span::default() }
    }

    fn local(&mut self, ty: TypeId) -> LocalId {
        let name = format!("$spare{}", self.locals.len());
        self.locals.push(Local { name, ty, kind: LocalKind::Bound, span: Span::default() })
    }

    fn read(&self, local: LocalId) -> Expr {
        let ty = self.locals[local].ty;
        let place = Place { root: Root::Local(local), path: Vec::new(), ty, span: Span::default() };
        Expr { kind: ExprKind::Read(place), ty, span: Span::default() }
    }

    fn not(&self, of: Expr) -> Expr {
        self.connect(ExprKind::Unary(UnaryOp::Not, Box::new(of)))
    }

    fn exists(&self, local: LocalId, domain: Domain, body: Expr) -> Expr {
        let quantifier = Quantifier::Exists;
        self.connect(ExprKind::Quantified { quantifier, local, domain, body: Box::new(body) })
    }

    /// There are so many different elements, none of them among those, that nothing holds.
    fn spare(&mut self, sort: SortId, ty: TypeId, count: usize, others: &mut Vec<LocalId>) -> Option<Expr> {
        let local = self.local(ty);
        let mut parts = Vec::new();
        for other in others.iter() {
            let same = ExprKind::Equal(Box::new(self.read(*other)), Box::new(self.read(local)));
            parts.push(self.not(self.connect(same)));
        }
        for (var, of) in self.model.vars.enumerate() {
            let place = Place { root: Root::Var(var), path: Vec::new(), ty: of.ty, span: Span::default() };
            if let Some(held) = self.held(sort, local, place)? {
                parts.push(self.not(held));
            }
        }
        if count > 1 {
            others.push(local);
            parts.push(self.spare(sort, ty, count - 1, others)?);
            others.pop();
        }
        let body = self.connect(ExprKind::And(parts));
        Some(self.exists(local, Domain::Type(ty), body))
    }

    /// Whether a place holds an element; the inner nothing if it holds none of its sort, the outer if that cannot be said.
    fn held(&mut self, sort: SortId, element: LocalId, place: Place) -> Option<Option<Expr>> {
        let model = self.model;
        let is_of = |part: &Type| matches!(part, Type::Ref { sort: of, .. } if *of == sort);
        if !model.type_contains(place.ty, &is_of) {
            return Some(None);
        }
        let into = |place: &Place, step: Projection, ty: TypeId| {
            let path = place.path.iter().cloned().chain([step]).collect();
            Place { path, ty, ..place.clone() }
        };
        Some(Some(match model.kind(place.ty) {
            Type::Ref { .. } | Type::Union { .. } => {
                let ty = place.ty;
                let there = Expr { kind: ExprKind::Peek(place), ty, span: Span::default() };
                let element = self.read(element);
                self.connect(ExprKind::Equal(Box::new(there), Box::new(element)))
            }
            Type::Record { fields } => {
                let mut parts = Vec::new();
                for (at, field) in fields.iter().enumerate() {
                    let field = into(&place, Projection::Field(at as u32), field.ty);
                    parts.extend(self.held(sort, element, field)?);
                }
                self.connect(ExprKind::Or(parts))
            }
            Type::Array { index, element: ty } => {
                let at = self.local(*index);
                let entry = into(&place, Projection::Index(self.read(at)), *ty);
                let body = self.held(sort, element, entry)??;
                self.exists(at, Domain::Type(*index), body)
            }
            Type::Multiset { element: ty, .. } => {
                let at = self.local(self.number?);
                let slot = into(&place, Projection::Slot(self.read(at)), *ty);
                let body = self.held(sort, element, slot)??;
                self.exists(at, Domain::Slots(place), body)
            }
            Type::Sequence { .. } | Type::Clock | Type::Bool | Type::Int { .. } | Type::Enum { .. } => {
                return None;
            }
        }))
    }
}
