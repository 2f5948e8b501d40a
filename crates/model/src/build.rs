//! Making a Model in Rust, without a source file.

use shoal_syntax::Span;

use crate::{
    BinaryOp, CheckKind, Code, Condition, DeadlockKind, Domain, Expr, ExprBuilder, IndexVec, Local, LocalId,
    LocalKind, Malformed, Model, Parameter, Place, Projection, Property, PropertyId, PropertyKind,
    Quantifier, Root, Rule, Sort, SortId, SortSize, Stmt, StmtKind, Type, TypeDef, TypeId, Value, Var, VarId,
    verify,
};

/// A model that is being made.
///
/// Sorts, types and variables are declared; then starts, rules and properties are written, each by a function that is given a
/// [`CodeBuilder`]. [`ModelBuilder::finish`] checks that the whole is well-formed.
///
/// ```
/// use shoal_model::ModelBuilder;
///
/// let mut model = ModelBuilder::new("lock");
/// let process = model.sort("process", 3);
/// let id = model.reference(process);
/// let boolean = model.boolean();
/// let each = model.array(id, boolean);
/// let inside = model.var("inside", each);
/// model.start("start", |code| {
///     code.for_each("p", id, |code, p| {
///         let no = code.truth(false);
///         code.assign(code.entry(inside, p.clone()), no);
///     });
/// });
/// model.rule("enter", |code| {
///     let p = code.param("p", id);
///     let place = code.entry(inside, p);
///     code.guard(code.not(code.read(place.clone())));
///     code.assign(place, code.truth(true));
/// });
/// model.invariant("nobody is inside", |code| {
///     code.forall("p", id, |code, p| code.not(code.read(code.entry(inside, p))))
/// });
/// let model = model.finish()?;
/// assert_eq!(model.rules.len(), 1);
/// # Ok::<(), shoal_model::Malformed>(())
/// ```
#[derive(Clone, Debug)]
pub struct ModelBuilder {
    model: Model,
    make: ExprBuilder,
}

impl ModelBuilder {
    /// A model in which nothing happens yet. That nothing faults is asked of it.
    pub fn new(name: impl Into<String>) -> ModelBuilder {
        let mut model = Model { name: name.into(), ..Model::default() };
        let boolean = model.types.push(TypeDef { name: None, kind: Type::Bool });
        let integer = model.types.push(TypeDef { name: None, kind: Type::INTEGER });
        let mut builder = ModelBuilder { model, make: ExprBuilder { boolean, integer } };
        builder.property("no run-time errors", PropertyKind::NoFaults);
        builder
    }

    /// A sort with so many elements, which are interchangeable as far as what follows does not tell them apart.
    pub fn sort(&mut self, name: impl Into<String>, size: u32) -> SortId {
        let (name, size) = (name.into(), SortSize::Fixed(size));
        self.model.sorts.push(Sort { name, size, first: 1, span: Span::default() })
    }

    /// A type; one that has been made before is used again, but for enumerations, which are told apart.
    pub fn ty(&mut self, kind: Type) -> TypeId {
        let same = |def: &TypeDef| def.kind == kind && !matches!(kind, Type::Enum { .. });
        let known = self.model.types.enumerate().find(|(_, def)| same(def)).map(|(id, _)| id);
        known.unwrap_or_else(|| self.model.types.push(TypeDef { name: None, kind }))
    }

    /// The type of truth values.
    pub fn boolean(&self) -> TypeId {
        self.make.boolean
    }

    /// The type of the integers from one to another.
    pub fn range(&mut self, lo: i64, hi: i64) -> TypeId {
        self.ty(Type::Int { lo, hi })
    }

    /// A new type of named constants.
    pub fn enumeration(&mut self, name: impl Into<String>, variants: &[&str]) -> TypeId {
        let variants = variants.iter().map(ToString::to_string).collect();
        self.model.types.push(TypeDef { name: Some(name.into()), kind: Type::Enum { variants } })
    }

    /// The type of references to elements of a sort.
    pub fn reference(&mut self, sort: SortId) -> TypeId {
        self.ty(Type::Ref { sort, nullable: false })
    }

    /// The type of references to elements of a sort, or to none.
    pub fn reference_or_none(&mut self, sort: SortId) -> TypeId {
        self.ty(Type::Ref { sort, nullable: true })
    }

    /// The type of arrays.
    pub fn array(&mut self, index: TypeId, element: TypeId) -> TypeId {
        self.ty(Type::Array { index, element })
    }

    /// A state variable.
    pub fn var(&mut self, name: impl Into<String>, ty: TypeId) -> VarId {
        self.model.vars.push(Var { name: name.into(), ty, span: Span::default() })
    }

    /// A start. Before it runs, all variables are undefined.
    pub fn start(&mut self, name: impl Into<String>, write: impl FnOnce(&mut CodeBuilder<'_>)) {
        let rule = self.code(name.into(), write);
        self.model.starts.push(rule);
    }

    /// A rule.
    pub fn rule(&mut self, name: impl Into<String>, write: impl FnOnce(&mut CodeBuilder<'_>)) {
        let rule = self.code(name.into(), write);
        self.model.rules.push(rule);
    }

    fn code(&mut self, name: String, write: impl FnOnce(&mut CodeBuilder<'_>)) -> Rule {
        let mut code = CodeBuilder::new(self);
        write(&mut code);
        let CodeBuilder { locals, params, guard, mut blocks, .. } = code;
        let body = blocks.pop().unwrap_or_default();
        Rule {
            name,
            params,
            bindings: Vec::new(),
            guard,
            code: Code { locals, body },
            priority: 0,
            urgent: false,
            span: Span::default(),
        }
    }

    /// A condition that is to hold in every reachable state.
    pub fn invariant(
        &mut self,
        name: impl Into<String>,
        write: impl FnOnce(&mut CodeBuilder<'_>) -> Expr,
    ) -> PropertyId {
        let condition = self.condition(write);
        self.property(name, PropertyKind::Invariant(condition))
    }

    /// A condition, for a property.
    pub fn condition(&mut self, write: impl FnOnce(&mut CodeBuilder<'_>) -> Expr) -> Condition {
        let mut code = CodeBuilder::new(self);
        let expr = write(&mut code);
        Condition { locals: code.locals, expr }
    }

    /// Asks that in every state some rule may fire.
    pub fn no_deadlock(&mut self) -> PropertyId {
        self.property("deadlock", PropertyKind::Deadlock(DeadlockKind::Stuck))
    }

    /// A property of any kind.
    pub fn property(&mut self, name: impl Into<String>, kind: PropertyKind) -> PropertyId {
        self.model.properties.push(Property { name: name.into(), kind, span: Span::default() })
    }

    /// The model so far, for what the builder has no words for.
    pub fn model_mut(&mut self) -> &mut Model {
        &mut self.model
    }

    /// The model, if it is well-formed.
    pub fn finish(self) -> Result<Model, Malformed> {
        verify(&self.model)?;
        Ok(self.model)
    }
}

/// The code of a start, a rule or a condition that is being made.
#[derive(Debug)]
pub struct CodeBuilder<'b> {
    builder: &'b mut ModelBuilder,
    locals: IndexVec<LocalId, Local>,
    params: Vec<Parameter>,
    guard: Option<Expr>,
    /// Those that are open, the innermost last.
    blocks: Vec<Vec<Stmt>>,
}

const NOWHERE: Span = Span { source: shoal_syntax::SourceId(0), start: 0, end: 0 };

impl<'b> CodeBuilder<'b> {
    fn new(builder: &'b mut ModelBuilder) -> CodeBuilder<'b> {
        CodeBuilder {
            builder,
            locals: IndexVec::new(),
            params: Vec::new(),
            guard: None,
            blocks: vec![Vec::new()],
        }
    }

    fn make(&self) -> ExprBuilder {
        self.builder.make
    }

    fn local(&mut self, name: &str, ty: TypeId, kind: LocalKind) -> (LocalId, Expr) {
        let local = self.locals.push(Local { name: name.into(), ty, kind, span: NOWHERE });
        (local, self.make().read(Place { root: Root::Local(local), path: Vec::new(), ty, span: NOWHERE }))
    }

    /// A parameter that takes all values of a type: there is an instance of the rule for each.
    pub fn param(&mut self, name: &str, ty: TypeId) -> Expr {
        let (local, value) = self.local(name, ty, LocalKind::Bound);
        self.params.push(Parameter { local, domain: Domain::Type(ty) });
        value
    }

    /// The rule may fire only where this holds, beside what was said before.
    pub fn guard(&mut self, condition: Expr) {
        let parts = self.guard.take().into_iter().chain([condition]).collect();
        self.guard = Some(self.make().and(parts, NOWHERE));
    }

    /// A variable as a place.
    pub fn place(&self, var: VarId) -> Place {
        Place { root: Root::Var(var), path: Vec::new(), ty: self.builder.model.vars[var].ty, span: NOWHERE }
    }

    /// The entry of an array variable.
    pub fn entry(&self, var: VarId, index: Expr) -> Place {
        self.index(self.place(var), index)
    }

    /// The entry of an array.
    pub fn index(&self, mut array: Place, index: Expr) -> Place {
        if let Type::Array { element, .. } = self.builder.model.kind(array.ty) {
            array.ty = *element;
        }
        array.path.push(Projection::Index(index));
        array
    }

    /// What a place holds.
    pub fn read(&self, place: Place) -> Expr {
        self.make().read(place)
    }

    /// What a variable holds.
    pub fn value(&self, var: VarId) -> Expr {
        self.read(self.place(var))
    }

    /// A number.
    pub fn int(&self, value: i64) -> Expr {
        self.make().int(value, NOWHERE)
    }

    /// A truth value.
    pub fn truth(&self, value: bool) -> Expr {
        self.make().truth(value, NOWHERE)
    }

    /// A constant of an enumeration, by its place among them.
    pub fn variant(&self, enumeration: TypeId, number: u32) -> Expr {
        self.make().constant(Value::Enum(enumeration, number), enumeration, NOWHERE)
    }

    /// Whether two values are the same.
    pub fn equal(&self, left: Expr, right: Expr) -> Expr {
        self.make().equal(left, right, NOWHERE)
    }

    /// An operator on integers.
    pub fn binary(&self, op: BinaryOp, left: Expr, right: Expr) -> Expr {
        self.make().binary(op, left, right, NOWHERE)
    }

    /// The opposite.
    pub fn not(&self, of: Expr) -> Expr {
        self.make().not(of)
    }

    /// Whether all hold.
    pub fn and(&self, parts: Vec<Expr>) -> Expr {
        self.make().and(parts, NOWHERE)
    }

    /// Whether one holds.
    pub fn or(&self, parts: Vec<Expr>) -> Expr {
        self.make().or(parts, NOWHERE)
    }

    /// Whether the second holds if the first does.
    pub fn implies(&self, left: Expr, right: Expr) -> Expr {
        self.make().implies(left, right, NOWHERE)
    }

    /// Whether it holds for all values of a type.
    pub fn forall(&mut self, name: &str, ty: TypeId, body: impl FnOnce(&mut Self, Expr) -> Expr) -> Expr {
        self.quantified(Quantifier::Forall, name, ty, body)
    }

    /// Whether it holds for some value of a type.
    pub fn exists(&mut self, name: &str, ty: TypeId, body: impl FnOnce(&mut Self, Expr) -> Expr) -> Expr {
        self.quantified(Quantifier::Exists, name, ty, body)
    }

    /// For how many values of a type it holds.
    pub fn count(&mut self, name: &str, ty: TypeId, body: impl FnOnce(&mut Self, Expr) -> Expr) -> Expr {
        self.quantified(Quantifier::Count, name, ty, body)
    }

    fn quantified(
        &mut self,
        quantifier: Quantifier,
        name: &str,
        ty: TypeId,
        body: impl FnOnce(&mut Self, Expr) -> Expr,
    ) -> Expr {
        let (local, value) = self.local(name, ty, LocalKind::Bound);
        let body = body(self, value);
        self.make().quantified(quantifier, local, Domain::Type(ty), body, NOWHERE)
    }

    /// Writes a value to a place.
    pub fn assign(&mut self, place: Place, value: Expr) {
        let stmt = self.make().assign(place, value, NOWHERE);
        self.push(stmt);
    }

    /// Makes a place undefined.
    pub fn undefine(&mut self, place: Place) {
        self.push(Stmt { kind: StmtKind::Undefine(place), span: NOWHERE });
    }

    /// Asks that a condition holds whenever the code comes here.
    pub fn assert(&mut self, property: PropertyId, condition: Expr) {
        let kind = StmtKind::Check { kind: CheckKind::Assert, condition: Some(condition), property };
        self.push(Stmt { kind, span: NOWHERE });
    }

    /// Does something for all values of a type.
    pub fn for_each(&mut self, name: &str, ty: TypeId, body: impl FnOnce(&mut Self, &Expr)) {
        let (local, value) = self.local(name, ty, LocalKind::Bound);
        let body = self.block(|code| body(code, &value));
        self.push(Stmt { kind: StmtKind::For { local, domain: Domain::Type(ty), body }, span: NOWHERE });
    }

    /// Does one thing or another.
    pub fn when(&mut self, condition: Expr, yes: impl FnOnce(&mut Self), no: impl FnOnce(&mut Self)) {
        let (yes, no) = (self.block(yes), self.block(no));
        let stmts = self.make().when(condition, yes, no);
        stmts.into_iter().for_each(|stmt| self.push(stmt));
    }

    /// Any other statement.
    pub fn push(&mut self, stmt: Stmt) {
        if let Some(block) = self.blocks.last_mut() {
            block.push(stmt);
        }
    }

    fn block(&mut self, write: impl FnOnce(&mut Self)) -> Vec<Stmt> {
        self.blocks.push(Vec::new());
        write(self);
        self.blocks.pop().unwrap_or_default()
    }
}
