//! Models made by hand, for tests.

use shoal_model::{
    BinaryOp, Code, Condition, Domain, Expr, ExprKind, IndexVec, Job, Limits, Local, LocalId, LocalKind,
    Model, Outcome, Parameter, Place, Projection, Property, PropertyId, PropertyKind, Quiet, Root, Rule,
    Sort, SortId, SortSize, Statistics, Stmt, StmtKind, Type, TypeDef, TypeId, Value, Var, VarId, Verdict,
    Watch,
};
use shoal_syntax::Span;

/// Makes a model. `BOOL` and `INT` are its first types.
#[derive(Default)]
pub(crate) struct Build {
    pub(crate) model: Model,
}

pub(crate) fn span() -> Span {
    Span::default()
}

impl Build {
    pub(crate) fn new() -> Build {
        let mut build = Build::default();
        build.ty(Type::Bool);
        build.ty(Type::INTEGER);
        build
    }

    pub(crate) fn boolean(&self) -> TypeId {
        self.model.types.ids().next().unwrap()
    }

    pub(crate) fn integer(&self) -> TypeId {
        self.model.types.ids().nth(1).unwrap()
    }

    pub(crate) fn ty(&mut self, kind: Type) -> TypeId {
        self.model.types.push(TypeDef { name: None, kind })
    }

    pub(crate) fn range(&mut self, lo: i64, hi: i64) -> TypeId {
        self.ty(Type::Int { lo, hi })
    }

    /// A sort and the type of references to it.
    pub(crate) fn sort(&mut self, size: u32) -> (SortId, TypeId) {
        let sort = Sort { name: "S".into(), size: SortSize::Fixed(size), first: 1, span: span() };
        let sort = self.model.sorts.push(sort);
        (sort, self.ty(Type::Ref { sort, nullable: false }))
    }

    pub(crate) fn array(&mut self, index: TypeId, element: TypeId) -> TypeId {
        self.ty(Type::Array { index, element })
    }

    pub(crate) fn var(&mut self, ty: TypeId) -> VarId {
        let name = format!("v{}", self.model.vars.len());
        self.model.vars.push(Var { name, ty, span: span() })
    }

    pub(crate) fn var_place(&self, var: VarId) -> Place {
        Place { root: Root::Var(var), path: vec![], ty: self.model.vars[var].ty, span: span() }
    }

    /// The element of an array.
    pub(crate) fn at(&self, mut place: Place, index: Expr) -> Place {
        if let Type::Array { element, .. } = self.model.kind(place.ty) {
            place.ty = *element;
        }
        place.path.push(Projection::Index(index));
        place
    }

    pub(crate) fn int(&self, value: i64) -> Expr {
        expr(ExprKind::Const(Value::Int(value)), self.integer())
    }

    pub(crate) fn truth(&self, value: bool) -> Expr {
        expr(ExprKind::Const(Value::Bool(value)), self.boolean())
    }

    pub(crate) fn bool(&self, kind: ExprKind) -> Expr {
        expr(kind, self.boolean())
    }

    pub(crate) fn equal(&self, left: Expr, right: Expr) -> Expr {
        self.bool(ExprKind::Equal(Box::new(left), Box::new(right)))
    }

    pub(crate) fn binary(&self, op: BinaryOp, left: Expr, right: Expr) -> Expr {
        let compares = matches!(op, BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge);
        let ty = if compares { self.boolean() } else { self.integer() };
        expr(ExprKind::Binary(op, Box::new(left), Box::new(right)), ty)
    }

    /// A rule with parameters over types.
    pub(crate) fn rule(&mut self, params: &[TypeId], guard: Option<Expr>, body: Vec<Stmt>) {
        let params = params.iter().map(|ty| (*ty, Domain::Type(*ty))).collect();
        self.rule_over(params, guard, body);
    }

    /// A rule with parameters over domains.
    pub(crate) fn rule_over(&mut self, params: Vec<(TypeId, Domain)>, guard: Option<Expr>, body: Vec<Stmt>) {
        let rule = rule(params, guard, body);
        self.model.rules.push(rule);
    }

    pub(crate) fn start(&mut self, body: Vec<Stmt>) {
        self.model.starts.push(rule(vec![], None, body));
    }

    pub(crate) fn property(&mut self, kind: PropertyKind) -> PropertyId {
        self.model.properties.push(Property { name: "p".into(), kind, span: span() })
    }

    /// Decides all properties and verifies the model.
    pub(crate) fn check(&self, symmetric: &[SortId]) -> Outcome {
        self.check_within(symmetric, Limits::default())
    }

    pub(crate) fn check_within(&self, symmetric: &[SortId], limits: Limits) -> Outcome {
        assert_eq!(shoal_model::verify(&self.model), Ok(()));
        let properties = self.model.properties.ids().collect();
        let mut job = Job {
            symmetric: symmetric.to_vec(),
            watch: Watch::start(limits),
            jit: true,
            threads: 2,
            ..Job::new(properties)
        };
        let outcome = crate::check(&self.model, &job, &mut Quiet).unwrap();
        // Interpreted code finds the same.
        job.jit = false;
        let interpreted = crate::check(&self.model, &job, &mut Quiet).unwrap();
        assert!(!interpreted.statistics.compiled);
        assert_eq!(format!("{:?}", interpreted.results), format!("{:?}", outcome.results));
        let counts = |outcome: &Outcome| {
            let Statistics { states, transitions, fired, fresh, levels, .. } = &outcome.statistics;
            (*states, *transitions, fired.clone(), fresh.clone(), levels.clone())
        };
        assert_eq!(counts(&interpreted), counts(&outcome));
        outcome
    }
}

fn rule(params: Vec<(TypeId, Domain)>, guard: Option<Expr>, body: Vec<Stmt>) -> Rule {
    let mut locals = IndexVec::new();
    let params = params.into_iter().map(|(ty, domain)| {
        let local = locals.push(Local { name: "p".into(), ty, kind: LocalKind::Bound, span: span() });
        Parameter { local, domain }
    });
    let params = params.collect();
    Rule {
        name: "r".into(),
        params,
        bindings: vec![],
        guard,
        code: Code { locals, body },
        priority: 0,
        urgent: false,
        span: span(),
    }
}

pub(crate) fn expr(kind: ExprKind, ty: TypeId) -> Expr {
    Expr { kind, ty, span: span() }
}

pub(crate) fn read(place: Place) -> Expr {
    let ty = place.ty;
    expr(ExprKind::Read(place), ty)
}

/// The value of a local.
pub(crate) fn local(number: usize, ty: TypeId) -> Expr {
    read(local_place(number, ty))
}

pub(crate) fn local_place(number: usize, ty: TypeId) -> Place {
    let local: LocalId = shoal_model::TypedId::from_index(number);
    Place { root: Root::Local(local), path: vec![], ty, span: span() }
}

pub(crate) fn stmt(kind: StmtKind) -> Stmt {
    Stmt { kind, span: span() }
}

pub(crate) fn assign(place: Place, value: Expr) -> Stmt {
    stmt(StmtKind::Assign(place, value))
}

pub(crate) fn condition(expr: Expr) -> Condition {
    Condition { locals: IndexVec::new(), expr }
}

/// The verdicts in short: `H`, `V` with the steps of the trace, `U`.
pub(crate) fn verdicts(outcome: &Outcome) -> String {
    let short = |verdict: &Verdict| match verdict {
        Verdict::Holds => "H".to_string(),
        Verdict::Violated(violation) => match &violation.trace {
            Some(trace) => format!("V{}", trace.steps.len()),
            None => "V".to_string(),
        },
        Verdict::Unknown(_) => "U".to_string(),
    };
    outcome.results.iter().map(|result| short(&result.verdict)).collect::<Vec<_>>().join(" ")
}
