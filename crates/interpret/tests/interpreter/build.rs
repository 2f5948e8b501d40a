//! Builds small models. Every expression, statement and place gets a span of its own, so that a test can ask
//! which of them faulted.

use std::cell::Cell;

use shoal_interpret::{Branch, Firing, Instance, Interpreter};
use shoal_model::*;
use shoal_syntax::{SourceId, Span};

pub type Locals = IndexVec<LocalId, Local>;

#[derive(Default)]
pub struct Build {
    pub model: Model,
    spans: Cell<usize>,
}

impl Build {
    pub fn new() -> Self {
        let mut build = Build::default();
        build.ty(Type::Bool);
        build.ty(Type::INTEGER);
        build
    }

    pub fn span(&self) -> Span {
        self.spans.set(self.spans.get() + 1);
        Span::new(SourceId(0), self.spans.get(), self.spans.get() + 1)
    }

    /// The model, after the verifier has seen it.
    pub fn done(self) -> Model {
        verify(&self.model).unwrap();
        self.model
    }

    // Types.

    pub fn ty(&mut self, kind: Type) -> TypeId {
        if !matches!(kind, Type::Enum { .. })
            && let Some((known, _)) = self.model.types.enumerate().find(|(_, def)| def.kind == kind)
        {
            return known;
        }
        self.model.types.push(TypeDef { name: None, kind })
    }
    pub fn bool(&self) -> TypeId {
        TypeId::from_index(0)
    }
    pub fn int(&self) -> TypeId {
        TypeId::from_index(1)
    }
    pub fn range(&mut self, lo: i64, hi: i64) -> TypeId {
        self.ty(Type::Int { lo, hi })
    }
    pub fn enumeration(&mut self, names: &[&str]) -> TypeId {
        self.ty(Type::Enum { variants: names.iter().map(|name| name.to_string()).collect() })
    }
    pub fn sort(&mut self, name: &str, size: SortSize) -> SortId {
        self.model.sorts.push(Sort { name: name.into(), size, first: 1, span: Span::default() })
    }
    pub fn reference(&mut self, sort: SortId, nullable: bool) -> TypeId {
        self.ty(Type::Ref { sort, nullable })
    }
    pub fn record(&mut self, fields: &[(&str, TypeId)]) -> TypeId {
        let fields = fields.iter().map(|(name, ty)| Field { name: name.to_string(), ty: *ty }).collect();
        self.ty(Type::Record { fields })
    }
    pub fn array(&mut self, index: TypeId, element: TypeId) -> TypeId {
        self.ty(Type::Array { index, element })
    }
    pub fn bag(&mut self, capacity: u32, element: TypeId) -> TypeId {
        self.ty(Type::Multiset { capacity, element })
    }
    pub fn sequence(&mut self, capacity: u32, element: TypeId) -> TypeId {
        self.ty(Type::Sequence { capacity, element })
    }

    // Places.

    pub fn var(&mut self, name: &str, ty: TypeId) -> Place {
        let span = self.span();
        let var = self.model.vars.push(Var { name: name.into(), ty, span });
        Place { root: Root::Var(var), path: vec![], ty, span }
    }
    pub fn local(&self, locals: &mut Locals, name: &str, ty: TypeId, kind: LocalKind) -> Place {
        let span = self.span();
        let local = locals.push(Local { name: name.into(), ty, kind, span });
        Place { root: Root::Local(local), path: vec![], ty, span }
    }
    pub fn bound(&self, locals: &mut Locals, name: &str, ty: TypeId) -> Place {
        self.local(locals, name, ty, LocalKind::Bound)
    }
    fn part(&self, place: &Place, projection: Projection, ty: TypeId) -> Place {
        let mut place = place.clone();
        place.path.push(projection);
        Place { ty, span: self.span(), ..place }
    }
    fn element(&self, place: &Place) -> TypeId {
        match self.model.kind(place.ty) {
            Type::Array { element, .. } | Type::Multiset { element, .. } | Type::Sequence { element, .. } => {
                *element
            }
            other => panic!("no elements: {other:?}"),
        }
    }
    pub fn field(&self, place: &Place, at: u32) -> Place {
        let Type::Record { fields } = self.model.kind(place.ty) else { panic!() };
        self.part(place, Projection::Field(at), fields[at as usize].ty)
    }
    pub fn at(&self, place: &Place, index: Expr) -> Place {
        self.part(place, Projection::Index(index), self.element(place))
    }
    pub fn slot(&self, place: &Place, slot: &Place) -> Place {
        self.part(place, Projection::Slot(self.read(slot)), self.element(place))
    }
    pub fn item(&self, place: &Place, at: Expr) -> Place {
        self.part(place, Projection::Item(at), self.element(place))
    }

    // Expressions.

    pub fn expr(&self, kind: ExprKind, ty: TypeId) -> Expr {
        Expr { kind, ty, span: self.span() }
    }
    pub fn constant(&self, value: Value, ty: TypeId) -> Expr {
        self.expr(ExprKind::Const(value), ty)
    }
    pub fn n(&self, value: i64) -> Expr {
        self.constant(Value::Int(value), self.int())
    }
    pub fn t(&self, value: bool) -> Expr {
        self.constant(Value::Bool(value), self.bool())
    }
    pub fn elem(&mut self, sort: SortId, element: u32) -> Expr {
        let ty = self.reference(sort, false);
        self.constant(Value::Elem(sort, element), ty)
    }
    pub fn read(&self, place: &Place) -> Expr {
        self.expr(ExprKind::Read(place.clone()), place.ty)
    }
    pub fn peek(&self, place: &Place) -> Expr {
        self.expr(ExprKind::Peek(place.clone()), place.ty)
    }
    pub fn is_undefined(&self, place: &Place) -> Expr {
        self.expr(ExprKind::IsUndefined(place.clone()), self.bool())
    }
    pub fn len(&self, place: &Place) -> Expr {
        self.expr(ExprKind::Len(place.clone()), self.int())
    }
    pub fn not(&self, of: Expr) -> Expr {
        self.expr(ExprKind::Unary(UnaryOp::Not, Box::new(of)), self.bool())
    }
    pub fn neg(&self, of: Expr) -> Expr {
        self.expr(ExprKind::Unary(UnaryOp::Neg, Box::new(of)), self.int())
    }
    pub fn eq(&self, a: Expr, b: Expr) -> Expr {
        self.expr(ExprKind::Equal(Box::new(a), Box::new(b)), self.bool())
    }
    pub fn is(&self, place: &Place, value: i64) -> Expr {
        self.eq(self.read(place), self.n(value))
    }
    pub fn and(&self, of: Vec<Expr>) -> Expr {
        self.expr(ExprKind::And(of), self.bool())
    }
    pub fn or(&self, of: Vec<Expr>) -> Expr {
        self.expr(ExprKind::Or(of), self.bool())
    }
    pub fn implies(&self, a: Expr, b: Expr) -> Expr {
        self.expr(ExprKind::Implies(Box::new(a), Box::new(b)), self.bool())
    }
    pub fn cond(&self, c: Expr, a: Expr, b: Expr) -> Expr {
        let ty = a.ty;
        self.expr(ExprKind::Cond(Box::new(c), Box::new(a), Box::new(b)), ty)
    }
    pub fn op(&self, op: BinaryOp, a: Expr, b: Expr) -> Expr {
        let compares = matches!(op, BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge);
        let ty = if compares { self.bool() } else { self.int() };
        self.expr(ExprKind::Binary(op, Box::new(a), Box::new(b)), ty)
    }
    pub fn add(&self, a: Expr, b: Expr) -> Expr {
        self.op(BinaryOp::Add, a, b)
    }
    pub fn quantified(&self, quantifier: Quantifier, local: &Place, domain: Domain, body: Expr) -> Expr {
        let ty = if quantifier == Quantifier::Count { self.int() } else { self.bool() };
        let kind = ExprKind::Quantified { quantifier, local: local_id(local), domain, body: Box::new(body) };
        self.expr(kind, ty)
    }
    pub fn forall(&self, local: &Place, domain: Domain, body: Expr) -> Expr {
        self.quantified(Quantifier::Forall, local, domain, body)
    }
    pub fn exists(&self, local: &Place, domain: Domain, body: Expr) -> Expr {
        self.quantified(Quantifier::Exists, local, domain, body)
    }
    pub fn span_of_range(&self, from: i64, to: i64, by: i64) -> Domain {
        let [from, to, by] = [from, to, by].map(|bound| Box::new(self.n(bound)));
        Domain::Range { from, to, by }
    }
    pub fn call(&self, function: FunctionId, arguments: Vec<Argument>) -> Expr {
        let ty = self.model.functions[function].result.unwrap_or(self.bool());
        self.expr(ExprKind::Call(function, arguments), ty)
    }

    // Statements.

    pub fn stmt(&self, kind: StmtKind) -> Stmt {
        Stmt { kind, span: self.span() }
    }
    pub fn set(&self, place: &Place, value: Expr) -> Stmt {
        self.stmt(StmtKind::Assign(place.clone(), value))
    }
    pub fn put(&self, place: &Place, value: i64) -> Stmt {
        self.set(place, self.n(value))
    }
    pub fn when(&self, condition: Expr, then: Vec<Stmt>) -> Stmt {
        self.stmt(StmtKind::If(vec![(condition, then)], vec![]))
    }
    pub fn each(&self, local: &Place, domain: Domain, body: Vec<Stmt>) -> Stmt {
        self.stmt(StmtKind::For { local: local_id(local), domain, body })
    }
    pub fn choose(&self, local: &Place, domain: Domain) -> Stmt {
        self.stmt(StmtKind::Choose { local: local_id(local), domain })
    }
    pub fn bind(&self, local: &Place, to: Argument) -> Stmt {
        self.stmt(StmtKind::Bind(vec![Binding { local: local_id(local), to }]))
    }
    pub fn put_in(&self, bag: &Place, value: Expr) -> Stmt {
        self.stmt(StmtKind::MultisetAdd(bag.clone(), value))
    }
    pub fn check(&self, kind: CheckKind, condition: Expr, property: PropertyId) -> Stmt {
        self.stmt(StmtKind::Check { kind, condition: Some(condition), property })
    }
    pub fn insert(&self, list: &Place, at: Option<Expr>, value: Expr) -> Stmt {
        self.stmt(StmtKind::Insert { place: list.clone(), at, value })
    }
    pub fn create(&self, place: &Place, sort: SortId) -> Stmt {
        self.stmt(StmtKind::Create(place.clone(), sort))
    }
    pub fn delete(&self, place: &Place) -> Stmt {
        self.stmt(StmtKind::Delete(self.read(place)))
    }

    // Code.

    pub fn start(&mut self, locals: Locals, body: Vec<Stmt>) -> StartId {
        let rule = self.a_rule("start", locals, body);
        self.model.starts.push(rule)
    }
    pub fn a_rule(&self, name: &str, locals: Locals, body: Vec<Stmt>) -> Rule {
        Rule {
            name: name.into(),
            params: vec![],
            bindings: vec![],
            guard: None,
            code: Code { locals, body },
            priority: 0,
            urgent: false,
            span: self.span(),
        }
    }
    pub fn rule(&mut self, name: &str, guard: Expr, body: Vec<Stmt>) -> RuleId {
        let rule = Rule { guard: Some(guard), ..self.a_rule(name, Locals::new(), body) };
        self.model.rules.push(rule)
    }
    pub fn function(
        &mut self,
        locals: Locals,
        params: &[&Place],
        result: Option<TypeId>,
        body: Vec<Stmt>,
    ) -> FunctionId {
        let params = params.iter().map(|param| local_id(param)).collect();
        let span = self.span();
        self.model.functions.push(Function {
            name: "f".into(),
            params,
            result,
            code: Code { locals, body },
            span,
        })
    }
    pub fn property(&mut self, name: &str, kind: PropertyKind) -> PropertyId {
        let span = self.span();
        self.model.properties.push(Property { name: name.into(), kind, span })
    }
    pub fn invariant(&mut self, name: &str, expr: Expr) -> PropertyId {
        self.property(name, PropertyKind::Invariant(closed(expr)))
    }
}

/// A condition without bound variables.
pub fn closed(expr: Expr) -> Condition {
    Condition { locals: Locals::new(), expr }
}

pub fn local_id(place: &Place) -> LocalId {
    match place.root {
        Root::Local(local) => local,
        Root::Var(_) => panic!("not a local"),
    }
}

pub const WRITABLE: LocalKind = LocalKind::Reference { writable: true };
pub const READABLE: LocalKind = LocalKind::Reference { writable: false };

/// What the only start of a model comes to, in its only run.
pub fn outcome(model: &Model) -> Firing {
    let branches = branches(model);
    assert_eq!(branches.len(), 1, "{branches:?}");
    branches.into_iter().next().unwrap().result
}

/// All runs of the only start.
pub fn branches(model: &Model) -> Vec<Branch> {
    Interpreter::new(model).unwrap().run_start(StartId::from_index(0), &[])
}

/// The values of the variables after the only run of the only start.
pub fn values(model: &Model) -> Vec<Value> {
    state(model).values
}

/// The state after the only run of the only start.
pub fn state(model: &Model) -> State {
    match outcome(model) {
        Firing::State(state) => state,
        other => panic!("{other:?}"),
    }
}

/// The fault of the only run of the only start.
pub fn fault(model: &Model) -> (FaultKind, Span) {
    match outcome(model) {
        Firing::Fault(fault) => (fault.kind, fault.span),
        other => panic!("{other:?}"),
    }
}

pub fn instance(rule: RuleId, args: &[Value]) -> Instance {
    Instance { rule, args: args.to_vec() }
}

pub fn int(value: i64) -> Value {
    Value::Int(value)
}

/// A bag in normal form.
pub fn bag(values: &[i64]) -> Value {
    Value::Multiset(values.iter().map(|value| Some(int(*value))).collect())
}

/// The value of an expression over integers or truth values, or its fault.
pub fn eval(mut build: Build, expr: Expr) -> Result<Value, (FaultKind, Span)> {
    let result = build.var("$result", expr.ty);
    let mut body = vec![build.set(&result, expr)];
    // What the test has put into the first start comes first.
    let locals = match build.model.starts.iter_mut().next() {
        Some(start) => {
            start.code.body.append(&mut body);
            None
        }
        None => Some(Locals::new()),
    };
    if let Some(locals) = locals {
        build.start(locals, body);
    }
    let model = build.done();
    match outcome(&model) {
        Firing::State(state) => Ok(state.values.into_iter().last().unwrap()),
        Firing::Fault(fault) => Err((fault.kind, fault.span)),
        Firing::Discarded => panic!("discarded"),
    }
}
