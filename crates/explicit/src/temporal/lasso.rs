//! Infinite runs of concrete states.
//!
//! A cycle of representatives is taken round and round on concrete states, beginning at a start. After a round the
//! elements may have changed places. There are only so many ways to place them, so in the end a round begins in a
//! state in which one began before: that is the loop, and all before it leads there.

use std::{collections::HashMap, ops::ControlFlow};

use shoal_code::{Layout, Machine, Program, RuleCode, Stepper, Visitor, args};
use shoal_model::{Fault, Model, Ratio, RuleId, StartId, Step, Trace, TypedId, Value};

use crate::{canon::Canon, shards::History};

/// What is needed to take steps and compare states.
pub(crate) struct Unroll<'s, 'm> {
    model: &'m Model,
    layout: &'m Layout,
    program: &'m Program,
    store: &'s dyn History,
    canon: Option<&'s mut Canon>,
}

impl<'s, 'm> Unroll<'s, 'm> {
    pub(crate) fn new(
        model: &'m Model,
        layout: &'m Layout,
        program: &'m Program,
        store: &'s dyn History,
        canon: Option<&'s mut Canon>,
    ) -> Self {
        Unroll { model, layout, program, store, canon }
    }

    /// The run: a way of representatives, and from its last around and back to it, unless it ends there.
    pub(crate) fn run(&mut self, stem: &[u32], cycle: &[u32]) -> Option<Trace> {
        let mut stepper = Stepper::new(self.model, self.layout, self.program);
        let seen = HashMap::new();
        let starts = &self.program.starts;
        let (start, found) = self.find(*stem.first()?, starts, &seen, |seek| stepper.starts(seek))?;
        let mut trace = Trace {
            start: StartId::from_index(start),
            args: found.args,
            choices: found.choices,
            state: self.layout.decode(self.model, &found.cells),
            steps: Vec::new(),
            loops_to: None,
        };
        let mut cells = found.cells;
        for state in stem.iter().skip(1) {
            // Nothing can happen any more: the rest of the way is the same state.
            if self.is_stuck(&cells, &mut stepper) {
                break;
            }
            self.step(&mut trace, &mut cells, *state, &seen, &mut stepper)?;
        }
        if self.is_stuck(&cells, &mut stepper) {
            trace.loops_to = Some(trace.steps.len());
            return Some(trace);
        }
        if cycle.is_empty() {
            return Some(trace);
        }
        self.close(trace, cells, cycle, &mut stepper)
    }

    fn close(
        &mut self,
        mut trace: Trace,
        mut cells: Vec<i64>,
        cycle: &[u32],
        stepper: &mut Stepper<'m>,
    ) -> Option<Trace> {
        let nothing = HashMap::new();
        let mut seen = HashMap::new();
        while !seen.contains_key(&cells) {
            seen.insert(cells.clone(), trace.steps.len());
            for (at, state) in cycle.iter().enumerate() {
                let prefer = if at + 1 == cycle.len() { &seen } else { &nothing };
                self.step(&mut trace, &mut cells, *state, prefer, stepper)?;
                if self.is_stuck(&cells, stepper) {
                    trace.loops_to = Some(trace.steps.len());
                    return Some(trace);
                }
            }
        }
        trace.loops_to = seen.get(&cells).copied();
        Some(trace)
    }

    fn step(
        &mut self,
        trace: &mut Trace,
        cells: &mut Vec<i64>,
        target: u32,
        prefer: &HashMap<Vec<i64>, usize>,
        stepper: &mut Stepper<'m>,
    ) -> Option<()> {
        let (rule, found) =
            self.find(target, &self.program.rules, prefer, |seek| stepper.expand(cells, seek))?;
        trace.steps.push(Step {
            delay: Ratio::ZERO,
            rule: RuleId::from_index(rule),
            args: found.args,
            choices: found.choices,
            state: self.layout.decode(self.model, &found.cells),
        });
        *cells = found.cells;
        Some(())
    }

    fn is_stuck(&mut self, cells: &[i64], stepper: &mut Stepper<'m>) -> bool {
        let mut any = Any { happens: false, canon: self.canon.as_deref_mut() };
        let _ = stepper.expand(cells, &mut any);
        !any.happens
    }

    /// Something that happens and leads to the orbit of a state; best to a preferred one.
    fn find(
        &mut self,
        target: u32,
        codes: &'m [RuleCode],
        prefer: &HashMap<Vec<i64>, usize>,
        steps: impl FnOnce(&mut Seek<'_, 'm>) -> ControlFlow<()>,
    ) -> Option<(usize, LassoStep)> {
        let target = self.store.key(target);
        let mut seek = Seek {
            model: self.model,
            layout: self.layout,
            canon: self.canon.as_deref_mut(),
            codes,
            words: vec![0; self.layout.words()],
            target,
            prefer,
            found: None,
        };
        let _ = steps(&mut seek);
        seek.found
    }
}

struct LassoStep {
    args: Vec<Value>,
    choices: Vec<Value>,
    cells: Vec<i64>,
}

struct Seek<'s, 'm> {
    model: &'m Model,
    layout: &'m Layout,
    canon: Option<&'s mut Canon>,
    codes: &'m [RuleCode],
    target: Vec<u64>,
    words: Vec<u64>,
    prefer: &'s HashMap<Vec<i64>, usize>,
    found: Option<(usize, LassoStep)>,
}

impl Visitor for Seek<'_, '_> {
    fn fired(&mut self, rule: usize, machine: &Machine<'_>, _moves: bool) -> ControlFlow<()> {
        let mut cells = machine.state().to_vec();
        if let Some(canon) = &mut self.canon {
            if canon.loses(&cells) {
                return ControlFlow::Continue(());
            }
            canon.collect(&mut cells);
        }
        let best = self.prefer.contains_key(&cells);
        if self.found.is_some() && !best {
            return ControlFlow::Continue(());
        }
        let mut representative = cells.clone();
        if let Some(canon) = &mut self.canon {
            canon.canonicalise(&mut representative);
        }
        self.layout.pack(&representative, &mut self.words);
        if self.words != self.target {
            return ControlFlow::Continue(());
        }
        let (args, choices) = (args(self.model, &self.codes[rule], machine), machine.chosen(self.model));
        self.found = Some((rule, LassoStep { args, choices, cells }));
        if best || self.prefer.is_empty() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn body_fault(&mut self, _rule: usize, _machine: &Machine<'_>, _fault: Fault) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn guard_fault(&mut self, _rule: usize, _args: Vec<Value>, _fault: Fault) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// Whether anything happens.
struct Any<'s> {
    happens: bool,
    canon: Option<&'s mut Canon>,
}

impl Visitor for Any<'_> {
    fn fired(&mut self, _rule: usize, machine: &Machine<'_>, _moves: bool) -> ControlFlow<()> {
        // To lose an element is a fault, and what faults is no step.
        if self.canon.as_mut().is_some_and(|canon| canon.loses(machine.state())) {
            return ControlFlow::Continue(());
        }
        self.happens = true;
        ControlFlow::Break(())
    }

    fn body_fault(&mut self, _rule: usize, _machine: &Machine<'_>, fault: Fault) -> ControlFlow<()> {
        self.happens |= fault.kind.goes_on();
        ControlFlow::Continue(())
    }

    fn guard_fault(&mut self, _rule: usize, _args: Vec<Value>, fault: Fault) -> ControlFlow<()> {
        self.happens |= fault.kind.goes_on();
        ControlFlow::Continue(())
    }
}
