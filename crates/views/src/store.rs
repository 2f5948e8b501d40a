//! The views found so far, in every order of their elements, and where to look for one more element.

use rustc_hash::FxHashMap;

use crate::mutant::{self, Mutant};
use crate::{
    cell::Cell,
    decision::RunResult,
    shared::SharedReferences,
    structure::{Pick, StandsFor, Structure, ViewKey},
    system::OpenSystem,
};

pub(crate) type ViewId = u32;

/// The steps of a view by one rule, which depend on other views.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dependent {
    pub(crate) view: ViewId,
    pub(crate) rule: u32,
}

/// A view that proposes its last element.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) view: ViewId,
    /// One way to see the view without the element in the key of its bucket.
    pub(crate) way: StandsFor,
    /// The context predicates that the element satisfies.
    pub(crate) satisfied: u32,
}

/// The views that agree when the last element of a sort is forgotten.
#[derive(Debug, Default)]
pub(crate) struct ViewBucket {
    members: Vec<Member>,
    /// Whose steps depend on which there are.
    dependents: Vec<Dependent>,
}

#[derive(Debug, Default)]
pub(crate) struct ViewStore {
    pub(crate) views: Vec<ViewKey>,
    /// Of all orders of the elements of a view, the first one is worked on.
    pub(crate) leaders: Vec<ViewId>,
    index: FxHashMap<ViewKey, ViewId>,
    /// By sort and what is left without its last element.
    buckets: Vec<FxHashMap<ViewKey, ViewBucket>>,
    /// Views that were looked for and not there, and whose steps depend on it.
    missed: FxHashMap<ViewKey, Vec<Dependent>>,
    /// Which references of elements are the same in some view.
    pub(crate) shared: SharedReferences,
    /// The steps that may have become more.
    pub(crate) woken: Vec<Dependent>,
}

impl ViewStore {
    pub(crate) fn new(system: &OpenSystem<'_>) -> Self {
        let buckets = (0..system.any.len()).map(|_| FxHashMap::default()).collect();
        let shared = SharedReferences::new(&system.references);
        ViewStore { buckets, shared, ..ViewStore::default() }
    }

    pub(crate) fn contains(&self, view: &[u32]) -> bool {
        self.index.contains_key(view)
    }

    /// The views that agree with this one without its last element of a sort.
    pub(crate) fn members(&self, sort: usize, key: &[u32]) -> &[Member] {
        self.buckets[sort].get(key).map_or(&[], |bucket| &bucket.members)
    }

    /// Steps depend on which views there are that agree with this one without its last element of a sort.
    pub(crate) fn depend(&mut self, whom: Dependent, sort: usize, key: &ViewKey) {
        if mutant::is(Mutant::PresenceIsForgotten) {
            return;
        }
        let buckets = &mut self.buckets[sort];
        match buckets.get_mut(key) {
            Some(bucket) if bucket.dependents.last() == Some(&whom) => {}
            Some(bucket) => bucket.dependents.push(whom),
            None => {
                let bucket = ViewBucket { members: Vec::new(), dependents: vec![whom] };
                buckets.insert(key.clone(), bucket);
            }
        }
    }

    /// Steps depend on it that this view is not there.
    pub(crate) fn miss(&mut self, whom: Dependent, view: &[u32]) {
        if mutant::is(Mutant::AbsenceIsForgotten) {
            return;
        }
        match self.missed.get_mut(view) {
            Some(waiting) if waiting.last() == Some(&whom) => {}
            Some(waiting) => waiting.push(whom),
            None => drop(self.missed.insert(view.into(), vec![whom])),
        }
    }

    /// Adds a view in all orders of its elements. Whether it was new.
    pub(crate) fn insert(&mut self, system: &OpenSystem<'_>, view: &[u32]) -> RunResult<bool> {
        if self.contains(view) {
            return Ok(false);
        }
        let structure = Structure::of_view(system, view);
        let satisfied = system.satisfied(&structure)?;
        self.leaders.push(self.views.len() as ViewId);
        self.shared.take_in(&system.references, &system.shape, view, &mut self.woken);
        for order in &system.orders {
            let seen =
                system.project(&system.shape, &structure.cells, structure.bits, &satisfied, order, false)?;
            if self.contains(&seen.view) {
                continue;
            }
            let id = self.views.len() as ViewId;
            self.index.insert(seen.view.clone(), id);
            if let Some(waiting) = self.missed.remove(&seen.view) {
                self.woken.extend(waiting);
            }
            self.file(system, id, &seen.view)?;
            self.views.push(seen.view);
        }
        Ok(true)
    }

    fn file(&mut self, system: &OpenSystem<'_>, id: ViewId, view: &ViewKey) -> RunResult {
        let structure = Structure::of_view(system, view);
        let satisfied = system.satisfied(&structure)?;
        for (sort, pivot) in system.pivots.iter().enumerate() {
            let Some((pivot, glance)) = pivot else { continue };
            let seen = system.project(pivot, &structure.cells, structure.bits, &satisfied, glance, false)?;
            let way = seen.ways.into_iter().next().unwrap_or_default();
            let satisfied = satisfied[sort].last().copied().unwrap_or(0);
            let bucket = self.buckets[sort].entry(seen.view).or_default();
            bucket.members.push(Member { view: id, way, satisfied });
            self.woken.append(&mut bucket.dependents);
        }
        Ok(())
    }
}

impl OpenSystem<'_> {
    /// All orders of the elements of a view.
    pub(crate) fn all_orders(&self) -> Vec<Pick> {
        let mut all: Vec<Pick> = vec![Vec::new()];
        for (sort, count) in self.view.iter().enumerate() {
            let orders = match self.any[sort] {
                true => permutations(*count),
                false => vec![(0..*count).collect()],
            };
            all = all
                .into_iter()
                .flat_map(|pick| {
                    orders.iter().map(move |order| {
                        let mut pick = pick.clone();
                        pick.push(order.clone());
                        pick
                    })
                })
                .collect();
        }
        all
    }
}

fn permutations(count: usize) -> Vec<Vec<usize>> {
    if count == 0 {
        return vec![Vec::new()];
    }
    let shorter = permutations(count - 1);
    let put = |order: &Vec<usize>, at: usize| {
        let mut order = order.clone();
        order.insert(at, count - 1);
        order
    };
    // The identity first.
    (0..count).rev().flat_map(|at| shorter.iter().map(move |order| put(order, at))).collect()
}

/// The star or element that a star of a view is.
pub(crate) fn meaning(way: &[(Cell, Cell)], star: Cell) -> Option<Cell> {
    way.iter().find(|(of, _)| *of == star).map(|(_, is)| *is)
}
