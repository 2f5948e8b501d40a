//! Counterexamples. The store has a way back from every state, but on representatives: the way is taken again
//! from a start, on concrete states, each time with an instance that leads to the next representative's orbit.

use std::ops::ControlFlow;

use shoal_code::{Layout, Machine, Program, RuleCode, Stepper, Visitor, args};
use shoal_model::{Fault, FaultKind, Model, Ratio, RuleId, StartId, State, Step, Trace, TypedId, Value};

use crate::{canon::Canon, shards::History, store::NONE};

/// What is needed to take steps and compare states.
pub(crate) struct Replayer<'s, 'm> {
    pub(crate) model: &'m Model,
    pub(crate) layout: &'m Layout,
    pub(crate) program: &'m Program,
    pub(crate) store: &'s dyn History,
    pub(crate) canon: Option<&'s mut Canon>,
}

/// A run on concrete states and the cells of its last state.
pub(crate) struct ConcreteRun {
    pub(crate) trace: Trace,
    pub(crate) cells: Vec<i64>,
}

impl<'m> Replayer<'_, 'm> {
    /// A shortest run to a state of the store, and from there by a rule to the orbit of one more state.
    pub(crate) fn run_to(&mut self, number: u32, beyond: Option<(usize, Vec<u64>)>) -> Option<ConcreteRun> {
        let mut path = Vec::new();
        let mut at = number;
        while at != NONE {
            path.push((None, self.store.key(at)));
            at = self.store.parent(at);
        }
        path.reverse();
        path.extend(beyond.map(|(rule, words)| (Some(rule), self.store.key_of(words))));
        self.follow(path)
    }

    /// A run through the orbits of states that are known.
    pub(crate) fn run_along(&mut self, path: Vec<(usize, Vec<u64>)>) -> Option<ConcreteRun> {
        self.follow(path.into_iter().map(|(rule, words)| (Some(rule), self.store.key_of(words))).collect())
    }

    /// A run through the orbits of states, by whatever rules lead there.
    pub(crate) fn run_through(&mut self, path: Vec<Vec<u64>>) -> Option<ConcreteRun> {
        self.follow(path.into_iter().map(|words| (None, self.store.key_of(words))).collect())
    }

    /// A run of one start that leads to the orbit of a state.
    pub(crate) fn run_of_start(&mut self, start: usize, words: Vec<u64>) -> Option<ConcreteRun> {
        self.follow(vec![(Some(start), self.store.key_of(words))])
    }

    /// A run through the orbits of states, by rules (a start first) where they are known. Otherwise it is the first
    /// that leads there, as it was in the search.
    fn follow(&mut self, path: Vec<(Option<usize>, Vec<u64>)>) -> Option<ConcreteRun> {
        let mut path = path.into_iter();
        let (start, words) = path.next()?;
        let mut stepper = Stepper::new(self.model, self.layout, self.program);
        let found = self.search(&self.program.starts, start, words, |find| stepper.starts(find))?;
        let trace = Trace {
            start: StartId::from_index(found.rule),
            args: found.args,
            choices: found.choices,
            state: self.decode(&found.cells),
            steps: Vec::new(),
            loops_to: None,
        };
        let mut run = ConcreteRun { trace, cells: found.cells };
        for (rule, words) in path {
            let found =
                self.search(&self.program.rules, rule, words, |find| stepper.expand(&run.cells, find))?;
            run.trace.steps.push(Step {
                delay: Ratio::ZERO,
                rule: RuleId::from_index(found.rule),
                args: found.args,
                choices: found.choices,
                state: self.decode(&found.cells),
            });
            run.cells = found.cells;
        }
        Some(run)
    }

    fn decode(&self, cells: &[i64]) -> State {
        self.layout.decode(self.model, cells)
    }

    /// Looks for an instance of a rule, or of any, that leads to the orbit of a state.
    fn search(
        &mut self,
        codes: &'m [RuleCode],
        rule: Option<usize>,
        target: Vec<u64>,
        steps: impl FnOnce(&mut Find<'_, 'm>) -> ControlFlow<()>,
    ) -> Option<ConcreteStep> {
        let mut find = Find {
            model: self.model,
            layout: self.layout,
            canon: self.canon.as_deref_mut(),
            codes,
            rule,
            target,
            store: self.store,
            found: None,
        };
        let _ = steps(&mut find);
        find.found
    }
}

struct ConcreteStep {
    rule: usize,
    args: Vec<Value>,
    choices: Vec<Value>,
    cells: Vec<i64>,
}

struct Find<'s, 'm> {
    model: &'m Model,
    layout: &'m Layout,
    canon: Option<&'s mut Canon>,
    codes: &'m [RuleCode],
    rule: Option<usize>,
    target: Vec<u64>,
    store: &'s dyn History,
    found: Option<ConcreteStep>,
}

impl Visitor for Find<'_, '_> {
    fn fired(&mut self, rule: usize, machine: &Machine<'_>, _moves: bool) -> ControlFlow<()> {
        let same =
            |wanted| wanted == rule || self.canon.as_ref().is_some_and(|it| it.same_rule(wanted, rule));
        if !self.rule.is_none_or(same) {
            return ControlFlow::Continue(());
        }
        let mut cells = machine.state().to_vec();
        if self.canon.as_mut().is_some_and(|canon| canon.loses(&cells)) {
            return ControlFlow::Continue(());
        }
        let mut representative = cells.clone();
        if let Some(canon) = &mut self.canon {
            canon.collect(&mut cells);
            canon.canonicalise(&mut representative);
        }
        let mut words = vec![0; self.layout.words()];
        self.layout.pack(&representative, &mut words);
        if self.store.key_of(words) != self.target {
            return ControlFlow::Continue(());
        }
        let choices = machine.chosen(self.model);
        let args = args(self.model, &self.codes[rule], machine);
        self.found = Some(ConcreteStep { rule, args, choices, cells });
        ControlFlow::Break(())
    }

    fn body_fault(&mut self, _rule: usize, _machine: &Machine<'_>, _fault: Fault) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn guard_fault(&mut self, _rule: usize, _args: Vec<Value>, _fault: Fault) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// Looks for the instance of a rule that faults in a concrete state like one did in its representative.
pub(crate) struct FindFault<'s, 'm> {
    model: &'m Model,
    canon: Option<&'s mut Canon>,
    program: &'m Program,
    rule: usize,
    in_body: bool,
    like: Fault,
    /// Arguments, choices, and the fault itself. It may have another span: elements may fault in another order.
    pub(crate) found: Option<(Vec<Value>, Vec<Value>, Fault)>,
}

impl<'s, 'm> FindFault<'s, 'm> {
    pub(crate) fn new(
        model: &'m Model,
        canon: Option<&'s mut Canon>,
        program: &'m Program,
        rule: usize,
        in_body: bool,
        like: Fault,
    ) -> Self {
        FindFault { model, canon, program, rule, in_body, like, found: None }
    }

    /// Whether a fault of a rule can be like the one that was found.
    fn is_wanted(&self, rule: usize) -> bool {
        rule == self.rule || self.canon.as_ref().is_some_and(|canon| canon.same_rule(rule, self.rule))
    }

    fn take(&mut self, args: Vec<Value>, choices: Vec<Value>, fault: Fault) -> ControlFlow<()> {
        let property = |kind: &FaultKind| match kind {
            FaultKind::Assertion(property) => Some(*property),
            _ => None,
        };
        if property(&fault.kind) != property(&self.like.kind) {
            return ControlFlow::Continue(());
        }
        let exact = fault == self.like;
        if exact || self.found.is_none() {
            self.found = Some((args, choices, fault));
        }
        if exact { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

impl Visitor for FindFault<'_, '_> {
    fn fired(&mut self, rule: usize, machine: &Machine<'_>, _moves: bool) -> ControlFlow<()> {
        if self.canon.as_mut().is_some_and(|canon| canon.loses(machine.state())) {
            let span = self.model.rules[RuleId::from_index(rule)].span;
            return self.body_fault(rule, machine, Fault { kind: FaultKind::LostElement, span });
        }
        ControlFlow::Continue(())
    }

    fn body_fault(&mut self, rule: usize, machine: &Machine<'_>, fault: Fault) -> ControlFlow<()> {
        if !self.in_body || !self.is_wanted(rule) {
            return ControlFlow::Continue(());
        }
        let args = args(self.model, &self.program.rules[rule], machine);
        self.take(args, machine.chosen(self.model), fault)
    }

    fn guard_fault(&mut self, rule: usize, args: Vec<Value>, fault: Fault) -> ControlFlow<()> {
        if self.in_body || !self.is_wanted(rule) {
            return ControlFlow::Continue(());
        }
        self.take(args, Vec::new(), fault)
    }
}
