//! The contract: how a call ends, and that it never ends in a panic.

use std::fs;

use crate::common::{BROKEN, COUNTER, FAULT, Folder};

#[test]
fn zero_when_every_property_holds() {
    let ran = Folder::with(&[("counter.m", COUNTER)]).shoal(&["check", "counter.m"]).expect(0);
    assert!(ran.out.contains("✓ holds     invariant \"small\""), "{}", ran.out);
    assert!(ran.out.contains("10 states"), "{}", ran.out);
}

#[test]
fn one_when_a_property_is_violated() {
    let folder = Folder::with(&[("lock.m", BROKEN), ("counter.m", COUNTER), ("fault.m", FAULT)]);
    folder.shoal(&["check", "lock.m"]).expect(1);
    folder.shoal(&["check", "counter.m", "lock.m"]).expect(1).says("✓ holds").says("✗ violated");
    folder.shoal(&["check", "lock.m", "--quiet", "--trace", "none"]).expect(1).says("✗ violated");
    let fault = folder.shoal(&["check", "fault.m"]).expect(1);
    assert!(fault.out.contains("a value is outside the range"), "{}", fault.out);
    assert!(fault.out.contains("fault.m:4:"), "{}", fault.out);
}

#[test]
fn two_when_the_model_is_wrong() {
    let folder = Folder::with(&[("bad.m", "var x: boolean;\nstartstate begin y := true; z := 1; end;\n")]);
    let ran = folder.shoal(&["check", "bad.m"]).expect(2).says("--> bad.m:2:18");
    assert!(ran.err.contains("y := true"), "the source line is shown: {}", ran.err);
    assert!(ran.err.matches("error[").count() >= 2, "several errors in one run: {}", ran.err);
}

#[test]
fn a_certificate_that_cannot_be_written_takes_no_verdict_with_it() {
    let folder = Folder::with(&[("counter.m", COUNTER)]);
    let ran = folder.shoal(&["check", "counter.m", "--certificate", "nowhere/c.json"]).expect(2);
    assert!(ran.out.contains("✓ holds     invariant \"small\""), "{}", ran.out);
    assert!(ran.err.contains("nowhere/c.json"), "{}", ran.err);
}

#[test]
fn macros_are_defined_as_for_spin() {
    let text = "byte x;\nactive proctype A() {\n#ifdef UP\nx = N\n#endif\nassert(x == 7) }\n";
    let folder = Folder::with(&[("macro.pml", text)]);
    folder.shoal(&["check", "macro.pml", "-DUP", "-D", "N=7"]).expect(0);
    folder.shoal(&["check", "macro.pml", "-DUP", "-DN=6", "--trace", "none"]).expect(1);
    folder.shoal(&["check", "macro.pml", "-DUP", "-DN=x"]).expect(2).says("a macro that is no number");
}

#[test]
fn a_line_break_in_the_name_of_a_file_begins_no_line() {
    let name = "a\n✓ holds     invariant \"other\".m";
    let ran = Folder::with(&[(name, COUNTER)]).shoal(&["check", name, "--quiet"]).expect(0);
    assert!(!ran.out.lines().any(|line| line.starts_with("✓ holds     invariant \"other\"")), "{}", ran.out);
    let ran = Folder::with(&[(name, COUNTER)]).shoal(&["check", name]).expect(0);
    assert!(!ran.out.lines().any(|line| line.starts_with("✓ holds     invariant \"other\"")), "{}", ran.out);
}

#[test]
fn two_when_a_file_cannot_be_a_model() {
    let folder = Folder::with(&[("empty.m", ""), ("blank.m", " \n\t\n"), ("model.xyz", COUNTER)]);
    // A file in Latin-1 is read, but not one that is no text in any alphabet.
    fs::write(folder.path().join("cafe.m"), [b"-- caf\xe9\n", COUNTER.as_bytes()].concat()).unwrap();
    folder.shoal(&["explain", "cafe.m"]).expect(0);
    fs::write(folder.path().join("latin.m"), b"var x: boolean; -- caf\xe9\0\n").unwrap();
    fs::write(folder.path().join("zeros.m"), [0u8; 4096]).unwrap();
    let huge = fs::File::create(folder.path().join("huge.m")).unwrap();
    huge.set_len(shoal::LARGEST_FILE + 10).unwrap();
    fs::create_dir(folder.path().join("folder.m")).unwrap();
    for (name, message) in [
        ("empty.m", "is empty"),
        ("blank.m", "is empty"),
        ("missing.m", "cannot be opened"),
        ("model.xyz", ".m (Murphi)"),
        ("latin.m", "UTF-8"),
        ("zeros.m", "error"),
        ("huge.m", "larger than 64 MiB"),
        ("folder.m", "cannot be read"),
    ] {
        for command in ["check", "sim", "explain", "graph"] {
            folder.shoal(&[command, name]).expect(2).says(message);
        }
    }
}

#[test]
fn names_of_files_do_nothing_to_a_terminal() {
    let name = "e\u{1b}[31mx.m";
    let folder = Folder::with(&[(name, "var x: boolean; y;")]);
    for command in ["check", "explain", "sim", "graph", "verify"] {
        for file in [name, "no\u{1b}[2J.m"] {
            let ran = folder.shoal(&[command, file]).expect(2);
            assert!(!ran.err.contains('\u{1b}') && !ran.out.contains('\u{1b}'), "{command}: {:?}", ran.err);
            assert!(ran.err.contains("\\u{1b}["), "{command}: {:?}", ran.err);
        }
    }
}

#[test]
fn truncated_models_never_crash() {
    for cut in 1..BROKEN.len() {
        // Every prefix is slow; these are enough to hit each construct.
        if cut % 13 == 0 {
            let folder = Folder::with(&[("cut.m", &BROKEN[..cut])]);
            let ran = folder.shoal(&["explain", "cut.m"]);
            assert!(matches!(ran.code, Some(0 | 2)), "cut at {cut}: {:?}\n{}", ran.code, ran.err);
        }
    }
}

#[test]
fn deep_nesting_is_an_error_and_not_a_crash() {
    let deep = format!(
        "var x: 0..9;\nstartstate begin x := {}1{}; end;\n",
        "(".repeat(100_000),
        ")".repeat(100_000)
    );
    Folder::with(&[("deep.m", &deep)]).shoal(&["check", "deep.m"]).expect(2);
}

/// Records that double at every level, arrays of arrays, and files that include themselves twice have a short text and no end.
#[test]
fn what_grows_without_end_is_refused_at_once() {
    let levels = |count: usize, first: &str, level: &dyn Fn(usize) -> String| {
        let rest: Vec<String> = (1..=count).map(level).collect();
        format!("{first}\n{}\n", rest.join("\n"))
    };
    let doubled = |number: usize| format!("r{number}: record a, b: r{}; end;", number - 1);
    let murphi = levels(60, "type r0: record end;", &doubled)
        + "var v: r60; startstate clear v; end; rule true ==> v.a := v.b; end;";
    let doubled = |number: usize| format!("typedef t{number} {{ t{0} a; t{0} b }}", number - 1);
    let promela = levels(60, "typedef t0 { bit b }", &doubled) + "t60 v; active proctype p() { skip }";
    let nested = |number: usize| format!("typedef t{number} {{ t{} a[255] }}", number - 1);
    let arrays = levels(20, "typedef t0 { byte b[255] }", &nested) + "t20 v; active proctype p() { skip }";
    let doubled = |number: usize| format!("typedef struct {{ t{0} a; t{0} b; }} t{number};", number - 1);
    let network = "process P() { state s; init s; } system P;";
    let uppaal = levels(60, "typedef struct { int a; } t0;", &doubled) + "t60 v; " + network;
    let nested = |number: usize| format!("typedef struct {{ t{} a[255]; }} t{number};", number - 1);
    let rows = levels(20, "typedef int t0[255];", &nested) + "t20 v; " + network;
    let twice = "#include \"twice.pml\"\n#include \"twice.pml\"\nactive proctype p() { skip }\n";
    let folder = Folder::with(&[
        ("doubled.m", murphi.as_str()),
        ("doubled.pml", &promela),
        ("arrays.pml", &arrays),
        ("doubled.xta", &uppaal),
        ("arrays.xta", &rows),
        ("twice.pml", twice),
    ]);
    for command in ["check", "explain"] {
        for name in ["doubled.m", "doubled.pml", "arrays.pml", "doubled.xta", "arrays.xta"] {
            folder.shoal(&[command, name]).expect(2).says("too many parts");
        }
        folder.shoal(&[command, "twice.pml"]).expect(2).says("without end");
    }
}

#[test]
fn two_when_the_call_is_wrong() {
    let folder = Folder::with(&[("counter.m", COUNTER)]);
    folder.shoal(&[]).expect(2);
    folder.shoal(&["check"]).expect(2);
    folder.shoal(&["check", "counter.m", "--no-such-option"]).expect(2);
    folder.shoal(&["check", "counter.m", "--memory", "much"]).expect(2);
    folder.shoal(&["check", "counter.m", "--set", "LAST"]).expect(2).says("NAME=VALUE");
    folder.shoal(&["check", "counter.m", "--set", "LATS=3"]).expect(2).says("LAST");
    folder.shoal(&["check", "counter.m", "--property", "smal"]).expect(2).says("did you mean \"small\"");
    folder.shoal(&["explain", "E9999"]).expect(2);
}

#[test]
fn what_is_not_built_says_so_by_name() {
    let folder = Folder::with(&[("counter.m", COUNTER)]);
    // What an engine cannot take is named, too.
    for engine in ["counters", "cover"] {
        let ran = folder.shoal(&["check", "counter.m", "--engine", engine]).expect(2);
        assert!(ran.err.contains(engine) && ran.err.contains("does not support"), "{}", ran.err);
    }
    // What it can take it decides; the rest is unknown.
    let ran = folder.shoal(&["check", "counter.m", "--engine", "timed"]).expect(3);
    ran.says("the timed engine does not support stuttering deadlocks").says("✓ holds     invariant");
    // Without clocks, a formula of branching time speaks of steps, which the engine of dense time does not count.
    let stays = COUNTER.to_string() + "ctl \"stays\" EG x = 0;";
    let folder = Folder::with(&[("counter.m", COUNTER), ("stays.m", &stays)]);
    let call = ["check", "stays.m", "--engine", "timed", "--property", "stays"];
    folder.shoal(&call).expect(2).says("formulas of branching time in a model without clocks");
    folder.shoal(&["check", "stays.m", "--property", "stays", "--trace", "none"]).expect(1);
    folder.shoal(&["check", "counter.m", "--set", "LAST=any"]).expect(2).says("cannot be any number");
    folder.shoal(&["graph", "counter.m", "--format", "svg"]).expect(0).says("<svg").says("x = 9");
    let many = ["graph", "counter.m", "--set", "LAST=400", "--format", "svg"];
    folder.shoal(&many).expect(0).says("<title>x = 400</title>");
    folder.shoal(&["graph", "counter.m", "--format", "graphml"]).expect(0).says("<graphml").says("x = 9");
}

#[test]
fn any_number_is_known_to_each_language_or_refused() {
    let folder = Folder::with(&[("a.pml", "#define N 3\nactive [N] proctype p() { skip }")]);
    let model = |name: &str| format!("{}/../../models/sgm/{name}", env!("CARGO_MANIFEST_DIR"));
    let fischer = model("fischer.vpl");
    folder
        .shoal(&["check", &fischer, "--set", "A=any", "--property", "mutual exclusion"])
        .expect(0)
        .says("any number of A");
    // Errors too are decided for any number.
    folder.shoal(&["check", &fischer, "--set", "A=any"]).expect(0).says("any number of A");
    let bug = model("fischer_bug.vpl");
    let ran = folder.shoal(&["check", &bug, "--set", "A=any", "--trace", "none"]).expect(1);
    ran.says("violated with 2 of A");
    // Processes that end are numbered.
    folder.shoal(&["check", "a.pml", "--set", "N=any"]).expect(2).says("E0633");
    // Without clocks it is not time that decides.
    let numbers = SCALAR_LOCK.replace("scalar[N]", "int[1,N]");
    let folder = Folder::with(&[
        ("lock.vpl", REGISTER_LOCK),
        ("lock.xta", SCALAR_LOCK),
        ("lock.q", SCALAR_LOCK_QUERY),
        ("numbers.xta", &numbers),
        ("numbers.q", SCALAR_LOCK_QUERY),
    ]);
    folder.shoal(&["check", "lock.vpl", "--set", "A=any"]).expect(0).says("views of 1 A");
    folder.shoal(&["check", "lock.xta", "--set", "N=any"]).expect(0).says("any number of id_t");
    folder.shoal(&["check", "numbers.xta", "--set", "N=any"]).expect(2).says("E0314");
}

/// A lock that holds the number of who is inside, in VPL and in UPPAAL's language.
const REGISTER_LOCK: &str = "automata A : i = 1..8;
register lock;
automaton A[i] {
  initially Out;
  mode Out { when lock = 0 may goto In; lock := i; }
  mode In  { when lock = i may goto Out; lock := 0; }
}
verify \"mutual exclusion\":
  all_paths ( henceforth forall i, j : A { i <> j implies not {mode(A[i]) = In and mode(A[j]) = In} } );
";
const SCALAR_LOCK: &str = "const int N = 3;
typedef scalar[N] id_t;
bool free = true;
process P(const id_t me) {
  state idle, busy;
  init idle;
  trans idle -> busy { guard free; assign free = false; },
        busy -> idle { assign free = true; };
}
system P;
";
const SCALAR_LOCK_QUERY: &str =
    "A[] forall (i : id_t) forall (j : id_t) (P(i).busy && P(j).busy imply i == j)\n";

/// A violation with any number is a run of an instance, in which a range is no sort.
#[test]
fn what_is_violated_with_any_number_is_shown_everywhere() {
    let range = "const N: 3; type D: 1..N; var v: D; w: D; a: array [D] of boolean;
        ruleset d: D do startstate v := d; w := d; for e: D do a[e] := false; end; end; end;
        ruleset d: D do rule \"turn\" true ==> v := d; a[d] := true; end; end;
        invariant \"same\" v = w;";
    let bare = range.replace(" a: array [D] of boolean;", "").replace(" for e: D do a[e] := false; end;", "");
    let bare = bare.replace(" a[d] := true;", "");
    let sort = range.replace("1..N", "scalarset(N)");
    let nobody = "const N: 2; type P: scalarset(N); var g: boolean; startstate g := false; end;
        ruleset p: P do rule true ==> g := true; end; end; invariant \"never\" !g;";
    let promela = "#define N 3\nbyte g;\nactive [N] proctype P() { do :: g < 2 -> g++ :: g == 2 -> g = 0; assert(g == 1) od }\n";
    let files = [
        ("range.m", range),
        ("bare.m", &bare),
        ("sort.m", &sort),
        ("nobody.m", nobody),
        ("processes.pml", promela),
    ];
    let folder = Folder::with(&files);
    for (name, _) in files {
        let check = ["check", name, "--set", "N=any", "--deadlock", "off"];
        folder.shoal(&[&check[..], &["--trace", "run.itf.json"]].concat()).expect(1).says("✗ violated");
        for more in [&["--json"][..], &["--show", "lanes"], &["--html", "pages"], &["--quiet"]] {
            folder.shoal(&[&check[..], &["--trace", "none"], more].concat()).expect(1);
        }
        folder.shoal(&["trace", "replay", "run.itf.json"]).expect(1).says("as the trace says");
        for view in ["diff", "lanes", "table"] {
            folder.shoal(&["trace", "show", "run.itf.json", "--as", view]).expect(0);
        }
        fs::remove_file(folder.path().join("run.itf.json")).unwrap();
    }
}

/// A proof is about instances with as many elements as a view or more, and how many the first of them has is known of all: one that
/// is not the head is always there. Where there need not be one, the instance without it is the answer.
#[test]
fn elements_that_must_be_there_can_go_on() {
    let spare = "const N: 2; type P: scalarset(N); Q: scalarset(N + 1); var head: Q; a: array [P] of Q;
        ruleset q: Q do startstate head := q; for p: P do a[p] := q; end; end; end;
        ruleset q: Q do rule \"move\" q != head ==> head := q; end; end;
        ruleset p: P do rule \"keep\" a[p] != head ==> a[p] := head; end; end;";
    let none = spare.replace("N + 1", "N");
    let folder = Folder::with(&[("spare.m", spare), ("none.m", &none)]);
    let check = ["check", "spare.m", "--set", "N=any", "--property", "deadlock", "--certificate", "c.json"];
    folder.shoal(&check).expect(0).says("✓ holds     no deadlock");
    folder.shoal(&["verify", "c.json"]).expect(0).says("✓ accepted  \"deadlock\"");
    folder
        .shoal(&["check", "none.m", "--set", "N=any", "--trace", "none"])
        .expect(1)
        .says("N = 1, and no smaller");
    // Each may be one.
    let two = spare.replace("const N: 2;", "const N: 2; M: 2;").replace("N + 1", "M");
    let folder = Folder::with(&[("two.m", &two)]);
    let check = ["check", "two.m", "--set", "N=any", "--set", "M=any", "--trace", "none"];
    folder.shoal(&check).expect(1).says("✗ violated  no deadlock");
}

#[test]
fn three_when_a_limit_is_reached() {
    let folder = Folder::with(&[("counter.m", COUNTER), ("lock.m", BROKEN)]);
    folder.shoal(&["check", "counter.m", "--depth", "3"]).expect(3).says("depth limit of 3 steps reached");
    folder.shoal(&["check", "counter.m", "--set", "LAST=900000", "--time", "0"]).expect(3).says("time limit");
    folder
        .shoal(&["check", "counter.m", "--set", "LAST=900000", "--memory", "1kB"])
        .expect(3)
        .says("memory limit");
    folder.shoal(&["check", "lock.m", "--depth", "1"]).expect(3).says("not fired yet");
    folder.shoal(&["check", "lock.m", "--depth", "2", "--trace", "none"]).expect(1);
    folder.shoal(&["graph", "counter.m", "--limit", "3"]).expect(3);
}

#[test]
fn three_when_states_may_have_been_missed() {
    let folder = Folder::with(&[("counter.m", COUNTER), ("lock.m", BROKEN)]);
    for storage in ["hashes", "bits"] {
        let call = ["check", "counter.m", "--storage", storage, "--memory", "100MB"];
        folder.shoal(&call).expect(3).says("a state was missed with a probability of");
        folder.shoal(&["check", "lock.m", "--trace", "none", "--storage", storage]).expect(1);
    }
    folder.shoal(&["check", "counter.m", "--search", "walk"]).expect(3).says("random walks of 1000000 steps");
    folder.shoal(&["check", "lock.m", "--trace", "none", "--search", "walk", "--seed", "7"]).expect(1);
    folder.shoal(&["check", "counter.m", "--search", "depth"]).expect(0);
    folder.shoal(&["check", "lock.m", "--trace", "none", "--search", "depth"]).expect(1);
    folder
        .shoal(&["check", "counter.m", "--search", "depth", "--checkpoint", "saved"])
        .expect(2)
        .says("saving a search that is not breadth first");
}

#[test]
fn a_violation_is_never_hidden_by_another_file() {
    let folder = Folder::with(&[("lock.m", BROKEN), ("counter.m", COUNTER)]);
    folder.shoal(&["check", "lock.m", "missing.m", "--trace", "none"]).expect(2).says("✗ violated");
    folder.shoal(&["check", "counter.m", "--depth", "1", "lock.m"]).expect(3);
}

#[test]
fn properties_and_deadlocks_can_be_chosen() {
    let stuck = "var x: 0..1;\nstartstate begin x := 0; end;\nrule x = 0 ==> begin x := 1; end;\n\
                 invariant \"fine\" x <= 1;\ninvariant \"wrong\" x = 0;\n";
    let folder = Folder::with(&[("stuck.m", stuck)]);
    let only = |args: &[&str]| {
        let mut all = vec!["check", "stuck.m", "--trace", "none"];
        all.extend(args);
        folder.shoal(&all)
    };
    only(&["--property", "fine"]).expect(0);
    only(&["--property", "wrong"]).expect(1);
    only(&["--property", "fine", "--property", "deadlock"]).expect(1).says("deadlock");
    only(&["--property", "deadlock", "--deadlock", "stuck"]).expect(1).says("no rule is enabled");
    only(&["--property", "deadlock", "--deadlock", "off"]).expect(2);
    let off = only(&["--deadlock", "off"]).expect(1);
    assert!(!off.out.contains("deadlock"), "{}", off.out);
}

#[test]
fn help_and_version_succeed() {
    let folder = Folder::new();
    folder.shoal(&["--help"]).expect(0).says("Exit codes");
    folder.shoal(&["check", "--help"]).expect(0).says("--no-symmetry");
    folder.shoal(&["--version"]).expect(0).says("shoal 0.");
    folder.shoal(&["explain", "e0201"]).expect(0).says("E0201");
}

#[cfg(unix)]
#[test]
fn a_reader_that_goes_away_is_no_crash() {
    use std::process::{Command, Stdio};
    let folder = Folder::with(&[("lock.m", BROKEN)]);
    let mut child = Command::new(env!("CARGO_BIN_EXE_shoal"))
        .args(["check", "lock.m", "--trace", "none"])
        .current_dir(folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

/// A first model in each language: it is written, never over another file, and all that it asks holds.
#[test]
fn new_models_hold() {
    for (language, file) in [
        ("murphi", "lock.m"),
        ("promela", "lock.pml"),
        ("vpl", "lock.vpl"),
        ("uppaal", "lock.xta"),
        ("red", "lock.red"),
        ("threads", "lock.bp"),
        ("objects", "lock.dpml"),
        ("tts", "lock.tts"),
        ("net", "lock.spec"),
        ("pnml", "lock.pnml"),
    ] {
        let folder = Folder::with(&[]);
        folder.shoal(&["new", language]).expect(0).says(&format!("shoal check {file}"));
        folder.shoal(&["check", file, "--quiet"]).expect(0).says("✓ holds");
        folder.shoal(&["new", language]).expect(2);
    }
}

#[test]
fn a_property_is_asked_by_its_name_or_as_it_is_printed() {
    let folder = Folder::with(&[("lock.m", BROKEN)]);
    for name in ["deadlock", "no deadlock"] {
        folder
            .shoal(&["check", "lock.m", "--quiet", "--property", name])
            .expect(0)
            .says("✓ holds     no deadlock");
    }
    folder.shoal(&["check", "lock.m", "--property", "no such thing"]).expect(2);
}

/// What an engine does not take is unknown, whatever stands before it in the file and whether anything else was written.
#[test]
fn what_an_engine_does_not_take_does_not_hide_the_rest() {
    let head = "type P: scalarset(3); var a: array [P] of 0..1;
        startstate for p: P do a[p] := 0; end; end;
        ruleset p: P do rule \"f\" a[p] = 0 ==> a[p] := 1; end; end;\n";
    let zero = "exists p: P do a[p] = 0 end";
    let linear = format!("{head} ltl \"l\" [] <> {zero};");
    let branching = format!(
        "{head} ctl \"l\" AG EF {zero}; ctl \"m\" AF {zero}; invariant \"i\" forall p: P do a[p] = 0 end;"
    );
    let folder = Folder::with(&[("linear.m", &linear), ("branching.m", &branching)]);
    for engine in ["symbolic", "counters"] {
        let ran = folder.shoal(&["check", "linear.m", "--engine", engine, "--trace", "none"]).expect(1);
        ran.says("? unknown   ltl \"l\"").says("✗ violated  no deadlock");
    }
    let ran =
        folder.shoal(&["check", "branching.m", "--engine", "counters", "--no-diagrams", "--trace", "none"]);
    ran.expect(1).says("✗ violated  invariant \"i\"");
}

/// Two questions about deadlocks, one of them with a condition: each is told by its own words.
#[test]
fn a_written_question_about_deadlocks_is_told_by_its_text() {
    let model = "int[0,1] v; process P() { state A, B; init A; trans A -> B { assign v := 1; }; } system P;";
    let queries = "A[] not deadlock\nA[] (v == 0 imply not deadlock)";
    let folder = Folder::with(&[("end.xta", model), ("end.q", queries)]);
    let ran = folder.shoal(&["check", "end.xta", "--quiet"]).expect(1);
    ran.says("✗ violated  no deadlock \"A[] not deadlock\"");
    folder.shoal(&["check", "end.xta", "--junit", "end.junit.xml"]).expect(1);
    assert!(folder.read("end.junit.xml").contains("A[] (v == 0 imply not deadlock)"));
}

#[test]
fn a_search_that_may_have_missed_states_is_accepted_if_that_is_said() {
    let folder = Folder::with(&[("count.m", COUNTER)]);
    let bits = ["check", "count.m", "--storage", "hashes", "--quiet"];
    folder.shoal(&bits).expect(3);
    folder.shoal(&[&bits[..], &["--accept", "probabilistic"]].concat()).expect(0);
}

#[test]
fn completions_know_the_commands() {
    let folder = Folder::with(&[]);
    for shell in ["bash", "zsh", "fish"] {
        folder.shoal(&["completions", shell]).expect(0).says("explain");
    }
}

#[test]
fn a_model_is_read_from_standard_input() {
    let folder = Folder::with(&[]);
    folder
        .shoal_with_input(&["check", "-", "--quiet"], COUNTER)
        .expect(0)
        .says("✓ holds     invariant \"small\"");
    let promela = "active proctype p() { assert(false) }";
    let ran = folder.shoal_with_input(&["check", "-", "--language", "pml", "--trace", "none"], promela);
    ran.expect(1).says("an assertion fails");
    folder.shoal_with_input(&["check", "-", "--language", "cobol"], COUNTER).expect(2);
}
