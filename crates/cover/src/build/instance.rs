//! A model with so many elements, as code that can be run on chosen local states.

use std::{collections::HashMap, ops::ControlFlow};

use shoal_code::{Layout, Machine, Program, Stepper, Visitor, accept, args, compile};
use shoal_model::{Fault, Model, Rule, RuleId, SortSize, StartId, TypedId, Unsupported, Value};

use super::shape::{CountedShape, ENGINE};

/// Contents of cells, numbered in the order they are met.
#[derive(Clone, Debug, Default)]
pub(crate) struct CellNumbers {
    known: HashMap<Box<[i64]>, u32>,
    list: Vec<Box<[i64]>>,
}

impl CellNumbers {
    pub(crate) fn number(&mut self, cells: &[i64]) -> u32 {
        if let Some(number) = self.known.get(cells) {
            return *number;
        }
        let number = self.list.len() as u32;
        self.known.insert(cells.into(), number);
        self.list.push(cells.into());
        number
    }

    /// The number of cells that are known.
    pub(crate) fn find(&self, cells: &[i64]) -> Option<u32> {
        self.known.get(cells).copied()
    }

    pub(crate) fn cells(&self, number: u32) -> &[i64] {
        &self.list[number as usize]
    }

    pub(crate) fn len(&self) -> u32 {
        self.list.len() as u32
    }
}

/// A model with a fixed number of elements and some of its rules.
pub(crate) struct FixedInstance {
    pub(crate) model: Model,
    layout: Layout,
    program: Program,
    /// The rules of the whole model that its rules are.
    pub(crate) rules: Vec<RuleId>,
    size: u32,
    /// Where the shared variables lie: first cell and length.
    globals: Vec<(usize, usize)>,
    /// Where the entries of the first element lie: first cell and length of an entry.
    locals: Vec<(usize, usize)>,
}

impl FixedInstance {
    /// The model with so many elements and these rules; without its starts.
    pub(crate) fn new(
        model: &Model,
        shape: &CountedShape,
        size: u32,
        rules: Vec<RuleId>,
    ) -> Result<FixedInstance, Unsupported> {
        let list = rules.iter().map(|rule| model.rules[*rule].clone()).collect();
        FixedInstance::with(model, shape, size, rules, list, None)
    }

    /// The model with so many elements and only this start.
    pub(crate) fn start(
        model: &Model,
        shape: &CountedShape,
        size: u32,
        start: StartId,
    ) -> Result<FixedInstance, Unsupported> {
        FixedInstance::with(model, shape, size, Vec::new(), Vec::new(), Some(start))
    }

    /// The model with so many elements and rules of its own: questions.
    pub(crate) fn asking(
        model: &Model,
        shape: &CountedShape,
        size: u32,
        rules: Vec<Rule>,
    ) -> Result<FixedInstance, Unsupported> {
        FixedInstance::with(model, shape, size, Vec::new(), rules, None)
    }

    fn with(
        model: &Model,
        shape: &CountedShape,
        size: u32,
        rules: Vec<RuleId>,
        list: Vec<Rule>,
        start: Option<StartId>,
    ) -> Result<FixedInstance, Unsupported> {
        let mut part = Model {
            name: String::new(),
            sorts: model.sorts.clone(),
            types: model.types.clone(),
            vars: model.vars.clone(),
            functions: model.functions.clone(),
            starts: start.into_iter().map(|start| model.starts[start].clone()).collect(),
            rules: list.into_iter().collect(),
            tables: model.tables.clone(),
            guard_faults: model.guard_faults,
            ..Model::default()
        };
        // Only the names of properties matter here; checks refer to them by number.
        part.properties = model
            .properties
            .iter()
            .map(|property| shoal_model::Property {
                kind: shoal_model::PropertyKind::Assertion,
                ..property.clone()
            })
            .collect();
        part.sorts[shape.sort].size = SortSize::Fixed(size);
        let layout = accept(&part, ENGINE)?;
        let program = compile(&part, &layout, ENGINE)?;
        let place = |var: shoal_model::VarId| layout.var(var) as usize;
        let length = |ty| layout.size(ty).unwrap_or(0) as usize;
        let globals = shape.globals.iter().map(|var| (place(*var), length(part.vars[*var].ty))).collect();
        let entry = |var: shoal_model::VarId| match part.kind(part.vars[var].ty) {
            shoal_model::Type::Array { element, .. } => length(*element),
            _ => 0,
        };
        let locals = shape.locals.iter().map(|var| (place(*var), entry(*var))).collect();
        Ok(FixedInstance { globals, locals, layout, program, rules, size, model: part })
    }

    pub(crate) fn stepper(&self) -> Stepper<'_> {
        Stepper::new(&self.model, &self.layout, &self.program)
    }

    /// How many elements it has.
    pub(crate) fn size(&self) -> u32 {
        self.size
    }

    /// A state of shared cells and the local cells of each element.
    pub(crate) fn compose(&self, shared: &[i64], locals: &[&[i64]]) -> Vec<i64> {
        let mut state = vec![0; self.layout.cells()];
        let mut rest = shared;
        for (at, length) in &self.globals {
            let (here, more) = rest.split_at(*length);
            state[*at..at + length].copy_from_slice(here);
            rest = more;
        }
        for (element, cells) in locals.iter().enumerate() {
            let mut rest = *cells;
            for (at, length) in &self.locals {
                let (here, more) = rest.split_at(*length);
                let at = at + element * length;
                state[at..at + length].copy_from_slice(here);
                rest = more;
            }
        }
        state
    }

    /// The shared cells of a state.
    pub(crate) fn shared_of(&self, state: &[i64], into: &mut Vec<i64>) {
        into.clear();
        for (at, length) in &self.globals {
            into.extend_from_slice(&state[*at..at + length]);
        }
    }

    /// The local cells of an element.
    pub(crate) fn local_of(&self, state: &[i64], element: u32, into: &mut Vec<i64>) {
        into.clear();
        for (at, length) in &self.locals {
            let at = at + element as usize * length;
            into.extend_from_slice(&state[at..at + length]);
        }
    }

    /// The arguments of the rule or start that has just fired, and its choices.
    pub(crate) fn fired(&self, rule: usize, machine: &Machine<'_>, start: bool) -> (Vec<Value>, Vec<Value>) {
        let code = if start { &self.program.starts[rule] } else { &self.program.rules[rule] };
        (args(&self.model, code, machine), machine.chosen(&self.model))
    }

    /// The values of all variables in a state.
    pub(crate) fn decode(&self, state: &[i64]) -> shoal_model::State {
        self.layout.decode(&self.model, state)
    }

    /// The code of a constant in a cell of its type.
    pub(crate) fn code(&self, ty: shoal_model::TypeId, value: &Value) -> Option<i64> {
        self.model.ordinal(ty, value).map(|ordinal| ordinal as i64 + 1)
    }

    /// Where the entry of a local variable begins among the local cells.
    pub(crate) fn offset(&self, position: usize) -> usize {
        self.locals[..position].iter().map(|(_, length)| length).sum()
    }
}

/// Everything that happened in a state.
#[derive(Clone, Debug)]
pub(crate) enum StepEvent {
    /// A rule fired and led to this state.
    Fired { rule: usize, args: Vec<Value>, choices: Vec<Value>, state: Vec<i64> },
    /// Its body faulted.
    Body { rule: usize, args: Vec<Value>, choices: Vec<Value>, fault: Fault },
    /// Its guard faulted.
    Guard { rule: usize, args: Vec<Value>, fault: Fault },
}

/// Collects everything that happens.
pub(crate) struct EventSink<'a> {
    pub(crate) instance: &'a FixedInstance,
    pub(crate) starts: bool,
    pub(crate) events: Vec<StepEvent>,
    /// States that are the one before are left out.
    pub(crate) only_moves: bool,
}

impl<'a> EventSink<'a> {
    pub(crate) fn new(instance: &'a FixedInstance) -> EventSink<'a> {
        EventSink { instance, starts: false, events: Vec::new(), only_moves: true }
    }
}

impl Visitor for EventSink<'_> {
    fn fired(&mut self, rule: usize, machine: &Machine<'_>, moves: bool) -> ControlFlow<()> {
        if moves || !self.only_moves {
            let (args, choices) = self.instance.fired(rule, machine, self.starts);
            self.events.push(StepEvent::Fired { rule, args, choices, state: machine.state().to_vec() });
        }
        ControlFlow::Continue(())
    }

    fn body_fault(&mut self, rule: usize, machine: &Machine<'_>, fault: Fault) -> ControlFlow<()> {
        let (args, choices) = self.instance.fired(rule, machine, self.starts);
        self.events.push(StepEvent::Body { rule, args, choices, fault });
        ControlFlow::Continue(())
    }

    fn guard_fault(&mut self, rule: usize, args: Vec<Value>, fault: Fault) -> ControlFlow<()> {
        self.events.push(StepEvent::Guard { rule, args, fault });
        ControlFlow::Continue(())
    }
}

/// Collects the states that steps lead to, and nothing else: quick.
#[derive(Default)]
pub(crate) struct SuccessorSink {
    pub(crate) next: Vec<Vec<i64>>,
    pub(crate) faults: Vec<Fault>,
}

impl Visitor for SuccessorSink {
    fn fired(&mut self, _: usize, machine: &Machine<'_>, moves: bool) -> ControlFlow<()> {
        if moves {
            self.next.push(machine.state().to_vec());
        }
        ControlFlow::Continue(())
    }

    fn body_fault(&mut self, _: usize, _: &Machine<'_>, fault: Fault) -> ControlFlow<()> {
        self.faults.push(fault);
        ControlFlow::Continue(())
    }

    fn guard_fault(&mut self, _: usize, _: Vec<Value>, fault: Fault) -> ControlFlow<()> {
        self.faults.push(fault);
        ControlFlow::Continue(())
    }
}

/// The elements among arguments, by number.
pub(crate) fn elements(args: &[Value], positions: &[usize]) -> Vec<u32> {
    let element = |at: &usize| match args.get(*at) {
        Some(Value::Elem(_, element)) => *element,
        _ => u32::MAX,
    };
    positions.iter().map(element).collect()
}

/// The number of a rule in an instance, as the whole model knows it.
pub(crate) fn rule_id(instance: &FixedInstance, rule: usize) -> RuleId {
    instance.rules.get(rule).copied().unwrap_or_else(|| RuleId::from_index(rule))
}
