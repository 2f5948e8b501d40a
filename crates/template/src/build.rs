//! Making a Model: the few shapes of expression and statement that templates need.

use shoal_model::{
    BinaryOp, CheckKind, Code, Condition, Domain, Expr, ExprBuilder, ExprKind, IndexVec, Local, LocalId,
    LocalKind, Model, Parameter, Place, Projection, Property, PropertyKind, Quantifier, Root, Rule, SortId,
    Stmt, StmtKind, Type, TypeDef, TypeId, Value, Var, VarId,
};
use shoal_syntax::{Diagnostic, Span, cursor::Parsed};

/// A model that is being made, and the locals of the code that is being made.
pub struct TemplateBuilder {
    /// The model so far.
    pub model: Model,
    /// The locals of the code that is being made.
    pub locals: IndexVec<LocalId, Local>,
    /// The type of truth values.
    pub boolean: TypeId,
    /// The type of numbers.
    pub integer: TypeId,
    /// What is wrong with the source, as far as it is known.
    errors: Vec<Diagnostic>,
    make: ExprBuilder,
}

impl Default for TemplateBuilder {
    fn default() -> TemplateBuilder {
        TemplateBuilder::new()
    }
}

impl TemplateBuilder {
    /// An empty model.
    pub fn new() -> TemplateBuilder {
        let mut model = Model::default();
        let boolean = model.types.push(TypeDef { name: None, kind: Type::Bool });
        let integer = model.types.push(TypeDef { name: None, kind: Type::INTEGER });
        let make = ExprBuilder { boolean, integer };
        TemplateBuilder { model, locals: IndexVec::new(), boolean, integer, errors: Vec::new(), make }
    }

    /// What was made of an item of the source; if it is wrong, that is kept for later, so that all mistakes are told at once.
    pub fn item<T>(&mut self, made: Parsed<T>) -> Option<T> {
        match made {
            Ok(made) => Some(made),
            Err(error) => {
                // Instances of a template all have its mistakes.
                if !self.errors.contains(&error) {
                    self.errors.push(*error);
                }
                None
            }
        }
    }

    /// The same for a condition: what is said about the rest of an item does not depend on it.
    pub fn item_or_true(&mut self, made: Parsed<Expr>, span: Span) -> Expr {
        self.item(made).unwrap_or_else(|| self.truth(true, span))
    }

    /// All that is known to be wrong, and one thing more.
    pub fn errors_and(&mut self, last: Diagnostic) -> Vec<Diagnostic> {
        let mut errors = std::mem::take(&mut self.errors);
        errors.push(last);
        errors
    }

    /// The model, unless something is wrong with its source.
    pub fn finish(self) -> Result<Model, Vec<Diagnostic>> {
        if self.errors.is_empty() { Ok(self.model) } else { Err(self.errors) }
    }

    /// A type; one that has been made before is used again.
    pub fn ty(&mut self, kind: Type) -> TypeId {
        let same = |def: &TypeDef| def.kind == kind && !matches!(kind, Type::Enum { .. });
        let known = self.model.types.enumerate().find(|(_, def)| same(def)).map(|(id, _)| id);
        match known {
            Some(id) => id,
            None => self.model.types.push(TypeDef { name: None, kind }),
        }
    }

    /// The type of references to elements of a sort.
    pub fn reference(&mut self, sort: SortId, nullable: bool) -> TypeId {
        self.ty(Type::Ref { sort, nullable })
    }

    /// Declares a state variable.
    pub fn var(&mut self, name: &str, ty: TypeId, span: Span) -> VarId {
        self.model.vars.push(Var { name: name.to_string(), ty, span })
    }

    /// Declares a local of the code that is being made.
    pub fn local(&mut self, name: &str, ty: TypeId, kind: LocalKind, span: Span) -> LocalId {
        self.locals.push(Local { name: name.to_string(), ty, kind, span })
    }

    /// A variable as a place.
    pub fn place(&self, var: VarId, span: Span) -> Place {
        Place { root: Root::Var(var), path: Vec::new(), ty: self.model.vars[var].ty, span }
    }

    /// An element of an array.
    pub fn index(&self, mut array: Place, index: Expr, span: Span) -> Place {
        if let Type::Array { element, .. } = self.model.kind(array.ty) {
            array.ty = *element;
        }
        array.path.push(Projection::Index(index));
        array.span = span;
        array
    }

    /// The value of a place.
    pub fn read(&self, place: Place) -> Expr {
        self.make.read(place)
    }

    /// The value of a local.
    pub fn read_local(&self, local: LocalId, span: Span) -> Expr {
        let ty = self.locals[local].ty;
        self.read(Place { root: Root::Local(local), path: Vec::new(), ty, span })
    }

    /// A constant of a type.
    pub fn constant(&self, value: Value, ty: TypeId, span: Span) -> Expr {
        self.make.constant(value, ty, span)
    }

    /// A number.
    pub fn int(&self, value: i64, span: Span) -> Expr {
        self.make.int(value, span)
    }

    /// A truth value.
    pub fn truth(&self, value: bool, span: Span) -> Expr {
        self.make.truth(value, span)
    }

    /// Whether an expression is one of truth values.
    pub fn is_truth(&self, expr: &Expr) -> bool {
        *self.model.kind(expr.ty) == Type::Bool
    }

    /// Whether two values are equal.
    pub fn equal(&self, left: Expr, right: Expr, span: Span) -> Expr {
        self.make.equal(left, right, span)
    }

    /// The negation.
    pub fn not(&self, of: Expr) -> Expr {
        self.make.not(of)
    }

    /// The conjunction.
    pub fn and(&self, of: Vec<Expr>, span: Span) -> Expr {
        self.make.and(of, span)
    }

    /// The disjunction.
    pub fn or(&self, of: Vec<Expr>, span: Span) -> Expr {
        self.make.or(of, span)
    }

    /// The implication.
    pub fn implies(&self, left: Expr, right: Expr, span: Span) -> Expr {
        self.make.implies(left, right, span)
    }

    /// An operator on integers, or a comparison of integers or clocks.
    pub fn binary(&self, op: BinaryOp, left: Expr, right: Expr, span: Span) -> Expr {
        self.make.binary(op, left, right, span)
    }

    /// A quantifier over all values of a bound local.
    pub fn quantified(&self, all: bool, local: LocalId, body: Expr, span: Span) -> Expr {
        let domain = Domain::Type(self.locals[local].ty);
        let quantifier = if all { Quantifier::Forall } else { Quantifier::Exists };
        self.make.quantified(quantifier, local, domain, body, span)
    }

    /// An assignment.
    pub fn assign(&self, place: Place, value: Expr, span: Span) -> Stmt {
        self.make.assign(place, value, span)
    }

    /// A value for a variable, or for every element of it.
    pub fn assign_all(&mut self, place: Place, value: Expr) -> Stmt {
        let span = place.span;
        match *self.model.kind(place.ty) {
            Type::Array { index, .. } => {
                let local = self.local("$index", index, LocalKind::Bound, span);
                let element = self.index(place, self.read_local(local, span), span);
                let body = vec![self.assign(element, value, span)];
                self.for_each(local, body, span)
            }
            _ => self.assign(place, value, span),
        }
    }

    /// A loop over all values of a bound local.
    pub fn for_each(&self, local: LocalId, body: Vec<Stmt>, span: Span) -> Stmt {
        let domain = Domain::Type(self.locals[local].ty);
        Stmt { kind: StmtKind::For { local, domain, body }, span }
    }

    /// Asks that nothing faults.
    pub fn no_faults(&mut self, span: Span) {
        let (name, kind) = ("no run-time errors".to_string(), PropertyKind::NoFaults);
        self.model.properties.push(Property { name, kind, span });
    }

    /// That invariants hold at the start, where that is not plain to see: all clocks are 0 there.
    pub fn holds_at_start(&mut self, invariants: Vec<Expr>, span: Span) -> Vec<Stmt> {
        let open: Vec<Expr> = invariants.into_iter().filter(|part| !self.is_plain_at_start(part)).collect();
        if open.is_empty() {
            return Vec::new();
        }
        let name = "the invariants hold at the start".to_string();
        let property = self.model.properties.push(Property { name, kind: PropertyKind::Assertion, span });
        let check = |condition: Expr| {
            let span = condition.span;
            let kind = StmtKind::Check { kind: CheckKind::Assert, condition: Some(condition), property };
            Stmt { kind, span }
        };
        open.into_iter().map(check).collect()
    }

    /// Whether an invariant is true where all clocks are 0: upper bounds that are not negative.
    fn is_plain_at_start(&self, expr: &Expr) -> bool {
        let is_clock = |expr: &Expr| *self.model.kind(expr.ty) == Type::Clock;
        match &expr.kind {
            ExprKind::Const(Value::Bool(true)) => true,
            ExprKind::And(parts) => parts.iter().all(|part| self.is_plain_at_start(part)),
            ExprKind::Quantified { body, .. } => self.is_plain_at_start(body),
            ExprKind::Binary(op, clock, bound) if is_clock(clock) => match (op, &bound.kind) {
                (BinaryOp::Le, ExprKind::Const(Value::Int(bound))) => *bound >= 0,
                (BinaryOp::Lt, ExprKind::Const(Value::Int(bound))) => *bound > 0,
                _ => false,
            },
            _ => false,
        }
    }

    /// Ends a piece of code and gives its locals.
    pub fn take_locals(&mut self) -> IndexVec<LocalId, Local> {
        std::mem::take(&mut self.locals)
    }

    /// Ends a condition.
    pub fn condition(&mut self, expr: Expr) -> Condition {
        Condition { locals: self.take_locals(), expr }
    }
}

/// A rule without priority.
pub fn plain_rule(name: &str, params: Vec<Parameter>, guard: Option<Expr>, code: Code, span: Span) -> Rule {
    Rule { name: name.into(), params, bindings: Vec::new(), guard, code, priority: 0, urgent: false, span }
}
