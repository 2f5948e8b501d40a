//! UPPAAL models: small ones with every construct that is read, and those of other people.
#![allow(clippy::print_stdout)]

use std::{
    fs,
    path::{Path, PathBuf},
};

use shoal_model::{Job, Model, PropertyId, PropertyKind, Quiet, Verdict};
use shoal_syntax::{Diagnostics, SourceMap};
use shoal_template::Options;
use shoal_uppaal as uppaal;

fn load(name: &str, text: &str) -> (Option<Model>, Diagnostics) {
    let mut sources = SourceMap::new();
    let id = sources.add(name, text);
    match name.ends_with(".xml") {
        true => uppaal::load_xml(&sources, id, None, &Options::default()),
        false => uppaal::load_xta(&sources, id, None, &Options::default()),
    }
}

fn asked(model: &Model) -> Vec<PropertyId> {
    let given = |kind: &PropertyKind| matches!(kind, PropertyKind::Assume(_) | PropertyKind::NoFaults);
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

/// The verdicts of the queries of a model, in order.
fn answers(text: &str, queries: &str) -> Vec<bool> {
    let mut sources = SourceMap::new();
    let (id, queries) = (sources.add("m.xta", text), sources.add("m.q", queries));
    let (model, diagnostics) = uppaal::load_xta(&sources, id, Some(queries), &Options::default());
    let model = model.unwrap_or_else(|| panic!("{diagnostics:?}"));
    let outcome = shoal_timed::check(&model, &Job::new(asked(&model)), &mut Quiet).unwrap();
    let holds = |result: &shoal_model::PropertyResult| match &result.verdict {
        Verdict::Holds => true,
        Verdict::Violated(violation) => {
            shoal_interpret::confirm(&model, result.property, violation).unwrap();
            false
        }
        Verdict::Unknown(reason) => panic!("{reason}"),
    };
    outcome.results.iter().map(holds).collect()
}

#[test]
fn arrays_and_records_are_copied_and_lent_whole() {
    let text = "
        typedef scalar[2] T;
        typedef struct { int[0,9] a; int[0,9] b[2]; } rec;
        clock x;
        int[0,9] s[2] = { 1, 2 }, t[2];
        rec p = { b: { 3, 4 }, a: 5 }, q;
        int[0,9] r, changed;
        T who;
        int[0,9] given(int[0,9] v[2]) { v[0] = 9; v[1] = 8; return v[0]; }
        rec turned(rec of) { int[0,9] first = of.b[0]; of.b[0] = of.b[1]; of.b[1] = first; return of; }
        void set(int[0,9] &to, int[0,9] value) { to = value; }
        void swap(int[0,9] &v[2]) { int[0,9] old[2] = { v[0], v[1] }; v[0] = old[1]; v[1] = old[0]; }
        process P() {
          state A, B, C;
          init A;
          trans
            A -> B { guard x >= 1; assign r = given(s), t = s, q = turned(p), set(p.b[r - 8], 7), swap(s); },
            B -> C { guard t != s && q != p && q == turned(turned(q)); };
        }
        process M(const T id) {
          int[0,9] own;
          state A, B;
          init A;
          trans A -> B { guard changed == 0; assign set(own, 6), changed = own; };
        }
        system P, M;";
    let queries = "E<> P.B and s[0] == 2 and s[1] == 1
        E<> P.B and t[0] == 1 and t[1] == 2
        E<> P.B and q.a == 5 and q.b[0] == 4 and q.b[1] == 3
        E<> P.B and p.b[0] == 3 and p.b[1] == 7
        E<> P.C
        E<> changed == 6 and exists (i : T) M(i).own == 6
        A[] forall (i : T) M(i).B imply M(i).own == 6
        A[] forall (i : T) M(i).own == 6";
    assert_eq!(answers(text, queries), [true, true, true, true, true, true, true, false]);
}

#[test]
fn branches_are_choices_and_clocks_are_compared() {
    let text = "
        clock x, y;
        int[0,3] v;
        process P() {
          state A, B { x - y <= 2 }, C;
          branchpoint D;
          init A;
          trans
            A -> D { guard x >= 1; assign v = 1, y = 0; },
            D -> B { probability 3; assign v = v + 1; },
            D -> C { probability 7; };
        }
        system P;";
    let queries = "E<> P.B and v == 2
        E<> P.C and v == 1
        A[] P.B imply v == 2
        A[] P.B imply x <= y + 2
        E<> P.C and x - y > 7
        A[] P.C imply x - 1 > y
        A[] P.C imply not (x - 1 < y)";
    assert_eq!(answers(text, queries), [true, true, true, true, true, false, true]);
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
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    // The fourth is violated after a delay: x may be 4 in A. The last is violated, too: where R goes to B first, Q
    // cannot leave A, and that run is stuck when x is 4.
    assert_eq!(verdicts(&model), [true, true, true, false, false]);
}

/// Whether each property holds; every violation is replayed.
fn verdicts(model: &Model) -> Vec<bool> {
    let job = Job::new(asked(model));
    let outcome = shoal_timed::check(model, &job, &mut Quiet).unwrap();
    let holds = outcome.results.iter().map(|result| {
        if let Verdict::Violated(violation) = &result.verdict {
            shoal_interpret::confirm(model, result.property, violation).unwrap();
        }
        matches!(result.verdict, Verdict::Holds)
    });
    holds.collect()
}

/// The verdicts of queries on an `.xta` text.
fn decided(text: &str, queries: &str) -> Vec<bool> {
    let mut sources = SourceMap::new();
    let id = sources.add("m.xta", text);
    let queries = sources.add("m.q", queries);
    let (model, diagnostics) = uppaal::load_xta(&sources, id, Some(queries), &Options::default());
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    verdicts(&model.unwrap())
}

/// The message that a text is refused with.
fn refused(text: &str) -> String {
    let (model, diagnostics) = load("m.xta", text);
    assert!(model.is_none(), "{text}");
    diagnostics.iter().next().unwrap().message.clone()
}

#[test]
fn who_receives_a_broadcast_is_settled_before_anything_changes() {
    // The sender closes the door, yet both listeners were able to receive; the third was not, although it would be now.
    let text = "
        broadcast chan go;
        bool open = true;
        int[0,9] n;
        clock c;
        process S() { state A, B; init A; trans A -> B { sync go!; assign open = false, n = n + 1; }; }
        process R() { state A, B; init A; trans A -> B { guard open; sync go?; assign n = 2 * n; }; }
        process Late() { state A, B; init A; trans A -> B { guard !open; sync go?; }; }
        R1 = R(); R2 = R();
        system S, R1, R2, Late;";
    let queries = "A[] S.B imply R1.B && R2.B && n == 4\nA[] not Late.B\nA[] S.B == R1.B\nE<> S.B";
    assert_eq!(decided(text, queries), [true; 4]);
}

#[test]
fn a_listener_with_several_ways_takes_one_of_them() {
    let text = "
        broadcast chan go[2];
        clock c;
        process S() { state A, B { c <= 3 }; init A; trans A -> B { guard c >= 1; sync go[1]!; }; }
        process R() {
          int[0,3] k;
          state A, B, C;
          init A;
          trans
            A -> B { select i : int[1,2]; sync go[1]?; assign k = i; },
            A -> C { guard c > 2; sync go[1]?; },
            A -> C { sync go[0]?; };
        }
        system S, R;";
    let queries =
        "E<> R.B && R.k == 1\nE<> R.B && R.k == 2\nE<> R.C\nA[] S.B imply not R.A\nA[] R.C imply c > 2";
    assert_eq!(decided(text, queries), [true; 5]);
}

#[test]
fn functions_records_and_constants_mean_what_they_say() {
    let text = "
        typedef struct { int[0,20] a; bool b; } pair_t;
        const int table[2][3] = { { 1, 2, 3 }, { 4, 5, 6 } };
        pair_t pairs[2] = { { 1, true }, { 2, false } };
        int[0,50] total;
        int[0,20] old;
        clock c;
        int added(int row) { int i, s = 0; for (i = 0; i < 3; i++) s += table[row][i]; return s; }
        void put(int &where, int what) { where = what; }
        process P(int[0,9] limit) {
          state A, B, C;
          init A;
          trans
            A -> B { guard forall (i : int[0,1]) pairs[i].a == i + 1; assign total = added(1) + added(0), limit = limit + 1; },
            B -> C { guard limit == 4 && exists (i : int[0,1]) pairs[i].b;
                     assign old = pairs[0].a++, put(total, old + (pairs[0].a >? 9)); };
        }
        Q = P(3);
        system Q;";
    let queries =
        "A[] Q.B imply total == 21\nE<> Q.C\nA[] Q.C imply total == 10 && old == 1 && pairs[0].a == 2";
    assert_eq!(decided(text, queries), [true; 3]);
}

#[test]
fn priorities_and_differences_that_depend_on_variables_are_read() {
    let text = "
        chan a[2], b;
        chan priority a[0] < default < a[1] < b;
        int[0,3] d = 2;
        int m;
        clock x, y;
        process S() { state A, B, C, D; init A; trans
          A -> B { sync a[0]!; }, A -> C { sync a[1]!; }, A -> D { guard x >= 3; sync b!; }; }
        process R() { state A; init A; trans A -> A { sync a[0]?; }, A -> A { sync a[1]?; }, A -> A { sync b?; }; }
        process T() { state A, B, C; init A; trans
          A -> B { assign y = 0, m = abs(-d); }, B -> C { guard x - y == d && m == 2; }; }
        system S, R, T;";
    let queries = "E<> S.B\nE<> S.C\nA[] S.D imply x >= 3\nA[] S.C imply true\nA[] not (S.A && T.B)\nE<> T.C\nE<> T.C && S.D";
    assert_eq!(decided(text, queries), [false, true, true, true, true, true, false]);
}

#[test]
fn rates_of_clocks_that_nothing_looks_at_are_read() {
    let text = "clock x, cost, spent[2];
        process P() { state A { x <= 3 && x' == 1 && cost' == 5 && forall (i : int[0,1]) spent[i]' == i }, B; init A;
          trans A -> B { guard x >= 2; assign cost = 0; }; }
        system P;";
    assert_eq!(decided(text, "E<> P.B && x < 2\nA[] P.A imply x <= 3"), [false, true]);
    let mut sources = SourceMap::new();
    let (id, queries) =
        (sources.add("m.xta", text), sources.add("m.q", "E<> cost > 7\nE<> P.B\nsup: spent[0]"));
    let (model, _) = uppaal::load_xta(&sources, id, Some(queries), &Options::default());
    let model = model.unwrap();
    let is_unclear = |name: &str| {
        let property = model.properties.iter().find(|property| property.name == name).unwrap();
        matches!(property.kind, PropertyKind::Unclear(_))
    };
    assert_eq!(["E<> cost > 7", "E<> P.B", "sup: spent[0]"].map(is_unclear), [true, false, true]);
}

#[test]
fn what_is_outside_is_refused_by_name() {
    let with = |declaration: &str| format!("{declaration} process P() {{ state A; init A; }} system P;");
    for (text, says) in [
        (with("double d;"), "doubles"),
        (with("hybrid clock h;"), "hybrid"),
        (with("typedef scalar[2] T; int w[T] = { 1, 2 };"), "different values"),
        (with("typedef struct { int a; } R; R r = { b: 1 };"), "no part is called this"),
        (with("chan c[2]; process Q() { state A; init A; trans A -> A { sync c[2]!; }; } system Q;"), "channel"),
        ("process P() { state A, B; trans A -> B { }; } system P;".into(), "begins"),
        (
            "int v; int f() { v++; return v; } process P() { state A; init A; trans A -> A { guard f() > 0; }; } system P;"
                .into(),
            "a condition that changes something",
        ),
        (
            "chan a; chan priority a; process P() { state A; init A; trans A -> A { }; } system P;".into(),
            "where `default` is",
        ),
        (
            "typedef scalar[2] T; process P(const T t) { state A; init A; } process Q() { state A; init A; } system P < Q;"
                .into(),
            "priorities together with processes of a scalar type",
        ),
        (
            "int[0,9] v; clock x; process P() { state A, B { x <= v }; init A; trans A -> B { assign v = 3; }; } \
             process Q() { state A; init A; trans A -> A { }; } system Q < P;"
                .into(),
            "whose updates decide",
        ),
        (
            "clock x, y; process P() { state A; init A; trans A -> A { guard x + y < 2; }; } system P;".into(),
            "sums of clocks",
        ),
        (
            "clock x; process P() { state A { x' == 0 }, B; init A; trans A -> B { guard x == 0; }; } system P;".into(),
            "stopwatches",
        ),
        ("clock x; process P() { state A; init A; trans A -> A { guard x' == 1; }; } system P;".into(), "rates"),
        (
            "chan a; process P() { state A; init A; trans A -> A { sync a; }; } system P;".into(),
            "without sender",
        ),
        (
            "int f(int n) { return f(n - 1); } int v; clock c; process P() { state A; init A; \
             trans A -> A { assign v = f(3); }; } system P;"
                .into(),
            "recursion",
        ),
    ] {
        let message = refused(&text);
        assert!(message.contains(says), "{message}");
    }
}

#[test]
fn processes_of_a_scalar_type_are_a_family() {
    let text = "
        const int N = 4;
        typedef scalar[N] id_t;
        broadcast chan wake;
        id_t owner;
        clock c;
        process P(const id_t me) {
          clock x;
          state Asleep, Awake { x <= 2 };
          init Asleep;
          trans
            Asleep -> Awake { sync wake?; assign x = 0; },
            Asleep -> Awake { sync wake!; assign x = 0, owner = me; },
            Awake -> Asleep { guard x >= 1; };
        }
        system P;";
    let queries = "A[] forall (i : id_t) P(i).Awake imply P(i).x <= 2\nE<> forall (i : id_t) P(i).Awake\n\
                   A[] (exists (i : id_t) P(i).Awake) imply (exists (i : id_t) owner == i)\n\
                   A[] (sum (i : id_t) P(i).Awake) < 4";
    let mut sources = SourceMap::new();
    let id = sources.add("m.xta", text);
    let queries = sources.add("m.q", queries);
    let (model, diagnostics) = uppaal::load_xta(&sources, id, Some(queries), &Options::default());
    let model = model.unwrap_or_else(|| panic!("{diagnostics:?}"));
    let apart = verdicts(&model);
    assert_eq!(apart, [true, true, true, false]);
    // Counted and told apart, the answers are the same.
    let job = Job { symmetric: model.sorts.ids().collect(), ..Job::new(asked(&model)) };
    let counted = shoal_timed::check(&model, &job, &mut Quiet).unwrap();
    let counted: Vec<bool> =
        counted.results.iter().map(|result| matches!(result.verdict, Verdict::Holds)).collect();
    assert_eq!(counted, apart);
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
    assert!(read >= 110, "{read} read, {refused} refused");
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

/// Verdicts that other people have recorded: a part of the file's name, the query (none if the model has it), and whether it
/// holds. The first eight are what the tests of PyUPPAAL expect of UPPAAL (a trace of a violation or of a way to the goal is
/// there, or is not); the last four are the theorems about the protocols.
const RECORDED: &[(&str, Option<&str>, bool)] = &[
    ("test_unit/demo1.xml", None, false),
    ("test_unit/demo2.xml", None, false),
    ("test_unit/demo3.xml", None, true),
    ("test_integration/demo1.xml", None, false),
    ("test_integration/demo2.xml", None, false),
    ("test_integration/pedestrian.xml", None, false),
    ("test_integration/Pedestrian_new.xml", None, true),
    ("test_integration/test1.xml", None, true),
    ("xta/src/test/resources/fischer-2-32-64.xta", Some("A[] not (P(1).cs and P(2).cs)"), true),
    ("xta/src/test/resources/fischer-4-32-64.xta", Some("A[] not (P(1).cs and P(3).cs)"), true),
    ("xta/src/test/resources/lynch-2-16.xta", Some("A[] not (P(1).CS7 and P(2).CS7)"), true),
    ("xta/src/test/resources/lynch-4-16.xta", Some("A[] not (P(2).CS7 and P(4).CS7)"), true),
];

#[test]
fn recorded_verdicts() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus/timed");
    if !corpus.is_dir() {
        println!("skipped: no corpus");
        return;
    }
    let mut files = Vec::new();
    collect(&corpus, &mut files);
    for (name, query, expected) in RECORDED {
        let Some(file) = files.iter().find(|file| file.ends_with(name)) else {
            panic!("{name} is not there")
        };
        let text = fs::read_to_string(file).unwrap();
        let mut sources = SourceMap::new();
        let id = sources.add(*name, text);
        let (model, diagnostics) = match query {
            None => uppaal::load_xml(&sources, id, None, &Options::default()),
            Some(query) => {
                let query = sources.add("query.q", *query);
                uppaal::load_xta(&sources, id, Some(query), &Options::default())
            }
        };
        let model = model.unwrap_or_else(|| panic!("{name}: {diagnostics:?}"));
        let queries = asked(&model).into_iter().filter(|id| {
            use PropertyKind::{Cover, Deadlock, Invariant};
            matches!(model.properties[*id].kind, Invariant(_) | Cover(Some(_)) | Deadlock(_))
        });
        let queries: Vec<PropertyId> = queries.collect();
        let job = Job::new(queries);
        let outcome = shoal_timed::check(&model, &job, &mut Quiet).unwrap();
        let result = outcome.results.last().unwrap_or_else(|| panic!("{name}: no query"));
        assert_eq!(matches!(result.verdict, Verdict::Holds), *expected, "{name}: {:?}", result.verdict);
    }
}

/// Whether time passes would depend on whether an edge is possible, and that on how much time has passed: UPPAAL does not allow it
/// either. Locations in which no time passes are another matter, and so are guards on variables.
#[test]
fn a_guard_on_clocks_where_the_channel_is_urgent_is_refused() {
    let network = |channel: &str, sends: &str, receives: &str, first: &str| {
        format!(
            "clock x, y[2]; int v; urgent {channel} u; bool late() {{ return x > 3; }}
             process P() {{ state A, B; {first} init A; trans A -> B {{ {sends} sync u!; }}; }}
             process Q() {{ state A, B; init A; trans A -> B {{ {receives} sync u?; }}; }}
             system P, Q;"
        )
    };
    for channel in ["chan", "broadcast chan"] {
        for guard in ["guard x >= 1;", "guard v == 0 && y[v] < 2;", "guard x - y[0] < 1;", "guard late();"] {
            for (sends, receives) in [(guard, ""), ("", guard), (guard, guard)] {
                let (model, diagnostics) = load("m.xta", &network(channel, sends, receives, ""));
                let wrong = diagnostics.iter().any(|it| {
                    it.code.0 == "E0317"
                        && it.message.contains("a guard on clocks where the channel is urgent")
                });
                assert!(wrong && model.is_none(), "{channel}, {sends} {receives}: {diagnostics:?}");
            }
        }
        for first in ["", "urgent A;", "commit A;"] {
            let (model, diagnostics) =
                load("m.xta", &network(channel, "guard v == 0;", "guard v < 1;", first));
            assert!(model.is_some(), "{diagnostics:?}");
        }
    }
    let plain = network("chan", "guard x >= 1;", "", "urgent A;").replace("urgent chan", "chan");
    assert!(load("m.xta", &plain).0.is_some());
}

#[test]
fn a_second_initial_location_is_refused() {
    let (model, diagnostics) = load("m.xta", "process P() { state A, B; init A; init B; } system P;");
    assert!(model.is_none() && diagnostics.iter().any(|it| it.code.0 == "E0312"), "{diagnostics:?}");
    let xml = "<nta><declaration/><template><name>P</name><location id=\"a\"><name>A</name></location>\
        <location id=\"b\"/><init ref=\"a\"/><transition><source ref=\"a\"/><target ref=\"b\"/></transition>\
        </template><system>system P;</system></nta>";
    assert!(load("m.xml", xml).0.is_some());
    let (model, diagnostics) = load("m.xml", &xml.replace("<transition>", "<init ref=\"b\"/><transition>"));
    let told = diagnostics.iter().any(|it| it.message.contains("two elements `init`"));
    assert!(model.is_none() && told, "{diagnostics:?}");
    for (once, twice) in [("<name>P</name>", "name"), ("<source ref=\"a\"/>", "source")] {
        let (model, diagnostics) = load("m.xml", &xml.replace(once, &once.repeat(2)));
        let told = diagnostics.iter().any(|it| it.message.contains(&format!("two elements `{twice}`")));
        assert!(model.is_none() && told, "{diagnostics:?}");
    }
}
