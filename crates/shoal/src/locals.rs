//! The local states of the elements of a sort: what can matter of them, and how many there are.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use shoal_counters::LocalState;
use shoal_model::{Job, Model, SortId, Type, TypeId, Value, VarId, Watch};

use crate::Loaded;

/// What is known of the parts of a state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LocalsKnown {
    /// Of the elements of each sort that is proved symmetric.
    pub sorts: Vec<LocalStates>,
    /// Of variables beside them: those that do not take all of their values, with the constant, the interval or the
    /// values. Only where a sort is counted.
    pub plain: Vec<(String, String)>,
}

/// What is known of the elements of a sort.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LocalStates {
    /// The sort.
    pub sort: SortId,
    /// The variable that acts as a program counter, if one does.
    pub control: Option<String>,
    /// What is known at each of its values.
    pub points: Vec<ControlPoint>,
    /// Variables of the element that do not take all of their values: the constant, the interval or the values.
    pub ranges: Vec<(String, String)>,
    /// How many local states there are if variables have any value.
    pub conceivable: u128,
    /// How many if only live variables count; nothing without a control variable.
    pub live: Option<u128>,
    /// How many of those are kept because an element may reach them; or why the sort is not counted.
    pub kept: Result<usize, String>,
}

/// What is known of the elements of a sort at a control point.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ControlPoint {
    /// The value of the control variable.
    pub at: String,
    /// The other variables of the element that are live there.
    pub live: Vec<String>,
    /// How many local states there are if variables have any value, and how many if only live variables count.
    pub conceivable: u128,
    /// The same if only live variables count.
    pub telling: u128,
    /// How many of those an element may reach; nothing if that is not known.
    pub kept: Option<usize>,
    /// Variables that do not take all of their values there.
    pub ranges: Vec<(String, String)>,
}

/// Local states are looked for so long.
const PATIENCE: Duration = Duration::from_secs(5);
/// More conceivable local states than this are not searched.
const MOST: u128 = 100_000;

/// The local states of the elements of each sort that is proved symmetric, and what plain variables are confined to.
pub fn local_states(loaded: &Loaded, watch: &Watch) -> LocalsKnown {
    let model = &loaded.model;
    let symmetry = shoal_analysis::symmetry(model);
    let mut symmetric: Vec<SortId> =
        model.sorts.ids().filter(|sort| symmetry.sorts[*sort].is_proved()).collect();
    // (As many as can be counted stand for more: a clock has no end of values.)
    symmetric.retain(|sort| has_local_states(model, *sort) && conceivable(model, *sort) < u128::MAX);
    let job = Job { symmetric: symmetric.clone(), watch: watch.within(PATIENCE), ..Job::new(Vec::new()) };
    let few = symmetric.iter().all(|sort| conceivable(model, *sort) <= MOST);
    let found = if few {
        shoal_counters::local_states(model, &job).map_err(|refusal| refusal.construct)
    } else {
        Err(format!("elements with more than {MOST} conceivable local states"))
    };
    let plain = found.as_ref().map(|found| found.plain.as_slice()).unwrap_or_default();
    let plain = ranges(model, plain.iter().map(|(var, value)| (*var, value)));
    LocalsKnown { sorts: symmetric.into_iter().map(|sort| describe(model, sort, &found)).collect(), plain }
}

/// Whether what is kept for an element of a sort has an end: not if it has an entry for each of any number of other elements.
fn has_local_states(model: &Model, sort: SortId) -> bool {
    let is_own =
        |index: TypeId| matches!(model.kind(index), Type::Ref { sort: of, nullable: false } if *of == sort);
    let has_end = |part: &Type| match part {
        Type::Array { index, .. } => is_own(*index) || model.cardinality(*index).is_some(),
        _ => true,
    };
    model.types.iter().all(|def| has_end(&def.kind))
}

type LocalsFound = Result<shoal_counters::PartsFound, String>;

fn describe(model: &Model, sort: SortId, found: &LocalsFound) -> LocalStates {
    let liveness = shoal_analysis::liveness(model, sort);
    let name = |var: VarId| model.vars[var].name.clone();
    let show = |value: &Value| model.show(value).to_string();
    let states = match found {
        Ok(found) => found.locals.iter().find(|(of, _)| *of == sort).map(|(_, states)| states.as_slice()),
        Err(_) => None,
    };
    let cells = shoal_counters::cells(model, sort);
    let mut points = Vec::new();
    let mut live = None;
    if let Some(liveness) = &liveness {
        let others = conceivable(model, sort)
            / liveness.variables.iter().map(|var| size(model, *var, sort)).product::<u128>();
        let mut sum = 0;
        for (point, vars) in &liveness.live {
            let vars: Vec<_> = vars.iter().copied().filter(|var| *var != liveness.control).collect();
            let telling = others * vars.iter().map(|var| size(model, *var, sort)).product::<u128>();
            sum += telling;
            let control = cells.iter().position(|var| *var == liveness.control);
            let is_here = |state: &&LocalState| control.and_then(|at| state.get(at)) == Some(point);
            let here: Vec<&LocalState> = states.unwrap_or_default().iter().filter(is_here).collect();
            let mut ranges = ranges(model, each(&cells, &here));
            ranges.retain(|(var, _)| *var != name(liveness.control));
            points.push(ControlPoint {
                at: show(point),
                live: vars.into_iter().map(name).collect(),
                conceivable: conceivable(model, sort) / size(model, liveness.control, sort),
                telling,
                kept: states.map(|_| here.len()),
                ranges,
            });
        }
        live = Some(sum);
    }
    let kept = match found {
        Ok(_) => match states {
            Some(states) => Ok(states.len()),
            None => Err("it holds references or is not the only index of an array".into()),
        },
        Err(why) => Err(why.clone()),
    };
    let control = liveness.map(|liveness| name(liveness.control));
    let all: Vec<&LocalState> = states.unwrap_or_default().iter().collect();
    let ranges = ranges(model, each(&cells, &all));
    LocalStates { sort, control, points, ranges, conceivable: conceivable(model, sort), live, kept }
}

/// The values in these local states, with the variables they belong to.
fn each<'s>(cells: &'s [VarId], states: &'s [&LocalState]) -> impl Iterator<Item = (VarId, &'s Value)> {
    states.iter().flat_map(|state| cells.iter().copied().zip(state.iter()))
}

/// The variables that do not take all of their values if these are all that they take, and which they take.
fn ranges<'s>(model: &Model, values: impl Iterator<Item = (VarId, &'s Value)>) -> Vec<(String, String)> {
    /// More values than this are not listed.
    const LISTED: usize = 6;
    let mut taken: BTreeMap<VarId, BTreeSet<&Value>> = BTreeMap::new();
    for (var, value) in values.filter(|(_, value)| **value != Value::Undefined) {
        taken.entry(var).or_default().insert(value);
    }
    let mut ranges = Vec::new();
    for (var, values) in taken {
        // What kind of values it has, the first tells: a record with parts of several kinds is left out.
        let Some(all) = leaf(model, model.vars[var].ty).and_then(|ty| model.cardinality(ty)) else {
            continue;
        };
        let text = match (values.first(), values.last()) {
            _ if values.len() as u64 >= all => continue,
            (Some(first), Some(_)) if values.len() == 1 => format!("always {}", model.show(first)),
            (Some(Value::Int(first)), Some(Value::Int(last))) => format!("{first}..{last}"),
            _ if values.len() <= LISTED => {
                let shown = values.iter().map(|value| model.show(value).to_string());
                shown.collect::<Vec<_>>().join(", ")
            }
            _ => continue,
        };
        ranges.push((model.vars[var].name.clone(), text));
    }
    ranges
}

/// The type of the only kind of scalar in a type.
fn leaf(model: &Model, ty: TypeId) -> Option<TypeId> {
    match model.kind(ty) {
        Type::Record { .. } | Type::Multiset { .. } | Type::Sequence { .. } => None,
        Type::Array { element, .. } => leaf(model, *element),
        _ => Some(ty),
    }
}

fn size(model: &Model, var: VarId, sort: SortId) -> u128 {
    values(model, model.vars[var].ty, sort, false)
}

fn conceivable(model: &Model, sort: SortId) -> u128 {
    model.vars.iter().map(|var| values(model, var.ty, sort, false)).fold(1, u128::saturating_mul)
}

/// How many values the part of a type has that belongs to one element of a sort.
fn values(model: &Model, ty: TypeId, sort: SortId, inside: bool) -> u128 {
    match model.kind(ty) {
        Type::Record { fields } => {
            fields.iter().map(|field| values(model, field.ty, sort, inside)).fold(1, u128::saturating_mul)
        }
        Type::Array { index, element } => match model.kind(*index) {
            Type::Ref { sort: of, .. } if *of == sort => values(model, *element, sort, true),
            _ => {
                let count = u32::try_from(model.cardinality(*index).unwrap_or(1)).unwrap_or(u32::MAX);
                values(model, *element, sort, inside).saturating_pow(count)
            }
        },
        _ if inside => model.cardinality(ty).map_or(u128::MAX, u128::from),
        _ => 1,
    }
}
