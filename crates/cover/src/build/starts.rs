//! Where a model begins, as configurations with omegas.

use std::collections::{BTreeMap, BTreeSet};

use shoal_certificate::{Config, OMEGA};
use shoal_model::{Domain, Model, StartId, Value, Watch};

use super::{
    instance::{CellNumbers, EventSink, FixedInstance, StepEvent, elements},
    shape::{CountedShape, unsupported},
    threads::EarlyEnd,
};
use crate::meter::{Meter, MeterStop};

/// One way to begin.
#[derive(Clone, Debug)]
pub(crate) struct StartChoice {
    pub(crate) start: StartId,
    /// Which parameters are elements.
    pub(crate) positions: Vec<usize>,
    /// The arguments; those at `positions` are to be replaced by the elements that are there.
    pub(crate) args: Vec<Value>,
    /// The local states of those elements, in the order of the parameters.
    pub(crate) fixed: Vec<u32>,
    /// Where it begins: the fixed elements, and as many others as anybody wants.
    pub(crate) config: Config,
    /// The choices before those of the first element, and those of each element by its local state; the last entry is for
    /// the elements that are parameters.
    pub(crate) choices: Choices,
}

impl StartChoice {
    /// The fixed elements alone.
    pub(crate) fn least(&self) -> Config {
        Config::new(self.config.shared, self.fixed.iter().map(|place| (*place, 1)))
    }
}

/// The choices that a start makes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Choices {
    pub(crate) before: Vec<Value>,
    pub(crate) each: BTreeMap<u32, Vec<Value>>,
    pub(crate) fixed: Vec<Value>,
}

/// The shared state, and the local states of the elements that are parameters.
type StartGroup = (u32, Vec<u32>);

/// How a start ends: the shared state, the elements that are parameters and their local states, the local states of the others.
struct StartEnd {
    args: Vec<Value>,
    choices: Vec<Value>,
    shared: u32,
    fixed: Vec<u32>,
    others: Vec<u32>,
}

/// Everything that the starts of a model lead to.
pub(crate) fn beginnings(
    model: &Model,
    shape: &CountedShape,
    shared: &mut CellNumbers,
    locals: &mut CellNumbers,
    meter: &Meter<'_>,
) -> Result<Vec<StartChoice>, EarlyEnd> {
    let mut all = Vec::new();
    let mut starter = Starter { model, shape, shared, locals, watch: meter.watch() };
    for (id, start) in model.starts.enumerate() {
        let element = |at: &usize| matches!(&start.params[*at].domain, Domain::Type(ty) if shape.is_element(model, *ty));
        let positions: Vec<usize> = (0..start.params.len()).filter(element).collect();
        let count = positions.len() as u32;
        let one = starter.ends(id, &positions, count + 1)?;
        let two = starter.ends(id, &positions, count + 2)?;
        let wrong = || unsupported("initial local states that depend on one another", start.span);
        // Each other element must begin as if it were alone.
        let mut alone: BTreeMap<StartGroup, BTreeSet<u32>> = BTreeMap::new();
        for end in &one {
            alone.entry((end.shared, end.fixed.clone())).or_default().extend(&end.others);
        }
        let mut pairs: BTreeMap<StartGroup, BTreeSet<(u32, u32)>> = BTreeMap::new();
        for end in &two {
            let [first, second] = end.others[..] else { return Err(wrong().into()) };
            pairs.entry((end.shared, end.fixed.clone())).or_default().insert((first, second));
        }
        let product = |(key, set): (&StartGroup, &BTreeSet<u32>)| {
            pairs.get(key).is_some_and(|pairs| pairs.len() == set.len() * set.len())
        };
        if pairs.len() != alone.len() || !alone.iter().all(product) {
            return Err(wrong().into());
        }
        let each = match (one.first(), two.first()) {
            (Some(one), Some(two)) => two.choices.len().saturating_sub(one.choices.len()),
            _ => 0,
        };
        for (key, others) in alone {
            let same: Vec<&StartEnd> =
                one.iter().filter(|end| (end.shared, &end.fixed) == (key.0, &key.1)).collect();
            let mut choices = Choices::default();
            for end in &same {
                let split = end.choices.len().saturating_sub(each);
                // The element that is no parameter comes last.
                choices.each.entry(end.others[0]).or_insert_with(|| end.choices[split..].to_vec());
                let before = split.saturating_sub(each * positions.len());
                choices.before = end.choices[..before].to_vec();
                choices.fixed = end.choices[before..(before + each).min(split)].to_vec();
            }
            let tokens =
                key.1.iter().map(|place| (*place, 1)).chain(others.iter().map(|place| (*place, OMEGA)));
            all.push(StartChoice {
                start: id,
                positions: positions.clone(),
                args: same[0].args.clone(),
                config: Config::new(key.0, tokens),
                fixed: key.1,
                choices,
            });
        }
    }
    Ok(all)
}

/// Runs starts, and numbers what they lead to.
struct Starter<'a> {
    model: &'a Model,
    shape: &'a CountedShape,
    shared: &'a mut CellNumbers,
    locals: &'a mut CellNumbers,
    watch: &'a Watch,
}

impl Starter<'_> {
    fn ends(&mut self, start: StartId, positions: &[usize], size: u32) -> Result<Vec<StartEnd>, EarlyEnd> {
        let Starter { model, shape, shared, locals, watch } = self;
        let instance = FixedInstance::start(model, shape, size, start)?;
        let mut collect = EventSink { starts: true, only_moves: false, ..EventSink::new(&instance) };
        // A local variable without a first value has them all, so there may be very many.
        let _ = instance.stepper().starts_within(watch, &mut collect).map_err(MeterStop::Limit)?;
        let mut scratch = Vec::new();
        let mut all = Vec::new();
        for event in collect.events {
            let StepEvent::Fired { args, choices, state, .. } = event else {
                let span = model.starts[start].span;
                return Err(unsupported("a start that can fail", span).into());
            };
            let named = elements(&args, positions);
            if named.iter().collect::<BTreeSet<_>>().len() < named.len() {
                let span = model.starts[start].span;
                return Err(unsupported("a start that may name an element twice", span).into());
            }
            // Parameters in order: the others are the same with other names.
            if !named.iter().copied().eq(0..positions.len() as u32) {
                continue;
            }
            instance.shared_of(&state, &mut scratch);
            let number = shared.number(&scratch);
            let mut local = |element: u32| {
                instance.local_of(&state, element, &mut scratch);
                locals.number(&scratch)
            };
            let fixed = named.iter().map(|element| local(*element)).collect();
            let others = (positions.len() as u32..size).map(&mut local).collect();
            all.push(StartEnd { args, choices, shared: number, fixed, others });
        }
        Ok(all)
    }
}
