//! Where the counters begin: the starts of the model, run on one class of elements of which nothing is known yet.

use std::collections::BTreeMap;

use shoal_model::{During, OrInternal, SortId, Type, TypeId, Value};
use shoal_symbolic::{
    bits,
    dd::{Dd, DdResult},
    layout::BitLayout,
    machine::{MemberKind, SymbolicMachine},
    run,
    value::{SymbolicScalar, SymbolicValue},
};

use super::{
    Arg, CountedLocals, CounterStart, CounterStarts, LocalState, Making, Normalise,
    casts::{RoleInstance, add_class, casts, populations},
    holders::ElementHolder,
};

/// Runs all starts: one class of elements of which nothing is known yet.
pub(super) fn starts(
    making: Making<'_, '_>,
    locals: &mut BTreeMap<SortId, CountedLocals>,
    holders: &[ElementHolder],
) -> DdResult<CounterStarts> {
    let Making { model, tracked, normalise, watch, .. } = making;
    let dd = Dd::small(watch)?;
    let layout = BitLayout::new(model, tracked, &|_| false)?;
    let mut counted = populations(tracked);
    let blank = SymbolicScalar::undefined(&dd);
    let members = |index: TypeId| match model.kind(index) {
        Type::Ref { sort, nullable: false } => tracked.get(sort).map(|elements| (*sort, elements.clone())),
        _ => None,
    };
    let mut vars = Vec::new();
    for var in model.vars.iter() {
        vars.push(SymbolicValue::build(model, var.ty, &members, &mut |_| Ok(blank.clone()))?);
    }
    let mut machine = SymbolicMachine::new(model, &dd, vars);
    for (sort, locals) in locals.iter() {
        let count = bits::constant(&dd, i64::from(locals.counted));
        add_class(model, &mut machine, &mut counted, *sort, 0, None, count)?;
    }
    machine.counted = counted;
    let mut starts = CounterStarts::default();
    for (id, start) in model.starts.enumerate() {
        for cast in casts(RoleInstance::new(&machine), start, &[])? {
            for after in run::runs(&cast.machine, start, &cast.values, &dd.yes())? {
                let choices = run::choices(&after);
                if after.dropped.is_false() {
                    let covered = after.covered.iter().filter(|(_, place)| place.is_true());
                    starts.covered.extend(covered.map(|(property, _)| *property));
                }
                if let Some((_, fault)) = after.faults.first() {
                    starts.faults.push((During::Start(id, example(&cast), choices), fault.clone()));
                } else if after.dropped.is_false() {
                    let cells = layout
                        .scalars(&after)
                        .into_iter()
                        .map(|it| it.known().or_internal("a start is one state"));
                    let cells = cells.collect();
                    for holder in holders {
                        holder.check(&after, &dd.yes())?;
                    }
                    let counts = counts(&after, &cast, locals, normalise, holders)?;
                    starts.all.push(CounterStart {
                        start: id,
                        args: cast.args.clone(),
                        choices,
                        cells,
                        counts,
                    });
                }
            }
        }
    }
    Ok(starts)
}

/// Arguments with some element for each role: before a start they are all alike.
fn example(cast: &RoleInstance<'_>) -> Vec<Value> {
    let mut taken: BTreeMap<SortId, u32> = BTreeMap::new();
    let elements: Vec<Value> = cast
        .roles
        .iter()
        .map(|(sort, _, _)| {
            let tracked = &cast.machine.counted[sort].members;
            let mut element = taken.get(sort).map_or(0, |last| last + 1);
            while tracked.iter().any(|it| it.id == element && matches!(it.kind, MemberKind::Tracked)) {
                element += 1;
            }
            taken.insert(*sort, element);
            Value::Elem(*sort, element)
        })
        .collect();
    let arg = |arg: &Arg| match arg {
        Arg::Value(value) => value.clone(),
        Arg::Role(role) => elements[*role].clone(),
    };
    cast.args.iter().map(arg).collect()
}

/// How many elements are in each class after a start.
fn counts(
    after: &SymbolicMachine<'_>,
    cast: &RoleInstance<'_>,
    locals: &mut BTreeMap<SortId, CountedLocals>,
    normalise: Normalise<'_>,
    holders: &[ElementHolder],
) -> DdResult<BTreeMap<(SortId, usize), u32>> {
    let mut counts = BTreeMap::new();
    for (sort, locals) in locals.iter_mut() {
        let counted = locals.counted;
        let mut add = |id: u32, count: u32| -> DdResult<()> {
            let state = after.local_state(*sort, id).into_iter();
            let mut state: LocalState =
                state.map(|it| it.known().or_internal("a start is one state")).collect();
            for holder in holders.iter().filter(|holder| holder.sort() == *sort) {
                state.push(Value::Bool(!holder.holds(after, id, &after.dd.yes())?.is_false()));
            }
            *counts.entry((*sort, locals.class(normalise(*sort, state)))).or_default() += count;
            Ok(())
        };
        let roles: Vec<u32> =
            cast.roles.iter().filter(|(of, _, _)| of == sort).map(|(_, _, id)| *id).collect();
        let rest = after.counted[sort].class(0).map(|(id, _)| id);
        roles.iter().try_for_each(|id| add(*id, 1))?;
        let left = counted - roles.len() as u32;
        if let (Some(id), true) = (rest, left > 0) {
            add(id, left)?;
        }
    }
    Ok(counts)
}
