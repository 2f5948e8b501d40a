//! State-graphs by hand and by script.

use std::fs;

use crate::common::Folder;

fn fischer() -> Folder {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/sgm/fischer.vpl");
    Folder::with(&[("fischer.vpl", &fs::read_to_string(path).unwrap())])
}

#[test]
fn graphs_by_hand() {
    let folder = fischer();
    let lines = "list\nmerge A[1] A[2]\nreduce g1 rw sc\nreduce g1 sm\ncheck g1\nmerge g1 A[3]\nundo\nlist\nmerge A[1] A[1]\n\
                 preview g1\nprint g1 dot\nundo\nundo\nundo\nundo\nnonsense\nquit\n";
    let ran = folder.shoal_with_input(&["graphs", "fischer.vpl", "--set", "A=4"], lines).expect(0);
    let out = &ran.out;
    assert_eq!(out.matches("A[4] ").count(), 2, "listed two times: {out}");
    for text in [
        "31 nodes        70 arcs  2 processes  rw sc",
        "16 nodes        35 arcs  2 processes  rw sc sm",
        "\"mutual exclusion\" not known: the graph does not know `mode[3]`",
        "3 processes",
        "both graphs have the process A[1]",
        "digraph",
        "there is nothing to take back",
        "not understood",
    ] {
        assert!(out.contains(text), "{text:?} is missing: {out}");
    }
}

#[test]
fn sequences_of_reducers() {
    let folder = fischer();
    let set = ["--set", "A=5", "--upto", "4"];
    let given =
        folder.shoal(&[&["script", "fischer.vpl", "--reducers", "rw,sc,sm"][..], &set].concat()).expect(0);
    assert!(given.out.contains("76 nodes       247 arcs"), "{}", given.out);
    let auto = folder.shoal(&[&["script", "fischer.vpl", "--reducers", "auto"][..], &set].concat()).expect(0);
    assert!(auto.out.contains("76 nodes       247 arcs"), "{}", auto.out);
    // Fischer's graphs without shielding are large, and the paper's search looks at them.
    let small = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/sgm/small_mutex.vpl");
    folder.shoal(&[&["script", small, "--reducers", "paper"][..], &set].concat()).expect(0);
    let wrong = folder.shoal(&["script", "fischer.vpl", "--reducers", "rw,xy"]).expect(2);
    assert!(wrong.err.contains("there is no reducer `xy`"), "{}", wrong.err);
    let few = folder.shoal(&["script", "fischer.vpl", "--reducers", "auto", "--set", "A=2"]).expect(2);
    assert!(few.err.contains("needs four processes"), "{}", few.err);
    // All processes: the property is decided too, one object a step.
    let all = folder
        .shoal(&["script", "fischer.vpl", "--json", "--reducers", "rw,sc,sm", "--set", "A=4"])
        .expect(0);
    assert_eq!(all.out.lines().count(), 4, "{}", all.out);
    assert!(all.out.lines().all(|line| line.starts_with('{')), "{}", all.out);
}

/// A property that names an element is no concern of the graph; where nothing is reduced, that is said.
#[test]
fn a_quotient_is_one_or_says_why_not() {
    let symmetric = "type pid: scalarset(3);\nvar x: array [pid] of boolean;\n\
        startstate begin for p: pid do x[p] := false; end; end;\n\
        ruleset p: pid do rule !x[p] ==> begin x[p] := true; end; rule x[p] ==> begin x[p] := false; end; end;\n\
        ltl \"all\" forall p: pid do [] <> x[p] end;\n";
    let plain = "var x: boolean;\nstartstate begin x := false; end;\nrule true ==> begin x := !x; end;\n";
    let folder = Folder::with(&[("symmetric.m", symmetric), ("plain.m", plain)]);
    let states = |args: &[&str]| {
        let ran = folder.shoal(&[&["graph", "--format", "aut"], args].concat()).expect(0);
        let head = ran.out.lines().next().unwrap().trim_end_matches(')').to_string();
        (head.rsplit(' ').next().unwrap().parse::<u32>().unwrap(), ran.err)
    };
    assert_eq!(states(&["symmetric.m"]).0, 8);
    assert_eq!(states(&["symmetric.m", "--quotient"]), (4, String::new()));
    let (count, said) = states(&["plain.m", "--quotient"]);
    assert!(count == 2 && said.contains("nothing is reduced, as the model has no symmetric sorts"), "{said}");
}
