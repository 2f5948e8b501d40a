//! Small thread transition systems, played here once more: as many states, and the same targets are reached.

use std::{collections::BTreeSet, fmt::Write};

use shoal_interpret::explore;
use shoal_model::Model;
use shoal_syntax::{Diagnostics, SourceMap};

use shoal_threads::{Options, load_bp, load_spec, load_tts};

const SHARED: u64 = 3;
const LOCALS: u64 = 3;
const ABSENT: i64 = -1;

/// One line of a file: who acts from where to where, and how others move.
#[derive(Clone, Copy)]
enum Line {
    Step([i64; 4]),
    Spawn([i64; 4]),
    /// With one who acts: all others from one local state to another.
    Acted([i64; 4], (i64, i64)),
    /// All threads.
    All([i64; 4]),
}

/// A shared state, and the local state of each thread.
type Threads = (i64, Vec<i64>);

/// Numbers that are the same in each run: the upper bits of a linear congruence.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: u64) -> i64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % bound) as i64
    }

    fn line(&mut self) -> Line {
        let ends = [self.below(SHARED), self.below(LOCALS), self.below(SHARED), self.below(LOCALS)];
        match self.below(8) {
            0 => Line::Spawn(ends),
            1 => Line::Acted(ends, (self.below(LOCALS), self.below(LOCALS))),
            2 => Line::All(ends),
            _ => Line::Step(ends),
        }
    }
}

fn text(lines: &[Line], (shared, local, count): (i64, i64, usize)) -> String {
    let mut text = format!("{SHARED} {LOCALS}\n");
    for line in lines {
        match line {
            Line::Step([s, l, to, after]) => writeln!(text, "{s} {l} -> {to} {after}").unwrap(),
            Line::Spawn([s, l, to, after]) => writeln!(text, "{s} {l} +> {to} {after}").unwrap(),
            Line::Acted([s, l, to, after], (a, b)) => {
                writeln!(text, "{s} {l} -> {to} {after} {a} ~> {b}").unwrap();
            }
            Line::All([s, l, to, after]) => writeln!(text, "{s} {l} ~> {to} {after}").unwrap(),
        }
    }
    let locals = vec![local.to_string(); count].join(",");
    writeln!(text, "{shared}|{locals}").unwrap();
    text
}

/// Where a line leads from a state.
fn successors(line: Line, (shared, locals): &Threads) -> Vec<Threads> {
    let mut found = Vec::new();
    let (Line::Step([s, l, to, after])
    | Line::Spawn([s, l, to, after])
    | Line::Acted([s, l, to, after], _)
    | Line::All([s, l, to, after])) = line;
    if *shared != s {
        return found;
    }
    if let Line::All(_) = line {
        let moved = locals.iter().map(|local| if *local == l { after } else { *local });
        return vec![(to, moved.collect())];
    }
    for actor in (0..locals.len()).filter(|at| locals[*at] == l) {
        let mut next = locals.clone();
        match line {
            Line::Spawn(_) => {
                for new in (0..locals.len()).filter(|at| locals[*at] == ABSENT) {
                    let mut next = locals.clone();
                    next[new] = after;
                    found.push((to, next));
                }
                continue;
            }
            Line::Acted(_, (a, b)) => {
                for other in (0..locals.len()).filter(|at| *at != actor && locals[*at] == a) {
                    next[other] = b;
                }
            }
            Line::Step(_) | Line::All(_) => {}
        }
        next[actor] = after;
        found.push((to, next));
    }
    found
}

/// All states. Threads begin in local state 0; where there are lines that begin threads, some of them may not have begun.
fn play(lines: &[Line], threads: usize) -> BTreeSet<Threads> {
    let spawns = lines.iter().any(|line| matches!(line, Line::Spawn(_)));
    let starts = if spawns { 1 << threads } else { 1 };
    let start = |absent: u32| {
        (0, (0..threads).map(|at| if absent >> at & 1 == 1 { ABSENT } else { 0 }).collect::<Vec<_>>())
    };
    let mut found: BTreeSet<Threads> = (0..starts).map(start).collect();
    let mut open: Vec<Threads> = found.iter().cloned().collect();
    while let Some(state) = open.pop() {
        for next in lines.iter().flat_map(|line| successors(*line, &state)) {
            if found.insert(next.clone()) {
                open.push(next);
            }
        }
    }
    found
}

fn load(
    text: &str,
    threads: i64,
    with: impl Fn(&SourceMap, shoal_syntax::SourceId, &Options) -> (Option<Model>, Diagnostics),
) -> Model {
    let mut sources = SourceMap::new();
    let id = sources.add("test", text);
    let options = Options { set: vec![("Thread".into(), Some(threads))], ..Options::default() };
    let (model, diagnostics) = with(&sources, id, &options);
    model.unwrap_or_else(|| panic!("{diagnostics:?}\n{text}"))
}

#[test]
fn threads_do_what_the_lines_say() {
    let mut numbers = Numbers(1);
    let (mut reached, mut not) = (0, 0);
    for _ in 0..60 {
        let count = 1 + numbers.below(6);
        let lines: Vec<Line> = (0..count).map(|_| numbers.line()).collect();
        let target = (numbers.below(SHARED), numbers.below(LOCALS), 1 + numbers.below(2) as usize);
        let text = text(&lines, target);
        for threads in 1..=3 {
            let played = play(&lines, threads);
            let model =
                load(&text, threads as i64, |sources, id, options| load_tts(sources, id, None, options));
            let found = explore(&model, 100_000).unwrap();
            assert!(found.complete);
            assert_eq!(found.states, played.len(), "{threads} threads\n{text}");
            let (shared, local, count) = target;
            let hit = |(s, locals): &Threads| {
                *s == shared && locals.iter().filter(|it| **it == local).count() >= count
            };
            assert_eq!(!found.violated.is_empty(), played.iter().any(hit), "{threads} threads\n{text}");
            if found.violated.is_empty() { not += 1 } else { reached += 1 }
        }
    }
    assert!(reached > 20 && not > 20, "{reached} and {not}: the systems are worth nothing");
}

/// Two threads take a lock in one step, or look first and take it then.
#[test]
fn an_atomic_section_is_one_step() {
    let program = |begin: &str, end: &str| {
        format!(
            "decl taken := 0, inside := 0;
             void main() begin
               {begin} assume(!taken); taken := 1; {end}
               assert(!inside); inside := 1; inside := 0; taken := 0;
             end"
        )
    };
    for (begin, end, wrong) in [("atomic_begin;", "atomic_end;", false), ("", "", true)] {
        let text = program(begin, end);
        let model = load(&text, 2, |sources, id, options| {
            load_bp(sources, id, &Options { init: Some("unbounded".into()), ..options.clone() })
        });
        let found = explore(&model, 100_000).unwrap();
        assert!(found.complete);
        assert_eq!(!found.violated.is_empty(), wrong, "{text}");
    }
}

#[test]
fn tokens_of_a_net_are_counted() {
    // Three tokens go from x to y one by one, and back two at a time: y = 0, 1, 2, 3.
    let text = "vars x y
        rules
          x >= 1 -> x' = x-1, y' = y+1;
          y >= 2 -> y' = y-2, x' = x+2;
        init x = 3, y = 0
        target y >= 4";
    let mut sources = SourceMap::new();
    let id = sources.add("net.spec", text);
    let (model, diagnostics) = load_spec(&sources, id, &Options::default());
    let model = model.unwrap_or_else(|| panic!("{diagnostics:?}"));
    let found = explore(&model, 100).unwrap();
    assert!(found.complete);
    assert_eq!((found.states, found.violated.len()), (4, 0));
}
