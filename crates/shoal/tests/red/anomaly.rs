//! The anomaly of image false reachability (figure 2 of the paper on Red): one pass of binary permutations by where
//! pointers lead, used on a program that names processes, makes states that cannot be reached, and loses some that can.
//! Here is that pass by itself, and that no engine falls for it: permutations are used only where they are proved.

use std::collections::BTreeSet;

use shoal::{CheckOptions, Engine, Loaded, Strategy, check};
use shoal_interpret::{Firing, Interpreter};
use shoal_model::{Model, PropertyKind, Quiet, Representatives, SortId, State, Type, Value};

use super::{permute, read, violations};

/// The static cycle of the figure, clockwise, with two who stand on it, one of them going round. The pass puts those two first.
const CLOCKWISE: &str = "
    global pointer stays, goes; local pointer next;
    process node : 3 { mode 0 { when goes == P may goes = next; goto 0; } }
    initially zero but next[1] = 2, next[2] = 3, next[3] = 1, stays = 1, goes = 1;
    safe \"clockwise\": next[1] == 2 and next[2] == 3 and next[3] == 1;";

/// Only the second process gets on, and it does.
const NAMED: &str = "
    global pointer g;
    process node : 2 {
      mode 0 { when g == NULL may g = P; goto 1; }
      mode 1 { when g == 2 may goto 2; }
      mode 2 { }
    }
    initially zero;
    safe \"nobody gets there\": forall p (mode[p] != 2);";

/// The states that the paper's pass reaches, whatever the program says of processes.
fn naively_reached(model: &Model) -> BTreeSet<State> {
    naively_reached_from(model, starts(model), &|state| one_pass(model, state))
}

/// The starts of a model.
pub(crate) fn starts(model: &Model) -> Vec<State> {
    let interpreter = Interpreter::new(model).unwrap();
    let starts = interpreter.start_instances();
    let starts = starts.iter().flat_map(|(start, args)| interpreter.run_start(*start, args));
    starts.filter_map(|branch| reached(branch.result)).collect()
}

/// The states that are reached from some, each replaced by another at once.
pub(crate) fn naively_reached_from(
    model: &Model,
    mut new: Vec<State>,
    replaced: &dyn Fn(State) -> State,
) -> BTreeSet<State> {
    let interpreter = Interpreter::new(model).unwrap();
    let mut all = BTreeSet::new();
    while let Some(state) = new.pop().map(replaced) {
        if all.insert(state.clone()) {
            let steps = interpreter.steps(&state).branches;
            new.extend(steps.into_iter().filter_map(|(_, branch)| reached(branch.result)));
        }
    }
    all
}

fn reached(firing: Firing) -> Option<State> {
    match firing {
        Firing::State(state) => Some(state),
        _ => None,
    }
}

/// For each pair of processes: exchanges them where the pass says that they are the wrong way round.
pub(crate) fn one_pass(model: &Model, mut state: State) -> State {
    let sort = model.sorts.ids().next().unwrap();
    let size = model.sorts[sort].fixed_size().unwrap();
    for i in 0..size {
        for j in i + 1..size {
            if is_reversed(model, &state, sort, i, j) {
                let exchange = |element| {
                    if element == i {
                        j
                    } else if element == j {
                        i
                    } else {
                        element
                    }
                };
                state = permute::permute(model, &state, &vec![(0..size).map(exchange).collect()]);
            }
        }
    }
    state
}

/// The first plain pointer to one of the two decides, and who it points to comes first; else the first pointer from one
/// of them to the other, and who it points from does.
fn is_reversed(model: &Model, state: &State, sort: SortId, i: u32, j: u32) -> bool {
    let [of_i, of_j] = [i, j].map(|element| Value::Elem(sort, element));
    for value in &state.values {
        if *value == of_i || *value == of_j {
            return *value == of_j;
        }
    }
    for (var, value) in model.vars.iter().zip(&state.values) {
        let (Type::Array { .. }, Value::Array(entries)) = (model.kind(var.ty), value) else { continue };
        match (entries[i as usize] == of_j, entries[j as usize] == of_i) {
            (true, _) => return false,
            (_, true) => return true,
            _ => {}
        }
    }
    false
}

/// Whether an invariant is violated somewhere.
fn is_violated(model: &Model, states: &BTreeSet<State>) -> bool {
    let interpreter = Interpreter::new(model).unwrap();
    let violated = |kind: &PropertyKind| match kind {
        PropertyKind::Invariant(condition) => {
            states.iter().any(|state| interpreter.holds(state, condition) == Ok(false))
        }
        _ => false,
    };
    model.properties.iter().any(|property| violated(&property.kind))
}

const ALL: [Representatives; 4] =
    [Representatives::Exact, Representatives::Fast, Representatives::Gasr, Representatives::Multiple];

fn options(engine: Engine, representatives: Representatives) -> CheckOptions {
    let strategy = Strategy { representatives, ..Strategy::default() };
    CheckOptions { engine: Some(engine), strategy, patience: None, ..CheckOptions::default() }
}

/// The number of steps to each violation, by both engines with each way to use symmetry.
fn found(loaded: &Loaded) -> Vec<Vec<usize>> {
    let in_diagrams = ALL.map(|representatives| options(Engine::Symbolic, representatives));
    let one_by_one = [ALL[0], ALL[1]].map(|representatives| options(Engine::Explicit, representatives));
    let without = CheckOptions { symmetry: false, ..options(Engine::Explicit, ALL[0]) };
    let all = in_diagrams.iter().chain(&one_by_one).chain([&without]);
    let depths = |options| {
        let report = check(loaded, options, &mut Quiet).unwrap();
        violations(&loaded.model, &report.outcome).into_values().collect()
    };
    all.map(depths).collect()
}

#[test]
fn a_cycle_turned_round_invents_no_violation() {
    let loaded = read(CLOCKWISE);
    assert!(is_violated(&loaded.model, &naively_reached(&loaded.model)), "the pass turns the cycle round");
    assert!(found(&loaded).iter().all(Vec::is_empty));
}

#[test]
fn a_guard_that_names_a_process_hides_no_violation() {
    let loaded = read(NAMED);
    assert!(
        !is_violated(&loaded.model, &naively_reached(&loaded.model)),
        "the pass makes it the first process"
    );
    assert!(found(&loaded).iter().all(|depths| depths == &[2]));
}
