//! Models as Murphi text: what is written has as many states as the model and the same verdicts, whichever of the Murphi tools'
//! meanings is taken; and Rumur reads it so.
#![allow(clippy::print_stderr)]

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use proptest::prelude::*;
use shoal::{Deadlock, LoadOptions, load, load_text};
use shoal_interpret::{Exploration, explore};
use shoal_model::{Model, PropertyKind};
use shoal_murphi::Dialect;
use shoal_peers::{Peer, run_rumur};
use shoal_report::{DeadlockAsked, MurphiNote, MurphiReaders, MurphiText, export_murphi};

use crate::random::{self, compared};

/// Models with more states than this are not compared: the interpreter is slow.
const MOST_STATES: usize = 1200;

fn deadlock_asked(exported: &MurphiText) -> DeadlockAsked {
    let asked = exported.notes.iter().find_map(|note| match note {
        MurphiNote::Deadlock(asked) => Some(*asked),
        _ => None,
    });
    asked.expect("what is asked about deadlocks is noted")
}

/// The text, read again.
fn read(exported: &MurphiText, dialect: Dialect) -> Model {
    let deadlock = match deadlock_asked(exported) {
        DeadlockAsked::Off => Deadlock::Off,
        DeadlockAsked::Stuck => Deadlock::Stuck,
        DeadlockAsked::Stuttering => Deadlock::Stuttering,
    };
    let options = LoadOptions { dialect, deadlock, ..LoadOptions::default() };
    let loaded = load_text("exported.m", exported.text.as_str(), &options);
    loaded.unwrap_or_else(|error| panic!("{error}\n{}", exported.text)).model
}

/// What a property is in both, if Murphi has such properties.
fn kind(kind: &PropertyKind) -> Option<&'static str> {
    match kind {
        PropertyKind::Invariant(_) => Some("invariant"),
        PropertyKind::Assertion | PropertyKind::Bound => Some("assertion"),
        PropertyKind::NoFaults => Some("no faults"),
        PropertyKind::Deadlock(_) => Some("deadlock"),
        PropertyKind::Cover(_) => Some("cover"),
        PropertyKind::AlwaysPossible(_) => Some("liveness"),
        PropertyKind::Assume(_)
        | PropertyKind::CoverDeadlock(_)
        | PropertyKind::Temporal(..)
        | PropertyKind::Extreme(_)
        | PropertyKind::Unclear(_) => None,
    }
}

/// Which properties are violated, by kind and name: several with one name are one.
fn verdicts(model: &Model, found: &Exploration) -> BTreeMap<(&'static str, String), bool> {
    let mut verdicts = BTreeMap::new();
    for (id, property) in model.properties.enumerate() {
        let Some(kind) = kind(&property.kind) else { continue };
        let has_name = !matches!(kind, "no faults" | "deadlock");
        let name = property
            .name
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
            .replace('"', "'")
            .replace('\\', "/");
        let violated = verdicts.entry((kind, if has_name { name } else { String::new() })).or_insert(false);
        *violated |= found.violated.contains_key(&id);
    }
    verdicts
}

/// Whether Rumur reads a text. One with unions or multisets is in the language of CMurphi.
fn is_for_rumur(exported: &MurphiText) -> bool {
    exported.notes.iter().all(|note| match note {
        MurphiNote::Readers(readers, _) => *readers == MurphiReaders::ShoalAndRumur,
        _ => true,
    })
}

/// How many states both have; nothing if there are too many to be compared.
fn compare(model: &Model, exported: &MurphiText, about: &str) -> Option<usize> {
    let found = explore(model, MOST_STATES).expect("the model can be run");
    let rumur = is_for_rumur(exported).then_some(Dialect::Rumur);
    for dialect in std::iter::once(Dialect::Cmurphi).chain(rumur) {
        let again = read(exported, dialect);
        if !found.complete {
            continue;
        }
        let text = &exported.text;
        let of_text = explore(&again, MOST_STATES).expect("the text can be run");
        assert_eq!(found.states, of_text.states, "{about}, {dialect:?}: states\n{text}");
        let known = verdicts(&again, &of_text);
        for (property, violated) in verdicts(model, &found) {
            // What no statement asks is not in the text.
            let of_text = known.get(&property).copied().unwrap_or(false);
            assert_eq!(violated, of_text, "{about}, {dialect:?}: {property:?}\n{text}");
        }
    }
    found.complete.then_some(found.states)
}

/// All models of a folder of the gallery with some ending, loaded with a few elements where they say so.
fn gallery(folder: &str, ending: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models").join(folder);
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        files.filter(|file| file.extension().is_some_and(|found| found == ending)).collect();
    files.sort();
    files
}

fn name(file: &Path) -> String {
    file.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Compares the models of a folder. At least so many are compared; those that are refused are exactly these.
fn compare_gallery(folder: &str, ending: &str, options: &LoadOptions, least: usize, refused: &[&str]) {
    let (mut same, mut cannot) = (0, Vec::new());
    for file in gallery(folder, ending) {
        let model = load(&file, options).unwrap_or_else(|error| panic!("{}: {error}", file.display())).model;
        match export_murphi(&model) {
            Ok(exported) => same += usize::from(compare(&model, &exported, &name(&file)).is_some()),
            Err(lacks) => cannot.push(format!("{}: {lacks}", name(&file))),
        }
    }
    assert_eq!(cannot, refused);
    assert!(same >= least, "only {same} models are small enough");
}

#[test]
fn the_gallery_in_murphi_is_written_as_it_is() {
    compare_gallery("murphi", "m", &LoadOptions::default(), 15, &[]);
}

#[test]
fn promela_is_written_as_murphi() {
    compare_gallery("promela", "pml", &LoadOptions::default(), 8, &[]);
}

#[test]
fn what_cannot_be_said_is_refused_by_name() {
    let lacks = |folder: &str, ending: &str| -> Vec<String> {
        let refused = |file: &PathBuf| {
            let model = load(file, &LoadOptions::default()).unwrap().model;
            export_murphi(&model).err().map(|lacks| format!("{}: {lacks}", name(file)))
        };
        gallery(folder, ending).iter().filter_map(refused).collect()
    };
    assert!(lacks("heap", "dpml").iter().all(|it| it.contains("that come and go")));
    assert!(lacks("beacon", "bp").iter().all(|it| it.contains("any number of elements of")));
    assert_eq!(lacks("heap", "dpml").len(), 5);
    assert!(lacks("sgm", "vpl").contains(&"fischer.vpl: clocks".to_string()));
}

/// A sample that Rumur reads: the number of states is the same where nothing is violated.
#[test]
fn rumur_finds_as_many_states() {
    if !Peer::Rumur.is_installed() {
        eprintln!("skipped: no rumur");
        return;
    }
    let sample = [
        "murphi/mutex.m",
        "murphi/peterson.m",
        "promela/alternating_bit.pml",
        "promela/peterson.pml",
        "red/leader.red",
    ];
    for file in sample {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models").join(file);
        let model = load(&path, &LoadOptions::default()).unwrap().model;
        let exported = export_murphi(&model).unwrap();
        let found = explore(&model, MOST_STATES).unwrap();
        assert!(found.complete && found.violated.is_empty(), "{file}");
        assert_eq!(by_rumur(&exported, file), found.states as u64, "{file}\n{}", exported.text);
    }
}

fn by_rumur(exported: &MurphiText, about: &str) -> u64 {
    let deadlock = match deadlock_asked(exported) {
        DeadlockAsked::Off => "off",
        DeadlockAsked::Stuck => "stuck",
        DeadlockAsked::Stuttering => "stuttering",
    };
    let folder = std::env::temp_dir().join(format!("shoal-export-murphi-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let file = folder.join("exported.m");
    fs::write(&file, &exported.text).unwrap();
    let options =
        ["--symmetry-reduction", "off", "--value-type", "int32_t", "--deadlock-detection", deadlock];
    let run = run_rumur(&file, &options, 1, Duration::from_secs(60));
    let run = run.unwrap_or_else(|error| panic!("{about}: {error}\n{}", exported.text));
    fs::remove_dir_all(&folder).unwrap();
    assert_eq!(run.verdict, "holds", "{about}\n{}", exported.text);
    run.states
}

/// Small models in which one thing is at stake that the tools see differently, or that has to be said in other words.
#[test]
fn small_models_mean_the_same_in_other_words() {
    let models = [
        // Undefined values are copied, compared and passed.
        "type P: scalarset(2); var a, b: P; n, m: 0..3; ok: boolean;
         procedure take(x: 0..3; var y: 0..3); begin if isundefined(x) then undefine y; else y := x; end; end;
         startstate ok := false; n := 1; end;
         rule \"copy\" !ok ==> n := m; ok := a = b; end;
         rule \"pass\" ok ==> take(n, m); undefine n; ok := false; end;
         ruleset p: P do rule \"give\" isundefined(a) ==> a := p; end; end;
         ruleset p: P do rule \"other\" !isundefined(a) & a != p ==> b := p; ok := false; end; end;",
        // A loop that goes nowhere, one that goes down, and bounds that are not known before.
        "var n, m: 0..5;
         startstate n := 0; m := 3; end;
         rule \"up\" n < 5 ==> for k := m to 1 do n := n + 1; end; for k := 3 to 1 by -1 do m := k; end; n := n + 1; end;
         rule \"none\" forall k := 3 to 1 do k = n end & exists k := m to 1 do k = 2 end ==> n := 5; end;",
        // Priorities, with an alias around the rules.
        "var a: array [0..1] of 0..3;
         startstate for i: 0..1 do a[i] := 0; end; end;
         ruleset i: 0..1 do alias x: a[i] do
           rule 1 \"first\" x < 2 ==> x := x + 1; end;
           rule 2 \"then\" x < 3 ==> x := x + 1; end;
         end; end;
         rule 3 \"last\" true ==> a[0] := 0; end;",
        // Names that Rumur or CMurphi takes for its own.
        "var process: 0..1; flush: boolean;
         startstate process := 0; flush := true; end;
         rule \"a \\\"quoted\\\" rule\" flush ==> process := 1; flush := false; end;",
    ];
    for text in models {
        for dialect in [Dialect::Cmurphi, Dialect::Rumur] {
            let model = random::generate::load(text, dialect);
            let exported = export_murphi(&model).unwrap_or_else(|lacks| panic!("{lacks}\n{text}"));
            assert!(compare(&model, &exported, text).is_some());
        }
    }
}

/// A parameter that is seen to change is `var` where the model sees through it; a copy of what changes is refused.
#[test]
fn parameters_that_are_seen_to_change_are_passed_by_reference() {
    let text = "var n, m: 0..3;
         procedure both(x: 0..3); begin n := 2; m := x; end;
         startstate n := 1; m := 0; end;
         rule \"go\" m = 0 ==> both(n); end;";
    let seen_through = random::generate::load(text, Dialect::Cmurphi);
    let exported = export_murphi(&seen_through).unwrap();
    assert!(exported.text.contains("both(var x: 0..3)"), "{}", exported.text);
    assert_eq!(compare(&seen_through, &exported, text), Some(2));
    let copied = random::generate::load(text, Dialect::Rumur);
    let lacks = export_murphi(&copied).unwrap_err().to_string();
    assert!(lacks.contains("the parameter x of both"), "{lacks}");
}

/// Exports a random model and compares; whether it could be exported and was small enough.
fn compare_random(model: &Model, about: &str) -> bool {
    match export_murphi(model) {
        Ok(exported) => {
            let same = compare(model, &exported, about).is_some();
            if same {
                compared("murphi text");
            }
            if same && std::env::var_os("SHOAL_EXPORT_RUMUR").is_some() {
                compare_with_rumur(model, &exported, about);
            }
            same
        }
        Err(_) => false,
    }
}

/// Where nothing is violated, Rumur finds as many states: a second reader of what the front end made.
fn compare_with_rumur(model: &Model, exported: &MurphiText, about: &str) {
    let found = explore(model, MOST_STATES).expect("the model can be run");
    if is_for_rumur(exported) && found.complete && found.violated.is_empty() && !found.fails {
        assert_eq!(by_rumur(exported, about), found.states as u64, "{about}\n{}", exported.text);
        compared("rumur");
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: random::dose(60),
        max_shrink_iters: 2_000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn random_murphi_models_are_written_as_they_are(
        bytes in proptest::collection::vec(any::<u8>(), 0..160),
        rumur in any::<bool>(),
    ) {
        let dialect = if rumur { Dialect::Rumur } else { Dialect::Cmurphi };
        let text = random::generate::model(&bytes);
        compare_random(&random::generate::load(&text, dialect), &text);
    }

    #[test]
    fn random_promela_programs_are_written_as_murphi(
        bytes in proptest::collection::vec(any::<u8>(), 0..160),
        for_spin in any::<bool>(),
    ) {
        let text = match for_spin {
            true => random::promela_for_spin::program(&bytes),
            false => random::promela::model(&bytes),
        };
        if let Ok(loaded) = load_text("random.pml", text.as_str(), &LoadOptions::default()) {
            compare_random(&loaded.model, &text);
        }
    }
}
