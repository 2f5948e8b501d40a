//! What was proved, by brute force: in every reachable state each automorphism takes the steps to the steps of the image.

#[path = "../../shoal/tests/random/pids.rs"]
mod pids;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use shoal_automorphism::{Automorphisms, MOST_EFFORT, automorphisms};
use shoal_interpret::{Firing, Interpreter};
use shoal_model::{Model, PropertyKind, State, Type, TypeId, Value, Watch};
use shoal_syntax::SourceMap;

fn promela(text: &str) -> Model {
    let mut sources = SourceMap::new();
    let id = sources.add("model.pml", text);
    let (model, diagnostics) = shoal_promela::load(&sources, id, &shoal_promela::Options::default());
    model.unwrap_or_else(|| panic!("{diagnostics:?}\n{text}"))
}

fn murphi(text: &str) -> Model {
    let mut sources = SourceMap::new();
    let id = sources.add("model.m", text);
    let (model, diagnostics) = shoal_murphi::load(&sources, id, &shoal_murphi::Options::default());
    model.unwrap_or_else(|| panic!("{diagnostics:?}\n{text}"))
}

fn find(model: &Model) -> Result<Automorphisms, &'static str> {
    let properties: Vec<_> = model.properties.ids().collect();
    automorphisms(model, &properties, &Watch::default(), MOST_EFFORT)
}

/// The codes of the cells of a state.
fn codes(model: &Model, state: &State) -> Vec<i64> {
    fn flatten(model: &Model, ty: TypeId, value: &Value, into: &mut Vec<i64>) {
        match (model.kind(ty), value) {
            (Type::Record { fields }, Value::Record(parts)) => {
                fields
                    .iter()
                    .zip(parts.iter())
                    .for_each(|(field, part)| flatten(model, field.ty, part, into));
            }
            (Type::Array { element, .. }, Value::Array(parts)) => {
                parts.iter().for_each(|part| flatten(model, *element, part, into));
            }
            (_, value) => into.push(model.ordinal(ty, value).map_or(0, |ordinal| ordinal as i64 + 1)),
        }
    }
    let mut cells = Vec::new();
    for (var, value) in model.vars.iter().zip(&state.values) {
        flatten(model, var.ty, value, &mut cells);
    }
    cells
}

type Cells = Vec<i64>;
type Mirror<'a> = Box<dyn Fn(&Cells) -> Cells + 'a>;

/// The reachable states, and what comes of each: states, and faults with what else is seen.
struct Graph {
    steps: BTreeMap<Cells, (BTreeSet<Cells>, BTreeSet<String>)>,
}

fn explore(model: &Model, most: usize) -> Option<Graph> {
    let interpreter = Interpreter::new(model).expect("the model can be run");
    let mut steps = BTreeMap::new();
    let mut waiting: VecDeque<State> = VecDeque::new();
    let mut seen = BTreeSet::new();
    for (_, _, branch) in interpreter.starts_up_to(1000) {
        if let Firing::State(state) = branch.result
            && seen.insert(codes(model, &state))
        {
            waiting.push_back(state);
        }
    }
    while let Some(state) = waiting.pop_front() {
        let found = interpreter.steps(&state);
        let mut next = BTreeSet::new();
        let mut events = BTreeSet::new();
        for (_, branch) in found.branches {
            match branch.result {
                Firing::State(after) => {
                    let cells = codes(model, &after);
                    next.insert(cells.clone());
                    if seen.insert(cells) {
                        waiting.push_back(after);
                    }
                }
                Firing::Fault(fault) => {
                    events.insert(match fault.kind {
                        shoal_model::FaultKind::Assertion(property) => format!("{property:?}"),
                        _ => "fault".into(),
                    });
                }
                Firing::Discarded => {}
            }
        }
        events.extend((!found.faults.is_empty()).then(|| "guard".to_string()));
        for (id, property) in model.properties.enumerate() {
            if let PropertyKind::Temporal(..) = property.kind {
                continue;
            }
            for condition in property.kind.conditions() {
                events.insert(format!("{id:?} {:?}", interpreter.holds(&state, condition).ok()));
            }
        }
        steps.insert(codes(model, &state), (next, events));
        if seen.len() > most {
            return None;
        }
    }
    Some(Graph { steps })
}

/// Some permutations that make up the group: neighbours in a family exchanged, and each image.
fn generators(found: &Automorphisms) -> Vec<Mirror<'_>> {
    let mut all: Vec<Mirror<'_>> = Vec::new();
    for family in &found.families {
        for left in family.start..family.end - 1 {
            let swap = move |element: usize| match element {
                _ if element == left => left + 1,
                _ if element == left + 1 => left,
                _ => element,
            };
            all.push(Box::new(move |cells: &Cells| {
                let renamed = |cell: u32| {
                    let code = cells[cell as usize];
                    let names = found.names.iter().find(|names| names.cell == cell);
                    let named = names.and_then(|names| {
                        let (_, element, way) = names.named.iter().find(|(it, ..)| *it == code)?;
                        let to = (swap(*element as usize) as u32, *way);
                        names.named.iter().find(|(_, it, its)| (*it, *its) == to).map(|it| it.0)
                    });
                    named.unwrap_or(code)
                };
                let mut image: Cells = (0..cells.len() as u32).map(renamed).collect();
                for element in [left, left + 1] {
                    for (from, to) in found.blocks[element].iter().zip(&found.blocks[swap(element)]) {
                        image[*to as usize] = renamed(*from);
                    }
                }
                image
            }));
        }
    }
    for image in &found.images {
        all.push(Box::new(move |cells: &Cells| {
            let mut renamed = cells.clone();
            for (cell, renames) in &image.renames {
                let code = cells[*cell as usize];
                renamed[*cell as usize] = renames.iter().find(|(it, _)| *it == code).map_or(code, |it| it.1);
            }
            let mut moved = renamed.clone();
            for (from, to) in &image.moves {
                moved[*to as usize] = renamed[*from as usize];
            }
            moved
        }));
    }
    all
}

/// Checks every automorphism in every state; gives how many states and orbits there are.
fn check(text: &str, model: &Model, found: &Automorphisms, graph: &Graph) -> (usize, usize) {
    let applies =
        |cells: &Cells| found.given.iter().all(|(cell, codes)| codes.contains(&cells[*cell as usize]));
    let generators = generators(found);
    let mut orbit: BTreeMap<&Cells, usize> = BTreeMap::new();
    let mut orbits = 0;
    for (state, (next, events)) in &graph.steps {
        if applies(state) {
            assert!(next.iter().all(&applies), "{}: it does not stay\n{text}", model.name);
        }
        for by in generators.iter().filter(|_| applies(state)) {
            let image = by(state);
            // Starts need not be symmetric: not every image is reached.
            let Some((steps, seen)) = graph.steps.get(&image) else { continue };
            let expected: BTreeSet<Cells> = next.iter().map(by).collect();
            assert_eq!(steps, &expected, "steps of the image of {state:?}\n{text}");
            assert_eq!(seen, events, "what is seen in the image of {state:?}\n{text}");
        }
        if orbit.contains_key(state) {
            continue;
        }
        orbits += 1;
        let mut waiting = vec![state.clone()];
        let mut known: BTreeSet<Cells> = waiting.iter().cloned().collect();
        while let Some(one) = waiting.pop() {
            if let Some((reached, _)) = graph.steps.get_key_value(&one) {
                orbit.insert(reached, orbits);
            }
            if applies(&one) {
                for image in generators.iter().map(|by| by(&one)) {
                    if known.insert(image.clone()) {
                        waiting.push(image);
                    }
                }
            }
        }
    }
    (graph.steps.len(), orbits)
}

fn expect(model: &Model, text: &str, which: &[&str], counts: (usize, usize)) {
    let found = find(model).unwrap_or_else(|why| panic!("{why}\n{text}"));
    assert_eq!(found.which, which, "{text}");
    let graph = explore(model, 200_000).expect("the model is small");
    assert_eq!(check(text, model, &found, &graph), counts, "{text}");
}

const MUTEX: &str = "mtype = { N, T, C }; mtype st[5] = N;
proctype user() {
  do
  :: d_step { st[_pid] == N -> st[_pid] = T }
  :: d_step { st[_pid] == T && (st[1] != C && st[2] != C && st[3] != C && st[4] != C) -> st[_pid] = C }
  :: d_step { st[_pid] == C -> st[_pid] = N }
  od
}
init { atomic { run user(); run user(); run user(); run user() } }";

#[test]
fn processes_that_index_arrays_by_their_number() {
    expect(&promela(MUTEX), MUTEX, &["4 of user in any order"], (49, 10));
}

const MAIL: &str = "chan box[3] = [1] of { byte, byte }; chan net = [1] of { byte, byte };
proctype client(chan in; byte me) {
  byte from, to;
  do
  :: atomic { in ? from, to; assert(to == me); from = 0; to = 0 }
  :: atomic { nfull(net) -> if :: to = 1 :: to = 2 :: to = 3 fi; net ! me, to; to = 0 }
  od
}
active proctype mailer() {
  byte from, to;
  do
  :: atomic { net ? from, to -> box[to - 1] ! from, to; from = 0; to = 0 }
  od
}
init { atomic { run client(box[0], 1); run client(box[1], 2); run client(box[2], 3) } }";

#[test]
fn processes_with_channels_and_names_in_messages() {
    let model = promela(MAIL);
    let found = find(&model).unwrap_or_else(|why| panic!("{why}"));
    assert_eq!(found.which, ["3 of client in any order"]);
    let graph = explore(&model, 200_000).expect("the model is small");
    let (states, orbits) = check(MAIL, &model, &found, &graph);
    assert!(orbits * 5 < states, "{states} states, {orbits} orbits");
}

const TIERS: &str = "mtype = { ask, answer };
chan link[2] = [1] of { mtype, chan }; chan back[4] = [1] of { mtype };
proctype client(chan in, out) { do :: out ! ask, in; in ? answer od }
proctype server(chan in) { chan who; do :: in ? ask, who; who ! answer; who = 0 od }
init { atomic {
  run server(link[0]); run server(link[1]);
  run client(back[0], link[0]); run client(back[1], link[0]);
  run client(back[2], link[1]); run client(back[3], link[1])
} }";

#[test]
fn groups_of_processes_are_exchanged_as_a_whole() {
    let model = promela(TIERS);
    let found = find(&model).unwrap_or_else(|why| panic!("{why}"));
    assert_eq!(found.which, ["2 of client in any order", "2 of client in any order", "1 other"]);
    let graph = explore(&model, 200_000).expect("the model is small");
    let (states, orbits) = check(TIERS, &model, &found, &graph);
    assert!(orbits * 5 < states, "{states} states, {orbits} orbits");
}

const RING: &str = "const N: 5; type P: 0..N-1; var token: array [P] of boolean; busy: array [P] of boolean;
startstate for i: P do token[i] := i = 0; busy[i] := false; end end;
ruleset i: P do
  rule token[i] & !busy[i] ==> begin busy[i] := true end;
  rule token[i] ==> begin token[i] := false; busy[i] := false; token[(i + 1) % N] := true end;
end;
invariant forall i: P do forall j: P do token[i] & token[j] -> i = j end end";

#[test]
fn rings_are_turned() {
    expect(&murphi(RING), RING, &["4 others"], (10, 2));
}

const PHILOSOPHERS: &str = "const N: 5; type P: 0..N-1; var fork: array [P] of boolean; eats: array [P] of boolean;
startstate for i: P do fork[i] := true; eats[i] := false; end end;
ruleset i: P do
  rule fork[i] & fork[(i + 1) % N] ==> begin fork[i] := false; fork[(i + 1) % N] := false; eats[i] := true end;
  rule eats[i] ==> begin fork[i] := true; fork[(i + 1) % N] := true; eats[i] := false end;
end";

#[test]
fn rings_are_turned_and_reflected() {
    expect(&murphi(PHILOSOPHERS), PHILOSOPHERS, &["9 others"], (11, 3));
}

/// Nothing is found where a process is told apart.
#[test]
fn what_is_told_apart_is_not_exchanged() {
    let told = [
        ("st[1] != C && st[2] != C && st[3] != C && st[4] != C", "st[1] != C && st[2] != C && st[3] != C", 3),
        ("st[_pid] = C }", "st[_pid] = C; st[2] = N }", 3),
    ];
    for (from, to, members) in told {
        let text = MUTEX.replace(from, to);
        assert_ne!(text, MUTEX);
        let model = promela(&text);
        let found = find(&model).unwrap_or_else(|why| panic!("{why}\n{text}"));
        assert_eq!(found.which, [format!("{members} of user in any order")], "{text}");
        check(&text, &model, &found, &explore(&model, 100_000).expect("the model is small"));
    }
    // Who has the highest number goes first.
    let text = MUTEX.replace(
        "st[_pid] == N -> st[_pid] = T",
        "st[_pid] == N && last < _pid -> st[_pid] = T; last = _pid",
    );
    let text = text.replace("mtype st[5] = N;", "mtype st[5] = N; byte last;");
    assert!(find(&promela(&text)).is_err(), "{text}");
}

#[test]
fn random_models_are_as_symmetric_as_is_proved() {
    let mut seed =
        std::env::var("PROPTEST_RNG_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1_u64);
    let cases = std::env::var("SHOAL_RANDOM_MODELS").ok().and_then(|it| it.parse().ok()).unwrap_or(150);
    let (mut checked, mut reduced) = (0, 0);
    for _ in 0..cases {
        let mut next = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 56) as u8
        };
        let bytes: Vec<u8> = (0..60).map(|_| next()).collect();
        let text = pids::model(&bytes);
        let model = promela(&text);
        let Ok(found) = find(&model) else { continue };
        let Some(graph) = explore(&model, 3000) else { continue };
        let (states, orbits) = check(&text, &model, &found, &graph);
        checked += 1;
        reduced += usize::from(orbits < states);
    }
    assert!(
        checked * 20 > cases && reduced * 40 > cases,
        "{checked} of {cases}, {reduced} with fewer orbits"
    );
}
