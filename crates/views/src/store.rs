//! The views found so far, in every order of their elements, and where to look for one more element.

use rustc_hash::FxHashMap;

use crate::{
    cell::Cell,
    machine::Run,
    structure::{Pick, StandsFor, Structure, ViewKey, project},
    system::System,
};

pub(crate) type ViewId = u32;

/// The views that agree when the last element of a sort is forgotten.
#[derive(Debug, Default)]
pub(crate) struct Bucket {
    /// With each, one way to see the view without the element in the key of the bucket.
    pub(crate) members: Vec<(ViewId, StandsFor)>,
    /// The views whose steps depend on which there are.
    dependents: Vec<ViewId>,
}

#[derive(Debug, Default)]
pub(crate) struct Store {
    pub(crate) views: Vec<ViewKey>,
    /// Of all orders of the elements of a view, the first one is worked on.
    pub(crate) leaders: Vec<ViewId>,
    index: FxHashMap<ViewKey, ViewId>,
    /// By sort and what is left without its last element.
    buckets: Vec<FxHashMap<ViewKey, Bucket>>,
    /// Views that were looked for and not there, and the views whose steps depend on it.
    missed: FxHashMap<ViewKey, Vec<ViewId>>,
    /// The views whose steps may have become more.
    pub(crate) woken: Vec<ViewId>,
}

impl Store {
    pub(crate) fn new(sorts: usize) -> Self {
        Store { buckets: (0..sorts).map(|_| FxHashMap::default()).collect(), ..Store::default() }
    }

    pub(crate) fn contains(&self, view: &ViewKey) -> bool {
        self.index.contains_key(view)
    }

    /// The same, for the steps of a view.
    pub(crate) fn contains_for(&mut self, view: &ViewKey, whom: Option<ViewId>) -> bool {
        let there = self.index.contains_key(view);
        if let (false, Some(whom)) = (there, whom) {
            let waiting = self.missed.entry(view.clone()).or_default();
            if waiting.last() != Some(&whom) {
                waiting.push(whom);
            }
        }
        there
    }

    /// The views that agree with this one without its last element of a sort.
    pub(crate) fn bucket_for(
        &mut self,
        sort: usize,
        key: ViewKey,
        whom: Option<ViewId>,
    ) -> Vec<(ViewId, StandsFor)> {
        let bucket = self.buckets[sort].entry(key).or_default();
        if let Some(whom) = whom
            && bucket.dependents.last() != Some(&whom)
        {
            bucket.dependents.push(whom);
        }
        bucket.members.clone()
    }

    /// Adds a view in all orders of its elements. Whether it was new.
    pub(crate) fn insert(&mut self, system: &System<'_>, view: ViewKey) -> Run<bool> {
        if self.contains(&view) {
            return Ok(false);
        }
        let structure = Structure::of_view(&system.layout, &system.shape, &system.any_sizes(), &view);
        let satisfied = system.satisfied(&structure)?;
        self.leaders.push(self.views.len() as ViewId);
        for pick in system.orders() {
            let ordered =
                project(&system.layout, &system.any, &system.shape, &structure, &satisfied, &pick).view;
            if self.contains(&ordered) {
                continue;
            }
            let id = self.views.len() as ViewId;
            self.index.insert(ordered.clone(), id);
            self.views.push(ordered.clone());
            if let Some(waiting) = self.missed.remove(&ordered) {
                self.woken.extend(waiting);
            }
            self.file(system, id, &ordered)?;
        }
        Ok(true)
    }

    fn file(&mut self, system: &System<'_>, id: ViewId, view: &ViewKey) -> Run {
        let structure = Structure::of_view(&system.layout, &system.shape, &system.any_sizes(), view);
        let satisfied = system.satisfied(&structure)?;
        for (sort, pivot) in system.pivots.iter().enumerate() {
            let Some(pivot) = pivot else { continue };
            let pick: Pick = pivot.counts.iter().map(|count| (0..*count).collect()).collect();
            let projected = project(&system.layout, &system.any, pivot, &structure, &satisfied, &pick);
            let way = projected.ways.into_iter().next().unwrap_or_default();
            let bucket = self.buckets[sort].entry(projected.view).or_default();
            bucket.members.push((id, way));
            self.woken.append(&mut bucket.dependents);
        }
        Ok(())
    }
}

impl System<'_> {
    pub(crate) fn any_sizes(&self) -> Vec<usize> {
        self.room.clone()
    }

    /// All orders of the elements of a view.
    pub(crate) fn orders(&self) -> Vec<Pick> {
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
pub(crate) fn meaning(way: &StandsFor, star: Cell) -> Option<Cell> {
    way.iter().find(|(of, _)| *of == star).map(|(_, is)| *is)
}
