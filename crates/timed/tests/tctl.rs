//! Timed formulas of branching time: federations against the region graph, on random small systems.

use crate::common::{Random, automata, formula, load};
use shoal_interpret::{Regions, Undecided, confirm, regions};
use shoal_model::{Job, Model, PropertyId, PropertyKind, Quiet, Verdict};

fn system(seed: u64) -> String {
    let mut random = Random::new(seed);
    let count = 1 + random.below(2);
    let (mut text, modes) = automata(&mut random, count);
    text += "verify all_paths (henceforth not timelock);\n";
    for _ in 0..3 {
        let depth = 1 + random.below(2);
        text += &format!("verify {{{}}};\n", formula(&mut random, modes, depth, count));
    }
    text
}

fn asked(model: &Model) -> Vec<PropertyId> {
    use PropertyKind::{AlwaysPossible, Deadlock, Temporal};
    let timed = |kind: &PropertyKind| matches!(kind, Temporal(..) | Deadlock(_) | AlwaysPossible(_));
    model.properties.enumerate().filter(|(_, property)| timed(&property.kind)).map(|(id, _)| id).collect()
}

/// What the regions say.
fn decide(model: &Model, regions: &Regions<'_>) -> Result<Vec<(PropertyId, bool)>, Undecided> {
    let decide = |id: PropertyId| match &model.properties[id].kind {
        PropertyKind::Temporal(_, formula) => Ok((id, regions.holds(formula)?)),
        PropertyKind::AlwaysPossible(_) => Err(Undecided::TooLarge),
        _ => Ok((id, regions.diverges())),
    };
    asked(model).into_iter().map(decide).collect()
}

#[test]
fn federations_and_regions_agree() {
    let number = |name: &str, other| std::env::var(name).ok().and_then(|it| it.parse().ok()).unwrap_or(other);
    let (first, count) = (number("SHOAL_RANDOM_FIRST", 0), number("SHOAL_RANDOM_SYSTEMS", 60));
    let (mut yes, mut no, mut large) = (0, 0, 0);
    for seed in first..first + count {
        let text = system(seed);
        let model = load(&text);
        let expected = match regions(&model, 3_000).and_then(|regions| decide(&model, &regions)) {
            Ok(expected) => expected,
            Err(Undecided::TooLarge) => {
                large += 1;
                continue;
            }
            Err(Undecided::Fault(fault)) => panic!("{fault:?}\n{text}"),
        };
        let outcome = shoal_timed::check(&model, &Job::new(asked(&model)), &mut Quiet).unwrap();
        let symmetry = shoal_analysis::symmetry(&model);
        let symmetric = model.sorts.ids().filter(|sort| symmetry.sorts[*sort].is_proved()).collect();
        let folded = Job { symmetric, ..Job::new(asked(&model)) };
        let folded = shoal_timed::check(&model, &folded, &mut Quiet).unwrap();
        let results = outcome.results.iter().chain(&folded.results);
        for (result, (property, holds)) in results.zip(expected.iter().chain(&expected).copied()) {
            let name = &model.properties[property].name;
            match &result.verdict {
                Verdict::Holds => assert!(holds, "seed {seed}: {name} holds?\n{text}"),
                Verdict::Violated(violation) => {
                    assert!(!holds, "seed {seed}: {name} is violated?\n{text}");
                    confirm(&model, property, violation).unwrap_or_else(|error| {
                        panic!("seed {seed}: {name}: {error}\n{violation:?}\n{text}")
                    });
                }
                Verdict::Unknown(reason) => panic!("seed {seed}: {reason}\n{text}"),
            }
            if holds { yes += 1 } else { no += 1 }
        }
    }
    assert!(yes > count / 3 && no > count / 3, "dull: {yes} yes, {no} no, {large} too large");
}

/// Formulas that name no process, and such as name some: with states that differ only in names told apart, and not. Runs
/// are taken again either way.
#[test]
fn like_processes_may_change_places() {
    change_places(3_000_000, |_, _| 0);
    change_places(4_000_000, |random, processes| 1 + random.below(processes));
}

/// The same for formulas that may name the first so many processes.
fn change_places(first_seed: u64, names: impl Fn(&mut Random, u64) -> u64) {
    let number = |name: &str, other| std::env::var(name).ok().and_then(|it| it.parse().ok()).unwrap_or(other);
    let (first, count) = (number("SHOAL_RANDOM_FIRST", 0), number("SHOAL_RANDOM_SYSTEMS", 25));
    let (mut yes, mut no, mut fewer) = (0, 0, 0);
    for seed in first..first + count {
        let mut random = Random::new(seed + first_seed);
        let processes = 2 + u64::from(random.below(3) == 0);
        let (mut text, modes) = automata(&mut random, processes);
        let names = names(&mut random, processes);
        for _ in 0..2 {
            let depth = 1 + random.below(2);
            text += &format!("verify {{{}}};\n", formula(&mut random, modes, depth, names));
        }
        let model = load(&text);
        if asked(&model).is_empty() {
            continue;
        }
        let named = shoal_timed::check(&model, &Job::new(asked(&model)), &mut Quiet).unwrap();
        let symmetric = model.sorts.ids().collect();
        let folded = Job { symmetric, ..Job::new(asked(&model)) };
        let folded = shoal_timed::check(&model, &folded, &mut Quiet).unwrap();
        fewer += u64::from(folded.statistics.states < named.statistics.states);
        for (a, b) in named.results.iter().zip(&folded.results) {
            let name = &model.properties[a.property].name;
            let holds = matches!(a.verdict, Verdict::Holds);
            assert_eq!(matches!(b.verdict, Verdict::Holds), holds, "seed {seed}: {name}\n{text}");
            if let Verdict::Violated(violation) = &b.verdict
                && processes == 2
            {
                confirm(&model, b.property, violation)
                    .unwrap_or_else(|error| panic!("seed {seed}: {name}: {error}\n{violation:?}\n{text}"));
            }
            if holds { yes += 1 } else { no += 1 }
        }
    }
    assert!(
        yes > count / 4 && no > count / 4 && fewer > count / 8,
        "dull: {yes} yes, {no} no, {fewer} smaller"
    );
}

/// The verdicts on the formulas of a text, in order; every violation is confirmed within a budget of regions.
fn verdicts(text: &str, budget: usize) -> Vec<bool> {
    let model = load(text);
    let outcome = shoal_timed::check(&model, &Job::new(asked(&model)), &mut Quiet).unwrap();
    let holds = |result: &shoal_model::PropertyResult| match &result.verdict {
        Verdict::Holds => true,
        Verdict::Violated(violation) => {
            shoal_interpret::confirm_within(&model, result.property, violation, budget)
                .unwrap_or_else(|error| panic!("{}: {error}", model.properties[result.property].name));
            false
        }
        Verdict::Unknown(reason) => panic!("{reason}"),
    };
    outcome.results.iter().map(holds).collect()
}

/// What the notes of a check are about.
fn notes(text: &str) -> Vec<&'static str> {
    let model = load(text);
    let outcome = shoal_timed::check(&model, &Job::new(asked(&model)), &mut Quiet).unwrap();
    let about = |note: &String| if note.contains("timelock") { "timelock" } else { "Zeno" };
    outcome.statistics.notes.iter().map(about).collect()
}

/// A lamp that goes out within five units, or stays lit while somebody keeps pressing.
const LAMP: &str = "
    automata L : i = 1..1;
    clock x[1..total(L)];
    automaton L[i] {
      mode Off { when True may goto On; x[i] := 0; }
      mode On { invariant x[i] <= 5; when x[i] = 5 may goto Off; when x[i] <= 4 may goto On; x[i] := 0; }
    }
";

#[test]
fn a_lamp() {
    let goals = "
        verify all_paths (henceforth {mode(L[1]) = On implies all_paths (eventually {mode(L[1]) = Off})});
        verify all_paths (henceforth {mode(L[1]) = On implies exists_path (eventually[<= 5] {mode(L[1]) = Off})});
        verify all_paths (henceforth {mode(L[1]) = On implies exists_path (eventually[< 1] {mode(L[1]) = Off})});
        verify exists_path (henceforth {mode(L[1]) = Off});
        verify all_paths (eventually {mode(L[1]) = On});
        verify exists_path ({mode(L[1]) = Off} until[3, 3] {mode(L[1]) = On});
    ";
    assert_eq!(verdicts(&format!("{LAMP}{goals}"), 2_000), [false, true, false, true, false, true]);
    assert_eq!(notes(&format!("{LAMP}{goals}")), ["Zeno"]);
    // With a unit between presses there are no more than finitely many in bounded time.
    let slow = LAMP.replace("when True", "when x[i] >= 1").replace("when x[i] <= 4", "when x[i] >= 1");
    assert!(notes(&format!("{slow}{goals}")).is_empty());
}

/// In `Busy` steps can be taken without end in no time. Runs on which time does not diverge are not counted: every
/// run leaves it.
#[test]
fn runs_without_time_are_not_counted() {
    let text = "
        automata Z : i = 1..1;
        clock x[1..total(Z)];
        automaton Z[i] {
          mode Busy { invariant x[i] <= 1; when True may goto Busy; when x[i] = 1 may goto Done; }
          mode Done { when True may goto Done; }
        }
        verify all_paths (eventually {mode(Z[1]) = Done});
        verify all_paths (eventually[<= 1] {mode(Z[1]) = Done});
        verify all_paths (eventually[< 1] {mode(Z[1]) = Done});
    ";
    assert_eq!(verdicts(text, 2_000), [true, true, false]);
    assert_eq!(notes(text), ["Zeno"]);
}

/// `Trap` cannot be left and not be stayed in: no run on which time diverges goes there, though a step does.
#[test]
fn a_trap_is_on_no_run() {
    let text = "
        automata T : i = 1..1;
        clock x[1..total(T)];
        automaton T[i] {
          mode Free { when True may goto Trap; x[i] := 0; when True may goto Free; }
          mode Trap { invariant x[i] <= 3; }
        }
        verify exists_path ({True} until {mode(T[1]) = Trap});
        verify all_paths (henceforth not timelock);
        verify all_paths (henceforth all_paths (henceforth {mode(T[1]) = Free}));
    ";
    assert_eq!(verdicts(text, 2_000), [false, false, true]);
    assert_eq!(notes(text), ["timelock", "Zeno"]);
}

/// The model of the gallery: in time, soon, but not surely.
#[test]
fn nobody_is_sure_to_get_in() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/sgm/fischer_live.vpl");
    let text = std::fs::read_to_string(path).unwrap();
    assert_eq!(verdicts(&text, 10_000), [true, true, false, true, true]);
}
