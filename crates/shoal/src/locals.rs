//! The local states of the elements of a sort: what can matter of them, and how many there are.

use shoal_model::{Job, Limits, Model, SortId, Type, TypeId, Value};

use crate::Loaded;

/// What is known of the elements of a sort.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalStates {
    /// The sort.
    pub sort: SortId,
    /// The variable that acts as a program counter, if one does.
    pub control: Option<String>,
    /// For each of its values, the other variables of the element that are live there.
    pub points: Vec<(String, Vec<String>)>,
    /// How many local states there are if variables have any value.
    pub conceivable: u128,
    /// How many if only live variables count; nothing without a control variable.
    pub live: Option<u128>,
    /// How many of those are kept because an element may reach them; or why the sort is not counted.
    pub kept: Result<usize, String>,
}

/// More conceivable local states than this are not searched.
const MOST: u128 = 100_000;

/// The local states of the elements of each sort that is proved symmetric.
pub fn local_states(loaded: &Loaded) -> Vec<LocalStates> {
    let model = &loaded.model;
    let symmetry = shoal_analysis::symmetry(model);
    let symmetric: Vec<SortId> = model.sorts.ids().filter(|sort| symmetry.sorts[*sort].is_proved()).collect();
    let limits = Limits::default();
    let job = Job {
        properties: Vec::new(),
        symmetric: symmetric.clone(),
        limits,
        patience: None,
        jit: false,
        threads: 1,
        strategy: Default::default(),
    };
    let few = symmetric.iter().all(|sort| conceivable(model, *sort) <= MOST);
    let found = if few {
        shoal_counters::local_states(model, &job).map_err(|refusal| refusal.construct)
    } else {
        Err(format!("elements with more than {MOST} conceivable local states"))
    };
    symmetric.into_iter().map(|sort| describe(model, sort, &found)).collect()
}

type Found = Result<Vec<(SortId, Vec<shoal_counters::LocalState>)>, String>;

fn describe(model: &Model, sort: SortId, found: &Found) -> LocalStates {
    let liveness = shoal_analysis::liveness(model, sort);
    let name = |var: shoal_model::VarId| model.vars[var].name.clone();
    let show = |value: &Value| model.show(value).to_string();
    let mut points = Vec::new();
    let mut live = None;
    if let Some(liveness) = &liveness {
        let others = conceivable(model, sort)
            / liveness.variables.iter().map(|var| size(model, *var, sort)).product::<u128>();
        let mut sum = 0;
        for (point, vars) in &liveness.live {
            let vars: Vec<_> = vars.iter().copied().filter(|var| *var != liveness.control).collect();
            sum += others * vars.iter().map(|var| size(model, *var, sort)).product::<u128>();
            points.push((show(point), vars.into_iter().map(name).collect()));
        }
        live = Some(sum);
    }
    let kept = match found {
        Ok(found) => match found.iter().find(|(of, _)| *of == sort) {
            Some((_, states)) => Ok(states.len()),
            None => Err("it holds references or is not the only index of an array".into()),
        },
        Err(why) => Err(why.clone()),
    };
    let control = liveness.map(|liveness| name(liveness.control));
    LocalStates { sort, control, points, conceivable: conceivable(model, sort), live, kept }
}

fn size(model: &Model, var: shoal_model::VarId, sort: SortId) -> u128 {
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
