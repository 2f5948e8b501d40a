//! Why the paper's pass keeps fewer states here than the reference counts where processes have roles.
//!
//! The reference has one template for producers and consumers, and who is which is only a matter of the mode it begins in.
//! Its pass exchanges a producer with a consumer wherever pointers say so. No state is lost by that, for the template treats
//! all processes alike, but the start is not invariant under it: the pass adds states in which roles have changed hands, and
//! finds more of them than there are without symmetry. Here roles are families, and only processes of one family are
//! exchanged, which leaves the start as it is.

use shoal_model::{Model, State, TypedId, Value};

use super::{anomaly, read};

/// Three processes of one template that has the modes of both families of a model.
fn one_template(name: &str, second: &str) -> Model {
    let path = format!("{}/../../models/red/{name}.red", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap().replace("M = 4", "M = 3");
    let (before, after) = text.split_once("process ").unwrap();
    let (_, first_family) = after.split_once("{\n").unwrap();
    let (first_family, rest) = first_family.split_once(&format!("}}\n\nprocess {second}")).unwrap();
    let (_, rest) = rest.split_once("{\n").unwrap();
    let rest = rest.replace(" : writer", "").replace(" : reader", "");
    read(&format!("{before} process node : M {{ {first_family} {rest}")).model
}

fn entries<'s>(model: &Model, state: &'s mut State, name: &str) -> &'s mut Vec<Value> {
    let at = model.vars.iter().position(|var| var.name == name).unwrap();
    match &mut state.values[at] {
        Value::Array(entries) => entries,
        other => panic!("{name} is {other:?}"),
    }
}

/// Resets what is inactive of three processes: nobody reads `prev` of the buffer, and `next` is read of who is first in
/// a queue and not the last of it. (With more processes, also of those between.)
fn reset(model: &Model, mut state: State) -> State {
    let named = |end: &str| {
        let vars = model.vars.enumerate().filter(|(_, var)| var.name.ends_with(end));
        vars.map(|(id, _)| state.values[id.index()].clone()).collect::<Vec<_>>()
    };
    let queues: Vec<(Value, Value)> = named("_head").into_iter().zip(named("_tail")).collect();
    let sort = model.sorts.ids().next().unwrap();
    for process in 0..3 {
        let me = Value::Elem(sort, process);
        if !queues.iter().any(|(head, tail)| *head == me && *tail != me) {
            entries(model, &mut state, "next")[process as usize] = Value::Null;
        }
        entries(model, &mut state, "prev")[process as usize] = Value::Null;
    }
    state
}

/// The number of states where the third process begins in another mode than the others, without the pass and with it.
fn counts(model: &Model, third: i64, reset: &dyn Fn(State) -> State) -> [usize; 2] {
    let begun = |mut state: State| {
        entries(model, &mut state, "mode")[2] = Value::Int(third);
        state
    };
    let starts: Vec<State> = anomaly::starts(model).into_iter().map(begun).collect();
    let plain = anomaly::naively_reached_from(model, starts.clone(), reset);
    let pass = |state| anomaly::one_pass(model, reset(state));
    [plain.len(), anomaly::naively_reached_from(model, starts, &pass).len()]
}

#[test]
fn exchanging_roles_gives_the_numbers_of_the_reference() {
    let buffer = one_template("buffer", "consumer");
    assert_eq!(counts(&buffer, 5, &|state| reset(&buffer, state)), [547, 1_130]);
    // Nothing is ever inactive with three processes.
    let readers_writers = one_template("readers_writers", "writer");
    assert_eq!(counts(&readers_writers, 11, &|state| state), [256, 379]);
}
