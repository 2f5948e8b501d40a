//! Runs boolean programs on their trees.

use std::collections::{HashMap, HashSet};

use super::{Block, Expr, Function, Kind, Program, Var};

/// Where a frame is: in which blocks, before which statement of each, and which arm of an `if` is tried.
type Path = Vec<(Block, usize, usize)>;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Frame {
    function: usize,
    path: Path,
    locals: Vec<bool>,
    /// Where results go in the frame below.
    results: Vec<Option<Place>>,
}

/// A variable to be written later.
type Place = (u8, usize);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Thread {
    own: Vec<bool>,
    /// Empty when it has ended.
    frames: Vec<Frame>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    globals: Vec<bool>,
    threads: Vec<Thread>,
    /// Who is in an atomic section.
    holder: Option<usize>,
}

/// What running a program showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shown {
    Fails,
    Never,
    TooMuch,
}

/// The values that an expression may have.
type Values = Vec<bool>;

/// Runs a program with at most so many threads, of which one begins in `main`, or any number.
pub(crate) fn run(program: &Program, most: usize, any: bool, states: usize) -> Shown {
    let runner = Runner { program, labels: labels(program), most };
    let mut seen: HashSet<State> = HashSet::new();
    let mut open: Vec<State> = Vec::new();
    for count in if any { 0..=most } else { 1..=1 } {
        for state in runner.beginnings(count) {
            if seen.insert(state.clone()) {
                open.push(state);
            }
        }
    }
    while let Some(state) = open.pop() {
        for thread in 0..state.threads.len() {
            if state.holder.is_some_and(|holder| holder != thread) || state.threads[thread].frames.is_empty()
            {
                continue;
            }
            let Ok(next) = runner.step(&state, thread) else { return Shown::Fails };
            for state in next {
                if seen.insert(state.clone()) {
                    open.push(state);
                }
            }
        }
        if seen.len() > states {
            return Shown::TooMuch;
        }
    }
    Shown::Never
}

/// Where each label is.
fn labels(program: &Program) -> Vec<HashMap<String, Path>> {
    fn walk(program: &Program, block: Block, above: &Path, found: &mut HashMap<String, Path>) {
        for (at, stmt) in program.blocks[block].iter().enumerate() {
            let here =
                |position: usize| -> Path { above.iter().copied().chain([(block, position, 0)]).collect() };
            if let Some(label) = &stmt.label {
                found.insert(label.clone(), here(at));
            }
            match &stmt.kind {
                // After an arm comes what follows; after the body of a loop comes the loop.
                Kind::If(arms, other) => {
                    arms.iter()
                        .map(|arm| arm.1)
                        .chain(*other)
                        .for_each(|arm| walk(program, arm, &here(at + 1), found));
                }
                Kind::While(_, body) => walk(program, *body, &here(at), found),
                _ => {}
            }
        }
    }
    let of = |function: &Function| {
        let mut found = HashMap::new();
        walk(program, function.body, &Vec::new(), &mut found);
        found
    };
    program.functions.iter().map(of).collect()
}

struct Runner<'p> {
    program: &'p Program,
    labels: Vec<HashMap<String, Path>>,
    most: usize,
}

/// All combinations of values for variables of which some are known.
fn assignments(known: &[Option<bool>]) -> Vec<Vec<bool>> {
    known.iter().fold(vec![Vec::new()], |all, value| {
        let values = value.map_or(vec![false, true], |value| vec![value]);
        all.iter().flat_map(|some| values.iter().map(move |value| [&some[..], &[*value]].concat())).collect()
    })
}

impl Runner<'_> {
    fn beginnings(&self, count: usize) -> Vec<State> {
        let mut all: Vec<State> = assignments(&self.program.globals)
            .into_iter()
            .map(|globals| State { globals, threads: Vec::new(), holder: None })
            .collect();
        for _ in 0..count {
            let more = |state: &State| -> Vec<State> {
                let own = assignments(&vec![None; self.program.own]);
                let with = |(own, frame): (Vec<bool>, Frame)| {
                    let mut state = state.clone();
                    state.threads.push(self.settle(Thread { own, frames: vec![frame] }));
                    state
                };
                let frames = self.enter(0, &[], Vec::new());
                let pairs = own
                    .into_iter()
                    .flat_map(|own| frames.iter().map(move |frame| (own.clone(), frame.clone())));
                pairs.map(with).collect()
            };
            all = all.iter().flat_map(more).collect();
        }
        all
    }

    /// The frames that a call may begin with: variables without a value are anything.
    fn enter(&self, function: usize, args: &[bool], results: Vec<Option<Place>>) -> Vec<Frame> {
        let known: Vec<Option<bool>> = args
            .iter()
            .map(|arg| Some(*arg))
            .chain(self.program.functions[function].decls.iter().copied())
            .collect();
        let path = vec![(self.program.functions[function].body, 0, 0)];
        let frame = |locals| Frame { function, path: path.clone(), locals, results: results.clone() };
        assignments(&known).into_iter().map(frame).collect()
    }

    /// Leaves blocks and functions that have come to their end.
    fn settle(&self, mut thread: Thread) -> Thread {
        while let Some(frame) = thread.frames.last_mut() {
            match frame.path.last() {
                None => {
                    thread.frames.pop();
                }
                Some((block, at, _)) if *at >= self.program.blocks[*block].len() => {
                    frame.path.pop();
                }
                Some(_) => break,
            }
        }
        thread
    }

    /// What a thread may do next. The error is an assertion that fails.
    fn step(&self, state: &State, me: usize) -> Result<Vec<State>, ()> {
        let thread = &state.threads[me];
        let frame = thread.frames.last().expect("a thread that has not ended");
        let (block, at, arm) = *frame.path.last().expect("a statement");
        let values = |expr: &Expr| values(expr, &|var| read(state, me, var), &|_| panic!("a tick"));
        for (block, before, _) in &frame.path {
            for stmt in &self.program.blocks[*block][..*before] {
                if let Kind::Enforce(of) = &stmt.kind
                    && !values(of).contains(&true)
                {
                    return Ok(Vec::new());
                }
            }
        }
        let go = |state: &State, to: &dyn Fn(&mut Path)| -> State {
            let mut state = state.clone();
            let mut thread = state.threads[me].clone();
            to(&mut thread.frames.last_mut().expect("a frame").path);
            state.threads[me] = self.settle(thread);
            state
        };
        let next = |path: &mut Path| {
            let last = path.last_mut().expect("a statement");
            (last.1, last.2) = (at + 1, 0);
        };
        let on = |state: &State| go(state, &next);
        let into = |inner: Block| {
            move |path: &mut Path| {
                let last = path.last_mut().expect("a statement");
                (last.1, last.2) = (at + 1, 0);
                path.push((inner, 0, 0));
            }
        };
        let label = |label: &String| self.labels[frame.function][label].clone();
        Ok(match &self.program.blocks[block][at].kind {
            Kind::Skip(_) | Kind::Enforce(_) => vec![on(state)],
            Kind::Goto(to) => to.iter().map(|to| go(state, &|path| *path = label(to))).collect(),
            Kind::Assume(of) => {
                if values(of).contains(&true) {
                    vec![on(state)]
                } else {
                    Vec::new()
                }
            }
            Kind::AbortIf(of) => {
                if values(of).contains(&false) {
                    vec![on(state)]
                } else {
                    Vec::new()
                }
            }
            Kind::Assert(of) => {
                let values = values(of);
                if values.contains(&false) {
                    return Err(());
                }
                vec![on(state)]
            }
            Kind::Assign(left, right, constrain) => {
                let mut all = Vec::new();
                for new in product(&right.iter().map(values).collect::<Vec<_>>()) {
                    let after = |var: Var| {
                        let at = left.iter().position(|known| *known == Some(var));
                        at.map_or_else(|| read(state, me, var), |at| new[at])
                    };
                    let fits =
                        |of: &Expr| self::values(of, &|var| read(state, me, var), &after).contains(&true);
                    if constrain.as_ref().is_none_or(fits) {
                        let mut state = state.clone();
                        for (var, value) in left.iter().zip(&new) {
                            if let Some(var) = var {
                                write_place(&mut state, me, place(*var), *value);
                            }
                        }
                        all.push(on(&state));
                    }
                }
                all
            }
            Kind::Call(left, function, args) => {
                let results: Vec<Option<Place>> = left.iter().map(|var| var.map(place)).collect();
                let after = go_without_settling(state, me, &next);
                let mut all = Vec::new();
                for args in product(&args.iter().map(values).collect::<Vec<_>>()) {
                    for frame in self.enter(*function, &args, results.clone()) {
                        let mut state = after.clone();
                        let mut thread = state.threads[me].clone();
                        thread.frames.push(frame);
                        state.threads[me] = self.settle(thread);
                        all.push(state);
                    }
                }
                all
            }
            Kind::Return(list) => {
                let mut all = Vec::new();
                for returned in product(&list.iter().map(values).collect::<Vec<_>>()) {
                    let mut state = state.clone();
                    let done = state.threads[me].frames.pop().expect("a frame");
                    if !state.threads[me].frames.is_empty() {
                        for (to, value) in done.results.iter().zip(&returned) {
                            if let Some(to) = to {
                                write_place(&mut state, me, *to, *value);
                            }
                        }
                    }
                    let thread = state.threads[me].clone();
                    state.threads[me] = self.settle(thread);
                    all.push(state);
                }
                all
            }
            Kind::If(arms, other) => {
                let mut all = Vec::new();
                for value in values(&arms[arm].0) {
                    all.push(match (value, arm + 1 < arms.len(), other) {
                        (true, ..) => go(state, &into(arms[arm].1)),
                        (false, true, _) => go(state, &|path| path.last_mut().expect("a statement").2 += 1),
                        (false, false, Some(other)) => go(state, &into(*other)),
                        (false, false, None) => on(state),
                    });
                }
                all
            }
            Kind::While(condition, body) => {
                let round = |path: &mut Path| path.push((*body, 0, 0));
                values(condition)
                    .into_iter()
                    .map(|value| if value { go(state, &round) } else { on(state) })
                    .collect()
            }
            Kind::SpawnGoto(to) => {
                if state.threads.len() == self.most {
                    return Ok(Vec::new());
                }
                let mut child = thread.clone();
                child.frames.last_mut().expect("a frame").path = label(to);
                let mut state = on(state);
                state.threads.push(self.settle(child));
                vec![state]
            }
            Kind::SpawnCall(function, args, _) => {
                if state.threads.len() == self.most {
                    return Ok(Vec::new());
                }
                let mut all = Vec::new();
                for args in product(&args.iter().map(values).collect::<Vec<_>>()) {
                    for frame in self.enter(*function, &args, Vec::new()) {
                        let mut state = on(state);
                        state
                            .threads
                            .push(self.settle(Thread { own: thread.own.clone(), frames: vec![frame] }));
                        all.push(state);
                    }
                }
                all
            }
            Kind::EndThread => {
                let mut state = state.clone();
                state.threads[me].frames.clear();
                vec![state]
            }
            Kind::AtomicBegin => vec![State { holder: Some(me), ..on(state) }],
            Kind::AtomicEnd => vec![State { holder: None, ..on(state) }],
            // Another one moves a thread that waits.
            Kind::Wait => Vec::new(),
            Kind::Broadcast => {
                let mut state = on(state);
                for other in (0..state.threads.len()).filter(|other| *other != me) {
                    let mut thread = state.threads[other].clone();
                    let waiting =
                        thread.frames.last_mut().and_then(|frame| frame.path.last_mut()).filter(
                            |(block, at, _)| matches!(self.program.blocks[*block][*at].kind, Kind::Wait),
                        );
                    if let Some(here) = waiting {
                        here.1 += 1;
                        state.threads[other] = self.settle(thread);
                    }
                }
                vec![state]
            }
        })
    }
}

fn go_without_settling(state: &State, me: usize, to: &dyn Fn(&mut Path)) -> State {
    let mut state = state.clone();
    to(&mut state.threads[me].frames.last_mut().expect("a frame").path);
    state
}

fn place(var: Var) -> Place {
    match var {
        Var::Global(at) => (0, at),
        Var::Own(at) => (1, at),
        Var::Local(at) => (2, at),
    }
}

fn write_place(state: &mut State, me: usize, (kind, at): Place, value: bool) {
    match kind {
        0 => state.globals[at] = value,
        1 => state.threads[me].own[at] = value,
        _ => state.threads[me].frames.last_mut().expect("a frame").locals[at] = value,
    }
}

fn read(state: &State, me: usize, var: Var) -> bool {
    match var {
        Var::Global(at) => state.globals[at],
        Var::Own(at) => state.threads[me].own[at],
        Var::Local(at) => state.threads[me].frames.last().expect("a frame").locals[at],
    }
}

/// All ways to take one of each.
fn product(all: &[Values]) -> Vec<Vec<bool>> {
    all.iter().fold(vec![Vec::new()], |some, values| {
        some.iter().flat_map(|some| values.iter().map(move |value| [&some[..], &[*value]].concat())).collect()
    })
}

/// Everything that an expression may be: each choice in it is a new one.
fn values(expr: &Expr, now: &dyn Fn(Var) -> bool, after: &dyn Fn(Var) -> bool) -> Values {
    let mut all: Values = match expr {
        Expr::Const(value) => vec![*value],
        Expr::Star => vec![false, true],
        Expr::Var(var) => vec![now(*var)],
        Expr::Next(var) => vec![after(*var)],
        Expr::Not(of) => values(of, now, after).into_iter().map(|value| !value).collect(),
        Expr::Binary(op, left, right) => {
            let mut all = Vec::new();
            for left in values(left, now, after) {
                for right in values(right, now, after) {
                    all.push(match *op {
                        "&" | "&&" => left && right,
                        "|" | "||" => left || right,
                        "^" | "!=" => left != right,
                        "=" => left == right,
                        "=>" => !left || right,
                        other => panic!("no operator {other}"),
                    });
                }
            }
            all
        }
        Expr::Schoose(first, second) => {
            let mut all = Vec::new();
            for first in values(first, now, after) {
                for second in values(second, now, after) {
                    match (first, second) {
                        (true, _) => all.push(true),
                        (false, true) => all.push(false),
                        (false, false) => all.extend([false, true]),
                    }
                }
            }
            all
        }
    };
    all.sort_unstable();
    all.dedup();
    all
}
