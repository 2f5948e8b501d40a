//! UPPAAL models: small ones with every construct that is read, and those of other people.
#![allow(clippy::print_stdout)]

use std::{
    fs,
    path::{Path, PathBuf},
};

use shoal_model::{Job, Limits, Model, PropertyId, PropertyKind, Quiet, Strategy, Verdict};
use shoal_syntax::{Diagnostics, SourceMap};
use shoal_template::{Options, uppaal};

fn load(name: &str, text: &str) -> (Option<Model>, Diagnostics) {
    let mut sources = SourceMap::new();
    let id = sources.add(name, text);
    match name.ends_with(".xml") {
        true => uppaal::load_xml(&sources, id, &Options::default()),
        false => uppaal::load_xta(&sources, id, None, &Options::default()),
    }
}

fn asked(model: &Model) -> Vec<PropertyId> {
    let given = |kind: &PropertyKind| matches!(kind, PropertyKind::Assume(_));
    model.properties.enumerate().filter(|(_, property)| !given(&property.kind)).map(|(id, _)| id).collect()
}

const GATE: &str = "
    const int N = 2;
    int[0,2] waiting := 0;
    clock g;
    chan appr[2], go;
    urgent chan hurry;
    process Train(const int id) {
      clock x;
      state Far, Near { x <= 5 }, In { x <= 3 };
      init Far;
      trans
        Far -> Near { sync appr[id]!; assign x := 0; },
        Near -> In { guard x >= 2; sync go?; assign x := 0, waiting := waiting - 1; },
        In -> Far { guard x > 1; };
    }
    process Gate() {
      state Free, Told, Open;
      commit Told;
      init Free;
      trans
        Free -> Told { select i : int[0,1]; guard waiting < N; sync appr[0]?; assign waiting++; },
        -> Told { guard waiting < N; sync appr[1]?; assign waiting++; },
        Told -> Open { },
        Open -> Free { sync go!; };
    }
    T0 = Train(0);
    T1 = Train(1);
    Gate0 = Gate();
    system T0, T1, Gate0;
";

#[test]
fn channels_committed_locations_and_select_are_read() {
    let (model, diagnostics) = load("gate.xta", GATE);
    let model = model.unwrap_or_else(|| panic!("{diagnostics:?}"));
    // Two for each train alone or with the gate, one for each train's approach, and the gate's own.
    assert!(model.rules.len() >= 7, "{:?}", model.rules.iter().map(|rule| &rule.name).collect::<Vec<_>>());
}

#[test]
fn queries_are_decided_or_left_out() {
    let xml = format!(
        "<nta><declaration>{}</declaration><template><name>P</name><declaration>clock x;</declaration>\
         <location id=\"a\"><name>A</name><label kind=\"invariant\">x &lt;= 4</label></location>\
         <location id=\"b\"><name>B</name></location><init ref=\"a\"/>\
         <transition><source ref=\"a\"/><target ref=\"b\"/><label kind=\"guard\">x &gt; 3 &amp;&amp; n == 0</label>\
         <label kind=\"assignment\">n = 1</label></transition></template>\
         <system>Q = P(); R = P(); system Q, R;</system>\
         <queries><query><formula>A[] not (Q.B and R.B)</formula></query><query><formula>E&lt;&gt; Q.B</formula></query>\
         <query><formula>A[] Q.B imply Q.x &gt; 3</formula></query><query><formula>A[] Q.A imply Q.x &lt; 4</formula></query>\
         <query><formula>A&lt;&gt; Q.B</formula></query></queries></nta>",
        "int[0,1] n;"
    );
    let (model, diagnostics) = load("two.xml", &xml);
    let model = model.unwrap_or_else(|| panic!("{diagnostics:?}"));
    assert_eq!(diagnostics.len(), 1, "one query is left out: {diagnostics:?}");
    let job = Job {
        properties: asked(&model),
        symmetric: Vec::new(),
        limits: Limits::default(),
        patience: None,
        jit: false,
        threads: 1,
        strategy: Strategy::default(),
    };
    let outcome = shoal_timed::check(&model, &job, &mut Quiet).unwrap();
    let holds: Vec<bool> =
        outcome.results.iter().map(|result| matches!(result.verdict, Verdict::Holds)).collect();
    // The last is violated after a delay: x may be 4 in A.
    assert_eq!(holds, [true, true, true, false]);
    for result in &outcome.results {
        if let Verdict::Violated(violation) = &result.verdict {
            shoal_interpret::confirm(&model, result.property, violation).unwrap();
        }
    }
}

/// Models of the corpus are read, or refused by name.
#[test]
fn the_corpus_is_read_or_refused_by_name() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus/timed");
    if !corpus.is_dir() {
        println!("skipped: no corpus");
        return;
    }
    let mut files = Vec::new();
    collect(&corpus, &mut files);
    files.sort();
    let (mut read, mut refused) = (0, 0);
    for file in &files {
        let Ok(text) = fs::read_to_string(file) else { continue };
        let (model, diagnostics) = load(&file.display().to_string(), &text);
        let errors: Vec<&str> = diagnostics.iter().map(|diagnostic| diagnostic.message.as_str()).collect();
        match model {
            Some(model) => {
                read += 1;
                println!("read {}: {} properties", file.display(), asked(&model).len());
            }
            None => {
                refused += 1;
                println!("refused {}: {}", file.display(), errors.join("; "));
                assert!(!errors.iter().any(|error| error.contains("mistake in Shoal")), "{errors:?}");
            }
        }
    }
    println!("{read} read, {refused} refused");
    assert!(read >= 5, "{read} read, {refused} refused");
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|ending| ending == "xta" || ending == "xml") {
            files.push(path);
        }
    }
}
