//! Why the paper's pass keeps fewer states here than the reference counts where processes have roles.
//!
//! The reference has one template for producers and consumers, and who is which is only a matter of the mode it begins in.
//! Its pass exchanges a producer with a consumer wherever pointers say so. No state is lost by that, for the template treats
//! all processes alike, but the start is not invariant under it: the pass adds states in which roles have changed hands, and
//! finds more of them than there are without symmetry. Here roles are families, and only processes of one family are
//! exchanged, which leaves the start as it is.

use shoal_analysis::{Reduced, reduce};
use shoal_model::{State, Value};

use super::{anomaly, read};

/// Both families of a model as one, with a mode before the first modes of both to begin in.
fn one_template(name: &str, second: &str, first_modes: [u32; 2]) -> String {
    let path = format!("{}/../../models/red/{name}.red", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    let (before, after) = text.split_once("process ").unwrap();
    let (_, first_family) = after.split_once("{\n").unwrap();
    let (first_family, rest) = first_family.split_once(&format!("}}\n\nprocess {second}")).unwrap();
    let (_, rest) = rest.split_once("{\n").unwrap();
    let [one, other] = first_modes;
    let begin = format!("mode 99 {{ when true may goto {one}; when true may goto {other}; }}");
    let rest = rest.replace(" : writer", "").replace(" : reader", "");
    format!("{before} process node : M {{ {begin} {first_family} {rest}").replace("M = 4", "M = 3")
}

/// The number of states with inactive variables reset, without the pass and with it.
fn counts(text: &str, first_modes: [u32; 2]) -> [usize; 2] {
    let model = read(text).model;
    let Reduced { model, .. } = reduce(&model, &shoal::active_conditions(&model));
    let mode = model.vars.iter().position(|var| var.name == "mode").unwrap();
    let begun = |state: State| {
        let mut state = state;
        let [one, other] = first_modes.map(|mode| Value::Int(i64::from(mode)));
        state.values[mode] = Value::Array([one.clone(), one, other].into());
        state
    };
    let starts: Vec<State> = anomaly::starts(&model).into_iter().map(begun).collect();
    let plain = anomaly::naively_reached_from(&model, starts.clone(), &|state| state);
    let passed = anomaly::naively_reached_from(&model, starts, &|state| anomaly::one_pass(&model, state));
    [plain.len(), passed.len()]
}

#[test]
fn exchanging_roles_gives_the_numbers_of_the_reference() {
    let buffer = one_template("buffer", "consumer", [0, 5]);
    assert_eq!(counts(&buffer, [0, 5]), [547, 1_130]);
    let readers_writers = one_template("readers_writers", "writer", [0, 11]);
    assert_eq!(counts(&readers_writers, [0, 11]), [256, 379]);
}
