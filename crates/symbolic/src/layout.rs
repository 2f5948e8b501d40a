//! Which bits stand for which part of the state.
//!
//! Every scalar part is a *cell*: its bits hold the number of its value, and one number more where it can be undefined.
//! Bits are numbered from the top of the diagrams; each has a variable for now and, right below it, one for the next
//! state. Plain variables come first, then what belongs to the first entry of arrays, then to the second, so that what
//! belongs together stays together. Where several plain variables point into chains of elements, like the heads and tails of
//! queues, all pointers come after all other data: that says who waits where, and little more is left for the pointers to
//! say.

use std::{collections::BTreeMap, rc::Rc};

use shoal_model::{Model, OrInternal, SortId, State, Type, TypeId, TypedId, Value, VarId, internal};
use shoal_syntax::Span;

use crate::{
    bits,
    dd::{Bdd, Dd, DdResult, DdVar, lacks},
    machine::{CountedPopulation, SymbolicMachine, bag},
    value::{ScalarData, SymbolicScalar, SymbolicValue},
};

/// A bit of the state.
pub type Bit = u32;

/// The variable of a bit in the state as it is.
pub fn now(bit: Bit) -> DdVar {
    2 * bit
}

/// The variable of a bit in the state that follows.
pub fn next(bit: Bit) -> DdVar {
    2 * bit + 1
}

/// A scalar part of the state.
#[derive(Clone, Debug)]
pub struct LayoutCell {
    /// The variable it is part of.
    pub var: VarId,
    /// The way into the variable: fields, entries, or the numbers of elements of a counted sort.
    pub way: Vec<u32>,
    /// Its type.
    pub ty: TypeId,
    /// How many values it has, undefined not counted.
    pub values: u64,
    /// Whether it can be undefined.
    pub optional: bool,
    /// Its values, where they are not just those of its type: of the elements of a counted sort only the tracked ones,
    /// and [`SOMEBODY`] for all others.
    pub only: Option<Vec<Value>>,
    /// Its bits, least significant first.
    pub bits: Vec<Bit>,
}

/// The number of an element of a counted sort that is held by a variable, whichever it is.
pub const SOMEBODY: u32 = u32::MAX;

impl LayoutCell {
    /// How many bits it needs.
    pub fn width(&self) -> u32 {
        let codes = self.values + u64::from(self.optional);
        u64::BITS - codes.saturating_sub(1).leading_zeros()
    }

    /// Its value in a machine.
    pub fn find<'m>(&self, machine: &'m SymbolicMachine<'_>) -> Option<&'m SymbolicScalar> {
        find(&machine.vars[self.var.index()], &self.way)
    }

    /// Its values, in the order of their numbers.
    fn domain(&self, model: &Model) -> Vec<Value> {
        match &self.only {
            Some(values) => values.clone(),
            None => model.values(self.ty).collect(),
        }
    }

    /// The number of a value.
    fn ordinal(&self, model: &Model, value: &Value) -> Option<u64> {
        let Some(values) = &self.only else { return model.ordinal(self.ty, value) };
        let number = |value: &Value| values.iter().position(|it| it == value).map(|at| at as u64);
        number(value).or_else(|| match value {
            Value::Elem(sort, _) => number(&Value::Elem(*sort, SOMEBODY)),
            _ => None,
        })
    }
}

/// Whether a cell is a number with many values, which is best kept beside counters, bit by bit.
pub fn is_number(model: &Model, cell: &LayoutCell) -> bool {
    matches!(model.kind(cell.ty), Type::Int { .. }) && cell.values > 8
}

/// All cells.
#[derive(Clone, Debug, Default)]
pub struct BitLayout {
    /// In the order of the variables.
    pub cells: Vec<LayoutCell>,
    /// How many bits there are.
    pub bits: Bit,
}

/// A cell may have so many values.
const MOST_VALUES: u64 = 1 << 40;
/// A state may have so many bits.
const MOST_BITS: Bit = 20_000;

impl BitLayout {
    /// The cells of a model. Of counted sorts, only the tracked elements have cells. `defined` says which cells are
    /// never undefined, by number.
    pub fn new(
        model: &Model,
        tracked: &BTreeMap<SortId, Vec<u32>>,
        defined: &dyn Fn(usize) -> bool,
    ) -> DdResult<BitLayout> {
        let mut layout = BitLayout::unnumbered(model, tracked, defined)?;
        layout.number(model, &|_| true);
        Ok(layout)
    }

    /// The same, but large numbers get no bits yet.
    pub fn without_numbers(
        model: &Model,
        tracked: &BTreeMap<SortId, Vec<u32>>,
        defined: &dyn Fn(usize) -> bool,
    ) -> DdResult<BitLayout> {
        let mut layout = BitLayout::unnumbered(model, tracked, defined)?;
        layout.number(model, &|cell| !is_number(model, cell));
        Ok(layout)
    }

    fn unnumbered(
        model: &Model,
        tracked: &BTreeMap<SortId, Vec<u32>>,
        defined: &dyn Fn(usize) -> bool,
    ) -> DdResult<BitLayout> {
        let mut layout = BitLayout::default();
        for (id, var) in model.vars.enumerate() {
            layout.add(model, tracked, id, var.ty, &mut Vec::new(), var.span)?;
        }
        for (at, cell) in layout.cells.iter_mut().enumerate() {
            cell.optional = !defined(at);
        }
        Ok(layout)
    }

    fn add(
        &mut self,
        model: &Model,
        tracked: &BTreeMap<SortId, Vec<u32>>,
        var: VarId,
        ty: TypeId,
        way: &mut Vec<u32>,
        span: Span,
    ) -> DdResult<()> {
        match model.kind(ty) {
            Type::Record { fields } => {
                for (at, field) in fields.iter().enumerate() {
                    way.push(at as u32);
                    self.add(model, tracked, var, field.ty, way, span)?;
                    way.pop();
                }
            }
            Type::Array { index, element } => {
                let entries: Vec<u32> = match model.kind(*index) {
                    Type::Ref { sort, nullable: false } if tracked.contains_key(sort) => {
                        tracked[sort].clone()
                    }
                    _ => match model.cardinality(*index) {
                        Some(count) if count <= 1 << 20 => (0..count as u32).collect(),
                        _ => return lacks("arrays of this size", span),
                    },
                };
                for entry in entries {
                    way.push(entry);
                    self.add(model, tracked, var, *element, way, span)?;
                    way.pop();
                }
            }
            Type::Multiset { .. } if !tracked.is_empty() => return lacks("multisets", span),
            Type::Multiset { capacity, element } => {
                let Some(flag) = bag::flag_type(model).filter(|_| !bag::has_bags(model, *element)) else {
                    return lacks("multisets of multisets", span);
                };
                for slot in 0..*capacity {
                    for (at, ty) in [flag, *element].into_iter().enumerate() {
                        way.extend([slot, at as u32]);
                        self.add(model, tracked, var, ty, way, span)?;
                        way.truncate(way.len() - 2);
                    }
                }
            }
            Type::Sequence { .. } => return lacks("sequences", span),
            Type::Clock => return lacks("clocks", span),
            _ => {
                let Some(values) = model.cardinality(ty).filter(|values| *values <= MOST_VALUES) else {
                    return lacks("variables with so many values", span);
                };
                let only = some(model, tracked, ty);
                let values = only.as_ref().map_or(values, |only| only.len() as u64);
                let (way, bits) = (way.clone(), Vec::new());
                self.cells.push(LayoutCell { var, way, ty, values, optional: true, only, bits });
                if self.cells.len() > MOST_BITS as usize {
                    return lacks("states of so many parts", span);
                }
            }
        }
        Ok(())
    }

    /// Gives cells their bits.
    fn number(&mut self, model: &Model, wanted: &dyn Fn(&LayoutCell) -> bool) {
        let mut order: Vec<usize> = (0..self.cells.len()).collect();
        let pointers_last = self.has_queues(model);
        let key = |cell: &LayoutCell| {
            let pointer = pointers_last && !model.sorts_of(cell.ty).is_empty();
            (pointer, entry(model, cell).map(|(index, entry)| (index.index(), entry)), cell.var)
        };
        order.sort_by_key(|at| key(&self.cells[*at]));
        for at in order {
            let cell = &mut self.cells[at];
            if !wanted(cell) {
                continue;
            }
            let width = cell.width();
            cell.bits = (self.bits..self.bits + width).rev().collect();
            self.bits += width;
        }
    }

    /// Whether elements point to elements and several plain variables point to them.
    fn has_queues(&self, model: &Model) -> bool {
        let linked = |sort: &SortId, cell: &LayoutCell| {
            let index = entry(model, cell).map(|(index, _)| index);
            index.is_some_and(|index| model.sorts_of(index).contains(sort))
        };
        model.sorts.ids().any(|sort| {
            let pointers = self.cells.iter().filter(|cell| model.sorts_of(cell.ty).contains(&sort));
            let (links, plain): (Vec<&LayoutCell>, Vec<&LayoutCell>) =
                pointers.partition(|cell| linked(&sort, cell));
            !links.is_empty() && plain.iter().filter(|cell| entry(model, cell).is_none()).count() > 1
        })
    }

    /// The value of each variable in every state at once. Of a counted sort, there is nothing but its tracked elements.
    pub fn states(
        &self,
        model: &Model,
        dd: &Dd,
        counted: &BTreeMap<SortId, CountedPopulation>,
    ) -> DdResult<Vec<SymbolicValue>> {
        let mut cells = self.cells.iter();
        let members = |index: TypeId| match model.kind(index) {
            Type::Ref { sort, nullable: false } => {
                let members = &counted.get(sort)?.members;
                Some((*sort, members.iter().map(|member| member.id).collect()))
            }
            _ => None,
        };
        let mut vars = Vec::new();
        for var in model.vars.iter() {
            vars.push(SymbolicValue::build(model, var.ty, &members, &mut |ty| match cells.next() {
                Some(cell) => read(model, dd, cell),
                None => Ok(SymbolicScalar::constant(dd, &model.undefined(ty))),
            })?);
        }
        Ok(vars)
    }

    /// The states whose bits mean something: not every number of a cell's bits is the number of a value.
    pub fn valid(&self, dd: &Dd) -> DdResult<Bdd> {
        let mut valid = dd.yes();
        // From below, as diagrams are built.
        let mut cells: Vec<&LayoutCell> = self.cells.iter().collect();
        cells.sort_by_key(|cell| std::cmp::Reverse(cell.bits.first().copied()));
        for cell in cells {
            valid = valid.and(&self::valid(dd, cell)?)?;
        }
        Ok(valid)
    }

    /// The cells of a machine's variables, in order: the same as of the layout if its members are the tracked ones.
    pub fn scalars<'m>(&self, machine: &'m SymbolicMachine<'_>) -> Vec<&'m SymbolicScalar> {
        self.cells.iter().filter_map(|cell| cell.find(machine)).collect()
    }

    /// The state in which the bits have these values; for models without counted sorts.
    pub fn decode(&self, model: &Model, valuation: &dyn Fn(Bit) -> bool) -> State {
        let mut state = model.blank_state();
        let types = || model.vars.iter().map(|var| var.ty);
        let spread = state.values.iter().zip(types()).map(|(value, ty)| bag::spread(model, ty, value));
        state.values = spread.collect();
        for cell in &self.cells {
            let value = self.decode_cell(model, cell, valuation);
            let slot =
                cell.way.iter().try_fold(&mut state.values[cell.var.index()], |value, at| match value {
                    Value::Record(parts) | Value::Array(parts) => parts.get_mut(*at as usize),
                    _ => None,
                });
            if let Some(slot) = slot {
                *slot = value;
            }
        }
        let gathered = state.values.into_iter().zip(types()).map(|(value, ty)| bag::gather(model, ty, value));
        State { values: gathered.collect(), live: state.live }
    }

    /// The value of a cell.
    pub fn decode_cell(&self, model: &Model, cell: &LayoutCell, valuation: &dyn Fn(Bit) -> bool) -> Value {
        let code: u64 = cell.bits.iter().enumerate().map(|(at, bit)| u64::from(valuation(*bit)) << at).sum();
        let value = match &cell.only {
            Some(values) => values.get(code as usize).cloned(),
            None => model.value_at(cell.ty, code),
        };
        match value {
            Some(value) => value,
            None if cell.optional => Value::Undefined,
            None => internal!("the bits of a cell mean nothing"),
        }
    }

    /// The states that agree with this value of a cell.
    pub fn literals(&self, model: &Model, cell: &LayoutCell, value: &Value) -> Vec<(DdVar, bool)> {
        let code = match cell.ordinal(model, value) {
            Some(code) => code,
            None if cell.optional && *value == Value::Undefined => cell.values,
            None => internal!("a value is one of its cell"),
        };
        cell.bits.iter().enumerate().map(|(at, bit)| (now(*bit), code >> at & 1 == 1)).collect()
    }
}

/// The first array on the way to a cell: the type that indexes it, and the entry; nothing where there is none.
fn entry(model: &Model, cell: &LayoutCell) -> Option<(TypeId, u32)> {
    let mut ty = model.vars[cell.var].ty;
    for step in &cell.way {
        match model.kind(ty) {
            Type::Record { fields } => ty = fields[*step as usize].ty,
            Type::Array { index, .. } => return Some((*index, *step)),
            _ => break,
        }
    }
    None
}

/// A cell that is no part of the state, for a choice of a value: its bits begin with this one.
pub(crate) fn choice(model: &Model, ty: TypeId, first: Bit) -> LayoutCell {
    let values = model.cardinality(ty).or_internal("what is chosen from is finite");
    let (way, bits, var) = (Vec::new(), Vec::new(), VarId::from_index(0));
    let mut cell = LayoutCell { var, way, ty, values, optional: false, only: None, bits };
    cell.bits = (first..first + cell.width()).rev().collect();
    cell
}

/// The states in which the bits of a cell mean something.
pub fn valid(dd: &Dd, cell: &LayoutCell) -> DdResult<Bdd> {
    let codes = cell.values + u64::from(cell.optional);
    if codes.is_power_of_two() {
        return Ok(dd.yes());
    }
    let mut less = dd.no();
    for (place, bit) in cell.bits.iter().enumerate() {
        let bit = dd.var(now(*bit))?;
        less = match codes >> place & 1 {
            1 => bit.ite(&less, &dd.yes())?,
            _ => less.minus(&bit)?,
        };
    }
    Ok(less)
}

/// The values of a type in which elements of counted sorts are not told apart, but for the tracked ones; nothing if it
/// has none.
fn some(model: &Model, tracked: &BTreeMap<SortId, Vec<u32>>, ty: TypeId) -> Option<Vec<Value>> {
    let mut held: Vec<SortId> = model.sorts_of(ty);
    held.retain(|sort| tracked.contains_key(sort));
    if held.is_empty() {
        return None;
    }
    let told_apart = |value: &Value| match value {
        Value::Elem(sort, element) => tracked.get(sort).is_none_or(|tracked| tracked.contains(element)),
        _ => true,
    };
    let somebody = held.iter().map(|sort| Value::Elem(*sort, SOMEBODY));
    Some(model.values(ty).filter(told_apart).chain(somebody).collect())
}

/// The part of a value at the end of a way, to be changed.
pub fn find_mut<'s>(value: &'s mut SymbolicValue, way: &[u32]) -> Option<&'s mut SymbolicValue> {
    way.iter().try_fold(value, |value, at| match value {
        SymbolicValue::Record(parts) | SymbolicValue::Array(parts) => parts.get_mut(*at as usize),
        SymbolicValue::Family(_, entries) => entries.get_mut(*at),
        SymbolicValue::Scalar(_) => None,
    })
}

/// The part of a value at the end of a way.
fn find<'s>(value: &'s SymbolicValue, way: &[u32]) -> Option<&'s SymbolicScalar> {
    let part = way.iter().try_fold(value, |value, at| match value {
        SymbolicValue::Record(parts) | SymbolicValue::Array(parts) => parts.get(*at as usize),
        SymbolicValue::Family(_, entries) => entries.get(*at).map(Rc::as_ref),
        SymbolicValue::Scalar(_) => None,
    });
    part.and_then(SymbolicValue::scalar)
}

/// The value of a cell, from its bits.
pub fn read(model: &Model, dd: &Dd, cell: &LayoutCell) -> DdResult<SymbolicScalar> {
    let code: Vec<Bdd> = cell.bits.iter().map(|bit| dd.var(now(*bit))).collect::<DdResult<_>>()?;
    let is = |number: u64| -> DdResult<Bdd> {
        let digits = code.iter().enumerate().rev();
        digits.into_iter().try_fold(dd.yes(), |all, (at, digit)| {
            if number >> at & 1 == 1 { all.and(digit) } else { all.minus(digit) }
        })
    };
    let undefined = if cell.optional { is(cell.values)? } else { dd.no() };
    let data = match model.kind(cell.ty) {
        Type::Bool => ScalarData::Bool(code[0].clone()),
        Type::Int { lo, .. } => {
            let number = bits::unsigned(dd, code.clone());
            ScalarData::Int(match lo {
                0 => number,
                lo => bits::add(dd, &number, &bits::constant(dd, *lo))?,
            })
        }
        _ => {
            let mut cases = Vec::new();
            for (at, value) in cell.domain(model).into_iter().enumerate() {
                cases.push((value, is(at as u64)?));
            }
            ScalarData::Cases(cases)
        }
    };
    Ok(SymbolicScalar { undefined, data })
}

/// The bits of a cell that hold a value.
pub fn write(model: &Model, dd: &Dd, cell: &LayoutCell, scalar: &SymbolicScalar) -> DdResult<Vec<Bdd>> {
    let width = cell.bits.len();
    let code: Vec<Bdd> = match (&scalar.data, model.kind(cell.ty)) {
        (ScalarData::Bool(truth), Type::Bool) => {
            (0..width).map(|at| if at == 0 { truth.clone() } else { dd.no() }).collect()
        }
        (ScalarData::Int(number), Type::Int { lo, .. }) => {
            let code = match lo {
                0 => number.clone(),
                lo => bits::sub(dd, number, &bits::constant(dd, *lo))?,
            };
            (0..width).map(|at| code[at.min(code.len() - 1)].clone()).collect()
        }
        _ => {
            let mut code = vec![dd.no(); width];
            for (value, place) in scalar.cases(dd, &dd.yes())? {
                let Some(number) = cell.ordinal(model, &value) else { continue };
                for (at, digit) in code.iter_mut().enumerate() {
                    if number >> at & 1 == 1 {
                        *digit = digit.or(&place)?;
                    }
                }
            }
            code
        }
    };
    if scalar.undefined.is_false() {
        return Ok(code);
    }
    let none = cell.values;
    let digits = code.iter().enumerate();
    digits.map(|(at, digit)| scalar.undefined.ite(&dd.constant(none >> at & 1 == 1), digit)).collect()
}
