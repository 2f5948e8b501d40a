//! What a value of a type looks like: blank, least, fitting, normal. `live` says which elements of growing
//! sorts exist, because arrays over such a sort have an entry for each number in use.

use shoal_model::{Model, OrInternal, Ratio, SortId, SortSize, Type, TypeId, TypedId, Value};

/// A model and the elements that exist.
#[derive(Clone, Copy)]
pub(crate) struct Shapes<'a> {
    pub(crate) model: &'a Model,
    pub(crate) live: &'a [Vec<bool>],
}

impl<'a> Shapes<'a> {
    /// Every scalar part undefined, multisets and sequences empty, clocks at 0.
    pub(crate) fn blank(self, ty: TypeId) -> Value {
        self.build(ty, &|scalar| match self.model.kind(scalar) {
            Type::Clock => Value::Clock(Ratio::ZERO),
            _ => Value::Undefined,
        })
    }

    /// Every scalar part at its least value, multisets and sequences empty, clocks at 0.
    pub(crate) fn least(self, ty: TypeId) -> Value {
        self.build(ty, &|scalar| self.least_scalar(scalar))
    }

    /// The least value of a scalar type. A growing sort may have no element, and then nothing is the least.
    fn least_scalar(self, ty: TypeId) -> Value {
        match self.model.kind(ty) {
            Type::Clock => Value::Clock(Ratio::ZERO),
            Type::Ref { nullable: true, .. } => Value::Null,
            Type::Ref { sort, nullable: false } => {
                self.elements(*sort).next().map_or(Value::Undefined, |element| Value::Elem(*sort, element))
            }
            Type::Union { members } => {
                members.first().map_or(Value::Undefined, |member| self.least_scalar(*member))
            }
            _ => self.model.value_at(ty, 0).unwrap_or(Value::Undefined),
        }
    }

    fn build(self, ty: TypeId, scalar: &dyn Fn(TypeId) -> Value) -> Value {
        match self.model.kind(ty) {
            Type::Record { fields } => {
                Value::Record(fields.iter().map(|field| self.build(field.ty, scalar)).collect())
            }
            Type::Array { index, element } => Value::Array(match self.entries(*index) {
                EntryCount::Fixed(count) => vec![self.build(*element, scalar); count],
                EntryCount::Growing(live) => {
                    let entry =
                        |live: &bool| if *live { self.build(*element, scalar) } else { Value::Undefined };
                    live.iter().map(entry).collect()
                }
            }),
            Type::Multiset { .. } => Value::Multiset(Vec::new()),
            Type::Sequence { .. } => Value::Sequence(Vec::new()),
            _ => scalar(ty),
        }
    }

    /// The elements of a sort that exist, least first.
    pub(crate) fn elements(self, sort: SortId) -> Box<dyn Iterator<Item = u32> + 'a> {
        match self.model.sorts[sort].size {
            SortSize::Fixed(size) => Box::new(0..size),
            SortSize::Growing { .. } | SortSize::Any => {
                let live = self.live[sort.index()].iter().enumerate();
                Box::new(live.filter(|(_, live)| **live).map(|(element, _)| element as u32))
            }
        }
    }

    /// Whether an element of a sort exists.
    pub(crate) fn exists(self, sort: SortId, element: u32) -> bool {
        match self.model.sorts[sort].size {
            SortSize::Fixed(size) => element < size,
            SortSize::Growing { .. } | SortSize::Any => {
                self.live[sort.index()].get(element as usize) == Some(&true)
            }
        }
    }

    /// Which entries an array with this index type has.
    fn entries(self, index: TypeId) -> EntryCount<'a> {
        match self.model.growing_index(index) {
            Some(sort) => EntryCount::Growing(&self.live[sort.index()]),
            None => EntryCount::Fixed(
                self.model.cardinality(index).or_internal("an array has a finite index") as usize,
            ),
        }
    }

    /// The value as one of the type; nothing if a part is outside. Undefined fits every scalar: whether an
    /// undefined value may come here is settled where it is read. An integer becomes the value of a clock.
    pub(crate) fn fit(self, value: Value, ty: TypeId) -> Option<Value> {
        let all = |values: Vec<Value>, ty: TypeId| -> Option<Vec<Value>> {
            values.into_iter().map(|value| self.fit(value, ty)).collect()
        };
        match (self.model.kind(ty), value) {
            (Type::Record { fields }, Value::Record(values)) => {
                let parts = values.into_iter().zip(fields).map(|(value, field)| self.fit(value, field.ty));
                parts.collect::<Option<_>>().map(Value::Record)
            }
            (Type::Array { index, element }, Value::Array(values)) => match self.entries(*index) {
                EntryCount::Fixed(_) => all(values, *element).map(Value::Array),
                // The copy may be older than the last creation or deletion.
                EntryCount::Growing(live) => {
                    let mut values = values.into_iter();
                    let entries = live.iter().map(|live| match (live, values.next()) {
                        (false, _) => Some(Value::Undefined),
                        (true, None | Some(Value::Undefined)) => Some(self.blank(*element)),
                        (true, Some(value)) => self.fit(value, *element),
                    });
                    entries.collect::<Option<_>>().map(Value::Array)
                }
            },
            (Type::Multiset { capacity, element }, Value::Multiset(slots)) => {
                let fits = slots.iter().flatten().count() <= *capacity as usize;
                let slots = slots.into_iter().map(|slot| match slot {
                    Some(value) => self.fit(value, *element).map(Some),
                    None => Some(None),
                });
                slots.collect::<Option<_>>().filter(|_| fits).map(Value::Multiset)
            }
            (Type::Sequence { capacity, element }, Value::Sequence(values)) => {
                let fits = values.len() <= *capacity as usize;
                all(values, *element).filter(|_| fits).map(Value::Sequence)
            }
            (Type::Clock, Value::Clock(value)) => Some(Value::Clock(value)),
            (Type::Clock, Value::Int(value)) => {
                let value = u64::try_from(value).ok()?;
                Ratio::new(value, 1).map(Value::Clock)
            }
            (kind, Value::Undefined) if kind.is_scalar() => Some(Value::Undefined),
            (_, value) => self.belongs(&value, ty).then_some(value),
        }
    }

    /// Whether a value is one of a scalar type. (A reference to a deleted element still is.)
    pub(crate) fn belongs(self, value: &Value, ty: TypeId) -> bool {
        match self.model.kind(ty) {
            Type::Union { members } => members.iter().any(|member| self.belongs(value, *member)),
            _ => self.model.ordinal(ty, value).is_some(),
        }
    }
}

enum EntryCount<'a> {
    Fixed(usize),
    Growing(&'a [bool]),
}

/// What the Model can say of arrays over growing sorts.
pub(crate) trait GrowingIndex {
    /// The growing sort whose elements are the indices of the type, if it is one. Null is no index then.
    fn growing_index(&self, index: TypeId) -> Option<SortId>;
}

impl GrowingIndex for Model {
    fn growing_index(&self, index: TypeId) -> Option<SortId> {
        match self.kind(index) {
            Type::Ref { sort, .. } if self.sorts[*sort].fixed_size().is_none() => Some(*sort),
            _ => None,
        }
    }
}

/// The normal form: multisets without free slots and sorted. Two values are the same if their normal forms are.
pub(crate) fn normal(value: Value) -> Value {
    let all = |values: Vec<Value>| values.into_iter().map(normal).collect();
    match value {
        Value::Record(values) => Value::Record(all(values)),
        Value::Array(values) => Value::Array(all(values)),
        Value::Sequence(values) => Value::Sequence(all(values)),
        Value::Multiset(slots) => {
            let mut elements: Vec<Value> = slots.into_iter().flatten().map(normal).collect();
            elements.sort();
            Value::Multiset(elements.into_iter().map(Some).collect())
        }
        scalar => scalar,
    }
}

/// Calls `change` on the entries of every array over a growing sort in a value, inner arrays first, with the
/// type of the entries.
pub(crate) fn change_arrays(
    model: &Model,
    value: &mut Value,
    ty: TypeId,
    sort: SortId,
    change: &mut dyn FnMut(&mut Vec<Value>, TypeId),
) {
    match (model.kind(ty), value) {
        (Type::Record { fields }, Value::Record(values)) => {
            for (value, field) in values.iter_mut().zip(fields) {
                change_arrays(model, value, field.ty, sort, change);
            }
        }
        (Type::Array { index, element }, Value::Array(values)) => {
            values.iter_mut().for_each(|value| change_arrays(model, value, *element, sort, change));
            if model.growing_index(*index) == Some(sort) {
                change(values, *element);
            }
        }
        (Type::Sequence { element, .. }, Value::Sequence(values)) => {
            values.iter_mut().for_each(|value| change_arrays(model, value, *element, sort, change));
        }
        (Type::Multiset { element, .. }, Value::Multiset(slots)) => {
            slots.iter_mut().flatten().for_each(|value| change_arrays(model, value, *element, sort, change));
        }
        _ => {}
    }
}

/// Moves every clock in a value on; nothing if one does not fit any more.
pub(crate) fn advance(value: Value, delay: Ratio) -> Option<Value> {
    let all = |values: Vec<Value>| -> Option<Vec<Value>> {
        values.into_iter().map(|value| advance(value, delay)).collect()
    };
    Some(match value {
        Value::Clock(now) => Value::Clock(now.checked_add(delay)?),
        Value::Record(values) => Value::Record(all(values)?),
        Value::Array(values) => Value::Array(all(values)?),
        Value::Sequence(values) => Value::Sequence(all(values)?),
        // A multiset holds no clocks.
        other => other,
    })
}
