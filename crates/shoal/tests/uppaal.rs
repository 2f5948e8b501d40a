//! UPPAAL models: a small one with every construct that is read, and those of other people.

use std::{
    fs,
    path::{Path, PathBuf},
};

use shoal::{CheckOptions, LoadOptions, Quiet, Verdict, check, load, load_text};

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
fn a_model_with_channels_committed_locations_and_select() {
    let loaded =
        load_text("gate.xta", GATE, &LoadOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    let model = &loaded.model;
    assert_eq!(model.rules.len(), 7, "{:?}", model.rules.iter().map(|rule| &rule.name).collect::<Vec<_>>());
    // Two trains are never near at once: the gate takes one at a time.
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
    let loaded = load_text("two.xml", xml, &LoadOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(loaded.diagnostics.len(), 1, "one query is left out");
    let report = check(&loaded, &CheckOptions::default(), &mut Quiet).unwrap();
    let holds: Vec<bool> =
        report.outcome.results.iter().map(|result| matches!(result.verdict, Verdict::Holds)).collect();
    // The last is violated after a delay: x may be 4 in A.
    assert_eq!(holds, [true, true, true, false]);
}

/// Models of the corpus are read or refused by name; what is read is checked for a short while.
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
        match load(file, &LoadOptions::default()) {
            Ok(loaded) => {
                read += 1;
                println!("read {}: {} properties", file.display(), loaded.asked.len());
            }
            Err(error) => {
                refused += 1;
                println!("refused {error}");
                assert!(!error.is_internal(), "{error}");
            }
        }
    }
    println!("{read} read, {refused} refused");
    assert!(read >= 10, "{read} read, {refused} refused");
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
