//! Checks that states are all that an instance can reach, one of each orbit, and that properties hold in all of them.
//!
//! Steps are those of the reference interpreter; which states are alike is found here, by trying permutations.

use std::collections::{BTreeMap, HashSet};

use shoal_interpret::{Firing, Interpreter};
use shoal_model::{
    DeadlockKind, Fault, FaultKind, Model, PropertyId, PropertyKind, SortId, SortSize, State, Type, TypeId,
    TypedId, Value, Watch,
};

use crate::{
    Doubt, Looked,
    windows::{permutations, scattered, sorted},
};

/// More permutations than this are not tried on a state.
const MOST_PERMUTATIONS: usize = 5_040;

/// Checks that these properties hold in every reachable state. The sorts must be symmetric. With `most`, the steps of so
/// many states are taken, evenly spread.
pub fn check_states(
    model: &Model,
    symmetric: &[SortId],
    states: &[State],
    properties: &[PropertyId],
    most: Option<usize>,
    watch: &Watch,
) -> Result<Looked, Doubt> {
    let misfit = || Doubt::Rejected("it is of another model".into());
    if model.sorts.iter().any(|sort| !matches!(sort.size, SortSize::Fixed(_))) {
        return Err(Doubt::Lacking("sorts without a fixed size".into()));
    }
    if model.has_clocks() {
        return Err(Doubt::Lacking("clocks".into()));
    }
    if symmetric.iter().any(|sort| sort.index() >= model.sorts.len()) {
        return Err(misfit());
    }
    let orbits = Orbits { model, symmetric };
    let mut all = HashSet::new();
    for state in states {
        watch.check().map_err(Doubt::Stopped)?;
        if !orbits.fits(state) {
            return Err(misfit());
        }
        all.insert(orbits.least(&state.values)?);
    }
    let interpreter = Interpreter::new(model).map_err(|error| Doubt::Lacking(error.to_string()))?;
    let mut checker = StatesChecker { interpreter, orbits, all, properties, runs: 0 };
    checker.can_be_claimed()?;
    checker.starts()?;
    let mut looked = Looked { windows: 0, all: states.len(), runs: 0 };
    for at in scattered(states.len()).take(most.unwrap_or(usize::MAX)) {
        watch.check().map_err(Doubt::Stopped)?;
        checker.state(&states[at])?;
        looked.windows += 1;
    }
    Ok(Looked { runs: checker.runs, ..looked })
}

/// How many orbits states are of.
pub fn count_orbits(model: &Model, symmetric: &[SortId], states: &[State]) -> Result<usize, Doubt> {
    let orbits = Orbits { model, symmetric };
    let all =
        states.iter().map(|state| orbits.least(&state.values)).collect::<Result<HashSet<_>, Doubt>>()?;
    Ok(all.len())
}

struct StatesChecker<'a> {
    interpreter: Interpreter<'a>,
    orbits: Orbits<'a>,
    /// The least state of each orbit.
    all: HashSet<Vec<Value>>,
    properties: &'a [PropertyId],
    runs: u64,
}

impl StatesChecker<'_> {
    fn can_be_claimed(&self) -> Result<(), Doubt> {
        for property in self.properties {
            let about = &self.orbits.model.properties[*property];
            match &about.kind {
                PropertyKind::Invariant(_)
                | PropertyKind::NoFaults
                | PropertyKind::Assertion
                | PropertyKind::Deadlock(
                    DeadlockKind::Stuck | DeadlockKind::Stuttering | DeadlockKind::StuckUnless(_),
                ) => {}
                PropertyKind::Deadlock(DeadlockKind::Timelock)
                | PropertyKind::Bound
                | PropertyKind::Assume(_)
                | PropertyKind::Cover(_)
                | PropertyKind::CoverDeadlock(_)
                | PropertyKind::Extreme(_)
                | PropertyKind::Unclear(_)
                | PropertyKind::AlwaysPossible(_)
                | PropertyKind::Temporal(..) => {
                    return Err(Doubt::Rejected(format!(
                        "states by themselves do not tell whether {:?} holds",
                        about.name
                    )));
                }
            }
        }
        Ok(())
    }

    fn starts(&mut self) -> Result<(), Doubt> {
        for (start, args) in self.interpreter.start_instances() {
            for branch in self.interpreter.run_start(start, &args) {
                let name = &self.orbits.model.starts[start].name;
                self.lands(branch.result, name)?;
            }
        }
        Ok(())
    }

    /// Takes all steps from a state and asks the properties in it.
    fn state(&mut self, state: &State) -> Result<(), Doubt> {
        let model = self.orbits.model;
        let steps = self.interpreter.steps(state);
        if let Some((instance, fault)) = steps.faults.first() {
            return Err(Self::fails(fault, &model.rules[instance.rule].name));
        }
        for (instance, branch) in steps.branches {
            self.lands(branch.result, &model.rules[instance.rule].name)?;
        }
        for property in self.properties {
            let about = &model.properties[*property];
            let good = match &about.kind {
                PropertyKind::Invariant(condition) => self.interpreter.holds(state, condition) == Ok(true),
                PropertyKind::Deadlock(kind) => self.interpreter.is_deadlock(state, kind) == Ok(false),
                // What fails in a step was looked at with the steps.
                PropertyKind::NoFaults | PropertyKind::Assertion => true,
                // Refused before.
                PropertyKind::Bound
                | PropertyKind::Assume(_)
                | PropertyKind::Cover(_)
                | PropertyKind::CoverDeadlock(_)
                | PropertyKind::Extreme(_)
                | PropertyKind::Unclear(_)
                | PropertyKind::AlwaysPossible(_)
                | PropertyKind::Temporal(..) => false,
            };
            if !good {
                return Err(Doubt::Rejected(format!("{:?} is violated in a state of it", about.name)));
            }
        }
        if self.claims_no_faults() {
            for (_, property) in model.properties.enumerate() {
                let evaluated = match &property.kind {
                    PropertyKind::Invariant(condition)
                    | PropertyKind::Cover(Some(condition))
                    | PropertyKind::AlwaysPossible(condition) => {
                        self.interpreter.holds(state, condition).is_ok()
                    }
                    PropertyKind::Deadlock(kind) => self.interpreter.is_deadlock(state, kind).is_ok(),
                    PropertyKind::CoverDeadlock(condition) => {
                        self.interpreter.is_deadlock(state, &DeadlockKind::Stuck) != Ok(true)
                            || self.interpreter.holds(state, condition).is_ok()
                    }
                    // Assumptions are looked at where a step lands; formulas answer for their own conditions.
                    PropertyKind::Assertion
                    | PropertyKind::NoFaults
                    | PropertyKind::Bound
                    | PropertyKind::Assume(_)
                    | PropertyKind::Cover(None)
                    | PropertyKind::Extreme(_)
                    | PropertyKind::Unclear(_)
                    | PropertyKind::Temporal(..) => true,
                };
                if !evaluated {
                    return Err(Doubt::Rejected(format!("{:?} faults in a state of it", property.name)));
                }
            }
        }
        Ok(())
    }

    fn lands(&mut self, result: Firing, name: &str) -> Result<(), Doubt> {
        self.runs += 1;
        match result {
            Firing::State(next) => match self.interpreter.dropped_by(&next) {
                Ok(Some(_)) => Ok(()),
                Ok(None) if self.all.contains(&self.orbits.least(&next.values)?) => Ok(()),
                Ok(None) => Err(Doubt::Rejected(format!("{name:?} leads out of it"))),
                Err((_, fault)) => Err(Self::fails(&fault, name)),
            },
            Firing::Fault(fault) => Err(Self::fails(&fault, name)),
            Firing::Discarded => Ok(()),
        }
    }

    fn claims_no_faults(&self) -> bool {
        let model = self.orbits.model;
        self.properties.iter().any(|property| model.properties[*property].kind == PropertyKind::NoFaults)
    }

    /// A step fails: whatever is claimed, nothing is known of what is behind it.
    fn fails(fault: &Fault, name: &str) -> Doubt {
        Doubt::Rejected(match &fault.kind {
            FaultKind::Assertion(_) => format!("an assertion fails in {name:?}"),
            kind => format!("{name:?} faults: {kind}"),
        })
    }
}

/// Which states are alike.
struct Orbits<'a> {
    model: &'a Model,
    symmetric: &'a [SortId],
}

/// Every scalar of a state and the way to it, as one element sees them.
type Looks = Vec<(Vec<Value>, Value)>;

/// Another number for each element of each symmetric sort.
type SortPermutation = BTreeMap<SortId, Vec<u32>>;

impl Orbits<'_> {
    fn fits(&self, state: &State) -> bool {
        state.values.len() == self.model.vars.len()
            && state.live.len() == self.model.sorts.len()
            && state.live.iter().all(Vec::is_empty)
            && self.model.vars.iter().zip(&state.values).all(|(var, value)| self.is_of(var.ty, value))
    }

    fn is_of(&self, ty: TypeId, value: &Value) -> bool {
        match (self.model.kind(ty), value) {
            (Type::Record { fields }, Value::Record(values)) => {
                fields.len() == values.len()
                    && fields.iter().zip(values).all(|(field, value)| self.is_of(field.ty, value))
            }
            (Type::Array { index, element }, Value::Array(values)) => {
                self.model.cardinality(*index) == Some(values.len() as u64)
                    && values.iter().all(|value| self.is_of(*element, value))
            }
            (Type::Multiset { capacity, element }, Value::Multiset(slots)) => {
                slots.len() <= *capacity as usize
                    && slots.iter().all(|slot| slot.as_ref().is_some_and(|value| self.is_of(*element, value)))
            }
            (Type::Sequence { capacity, element }, Value::Sequence(values)) => {
                values.len() <= *capacity as usize && values.iter().all(|value| self.is_of(*element, value))
            }
            (kind, Value::Undefined) => kind.is_scalar(),
            (kind, value) => kind.is_scalar() && self.model.ordinal(ty, value).is_some(),
        }
    }

    /// The least state of the orbit, among those whose elements are in the order of how they look.
    fn least(&self, values: &[Value]) -> Result<Vec<Value>, Doubt> {
        let mut all: Vec<SortPermutation> = vec![SortPermutation::new()];
        for sort in self.symmetric {
            let size = self.model.sorts[*sort].fixed_size().unwrap_or(0);
            let mut elements: Vec<(Looks, u32)> =
                (0..size).map(|element| (self.looks(values, *sort, element), element)).collect();
            elements.sort();
            let mut orders: Vec<Vec<u32>> = vec![Vec::new()];
            for alike in elements.chunk_by(|a, b| a.0 == b.0) {
                let alike: Vec<u32> = alike.iter().map(|(_, element)| *element).collect();
                if alike.len() > 7 || orders.len() * all.len() > MOST_PERMUTATIONS {
                    return Err(Doubt::Lacking("states in which so many elements look alike".into()));
                }
                let more = permutations(&alike);
                orders = orders
                    .iter()
                    .flat_map(|before| more.iter().map(move |more| [&before[..], more].concat()))
                    .collect();
            }
            all = all
                .iter()
                .flat_map(|before| {
                    orders.iter().map(|order| {
                        let mut numbers = vec![0; order.len()];
                        for (at, element) in order.iter().enumerate() {
                            numbers[*element as usize] = at as u32;
                        }
                        let mut permutation = before.clone();
                        permutation.insert(*sort, numbers);
                        permutation
                    })
                })
                .collect();
        }
        let moved = all.iter().map(|permutation| {
            let vars = self.model.vars.iter().zip(values);
            vars.map(|(var, value)| sorted(self.moved(var.ty, value, permutation))).collect::<Vec<Value>>()
        });
        moved.min().ok_or_else(|| Doubt::Lacking("internal error: no permutation".into()))
    }

    fn scalar(&self, value: &Value, permutation: &SortPermutation) -> Value {
        match value {
            Value::Elem(sort, element) => match permutation.get(sort) {
                Some(numbers) => Value::Elem(*sort, numbers[*element as usize]),
                None => value.clone(),
            },
            value => value.clone(),
        }
    }

    fn moved(&self, ty: TypeId, value: &Value, permutation: &SortPermutation) -> Value {
        match (self.model.kind(ty), value) {
            (Type::Record { fields }, Value::Record(values)) => {
                let parts = fields.iter().zip(values);
                Value::Record(parts.map(|(field, value)| self.moved(field.ty, value, permutation)).collect())
            }
            (Type::Array { index, element }, Value::Array(values)) => {
                let mut entries = values.clone();
                for (key, value) in self.model.values(*index).zip(values) {
                    let at = self.model.ordinal(*index, &self.scalar(&key, permutation));
                    if let Some(entry) = at.and_then(|at| entries.get_mut(at as usize)) {
                        *entry = self.moved(*element, value, permutation);
                    }
                }
                Value::Array(entries)
            }
            (Type::Sequence { element, .. }, Value::Sequence(values)) => {
                Value::Sequence(values.iter().map(|value| self.moved(*element, value, permutation)).collect())
            }
            (Type::Multiset { element, .. }, Value::Multiset(slots)) => {
                let slot = |slot: &Option<Value>| {
                    slot.as_ref().map(|value| self.moved(*element, value, permutation))
                };
                Value::Multiset(slots.iter().map(slot).collect())
            }
            (_, value) => self.scalar(value, permutation),
        }
    }

    /// How an element looks: every scalar and the way to it, in which only this element is told from others. The same for
    /// the element in the same place of a state that is alike.
    fn looks(&self, values: &[Value], sort: SortId, element: u32) -> Looks {
        let mut seen = Vec::new();
        for (id, var) in self.model.vars.enumerate() {
            let mut way = vec![Value::Int(id.index() as i64)];
            self.see(var.ty, &values[id.index()], (sort, element), &mut way, &mut seen);
        }
        seen.sort();
        seen
    }

    fn see(&self, ty: TypeId, value: &Value, me: (SortId, u32), way: &mut Vec<Value>, seen: &mut Looks) {
        let blind = |value: &Value| match value {
            Value::Elem(sort, element) if self.symmetric.contains(sort) => {
                Value::Elem(*sort, u32::from((*sort, *element) == me))
            }
            value => value.clone(),
        };
        let mut into = |key: Value, ty: TypeId, value: &Value, way: &mut Vec<Value>| {
            way.push(key);
            self.see(ty, value, me, way, seen);
            way.pop();
        };
        match (self.model.kind(ty), value) {
            (Type::Record { fields }, Value::Record(values)) => {
                for (at, (field, value)) in fields.iter().zip(values).enumerate() {
                    into(Value::Int(at as i64), field.ty, value, way);
                }
            }
            (Type::Array { index, element }, Value::Array(values)) => {
                for (key, value) in self.model.values(*index).zip(values) {
                    into(blind(&key), *element, value, way);
                }
            }
            (Type::Sequence { element, .. }, Value::Sequence(values)) => {
                for (at, value) in values.iter().enumerate() {
                    into(Value::Int(at as i64), *element, value, way);
                }
            }
            (Type::Multiset { element, .. }, Value::Multiset(slots)) => {
                for value in slots.iter().flatten() {
                    into(Value::Null, *element, value, way);
                }
            }
            (_, value) => seen.push((way.clone(), blind(value))),
        }
    }
}
