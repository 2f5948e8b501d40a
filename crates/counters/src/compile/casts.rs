//! Who takes part in an instance of a rule: its parameters bound to roles, and all others as classes.

use std::{collections::BTreeMap, rc::Rc};

use shoal_model::{Domain, Model, OrInternal, Rule, SortId, Type, TypeId, Value, VarId};
use shoal_symbolic::{
    bits,
    dd::{Bdd, Dd, DdResult, lacks},
    machine::{CountedMember, CountedPopulation, MemberKind, SymbolicMachine},
    run,
    value::{SymbolicScalar, SymbolicValue},
};

use super::{Arg, LocalState, modular::ClassValues};
use crate::support::Tracked;

/// An instance of a rule with its roles.
#[derive(Clone)]
pub(super) struct RoleInstance<'m> {
    pub(super) machine: SymbolicMachine<'m>,
    pub(super) args: Vec<Arg>,
    pub(super) values: Vec<Value>,
    pub(super) roles: Vec<(SortId, usize, u32)>,
    /// Where there are elements for all roles.
    pub(super) present: Bdd,
    /// The variables whose elements are among the roles.
    pub(super) holders: Vec<usize>,
    /// Where elements can be in each class, if that is known.
    pub(super) known: Option<ClassValues>,
}

impl<'m> RoleInstance<'m> {
    /// Nobody takes part yet.
    pub(super) fn new(base: &SymbolicMachine<'m>) -> RoleInstance<'m> {
        RoleInstance {
            machine: base.clone(),
            args: Vec::new(),
            values: Vec::new(),
            roles: Vec::new(),
            present: base.dd.yes(),
            holders: Vec::new(),
            known: None,
        }
    }
}

/// All ways to cast the parameters of a rule, as far as its guard may hold of them, whatever `vague` variables hold.
pub(super) fn casts<'m>(
    first: RoleInstance<'m>,
    rule: &'m Rule,
    vague: &[VarId],
) -> DdResult<Vec<RoleInstance<'m>>> {
    let mut casts = vec![first];
    for param in &rule.params {
        let mut next = Vec::new();
        for cast in casts {
            let choices = match &param.domain {
                Domain::Type(ty) => {
                    cast.machine.few(*ty)?;
                    cast.machine.values_of(*ty)
                }
                Domain::Range { .. } => run::domain(&cast.machine, rule, &cast.values)?,
                Domain::Slots(place) => return lacks("multisets", place.span),
            };
            for value in choices {
                match cast.machine.class_of(&value) {
                    None => {
                        let mut cast = cast.clone();
                        let role =
                            cast.roles.iter().position(|(sort, _, id)| value == Value::Elem(*sort, *id));
                        cast.args.push(role.map_or(Arg::Value(value.clone()), Arg::Role));
                        cast.values.push(value);
                        next.push(cast);
                    }
                    Some((sort, class)) => next.extend(take(&cast, sort, class)?),
                }
            }
        }
        casts = Vec::new();
        for cast in next {
            let more = cast.values.len() < rule.params.len();
            let early = more || !vague.is_empty();
            if !early || !run::fails_early(&cast.machine, rule, &cast.values, &cast.present, vague)? {
                casts.push(cast);
            }
        }
    }
    Ok(casts)
}

/// The cast with one more parameter, an element taken out of a class; none if the class can have no such element.
fn take<'m>(cast: &RoleInstance<'m>, sort: SortId, class: usize) -> DdResult<Option<RoleInstance<'m>>> {
    let Some((mut cast, id)) = play(cast, sort, class)? else { return Ok(None) };
    cast.args.push(Arg::Role(cast.roles.len() - 1));
    cast.values.push(Value::Elem(sort, id));
    Ok(Some(cast))
}

/// The cast with one more role, and its number.
pub(super) fn play<'m>(
    cast: &RoleInstance<'m>,
    sort: SortId,
    class: usize,
) -> DdResult<Option<(RoleInstance<'m>, u32)>> {
    let mut cast = cast.clone();
    let population = &cast.machine.counted[&sort];
    let taken = bits::constant(&cast.machine.dd, population.roles_in(class));
    let Some((_, count)) = population.class(class) else { return Ok(None) };
    cast.present = cast.present.and(&bits::less(&cast.machine.dd, &taken, count)?)?;
    if let Some(known) = &cast.known {
        match known.get(&(sort, class)) {
            Some(set) => cast.present = cast.present.and(set)?,
            None => return Ok(None),
        }
    }
    if cast.present.is_false() {
        return Ok(None);
    }
    let Some(id) = cast.machine.take_role(sort, class) else { return Ok(None) };
    cast.roles.push((sort, class, id));
    Ok(Some((cast, id)))
}

/// Numbers for roles begin here, beyond all elements and classes.
pub(super) const FIRST_ROLE: u32 = 1 << 30;

/// The populations of the counted sorts with nothing but their tracked elements.
pub(super) fn populations(tracked: &Tracked) -> BTreeMap<SortId, CountedPopulation> {
    let population = |elements: &Vec<u32>| CountedPopulation {
        members: elements.iter().map(|id| CountedMember { id: *id, kind: MemberKind::Tracked }).collect(),
        next: FIRST_ROLE,
    };
    tracked.iter().map(|(sort, elements)| (*sort, population(elements))).collect()
}

/// Adds the member that stands for a class; without a state, one whose cells are all undefined.
pub(super) fn add_class(
    model: &Model,
    machine: &mut SymbolicMachine<'_>,
    counted: &mut BTreeMap<SortId, CountedPopulation>,
    sort: SortId,
    class: usize,
    state: Option<&LocalState>,
    count: bits::BitVector,
) -> DdResult<()> {
    let id = model.sorts[sort].fixed_size().or_internal("a counted sort has a size") + class as u32;
    let undefined = Value::Undefined;
    let blank = std::iter::repeat_n(&undefined, if state.is_none() { usize::MAX } else { 0 });
    let mut values = state.into_iter().flatten().chain(blank);
    let dd = machine.dd.clone();
    for (var, sym) in model.vars.iter().zip(&mut machine.vars) {
        insert(model, &dd, var.ty, sym, (sort, id), &mut values)?;
    }
    if let Some(population) = counted.get_mut(&sort) {
        population
            .members
            .push(CountedMember { id, kind: MemberKind::Class { class, count: Rc::new(count) } });
    }
    Ok(())
}

/// Adds the entries of a member to a value of a type.
fn insert(
    model: &Model,
    dd: &Dd,
    ty: TypeId,
    value: &mut SymbolicValue,
    member: (SortId, u32),
    values: &mut dyn Iterator<Item = &Value>,
) -> DdResult<()> {
    match (model.kind(ty), value) {
        (Type::Record { fields }, SymbolicValue::Record(parts)) => {
            for (field, part) in fields.iter().zip(parts) {
                insert(model, dd, field.ty, part, member, values)?;
            }
        }
        (Type::Array { element, .. }, SymbolicValue::Array(parts)) => {
            for part in parts {
                insert(model, dd, *element, part, member, values)?;
            }
        }
        (Type::Array { element, .. }, SymbolicValue::Family(sort, entries)) if *sort == member.0 => {
            let entry = SymbolicValue::build(model, *element, &|_| None, &mut |_| {
                let value = values.next().or_internal("a local state has a value for each of its cells");
                Ok(SymbolicScalar::constant(dd, value))
            })?;
            entries.insert(member.1, Rc::new(entry));
        }
        _ => {}
    }
    Ok(())
}
