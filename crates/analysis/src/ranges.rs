//! Integer ranges that nothing orders, as sorts.
//!
//! People write `Node: 1..N` where they mean `scalarset(N)`. Where values of a range are only copied, compared with each
//! other, used to index arrays over it and quantified over ([`crate::scalarset_hints`]), a Model in which it is a sort does
//! the same, step by step, with one exception: a quantifier over a sort looks at all elements, one over a range ends where
//! its value is known. So they differ only where something faults that lies behind what decides a quantifier. Who uses
//! the Model must see that nothing faults, or take the first one.
//!
//! Only ranges whose symmetry is proved are made sorts. A constant of a range that is compared or stored makes it one of
//! numbers.

use shoal_model::{Model, Sort, SortId, SortSize, Trace, Type, TypeDef, TypeId, Value, verify};
use shoal_syntax::Span;

use crate::{hints, symmetry_of_steps};

/// A range with more values is left as it is: nobody has so many processes, and representatives would cost more than they
/// spare.
const MOST_VALUES: u64 = 32;

/// A Model in which ranges are sorts.
#[derive(Clone, Debug)]
pub struct SortedRanges {
    /// The Model. Its rules, properties, types and variables have the numbers that they had.
    pub model: Model,
    /// The sorts that were ranges, all of them proved symmetric.
    pub sorts: Vec<RangeSort>,
}

/// A sort that was a range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RangeSort {
    /// The sort.
    pub sort: SortId,
    /// The name of the range, or the range written out.
    pub name: String,
    /// The least value of the range, which is the first element.
    pub least: i64,
}

/// Ranges that exchange values, which have to become one sort.
#[derive(Clone, Debug)]
pub(crate) struct RangeClass {
    pub(crate) name: String,
    pub(crate) types: Vec<TypeId>,
    pub(crate) span: Span,
}

/// Makes sorts of the ranges that nothing orders; nothing if there are none. The model has no sorts that grow and no agents.
pub fn ranges_as_sorts(model: &Model) -> Option<SortedRanges> {
    if model.has_unfixed_sorts() || !model.agents.is_empty() {
        return None;
    }
    let mut classes = hints::classes(model);
    classes.retain(|class| model.cardinality(class.types[0]).is_some_and(|values| values <= MOST_VALUES));
    loop {
        let made = with_sorts(model, &classes)?;
        // What is used in a way that was not thought of here is no reference.
        if verify(&made.model).is_err() {
            return None;
        }
        let symmetry = symmetry_of_steps(&made.model);
        let mut proved = made.sorts.iter().map(|range| {
            let sort = &symmetry.sorts[range.sort];
            sort.is_proved() && sort.pinned.is_empty()
        });
        let before = classes.len();
        classes.retain(|_| proved.next() == Some(true));
        if classes.len() == before {
            return Some(made);
        }
    }
}

/// Makes sorts with any number of elements of ranges that end with a number that may be any, where nothing orders them;
/// with all ranges that they exchange values with, which must be such ranges too. Gives the ranges that are left.
pub fn open_ranges(model: &mut Model, open: &[TypeId]) -> Vec<TypeId> {
    let mut classes = hints::classes(model);
    classes.retain(|class| class.types.iter().all(|ty| open.contains(ty)));
    let Some(mut made) = with_sorts(model, &classes).filter(|made| verify(&made.model).is_ok()) else {
        return open.to_vec();
    };
    for range in &made.sorts {
        made.model.sorts[range.sort].size = SortSize::Any;
        made.model.range_sorts.push(range.sort);
    }
    *model = made.model;
    let is_left = |ty: &TypeId| classes.iter().all(|class| !class.types.contains(ty));
    open.iter().copied().filter(is_left).collect()
}

/// The model of one number with the same ranges as sorts as the one of any number has; nothing if it does not fit.
pub fn ranges_like(open: &Model, instance: &Model) -> Option<SortedRanges> {
    let mut classes: Vec<RangeClass> = Vec::new();
    for (id, sort) in open.sorts.enumerate().skip(instance.sorts.len()) {
        let is_range = |ty: &TypeId| {
            matches!(open.kind(*ty), Type::Ref { sort, .. } if *sort == id)
                && matches!(instance.kind(*ty), Type::Int { .. })
        };
        let types: Vec<TypeId> = instance.types.ids().filter(is_range).collect();
        if types.is_empty() {
            return None;
        }
        classes.push(RangeClass { name: sort.name.clone(), types, span: sort.span });
    }
    with_sorts(instance, &classes).filter(|made| verify(&made.model).is_ok())
}

/// The model with a sort for each class; nothing if there is no class.
pub(crate) fn with_sorts(model: &Model, classes: &[RangeClass]) -> Option<SortedRanges> {
    let mut made = SortedRanges { model: model.clone(), sorts: Vec::new() };
    for RangeClass { name, types, span } in classes {
        let Type::Int { lo, hi } = *model.kind(types[0]) else { return None };
        let size = SortSize::Fixed(u32::try_from(hi.checked_sub(lo)?.checked_add(1)?).ok()?);
        let first = u32::try_from(lo).unwrap_or(0);
        let sort = made.model.sorts.push(Sort { name: name.clone(), size, first, span: *span });
        for ty in types {
            let name = model.types[*ty].name.clone();
            made.model.types[*ty] = TypeDef { name, kind: Type::Ref { sort, nullable: false } };
        }
        made.sorts.push(RangeSort { sort, name: name.clone(), least: lo });
    }
    (!classes.is_empty()).then_some(made)
}

impl SortedRanges {
    /// The sorts.
    pub fn ids(&self) -> Vec<SortId> {
        self.sorts.iter().map(|range| range.sort).collect()
    }

    /// What a run is in the model with ranges, but for its states: those of elements are numbers again.
    pub fn trace(&self, trace: &Trace) -> Trace {
        let mut trace = trace.clone();
        let Trace { args, choices, state, steps, .. } = &mut trace;
        let of_steps = steps
            .iter_mut()
            .flat_map(|step| step.args.iter_mut().chain(&mut step.choices).chain(&mut step.state.values));
        args.iter_mut()
            .chain(choices)
            .chain(&mut state.values)
            .chain(of_steps)
            .for_each(|it| self.number(it));
        trace
    }

    /// Makes numbers of the elements in a value that were numbers.
    pub fn number(&self, value: &mut Value) {
        match value {
            Value::Elem(sort, element) => {
                if let Some(range) = self.sorts.iter().find(|range| range.sort == *sort) {
                    *value = Value::Int(range.least + i64::from(*element));
                }
            }
            Value::Record(parts) | Value::Array(parts) | Value::Sequence(parts) => {
                parts.iter_mut().for_each(|part| self.number(part));
            }
            Value::Multiset(slots) => slots.iter_mut().flatten().for_each(|part| self.number(part)),
            Value::Undefined
            | Value::Null
            | Value::Bool(_)
            | Value::Int(_)
            | Value::Enum(..)
            | Value::Clock(_) => {}
        }
    }
}
