//! UPPAAL models that number their processes: where the numbers only tell processes apart they are reduced by symmetry, and what is
//! said of them is what is said where they are numbers.

use shoal::{CheckOptions, LoadOptions, Loaded, Quiet, Report, Sources, Verdict, check, load_sources};
use shoal_syntax::SourceMap;

use crate::random::{compared, dose, salt};

const FISCHER: &str = "const int N = 4; typedef int[1,N] id_t; int id;
    process P(const id_t pid) { clock x; const int k = 2; state A, req { x <= k }, wait, cs; init A; trans
      A -> req { guard id == 0; assign x := 0; }, req -> wait { guard x <= k; assign x := 0, id := pid; },
      wait -> req { guard id == 0; assign x := 0; }, wait -> cs { guard x > k && id == pid; },
      cs -> A { assign id := 0; }; }
    system P;";
const EXCLUSION: &str = "A[] forall (i : id_t) forall (j : id_t) P(i).cs && P(j).cs imply i == j";

fn load(text: &str, queries: &str) -> Loaded {
    let sources = Sources::text("m.xta", text.to_string()).with("m.q", queries.to_string());
    load_sources(&sources, &LoadOptions::default()).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// The model with numbers.
fn plain(text: &str, queries: &str) -> Loaded {
    let mut sources = SourceMap::new();
    let id = sources.add("m.xta", text);
    let queries = sources.add("m.q", queries);
    let (model, diagnostics) =
        shoal_uppaal::load_xta(&sources, id, Some(queries), &shoal_template::Options::default());
    let model = model.unwrap_or_else(|| panic!("{diagnostics:?}\n{text}"));
    Loaded::of_model(model).unwrap_or_else(|error| panic!("{error}"))
}

fn decide(loaded: &Loaded, symmetry: bool) -> Report {
    let options = CheckOptions { symmetry, ..CheckOptions::default() };
    check(loaded, &options, &mut Quiet).unwrap_or_else(|error| panic!("{error}"))
}

/// The verdicts by the names of properties.
fn verdicts(loaded: &Loaded, report: &Report) -> Vec<(String, &'static str)> {
    let word = |verdict: &Verdict| match verdict {
        Verdict::Holds => "holds",
        Verdict::Violated(_) => "violated",
        Verdict::Unknown(_) => "unknown",
    };
    let results = report.outcome.results.iter();
    let mut all: Vec<_> = results
        .map(|result| (loaded.model.properties[result.property].name.clone(), word(&result.verdict)))
        .collect();
    all.sort();
    all
}

#[test]
fn numbered_processes_are_interchangeable_where_numbers_are_only_compared() {
    let queries = format!("{EXCLUSION}\nA[] not deadlock\nP(1).req --> P(1).wait\nE<> P(2).cs");
    let (alike, numbers) = (load(FISCHER, &queries), plain(FISCHER, &queries));
    assert_eq!((alike.model.sorts.len(), numbers.model.sorts.len()), (1, 0));
    let report = decide(&alike, true);
    assert_eq!(verdicts(&alike, &report), verdicts(&numbers, &decide(&numbers, true)));
    assert!(verdicts(&alike, &report).iter().all(|(_, word)| *word == "holds"));
    let states = |loaded: &Loaded| decide(loaded, true).outcome.statistics.states;
    let (alike, numbers) = (load(FISCHER, EXCLUSION), plain(FISCHER, EXCLUSION));
    assert!(states(&alike) * 4 < states(&numbers), "{} of {}", states(&alike), states(&numbers));
}

#[test]
fn what_orders_or_names_processes_keeps_their_numbers() {
    for (was, now) in [
        ("id == pid; },", "id >= pid; },"),
        ("cs -> A { assign id := 0; }", "cs -> A { assign id := pid - pid; }"),
        ("cs -> A { assign id := 0; }", "cs -> A { assign id := pid % 2; }"),
        ("guard x <= k; assign", "guard x <= k && pid != 2; assign"),
    ] {
        let text = FISCHER.replace(was, now);
        assert_ne!(text, FISCHER);
        assert_eq!(load(&text, EXCLUSION).model.sorts.len(), 0, "{now}");
    }
}

#[test]
fn a_number_that_no_process_has_is_nobody_and_two_of_them_are_numbers() {
    let text = FISCHER.replace("int id;", "int[-1,N] id = -1;").replace("id == 0", "id == -1");
    let text = text.replace("id := 0", "id := -1");
    assert_eq!(load(&text, EXCLUSION).model.sorts.len(), 1);
    let two = text.replace("cs -> A { assign id := -1; }", "cs -> A { assign id := 0; }");
    assert_eq!(load(&two, EXCLUSION).model.sorts.len(), 0);
    // What nobody does not fit into would fault, and a null reference would not.
    let narrow = FISCHER.replace("int id;", "int[0,N] id; int[1,N] last = 1;");
    let narrow = narrow.replace("cs -> A { assign id := 0; }", "cs -> A { assign id := 0, last := id; }");
    let loaded = load(&narrow, EXCLUSION);
    assert_eq!(loaded.model.sorts.len(), 0);
    let said = verdicts(&loaded, &decide(&loaded, true));
    assert!(said.contains(&("no run-time errors".into(), "violated")), "{said:?}");
}

/// A small network of processes that take, pass on and give back, with clocks.
fn network(random: &mut impl FnMut(usize) -> usize) -> (String, String) {
    const GUARDS: [&str; 17] = [
        "holder == 0",
        "holder == me",
        "holder != me",
        "own == me",
        "last == me",
        "last != me",
        "x >= 1",
        "x <= 2",
        "x == 1",
        "x == 2 && g == 0",
        "x == 2 && g <= 1",
        "x == 3 && holder == me",
        "x > 1 && holder == me",
        "free",
        "!free",
        "mark[me]",
        "forall (i : id_t) !mark[i] || i == me",
    ];
    const UPDATES: [&str; 14] = [
        "x := 0",
        "holder := me",
        "holder := 0",
        "last := me",
        "free := !free",
        "mark[me] := true",
        "mark[me] := false",
        "holder := last",
        "last := me, x := 0",
        "own := me",
        "own := holder",
        "own := 0",
        "holder := own",
        "last := holder",
    ];
    const PLACES: [&str; 3] = ["A", "B", "C"];
    let mut edges = Vec::new();
    for _ in 0..3 + random(4) {
        let (from, to) = (PLACES[random(3)], PLACES[random(3)]);
        let guard = match random(4) {
            0 => String::new(),
            _ => format!("guard {};", GUARDS[random(GUARDS.len())]),
        };
        let sync = ["", "", "sync go!;", "sync go?;", "sync to[me]!;", "sync to[last]?;"][random(6)];
        edges.push(format!("{from} -> {to} {{ {guard} {sync} assign {}; }}", UPDATES[random(UPDATES.len())]));
    }
    let holder = ["int holder;", "int[0,N] holder;"][random(2)];
    let own = ["int[1,N] own = 1;", "int[0,N] own;"][random(2)];
    let invariant = ["", " { x <= 2 }"][random(2)];
    let still = ["", "", "commit A;", "urgent A;"][random(4)];
    let text = format!(
        "const int N = {}; typedef int[1,N] id_t; {holder} {own} id_t last = 1; bool free; bool mark[id_t]; chan go, to[id_t]; clock g;
         process P(const id_t me) {{ clock x; state A, B{invariant}, C; {still} init A; trans {}; }} system P;",
        2 + random(2),
        edges.join(", ")
    );
    const QUERIES: [&str; 8] = [
        "A[] not deadlock",
        "A[] forall (i : id_t) P(i).C imply holder == i",
        "E<> P(1).B && P(2).C",
        "E<> holder == 2 && free",
        "A[] forall (i : id_t) forall (j : id_t) P(i).B && P(j).B imply i == j",
        "A<> P(1).B",
        "P(2).B --> P(2).A",
        "E<> exists (i : id_t) last == i && P(i).x > 2",
    ];
    let queries: Vec<&str> =
        QUERIES.into_iter().filter(|query| query == &QUERIES[0] || random(2) == 0).collect();
    (text, queries.join("\n"))
}

#[test]
fn random_networks_have_the_same_verdicts_with_numbers_and_with_elements() {
    let mut state = salt() | 1;
    let mut random = move |bound: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % bound as u64) as usize
    };
    let mut reduced = 0;
    for _ in 0..dose(40) {
        let (text, queries) = network(&mut random);
        let (alike, numbers) = (load(&text, &queries), plain(&text, &queries));
        reduced += u32::from(!alike.model.sorts.is_empty());
        let expected = verdicts(&numbers, &decide(&numbers, true));
        for symmetry in [true, false] {
            let said = verdicts(&alike, &decide(&alike, symmetry));
            assert_eq!(said, expected, "symmetry {symmetry}\n{text}\n{queries}");
        }
        compared("numbered processes");
    }
    assert!(reduced > 0, "dull: nothing was reduced");
}

/// A clock that is compared for equality was taken for the cell before it, and so not counted among what is compared.
#[test]
fn equality_bounds_a_clock_of_an_element() {
    let apart = "typedef TYPE id_t; clock g; int[0,9] v;
        process P(const id_t me) { clock x; state A, B; init A; trans A -> B { guard x == 2 && g == 0; assign v := 7; }; } system P;";
    let still = "typedef TYPE id_t; int[0,9] v;
        process P(const id_t me) { clock x; state A, B, C; STILL A; init A; trans A -> B { guard x == 3; assign v := 7; }, A -> C { }; } system P;";
    let queries = "A[] forall (i : id_t) !P(i).B\nA[] v == 0\nE<> exists (i : id_t) P(i).B\nE<> v == 7";
    for sort in ["int[1,2]", "scalar[2]"] {
        for text in [apart, &still.replace("STILL", "commit"), &still.replace("STILL", "urgent")] {
            let loaded = load(&text.replace("TYPE", sort), queries);
            for symmetry in [true, false] {
                let said = verdicts(&loaded, &decide(&loaded, symmetry));
                for (query, word) in queries.lines().zip(["holds", "holds", "violated", "violated"]) {
                    assert!(said.contains(&(query.into(), word)), "symmetry {symmetry}\n{text}\n{said:?}");
                }
            }
        }
    }
}

#[test]
fn words_bind_as_their_symbols_do() {
    let text = "bool o = false; bool a = true; bool b = false; clock x;
        process W() { state work { x <= 8 }, wait; init work; trans work -> wait { guard not o && x == 8; }; } system W;";
    let queries = "A[] (W.wait imply x >= 8)\nE<> not a || a\nA[] a or b && b\nA[] not b == a";
    let loaded = load(text, queries);
    let said = verdicts(&loaded, &decide(&loaded, true));
    assert!(said.iter().all(|(_, word)| *word == "holds"), "{said:?}");
}

#[test]
fn what_an_xml_file_does_not_ask_is_asked_by_the_file_beside_it() {
    let xml = |queries: &str| {
        format!(
            "<nta><declaration>int i;</declaration><template><name>P</name><location id=\"a\"><name>A</name></location>\
             <init ref=\"a\"/></template><system>system P;</system>{queries}</nta>"
        )
    };
    let own = "<queries><query><formula>E&lt;&gt; i == 1</formula><comment/></query></queries>";
    for (queries, expected) in [("", "A[] P.A"), (own, "E<> i == 1")] {
        let sources = Sources::text("m.xml", xml(queries)).with("m.q", "A[] P.A");
        let loaded = load_sources(&sources, &LoadOptions::default()).unwrap();
        let asked: Vec<&str> =
            loaded.model.properties.iter().map(|property| property.name.as_str()).collect();
        assert!(
            asked.contains(&expected)
                && asked.iter().filter(|name| name.contains("P.A") || name.contains("i ==")).count() == 1,
            "{asked:?}"
        );
    }
}
