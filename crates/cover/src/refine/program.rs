//! The program: what one of its threads can do in any shared state, found when it is asked for.

use std::{collections::HashMap, rc::Rc};

use shoal_code::Stepper;
use shoal_model::{Fault, Model, RuleId, State, Unsupported, Value, VarId};

use crate::{
    build::{
        CellNumbers, CountedShape, Dispatch, EarlyEnd, EventSink, FixedInstance, StepEvent, SuccessorSink,
        beginnings, unsupported, wanted,
    },
    meter::Meter,
};

/// The code of one thread.
pub(super) struct ThreadCode<'m> {
    model: &'m Model,
    shape: CountedShape,
    one: FixedInstance,
}

impl<'m> ThreadCode<'m> {
    pub(super) fn new(model: &'m Model) -> Result<ThreadCode<'m>, Unsupported> {
        let shape = CountedShape::of(model)?;
        for rule in &shape.rules {
            if rule.elements.len() != 1 || rule.broadcasts {
                let rule = &model.rules[rule.rule];
                let construct = format!("refinement where a step is not that of one thread: {:?}", rule.name);
                return Err(unsupported(construct, rule.span));
            }
        }
        let one = FixedInstance::new(model, &shape, 1, shape.rules.iter().map(|rule| rule.rule).collect())?;
        Ok(ThreadCode { model, shape, one })
    }
}

/// What a thread does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Next {
    /// It leads to this shared and this local state.
    To(u32, u32),
    /// It fails.
    Fault,
}

/// What others see of a shared state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Observable {
    /// Nothing: a thread is in an atomic section.
    Hidden,
    /// The values of the shared variables as one number; nothing if one is undefined.
    Value(Option<i64>),
}

/// How a rule does something: its arguments and choices, and the fault if it fails.
pub(super) type RuleUse = (RuleId, Vec<Value>, Vec<Value>, Option<Fault>);

/// A program as one of its threads runs it.
pub(super) struct RefinedProgram<'c> {
    code: &'c ThreadCode<'c>,
    /// The variables whose values are the number of a shared state, and how many values each has. The first counts least.
    digits: Vec<(VarId, u64)>,
    /// True while a thread is in an atomic section.
    atomic: Option<VarId>,
    /// Where a thread begins: shared and local states.
    pub(super) starts: Vec<(u32, u32)>,
    shared: CellNumbers,
    locals: CellNumbers,
    stepper: Stepper<'c>,
    dispatch: Dispatch,
    known: HashMap<(u32, u32), Rc<[Next]>>,
}

impl<'c> RefinedProgram<'c> {
    pub(super) fn new(
        code: &'c ThreadCode<'c>,
        atomic: Option<VarId>,
        meter: &Meter<'_>,
    ) -> Result<RefinedProgram<'c>, EarlyEnd> {
        let ThreadCode { model, shape, one } = code;
        let mut digits = Vec::new();
        for var in shape.globals.iter().filter(|var| Some(**var) != atomic) {
            let declared = &model.vars[*var];
            let construct = || format!("refinement with the variable `{}`", declared.name);
            let count = model.cardinality(declared.ty);
            digits.push((*var, count.ok_or_else(|| unsupported(construct(), declared.span))?));
        }
        let (mut shared, mut locals) = (CellNumbers::default(), CellNumbers::default());
        let mut starts = Vec::new();
        for beginning in beginnings(model, shape, &mut shared, &mut locals, meter)? {
            // Threads that are not named may not have begun.
            let others = beginning.config.tokens.iter().map(|token| token.0);
            let here = if beginning.fixed.is_empty() { others.collect() } else { beginning.fixed };
            starts.extend(here.into_iter().map(|local| (beginning.config.shared, local)));
        }
        Ok(RefinedProgram {
            code,
            digits,
            atomic,
            starts,
            shared,
            locals,
            stepper: one.stepper(),
            dispatch: Dispatch::new(&wanted(model, shape, one)),
            known: HashMap::new(),
        })
    }

    /// How many values the shared variables have together.
    pub(super) fn values(&self) -> Option<u64> {
        self.digits.iter().try_fold(1u64, |all, (_, count)| all.checked_mul(*count))
    }

    fn cells(&self, shared: u32, local: u32) -> Vec<i64> {
        self.code.one.compose(self.shared.cells(shared), &[self.locals.cells(local)])
    }

    /// The state with one thread.
    pub(super) fn state(&self, shared: u32, local: u32) -> State {
        self.code.one.decode(&self.cells(shared, local))
    }

    /// What others see of a shared state.
    pub(super) fn seen(&self, shared: u32) -> Observable {
        let state = self.state(shared, 0);
        if self.atomic.is_some_and(|var| *state.value(var) == Value::Bool(true)) {
            return Observable::Hidden;
        }
        let mut factor = 1;
        let mut sum = Some(0u64);
        for (var, count) in &self.digits {
            let digit = self.code.model.ordinal(self.code.model.vars[*var].ty, state.value(*var));
            sum = sum.zip(digit).map(|(sum, digit)| sum + digit * factor);
            factor *= count;
        }
        Observable::Value(sum.and_then(|sum| i64::try_from(sum).ok()))
    }

    /// The shared state whose variables have the values of a number, with no thread in an atomic section.
    pub(super) fn with_value(&mut self, value: i64) -> Option<u32> {
        let mut rest = u64::try_from(value).ok()?;
        let mut cells = Vec::new();
        for var in &self.code.shape.globals {
            let ty = self.code.model.vars[*var].ty;
            let digit = match self.digits.iter().find(|(known, _)| known == var) {
                Some((_, count)) => {
                    let digit = rest % count;
                    rest /= count;
                    self.code.model.value_at(ty, digit)?
                }
                None => Value::Bool(false),
            };
            cells.push(self.code.one.code(ty, &digit)?);
        }
        (rest == 0).then(|| self.shared.number(&cells))
    }

    /// Everything that a thread can do next, apart from steps that change nothing.
    pub(super) fn next(&mut self, shared: u32, local: u32) -> Rc<[Next]> {
        if let Some(known) = self.known.get(&(shared, local)) {
            return Rc::clone(known);
        }
        let state = self.cells(shared, local);
        let mut found = SuccessorSink::default();
        let rules = self.dispatch.rules(self.locals.cells(local));
        let _ = self.stepper.expand_some(&state, rules, &mut found);
        let mut all: Vec<Next> = found.faults.iter().map(|_| Next::Fault).collect();
        for state in found.next {
            all.push(self.number(&state));
        }
        all.sort_unstable();
        all.dedup();
        let all: Rc<[Next]> = all.into();
        self.known.insert((shared, local), Rc::clone(&all));
        all
    }

    fn number(&mut self, state: &[i64]) -> Next {
        let mut cells = Vec::new();
        self.code.one.shared_of(state, &mut cells);
        let shared = self.shared.number(&cells);
        self.code.one.local_of(state, 0, &mut cells);
        Next::To(shared, self.locals.number(&cells))
    }

    /// How a thread does something.
    pub(super) fn how(&mut self, shared: u32, local: u32, wanted: Next) -> Option<RuleUse> {
        let one = &self.code.one;
        let state = self.cells(shared, local);
        let mut collect = EventSink::new(one);
        let _ = one.stepper().expand(&state, &mut collect);
        collect.events.into_iter().find_map(|event| match event {
            StepEvent::Fired { rule, args, choices, state } if self.number(&state) == wanted => {
                Some((one.rules[rule], args, choices, None))
            }
            StepEvent::Body { rule, args, choices, fault } if wanted == Next::Fault => {
                Some((one.rules[rule], args, choices, Some(fault)))
            }
            StepEvent::Guard { rule, args, fault } if wanted == Next::Fault => {
                Some((one.rules[rule], args, Vec::new(), Some(fault)))
            }
            _ => None,
        })
    }
}
