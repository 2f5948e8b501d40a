//! Makes small models by hand. Every statement gets a span of its own, so that tests can say which is to blame.

use shoal_model::{
    Argument, BinaryOp, Binding, CheckKind, Code, Condition, Domain, Expr, ExprKind, Field, Function,
    FunctionId, IndexVec, Local, LocalId, LocalKind, Model, Place, Projection, Property, PropertyId,
    PropertyKind, Quantifier, Root, Rule, Sort, SortId, SortSize, Stmt, StmtKind, Type, TypeDef, TypeId,
    UnaryOp, Value, VarId,
};
use shoal_syntax::{SourceId, Span};

pub(crate) const VARIABLE: LocalKind = LocalKind::Variable;
pub(crate) const REFERENCE: LocalKind = LocalKind::Reference { writable: true };

/// A model with a sort `Proc` of 3 and a sort `Data` of 2 elements, and the locals of the code in the making.
pub(crate) struct Build {
    pub(crate) model: Model,
    pub(crate) proc: SortId,
    pub(crate) data: SortId,
    pub(crate) bool: TypeId,
    pub(crate) int: TypeId,
    pub(crate) count: TypeId,
    pub(crate) p: TypeId,
    pub(crate) d: TypeId,
    pub(crate) state: TypeId,
    pub(crate) assertion: PropertyId,
    pub(crate) assumption: PropertyId,
    locals: IndexVec<LocalId, Local>,
    spans: usize,
}

impl Build {
    pub(crate) fn new() -> Build {
        let mut model = Model::default();
        let span = Span::default();
        let sort = |name: &str, size| Sort { name: name.into(), size, first: 1, span };
        let proc = model.sorts.push(sort("Proc", SortSize::Fixed(3)));
        let data = model.sorts.push(sort("Data", SortSize::Fixed(2)));
        let variants = vec!["I".into(), "S".into(), "M".into()];
        let mut ty = |name: &str, kind| model.types.push(TypeDef { name: Some(name.into()), kind });
        let bool = ty("bool", Type::Bool);
        let int = ty("int", Type::INTEGER);
        let count = ty("Count", Type::Int { lo: 0, hi: 7 });
        let p = ty("Proc", Type::Ref { sort: proc, nullable: false });
        let d = ty("Data", Type::Ref { sort: data, nullable: false });
        let state = ty("State", Type::Enum { variants });
        let property = |name: &str, kind| Property { name: name.into(), kind, span };
        let assertion = model.properties.push(property("assertion", PropertyKind::Assertion));
        let assumption = model.properties.push(property("assumption", PropertyKind::Assume(None)));
        let locals = IndexVec::new();
        Build { model, proc, data, bool, int, count, p, d, state, assertion, assumption, locals, spans: 0 }
    }

    pub(crate) fn ty(&mut self, kind: Type) -> TypeId {
        self.model.types.push(TypeDef { name: None, kind })
    }

    pub(crate) fn named(&mut self, name: &str, kind: Type) -> TypeId {
        self.model.types.push(TypeDef { name: Some(name.into()), kind })
    }

    pub(crate) fn array(&mut self, index: TypeId, element: TypeId) -> TypeId {
        self.ty(Type::Array { index, element })
    }

    pub(crate) fn bag(&mut self, element: TypeId) -> TypeId {
        self.ty(Type::Multiset { capacity: 4, element })
    }

    pub(crate) fn record(&mut self, fields: &[(&str, TypeId)]) -> TypeId {
        let fields = fields.iter().map(|(name, ty)| Field { name: (*name).into(), ty: *ty }).collect();
        self.ty(Type::Record { fields })
    }

    pub(crate) fn var(&mut self, name: &str, ty: TypeId) -> Place {
        let span = Span::default();
        let var = self.model.vars.push(shoal_model::Var { name: name.into(), ty, span });
        Place { root: Root::Var(var), path: vec![], ty, span }
    }

    /// A variable for each process.
    pub(crate) fn per_proc(&mut self, name: &str, element: TypeId) -> Place {
        let ty = self.array(self.p, element);
        self.var(name, ty)
    }

    pub(crate) fn local(&mut self, name: &str, ty: TypeId, kind: LocalKind) -> LocalId {
        self.locals.push(Local { name: name.into(), ty, kind, span: Span::default() })
    }

    pub(crate) fn bound(&mut self, name: &str, ty: TypeId) -> LocalId {
        self.local(name, ty, LocalKind::Bound)
    }

    pub(crate) fn the(&self, local: LocalId) -> Place {
        Place { root: Root::Local(local), path: vec![], ty: self.locals[local].ty, span: Span::default() }
    }

    pub(crate) fn value(&self, local: LocalId) -> Expr {
        read(&self.the(local))
    }

    pub(crate) fn at(&self, place: &Place, index: Expr) -> Place {
        let (step, ty) = match self.model.kind(place.ty) {
            Type::Array { element, .. } => (Projection::Index(index), *element),
            Type::Multiset { element, .. } => (Projection::Slot(index), *element),
            Type::Sequence { element, .. } => (Projection::Item(index), *element),
            other => panic!("no index into {other:?}"),
        };
        extend(place, step, ty)
    }

    /// The entry of a bound local.
    pub(crate) fn of(&self, place: &Place, local: LocalId) -> Place {
        self.at(place, self.value(local))
    }

    pub(crate) fn field(&self, place: &Place, name: &str) -> Place {
        let Type::Record { fields } = self.model.kind(place.ty) else { panic!("not a record") };
        let position = fields.iter().position(|field| field.name == name).unwrap();
        extend(place, Projection::Field(position as u32), fields[position].ty)
    }

    pub(crate) fn truth(&self, value: bool) -> Expr {
        expr(ExprKind::Const(Value::Bool(value)), self.bool)
    }

    pub(crate) fn number(&self, value: i64) -> Expr {
        expr(ExprKind::Const(Value::Int(value)), self.int)
    }

    pub(crate) fn element(&self, element: u32) -> Expr {
        expr(ExprKind::Const(Value::Elem(self.proc, element)), self.p)
    }

    pub(crate) fn is_state(&self, place: &Place, state: u32) -> Expr {
        self.equal(read(place), self.state(state))
    }

    pub(crate) fn state(&self, state: u32) -> Expr {
        expr(ExprKind::Const(Value::Enum(self.state, state)), self.state)
    }

    pub(crate) fn equal(&self, a: Expr, b: Expr) -> Expr {
        expr(ExprKind::Equal(a.into(), b.into()), self.bool)
    }

    pub(crate) fn not(&self, a: Expr) -> Expr {
        expr(ExprKind::Unary(UnaryOp::Not, a.into()), self.bool)
    }

    pub(crate) fn and(&self, operands: Vec<Expr>) -> Expr {
        expr(ExprKind::And(operands), self.bool)
    }

    pub(crate) fn or(&self, operands: Vec<Expr>) -> Expr {
        expr(ExprKind::Or(operands), self.bool)
    }

    pub(crate) fn binary(&self, op: BinaryOp, a: Expr, b: Expr) -> Expr {
        let compares = matches!(op, BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge);
        expr(ExprKind::Binary(op, a.into(), b.into()), if compares { self.bool } else { self.int })
    }

    pub(crate) fn quantified(
        &self,
        quantifier: Quantifier,
        local: LocalId,
        domain: Domain,
        body: Expr,
    ) -> Expr {
        let ty = if quantifier == Quantifier::Count { self.int } else { self.bool };
        expr(ExprKind::Quantified { quantifier, local, domain, body: body.into() }, ty)
    }

    pub(crate) fn call_value(&self, function: FunctionId, arguments: Vec<Argument>) -> Expr {
        let ty = self.model.functions[function].result.unwrap();
        expr(ExprKind::Call(function, arguments), ty)
    }

    pub(crate) fn stmt(&mut self, kind: StmtKind) -> Stmt {
        self.spans += 1;
        Stmt { kind, span: Span::new(SourceId(0), self.spans * 10, self.spans * 10 + 5) }
    }

    pub(crate) fn set(&mut self, place: &Place, value: Expr) -> Stmt {
        self.stmt(StmtKind::Assign(place.clone(), value))
    }

    pub(crate) fn add_to(&mut self, place: &Place, by: i64) -> Stmt {
        let sum = self.binary(BinaryOp::Add, read(place), self.number(by));
        self.set(place, sum)
    }

    pub(crate) fn when(&mut self, condition: Expr, then: Vec<Stmt>) -> Stmt {
        self.stmt(StmtKind::If(vec![(condition, then)], vec![]))
    }

    pub(crate) fn for_each(&mut self, local: LocalId, body: Vec<Stmt>) -> Stmt {
        let domain = Domain::Type(self.locals[local].ty);
        self.stmt(StmtKind::For { local, domain, body })
    }

    pub(crate) fn for_slots(&mut self, local: LocalId, bag: &Place, body: Vec<Stmt>) -> Stmt {
        self.stmt(StmtKind::For { local, domain: Domain::Slots(bag.clone()), body })
    }

    pub(crate) fn choose(&mut self, local: LocalId) -> Stmt {
        let domain = Domain::Type(self.locals[local].ty);
        self.stmt(StmtKind::Choose { local, domain })
    }

    pub(crate) fn bind(&mut self, local: LocalId, to: Argument) -> Stmt {
        self.stmt(StmtKind::Bind(vec![Binding { local, to }]))
    }

    pub(crate) fn assert(&mut self, condition: Expr) -> Stmt {
        let (kind, property) = (CheckKind::Assert, self.assertion);
        self.stmt(StmtKind::Check { kind, condition: Some(condition), property })
    }

    pub(crate) fn assume(&mut self, condition: Expr) -> Stmt {
        let (kind, property) = (CheckKind::Assume, self.assumption);
        self.stmt(StmtKind::Check { kind, condition: Some(condition), property })
    }

    pub(crate) fn call(&mut self, function: FunctionId, arguments: Vec<Argument>) -> Stmt {
        self.stmt(StmtKind::Call(function, arguments))
    }

    fn take_code(&mut self, body: Vec<Stmt>) -> Code {
        Code { locals: std::mem::take(&mut self.locals), body }
    }

    /// Ends the code in the making: it is the body of a rule with these parameters.
    pub(crate) fn rule(&mut self, params: &[LocalId], guard: Option<Expr>, body: Vec<Stmt>) {
        let param = |local: &LocalId| shoal_model::Parameter {
            local: *local,
            domain: Domain::Type(self.locals[*local].ty),
        };
        let params = params.iter().map(param).collect();
        let (bindings, span) = (vec![], Span::default());
        let code = self.take_code(body);
        let name = "rule".into();
        self.model.rules.push(Rule { name, params, bindings, guard, code, priority: 0, urgent: false, span });
    }

    /// Ends the code in the making: it is the body of a function.
    pub(crate) fn function(
        &mut self,
        params: &[LocalId],
        result: Option<TypeId>,
        body: Vec<Stmt>,
    ) -> FunctionId {
        let (params, span) = (params.to_vec(), Span::default());
        let code = self.take_code(body);
        self.model.functions.push(Function { name: "f".into(), params, result, code, span })
    }

    /// Ends the code in the making: its locals are those of an invariant.
    pub(crate) fn invariant(&mut self, expr: Expr) {
        let condition = Condition { locals: std::mem::take(&mut self.locals), expr };
        let kind = PropertyKind::Invariant(condition);
        self.model.properties.push(Property { name: "invariant".into(), kind, span: Span::default() });
    }

    /// A rule that executes the body for each process `i`.
    pub(crate) fn rule_with_loop(&mut self, i: LocalId, body: Vec<Stmt>) {
        let stmt = self.for_each(i, body);
        self.rule(&[], None, vec![stmt]);
    }
}

pub(crate) fn var_of(place: &Place) -> VarId {
    match place.root {
        Root::Var(var) => var,
        Root::Local(_) => panic!("a local"),
    }
}

pub(crate) fn expr(kind: ExprKind, ty: TypeId) -> Expr {
    Expr { kind, ty, span: Span::default() }
}

pub(crate) fn read(place: &Place) -> Expr {
    expr(ExprKind::Read(place.clone()), place.ty)
}

pub(crate) fn peek(place: &Place) -> Expr {
    expr(ExprKind::Peek(place.clone()), place.ty)
}

pub(crate) fn by_ref(place: &Place) -> Argument {
    Argument::Place(place.clone())
}

fn extend(place: &Place, step: Projection, ty: TypeId) -> Place {
    let mut place = place.clone();
    place.path.push(step);
    Place { ty, ..place }
}
