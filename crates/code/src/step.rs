//! Runs through everything that can happen in a state.

use std::ops::ControlFlow;

use shoal_model::{Fault, GuardFaults, Model, Value};

use crate::{
    bag::normalise,
    code::{Handler, Program, RuleCode},
    exec::{Event, Machine, Trap},
    layout::Layout,
};

/// Is told what happens. The rule is a number among the rules, or among the starts.
pub trait Visitor {
    /// A body ran to its end: the machine has the new state, in normal form. `moves` if it is another state.
    fn fired(&mut self, rule: usize, machine: &Machine<'_>, moves: bool) -> ControlFlow<()>;
    /// A body faulted.
    fn body_fault(&mut self, rule: usize, machine: &Machine<'_>, fault: Fault) -> ControlFlow<()>;
    /// The domains, bindings or the guard of an instance faulted.
    fn guard_fault(&mut self, rule: usize, args: Vec<Value>, fault: Fault) -> ControlFlow<()>;
    /// A check covered a property.
    fn covered(&mut self, _property: shoal_model::PropertyId) {}
}

/// A machine that takes steps.
pub struct Stepper<'m> {
    model: &'m Model,
    layout: &'m Layout,
    program: &'m Program,
    machine: Machine<'m>,
    /// The state that is expanded.
    base: Vec<i64>,
    /// The rules, least priority number first.
    order: Vec<usize>,
}

impl<'m> Stepper<'m> {
    /// A machine at the model's empty state.
    pub fn new(model: &'m Model, layout: &'m Layout, program: &'m Program) -> Self {
        let mut order: Vec<usize> = (0..program.rules.len()).collect();
        order.sort_by_key(|rule| program.rules[*rule].priority);
        Stepper {
            model,
            layout,
            program,
            machine: Machine::new(program, layout.cells()),
            base: vec![0; layout.cells()],
            order,
        }
    }

    /// Runs all starts.
    pub fn starts(&mut self, visitor: &mut impl Visitor) -> ControlFlow<()> {
        self.base.fill(0);
        self.machine.state_mut().fill(0);
        for start in 0..self.program.starts.len() {
            self.instances(&self.program.starts[start], start, true, true, visitor)?;
        }
        ControlFlow::Continue(())
    }

    /// Fires everything that may fire in a state.
    pub fn expand(&mut self, cells: &[i64], visitor: &mut impl Visitor) -> ControlFlow<()> {
        self.base.copy_from_slice(cells);
        self.machine.state_mut().copy_from_slice(cells);
        let violates = self.model.guard_faults == GuardFaults::Violate;
        let mut least = None;
        for at in 0..self.order.len() {
            let rule = self.order[at];
            let code = &self.program.rules[rule];
            // Rules that are outranked do not fire, but a fault in their guards is one.
            let fires = least.is_none_or(|least| code.priority == least);
            if !fires && !violates {
                break;
            }
            let enabled = self.instances(code, rule, fires, violates, visitor)?;
            if enabled && fires {
                least = Some(code.priority);
            }
        }
        ControlFlow::Continue(())
    }

    /// Fires what may fire in a state of some rules, for callers who know that no other can. All rules must have the same
    /// priority.
    pub fn expand_some(
        &mut self,
        cells: &[i64],
        rules: &[usize],
        visitor: &mut impl Visitor,
    ) -> ControlFlow<()> {
        self.base.copy_from_slice(cells);
        self.machine.state_mut().copy_from_slice(cells);
        let violates = self.model.guard_faults == GuardFaults::Violate;
        for rule in rules {
            self.instances(&self.program.rules[*rule], *rule, true, violates, visitor)?;
        }
        ControlFlow::Continue(())
    }

    /// Runs through the instances of a rule. Says whether there is one that may fire.
    fn instances(
        &mut self,
        code: &RuleCode,
        rule: usize,
        fires: bool,
        violates: bool,
        visitor: &mut impl Visitor,
    ) -> ControlFlow<(), bool> {
        let mut enabled = false;
        let mut pc = code.instances;
        loop {
            match self.machine.resume(pc) {
                Ok(Event::Fire) => {
                    pc = self.machine.at() + 1;
                    enabled = true;
                    if fires {
                        self.fire(code, rule, visitor)?;
                    }
                }
                Ok(_) => return ControlFlow::Continue(enabled),
                Err(trap) => {
                    let Some(handler) = code.handler(self.machine.at()) else {
                        return ControlFlow::Continue(enabled);
                    };
                    if let Trap::Fault(fault) = trap
                        && violates
                    {
                        let args = self.partial_args(code, handler);
                        visitor.guard_fault(rule, args, fault)?;
                    }
                    pc = handler.resume;
                }
            }
        }
    }

    fn fire(&mut self, code: &RuleCode, rule: usize, visitor: &mut impl Visitor) -> ControlFlow<()> {
        // Only steps cover, guards do not.
        self.machine.take_covered().for_each(drop);
        let mut result = self.machine.run(code.body);
        loop {
            // A step that does not exist covers nothing.
            let exists = !matches!(result, Err(Trap::Discard | Trap::NoRun));
            self.machine.take_covered().filter(|_| exists).for_each(|property| visitor.covered(property));
            match result {
                Ok(_) => {
                    normalise(self.layout.bags(), self.machine.state_mut());
                    let moves = self.machine.state() != self.base;
                    visitor.fired(rule, &self.machine, moves)?;
                }
                Err(Trap::Fault(fault)) => visitor.body_fault(rule, &self.machine, fault)?,
                Err(Trap::Discard | Trap::NoRun) => {}
            }
            self.machine.state_mut().copy_from_slice(&self.base);
            if !self.machine.next_choices() {
                return ControlFlow::Continue(());
            }
            result = self.machine.run_again(code.body);
        }
    }

    /// The arguments of an instance that faults. A test that was done before the last parameters had values
    /// faults for all of them: the first values stand for all.
    fn partial_args(&self, code: &RuleCode, handler: Handler) -> Vec<Value> {
        let value = |param: &crate::code::Param, content| param.shown.value(self.model, content);
        let (known, rest) = code.params.split_at(handler.depth.min(code.params.len()));
        let mut args: Vec<Value> =
            known.iter().map(|param| value(param, self.machine.register(param.reg))).collect();
        if rest.iter().all(|param| param.first.is_some()) {
            args.extend(rest.iter().filter_map(|param| param.first.map(|first| value(param, first))));
        }
        args
    }
}

/// The arguments of the instance that has just fired.
pub fn args(model: &Model, code: &RuleCode, machine: &Machine<'_>) -> Vec<Value> {
    code.params.iter().map(|param| param.shown.value(model, machine.register(param.reg))).collect()
}
