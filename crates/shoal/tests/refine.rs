//! Refinement against brute force: one thread of a random program among a few threads of a random specification.

use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};

use shoal::{Error, LoadOptions, Loaded, Quiet, Refined, Watch, load_text, refine};
use shoal_interpret::{Firing, Interpreter};
use shoal_model::{State, Value};

/// Numbers that look random.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % limit as u64) as usize
    }

    fn pick<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.below(list.len())]
    }
}

fn random_program(random: &mut Random) -> String {
    let lines = 3 + random.below(4);
    let mut text = "decl a := F, b := F;\nvoid main() begin\n  decl x;\n  x := F;\n".to_string();
    for line in 0..lines {
        let stmt = match random.below(7) {
            0 => format!("goto L{}, L{}", random.below(lines), random.below(lines)),
            1 => format!("assume({})", random.pick(&["a", "!a", "b", "!b", "x", "!x"])),
            2 => format!("{} := T constrain !{}", "a", "a"),
            3 => format!("x := {}", random.pick(&["a", "b", "*", "!x"])),
            4 => format!("if {} then b := x; fi", random.pick(&["a", "x", "*"])),
            _ => {
                format!("{} := {}", random.pick(&["a", "b"]), random.pick(&["T", "F", "x", "!a", "!b", "*"]))
            }
        };
        text.push_str(&format!("  L{line}: {stmt};\n"));
    }
    text.push_str("  goto L0;\nend\n");
    text
}

type Edge = (usize, usize, usize, usize);

/// One thread of a program, by the interpreter: local states have numbers.
struct Thread<'m> {
    interpreter: Interpreter<'m>,
    locals: Vec<Vec<Value>>,
    start: usize,
}

impl<'m> Thread<'m> {
    fn new(loaded: &'m Loaded) -> Thread<'m> {
        let interpreter = Interpreter::new(&loaded.model).unwrap();
        let (start, args) = interpreter.start_instances().remove(0);
        let Firing::State(state) = interpreter.run_start(start, &args).remove(0).result else {
            panic!("a start")
        };
        let mut thread = Thread { interpreter, locals: Vec::new(), start: 0 };
        (_, thread.start) = thread.split(&state);
        thread
    }

    /// The variables a and b are the first two.
    fn split(&mut self, state: &State) -> (usize, usize) {
        let bit = |at: usize| usize::from(state.values[at] == Value::Bool(true));
        let local = state.values[2..].to_vec();
        let known = self.locals.iter().position(|known| *known == local);
        let number = known.unwrap_or_else(|| {
            self.locals.push(local);
            self.locals.len() - 1
        });
        (bit(0) + 2 * bit(1), number)
    }

    fn next(&mut self, shared: usize, local: usize) -> BTreeSet<(usize, usize)> {
        let mut state = self.interpreter.model().blank_state();
        state.values = vec![Value::Bool(shared & 1 == 1), Value::Bool(shared & 2 == 2)];
        state.values.extend(self.locals[local].iter().cloned());
        let branches = self.interpreter.steps(&state).branches;
        let mut all = BTreeSet::new();
        for (_, branch) in branches {
            if let Firing::State(state) = branch.result {
                all.insert(self.split(&state));
            }
        }
        all
    }
}

/// A specification made of the program itself: local states are thrown together, and some edges are left out.
fn random_spec(random: &mut Random, thread: &mut Thread<'_>) -> (usize, usize, Vec<Edge>) {
    let mut steps = Vec::new();
    let mut local = 0;
    while local < thread.locals.len() {
        for shared in 0..4 {
            let next = thread.next(shared, local);
            steps.extend(next.into_iter().map(|(to, after)| (shared, local, to, after)));
        }
        local += 1;
    }
    let classes = 1 + random.below(thread.locals.len());
    let class: Vec<usize> = thread
        .locals
        .iter()
        .enumerate()
        .map(|(at, _)| if random.below(3) == 0 { random.below(classes) } else { at })
        .collect();
    let edges: BTreeSet<Edge> = steps.iter().map(|(s, l, t, m)| (*s, class[*l], *t, class[*m])).collect();
    let mut edges: Vec<Edge> = edges.into_iter().filter(|(s, l, t, m)| (s, l) != (t, m)).collect();
    for _ in 0..random.below(8) {
        if !edges.is_empty() {
            edges.remove(random.below(edges.len()));
        }
    }
    (thread.locals.len(), class[thread.start], edges)
}

/// Whether a thread of the program leaves the specification among so many threads of the specification.
fn leaves(thread: &mut Thread<'_>, initial: usize, edges: &[Edge], others: usize) -> Option<bool> {
    let mut after: BTreeMap<(usize, usize), Vec<(usize, usize)>> = BTreeMap::new();
    for (s, l, t, m) in edges {
        after.entry((*s, *l)).or_default().push((*t, *m));
    }
    let next = |shared: usize, local: usize| after.get(&(shared, local)).cloned().unwrap_or_default();
    let closed = |shared: usize, set: BTreeSet<usize>| {
        let mut set = set;
        let mut open: Vec<usize> = set.iter().copied().collect();
        while let Some(local) = open.pop() {
            open.extend(
                next(shared, local)
                    .into_iter()
                    .filter(|to| to.0 == shared && set.insert(to.1))
                    .map(|to| to.1),
            );
        }
        set
    };
    let start = (0, thread.start, vec![initial; others], closed(0, BTreeSet::from([initial])));
    let mut seen = HashSet::from([start.clone()]);
    let mut open = VecDeque::from([start]);
    while let Some((shared, local, threads, set)) = open.pop_front() {
        if seen.len() > 20_000 {
            return None;
        }
        let mut found = Vec::new();
        for (to, after) in thread.next(shared, local) {
            let set = match to == shared {
                true => set.clone(),
                false => {
                    let all = set.iter().flat_map(|local| next(shared, *local));
                    closed(to, all.filter(|pair| pair.0 == to).map(|pair| pair.1).collect())
                }
            };
            if set.is_empty() {
                return Some(true);
            }
            found.push((to, after, threads.clone(), set));
        }
        for at in 0..others {
            for (to, after) in next(shared, threads[at]) {
                let mut threads = threads.clone();
                threads[at] = after;
                threads.sort_unstable();
                found.push((to, local, threads, closed(to, set.clone())));
            }
        }
        open.extend(found.into_iter().filter(|node| seen.insert(node.clone())));
    }
    Some(false)
}

fn answer(program: &str, spec: &str, init: &str) -> Result<Refined, Error> {
    let begins = if init.contains('/') { "unbounded" } else { "single" };
    let of = |init: &str| LoadOptions { init: Some(init.into()), ..LoadOptions::default() };
    let program = load_text("p.bp", program, &of(begins))?;
    let spec = load_text("s.tts", spec, &LoadOptions { target: Some("0|".into()), ..of(init) })?;
    refine(&program, &spec, &Watch::default(), &mut Quiet)
}

#[test]
fn refinement_agrees_with_brute_force() {
    let (mut yes, mut no, mut careful) = (0, 0, 0);
    for seed in 1..=120u64 {
        let mut random = Random((seed ^ crate::random::salt()).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let program = random_program(&mut random);
        let one = LoadOptions {
            init: Some("unbounded".into()),
            set: vec![("Thread".into(), 1)],
            ..LoadOptions::default()
        };
        let loaded = load_text("p.bp", program.as_str(), &one).unwrap();
        let mut thread = Thread::new(&loaded);
        let (locals, initial, edges) = random_spec(&mut random, &mut thread);
        let mut spec = format!("4 {locals}\n");
        for (s, l, t, m) in &edges {
            spec.push_str(&format!("{s} {l} -> {t} {m}\n"));
        }
        let shown = format!("seed {seed}\n{program}\n{spec}");
        let alone = answer(&program, &spec, &format!("0|{initial}")).unwrap();
        let left = leaves(&mut thread, initial, &edges, 0);
        if let Some(left) = left {
            assert_eq!(matches!(alone, Refined::No(_)), left, "alone, {shown}");
        }
        let found = answer(&program, &spec, &format!("0/{initial}")).unwrap();
        let left = (0..=3).any(|others| leaves(&mut thread, initial, &edges, others) == Some(true));
        match found {
            Refined::Yes(_) => {
                assert!(!left, "refinement is claimed, {shown}");
                yes += 1;
            }
            // Views of pairs may let the others do what no number of them can.
            _ if !left => careful += 1,
            _ => no += 1,
        }
    }
    assert!(yes > 25 && no > 25 && careful < 5, "dull: {yes} yes, {no} no, {careful} no without need");
}

#[test]
fn an_atomic_section_is_one_step() {
    let program = "decl a := F, b := F; void main() begin atomic_begin; a := T; b := T; atomic_end; end";
    assert!(matches!(answer(program, "4 2\n0 0 -> 3 1\n", "0/0").unwrap(), Refined::Yes(_)));
    let Refined::No(offence) = answer(program, "4 2\n0 0 -> 1 1\n1 1 -> 3 0\n", "0/0").unwrap() else {
        panic!("it does not refine")
    };
    assert_eq!((offence.shared, offence.locals), ((Some(0), Some(3)), vec![0]));
}

#[test]
fn failures_and_beginnings_are_offences() {
    let fails = "decl a := F; void main() begin assert(a); end";
    let Refined::No(offence) = answer(fails, "2 1\n", "0/0").unwrap() else { panic!("it fails") };
    assert!(offence.fault.is_some() && offence.steps.len() == 1);
    // Others may raise it before, but they need not.
    assert!(matches!(answer(fails, "2 1\n0 0 -> 1 0\n", "0/0").unwrap(), Refined::No(_)));
    let begins = "decl a := T; void main() begin skip; end";
    let Refined::No(offence) = answer(begins, "2 1\n", "0/0").unwrap() else { panic!("it begins elsewhere") };
    assert_eq!((offence.shared, offence.steps.len()), ((Some(0), Some(1)), 0));
}

#[test]
fn what_does_not_fit_is_refused_by_name() {
    let spawns = "decl a := F; void main() begin start_thread goto L; L: a := T; end";
    let plain = "decl a := F; void main() begin a := T; end";
    let refused = |program: &str, spec: &str| match answer(program, spec, "0/0") {
        Err(Error::Unsupported(unsupported)) => unsupported.construct,
        other => panic!("{other:?}"),
    };
    assert!(refused(spawns, "2 1\n").contains("start_thread"));
    assert!(refused(plain, "2 1\n0 0 +> 0 0\n").contains("`+>`"));
    assert!(refused(plain, "4 1\n0 0 -> 3 0\n").contains("the program's shared variables have 2 values"));
}
