//! Does a boolean program refine a thread transition system?

use std::{collections::BTreeSet, path::Path};

use shoal_cover::{Happening, Meter, MeterStop, Offence, Refinement};
use shoal_interpret::{Firing, Instance, Interpreter};
use shoal_model::{Model, Observer, State, StopReason, Value, VarId, Watch};

use crate::{Error, LoadOptions, Loaded, Sources, load_sources};

/// What came of the question.
#[derive(Clone, Debug)]
pub enum Refined {
    /// The program refines the specification; so many situations were looked at.
    Yes(u64),
    /// It does not; the interpreter has run the offending path again.
    No(Box<Offence>),
    /// A limit was reached.
    Unknown(StopReason),
}

/// Loads a program and its specification. `init` says where the threads of the specification begin. The program's threads
/// all begin in `main`, as many as the specification has.
pub fn load_refinement(
    program: impl AsRef<Path>,
    spec: impl AsRef<Path>,
    options: &LoadOptions,
) -> Result<(Loaded, Loaded), Error> {
    let (program, spec) = (program.as_ref(), spec.as_ref());
    ends_in(&program.display().to_string(), "bp")?;
    ends_in(&spec.display().to_string(), "tts")?;
    load_refinement_sources(&Sources::file(program)?, &Sources::file(spec)?, options)
}

fn ends_in(name: &str, wanted: &str) -> Result<(), Error> {
    match Path::new(name).extension().is_some_and(|found| found == wanted) {
        true => Ok(()),
        false => Err(Error::File {
            path: name.to_string(),
            problem: format!("a file that ends in .{wanted} is expected here"),
        }),
    }
}

/// The same from texts.
pub fn load_refinement_sources(
    program: &Sources,
    spec: &Sources,
    options: &LoadOptions,
) -> Result<(Loaded, Loaded), Error> {
    ends_in(program.name(), "bp")?;
    ends_in(spec.name(), "tts")?;
    // What is asked of the specification does not matter here.
    let spec = load_sources(spec, &LoadOptions { target: Some("0|".into()), ..options.clone() })?;
    let alone = options.init.as_deref().is_some_and(|init| !init.contains(['/', 'U']) && init != "unbounded");
    let init = if alone { "single" } else { "unbounded" };
    let program = load_sources(program, &LoadOptions { init: Some(init.into()), ..options.clone() })?;
    Ok((program, spec))
}

/// Decides whether each thread of a program does to the shared state only what the specification may do.
pub fn refine(
    program: &Loaded,
    spec: &Loaded,
    watch: &Watch,
    observer: &mut dyn Observer,
) -> Result<Refined, Error> {
    let mut meter = Meter::new(watch, observer);
    let atomic = program.model.vars.enumerate().find(|(_, var)| var.name == "$atomic").map(|(id, _)| id);
    let found = shoal_cover::refine(&program.model, atomic, &spec.model, &mut meter);
    match found.map_err(Error::Unsupported)? {
        Ok(Refinement::Refines(situations)) => Ok(Refined::Yes(situations)),
        Ok(Refinement::Fails(offence)) => {
            replay(program, spec, atomic, &offence)
                .map_err(|why| Error::Internal(format!("the offending path does not run: {why}")))?;
            Ok(Refined::No(offence))
        }
        Err(MeterStop::Limit(reason)) => Ok(Refined::Unknown(reason)),
        Err(MeterStop::Overflow) => Ok(Refined::Unknown(StopReason::Overflow)),
    }
}

/// Runs the path in the interpreter, and the specification beside it: at the end it must be nowhere.
fn replay(program: &Loaded, spec: &Loaded, atomic: Option<VarId>, offence: &Offence) -> Result<(), String> {
    let model = program.model.sized_as(&offence.start);
    let interpreter = Interpreter::new(&model).map_err(|error| error.to_string())?;
    if !begins(&interpreter).contains(&offence.start) {
        return Err("the program does not begin there".into());
    }
    let mut follower = SpecFollower::new(spec, &model, atomic)?;
    let Some(mut last) = follower.number(&offence.start) else {
        return if offence.steps.is_empty() { Ok(()) } else { Err("it begins in an atomic section".into()) };
    };
    if offence.steps.is_empty() {
        return match follower.begins_in(last) {
            true => Err("the specification begins there, too".into()),
            false => Ok(()),
        };
    }
    let mut before = &offence.start;
    for (at, step) in offence.steps.iter().enumerate() {
        let fails = offence.fault.is_some() && at + 1 == offence.steps.len();
        let own = run(&interpreter, before, step, fails).map_err(|why| format!("step {}: {why}", at + 1))?;
        if fails {
            return Ok(());
        }
        if let Some(now) = follower.number(&step.state).filter(|now| *now != last) {
            follower.follow(last, now, own);
            last = now;
        }
        before = &step.state;
    }
    if follower.locals.is_empty() { Ok(()) } else { Err("the specification can do the same".into()) }
}

/// Everything that a model begins with.
fn begins(interpreter: &Interpreter<'_>) -> Vec<State> {
    let runs = interpreter.start_instances().into_iter();
    let branches = runs.flat_map(|(start, args)| interpreter.run_start(start, &args));
    branches.filter_map(|branch| state_of(branch.result)).collect()
}

fn state_of(firing: Firing) -> Option<State> {
    match firing {
        Firing::State(state) => Some(state),
        Firing::Fault(_) | Firing::Discarded => None,
    }
}

/// Runs one step of the program; whether it is the thread's own.
fn run(interpreter: &Interpreter<'_>, before: &State, step: &Happening, fails: bool) -> Result<bool, String> {
    let Some((rule, args, choices)) = &step.rule else { return Ok(false) };
    let instance = Instance { rule: *rule, args: args.clone() };
    if interpreter.guard(before, &instance) != Ok(true) {
        return Err("its guard does not hold".into());
    }
    match interpreter.fire_with(before, &instance, choices).map(|branch| branch.result) {
        Some(Firing::State(state)) if !fails && state == step.state => Ok(true),
        Some(Firing::Fault(_)) if fails => Ok(true),
        _ => Err("it leads elsewhere".into()),
    }
}

/// The specification, by the interpreter: where one of its threads may be.
struct SpecFollower<'a> {
    spec: Model,
    program: &'a Model,
    atomic: Option<VarId>,
    /// States of one thread.
    locals: BTreeSet<(i64, i64)>,
}

impl<'a> SpecFollower<'a> {
    fn new(spec: &Loaded, program: &'a Model, atomic: Option<VarId>) -> Result<SpecFollower<'a>, String> {
        let mut model = spec.model.clone();
        for sort in model.sorts.iter_mut() {
            sort.size = shoal_model::SortSize::Fixed(1);
        }
        let locals = {
            let interpreter = Interpreter::new(&model).map_err(|error| error.to_string())?;
            begins(&interpreter).iter().filter_map(pair).collect()
        };
        Ok(SpecFollower { spec: model, program, atomic, locals })
    }

    fn begins_in(&self, shared: i64) -> bool {
        self.locals.iter().any(|(known, _)| *known == shared)
    }

    /// The shared variables of the program as one number, unless a thread is in an atomic section.
    fn number(&self, state: &State) -> Option<i64> {
        if self.atomic.is_some_and(|var| *state.value(var) == Value::Bool(true)) {
            return None;
        }
        let (mut number, mut factor) = (0, 1);
        for (id, var) in self.program.vars.enumerate().filter(|(id, _)| Some(*id) != self.atomic) {
            let (Some(digit), Some(count)) =
                (self.program.ordinal(var.ty, state.value(id)), self.program.cardinality(var.ty))
            else {
                continue;
            };
            number += digit as i64 * factor;
            factor *= count as i64;
        }
        Some(number)
    }

    /// Follows a change of the shared state, by the thread itself or by others.
    fn follow(&mut self, from: i64, to: i64, own: bool) {
        let Ok(interpreter) = Interpreter::new(&self.spec) else { return };
        let spec = &self.spec;
        let next = |pair: &(i64, i64)| -> Vec<(i64, i64)> {
            let steps = interpreter.steps(&state(spec, *pair)).branches.into_iter();
            steps
                .filter_map(|(_, branch)| state_of(branch.result))
                .filter_map(|state| self::pair(&state))
                .collect()
        };
        let closed = |set: &BTreeSet<(i64, i64)>, shared: i64| {
            let mut all = set.clone();
            let mut open: Vec<(i64, i64)> = set.iter().copied().collect();
            while let Some(pair) = open.pop() {
                let inner = next(&pair).into_iter().filter(|after| after.0 == shared);
                open.extend(inner.filter(|after| all.insert(*after)));
            }
            all
        };
        let before = closed(&self.locals, from);
        let after = match own {
            true => before.iter().flat_map(next).filter(|pair| pair.0 == to).collect(),
            false => before.iter().map(|(_, local)| (to, *local)).collect(),
        };
        self.locals = closed(&after, to);
    }
}

/// The shared and the local state of a transition system with one thread; nothing if it has not begun.
fn pair(state: &State) -> Option<(i64, i64)> {
    match &state.values[..] {
        [Value::Int(shared), Value::Array(locals)] => match locals.first() {
            Some(Value::Int(local)) if *local >= 0 => Some((*shared, *local)),
            _ => None,
        },
        _ => None,
    }
}

fn state(spec: &Model, (shared, local): (i64, i64)) -> State {
    let mut state = spec.blank_state();
    state.values = vec![Value::Int(shared), Value::Array(vec![Value::Int(local)])];
    state
}
