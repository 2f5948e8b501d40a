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
//! 13. Whether an urgent rule may fire does not depend on clocks: time alone makes it neither possible nor impossible.
//!
//! Not checked: that names are unique, that sources of spans exist, that every local is bound before it is used, that
//! the position of a slot is used as nothing else.

mod code;
mod expr;

use std::fmt;

use shoal_syntax::Span;

use self::code::Verifier;
use crate::{BinaryOp, Condition, IndexVec, Model, PropertyId, PropertyKind, Type, TypeId, TypedId};

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
    let pure = model.pure_functions();
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
    for rule in model.rules.iter().filter(|rule| rule.urgent) {
        if rule.guard.as_ref().is_some_and(|guard| model.reads_clocks(guard)) {
            return fail(rule.span, "an urgent rule has a guard on clocks");
        }
    }
    for id in model.properties.ids() {
        verify_property(model, &pure, id)?;
    }
    for condition in conditions(model) {
        verify_condition(model, &pure, condition)?;
    }
    verify_agents(model)
}

/// Checks that a property is well formed; which functions only compute is known.
pub(crate) fn verify_property(model: &Model, pure: &[bool], id: PropertyId) -> Check {
    let property = &model.properties[id];
    if let PropertyKind::Temporal(_, formula) = &property.kind
        && !observers_stand_alone(formula)
    {
        return fail(property.span, "an observer is part of a formula, or its steps lead nowhere");
    }
    if let PropertyKind::Extreme(extreme) = &property.kind {
        verify_condition(model, pure, &extreme.compared(BinaryOp::Ge, 0))?;
    }
    property.kind.conditions().into_iter().try_for_each(|condition| verify_condition(model, pure, condition))
}

fn verify_condition(model: &Model, pure: &[bool], condition: &Condition) -> Check {
    let verifier = Verifier { model, locals: &condition.locals, pure, only_pure: true, result: None };
    verifier.locals()?;
    verifier.truth(&condition.expr)
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
    let locations = model.agents.iter().flat_map(|agents| &agents.locations);
    let of_agents = locations.filter_map(|location| location.goes_first.as_ref());
    model.while_time_passes.iter().chain(&model.fairness).chain(of_agents)
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
        Type::Record { .. } | Type::Array { .. } | Type::Multiset { .. } if model.is_too_large(ty) => {
            fail(nowhere, format!("{ty} has too many parts"))
        }
        Type::Record { fields } => fields.iter().try_for_each(|field| part(field.ty)),
        Type::Array { index, element } => {
            part(*index)?;
            part(*element)?;
            match is_index(model, *index) {
                true => Ok(()),
                false => fail(nowhere, format!("{ty} has an index that is not finite or too large")),
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

/// Whether arrays may have an entry for each value of a type. Of the elements of a sort there may be any number.
fn is_index(model: &Model, ty: TypeId) -> bool {
    match (model.kind(ty), model.cardinality(ty)) {
        (Type::Ref { .. }, _) => true,
        (_, Some(size)) => size <= MOST_ELEMENTS,
        (Type::Union { members }, None) => members.iter().all(|member| is_index(model, *member)),
        (_, None) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Code, Expr, ExprKind, Place, Property, Root, Rule, Stmt, StmtKind, TypeDef, Value, Var};

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
