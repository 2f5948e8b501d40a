//! The memory a piece of code runs on: the variables, the frames of the calls, the locations in them.

use std::{collections::BTreeSet, sync::Mutex, thread};

use shoal_model::{
    Clock, Fault, FaultKind, IndexVec, Local, LocalId, LocalKind, Lost, Model, PropertyId, Ratio, SortId,
    SortSize, State, TypeId, TypedId, Value, VarId,
};
use shoal_syntax::Span;

use crate::{
    Blame, StateCell,
    collect::held,
    values::{Shapes, change_arrays, normal},
};

/// Why code does not run to its end.
#[derive(Clone, Debug)]
pub(crate) enum ExecStop {
    /// Something is wrong.
    Fault(Fault),
    /// An assumption does not hold: the step does not exist.
    Discarded,
    /// A choice has nothing to choose from, or the script does not fit: there is no such run.
    NoRun,
}

pub(crate) type Executed<T = ()> = Result<T, ExecStop>;

/// The fault as an error.
pub(crate) fn fault<T>(kind: FaultKind, span: Span) -> Executed<T> {
    Err(ExecStop::Fault(Fault { kind, span }))
}

/// A copy of a state, and what runs on it.
pub(crate) struct ReferenceMachine<'a> {
    pub(crate) model: &'a Model,
    vars: Vec<Value>,
    live: Vec<Vec<bool>>,
    /// The numbers of deleted elements that are not free yet.
    held: Vec<BTreeSet<u32>>,
    frames: Vec<CallFrame<'a>>,
    /// The first choices to make; after them, a choice takes the first value.
    pub(crate) script: Vec<Value>,
    /// The choices made: what there was to choose from, and which was taken.
    pub(crate) trail: Vec<(Vec<Value>, usize)>,
    /// The cover properties whose checks held.
    pub(crate) covered: Vec<PropertyId>,
    /// What was output, a text for each statement.
    pub(crate) output: Vec<String>,
    /// Whether a failed assumption discards what runs.
    pub(crate) assumes: bool,
    /// Is told when comparisons of clocks change, see [`crate::Interpreter`].
    pub(crate) turning: Option<&'a Mutex<Vec<Ratio>>>,
    /// How many statements were run.
    pub(crate) executed: usize,
    /// What was looked at, if anybody asks.
    pub(crate) read: Option<Vec<StateCell>>,
    /// Which part of an assertion is false, if anybody asks.
    pub(crate) asserted: Option<Option<Box<Blame>>>,
    /// How deeply evaluation is nested, see [`ReferenceMachine::deeper`].
    depth: usize,
    clock: Clock,
}

/// One call, or the rule or condition itself.
pub(crate) struct CallFrame<'a> {
    locals: &'a IndexVec<LocalId, Local>,
    cells: Vec<LocalCell>,
    /// The type of the result, if the code has one.
    pub(crate) result: Option<TypeId>,
}

/// What a local holds.
#[derive(Clone, Debug)]
pub(crate) enum LocalCell {
    /// Nothing yet.
    Unbound,
    /// A value of its own; for a reference, the temporary it stands for.
    Value(Value),
    /// Another place.
    Refers(ValueAddress),
}

/// A place with its indices worked out.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ValueAddress {
    base: AddressBase,
    hops: Vec<AddressHop>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum AddressBase {
    Var(VarId),
    Local { frame: usize, local: LocalId },
}

/// One step into a value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum AddressHop {
    Field(usize),
    /// The entry of an array.
    Entry(usize),
    /// The entry of an array over a growing sort.
    Element(SortId, u32),
    Slot(usize),
    Item(usize),
}

impl ValueAddress {
    pub(crate) fn var(var: VarId) -> Self {
        ValueAddress { base: AddressBase::Var(var), hops: Vec::new() }
    }

    /// Goes one step further.
    pub(crate) fn push(&mut self, hop: AddressHop) {
        self.hops.push(hop);
    }

    /// The variable it is in and the way there, as far as positions last: see [`StateCell`].
    pub(crate) fn in_state(&self) -> Option<(VarId, Vec<usize>)> {
        let AddressBase::Var(var) = self.base else { return None };
        let position = |hop: &AddressHop| match hop {
            AddressHop::Field(at) | AddressHop::Entry(at) => Some(*at),
            AddressHop::Element(_, element) => Some(*element as usize),
            AddressHop::Slot(_) | AddressHop::Item(_) => None,
        };
        Some((var, self.hops.iter().map_while(position).collect()))
    }
}

impl<'a> ReferenceMachine<'a> {
    pub(crate) fn new(model: &'a Model, state: &State) -> Self {
        ReferenceMachine {
            model,
            vars: state.values.clone(),
            live: state.live.clone(),
            held: held(model, &state.values, &state.live),
            frames: Vec::new(),
            script: Vec::new(),
            trail: Vec::new(),
            covered: Vec::new(),
            output: Vec::new(),
            assumes: true,
            turning: None,
            executed: 0,
            read: None,
            asserted: None,
            depth: 0,
            clock: Clock::present(),
        }
    }

    /// The state it has come to, in normal form: bags sorted, free numbers at the end of growing sorts forgotten.
    pub(crate) fn into_state(mut self) -> State {
        self.frames.clear();
        for sort in self.model.sorts.ids() {
            let used = self.live[sort.index()].iter().rposition(|live| *live).map_or(0, |last| last + 1);
            if used < self.live[sort.index()].len() {
                self.live[sort.index()].truncate(used);
                self.change_all_arrays(sort, &mut |entries, _| entries.truncate(used));
            }
        }
        State { values: self.vars.into_iter().map(normal).collect(), live: self.live }
    }

    /// The variables.
    pub(crate) fn vars(&self) -> &[Value] {
        &self.vars
    }

    pub(crate) fn shapes(&self) -> Shapes<'_> {
        Shapes { model: self.model, live: &self.live }
    }

    /// How many frames there are: 1 in a rule, one more in each call.
    pub(crate) fn height(&self) -> usize {
        self.frames.len()
    }

    /// A frame for code with these locals: its variables are undefined, the rest is not bound.
    pub(crate) fn frame(
        &self,
        locals: &'a IndexVec<LocalId, Local>,
        result: Option<TypeId>,
    ) -> CallFrame<'a> {
        let cell = |local: &Local| match local.kind {
            LocalKind::Variable => LocalCell::Value(self.shapes().blank(local.ty)),
            LocalKind::Bound | LocalKind::Reference { .. } => LocalCell::Unbound,
        };
        CallFrame { locals, cells: locals.iter().map(cell).collect(), result }
    }

    pub(crate) fn push(&mut self, frame: CallFrame<'a>) {
        self.frames.push(frame);
    }

    pub(crate) fn pop(&mut self) {
        self.frames.pop();
    }

    /// The result type of the code that runs.
    pub(crate) fn result_type(&self) -> Option<TypeId> {
        self.frames.last().and_then(|frame| frame.result)
    }

    /// The declaration of a local of the code that runs.
    pub(crate) fn local(&self, local: LocalId) -> Option<&'a Local> {
        self.frames.last().and_then(|frame| frame.locals.get(local))
    }

    /// The locals of the code that runs.
    pub(crate) fn locals(&self) -> Option<&'a IndexVec<LocalId, Local>> {
        self.frames.last().map(|frame| frame.locals)
    }

    /// Puts something into a local of the code that runs and gives what it held.
    pub(crate) fn set(&mut self, local: LocalId, cell: LocalCell) -> LocalCell {
        match self.frames.last_mut() {
            Some(frame) => frame.set(local, cell),
            None => LocalCell::Unbound,
        }
    }

    /// Where a local's value is: what it refers to, or the local itself. Nothing if a reference is not bound.
    pub(crate) fn locate_local(&self, local: LocalId) -> Option<ValueAddress> {
        let frame = self.frames.len().checked_sub(1)?;
        match self.frames[frame].cells.get(local.index())? {
            LocalCell::Unbound => None,
            LocalCell::Value(_) => {
                Some(ValueAddress { base: AddressBase::Local { frame, local }, hops: Vec::new() })
            }
            LocalCell::Refers(location) => Some(location.clone()),
        }
    }

    /// The value at a location. It may be gone: a reference can outlive the slot, item or element it leads through.
    pub(crate) fn get(&self, location: &ValueAddress, span: Span) -> Executed<&Value> {
        let mut value = match location.base {
            AddressBase::Var(var) => &self.vars[var.index()],
            AddressBase::Local { frame, local } => match self.frames[frame].cells.get(local.index()) {
                Some(LocalCell::Value(value)) => value,
                _ => return fault(FaultKind::Undefined, span),
            },
        };
        for hop in &location.hops {
            value = match (hop, value) {
                (AddressHop::Field(at), Value::Record(values))
                | (AddressHop::Entry(at), Value::Array(values))
                | (AddressHop::Item(at), Value::Sequence(values)) => values.get(*at),
                (AddressHop::Element(sort, element), Value::Array(values)) => {
                    values.get(*element as usize).filter(|_| self.shapes().exists(*sort, *element))
                }
                (AddressHop::Slot(at), Value::Multiset(slots)) => slots.get(*at).and_then(Option::as_ref),
                _ => None,
            }
            .ok_or(ExecStop::Fault(Fault { kind: hop.missing(), span }))?;
        }
        Ok(value)
    }

    /// The value at a location, to change it.
    pub(crate) fn get_mut(&mut self, location: &ValueAddress, span: Span) -> Executed<&mut Value> {
        self.get(location, span)?;
        let base = match location.base {
            AddressBase::Var(var) => Some(&mut self.vars[var.index()]),
            AddressBase::Local { frame, local } => match &mut self.frames[frame].cells[local.index()] {
                LocalCell::Value(value) => Some(value),
                LocalCell::Unbound | LocalCell::Refers(_) => None,
            },
        };
        let value = location.hops.iter().fold(base, |value, hop| match (hop, value?) {
            (AddressHop::Field(at), Value::Record(values))
            | (AddressHop::Entry(at), Value::Array(values))
            | (AddressHop::Item(at), Value::Sequence(values)) => values.get_mut(*at),
            (AddressHop::Element(_, element), Value::Array(values)) => values.get_mut(*element as usize),
            (AddressHop::Slot(at), Value::Multiset(slots)) => slots.get_mut(*at).and_then(Option::as_mut),
            _ => None,
        });
        value.ok_or(ExecStop::Fault(Fault { kind: FaultKind::Undefined, span }))
    }

    /// A new element of a growing sort, if the sort's limit allows it: the lowest number that is free.
    pub(crate) fn create(&mut self, sort: SortId) -> Option<u32> {
        let SortSize::Growing { limit, .. } = self.model.sorts[sort].size else { return None };
        let (live, held) = (&mut self.live[sort.index()], &self.held[sort.index()]);
        let used = live.iter().filter(|live| **live).count() + held.len();
        if limit.is_some_and(|limit| used >= limit as usize) {
            return None;
        }
        let free = |number: &usize| live.get(*number) != Some(&true) && !held.contains(&(*number as u32));
        let element = (0..).find(free)?;
        live.resize(live.len().max(element + 1), false);
        live[element] = true;
        let (model, live) = (self.model, self.live.clone());
        let shapes = Shapes { model, live: &live };
        self.change_all_arrays(sort, &mut |entries, ty| {
            entries.resize(entries.len().max(element + 1), Value::Undefined);
            entries[element] = shapes.blank(ty);
        });
        u32::try_from(element).ok()
    }

    /// Deletes an element of a growing sort that exists.
    pub(crate) fn delete(&mut self, sort: SortId, element: u32) {
        if !matches!(self.model.sorts[sort].size, SortSize::Growing { lost: Lost::Stays, .. }) {
            self.held[sort.index()].insert(element);
        }
        if let Some(live) = self.live[sort.index()].get_mut(element as usize) {
            *live = false;
        }
        self.change_all_arrays(sort, &mut |entries, _| {
            if let Some(entry) = entries.get_mut(element as usize) {
                *entry = Value::Undefined;
            }
        });
    }

    /// Calls `change` on every array over a growing sort in memory.
    fn change_all_arrays(&mut self, sort: SortId, change: &mut dyn FnMut(&mut Vec<Value>, TypeId)) {
        for (value, var) in self.vars.iter_mut().zip(self.model.vars.iter()) {
            change_arrays(self.model, value, var.ty, sort, change);
        }
        for frame in &mut self.frames {
            for (cell, local) in frame.cells.iter_mut().zip(frame.locals.iter()) {
                if let LocalCell::Value(value) = cell {
                    change_arrays(self.model, value, local.ty, sort, change);
                }
            }
        }
    }

    /// Looks at the watch now and then: see [`crate::under`].
    pub(crate) fn tick(&mut self) {
        self.clock.tick();
    }

    /// Goes one level deeper into code. Deep code must not exhaust the stack of whoever calls us (calls may be
    /// nested 200 deep, each inside an expression nested 500 deep), so from time to time evaluation goes on in a
    /// thread of its own, with a fresh stack, while this one waits.
    pub(crate) fn deeper<T: Send>(
        &mut self,
        go: impl FnOnce(&mut Self) -> Executed<T> + Send,
    ) -> Executed<T> {
        /// Levels on one stack. A level took 0.3 KiB when measured, and less than 4 KiB without optimisation.
        const LEVELS: usize = 250;
        const STACK: usize = 2 << 20;
        self.tick();
        self.depth += 1;
        let result = if self.depth.is_multiple_of(LEVELS) && !cfg!(target_family = "wasm") {
            let machine = &mut *self;
            thread::scope(|scope| {
                let builder = thread::Builder::new().stack_size(STACK);
                match builder.spawn_scoped(scope, || go(machine)).map(|thread| thread.join()) {
                    Ok(Ok(result)) => result,
                    Ok(Err(panic)) => std::panic::resume_unwind(panic),
                    // No thread to be had: as if the code were too deep.
                    Err(_) => fault(FaultKind::CallDepth, Span::default()),
                }
            })
        } else {
            go(self)
        };
        self.depth -= 1;
        result
    }
}

impl CallFrame<'_> {
    /// Puts something into a local and gives what it held.
    pub(crate) fn set(&mut self, local: LocalId, cell: LocalCell) -> LocalCell {
        match self.cells.get_mut(local.index()) {
            Some(held) => std::mem::replace(held, cell),
            None => LocalCell::Unbound,
        }
    }
}

impl AddressHop {
    /// The fault where there is nothing at the end of the step.
    pub(crate) fn missing(self) -> FaultKind {
        match self {
            AddressHop::Field(_) | AddressHop::Entry(_) | AddressHop::Item(_) => FaultKind::IndexOutOfRange,
            AddressHop::Element(..) => FaultKind::DanglingReference,
            AddressHop::Slot(_) => FaultKind::EmptySlot,
        }
    }
}
