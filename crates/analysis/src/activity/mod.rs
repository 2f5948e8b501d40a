//! Active conditions: on which views of an element a variable of it can still be read before it is written again.
//!
//! This is the inactive variable elimination of Wang, Schmidt, Huang and Yu (Red 5.0), as a change of the Model. The
//! *view* of an element is what it holds itself and what the plain variables of the model are from where it stands: a
//! reference is to *me*, to *another*, or to nothing. A condition is a disjunction of cubes over such classes, the least
//! fixpoint of: the views on which the variable is read, and the views from which a step leads to one of those without
//! writing it. Where we deviate from the paper:
//!
//! - Peers read variables, too, through chains of references. A chain that begins at a plain variable reads mine on the
//!   views where that variable is me. One through a peer's own reference may read anybody's.
//! - What a chain leads to, when it is put into a plain variable, could be anybody; nearly always it is somebody who is
//!   linked up, and a condition that allows anybody reduces nothing. So the caller may show runs of the model, and only
//!   elements that look like those to whom a variable has pointed there ([`ObservedRuns`]) are taken into account. Such a
//!   condition is a guess. It is checked: the reduced model asks that no active variable has been reset
//!   ([`Reduced::guess`]), and while that holds, no value was read that is not the true one. It is also made smaller, by
//!   what elements look like in those runs ([`care`]).
//! - What properties read is active.

mod atoms;
mod care;
mod cube;
mod paths;
mod reset;
mod seen;
mod show;
mod start;

use std::collections::BTreeMap;

use shoal_model::{Model, TypeId};

use atoms::{Atoms, ViewAtom};
use cube::{Cube, CubeUnion};
use paths::{PartEffect, ViewPath, ViewWalk};

pub use reset::{Reduced, reduce};
pub(crate) use reset::{end_with, truth as truth_type};
pub use seen::ObservedRuns;
pub use start::narrowed;

/// When the variables of the elements of a sort are active, or of several sorts whose elements index the same arrays.
#[derive(Clone, Debug)]
pub struct Activity {
    /// The type of the index.
    pub index: TypeId,
    atoms: Atoms,
    variables: Vec<ElementVariable>,
}

/// A variable of the elements that is not active on all views.
#[derive(Clone, Debug)]
struct ElementVariable {
    atom: usize,
    active: CubeUnion,
    guessed: bool,
}

/// When variables of elements are active, for all arrays whose entries belong to elements of sorts of fixed size; only where
/// some are not always.
pub fn activity(model: &Model, seen: &ObservedRuns) -> Vec<Activity> {
    if model.while_time_passes.is_some() {
        return Vec::new();
    }
    let all = atoms::indices(model).into_iter().map(|index| of_index(model, index, seen));
    all.filter(|activity| !activity.variables.is_empty()).collect()
}

fn of_index(model: &Model, index: TypeId, seen: &ObservedRuns) -> Activity {
    let atoms = Atoms::new(model, index);
    let walk = ViewWalk::of_model(model, &atoms);
    let (reads, paths) = (walk.reads, walk.paths);
    let mut fixpoint = ActivityFixpoint::new(&atoms, reads, &paths, seen);
    fixpoint.run();
    let guessed = fixpoint.guessed;
    // A variable that is never reset is as good as always defined, so that it is defined tells nothing.
    let widened = |active: CubeUnion| {
        let widen = |cube: Cube| {
            let masks = cube.0.iter().zip(&atoms.atoms);
            Cube(
                masks
                    .map(
                        |(mask, atom)| {
                            if mask | ViewAtom::UNDEFINED == atom.full() { atom.full() } else { *mask }
                        },
                    )
                    .collect(),
            )
        };
        active.0.into_iter().map(widen).fold(CubeUnion::default(), CubeUnion::with)
    };
    let active: Vec<CubeUnion> = fixpoint.active.into_iter().map(widened).collect();
    let own = |(atom, _): &(usize, &CubeUnion)| atoms.atoms[*atom].own;
    let reduces = |(_, active): &(usize, &CubeUnion)| active.0 != [atoms.all()];
    let variables = active.iter().enumerate().filter(own).filter(reduces);
    let mut variables: Vec<ElementVariable> = variables
        .map(|(atom, active)| ElementVariable {
            atom,
            active: active.clone().simplified(),
            guessed: guessed[atom],
        })
        .collect();
    care::simplify(&atoms, &mut variables, seen.everybody(index));
    Activity { index, atoms, variables }
}

impl Activity {
    /// The variables that are not always active, with their conditions, as a person reads them.
    pub fn shown(&self, model: &Model) -> Vec<(String, String)> {
        show::shown(self, model)
    }
}

struct ActivityFixpoint<'a> {
    atoms: &'a Atoms,
    paths: &'a [ViewPath],
    /// The views of elements that a plain variable may come to point to, by variable and whether they act.
    views: BTreeMap<(usize, bool), CubeUnion>,
    active: Vec<CubeUnion>,
    guessed: Vec<bool>,
}

impl<'a> ActivityFixpoint<'a> {
    fn new(atoms: &'a Atoms, reads: Vec<CubeUnion>, paths: &'a [ViewPath], seen: &'a ObservedRuns) -> Self {
        let guessed = vec![false; reads.len()];
        let keys = (0..reads.len()).flat_map(|atom| [(atom, false), (atom, true)]);
        // What is never read is always reset, and nobody sees it again.
        let told = |view: Cube| {
            let masks = view.0.iter().enumerate();
            Cube(
                masks
                    .map(|(at, mask)| if reads[at].is_false() { atoms.atoms[at].full() } else { *mask })
                    .collect(),
            )
        };
        let told =
            |views: CubeUnion| views.0.into_iter().map(told).fold(CubeUnion::default(), CubeUnion::with);
        let views = keys.filter_map(|key| Some((key, told(seen.pointed_to(atoms, key.0, key.1)?)))).collect();
        let mut fixpoint = ActivityFixpoint {
            atoms,
            paths,
            views,
            active: vec![CubeUnion::default(); reads.len()],
            guessed,
        };
        for (atom, reads) in reads.into_iter().enumerate() {
            reads.0.into_iter().for_each(|cube| {
                fixpoint.add(atom, &cube);
            });
        }
        fixpoint
    }

    /// Whether a variable is active does not hang on its own value.
    fn add(&mut self, atom: usize, cube: &Cube) -> bool {
        self.active[atom].add(cube.with(atom, self.atoms.atoms[atom].full()))
    }

    fn own(&self) -> impl Iterator<Item = usize> + use<> {
        let own: Vec<usize> = (0..self.atoms.atoms.len()).filter(|at| self.atoms.atoms[*at].own).collect();
        own.into_iter()
    }

    fn run(&mut self) {
        loop {
            while self.own().fold(false, |grown, atom| self.backwards(atom) | grown) {}
            if !self.own().fold(false, |grown, atom| self.through_resets(atom) | grown) {
                return;
            }
        }
    }

    /// Adds the views from which a step that does not write the variable leads to where it is active.
    fn backwards(&mut self, atom: usize) -> bool {
        let mut grown = false;
        for path in self.paths.iter().filter(|path| !path.written[atom]) {
            for cube in self.active[atom].0.clone() {
                for before in self.before(atom, path, &cube) {
                    grown |= self.add(atom, &before);
                }
            }
        }
        grown
    }

    /// The views from which a path leads into a cube.
    fn before(&mut self, of: usize, path: &ViewPath, cube: &Cube) -> Vec<Cube> {
        let all = self.atoms.all();
        let mut before = CubeUnion(vec![all.clone()]);
        for (at, atom) in self.atoms.atoms.iter().enumerate() {
            let mask = cube.0[at];
            if mask == atom.full() {
                continue;
            }
            match &path.effects[at] {
                PartEffect::Same => before = before.and_cube(&all.with(at, mask)),
                PartEffect::Copy(from) => before = before.and_cube(&all.with(*from, mask)),
                PartEffect::Set(to) if to & mask == 0 => return Vec::new(),
                PartEffect::Set(_) => {}
                // Nobody who is not pointed to is in need of a guess.
                PartEffect::Followed if atom.own || mask & !atom.me() & !ViewAtom::UNDEFINED != 0 => {}
                PartEffect::Followed => {
                    if let Some(views) = self.views.get(&(at, path.acting)) {
                        self.guessed[of] = true;
                        before = before.and(views);
                    }
                }
            }
        }
        before.and(&path.under).0
    }

    /// A variable that is not active is reset, and that changes the view: where another is active after that, it was
    /// active before.
    fn through_resets(&mut self, atom: usize) -> bool {
        let mut grown = false;
        for reset in self.own().filter(|reset| *reset != atom) {
            let full = self.atoms.atoms[reset].full();
            for cube in self.active[atom].0.clone() {
                if cube.0[reset] == full || cube.0[reset] & ViewAtom::UNDEFINED == 0 {
                    continue;
                }
                for before in self.active[reset].missing(&cube.with(reset, full)) {
                    grown |= self.add(atom, &before);
                }
            }
        }
        grown
    }
}
