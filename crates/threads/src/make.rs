//! Short words for the parts of a Model.

use shoal_model::{
    BinaryOp, CheckKind, Code, Domain, Expr, ExprBuilder, ExprKind, IndexVec, Local, LocalId, LocalKind,
    Model, Parameter, Place, Projection, PropertyId, Quantifier, Root, Rule, Sort, SortId, SortSize, Stmt,
    StmtKind, Table, TableId, Type, TypeDef, TypeId, Var, VarId,
};
use shoal_syntax::Span;

/// A model in the making, with the types that all of these languages need.
pub(crate) struct Maker {
    pub(crate) model: Model,
    pub(crate) truth: TypeId,
    pub(crate) integer: TypeId,
    make: ExprBuilder,
    span: Span,
}

impl Maker {
    pub(crate) fn new(span: Span) -> Maker {
        let mut model = Model::default();
        let truth = model.types.push(TypeDef { name: None, kind: Type::Bool });
        let integer = model.types.push(TypeDef { name: None, kind: Type::INTEGER });
        let make = ExprBuilder { boolean: truth, integer };
        Maker { model, truth, integer, make, span }
    }

    /// From now on, what is made stands here.
    pub(crate) fn at(&mut self, span: Span) -> &mut Self {
        self.span = span;
        self
    }

    pub(crate) fn ty(&mut self, kind: Type) -> TypeId {
        let known =
            self.model.types.enumerate().find(|(_, known)| known.name.is_none() && known.kind == kind);
        let known = known.map(|(id, _)| id);
        known.unwrap_or_else(|| self.model.types.push(TypeDef { name: None, kind }))
    }

    /// The sort of threads: any number of them, or so many. And the type of references to it.
    pub(crate) fn threads(&mut self, count: Option<u32>) -> (SortId, TypeId) {
        self.sort("Thread", count.map_or(SortSize::Any, SortSize::Fixed), 1)
    }

    /// A sort, and the type of references to it.
    pub(crate) fn sort(&mut self, name: &str, size: SortSize, first: u32) -> (SortId, TypeId) {
        let sort = self.model.sorts.push(Sort { name: name.into(), size, first, span: self.span });
        let ty = self.ty(Type::Ref { sort, nullable: false });
        (sort, ty)
    }

    pub(crate) fn var(&mut self, name: &str, ty: TypeId) -> VarId {
        self.model.vars.push(Var { name: name.into(), ty, span: self.span })
    }

    pub(crate) fn table(&mut self, name: &str, entries: Vec<i64>) -> TableId {
        self.model.tables.push(Table { name: name.into(), entries })
    }

    pub(crate) fn expr(&self, kind: ExprKind, ty: TypeId) -> Expr {
        Expr { kind, ty, span: self.span }
    }

    pub(crate) fn number(&self, value: i64) -> Expr {
        self.make.int(value, self.span)
    }

    pub(crate) fn constant(&self, value: bool) -> Expr {
        self.make.truth(value, self.span)
    }

    pub(crate) fn global(&self, var: VarId) -> Place {
        Place { root: Root::Var(var), path: Vec::new(), ty: self.model.vars[var].ty, span: self.span }
    }

    /// The entry of an array for a thread.
    pub(crate) fn of_thread(&self, var: VarId, thread: LocalId, thread_ty: TypeId) -> Place {
        let array = self.model.vars[var].ty;
        let ty = match self.model.kind(array) {
            Type::Array { element, .. } => *element,
            _ => array,
        };
        let index = self.read(self.local(thread, thread_ty));
        Place { root: Root::Var(var), path: vec![Projection::Index(index)], ty, span: self.span }
    }

    pub(crate) fn local(&self, local: LocalId, ty: TypeId) -> Place {
        Place { root: Root::Local(local), path: Vec::new(), ty, span: self.span }
    }

    pub(crate) fn read(&self, place: Place) -> Expr {
        let ty = place.ty;
        self.expr(ExprKind::Read(place), ty)
    }

    pub(crate) fn entry(&self, table: TableId, position: Expr) -> Expr {
        self.expr(ExprKind::Entry(table, Box::new(position)), self.integer)
    }

    pub(crate) fn binary(&self, op: BinaryOp, left: Expr, right: Expr) -> Expr {
        self.make.binary(op, left, right, self.span)
    }

    pub(crate) fn equal(&self, left: Expr, right: Expr) -> Expr {
        self.make.equal(left, right, self.span)
    }

    pub(crate) fn not(&self, of: Expr) -> Expr {
        self.make.not(of)
    }

    pub(crate) fn and(&self, of: Vec<Expr>) -> Expr {
        self.make.and(of, self.span)
    }

    pub(crate) fn or(&self, of: Vec<Expr>) -> Expr {
        self.make.or(of, self.span)
    }

    /// How many values of a type satisfy a condition on a local.
    pub(crate) fn count(&self, local: LocalId, ty: TypeId, body: Expr) -> Expr {
        self.quantified(Quantifier::Count, local, Domain::Type(ty), body)
    }

    pub(crate) fn quantified(
        &self,
        quantifier: Quantifier,
        local: LocalId,
        domain: Domain,
        body: Expr,
    ) -> Expr {
        self.make.quantified(quantifier, local, domain, body, self.span)
    }

    pub(crate) fn range(&self, from: Expr, to: Expr) -> Domain {
        self.make.range(from, to)
    }

    pub(crate) fn stmt(&self, kind: StmtKind) -> Stmt {
        Stmt { kind, span: self.span }
    }

    pub(crate) fn assign(&self, place: Place, value: Expr) -> Stmt {
        self.stmt(StmtKind::Assign(place, value))
    }

    pub(crate) fn assume(&self, condition: Expr, property: PropertyId) -> Stmt {
        self.stmt(StmtKind::Check { kind: CheckKind::Assume, condition: Some(condition), property })
    }

    pub(crate) fn rule(&self, name: &str, head: RuleLocals, guard: Option<Expr>, body: Vec<Stmt>) -> Rule {
        Rule {
            name: name.into(),
            params: head.params,
            bindings: Vec::new(),
            guard,
            code: Code { locals: head.locals, body },
            priority: 0,
            urgent: false,
            span: self.span,
        }
    }
}

/// The locals of a rule in the making.
#[derive(Clone, Debug, Default)]
pub(crate) struct RuleLocals {
    pub(crate) locals: IndexVec<LocalId, Local>,
    pub(crate) params: Vec<Parameter>,
}

impl RuleLocals {
    pub(crate) fn bound(&mut self, name: &str, ty: TypeId, span: Span) -> LocalId {
        self.push(name, ty, LocalKind::Bound, span)
    }

    pub(crate) fn variable(&mut self, name: &str, ty: TypeId, span: Span) -> LocalId {
        self.push(name, ty, LocalKind::Variable, span)
    }

    fn push(&mut self, name: &str, ty: TypeId, kind: LocalKind, span: Span) -> LocalId {
        self.locals.push(Local { name: name.into(), ty, kind, span })
    }

    pub(crate) fn param(&mut self, name: &str, ty: TypeId, domain: Domain, span: Span) -> LocalId {
        let local = self.bound(name, ty, span);
        self.params.push(Parameter { local, domain });
        local
    }
}
