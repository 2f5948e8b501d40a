//! What is to be run: a structure, choices and assumptions.

use std::{cell::RefCell, rc::Rc};

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::{
    cell::{Cell, ViewScalar},
    decision::{Decision, RunResult, SiteLocals},
    expand::{Siblings, Universe},
    structure::{NextStars, Satisfied, Structure},
    system::OpenSystem,
};

/// A structure, which runs share, and what has been found out about it.
#[derive(Debug)]
pub(crate) struct ViewNode {
    pub(crate) structure: Structure,
    pub(crate) satisfied: Satisfied,
    /// The ways to add an element, as far as they were asked for. They live as long as the views stay the same: a node
    /// does not outlive the steps of a view.
    pub(crate) expansions: RefCell<FxHashMap<ExpansionKey, Rc<Siblings>>>,
}

impl ViewNode {
    pub(crate) fn new(structure: Structure, satisfied: Satisfied) -> Rc<ViewNode> {
        Rc::new(ViewNode { structure, satisfied, expansions: RefCell::default() })
    }

    /// Whether some element satisfies a context predicate and none that a view does not have is known to.
    pub(crate) fn is_hidden(&self, system: &OpenSystem<'_>, predicate: usize) -> bool {
        let sort = system.predicates[predicate].sort;
        let satisfied = |masks: &u32| masks >> predicate & 1 == 1;
        satisfied(&self.structure.bits) && !self.satisfied[sort].iter().skip(system.view[sort]).any(satisfied)
    }
}

/// All that the ways to add an element depend on, besides the structure and the views. The stars of arguments are among it: the
/// new element may be one of them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ExpansionKey {
    pub(crate) sort: usize,
    pub(crate) wanted: Option<Cell>,
    pub(crate) stars: NextStars,
    /// The stars among the arguments, in order.
    arguments: SmallVec<[Cell; 4]>,
}

impl ExpansionKey {
    /// The stars of a sort that occur.
    pub(crate) fn stars_of(&self, node: &ViewNode, sort: usize) -> Vec<Cell> {
        let mut stars: Vec<Cell> = node.structure.cells.iter().chain(&self.arguments).copied().collect();
        stars.retain(|cell| cell.as_star().is_some_and(|(of, _)| of == sort));
        stars.sort_unstable();
        stars.dedup();
        stars
    }
}

/// A run that is to be made: from where, with which choices, under which assumptions.
#[derive(Clone)]
pub(crate) struct RunTask {
    pub(crate) node: Rc<ViewNode>,
    pub(crate) stars: NextStars,
    pub(crate) script: SmallVec<[ViewScalar; 4]>,
    pub(crate) decisions: SmallVec<[Decision; 2]>,
    /// Whether the guard is false whoever the parameters are: see `screen`.
    pub(crate) screened: bool,
}

impl RunTask {
    /// Nothing is chosen and nothing assumed.
    pub(crate) fn plain(node: Rc<ViewNode>) -> RunTask {
        let stars = node.structure.stars.clone();
        RunTask { node, stars, script: SmallVec::new(), decisions: SmallVec::new(), screened: false }
    }

    pub(crate) fn expansion_key(&self, sort: usize, wanted: Option<Cell>) -> ExpansionKey {
        let stars = self.script.iter().filter_map(|value| Cell::pack(*value));
        let mut arguments: SmallVec<[Cell; 4]> = stars.filter(|cell| cell.as_star().is_some()).collect();
        arguments.sort_unstable();
        arguments.dedup();
        ExpansionKey { sort, wanted, stars: self.stars.clone(), arguments }
    }

    /// The same on a structure with one more element of a sort, which was a star.
    pub(crate) fn expanded(&self, sort: usize, node: Rc<ViewNode>, name: Option<Cell>) -> RunTask {
        let stars = node.structure.stars.clone();
        let (script, decisions) = (self.script.clone(), self.decisions.clone());
        let mut task = RunTask { node, stars, script, decisions, screened: self.screened };
        if let Some(star) = name {
            let element = Cell::elem(sort, task.node.structure.known[sort] - 1);
            task.substitute(star, element);
        }
        task
    }

    /// Puts an element in the place of a star in what was chosen and assumed.
    fn substitute(&mut self, star: Cell, element: Cell) {
        let (Some(from), Some(to)) = (star.unpack(), element.unpack()) else { return };
        self.script.iter_mut().filter(|value| **value == from).for_each(|value| *value = to);
        for decision in &mut self.decisions {
            match decision {
                Decision::Nobody { key, .. } | Decision::Witness { key, .. } | Decision::Somebody { key } => {
                    key.substitute(from, to);
                }
                Decision::NobodyAfter(_) | Decision::WitnessAfter { .. } | Decision::SomebodyAfter(_) => {}
            }
        }
    }

    /// The same with one more choice.
    pub(crate) fn choosing(&self, value: ViewScalar) -> RunTask {
        let mut task = self.clone();
        task.script.push(value);
        if let ViewScalar::Star(sort, number) = value {
            let stars = &mut task.stars[shoal_model::TypedId::index(sort)];
            *stars = (*stars).max(number + 1);
        }
        task
    }
}

/// Runs that are to be made, and how they are related.
pub(crate) enum RunGroup {
    One(RunTask),
    /// The same task on structures that differ only in the newest element.
    Siblings {
        task: RunTask,
        siblings: Rc<Siblings>,
        /// Whom a quantifier or loop is about, if only elements that decide it are to be tried.
        witness: Option<(usize, SiteLocals)>,
        /// The context predicate that the newest element is to satisfy, if there is one.
        satisfying: Option<usize>,
    },
}

impl RunGroup {
    /// The same, where the newest element is to decide a quantifier or loop.
    pub(crate) fn deciding(self, site: usize, locals: Option<SiteLocals>) -> RunGroup {
        match self {
            RunGroup::One(task) => RunGroup::One(task),
            RunGroup::Siblings { task, siblings, satisfying, .. } => {
                let witness = locals.map(|locals| (site, locals));
                RunGroup::Siblings { task, siblings, witness, satisfying }
            }
        }
    }

    /// The same, where the newest element satisfies a context predicate.
    pub(crate) fn satisfying(self, predicate: usize) -> RunGroup {
        match self {
            RunGroup::One(task) => RunGroup::One(task),
            RunGroup::Siblings { task, siblings, witness, .. } => {
                RunGroup::Siblings { task, siblings, witness, satisfying: Some(predicate) }
            }
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        matches!(self, RunGroup::Siblings { siblings, .. } if siblings.is_empty())
    }

    /// All tasks that the views allow.
    pub(crate) fn tasks(
        &self,
        system: &OpenSystem<'_>,
        universe: &mut Universe<'_>,
    ) -> RunResult<Vec<RunTask>> {
        match self {
            RunGroup::One(task) => Ok(vec![task.clone()]),
            RunGroup::Siblings { task, siblings, satisfying, .. } => {
                let mut tasks = Vec::new();
                for at in (0..siblings.len()).filter(|at| siblings.satisfies(*at, *satisfying)) {
                    let node = system.sibling(universe, &task.node, siblings, at)?;
                    tasks.extend(node.map(|node| task.expanded(siblings.sort, node, siblings.name(at))));
                }
                Ok(tasks)
            }
        }
    }
}
