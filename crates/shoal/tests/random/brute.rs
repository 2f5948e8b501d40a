//! Whether a model treats elements alike, by running it in all permutations of its states.

use std::collections::BTreeSet;

use shoal_interpret::{Firing, Interpreter};
use shoal_model::{Model, SortId, State};

use super::permute;

/// What comes of a state: what each rule leads to or how it faults, and what each property says.
fn effects(interpreter: &Interpreter<'_>, state: &State) -> BTreeSet<(String, Option<State>)> {
    let mut found = BTreeSet::new();
    for instance in interpreter.instances(state) {
        let rule = format!("{:?}", instance.rule);
        match interpreter.guard(state, &instance) {
            Ok(false) => continue,
            Ok(true) => {}
            Err(fault) => {
                found.insert((format!("{rule} guard {:?}", fault.kind), None));
                continue;
            }
        }
        for branch in interpreter.fire(state, &instance) {
            match branch.result {
                Firing::State(next) => found.insert((rule.clone(), Some(next))),
                Firing::Fault(fault) => found.insert((format!("{rule} {:?}", fault.kind), None)),
                Firing::Discarded => found.insert((format!("{rule} dropped"), None)),
            };
        }
    }
    let model = interpreter.model();
    for (id, property) in model.properties.enumerate() {
        for condition in property.kind.conditions() {
            let said = interpreter.holds(state, condition).map_err(|fault| fault.kind);
            found.insert((format!("{id:?} {said:?}"), None));
        }
    }
    found
}

/// Whether rules and properties do the same to all images of reached states, by brute force.
pub(crate) fn is_symmetric(model: &Model, states: &BTreeSet<State>, sorts: &[SortId]) -> bool {
    let interpreter = Interpreter::new(model).unwrap();
    let permutations = permute::permutations(model, sorts);
    states.iter().all(|state| {
        let here = effects(&interpreter, state);
        permutations.iter().all(|permutation| {
            let image = |next: &State| permute::permute(model, next, permutation);
            let moved: BTreeSet<(String, Option<State>)> =
                here.iter().map(|(what, next)| (what.clone(), next.as_ref().map(image))).collect();
            moved == effects(&interpreter, &image(state))
        })
    })
}
