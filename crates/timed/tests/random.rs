//! Random small systems: state-graphs with every sequence of reducers, zones with and without lumping must agree.

use shoal_model::{Job, Limits, Model, PropertyId, PropertyKind, Quiet, SortId, Strategy, Verdict};
use shoal_syntax::SourceMap;
use shoal_template::{Options, vpl};
use shoal_timed::{
    graphs::{Answer, Reducer, check},
    sequence,
    system::System,
};

/// Numbers from a seed.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }

    fn one_of<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.below(list.len() as u64) as usize]
    }
}

/// A family of automata with a lock, a flag, a clock each, random moves, and a random question.
fn system(seed: u64) -> String {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) + 1);
    let count = 2 + random.below(2);
    let modes = 2 + random.below(3);
    let mut text = format!(
        "automata A : i = 1..{count};\nclock x[1..total(A)];\nregister lock, flag;\nautomaton A[i] {{\n"
    );
    for mode in 0..modes {
        let invariant = random.one_of(&["True", "True", "x[i] <= 2", "x[i] < 1"]);
        text += &format!("  mode M{mode} {{ invariant {invariant};\n");
        for _ in 0..1 + random.below(2) {
            let target = random.below(modes);
            let mut guards = Vec::new();
            for _ in 0..random.below(3) {
                guards.push(random.one_of(&[
                    "lock = i",
                    "lock = 0",
                    "lock <> i",
                    "flag = 0",
                    "flag = 1",
                    "x[i] >= 1",
                    "x[i] > 2",
                    "x[i] < 2",
                    "x[i] = 1",
                ]));
            }
            let guard = if guards.is_empty() { "True".to_string() } else { guards.join(" and ") };
            let mut effects = String::new();
            for _ in 0..random.below(3) {
                effects += random.one_of(&[
                    "lock := i; ",
                    "lock := 0; ",
                    "flag := 1; ",
                    "flag := 0; ",
                    "x[i] := 0; ",
                    "x[i] := 0; ",
                ]);
            }
            text += &format!("    when {guard} may goto M{target}; {effects}\n");
        }
        text += "  }\n";
    }
    let (a, b) = (random.below(modes), random.below(modes));
    let question = match random.below(4) {
        0 => format!("forall i, j : A {{ i <> j implies not {{mode(A[i]) = M{a} and mode(A[j]) = M{b}}} }}"),
        1 => format!("not {{mode(A[1]) = M{a} and mode(A[2]) = M{b}}}"),
        2 => format!("forall i : A {{ mode(A[i]) = M{a} implies x[i] <= 2 }}"),
        _ => format!("forall i : A {{ not {{lock = i and flag = 1 and mode(A[i]) = M{a}}} }}"),
    };
    text + &format!("}}\nverify all_paths ( henceforth {question} );\n")
}

fn load(text: &str) -> Model {
    let mut sources = SourceMap::new();
    let id = sources.add("random.vpl", text);
    let (loaded, diagnostics) = vpl::load(&sources, id, &Options::default());
    loaded.unwrap_or_else(|| panic!("{diagnostics:?}\n{text}")).0
}

/// Whether the question is answered yes by the zone engine; a no is run again.
fn zones(model: &Model, property: PropertyId, symmetric: bool, text: &str) -> bool {
    let symmetry = shoal_analysis::symmetry(model);
    let sorts: Vec<SortId> =
        model.sorts.ids().filter(|sort| symmetric && symmetry.sorts[*sort].is_proved()).collect();
    let properties = vec![property];
    let job = Job {
        properties,
        symmetric: sorts,
        limits: Limits::default(),
        patience: None,
        jit: false,
        threads: 1,
        strategy: Strategy::default(),
    };
    let outcome = shoal_timed::check(model, &job, &mut Quiet).unwrap();
    match &outcome.results[0].verdict {
        Verdict::Holds => true,
        Verdict::Violated(violation) => {
            shoal_interpret::confirm(model, property, violation)
                .unwrap_or_else(|error| panic!("{error}\n{text}"));
            false
        }
        Verdict::Unknown(reason) => panic!("{reason}\n{text}"),
    }
}

#[test]
fn graphs_and_zones_agree() {
    let count = std::env::var("SHOAL_RANDOM_SYSTEMS").ok().and_then(|count| count.parse().ok()).unwrap_or(50);
    use Reducer::{Bypass, ReadWrite, ShieldClock, ShieldVariables, Symmetry};
    let sequences: [&[Reducer]; 11] = [
        &[],
        &[ReadWrite],
        &[ShieldClock],
        &[ShieldVariables],
        &[Symmetry],
        &[Bypass],
        &[ReadWrite, ShieldClock],
        &[ReadWrite, ShieldClock, Symmetry],
        &[ReadWrite, Symmetry, ShieldClock],
        &[ReadWrite, ShieldVariables, ShieldClock, Symmetry],
        &[ReadWrite, Bypass],
    ];
    let (mut yes, mut no) = (0, 0);
    for seed in 0..count {
        let text = system(seed);
        let model = load(&text);
        let asked = model
            .properties
            .enumerate()
            .find(|(_, property)| matches!(property.kind, PropertyKind::Invariant(_)));
        let property = asked.unwrap().0;
        let expected = zones(&model, property, true, &text);
        assert_eq!(zones(&model, property, false, &text), expected, "seed {seed}\n{text}");
        let system = System::new(&model).unwrap();
        for reducers in sequences {
            let graph = sequence::fold(&system, reducers, usize::MAX, &mut |_, _| {}).unwrap();
            let answer = check(&system, &graph, property).unwrap();
            let holds = matches!(answer, Answer::Holds);
            assert_eq!(holds, expected, "seed {seed}, {reducers:?}: {answer:?}\n{text}");
        }
        if expected { yes += 1 } else { no += 1 }
    }
    assert!(yes > count / 10 && no > count / 10, "{yes} yes, {no} no");
}
