//! Is the counter system that certificates speak of the one of the model? The reference interpreter is asked.
//!
//! A certificate is checked without the provers, but on a system that the engine has made of the model by running compiled
//! code. Here the steps, the beginnings and the violations of instances with as few elements as a rule names are found by
//! the interpreter, and each must be in the system. That a step with more elements is one of these, with the others at rest,
//! is what the engine asks of models before it takes them, and is not looked at again.

use std::collections::HashMap;

use shoal_certificate::Config;
use shoal_cover::CountedModel;
use shoal_interpret::{Firing, Interpreter};
use shoal_model::{
    Condition, FaultKind, Model, PropertyId, PropertyKind, SortSize, State, Type, Value, Watch,
};

use crate::{Error, Loaded};

/// How much was looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Audit {
    /// Shared states with as many local states as rules name.
    pub situations: u64,
    /// How many of them there are.
    pub all: u64,
}

/// So many situations are looked at for each number of elements, evenly spread: about two seconds' worth.
const MOST: u64 = 10_000;

/// Compares the counter system of a model with what the interpreter does, in every situation if `full`. Nothing for nets, whose counters have no bound: they
/// are read rule by rule. The inner error says what is missing in the system.
pub fn audit(
    loaded: &Loaded,
    counted: &CountedModel<'_>,
    property: PropertyId,
    full: bool,
    watch: &Watch,
) -> Result<Option<Result<Audit, String>>, Error> {
    let Some(occurring) = counted.occurring() else { return Ok(None) };
    let targets = counted.targets(property).map_err(Error::Unsupported)?;
    let auditor = Auditor::new(&loaded.model, counted, property, targets);
    let mut audit = Audit::default();
    for elements in 1..=counted.touched() {
        let model = sized(&loaded.model, elements);
        let interpreter = Interpreter::new(&model).map_err(|error| Error::NotRunnable(error.to_string()))?;
        if let Err(why) = auditor.beginnings(&interpreter) {
            return Ok(Some(Err(why)));
        }
        let pairs = |count: u64| if elements == 1 { count } else { count * (count + 1) / 2 };
        let all: u64 = occurring.iter().map(|locals| pairs(locals.len() as u64)).sum();
        let stride = if full { 1 } else { all.div_ceil(MOST).max(1) };
        audit.all += all;
        let mut number = 0;
        for (shared, locals) in occurring.iter().enumerate() {
            for (at, one) in locals.iter().enumerate() {
                let others = if elements == 1 { &locals[..1] } else { &locals[at..] };
                for other in others {
                    number += 1;
                    if number % stride != 0 {
                        continue;
                    }
                    audit.situations += 1;
                    watch.check().map_err(Error::Stopped)?;
                    let places = if elements == 1 { vec![*one] } else { vec![*one, *other] };
                    if let Err(why) = auditor.situation(&interpreter, shared as u32, &places) {
                        return Ok(Some(Err(why)));
                    }
                }
            }
        }
    }
    Ok(Some(Ok(audit)))
}

/// The model with so many elements.
fn sized(model: &Model, elements: u32) -> Model {
    let mut model = model.clone();
    for sort in model.sorts.iter_mut().filter(|sort| sort.size == SortSize::Any) {
        sort.size = SortSize::Fixed(elements);
    }
    model
}

struct Auditor<'a> {
    model: &'a Model,
    counted: &'a CountedModel<'a>,
    property: PropertyId,
    targets: Vec<Config>,
    steps: shoal_verify::SystemSteps<'a>,
    shared: HashMap<Vec<Value>, u32>,
    locals: HashMap<Vec<Value>, u32>,
}

impl<'a> Auditor<'a> {
    fn new(
        model: &'a Model,
        counted: &'a CountedModel<'a>,
        property: PropertyId,
        targets: Vec<Config>,
    ) -> Auditor<'a> {
        let steps = shoal_verify::SystemSteps::of(counted.system());
        let (shared, locals) = (HashMap::new(), HashMap::new());
        let mut auditor = Auditor { model, counted, property, targets, steps, shared, locals };
        for shared in 0..counted.system().shared {
            if let Some(state) = counted.state(shared, &[]) {
                auditor.shared.insert(auditor.split(&state).0, shared);
            }
        }
        for place in 0..counted.system().places {
            if let Some(local) = counted.state(0, &[place]).and_then(|state| auditor.split(&state).1.pop()) {
                auditor.locals.insert(local, place);
            }
        }
        auditor
    }

    /// The values that all elements share, and those of each element.
    fn split(&self, state: &State) -> (Vec<Value>, Vec<Vec<Value>>) {
        let (mut shared, mut locals): (Vec<Value>, Vec<Vec<Value>>) = Default::default();
        for (var, value) in self.model.vars.iter().zip(&state.values) {
            let index = match self.model.kind(var.ty) {
                Type::Array { index, .. } => self.model.kind(*index),
                other => other,
            };
            let own =
                matches!(index, Type::Ref { sort, .. } if self.model.sorts[*sort].size == SortSize::Any);
            match value {
                Value::Array(entries) if own => {
                    locals.resize(entries.len().max(locals.len()), Vec::new());
                    entries.iter().zip(&mut locals).for_each(|(entry, local)| local.push(entry.clone()));
                }
                value => shared.push(value.clone()),
            }
        }
        (shared, locals)
    }

    fn config(&self, state: &State) -> Option<Config> {
        let (shared, locals) = self.split(state);
        let places: Option<Vec<u32>> = locals.iter().map(|local| self.locals.get(local).copied()).collect();
        Some(Config::new(*self.shared.get(&shared)?, places?.into_iter().map(|place| (place, 1))))
    }

    /// Everything that the model begins with must lie below a beginning of the system.
    fn beginnings(&self, interpreter: &Interpreter<'_>) -> Result<(), String> {
        let system = self.counted.system();
        for (start, args) in interpreter.start_instances() {
            for branch in interpreter.run_start(start, &args) {
                let Firing::State(state) = branch.result else { continue };
                let known = self.config(&state);
                if !known.is_some_and(|config| system.initial.iter().any(|initial| config.is_below(initial)))
                {
                    return Err("the system does not begin where the model may begin".into());
                }
            }
        }
        Ok(())
    }

    /// Whether a fault violates the property.
    fn is_violated_by(&self, kind: &FaultKind) -> bool {
        match kind {
            FaultKind::Assertion(property) => *property == self.property,
            _ => self.model.properties[self.property].kind == PropertyKind::NoFaults,
        }
    }

    /// Every step and every violation of a situation must be in the system.
    fn situation(&self, interpreter: &Interpreter<'_>, shared: u32, places: &[u32]) -> Result<(), String> {
        let Some(state) = self.counted.state(shared, places) else { return Ok(()) };
        let config = Config::new(shared, places.iter().map(|place| (*place, 1)));
        let missing = |what: &str| {
            let names: Vec<String> = places.iter().map(|place| self.counted.place_name(*place)).collect();
            Err(format!("{what} from {} with {}", self.counted.shared_name(shared), names.join(" and ")))
        };
        let next = self.steps.after(&config).map_err(|error| error.to_string())?;
        let is_target = || self.targets.iter().any(|target| target.is_below(&config));
        let steps = interpreter.steps(&state);
        if steps.faults.iter().any(|(_, fault)| self.is_violated_by(&fault.kind)) && !is_target() {
            return missing("the system lacks a failure of a guard");
        }
        for (instance, branch) in steps.branches {
            let name = &self.model.rules[instance.rule].name;
            match branch.result {
                Firing::State(after) => match self.config(&after) {
                    Some(after) if after == config || next.contains(&after) => {}
                    _ => return missing(&format!("the system lacks a step of {name:?}")),
                },
                Firing::Fault(fault) if self.is_violated_by(&fault.kind) && !is_target() => {
                    return missing(&format!("the system lacks a failure of {name:?}"));
                }
                Firing::Fault(_) | Firing::Discarded => {}
            }
        }
        // What cannot be evaluated does not hold.
        let broken = |condition: &Condition| interpreter.holds(&state, condition) != Ok(true);
        match &self.model.properties[self.property].kind {
            PropertyKind::Invariant(condition) if broken(condition) && !is_target() => {
                missing("no target is a violation")
            }
            _ => Ok(()),
        }
    }
}
