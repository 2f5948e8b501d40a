//! Well-formedness of a model. Front ends make only well-formed models; engines rely on it.
//!
//! A model is well formed if:
//!
//! 1. Every id names a thing of the model; type definitions do not contain themselves.
//! 2. A range has `lo <= hi`; an enumeration has a variant; the members of a union are two or more scalar types
//!    without a common value; the index of an array is a scalar type of a fixed, finite number of values or a
//!    reference into a sort of any size; the element of a multiset holds no clock.
//! 3. A place's path fits the types on its way and ends in the place's type. An index has a type whose values
//!    can be values of the array's index type.
//! 4. Operands have the type their operator needs: truth values, integers, or two types that can have values in
//!    common for `Equal`. A guard, a condition and the body of `Forall`, `Exists` or `Count` are truth values.
//! 5. `Peek` stands only where an undefined value may go (see [`crate::ExprKind::Peek`]).
//! 6. An assignment, an argument and a result have a type that can have values in common with their target's.
//! 7. Bound locals and references that are not writable are not written; a `Slot` is indexed by a bound local of
//!    a `Slots` domain.
//! 8. Calls pass as many arguments as there are parameters; a writable reference gets a place of the same type.
//! 9. Guards, conditions, domains of parameters and bindings call no function that writes a variable, makes a
//!    choice, creates or deletes.
//! 10. A check names a property of its kind. A start has no guard. Choices, creation and deletion stand only in
//!     code of starts, rules and the functions they call as statements.
//!
//! 11. An observer is a whole formula of linear time, not a part of one; its steps lead to states it has.
//! 12. Agents are records with a control location; a rule belongs to one location at most.
//!
//! Not checked: that names are unique, that sources of spans exist, that every local is bound before it is used, that
//! the position of a slot is used as nothing else.

use std::fmt;

use shoal_syntax::Span;

use crate::{
    Argument, BinaryOp, Binding, CheckKind, Code, Condition, DeadlockKind, Domain, Expr, ExprKind,
    FunctionId, IndexVec, Local, LocalId, LocalKind, Model, OutputItem, Place, Projection, PropertyKind,
    Quantifier, Root, Rule, Stmt, StmtKind, Type, TypeId, TypedId, UnaryOp,
};

/// What is wrong with a model: a mistake in the front end that made it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// What is wrong.
    pub message: String,
    /// Where.
    pub span: Span,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "malformed model: {}", self.message)
    }
}

impl std::error::Error for Malformed {}

/// An array with more elements than this is refused.
const MOST_ELEMENTS: u64 = 1 << 24;

type Check<T = ()> = Result<T, Malformed>;

fn fail<T>(span: Span, message: impl Into<String>) -> Check<T> {
    Err(Malformed { message: message.into(), span })
}

/// Checks that a model is well formed; see the rules at the head of the module `verify`.
pub fn verify(model: &Model) -> Result<(), Malformed> {
    for ty in model.types.ids() {
        verify_type(model, ty)?;
    }
    for var in model.vars.iter() {
        known(&model.types, var.ty, var.span)?;
    }
    let pure = pure_functions(model);
    let verifier = |locals| Verifier { model, locals, pure: &pure, only_pure: false, result: None };
    for function in model.functions.iter() {
        let verifier = Verifier { result: Some(function.result), ..verifier(&function.code.locals) };
        for param in &function.params {
            known(&function.code.locals, *param, function.span)?;
        }
        verifier.code(&function.code)?;
    }
    for start in model.starts.iter() {
        if let Some(guard) = &start.guard {
            return fail(guard.span, "a start has a guard");
        }
        verifier(&start.code.locals).rule(start)?;
    }
    for rule in model.rules.iter() {
        verifier(&rule.code.locals).rule(rule)?;
    }
    for property in model.properties.iter() {
        if let PropertyKind::Temporal(_, formula) = &property.kind
            && !observers_stand_alone(formula)
        {
            return fail(property.span, "an observer is part of a formula, or its steps lead nowhere");
        }
    }
    for condition in conditions(model) {
        let verifier = Verifier { only_pure: true, ..verifier(&condition.locals) };
        verifier.locals()?;
        verifier.truth(&condition.expr)?;
    }
    verify_agents(model)
}

/// The rules of agents are there, one location each, and their first parameter is the agent.
fn verify_agents(model: &Model) -> Check {
    let mut taken = vec![false; model.rules.len()];
    for agents in &model.agents {
        known(&model.vars, agents.var, Span::default())?;
        let var = &model.vars[agents.var];
        let (record, several) = match model.kind(var.ty) {
            Type::Array { element, .. } => (*element, true),
            _ => (var.ty, false),
        };
        let Type::Record { fields } = model.kind(record) else { return fail(var.span, "agents are records") };
        let values = fields.get(agents.field as usize).and_then(|field| model.cardinality(field.ty));
        if values != Some(agents.locations.len() as u64) {
            return fail(var.span, "agents have other locations than their control has values");
        }
        let mut dead = agents.locations.iter().flat_map(|location| &location.dead);
        if dead.any(|field| *field == agents.field || *field as usize >= fields.len()) {
            return fail(var.span, "a dead field of agents is none, or their control");
        }
        for rule in agents.locations.iter().flat_map(|location| &location.rules) {
            known(&model.rules, *rule, var.span)?;
            if std::mem::replace(&mut taken[rule.index()], true) {
                return fail(model.rules[*rule].span, "a rule belongs to two locations of agents");
            }
            if several && model.rules[*rule].params.is_empty() {
                return fail(model.rules[*rule].span, "a rule does not say which agent it belongs to");
            }
        }
    }
    Ok(())
}

/// An observer is a whole formula, has a state, and leads from states to states.
fn observers_stand_alone(formula: &crate::Formula) -> bool {
    use crate::Formula as F;
    fn none(formula: &crate::Formula) -> bool {
        match formula {
            F::Never(_) => false,
            F::Atom(_) => true,
            F::Not(of)
            | F::AllPaths(of)
            | F::SomePath(of)
            | F::Next(of)
            | F::Always(_, of)
            | F::Eventually(_, of) => none(of),
            F::And(of) | F::Or(of) => of.iter().all(none),
            F::Until(_, a, b) | F::Release(_, a, b) => none(a) && none(b),
        }
    }
    match formula {
        F::Never(observer) => {
            let mut steps = observer.states.iter().flat_map(|state| &state.steps);
            !observer.states.is_empty() && steps.all(|(_, to)| *to < observer.states.len())
        }
        formula => none(formula),
    }
}

fn conditions(model: &Model) -> impl Iterator<Item = &Condition> {
    let of_properties = model.properties.iter().flat_map(|property| property.kind.conditions());
    let locations = model.agents.iter().flat_map(|agents| &agents.locations);
    let of_agents = locations.filter_map(|location| location.goes_first.as_ref());
    of_properties.chain(&model.while_time_passes).chain(&model.fairness).chain(of_agents)
}

impl PropertyKind {
    /// The conditions it is made of.
    pub fn conditions(&self) -> Vec<&Condition> {
        match self {
            PropertyKind::Invariant(condition)
            | PropertyKind::Assume(Some(condition))
            | PropertyKind::Cover(Some(condition))
            | PropertyKind::AlwaysPossible(condition)
            | PropertyKind::Deadlock(DeadlockKind::StuckUnless(condition)) => vec![condition],
            PropertyKind::Temporal(_, formula) => formula.atoms(),
            _ => Vec::new(),
        }
    }
}

impl crate::Formula {
    /// The conditions it is made of.
    pub fn atoms(&self) -> Vec<&Condition> {
        use crate::Formula as F;
        match self {
            F::Atom(condition) => vec![condition],
            F::Not(of)
            | F::AllPaths(of)
            | F::SomePath(of)
            | F::Next(of)
            | F::Always(_, of)
            | F::Eventually(_, of) => of.atoms(),
            F::And(of) | F::Or(of) => of.iter().flat_map(F::atoms).collect(),
            F::Until(_, a, b) | F::Release(_, a, b) => [a.atoms(), b.atoms()].concat(),
            F::Never(observer) => observer
                .states
                .iter()
                .flat_map(|state| &state.steps)
                .map(|(condition, _)| condition)
                .collect(),
        }
    }
}

fn known<I: TypedId, T>(items: &IndexVec<I, T>, id: I, span: Span) -> Check {
    if id.index() < items.len() { Ok(()) } else { fail(span, format!("{id} does not exist")) }
}

fn verify_type(model: &Model, ty: TypeId) -> Check {
    let nowhere = Span::default();
    // Parts come before wholes, so no type contains itself.
    let part = |part: TypeId| {
        if part < ty {
            Ok(())
        } else {
            fail(nowhere, format!("{ty} is made of {part}, which does not precede it"))
        }
    };
    match model.kind(ty) {
        Type::Bool | Type::Clock => Ok(()),
        Type::Int { lo, hi } if lo > hi => fail(nowhere, format!("{ty} is an empty range")),
        Type::Int { .. } => Ok(()),
        Type::Enum { variants } if variants.is_empty() => fail(nowhere, format!("{ty} has no variants")),
        Type::Enum { .. } => Ok(()),
        Type::Ref { sort, .. } => known(&model.sorts, *sort, nowhere),
        Type::Union { members } => {
            for (position, member) in members.iter().enumerate() {
                part(*member)?;
                let kind = model.kind(*member);
                if !kind.is_scalar() || matches!(kind, Type::Clock | Type::Union { .. }) {
                    return fail(nowhere, format!("{member} cannot be a member of the union {ty}"));
                }
                if members[..position].iter().any(|other| model.may_meet(*member, *other)) {
                    return fail(nowhere, format!("members of the union {ty} have a value in common"));
                }
            }
            if members.len() < 2 {
                fail(nowhere, format!("the union {ty} has fewer than two members"))
            } else {
                Ok(())
            }
        }
        Type::Record { fields } => fields.iter().try_for_each(|field| part(field.ty)),
        Type::Array { index, element } => {
            part(*index)?;
            part(*element)?;
            match model.kind(*index) {
                Type::Ref { .. } => Ok(()),
                _ if model.cardinality(*index).is_some_and(|size| size <= MOST_ELEMENTS) => Ok(()),
                _ => fail(nowhere, format!("{ty} has an index that is not finite or too large")),
            }
        }
        Type::Multiset { element, .. } => {
            part(*element)?;
            if model.type_contains(*element, &|part| matches!(part, Type::Clock)) {
                return fail(nowhere, format!("{ty} is a multiset of clocks"));
            }
            Ok(())
        }
        Type::Sequence { element, .. } => part(*element),
    }
}

/// For each function, whether it writes nothing but its own locals, chooses, creates and deletes nothing, and
/// calls only such functions. A greatest fixpoint, so recursion is no obstacle.
fn pure_functions(model: &Model) -> Vec<bool> {
    let mut pure = vec![true; model.functions.len()];
    loop {
        let before = pure.clone();
        for (id, function) in model.functions.enumerate() {
            pure[id.index()] = before[id.index()] && is_pure(&function.code, &before);
        }
        if pure == before {
            return pure;
        }
    }
}

fn is_pure(code: &Code, pure: &[bool]) -> bool {
    let own = |place: &Place| match place.root {
        Root::Var(_) => false,
        Root::Local(local) => code.locals.get(local).is_some_and(|local| local.kind == LocalKind::Variable),
    };
    let mut result = true;
    crate::walk_code(code, &mut |node| match node {
        crate::Node::Stmt(stmt) => match &stmt.kind {
            StmtKind::Assign(place, _)
            | StmtKind::Clear(place)
            | StmtKind::Undefine(place)
            | StmtKind::MultisetAdd(place, _)
            | StmtKind::MultisetRemove(place, _)
            | StmtKind::MultisetRemoveIf { place, .. }
            | StmtKind::Insert { place, .. }
            | StmtKind::Remove(place, _) => result &= own(place),
            StmtKind::Choose { .. } | StmtKind::Create(..) | StmtKind::Delete(_) => result = false,
            StmtKind::Call(function, _) => result &= pure[function.index()],
            _ => {}
        },
        crate::Node::Expr(Expr { kind: ExprKind::Call(function, _), .. }) => result &= pure[function.index()],
        _ => {}
    });
    result
}

impl Model {
    /// For each function, whether calling it changes no variable and makes no choice.
    pub fn pure_functions(&self) -> Vec<bool> {
        pure_functions(self)
    }
}

/// Checks one piece of code.
struct Verifier<'a> {
    model: &'a Model,
    locals: &'a IndexVec<LocalId, Local>,
    pure: &'a [bool],
    /// Whether only pure functions may be called.
    only_pure: bool,
    /// The result of the function the code belongs to, if it belongs to one.
    result: Option<Option<TypeId>>,
}

impl Verifier<'_> {
    fn rule(&self, rule: &Rule) -> Check {
        let head = Verifier { only_pure: true, ..*self };
        for param in &rule.params {
            head.bound(param.local, rule.span)?;
            head.domain(&param.domain, rule.span)?;
        }
        head.bindings(&rule.bindings)?;
        rule.guard.iter().try_for_each(|guard| head.truth(guard))?;
        self.code(&rule.code)
    }

    fn code(&self, code: &Code) -> Check {
        self.locals()?;
        self.block(&code.body)
    }

    fn locals(&self) -> Check {
        self.locals.iter().try_for_each(|local| known(&self.model.types, local.ty, local.span))
    }

    fn bound(&self, local: LocalId, span: Span) -> Check {
        known(self.locals, local, span)?;
        match self.locals[local].kind {
            LocalKind::Bound => Ok(()),
            _ => fail(span, format!("`{}` is bound but is not of the kind", self.locals[local].name)),
        }
    }

    fn block(&self, block: &[Stmt]) -> Check {
        block.iter().try_for_each(|stmt| self.stmt(stmt))
    }

    fn stmt(&self, stmt: &Stmt) -> Check {
        let span = stmt.span;
        match &stmt.kind {
            StmtKind::Assign(place, value) => {
                self.writable(place)?;
                self.value_for(value, place.ty)
            }
            StmtKind::Clear(place) | StmtKind::Undefine(place) => self.writable(place),
            StmtKind::If(arms, other) => {
                for (condition, block) in arms {
                    self.truth(condition)?;
                    self.block(block)?;
                }
                self.block(other)
            }
            StmtKind::While { condition, body, .. } => {
                self.truth(condition)?;
                self.block(body)
            }
            StmtKind::For { local, domain, body } => {
                self.bound(*local, span)?;
                self.domain(domain, span)?;
                self.block(body)
            }
            StmtKind::Bind(bindings) => self.bindings(bindings),
            StmtKind::Choose { local, domain } => {
                self.bound(*local, span)?;
                self.domain(domain, span)
            }
            StmtKind::Check { kind, condition, property } => {
                known(&self.model.properties, *property, span)?;
                let fits = matches!(
                    (kind, &self.model.properties[*property].kind),
                    (CheckKind::Assert, PropertyKind::Assertion | PropertyKind::Bound)
                        | (CheckKind::Assume, PropertyKind::Assume(None))
                        | (CheckKind::Cover, PropertyKind::Cover(None))
                );
                if !fits {
                    return fail(span, "a check names a property of another kind");
                }
                condition.iter().try_for_each(|condition| self.truth(condition))
            }
            StmtKind::Return(value) => match (value, self.result.flatten()) {
                (None, None) => Ok(()),
                (Some(value), Some(ty)) => self.value_for(value, ty),
                _ => fail(span, "a return does not fit the result"),
            },
            StmtKind::Call(function, arguments) => self.call(*function, arguments, span),
            StmtKind::Output(items) => items.iter().try_for_each(|item| match item {
                OutputItem::Text(_) => Ok(()),
                OutputItem::Value(value) => self.expr_or_peek(value),
            }),
            StmtKind::MultisetAdd(place, value) => {
                self.writable(place)?;
                self.value_for(value, self.element_of_multiset(place)?)
            }
            StmtKind::MultisetRemove(place, slot) => {
                self.writable(place)?;
                self.element_of_multiset(place)?;
                self.slot(slot)
            }
            StmtKind::MultisetRemoveIf { place, local, condition } => {
                self.writable(place)?;
                self.element_of_multiset(place)?;
                self.bound(*local, span)?;
                self.truth(condition)
            }
            StmtKind::Insert { place, at, value } => {
                self.writable(place)?;
                at.iter().try_for_each(|at| self.integer(at))?;
                self.value_for(value, self.element_of_sequence(place)?)
            }
            StmtKind::Remove(place, at) => {
                self.writable(place)?;
                self.element_of_sequence(place)?;
                self.integer(at)
            }
            StmtKind::Create(place, sort) => {
                self.writable(place)?;
                known(&self.model.sorts, *sort, span)?;
                if self.model.sorts[*sort].fixed_size().is_some() {
                    return fail(span, "an element of a sort of fixed size is created");
                }
                if self.model.sorts_of(place.ty).contains(sort) { Ok(()) } else { fail(span, "wrong sort") }
            }
            StmtKind::Delete(element) => {
                self.expr(element)?;
                if self.model.sorts_of(element.ty).is_empty() {
                    fail(span, "not a reference")
                } else {
                    Ok(())
                }
            }
        }
    }

    fn bindings(&self, bindings: &[Binding]) -> Check {
        bindings.iter().try_for_each(|binding| {
            let span = match &binding.to {
                Argument::Place(place) => place.span,
                Argument::Value(value) => value.span,
            };
            known(self.locals, binding.local, span)?;
            self.argument(&binding.to, &self.locals[binding.local], span)
        })
    }

    fn call(&self, function: FunctionId, arguments: &[Argument], span: Span) -> Check {
        known(&self.model.functions, function, span)?;
        let callee = &self.model.functions[function];
        if self.only_pure && !self.pure[function.index()] {
            return fail(span, format!("`{}` changes the state where it may not", callee.name));
        }
        if arguments.len() != callee.params.len() {
            return fail(span, format!("`{}` is called with the wrong number of arguments", callee.name));
        }
        let params = callee.params.iter().map(|param| &callee.code.locals[*param]);
        arguments.iter().zip(params).try_for_each(|(argument, param)| self.argument(argument, param, span))
    }

    fn argument(&self, argument: &Argument, param: &Local, span: Span) -> Check {
        match (param.kind, argument) {
            (LocalKind::Reference { writable }, Argument::Place(place)) => {
                if writable {
                    self.writable(place)?
                } else {
                    self.place(place)?
                };
                if self.model.same_values(place.ty, param.ty) {
                    Ok(())
                } else {
                    fail(span, format!("`{}` refers to a place of another type", param.name))
                }
            }
            (LocalKind::Variable | LocalKind::Reference { writable: false }, Argument::Value(value)) => {
                self.value_for(value, param.ty)
            }
            _ => fail(span, format!("`{}` cannot take this argument", param.name)),
        }
    }

    fn writable(&self, place: &Place) -> Check {
        self.place(place)?;
        if let Root::Local(local) = place.root {
            match self.locals[local].kind {
                LocalKind::Variable | LocalKind::Reference { writable: true } => {}
                _ => return fail(place.span, format!("`{}` may not be written", self.locals[local].name)),
            }
        }
        Ok(())
    }

    fn place(&self, place: &Place) -> Check {
        let mut ty = match place.root {
            Root::Var(var) => {
                known(&self.model.vars, var, place.span)?;
                self.model.vars[var].ty
            }
            Root::Local(local) => {
                known(self.locals, local, place.span)?;
                self.locals[local].ty
            }
        };
        for projection in &place.path {
            ty = match (projection, self.model.kind(ty)) {
                (Projection::Field(position), Type::Record { fields })
                    if (*position as usize) < fields.len() =>
                {
                    fields[*position as usize].ty
                }
                (Projection::Index(index), Type::Array { index: of, element }) => {
                    self.value_for(index, *of)?;
                    if matches!(index.kind, ExprKind::Peek(_)) {
                        return fail(index.span, "an index may be undefined");
                    }
                    *element
                }
                (Projection::Slot(slot), Type::Multiset { element, .. }) => {
                    self.slot(slot)?;
                    *element
                }
                (Projection::Item(item), Type::Sequence { element, .. }) => {
                    self.integer(item)?;
                    *element
                }
                _ => return fail(place.span, "a path does not fit the type it leads into"),
            };
        }
        if self.model.same_values(ty, place.ty) {
            Ok(())
        } else {
            fail(place.span, "a place has another type")
        }
    }

    fn slot(&self, slot: &Expr) -> Check {
        match &slot.kind {
            ExprKind::Read(Place { root: Root::Local(local), path, .. }) if path.is_empty() => {
                self.bound(*local, slot.span)
            }
            _ => fail(slot.span, "a slot is not named by a bound variable"),
        }
    }

    fn element_of_multiset(&self, place: &Place) -> Check<TypeId> {
        match self.model.kind(place.ty) {
            Type::Multiset { element, .. } => Ok(*element),
            _ => fail(place.span, "not a multiset"),
        }
    }

    fn element_of_sequence(&self, place: &Place) -> Check<TypeId> {
        match self.model.kind(place.ty) {
            Type::Sequence { element, .. } => Ok(*element),
            _ => fail(place.span, "not a sequence"),
        }
    }

    fn domain(&self, domain: &Domain, span: Span) -> Check {
        match domain {
            Domain::Type(ty) => {
                known(&self.model.types, *ty, span)?;
                match self.model.kind(*ty) {
                    Type::Ref { .. } => Ok(()),
                    _ if self.model.cardinality(*ty).is_some() => Ok(()),
                    _ => fail(span, "a domain is not finite"),
                }
            }
            Domain::Range { from, to, by } => {
                self.integer(from)?;
                self.integer(to)?;
                self.integer(by)
            }
            Domain::Slots(place) => {
                self.place(place)?;
                self.element_of_multiset(place).map(|_| ())
            }
        }
    }

    fn truth(&self, expr: &Expr) -> Check {
        self.expr(expr)?;
        if matches!(self.model.kind(expr.ty), Type::Bool) {
            Ok(())
        } else {
            fail(expr.span, "not a truth value")
        }
    }

    fn integer(&self, expr: &Expr) -> Check {
        self.expr(expr)?;
        if matches!(self.model.kind(expr.ty), Type::Int { .. }) {
            Ok(())
        } else {
            fail(expr.span, "not an integer")
        }
    }

    fn value_for(&self, value: &Expr, ty: TypeId) -> Check {
        self.expr_or_peek(value)?;
        let resets_clock = matches!(self.model.kind(ty), Type::Clock)
            && matches!(self.model.kind(value.ty), Type::Int { .. });
        if resets_clock || self.model.may_meet(value.ty, ty) {
            Ok(())
        } else {
            fail(value.span, "a value has a type that its target cannot take")
        }
    }

    fn expr_or_peek(&self, expr: &Expr) -> Check {
        match &expr.kind {
            ExprKind::Peek(place) => self.place(place),
            ExprKind::Cond(condition, then, other) => {
                self.truth(condition)?;
                self.expr_or_peek(then)?;
                self.expr_or_peek(other)
            }
            _ => self.expr(expr),
        }
    }

    fn expr(&self, expr: &Expr) -> Check {
        known(&self.model.types, expr.ty, expr.span)?;
        self.kind_fits_type(expr)?;
        match &expr.kind {
            ExprKind::Const(value) => match self.model.ordinal(expr.ty, value) {
                Some(_) => Ok(()),
                None => fail(expr.span, "a constant does not belong to its type"),
            },
            ExprKind::Peek(_) => fail(expr.span, "an undefined value may go where it must not"),
            ExprKind::Read(place) => self.place(place),
            ExprKind::IsUndefined(place) => {
                self.place(place)?;
                if self.model.kind(place.ty).is_scalar() {
                    Ok(())
                } else {
                    fail(expr.span, "not a scalar place")
                }
            }
            ExprKind::Unary(UnaryOp::Not, operand) => self.truth(operand),
            ExprKind::Unary(UnaryOp::Neg | UnaryOp::BitNot, operand) => self.integer(operand),
            ExprKind::Binary(op, left, right) => self.binary(*op, left, right),
            ExprKind::Equal(left, right) => {
                self.expr_or_peek(left)?;
                self.value_for(right, left.ty)
            }
            ExprKind::And(operands) | ExprKind::Or(operands) => {
                operands.iter().try_for_each(|operand| self.truth(operand))
            }
            ExprKind::Implies(left, right) => {
                self.truth(left)?;
                self.truth(right)
            }
            ExprKind::Cond(condition, then, other) => {
                self.truth(condition)?;
                self.expr(then)?;
                self.expr(other)
            }
            ExprKind::Quantified { local, domain, body, .. } => {
                self.bound(*local, expr.span)?;
                self.domain(domain, expr.span)?;
                self.truth(body)
            }
            ExprKind::Call(function, arguments) => {
                self.call(*function, arguments, expr.span)?;
                match self.model.functions[*function].result {
                    Some(_) => Ok(()),
                    None => fail(expr.span, "a procedure is used as a value"),
                }
            }
            ExprKind::IsMember(value, ty) => {
                known(&self.model.types, *ty, expr.span)?;
                self.expr_or_peek(value)
            }
            ExprKind::Ordinal(value) => self.expr(value),
            ExprKind::ElementAt(sort, value) => {
                known(&self.model.sorts, *sort, expr.span)?;
                self.integer(value)
            }
            ExprKind::Entry(table, value) => {
                known(&self.model.tables, *table, expr.span)?;
                self.integer(value)
            }
            ExprKind::Len(place) => self.place(place),
            ExprKind::Exists(value) => {
                self.expr(value)?;
                if self.model.sorts_of(value.ty).is_empty() {
                    fail(expr.span, "not a reference")
                } else {
                    Ok(())
                }
            }
        }
    }

    /// That the type an expression says it has is one its kind can have.
    fn kind_fits_type(&self, expr: &Expr) -> Check {
        let ty = self.model.kind(expr.ty);
        let fits = match &expr.kind {
            ExprKind::Const(_) | ExprKind::Cond(..) => true,
            ExprKind::Read(place) | ExprKind::Peek(place) => self.model.same_values(place.ty, expr.ty),
            ExprKind::Call(function, _) => {
                known(&self.model.functions, *function, expr.span)?;
                let result = self.model.functions[*function].result;
                result.is_none_or(|result| self.model.same_values(result, expr.ty))
            }
            ExprKind::Unary(UnaryOp::Neg | UnaryOp::BitNot, _)
            | ExprKind::Ordinal(_)
            | ExprKind::Entry(..)
            | ExprKind::Len(_) => {
                matches!(ty, Type::Int { .. })
            }
            ExprKind::Binary(op, ..) if !op.compares() => matches!(ty, Type::Int { .. }),
            ExprKind::Quantified { quantifier: Quantifier::Count, .. } => matches!(ty, Type::Int { .. }),
            ExprKind::ElementAt(sort, _) => self.model.sorts_of(expr.ty).contains(sort),
            _ => matches!(ty, Type::Bool),
        };
        if fits { Ok(()) } else { fail(expr.span, "an expression cannot have the type it says") }
    }

    fn binary(&self, op: BinaryOp, left: &Expr, right: &Expr) -> Check {
        let compares = op.compares();
        let operand = |operand: &Expr| {
            self.expr(operand)?;
            match self.model.kind(operand.ty) {
                Type::Int { .. } => Ok(()),
                Type::Clock if compares => Ok(()),
                _ => fail(operand.span, "an operand is not an integer"),
            }
        };
        operand(left)?;
        operand(right)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Property, TypeDef, Value, Var};

    fn span() -> Span {
        Span::default()
    }

    /// One boolean variable `x` and a rule `x := value`.
    fn model(value: ExprKind, ty: usize) -> Model {
        let mut model = Model::default();
        let boolean = model.types.push(TypeDef { name: None, kind: Type::Bool });
        model.types.push(TypeDef { name: None, kind: Type::INTEGER });
        let x = model.vars.push(Var { name: "x".into(), ty: boolean, span: span() });
        let place = Place { root: Root::Var(x), path: vec![], ty: boolean, span: span() };
        let value = Expr { kind: value, ty: TypeId::from_index(ty), span: span() };
        let body = vec![Stmt { kind: StmtKind::Assign(place, value), span: span() }];
        model.rules.push(Rule {
            name: "r".into(),
            params: vec![],
            bindings: vec![],
            guard: None,
            code: Code { locals: IndexVec::new(), body },
            priority: 0,
            urgent: false,
            span: span(),
        });
        model
    }

    #[test]
    fn a_well_formed_model_passes_and_a_wrong_type_is_found() {
        assert_eq!(verify(&model(ExprKind::Const(Value::Bool(true)), 0)), Ok(()));
        let error = verify(&model(ExprKind::Const(Value::Int(1)), 1)).unwrap_err();
        assert_eq!(error.to_string(), "malformed model: a value has a type that its target cannot take");
    }

    #[test]
    fn a_property_must_be_a_truth_value() {
        let mut model = model(ExprKind::Const(Value::Bool(true)), 0);
        let expr = Expr { kind: ExprKind::Const(Value::Int(1)), ty: TypeId::from_index(1), span: span() };
        let condition = Condition { locals: IndexVec::new(), expr };
        model.properties.push(Property {
            name: "p".into(),
            kind: PropertyKind::Invariant(condition),
            span: span(),
        });
        assert!(verify(&model).is_err());
    }
}
