//! From a run of the automaton to a trace of the model, with the real names of elements.

use shoal_model::{OrInternal, Ratio, Step, Trace, TypedId, Value};
use shoal_tctl::{TctlHalt, TimedRun};

use super::unfold::ModelAutomaton;
use crate::{
    state::MemberClass,
    steps::ZoneSteps,
    trace::{ModelClock, concrete},
};

/// The real name of an element; its sort's elements are numbered from the offset on.
fn real(names: &[usize], offset: usize, element: u32) -> u32 {
    names.get(offset + element as usize).map_or(element, |name| (name - offset) as u32)
}

/// A value with the real names of elements.
fn real_value(steps: &ZoneSteps<'_>, names: &[usize], value: &Value) -> Value {
    match value {
        Value::Elem(sort, element) => Value::Elem(*sort, real(names, steps.offset(sort.index()), *element)),
        other => other.clone(),
    }
}

/// The trace that a run is.
pub(super) fn of_run(run: &TimedRun, automaton: &ModelAutomaton<'_>) -> Result<Trace, TctlHalt> {
    let steps = &automaton.search.steps;
    let state = |location: usize, clocks: &[Ratio], names: &[usize]| {
        let mut discrete = automaton.states[location].clone();
        for class in discrete.classes.iter_mut().filter(|class| class.cells[0] >= 0) {
            let name = real(names, steps.offset(class.sort), class.cells[0] as u32);
            class.cells[0] = name.into();
            class.members = vec![name];
        }
        let discrete = &discrete;
        let reading = |clock: ModelClock| {
            let number = match clock {
                ModelClock::Global(at) => 1 + at,
                ModelClock::Of(sort, member, at) => {
                    let own = |class: &MemberClass| class.sort == sort && class.members.contains(&member);
                    let class = discrete.classes.iter().position(own);
                    let class = class.or_internal("every element is in a class");
                    discrete.clock_of(&steps.layout, class, 0) + at
                }
            };
            Ok(Value::Clock(clocks[number - 1]))
        };
        concrete(steps, discrete, &reading)
    };
    let begin = &automaton.starts[run.start()];
    let (clocks, mut names) = run.at_start(&automaton.arena);
    let mut trace = Trace {
        start: steps.start_of(begin.ordinal),
        args: begin.args.clone(),
        choices: begin.choices.clone(),
        state: state(automaton.arena.starts[run.start()].0, &clocks, &names)?,
        steps: Vec::new(),
        loops_to: run.loops_to(),
    };
    for step in run.steps() {
        let (edge, label) = (&automaton.arena.edges[step.edge], &automaton.labels[step.edge]);
        let called = |values: &[Value]| -> Vec<Value> {
            values.iter().map(|value| real_value(steps, &names, value)).collect()
        };
        trace.steps.push(Step {
            delay: step.delay,
            rule: label.rule,
            args: called(&label.args),
            choices: called(&label.choices),
            state: state(edge.to, &step.after, &step.names)?,
        });
        names = step.names;
    }
    Ok(trace)
}
