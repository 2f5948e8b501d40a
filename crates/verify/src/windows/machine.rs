//! Running code on a structure: the meaning that the reference interpreter gives it, as far as what is known goes. Where
//! more would have to be known the run stops and says what.

use shoal_model::{
    Argument, Binding, CALL_DEPTH, Domain, Expr, Fault, FaultKind, FunctionId, IndexVec, Local, LocalId,
    LocalKind, OrInternal, Place, Projection, Root, SortId, Type, TypeId, TypedId, Value, VarId,
};
use shoal_syntax::Span;

use super::{
    facts::{Facts, Path, WindowPredicate, may_meet},
    structure::{Name, STAR, WindowStructure},
};

/// Which evaluation of a quantifier or a loop: where it stands, and the rounds and calls around it.
pub(crate) type EvaluationKey = Vec<(usize, Value)>;

/// What is assumed of elements that are not known.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Assumption {
    /// Of the elements that were not known then, none decides the quantifier, or does more in its round than to write what
    /// is kept for it.
    Nobody(EvaluationKey, Vec<u32>),
    /// This one does.
    Witness(EvaluationKey, Name),
    /// Some element that is not known does.
    Somebody(EvaluationKey),
    /// After the step none satisfies the predicate that was not known then.
    NobodyAfter(usize, Vec<u32>),
    /// After the step this one does.
    WitnessAfter(usize, Name),
    /// After the step some element that is not known does.
    SomebodyAfter(usize),
}

/// Why a run does not come to its end.
#[derive(Debug)]
pub(crate) enum WindowStop {
    Fault(Fault),
    /// There is no such step.
    Dead,
    /// There is no such state.
    Contradiction,
    /// A cell of this star is looked at.
    Resolve(Name),
    /// Elements that are not known may matter; whether it is enough to know that there is one.
    Ask(EvaluationKey, Vec<SortId>, bool),
    /// The same after the step, for a predicate.
    AskAfter(usize),
    /// One of these is to be taken.
    Choose(Vec<Value>),
    /// The checker does not know what to do.
    Lacking(String),
}

pub(crate) type WindowResult<T = ()> = Result<T, WindowStop>;

pub(crate) fn fault<T>(kind: FaultKind, span: Span) -> WindowResult<T> {
    Err(WindowStop::Fault(Fault { kind, span }))
}

pub(crate) fn lacking<T>(what: &str) -> WindowResult<T> {
    Err(WindowStop::Lacking(what.into()))
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum WindowSlot {
    Unbound,
    Value(Value),
    Refers(WindowAddress),
    /// What rounds of a loop have left, some of which were not run.
    Left,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct WindowAddress {
    base: WindowBase,
    hops: Vec<WindowHop>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum WindowBase {
    Var(VarId),
    Local(usize, LocalId),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum WindowHop {
    Field(usize),
    Entry(usize),
    /// The entry of an element of a sort with any number.
    Element(SortId, u32),
    Slot(usize),
}

pub(crate) struct WindowFrame<'m> {
    pub(crate) locals: &'m IndexVec<LocalId, Local>,
    pub(crate) slots: Vec<WindowSlot>,
    pub(crate) result: Option<TypeId>,
}

/// Code nested more deeply than this is not run.
const DEEPEST: usize = 400;

pub(crate) struct WindowMachine<'f, 'm> {
    pub(crate) facts: &'f Facts<'m>,
    /// As it was when the run began.
    before: &'f WindowStructure,
    pub(crate) values: Vec<Value>,
    pub(crate) frames: Vec<WindowFrame<'m>>,
    script: &'f [Value],
    used: usize,
    pub(crate) assumptions: &'f [Assumption],
    pub(crate) around: EvaluationKey,
    /// What may have been written of elements that are not known; nothing if that may be anything.
    pub(crate) dirty: Option<Vec<Path>>,
    /// The predicates that read something, of what belongs to no element, that was changed on the way. It may be as before again, but the
    /// bit is asked for anew all the same, as who made a proof does.
    touched: u32,
    /// Whether failed assumptions of the model end the run.
    pub(crate) assumes: bool,
    /// Whether elements are put into their order.
    pub(crate) keeps_order: bool,
    /// How many loops over sorts with any number are being run.
    pub(crate) rounds: u32,
    depth: usize,
}

/// What a path leads to among the values of all variables.
fn at<'v>(values: &'v [Value], path: &Path) -> &'v Value {
    inside(&values[path.0.index()], path)
}

/// What a path leads to in the value of its variable, as far as it goes by fields.
fn inside<'v>(mut value: &'v Value, path: &Path) -> &'v Value {
    for step in &path.1 {
        value = match (step, value) {
            (Some(field), Value::Record(fields)) => &fields[*field as usize],
            (_, value) => return value,
        };
    }
    value
}

impl<'f, 'm> WindowMachine<'f, 'm> {
    pub(crate) fn new(
        facts: &'f Facts<'m>,
        structure: &'f WindowStructure,
        script: &'f [Value],
        assumptions: &'f [Assumption],
    ) -> Self {
        WindowMachine {
            facts,
            before: structure,
            values: structure.values.clone(),
            frames: Vec::new(),
            script,
            used: 0,
            assumptions,
            around: EvaluationKey::new(),
            dirty: Some(Vec::new()),
            touched: 0,
            assumes: true,
            keeps_order: true,
            rounds: 0,
            depth: 0,
        }
    }

    pub(crate) fn known(&self) -> &[u32] {
        &self.before.known
    }

    pub(crate) fn bit(&self, predicate: usize) -> bool {
        self.before.bits >> predicate & 1 == 1
    }

    /// Whether what a predicate reads of elements that are not known, or of what belongs to none, may have changed.
    pub(crate) fn is_disturbed(&self, predicate: usize) -> bool {
        let Some(dirty) = &self.dirty else { return true };
        let about = &self.facts.predicates[predicate];
        self.touched >> predicate & 1 == 1
            || about.own.iter().any(|own| dirty.iter().any(|path| may_meet(path, own)))
            || about.shared.iter().any(|path| at(&self.values, path) != at(&self.before.values, path))
    }

    pub(crate) fn enter(&mut self, locals: &'m IndexVec<LocalId, Local>, result: Option<TypeId>) {
        let slot = |local: &Local| match local.kind {
            LocalKind::Variable => WindowSlot::Value(self.facts.shape.blank(local.ty, self.known())),
            LocalKind::Bound | LocalKind::Reference { .. } => WindowSlot::Unbound,
        };
        let slots = locals.iter().map(slot).collect();
        self.frames.push(WindowFrame { locals, slots, result });
    }

    pub(crate) fn leave(&mut self) {
        self.frames.pop();
    }

    pub(crate) fn frame(&mut self) -> &mut WindowFrame<'m> {
        self.frames.last_mut().or_internal("code runs in a frame")
    }

    /// Puts something into a local of the code that runs; gives what it held.
    pub(crate) fn set(&mut self, local: LocalId, slot: WindowSlot) -> WindowSlot {
        std::mem::replace(&mut self.frame().slots[local.index()], slot)
    }

    pub(crate) fn deeper<T>(&mut self, go: impl FnOnce(&mut Self) -> WindowResult<T>) -> WindowResult<T> {
        if self.depth == DEEPEST {
            return lacking("code that is nested so deeply");
        }
        self.depth += 1;
        let result = go(self);
        self.depth -= 1;
        result
    }

    /// The next value of the script, or a question for it.
    pub(crate) fn choose(
        &mut self,
        options: impl FnOnce(&mut Self) -> WindowResult<Vec<Value>>,
    ) -> WindowResult<Value> {
        match self.script.get(self.used) {
            Some(value) => {
                self.used += 1;
                Ok(value.clone())
            }
            None => Err(WindowStop::Choose(options(self)?)),
        }
    }

    /// The values of a scalar type as far as they are known, and the sorts that may have more.
    pub(crate) fn known_values(&self, ty: TypeId) -> (Vec<Value>, Vec<SortId>) {
        let shape = self.facts.shape;
        match shape.model.kind(ty) {
            Type::Ref { sort, nullable } if shape.is_any(*sort) => {
                let elements = (0..self.known()[sort.index()]).map(|number| Value::Elem(*sort, number));
                (nullable.then_some(Value::Null).into_iter().chain(elements).collect(), vec![*sort])
            }
            Type::Union { members } => {
                let (mut values, mut open) = (Vec::new(), Vec::new());
                for member in members {
                    let (some, sorts) = self.known_values(*member);
                    values.extend(some);
                    open.extend(sorts);
                }
                (values, open)
            }
            _ => (shape.model.values(ty).collect(), Vec::new()),
        }
    }

    /// The values that a parameter or a choice may take: any star, or one that does not occur yet.
    pub(crate) fn options(&mut self, domain: &'m Domain) -> WindowResult<Vec<Value>> {
        let Domain::Type(ty) = domain else { return Ok(self.domain(domain)?.0) };
        let (mut values, open) = self.known_values(*ty);
        let now = WindowStructure { values: self.values.clone(), ..self.before.clone() };
        for sort in open {
            let mut stars: Vec<u32> = Vec::new();
            let all = self.facts.shape.stars(&now).into_iter().chain(self.facts.shape.stars(self.before));
            let taken = self.script.iter().filter_map(|value| match value {
                Value::Elem(of, number) if *number >= STAR => Some((*of, *number)),
                _ => None,
            });
            stars.extend(all.chain(taken).filter(|name| name.0 == sort).map(|name| name.1));
            stars.sort_unstable();
            stars.dedup();
            stars.push(stars.last().map_or(STAR, |last| last + 1));
            values.extend(stars.into_iter().map(|number| Value::Elem(sort, number)));
        }
        Ok(values)
    }

    /// The values of a domain as far as they are known, and the sorts that may have more.
    pub(crate) fn domain(&mut self, domain: &'m Domain) -> WindowResult<(Vec<Value>, Vec<SortId>)> {
        match domain {
            Domain::Type(ty) => Ok(self.known_values(*ty)),
            Domain::Range { from, to, by } => {
                let (first, last, step) = (self.integer(from)?, self.integer(to)?, self.integer(by)?);
                if step == 0 {
                    return fault(FaultKind::ZeroStep, by.span);
                }
                let mut values = Vec::new();
                let mut next = Some(first);
                while let Some(value) =
                    next.filter(|value| if step > 0 { *value <= last } else { *value >= last })
                {
                    values.push(Value::Int(value));
                    next = value.checked_add(step);
                }
                Ok((values, Vec::new()))
            }
            Domain::Slots(place) => {
                let Value::Multiset(slots) = self.peek(place)? else {
                    return lacking("slots of what is no multiset");
                };
                let taken = slots.iter().enumerate().filter(|(_, slot)| slot.is_some());
                Ok((taken.map(|(at, _)| Value::Int(at as i64)).collect(), Vec::new()))
            }
        }
    }

    pub(crate) fn peek(&mut self, place: &'m Place) -> WindowResult<Value> {
        let location = self.locate(place)?;
        self.get(&location, place.span).cloned()
    }

    /// Finds a place. Cells of stars are not looked at, nor written: the run asks who they are.
    pub(crate) fn locate(&mut self, place: &'m Place) -> WindowResult<WindowAddress> {
        let model = self.facts.shape.model;
        let height = self.frames.len();
        let (mut location, mut ty) = match place.root {
            Root::Var(var) => {
                (WindowAddress { base: WindowBase::Var(var), hops: Vec::new() }, model.vars[var].ty)
            }
            Root::Local(local) => {
                let frame = self.frame();
                let location = match &frame.slots[local.index()] {
                    WindowSlot::Unbound => return fault(FaultKind::Undefined, place.span),
                    WindowSlot::Refers(location) => location.clone(),
                    WindowSlot::Value(_) | WindowSlot::Left => {
                        WindowAddress { base: WindowBase::Local(height - 1, local), hops: Vec::new() }
                    }
                };
                (location, frame.locals[local].ty)
            }
        };
        for projection in &place.path {
            let (hop, span, next) = match (projection, model.kind(ty)) {
                (Projection::Field(at), Type::Record { fields }) => {
                    (WindowHop::Field(*at as usize), place.span, fields[*at as usize].ty)
                }
                (Projection::Index(index), Type::Array { index: of, element }) => {
                    let value = self.eval(index)?;
                    (self.entry(&value, *of, index.span)?, index.span, *element)
                }
                (Projection::Slot(slot), Type::Multiset { element, .. }) => {
                    match usize::try_from(self.integer(slot)?) {
                        Ok(at) => (WindowHop::Slot(at), slot.span, *element),
                        Err(_) => return fault(FaultKind::EmptySlot, slot.span),
                    }
                }
                _ => return lacking("this way into a value"),
            };
            location.hops.push(hop);
            self.get(&location, span)?;
            ty = next;
        }
        Ok(location)
    }

    fn entry(&self, value: &Value, index: TypeId, span: Span) -> WindowResult<WindowHop> {
        let shape = self.facts.shape;
        match (shape.over(index), value) {
            (_, Value::Undefined) => fault(FaultKind::Undefined, span),
            (Some(sort), Value::Elem(of, number)) if sort == *of => Ok(WindowHop::Element(sort, *number)),
            (Some(_), Value::Null) => fault(FaultKind::NullReference, span),
            (Some(_), _) => fault(FaultKind::IndexOutOfRange, span),
            (None, value) => match (shape.model.ordinal(index, value), value) {
                (Some(at), _) => Ok(WindowHop::Entry(at as usize)),
                (None, Value::Null) => fault(FaultKind::NullReference, span),
                (None, _) => fault(FaultKind::IndexOutOfRange, span),
            },
        }
    }

    pub(crate) fn get(&self, location: &WindowAddress, span: Span) -> WindowResult<&Value> {
        let mut value = match location.base {
            WindowBase::Var(var) => &self.values[var.index()],
            WindowBase::Local(frame, local) => match &self.frames[frame].slots[local.index()] {
                WindowSlot::Value(value) => value,
                WindowSlot::Left => return lacking("what the last round of a loop has left"),
                WindowSlot::Unbound | WindowSlot::Refers(_) => return fault(FaultKind::Undefined, span),
            },
        };
        for hop in &location.hops {
            let next = match (*hop, value) {
                (WindowHop::Field(at), Value::Record(values))
                | (WindowHop::Entry(at), Value::Array(values)) => values.get(at),
                (WindowHop::Element(sort, number), Value::Array(values)) => {
                    if number >= STAR {
                        return Err(WindowStop::Resolve((sort, number)));
                    }
                    values.get(number as usize)
                }
                (WindowHop::Slot(at), Value::Multiset(slots)) => match slots.get(at) {
                    Some(Some(value)) => Some(value),
                    Some(None) | None => return fault(FaultKind::EmptySlot, span),
                },
                _ => None,
            };
            value = next.or_internal("a place leads into its value");
        }
        Ok(value)
    }

    /// Writes a value that fits.
    pub(crate) fn put(
        &mut self,
        location: &WindowAddress,
        ty: TypeId,
        value: Value,
        span: Span,
    ) -> WindowResult {
        // A local that is written whole does not have to be there.
        if let (WindowBase::Local(frame, local), true) = (location.base, location.hops.is_empty()) {
            self.frames[frame].slots[local.index()] = WindowSlot::Value(value);
            return Ok(());
        }
        self.get(location, span)?;
        if let (WindowBase::Var(var), true) = (location.base, self.facts.shape.is_open(ty)) {
            // Entries of elements that are not known are written too.
            let step = |hop: &WindowHop| match hop {
                WindowHop::Field(at) => Some(*at as u32),
                WindowHop::Entry(_) | WindowHop::Element(..) | WindowHop::Slot(_) => None,
            };
            let path = location.hops.iter().map(step).collect();
            if let Some(dirty) = &mut self.dirty {
                dirty.push((var, path));
            }
        }
        let held = std::mem::replace(self.get_mut(location), value);
        if let WindowBase::Var(var) = location.base {
            self.touch(var, location, held);
        }
        Ok(())
    }

    /// Notes which predicates read something that a write has changed, where this was held before it.
    fn touch(&mut self, var: VarId, location: &WindowAddress, held: Value) {
        let facts = self.facts;
        let reads = |predicate: &WindowPredicate<'_>| predicate.shared.iter().any(|path| path.0 == var);
        if !facts.predicates.iter().any(reads) {
            return;
        }
        let written = std::mem::replace(self.get_mut(location), held);
        let before = self.values[var.index()].clone();
        *self.get_mut(location) = written;
        let after = &self.values[var.index()];
        for (number, predicate) in facts.predicates.iter().enumerate() {
            let mut paths = predicate.shared.iter().filter(|path| path.0 == var);
            let changed = paths.any(|path| inside(&before, path) != inside(after, path));
            self.touched |= u32::from(changed) << number;
        }
    }

    /// What is at a location where something is.
    pub(crate) fn get_mut(&mut self, location: &WindowAddress) -> &mut Value {
        let mut value = match location.base {
            WindowBase::Var(var) => &mut self.values[var.index()],
            WindowBase::Local(frame, local) => match &mut self.frames[frame].slots[local.index()] {
                WindowSlot::Value(value) => value,
                WindowSlot::Unbound | WindowSlot::Refers(_) | WindowSlot::Left => {
                    shoal_model::internal!("a local that was read is gone")
                }
            },
        };
        for hop in &location.hops {
            let next = match (*hop, value) {
                (WindowHop::Field(at), Value::Record(values))
                | (WindowHop::Entry(at), Value::Array(values)) => values.get_mut(at),
                (WindowHop::Element(_, number), Value::Array(values)) => values.get_mut(number as usize),
                (WindowHop::Slot(at), Value::Multiset(slots)) => slots.get_mut(at).and_then(Option::as_mut),
                _ => None,
            };
            value = next.or_internal("a place that was read leads into its value");
        }
        value
    }

    /// The value as one of a type.
    pub(crate) fn fit(&self, value: Value, ty: TypeId, span: Span) -> WindowResult<Value> {
        let shape = self.facts.shape;
        let all = |values: Vec<Value>, ty: TypeId| -> WindowResult<Vec<Value>> {
            values.into_iter().map(|value| self.fit(value, ty, span)).collect()
        };
        match (shape.model.kind(ty), value) {
            (Type::Record { fields }, Value::Record(values)) => {
                let parts = values.into_iter().zip(fields);
                Ok(Value::Record(
                    parts
                        .map(|(value, field)| self.fit(value, field.ty, span))
                        .collect::<WindowResult<_>>()?,
                ))
            }
            (Type::Array { element, .. }, Value::Array(values)) => all(values, *element).map(Value::Array),
            (Type::Multiset { capacity, element }, Value::Multiset(slots)) => {
                let held: Vec<Value> = slots.into_iter().flatten().collect();
                if held.len() > *capacity as usize {
                    return fault(FaultKind::OutOfRange, span);
                }
                Ok(Value::Multiset(all(held, *element)?.into_iter().map(Some).collect()))
            }
            (kind, Value::Undefined) if kind.is_scalar() => Ok(Value::Undefined),
            (_, value) if shape.belongs(ty, &value) => Ok(value),
            // Where there are more elements it may fit.
            _ if self.grows(ty) => lacking("a number that grows with the number of elements"),
            _ => fault(FaultKind::OutOfRange, span),
        }
    }

    /// Whether a type has more numbers where there are more elements.
    pub(crate) fn grows(&self, ty: TypeId) -> bool {
        let model = self.facts.shape.model;
        let is_open = |ty: TypeId| model.open_bounds.iter().any(|(open, _)| *open == ty);
        match model.kind(ty) {
            Type::Union { members } => members.iter().any(|member| is_open(*member)),
            _ => is_open(ty),
        }
    }

    pub(crate) fn call(
        &mut self,
        function: FunctionId,
        arguments: &'m [Argument],
        span: Span,
        site: usize,
    ) -> WindowResult<Option<Value>> {
        let callee = &self.facts.shape.model.functions[function];
        let mut slots = Vec::new();
        for (param, argument) in callee.params.iter().zip(arguments) {
            slots.push((*param, self.argument(argument, &callee.code.locals[*param])?));
        }
        if self.frames.len() > CALL_DEPTH {
            return fault(FaultKind::CallDepth, span);
        }
        self.enter(&callee.code.locals, callee.result);
        for (param, slot) in slots {
            self.set(param, slot);
        }
        self.around.push((site, Value::Undefined));
        let flow = self.block(&callee.code.body)?;
        self.around.pop();
        self.leave();
        match (flow, callee.result) {
            (Some(Some(value)), _) => Ok(Some(value)),
            (None | Some(None), None) => Ok(None),
            (None | Some(None), Some(_)) => fault(FaultKind::NoResult, span),
        }
    }

    fn argument(&mut self, argument: &'m Argument, local: &'m Local) -> WindowResult<WindowSlot> {
        Ok(match argument {
            Argument::Place(place) if matches!(local.kind, LocalKind::Reference { .. }) => {
                WindowSlot::Refers(self.locate(place)?)
            }
            Argument::Place(place) => WindowSlot::Value(self.peek(place)?),
            Argument::Value(value) => {
                let held = self.eval(value)?;
                WindowSlot::Value(self.fit(held, local.ty, value.span)?)
            }
        })
    }

    pub(crate) fn bind(&mut self, bindings: &'m [Binding]) -> WindowResult {
        for binding in bindings {
            let locals = self.frame().locals;
            let slot = self.argument(&binding.to, &locals[binding.local])?;
            self.set(binding.local, slot);
        }
        Ok(())
    }

    pub(crate) fn truth(&mut self, expr: &'m Expr) -> WindowResult<bool> {
        match self.eval(expr)? {
            Value::Bool(value) => Ok(value),
            other => unfit(&other, expr.span),
        }
    }

    pub(crate) fn integer(&mut self, expr: &'m Expr) -> WindowResult<i64> {
        match self.eval(expr)? {
            Value::Int(value) => Ok(value),
            other => unfit(&other, expr.span),
        }
    }
}

/// The fault of a value where another kind is needed.
pub(crate) fn unfit<T>(value: &Value, span: Span) -> WindowResult<T> {
    match value {
        Value::Null => fault(FaultKind::NullReference, span),
        _ => fault(FaultKind::Undefined, span),
    }
}
