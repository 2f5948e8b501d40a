//! Adding an element to a structure in every way that the windows allow.

use std::{
    cell::Cell,
    collections::{HashMap, HashSet},
};

use shoal_model::{OrInternal, SortId, Type, TypeId, TypedId, Value};

use super::{
    facts::Facts,
    machine::{Assumption, EvaluationKey, WindowMachine, WindowResult, WindowStop},
    structure::{Name, Names, STAR, WindowPick, WindowShape, WindowStructure, subsets},
};

/// A run to be made: from where, what it chooses, what is assumed.
#[derive(Clone, Debug)]
pub(crate) struct WindowTask {
    pub(crate) structure: WindowStructure,
    pub(crate) script: Vec<Value>,
    pub(crate) assumptions: Vec<Assumption>,
}

impl WindowTask {
    pub(crate) fn from(structure: WindowStructure) -> WindowTask {
        WindowTask { structure, script: Vec::new(), assumptions: Vec::new() }
    }

    pub(crate) fn assuming(&self, assumption: Assumption) -> WindowTask {
        let mut task = self.clone();
        task.assumptions.push(assumption);
        task
    }

    /// The stars of a sort that occur.
    fn stars(&self, shape: WindowShape<'_>, sort: SortId) -> Vec<Name> {
        let mut found: Vec<Name> = shape.stars(&self.structure);
        found.extend(self.script.iter().filter_map(|value| match value {
            Value::Elem(of, number) if *number >= STAR => Some((*of, *number)),
            _ => None,
        }));
        found.retain(|name| name.0 == sort);
        found.sort_unstable();
        found.dedup();
        found
    }

    /// A star turns out to be an element.
    fn reveal(&mut self, shape: WindowShape<'_>, star: Name, element: Name) {
        self.structure = shape.call(&self.structure, &Names::from([(star, element)]));
        let (from, to) = (Value::Elem(star.0, star.1), Value::Elem(element.0, element.1));
        let replace = |value: &mut Value| {
            if *value == from {
                *value = to.clone();
            }
        };
        let in_key = |key: &mut EvaluationKey| key.iter_mut().for_each(|(_, value)| replace(value));
        self.script.iter_mut().for_each(replace);
        for assumption in &mut self.assumptions {
            match assumption {
                Assumption::Nobody(key, _) | Assumption::Witness(key, _) | Assumption::Somebody(key) => {
                    in_key(key)
                }
                Assumption::NobodyAfter(..) | Assumption::WitnessAfter(..) | Assumption::SomebodyAfter(_) => {
                }
            }
        }
    }
}

/// A window without one of its elements: which window, which element, and what the rest is in the window.
type Half = (usize, u32, Names);

/// The windows of a certificate.
pub(crate) struct WindowStore<'f, 'm> {
    pub(crate) facts: &'f Facts<'m>,
    /// How many elements of each sort a window shows.
    pub(crate) shown: Vec<u32>,
    pub(crate) windows: Vec<WindowStructure>,
    all: HashSet<WindowStructure>,
    /// By sort, and by what is left of a window without one element of it.
    halves: HashMap<(SortId, WindowStructure), Vec<Half>>,
    /// How many ways to add an element have been looked at.
    pub(crate) listed: Cell<u64>,
}

impl<'f, 'm> WindowStore<'f, 'm> {
    /// The windows, each in its least form.
    pub(crate) fn of(facts: &'f Facts<'m>, shown: Vec<u32>, given: Vec<WindowStructure>) -> Self {
        let shape = facts.shape;
        let mut store = WindowStore {
            facts,
            shown,
            windows: Vec::new(),
            all: HashSet::new(),
            halves: HashMap::new(),
            listed: Cell::new(0),
        };
        for window in given {
            let pick = shape.everything(&store.shown);
            let (least, _) = shape.canonical(&window, window.bits, &pick);
            if store.all.insert(least.clone()) {
                store.windows.push(least);
            }
        }
        store
    }

    /// The same, so that elements can be added to structures.
    pub(crate) fn new(
        facts: &'f Facts<'m>,
        shown: Vec<u32>,
        given: Vec<WindowStructure>,
    ) -> WindowResult<Self> {
        let shape = facts.shape;
        let mut store = WindowStore::of(facts, shown, given);
        for (at, window) in store.windows.iter().enumerate() {
            let masks = store.masks(window)?;
            for sort in shape.model.sorts.ids().filter(|sort| shape.is_any(*sort)) {
                for element in 0..store.shown[sort.index()] {
                    let mut pick = shape.everything(&store.shown);
                    pick[sort.index()].retain(|kept| *kept != element);
                    let (rest, mut ways) = store.window(window, &masks, &pick);
                    let way = ways.pop().or_internal("there is a way to the least form");
                    store.halves.entry((sort, rest)).or_default().push((at, element, way));
                }
            }
        }
        Ok(store)
    }

    /// For each sort, the predicates that each known element satisfies.
    pub(crate) fn masks(&self, structure: &WindowStructure) -> WindowResult<Vec<Vec<u32>>> {
        let mut masks: Vec<Vec<u32>> = structure.known.iter().map(|known| vec![0; *known as usize]).collect();
        let mut machine = WindowMachine::new(self.facts, structure, &[], &[]);
        for (at, predicate) in self.facts.predicates.iter().enumerate() {
            for (number, mask) in masks[predicate.sort.index()].iter_mut().enumerate() {
                *mask |= u32::from(machine.satisfies(at, number as u32)?) << at;
            }
        }
        Ok(masks)
    }

    /// What a structure looks like when only the elements picked are shown; in its least form.
    pub(crate) fn window(
        &self,
        structure: &WindowStructure,
        masks: &[Vec<u32>],
        pick: &WindowPick,
    ) -> (WindowStructure, Vec<Names>) {
        let mut bits = structure.bits;
        for (masks, kept) in masks.iter().zip(pick) {
            for (number, mask) in masks.iter().enumerate() {
                if !kept.contains(&(number as u32)) {
                    bits |= mask;
                }
            }
        }
        self.facts.shape.canonical(structure, bits, pick)
    }

    pub(crate) fn contains(
        &self,
        structure: &WindowStructure,
        masks: &[Vec<u32>],
        pick: &WindowPick,
    ) -> bool {
        self.all.contains(&self.window(structure, masks, pick).0)
    }

    /// The task with one more element known: a star, or any. Before a start (`blank`) nothing is kept for it yet.
    pub(crate) fn expand(
        &self,
        task: &WindowTask,
        sort: SortId,
        wanted: Option<Name>,
        blank: bool,
    ) -> WindowResult<Vec<WindowTask>> {
        let mut found = Vec::new();
        let candidates =
            if blank { self.blank(task, sort, wanted) } else { self.joined(task, sort, wanted)? };
        self.listed.set(self.listed.get() + candidates.len() as u64);
        for candidate in candidates {
            if self.facts.order.as_ref().is_some_and(|order| !order.allows(&candidate.structure)) {
                continue;
            }
            let mut machine = WindowMachine::new(self.facts, &candidate.structure, &[], &[]);
            let newest = candidate.structure.known[sort.index()] - 1;
            let mut mask = 0;
            for (at, predicate) in self.facts.predicates.iter().enumerate() {
                if predicate.sort == sort && machine.satisfies(at, newest)? {
                    mask |= 1 << at;
                }
            }
            // Who satisfies a predicate is not among those of whom none does.
            if mask & !candidate.structure.bits != 0 {
                continue;
            }
            // It may have been the only one.
            for gone in (0..=mask).filter(|gone| gone & !mask == 0) {
                let mut task = candidate.clone();
                task.structure.bits &= !gone;
                if blank || self.is_allowed(&task.structure, sort)? {
                    found.push(task);
                }
            }
        }
        Ok(found)
    }

    fn blank(&self, task: &WindowTask, sort: SortId, wanted: Option<Name>) -> Vec<WindowTask> {
        let shape = self.facts.shape;
        let mut names: Vec<Option<Name>> = vec![wanted];
        if wanted.is_none() {
            names.extend(task.stars(shape, sort).into_iter().map(Some));
        }
        let with = |name: Option<Name>| {
            let mut task = task.clone();
            let number = task.structure.known[sort.index()];
            task.structure.known[sort.index()] += 1;
            let known = task.structure.known.clone();
            let blank = shape.nothing(&known);
            let vars = shape.model.vars.iter().zip(task.structure.values.iter().zip(&blank.values));
            task.structure.values = vars
                .map(|(var, (old, new))| self.grow(var.ty, old, new, sort, number, &known, &Names::new()))
                .collect();
            if let Some(star) = name {
                task.reveal(shape, star, (sort, number));
            }
            task
        };
        names.into_iter().map(with).collect()
    }

    /// The value of a structure with an entry more in arrays over the sort: the one that another value has for `from`, whose
    /// elements and stars are called by these names here.
    #[allow(clippy::too_many_arguments)]
    fn grow(
        &self,
        ty: TypeId,
        old: &Value,
        other: &Value,
        sort: SortId,
        from: u32,
        known: &[u32],
        names: &Names,
    ) -> Value {
        let shape = self.facts.shape;
        let both = |old: &[Value], other: &[Value], ty: &dyn Fn(usize) -> TypeId| -> Vec<Value> {
            let pairs = old.iter().zip(other).enumerate();
            pairs.map(|(at, (old, other))| self.grow(ty(at), old, other, sort, from, known, names)).collect()
        };
        match (shape.model.kind(ty), old, other) {
            (Type::Record { fields }, Value::Record(old), Value::Record(other)) => {
                Value::Record(both(old, other, &|at| fields[at].ty))
            }
            (Type::Array { index, element }, Value::Array(old), Value::Array(other)) => {
                match shape.over(*index) {
                    Some(of) if of == sort => {
                        let entry = shape.call_in(*element, &other[from as usize], known, names);
                        Value::Array(old.iter().cloned().chain([entry]).collect())
                    }
                    Some(_) => Value::Array(old.clone()),
                    None => Value::Array(both(old, other, &|_| *element)),
                }
            }
            (_, old, _) => old.clone(),
        }
    }

    /// All ways in which an element of a window can be one more element of the structure, as far as the elements tell that
    /// both have: all but one that a window shows.
    fn joined(&self, task: &WindowTask, sort: SortId, wanted: Option<Name>) -> WindowResult<Vec<WindowTask>> {
        let shape = self.facts.shape;
        if self.shown[sort.index()] == 0 {
            return Err(WindowStop::Lacking(format!(
                "an element of `{}`, of which windows show none",
                shape.model.sorts[sort].name
            )));
        }
        let mut pick = shape.everything(&self.shown);
        pick[sort.index()].pop();
        let masks = self.masks(&task.structure)?;
        let (rest, ways) = self.window(&task.structure, &masks, &pick);
        let mut found = Vec::new();
        for (at, element, inside) in self.halves.get(&(sort, rest)).into_iter().flatten() {
            for outside in &ways {
                // What the names of the window are in the structure.
                let mut names = Names::new();
                for (name, in_window) in inside {
                    names.insert(*in_window, *outside.get(name).or_internal("both have the same least form"));
                }
                self.join(task, sort, wanted, (*at, *element), &names, &mut found);
            }
        }
        Ok(found)
    }

    fn join(
        &self,
        task: &WindowTask,
        sort: SortId,
        wanted: Option<Name>,
        (at, element): (usize, u32),
        common: &Names,
        found: &mut Vec<WindowTask>,
    ) {
        let shape = self.facts.shape;
        let window = &self.windows[at];
        let mut names = common.clone();
        let is_common = |name: &Name| common.values().any(|it| it == name);
        // Who the element is in the structure: nobody yet, or a star.
        let who: Vec<Option<Name>> = match (names.remove(&(sort, element)), wanted) {
            // It would be one that is known already.
            (Some(is), _) if is.1 < STAR => return,
            (Some(is), Some(wanted)) if is != wanted => return,
            (Some(is), _) => vec![Some(is)],
            (None, Some(wanted)) if is_common(&wanted) => return,
            (None, Some(wanted)) => vec![Some(wanted)],
            (None, None) => {
                let hidden = task.stars(shape, sort).into_iter().filter(|star| !is_common(star));
                std::iter::once(None).chain(hidden.map(Some)).collect()
            }
        };
        let free: Vec<Name> =
            shape.stars(window).into_iter().filter(|star| !names.contains_key(star)).collect();
        for who in who {
            let mut taken: Vec<Name> = common.values().copied().chain(who).collect();
            let mut names = names.clone();
            names.insert((sort, element), (sort, task.structure.known[sort.index()]));
            self.assign(task, sort, (at, element), who, &free, &mut taken, &mut names, found);
        }
    }

    /// Gives the stars that only the element refers to every meaning they can have.
    #[allow(clippy::too_many_arguments)]
    fn assign(
        &self,
        task: &WindowTask,
        sort: SortId,
        (at, element): (usize, u32),
        who: Option<Name>,
        free: &[Name],
        taken: &mut Vec<Name>,
        names: &mut Names,
        found: &mut Vec<WindowTask>,
    ) {
        let shape = self.facts.shape;
        let Some((star, rest)) = free.split_first() else {
            return found.push(self.added(task, sort, (at, element), who, names));
        };
        let of = star.0;
        let known = (0..task.structure.known[of.index()]).map(|number| (of, number));
        let stars = task.stars(shape, of);
        let next =
            taken.iter().chain(&stars).filter(|name| name.0 == of && name.1 >= STAR).map(|name| name.1 + 1);
        let fresh = (of, next.max().unwrap_or(STAR));
        // Elements that both have are shown as such, and are no stars.
        let options: Vec<Name> =
            known.chain(stars).chain([fresh]).filter(|name| !taken.contains(name)).collect();
        for option in options {
            taken.push(option);
            names.insert(*star, option);
            self.assign(task, sort, (at, element), who, rest, taken, names, found);
            names.remove(star);
            taken.pop();
        }
    }

    fn added(
        &self,
        task: &WindowTask,
        sort: SortId,
        (at, element): (usize, u32),
        who: Option<Name>,
        names: &Names,
    ) -> WindowTask {
        let shape = self.facts.shape;
        let window = &self.windows[at];
        let mut task = task.clone();
        let number = task.structure.known[sort.index()];
        task.structure.known[sort.index()] += 1;
        let vars = shape.model.vars.iter().zip(task.structure.values.iter().zip(&window.values));
        task.structure.values = vars
            .map(|(var, (old, other))| self.grow(var.ty, old, other, sort, element, &self.shown, names))
            .collect();
        if let Some(star) = who {
            task.reveal(shape, star, (sort, number));
        }
        task
    }

    /// Whether all windows are there that show the newest element of a sort.
    fn is_allowed(&self, structure: &WindowStructure, sort: SortId) -> WindowResult<bool> {
        let newest = structure.known[sort.index()] - 1;
        let masks = self.masks(structure)?;
        let with = |mut subset: Vec<u32>| {
            subset.push(newest);
            subset
        };
        let own = subsets(newest, self.shown[sort.index()] - 1).into_iter().map(with).collect();
        Ok(self.picks(structure, Some((sort, own))).iter().all(|pick| self.contains(structure, &masks, pick)))
    }

    /// Whether all windows onto a structure are there.
    pub(crate) fn has_all(&self, structure: &WindowStructure) -> WindowResult<bool> {
        let masks = self.masks(structure)?;
        Ok(self.picks(structure, None).iter().all(|pick| self.contains(structure, &masks, pick)))
    }

    /// All choices of as many elements as a window shows; of one sort, if given, only some.
    fn picks(&self, structure: &WindowStructure, own: Option<(SortId, Vec<Vec<u32>>)>) -> Vec<WindowPick> {
        let shape = self.facts.shape;
        let mut picks: Vec<WindowPick> = vec![Vec::new()];
        for of in shape.model.sorts.ids() {
            let choices = match &own {
                Some((sort, own)) if *sort == of => own.clone(),
                _ => subsets(structure.known[of.index()], self.shown[of.index()]),
            };
            picks = picks
                .iter()
                .flat_map(|before| {
                    choices.iter().map(move |more| [before.clone(), vec![more.clone()]].concat())
                })
                .collect();
        }
        picks
    }
}
