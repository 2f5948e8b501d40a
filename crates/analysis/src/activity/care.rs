//! Conditions in as few cubes as what elements have looked like allows.
//!
//! A condition tells apart views that no element ever has: a process that is head of two queues, say. There it
//! may as well hold: to reset less is never wrong. So cubes grow over all views that were not seen, until one covers
//! many, as in the minimisation of logic with don't cares (expand, then an irredundant cover, as Espresso does). What is
//! reset on the views that were seen stays as it was.

use std::collections::BTreeSet;

use super::{
    ElementVariable,
    atoms::{Atoms, ViewAtom},
    cube::{Cube, CubeUnion},
};

/// A condition with no more cubes than this is left as it is, unless it was guessed.
const FEW: usize = 3;

/// Makes the larger conditions among these smaller, and leaves out those that become true; `seen` are views of elements,
/// one class an atom.
pub(super) fn simplify(atoms: &Atoms, variables: &mut Vec<ElementVariable>, seen: &BTreeSet<Cube>) {
    let is_large = |variable: &ElementVariable| variable.guessed || variable.active.0.len() > FEW;
    if seen.is_empty() || !variables.iter().any(is_large) {
        return;
    }
    let met = with_resets(variables, seen);
    for variable in variables.iter_mut().filter(|variable| is_large(variable)) {
        let mut off: Vec<Cube> = Vec::new();
        let mut on: Vec<Cube> = Vec::new();
        let support = support(atoms, &variable.active);
        for view in met.iter().map(|view| projected(view, &support)).collect::<BTreeSet<_>>() {
            // What a view does not tell cannot make it active.
            if variable.active.has(&view) { on.push(view) } else { off.push(view) }
        }
        variable.active = cover(atoms, &variable.active, &support, &on, &off).simplified();
    }
    variables.retain(|variable| variable.active != atoms.always());
}

/// The views with what is inactive on them undefined, and with some of it not yet.
fn with_resets(variables: &[ElementVariable], seen: &BTreeSet<Cube>) -> BTreeSet<Cube> {
    let mut met = seen.clone();
    let mut new: Vec<Cube> = seen.iter().cloned().collect();
    while let Some(view) = new.pop() {
        for variable in variables {
            if view.0[variable.atom] != ViewAtom::UNDEFINED && !variable.active.has(&view) {
                let reset = view.with(variable.atom, ViewAtom::UNDEFINED);
                if met.insert(reset.clone()) {
                    new.push(reset);
                }
            }
        }
    }
    met
}

/// The atoms that a condition speaks of: plain variables first, because what does not speak of them need not be looked
/// at when they change.
fn support(atoms: &Atoms, of: &CubeUnion) -> Vec<usize> {
    let spoken = |at: &usize| of.0.iter().any(|cube| cube.0[*at] != atoms.atoms[*at].full());
    let mut support: Vec<usize> = (0..atoms.atoms.len()).filter(spoken).collect();
    support.sort_by_key(|at| (atoms.atoms[*at].own, std::cmp::Reverse(*at)));
    support
}

/// A view without what is not in the support.
fn projected(view: &Cube, support: &[usize]) -> Cube {
    let told = |(at, mask): (usize, &u64)| if support.contains(&at) { *mask } else { u64::MAX };
    Cube(view.0.iter().enumerate().map(told).collect())
}

/// A condition that covers another and none of the views that are off.
fn cover(atoms: &Atoms, active: &CubeUnion, support: &[usize], on: &[Cube], off: &[Cube]) -> CubeUnion {
    let free = |cube: &Cube| !off.iter().any(|view| cube.has(view));
    let grown = |cube: &Cube| grow(atoms, cube, support, &free);
    let mut candidates: Vec<(Cube, Cube)> = active.0.iter().map(|cube| (cube.clone(), grown(cube))).collect();
    let weight = |cube: &Cube| on.iter().filter(|view| cube.has(view)).count();
    candidates.sort_by_cached_key(|(cube, grown)| (std::cmp::Reverse(weight(grown)), cube.clone()));
    let mut chosen = CubeUnion::default();
    for (cube, grown) in candidates {
        if chosen.missing(&cube).is_empty() {
            continue;
        }
        // One that is there may take it in.
        let joined = chosen.0.iter().map(|known| known.hull(&cube)).find(|hull| free(hull));
        chosen.add(joined.map_or(grown, |hull| grow(atoms, &hull, support, &free)));
    }
    chosen
}

/// A cube with as many classes more as leave it free.
fn grow(atoms: &Atoms, cube: &Cube, support: &[usize], free: &dyn Fn(&Cube) -> bool) -> Cube {
    let mut grown = cube.clone();
    for at in support {
        let full = atoms.atoms[*at].full();
        let whole = std::iter::once(full);
        // That something may be undefined as well tells nobody anything.
        let single = (1..atoms.atoms[*at].classes.len()).map(|class| 1 << class);
        for mask in whole.chain(single) {
            let larger = grown.with(*at, grown.0[*at] | mask);
            if larger != grown && free(&larger) {
                grown = larger;
            }
        }
    }
    grown
}
