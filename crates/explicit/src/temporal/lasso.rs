//! Infinite runs of concrete states.
//!
//! A cycle of representatives is taken round and round on concrete states, beginning at a start. After a round the
//! elements may have changed places. There are only so many ways to place them, so in the end a round begins in a
//! state in which one began before: that is the loop, and all before it leads there.

use std::{collections::HashMap, ops::ControlFlow};

use shoal_code::{Layout, Machine, Program, RuleCode, Stepper, Visitor, args, normalise};
use shoal_model::{Fault, Model, Ratio, RuleId, StartId, Step, Trace, TypedId, Value};

use crate::{
    canon::{Canon, StateStructure},
    shards::History,
};

/// What is needed to take steps and compare states.
pub(crate) struct Unroll<'s, 'm> {
    pub(super) model: &'m Model,
    pub(super) layout: &'m Layout,
    program: &'m Program,
    store: &'s dyn History,
    pub(super) canon: Option<&'s mut Canon>,
}

/// A run so far: the state that it is in.
pub(super) struct RunSoFar<'m> {
    pub(super) trace: Trace,
    pub(super) cells: Vec<i64>,
    pub(super) stepper: Stepper<'m>,
}

/// Which step to take: to the orbit of this state, once elements have changed places in this way; best to a preferred state.
#[derive(Clone, Copy)]
pub(super) struct StepGoal<'g> {
    pub(super) target: u32,
    pub(super) renamed: Option<&'g Relabelling<'g>>,
    pub(super) prefer: &'g HashMap<Vec<i64>, usize>,
}

/// Elements change places.
pub(super) struct Relabelling<'g> {
    pub(super) structure: &'g StateStructure,
    pub(super) permutation: Vec<u32>,
}

impl Relabelling<'_> {
    pub(super) fn image(&self, cells: &[i64]) -> Vec<i64> {
        let mut image = vec![0; cells.len()];
        self.structure.apply(cells, &self.permutation, &mut image);
        normalise(&self.structure.bags, &mut image);
        image
    }
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
        let RunSoFar { mut trace, cells, mut stepper } = self.along(stem)?;
        if self.is_stuck(&cells, &mut stepper) {
            trace.loops_to = Some(trace.steps.len());
            return Some(trace);
        }
        if cycle.is_empty() {
            return Some(trace);
        }
        self.close(trace, cells, cycle, &mut stepper)
    }

    /// A run along a way of representatives, as far as anything happens.
    pub(super) fn along(&mut self, stem: &[u32]) -> Option<RunSoFar<'m>> {
        let mut stepper = Stepper::new(self.model, self.layout, self.program);
        let prefer = &HashMap::new();
        let goal = |target: u32| StepGoal { target, renamed: None, prefer };
        let starts = &self.program.starts;
        let (start, found) = self.find(goal(*stem.first()?), starts, |seek| stepper.starts(seek))?;
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
            self.step(&mut trace, &mut cells, goal(*state), &mut stepper)?;
        }
        Some(RunSoFar { trace, cells, stepper })
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
                let goal = StepGoal { target: *state, renamed: None, prefer };
                self.step(&mut trace, &mut cells, goal, stepper)?;
                if self.is_stuck(&cells, stepper) {
                    trace.loops_to = Some(trace.steps.len());
                    return Some(trace);
                }
            }
        }
        trace.loops_to = seen.get(&cells).copied();
        Some(trace)
    }

    pub(super) fn step(
        &mut self,
        trace: &mut Trace,
        cells: &mut Vec<i64>,
        goal: StepGoal<'_>,
        stepper: &mut Stepper<'m>,
    ) -> Option<()> {
        let (rule, found) = self.find(goal, &self.program.rules, |seek| stepper.expand(cells, seek))?;
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

    pub(super) fn is_stuck(&mut self, cells: &[i64], stepper: &mut Stepper<'m>) -> bool {
        let mut any = Any { happens: false, canon: self.canon.as_deref_mut() };
        let _ = stepper.expand(cells, &mut any);
        !any.happens
    }

    /// Something that happens and leads to a goal.
    fn find(
        &mut self,
        goal: StepGoal<'_>,
        codes: &'m [RuleCode],
        steps: impl FnOnce(&mut Seek<'_, 'm>) -> ControlFlow<()>,
    ) -> Option<(usize, LassoStep)> {
        let target = self.store.key(goal.target);
        let mut seek = Seek {
            model: self.model,
            layout: self.layout,
            canon: self.canon.as_deref_mut(),
            codes,
            words: vec![0; self.layout.words()],
            target,
            renamed: goal.renamed,
            prefer: goal.prefer,
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
    renamed: Option<&'s Relabelling<'s>>,
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
        let mut representative = match self.renamed {
            Some(renaming) => renaming.image(&cells),
            None => cells.clone(),
        };
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
