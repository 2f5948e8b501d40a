//! Structures: a part of a state. Some elements are known; any other that a known cell refers to is a star.

use std::collections::BTreeMap;

use shoal_certificate::{OpenCell, OpenHop, OpenPlace};
use shoal_model::{Model, OrInternal, SortId, SortSize, Type, TypeId, TypedId, Value};

/// Numbers of elements from here on are stars: elements that are not known.
pub(crate) const STAR: u32 = 1 << 20;
/// While elements are being forgotten, their numbers are raised by this.
const FORGOTTEN: u32 = 1 << 24;

/// An element or a star: its sort and its number.
pub(crate) type Name = (SortId, u32);
/// What elements and stars are called elsewhere.
pub(crate) type Names = BTreeMap<Name, Name>;
/// For each sort, the elements that stay known, in their new order. Sorts of fixed size are left alone.
pub(crate) type WindowPick = Vec<Vec<u32>>;

/// A part of a state. Arrays over sorts with any number have an entry for each known element.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct WindowStructure {
    pub(crate) values: Vec<Value>,
    /// How many elements of each sort are known; 0 for sorts of fixed size.
    pub(crate) known: Vec<u32>,
    /// Bit j: an element that is not known satisfies predicate j.
    pub(crate) bits: u32,
}

/// The types of a model, as far as structures go.
#[derive(Clone, Copy)]
pub(crate) struct WindowShape<'m> {
    pub(crate) model: &'m Model,
}

impl<'m> WindowShape<'m> {
    pub(crate) fn is_any(self, sort: SortId) -> bool {
        self.model.sorts[sort].size == SortSize::Any
    }

    /// The sort with any number of elements that an array is over.
    pub(crate) fn over(self, index: TypeId) -> Option<SortId> {
        match self.model.kind(index) {
            Type::Ref { sort, .. } if self.is_any(*sort) => Some(*sort),
            _ => None,
        }
    }

    /// Whether a value of the type has an array over a sort with any number of elements.
    pub(crate) fn is_open(self, ty: TypeId) -> bool {
        self.model.type_contains(
            ty,
            &|part| matches!(part, Type::Array { index, .. } if self.over(*index).is_some()),
        )
    }

    /// What the checker does not take, if the model has it.
    pub(crate) fn lacking(self) -> Option<String> {
        let model = self.model;
        if let Some(sort) = model.sorts.iter().find(|sort| matches!(sort.size, SortSize::Growing { .. })) {
            return Some(format!("elements of `{}` that come and go", sort.name));
        }
        for def in model.types.iter() {
            match &def.kind {
                Type::Array { index, element } => {
                    let mixed = self.over(*index).is_none()
                        && model.sorts_of(*index).iter().any(|sort| self.is_any(*sort));
                    let nullable = matches!(model.kind(*index), Type::Ref { nullable: true, .. });
                    if mixed || nullable && self.over(*index).is_some() {
                        return Some("arrays over a union with a sort of any number".into());
                    }
                    if self.over(*index).is_some() && self.is_open(*element) {
                        return Some("arrays over two sorts with any number".into());
                    }
                }
                Type::Multiset { element, .. } if self.is_open(*element) => {
                    return Some("multisets of arrays over a sort with any number".into());
                }
                Type::Sequence { .. } => return Some("sequences".into()),
                Type::Clock => return Some("clocks".into()),
                Type::Multiset { .. }
                | Type::Bool
                | Type::Int { .. }
                | Type::Enum { .. }
                | Type::Ref { .. }
                | Type::Union { .. }
                | Type::Record { .. } => {}
            }
        }
        None
    }

    /// A value of the type in which every scalar is undefined.
    pub(crate) fn blank(self, ty: TypeId, known: &[u32]) -> Value {
        match self.model.kind(ty) {
            Type::Record { fields } => {
                Value::Record(fields.iter().map(|field| self.blank(field.ty, known)).collect())
            }
            Type::Array { index, element } => {
                Value::Array(vec![self.blank(*element, known); self.entries(*index, known)])
            }
            Type::Multiset { .. } => Value::Multiset(Vec::new()),
            _ => Value::Undefined,
        }
    }

    /// How many entries an array has.
    pub(crate) fn entries(self, index: TypeId, known: &[u32]) -> usize {
        match self.over(index) {
            Some(sort) => known[sort.index()] as usize,
            None => self.model.cardinality(index).or_internal("an array has a finite index") as usize,
        }
    }

    /// The structure in which everything is undefined.
    pub(crate) fn nothing(self, known: &[u32]) -> WindowStructure {
        let values = self.model.vars.iter().map(|var| self.blank(var.ty, known)).collect();
        WindowStructure { values, known: known.to_vec(), bits: 0 }
    }

    /// Applies a function to every reference to an element of a sort with any number, and takes entries of arrays over them
    /// as `pick` says.
    fn change(self, ty: TypeId, value: &Value, pick: &WindowPick, to: &dyn Fn(Name) -> Name) -> Value {
        match (self.model.kind(ty), value) {
            (Type::Record { fields }, Value::Record(values)) => {
                let parts = fields.iter().zip(values);
                Value::Record(parts.map(|(field, value)| self.change(field.ty, value, pick, to)).collect())
            }
            (Type::Array { index, element }, Value::Array(values)) => Value::Array(match self.over(*index) {
                Some(sort) => {
                    let entry = |at: &u32| self.change(*element, &values[*at as usize], pick, to);
                    pick[sort.index()].iter().map(entry).collect()
                }
                None => values.iter().map(|value| self.change(*element, value, pick, to)).collect(),
            }),
            (Type::Multiset { element, .. }, Value::Multiset(slots)) => {
                let slot =
                    |slot: &Option<Value>| slot.as_ref().map(|value| self.change(*element, value, pick, to));
                Value::Multiset(slots.iter().map(slot).collect())
            }
            (_, Value::Elem(sort, number)) if self.is_any(*sort) => {
                let (sort, number) = to((*sort, *number));
                Value::Elem(sort, number)
            }
            (_, value) => value.clone(),
        }
    }

    fn change_all(self, values: &[Value], pick: &WindowPick, to: &dyn Fn(Name) -> Name) -> Vec<Value> {
        let vars = self.model.vars.iter().zip(values);
        vars.map(|(var, value)| self.change(var.ty, value, pick, to)).collect()
    }

    /// All known elements, as they are.
    pub(crate) fn everything(self, known: &[u32]) -> WindowPick {
        known.iter().map(|count| (0..*count).collect()).collect()
    }

    /// Calls elements and stars by other names; those that are not in the list keep theirs.
    pub(crate) fn call(self, structure: &WindowStructure, names: &Names) -> WindowStructure {
        let to = |name: Name| names.get(&name).copied().unwrap_or(name);
        let pick = self.everything(&structure.known);
        let values = self.change_all(&structure.values, &pick, &to);
        WindowStructure { values, known: structure.known.clone(), bits: structure.bits }
    }

    /// The same of one value.
    pub(crate) fn call_in(self, ty: TypeId, value: &Value, known: &[u32], names: &Names) -> Value {
        let to = |name: Name| names.get(&name).copied().unwrap_or(name);
        self.change(ty, value, &self.everything(known), &to)
    }

    /// Forgets all elements but those picked, which get the numbers of their positions. Those that are forgotten become
    /// stars; `back` says what each star and element was. What those that are forgotten satisfy is in the bits.
    fn take(self, structure: &WindowStructure, bits: u32, pick: &WindowPick) -> (WindowStructure, Names) {
        let to = |(sort, number): Name| match number >= STAR {
            true => (sort, number),
            false => match pick[sort.index()].iter().position(|kept| *kept == number) {
                Some(at) => (sort, at as u32),
                None => (sort, FORGOTTEN + number),
            },
        };
        let values = self.change_all(&structure.values, pick, &to);
        let known: Vec<u32> = pick.iter().map(|kept| kept.len() as u32).collect();
        let mut back = Names::new();
        for sort in self.model.sorts.ids().filter(|sort| self.is_any(*sort)) {
            for (at, kept) in pick[sort.index()].iter().enumerate() {
                back.insert((sort, at as u32), (sort, *kept));
            }
        }
        let taken = WindowStructure { values, known, bits };
        for name in self.stars(&taken) {
            let was = if name.1 >= FORGOTTEN { (name.0, name.1 - FORGOTTEN) } else { name };
            back.insert(name, was);
        }
        (taken, back)
    }

    /// The stars that occur, in the order in which they do.
    pub(crate) fn stars(self, structure: &WindowStructure) -> Vec<Name> {
        let mut found = Vec::new();
        structure.values.iter().for_each(|value| stars_in(value, true, &mut found));
        found
    }

    /// The least way to write down what remains of a structure when all elements but those picked are forgotten, over all
    /// orders of the elements and all numbers of the stars; with every way to get there: what each element and star of it is
    /// in the structure. It has these bits: those of the structure, and what is forgotten satisfies.
    pub(crate) fn canonical(
        self,
        structure: &WindowStructure,
        bits: u32,
        pick: &WindowPick,
    ) -> (WindowStructure, Vec<Names>) {
        let mut least: Option<WindowStructure> = None;
        let mut ways: Vec<Names> = Vec::new();
        for order in self.orders(pick) {
            let (taken, back) = self.take(structure, bits, &order);
            for names in self.numberings(&taken) {
                let mut named = self.call(&taken, &names);
                named.values = named.values.into_iter().map(sorted).collect();
                match least.as_ref().map(|least| named.cmp(least)) {
                    Some(std::cmp::Ordering::Greater) => continue,
                    Some(std::cmp::Ordering::Equal) => {}
                    Some(std::cmp::Ordering::Less) | None => {
                        ways.clear();
                        least = Some(named);
                    }
                }
                let way: Names = back
                    .iter()
                    .map(|(name, was)| (names.get(name).copied().unwrap_or(*name), *was))
                    .collect();
                if !ways.contains(&way) {
                    ways.push(way);
                }
            }
        }
        (least.or_internal("there is at least one order"), ways)
    }

    /// All orders of the elements picked.
    fn orders(self, pick: &WindowPick) -> Vec<WindowPick> {
        let mut all: Vec<WindowPick> = vec![Vec::new()];
        for kept in pick {
            let orders = permutations(kept);
            all = all
                .iter()
                .flat_map(|before| {
                    orders.iter().map(move |order| [before.clone(), vec![order.clone()]].concat())
                })
                .collect();
        }
        all
    }

    /// Numbers for the stars. Those that occur outside of multisets are numbered as they occur there; in multisets there is no
    /// order to follow, and for the others every numbering is tried.
    fn numberings(self, structure: &WindowStructure) -> Vec<Names> {
        let mut placed: Vec<Name> = Vec::new();
        structure.values.iter().for_each(|value| stars_in(value, false, &mut placed));
        let floating = self.floating(structure, &placed);
        let mut all: Vec<Names> = vec![Names::new()];
        for sort in self.model.sorts.ids() {
            let of_sort = |name: &&Name| name.0 == sort;
            let first: Vec<Name> = placed.iter().filter(of_sort).copied().collect();
            let rest: Vec<Name> = floating.iter().filter(of_sort).copied().collect();
            let number = |at: usize| (sort, STAR + at as u32);
            let numbers: Vec<u32> = (0..rest.len() as u32).collect();
            let orders = permutations(&numbers);
            all = all
                .iter()
                .flat_map(|before| {
                    orders.iter().map(|order| {
                        let mut names = before.clone();
                        names.extend(first.iter().enumerate().map(|(at, name)| (*name, number(at))));
                        let rest = rest.iter().zip(order);
                        names.extend(rest.map(|(name, at)| (*name, number(first.len() + *at as usize))));
                        names
                    })
                })
                .collect();
        }
        all
    }

    /// The stars that occur in multisets only.
    fn floating(self, structure: &WindowStructure, placed: &[Name]) -> Vec<Name> {
        self.stars(structure).into_iter().filter(|name| !placed.contains(name)).collect()
    }

    /// Whether there are too many numberings of the stars of a structure to try them all.
    pub(crate) fn has_many_numberings(self, structure: &WindowStructure) -> bool {
        let mut placed: Vec<Name> = Vec::new();
        structure.values.iter().for_each(|value| stars_in(value, false, &mut placed));
        let floating = self.floating(structure, &placed);
        let of_sort = |sort: SortId| floating.iter().filter(|name| name.0 == sort).count();
        let ways = self.model.sorts.ids().flat_map(|sort| 1..=of_sort(sort));
        ways.fold(1_usize, usize::saturating_mul) > MOST_NUMBERINGS
    }

    /// The structure that cells stand for; nothing if they are not of this model. The places must be those of the model, in
    /// the order of its variables, fields, indices and slots.
    pub(crate) fn read(
        self,
        places: &[OpenPlace],
        cells: &[OpenCell],
        known: &[u32],
        bits: u32,
    ) -> Option<WindowStructure> {
        if places.len() != cells.len() {
            return None;
        }
        let mut reader =
            CellReader { shape: self, known, rest: places.iter().zip(cells), var: 0, path: Vec::new() };
        let mut values = Vec::new();
        for (id, var) in self.model.vars.enumerate() {
            reader.var = id.index() as u32;
            values.push(reader.value(var.ty)?);
        }
        reader.rest.next().is_none().then(|| WindowStructure { values, known: known.to_vec(), bits })
    }

    fn scalar(self, cell: OpenCell, known: &[u32]) -> Option<Value> {
        let sort = |at: u32| self.model.sorts.ids().nth(at as usize);
        Some(match cell {
            OpenCell::Undefined => Value::Undefined,
            OpenCell::Null => Value::Null,
            OpenCell::Bool(value) => Value::Bool(value),
            OpenCell::Int(value) => Value::Int(value),
            OpenCell::Enum { ty, at } => Value::Enum(self.model.types.ids().nth(ty as usize)?, at),
            OpenCell::Elem { sort: of, element } => {
                let sort = sort(of)?;
                let size = match self.model.sorts[sort].fixed_size() {
                    Some(size) => size,
                    None => *known.get(of as usize)?,
                };
                (element < size).then_some(Value::Elem(sort, element))?
            }
            OpenCell::Star { sort: of, number } => {
                let sort = sort(of)?;
                let fits = number < STAR && self.is_any(sort);
                fits.then_some(Value::Elem(sort, STAR + number))?
            }
        })
    }

    /// Whether a value is one of a scalar type.
    pub(crate) fn belongs(self, ty: TypeId, value: &Value) -> bool {
        match self.model.kind(ty) {
            Type::Union { members } => members.iter().any(|member| self.belongs(*member, value)),
            _ => self.model.ordinal(ty, value).is_some(),
        }
    }
}

/// Reads the cells of a structure one after the other.
struct CellReader<'a, 'm> {
    shape: WindowShape<'m>,
    known: &'a [u32],
    rest: std::iter::Zip<std::slice::Iter<'a, OpenPlace>, std::slice::Iter<'a, OpenCell>>,
    var: u32,
    path: Vec<OpenHop>,
}

impl CellReader<'_, '_> {
    fn at<T>(&mut self, hop: OpenHop, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        self.path.push(hop);
        let value = read(self);
        self.path.pop();
        value
    }

    /// The next cell, which must be the one of this place.
    fn cell(&mut self) -> Option<OpenCell> {
        let (place, cell) = self.rest.next()?;
        (place.var == self.var && place.path == self.path).then_some(*cell)
    }

    fn value(&mut self, ty: TypeId) -> Option<Value> {
        let shape = self.shape;
        Some(match shape.model.kind(ty) {
            Type::Record { fields } => {
                let part =
                    |at: usize| self.at(OpenHop::Field(at as u32), |reader| reader.value(fields[at].ty));
                Value::Record((0..fields.len()).map(part).collect::<Option<_>>()?)
            }
            Type::Array { index, element } => {
                let (over, entries) = (shape.over(*index), shape.entries(*index, self.known) as u32);
                let entry = |at: u32| {
                    let hop = match over {
                        Some(sort) => OpenHop::Known { sort: sort.index() as u32, element: at },
                        None => OpenHop::Entry(at),
                    };
                    self.at(hop, |reader| reader.value(*element))
                };
                Value::Array((0..entries).map(entry).collect::<Option<_>>()?)
            }
            Type::Multiset { capacity, element } => {
                let mut slots = Vec::new();
                for slot in 0..*capacity {
                    let in_use = match self.at(OpenHop::InUse(slot), Self::cell)? {
                        OpenCell::Bool(true) => true,
                        OpenCell::Undefined => false,
                        _ => return None,
                    };
                    let held = self.at(OpenHop::Slot(slot), |reader| reader.value(*element))?;
                    if in_use {
                        slots.push(Some(held));
                    }
                }
                Value::Multiset(slots)
            }
            _ => {
                let cell = self.cell()?;
                let value = shape.scalar(cell, self.known)?;
                (value == Value::Undefined || shape.belongs(ty, &value)).then_some(value)?
            }
        })
    }
}

/// A value with its multisets in order and without free slots.
pub(crate) fn sorted(value: Value) -> Value {
    match value {
        Value::Record(values) => Value::Record(values.into_iter().map(sorted).collect()),
        Value::Array(values) => Value::Array(values.into_iter().map(sorted).collect()),
        Value::Multiset(slots) => {
            let mut held: Vec<Value> = slots.into_iter().flatten().map(sorted).collect();
            held.sort();
            Value::Multiset(held.into_iter().map(Some).collect())
        }
        scalar => scalar,
    }
}

/// All orders of some numbers.
pub(crate) fn permutations(of: &[u32]) -> Vec<Vec<u32>> {
    let Some((first, rest)) = of.split_first() else { return vec![Vec::new()] };
    let mut all = Vec::new();
    for shorter in permutations(rest) {
        for at in 0..=shorter.len() {
            let mut order = shorter.clone();
            order.insert(at, *first);
            all.push(order);
        }
    }
    all
}

/// All sets of so many of the numbers below `count`.
pub(crate) fn subsets(count: u32, size: u32) -> Vec<Vec<u32>> {
    if size == 0 {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for last in size..=count {
        for mut subset in subsets(last - 1, size - 1) {
            subset.push(last - 1);
            all.push(subset);
        }
    }
    all
}

/// So many numberings of stars are tried for a window.
const MOST_NUMBERINGS: usize = 120;

/// The stars of a value in the order in which they occur, those in multisets (`bags`) if they are asked for; each once.
fn stars_in(value: &Value, bags: bool, found: &mut Vec<Name>) {
    match value {
        Value::Elem(sort, number) if *number >= STAR && !found.contains(&(*sort, *number)) => {
            found.push((*sort, *number));
        }
        Value::Record(parts) | Value::Array(parts) | Value::Sequence(parts) => {
            parts.iter().for_each(|part| stars_in(part, bags, found));
        }
        Value::Multiset(slots) if bags => {
            slots.iter().flatten().for_each(|slot| stars_in(slot, bags, found));
        }
        Value::Elem(..)
        | Value::Multiset(_)
        | Value::Undefined
        | Value::Null
        | Value::Bool(_)
        | Value::Int(_)
        | Value::Enum(..)
        | Value::Clock(_) => {}
    }
}
