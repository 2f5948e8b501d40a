//! Random models: what is proved holds in all small instances, every window onto every reachable state of instances with
//! a few elements more is among those of the proof, and the checker accepts the proof.
//!
//! `SHOAL_RANDOM_MODELS` is how many models are made (the dose of the gate is small).
#![allow(clippy::print_stdout)]

use shoal_analysis::is_data;
use shoal_interpret::{Exploration, explore, explore_folded};
use shoal_model::{Model, PropertyId, PropertyKind, SortId, SortSize, State, Value, Watch};
use shoal_syntax::SourceMap;
use shoal_verify::{Doubt, check_windows, missing_window};
use shoal_views::{Abstraction, Budget, Failure, ViewConfig, abstraction};

use super::{
    generate::{Dice, Made, model},
    permute,
};

/// States of an instance that are looked at.
const STATES: usize = 300;
/// Elements of the largest instance.
const LARGEST: u32 = 5;
/// Elements of the largest instance that is searched as it is, symmetry and all. Of larger ones, one state stands for those that
/// differ in names: otherwise what is seen of them is little more than their starts.
const PLAIN: u32 = 3;
/// Runs of the checker for each proof.
const RUNS: u64 = 150;

fn read(made: &Made, number: Option<u32>) -> Model {
    let mut sources = SourceMap::new();
    let id = sources.add("random.m", made.text.as_str());
    let mut options = shoal_murphi::Options::default();
    for (name, data) in &made.any {
        match number {
            None => options.any.push((*name).into()),
            // Two values of data tell as much as more of them would cost.
            Some(_) if *data => options.set.push(((*name).into(), 2)),
            Some(number) => options.set.push(((*name).into(), i64::from(number))),
        }
    }
    let (model, diagnostics) = shoal_murphi::load(&sources, id, &options);
    assert!(!diagnostics.has_errors(), "{}\n{diagnostics:?}", made.text);
    model.expect("a model")
}

#[derive(Default, Debug)]
pub(crate) struct Tally {
    proved: usize,
    violated: usize,
    open: usize,
    refused: usize,
    asymmetric: usize,
    stopped: usize,
    checked: usize,
    not_checked: usize,
    ordered: usize,
    loosened: usize,
    /// Models that ask through functions, and instances in which something is never read.
    functions: usize,
    unread: usize,
    /// Instances with four and five elements of which all states were seen, and those that were cut.
    whole: [usize; 2],
    cut: [usize; 2],
}

/// A random model, what views prove of it, and its small instances.
pub(crate) struct Case {
    made: Made,
    open: Model,
    config: ViewConfig,
    instances: Vec<(u32, Model, Exploration)>,
    /// Whether data that nothing compares is one value.
    merged: bool,
    /// Whether loops that keep their last element keep any: the model does more than its instances.
    loosened: bool,
}

impl Case {
    /// The same with one of the orders in which elements came, if the model asks about some.
    pub(crate) fn ordered(self, which: u64) -> Option<Case> {
        let orders = shoal_analysis::arrivals(&self.open).len();
        let order = usize::try_from(which.checked_rem(orders as u64)?).ok()?;
        let config = ViewConfig { order: Some(order), ..self.config };
        Some(Case { config, instances: Vec::new(), ..self })
    }

    /// An instance, with the order of elements if views show it.
    fn instance(&self, number: u32) -> Model {
        let instance = read(&self.made, Some(number));
        let Some(order) = self.config.order else { return instance };
        let arrivals = shoal_analysis::arrivals(&self.open);
        let made = shoal_analysis::with_arrivals(&self.open, &arrivals[order]);
        let (mut model, _) = made.expect("the order is there");
        for (sort, sized) in model.sorts.iter_mut().zip(instance.sorts.iter()) {
            sort.size = sized.size;
        }
        model
    }
}

/// Nothing where the elements are not symmetric.
pub(crate) fn case(seed: u64) -> Option<Case> {
    case_of(model(seed), seed)
}

fn case_of(made: Made, seed: u64) -> Option<Case> {
    let open = read(&made, None);
    let is_any = |model: &Model| model.sorts.iter().filter(|sort| sort.size == SortSize::Any).count();
    let merged = shoal_analysis::open_data(&open).filter(|model| is_any(model) < is_any(&open));
    let (merged, open) = (merged.is_some(), merged.unwrap_or(open));
    let loose = shoal_analysis::loosen(&open);
    let (loosened, open) = (loose.is_some(), loose.unwrap_or(open));
    let symmetry = shoal_analysis::symmetry(&open);
    let any = |id: &shoal_model::SortId| open.sorts[*id].size == SortSize::Any;
    if open.sorts.ids().filter(any).any(|id| {
        let about = &symmetry.sorts[id];
        !about.is_proved() || !about.pinned.is_empty()
    }) {
        return None;
    }
    let mut dice = Dice::new(seed.wrapping_add(77));
    let count = 1 + dice.roll(2);
    let elements = open.sorts.enumerate().map(|(id, sort)| match sort.size {
        SortSize::Any if is_data(&open, id) => 0,
        SortSize::Any => count,
        SortSize::Fixed(_) | SortSize::Growing { .. } => 0,
    });
    let config = ViewConfig {
        elements: elements.collect(),
        least: Vec::new(),
        bits: dice.roll(3) > 0,
        order: None,
        more: 3,
    };
    Some(Case { made, open, config, instances: Vec::new(), merged, loosened })
}

/// A model with one sort, views of so many elements.
pub(crate) fn fixed_case(text: &str, count: usize, bits: bool) -> Case {
    let made = Made { text: text.into(), any: vec![("N", false)] };
    let open = read(&made, None);
    let elements = open.sorts.iter().map(|sort| if sort.size == SortSize::Any { count } else { 0 }).collect();
    Case {
        made,
        open,
        config: ViewConfig { elements, least: Vec::new(), bits, order: None, more: 3 },
        instances: Vec::new(),
        merged: false,
        loosened: false,
    }
}

impl Case {
    fn asked(&self) -> Vec<PropertyId> {
        self.open.properties.ids().collect()
    }

    pub(crate) fn prove(&self) -> Result<Abstraction, Failure> {
        let mut stop = || false;
        let mut budget = Budget { runs: 20_000, stop: &mut stop };
        abstraction(&self.open, &self.asked(), &self.config, &mut budget)
    }

    fn count(&self) -> u32 {
        self.config.elements.iter().copied().max().unwrap_or(1) as u32
    }

    /// Searches the small instances.
    pub(crate) fn search(&mut self) {
        if !self.instances.is_empty() {
            return;
        }
        // Bounds that grow with the number are proved never to be reached from this number on.
        let from = self.open.open_bounds.iter().map(|(_, from)| *from).max().unwrap_or(1);
        for number in self.count().max(from)..=LARGEST {
            let instance = self.instance(number);
            let found = self.explored(&instance, number);
            self.instances.push((number, instance, found));
        }
    }

    fn explored(&self, instance: &Model, number: u32) -> Exploration {
        let any = |id: &SortId| self.open.sorts[*id].size == SortSize::Any;
        let sorts: Vec<SortId> = instance.sorts.ids().filter(any).collect();
        let found = match number <= PLAIN || self.loosened || self.merged {
            true => explore(instance, STATES),
            false => explore_folded(instance, STATES, &|state| permute::folded(instance, state, &sorts)),
        };
        found.expect("it can be run")
    }

    /// What is wrong with a proof, if anything.
    pub(crate) fn wrong(&self, found: &Abstraction) -> Option<String> {
        if self.config.order.is_some() {
            let mut states = self.instances.iter().flat_map(|(_, _, found)| &found.reached);
            if let Some(state) = states.find(|state| !is_list(state)) {
                return Some(format!("the order of elements is no list: {state:?}"));
            }
        }
        for (number, _, searched) in &self.instances {
            // Where the model does more than its instances, they may have nothing to do.
            let mut proved = found.proved.iter().filter(|it| !self.loosened || !self.is_deadlock(**it));
            if let Some(property) = proved.find(|property| searched.violated.contains_key(property)) {
                let name = &self.open.properties[*property].name;
                return Some(format!("{name:?} is proved, and violated with {number}"));
            }
        }
        // A state with several values looks like none with one.
        if self.merged {
            return None;
        }
        let near = self.instances.iter().filter(|(number, ..)| *number <= self.count() + 2);
        let states: Vec<(&Model, &State)> = near
            .flat_map(|(_, model, found)| found.reached.iter().map(move |state| (model, state)))
            .collect();
        match missing_window(&self.open, &found.invariant, &states) {
            Ok(None) | Err(Doubt::Lacking(_) | Doubt::Stopped(_)) => None,
            Ok(Some(at)) => {
                let (model, state) = states[at];
                let sizes: Vec<_> = model.sorts.iter().map(|sort| sort.fixed_size()).collect();
                Some(format!("a window onto a reachable state of {sizes:?} is missing: {state:?}"))
            }
            Err(Doubt::Rejected(why)) => Some(why),
        }
    }

    /// What the checker says, after so many runs.
    pub(crate) fn check(&self, found: &Abstraction, runs: u64) -> Result<(), Doubt> {
        // That something can always happen is shown in ways that the checker may not follow.
        let mut proved = found.proved.clone();
        proved.retain(|id| !self.is_deadlock(*id));
        check_windows(&self.open, &found.invariant, &proved, &[], Some(runs), &Watch::default()).map(drop)
    }

    fn is_deadlock(&self, property: PropertyId) -> bool {
        matches!(self.open.properties[property].kind, PropertyKind::Deadlock(_))
    }

    pub(crate) fn text(&self) -> &str {
        &self.made.text
    }
}

/// Whether the last four variables are a list: whoever is in it is met once on the way from the first to the last, and
/// the same on the way back.
fn is_list(state: &State) -> bool {
    let [.., first, last, Value::Array(before), Value::Array(after)] = &state.values[..] else {
        return false;
    };
    let walk = |from: &Value, next: &[Value]| {
        let (mut way, mut at) = (Vec::new(), from.clone());
        while let Value::Elem(_, number) = at {
            way.push(number);
            if way.len() > next.len() {
                break;
            }
            at = next[number as usize].clone();
        }
        way
    };
    let (forth, mut back) = (walk(first, after), walk(last, before));
    back.reverse();
    let linked = |number: usize| before[number] != Value::Undefined || after[number] != Value::Undefined;
    forth == back && (0..after.len()).all(|number| !linked(number) || forth.contains(&(number as u32)))
}

/// Without what nothing reads an instance takes the same steps and violates the same; only whether a step changes anything may
/// differ.
fn without_unread(seed: u64) -> usize {
    let made = model(seed);
    let instance = read(&made, Some(2));
    let Some(without) = shoal_analysis::without_unread(&instance) else { return 0 };
    let [all, less] = [&instance, &without.model].map(|model| explore(model, STATES).expect("it can be run"));
    if !all.complete || !less.complete {
        return 0;
    }
    let of_states = |found: &Exploration| -> Vec<PropertyId> {
        let is_deadlock =
            |id: &PropertyId| matches!(instance.properties[*id].kind, PropertyKind::Deadlock(_));
        found.violated.keys().copied().filter(|id| !is_deadlock(id)).collect()
    };
    let told = format!("seed {seed}, without {:?}:\n{}", without.parts, made.text);
    assert_eq!((of_states(&all), all.fails), (of_states(&less), less.fails), "{told}");
    assert!(less.reached.len() <= all.reached.len(), "{told}");
    1
}

fn one(seed: u64, tally: &mut Tally) {
    tally.unread += without_unread(seed);
    if seed.is_multiple_of(3)
        && let Some(case) = case_of(model(seed).through_functions(), seed)
    {
        tally.functions += 1;
        compared(seed, case, tally);
    }
    let Some(plain) = case(seed) else {
        tally.asymmetric += 1;
        return;
    };
    tally.loosened += usize::from(plain.loosened);
    if seed.is_multiple_of(2)
        && let Some(case) = case(seed).and_then(|case| case.ordered(seed / 2))
    {
        tally.ordered += 1;
        compared(seed, case, tally);
    }
    compared(seed, plain, tally);
}

fn compared(seed: u64, mut case: Case, tally: &mut Tally) {
    let found = match case.prove() {
        Ok(found) => found,
        Err(Failure::Lacking(lacking)) => {
            assert!(!lacking.what.contains("internal"), "seed {seed}: {}\n{}", lacking.what, case.text());
            tally.refused += 1;
            return;
        }
        Err(Failure::Stopped) => {
            tally.stopped += 1;
            return;
        }
    };
    case.search();
    if let Some(wrong) = case.wrong(&found) {
        panic!("seed {seed}, {:?}: {wrong}\n{}", case.config, case.text());
    }
    match case.check(&found, RUNS) {
        Ok(()) => tally.checked += 1,
        Err(Doubt::Lacking(what)) => {
            assert!(!what.contains("internal"), "seed {seed}: {what}\n{}", case.text());
            tally.not_checked += 1;
        }
        Err(Doubt::Stopped(_)) => tally.not_checked += 1,
        Err(Doubt::Rejected(why)) => {
            panic!("seed {seed}, {:?}: the checker says: {why}\n{}", case.config, case.text());
        }
    }
    for (number, _, searched) in &case.instances {
        if let Some(at) = number.checked_sub(4) {
            let seen = if searched.complete { &mut tally.whole } else { &mut tally.cut };
            seen[at as usize] += 1;
        }
    }
    for property in case.asked() {
        let is_safety = matches!(
            case.open.properties[property].kind,
            PropertyKind::Invariant(_) | PropertyKind::NoFaults
        );
        let violated = case.instances.iter().any(|(_, _, found)| found.violated.contains_key(&property));
        match (found.proved.contains(&property), violated) {
            _ if !is_safety => {}
            (true, _) => tally.proved += 1,
            (false, true) => tally.violated += 1,
            (false, false) => tally.open += 1,
        }
    }
}

/// The models of which only data has any number: where an instance has values to spare, larger ones violate nothing else, and
/// neither do smaller ones.
fn spared(seed: u64) -> usize {
    // Two processes are enough, so that all states are seen.
    let text = model(seed).text.replace("const N: 3;", "const N: 2;");
    let made = Made { any: vec![("M", true)], text };
    let open = read(&made, None);
    let data: Vec<_> = open.sorts.ids().filter(|id| open.sorts[*id].size == SortSize::Any).collect();
    let alike = shoal_analysis::symmetry(&open);
    if !data.iter().all(|id| is_data(&open, *id) && alike.sorts[*id].is_proved()) {
        return 0;
    }
    let mut searched = Vec::new();
    for values in 1..=LARGEST {
        let mut instance = open.clone();
        data.iter().for_each(|id| instance.sorts[*id].size = SortSize::Fixed(values));
        let Some((instance, spare)) = shoal_analysis::with_spare(&instance, &data) else { return 0 };
        let mut found = explore(&instance, STATES).expect("it can be run");
        let is_enough = found.violated.remove(&spare).is_none() && found.complete;
        let is_of_states =
            |id: &PropertyId| !matches!(instance.properties[*id].kind, PropertyKind::Deadlock(_));
        let violated: Vec<PropertyId> = found.violated.into_keys().filter(is_of_states).collect();
        searched.push((is_enough, violated));
    }
    let enough = searched.iter().position(|(is_enough, _)| *is_enough);
    let Some(enough) = enough else { return 0 };
    for (at, (_, violated)) in searched.iter().enumerate() {
        let known = violated.iter().all(|property| searched[enough].1.contains(property));
        assert!(known, "seed {seed}: {} values show less than {}\n{}", enough + 1, at + 1, made.text);
    }
    1
}

#[test]
fn values_to_spare_are_enough() {
    let count = number("SHOAL_RANDOM_MODELS").unwrap_or(10);
    let first = number("PROPTEST_RNG_SEED").map_or(1, |seed| seed.wrapping_sub(1) << 24 | 1);
    let has_data = |seed: &u64| model(*seed).any.len() > 1;
    let enough: usize = (first..).filter(has_data).take(count as usize).map(spared).sum();
    println!("{count} models, {enough} with values to spare");
    assert!(count < 10 || enough > 0, "dull: none has values to spare");
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn random_models_agree_with_brute_force() {
    let count = number("SHOAL_RANDOM_MODELS").unwrap_or(10);
    let first = number("PROPTEST_RNG_SEED").map_or(1, |seed| seed.wrapping_sub(1) << 24 | 1);
    let mut tally = Tally::default();
    for seed in first..first + count {
        one(seed, &mut tally);
        if seed % 100 == 0 {
            println!("{seed}: {tally:?}");
        }
    }
    println!("{count} models: {tally:?}");
    assert!(count < 10 || (tally.proved > 0 && tally.violated > 0), "dull: {tally:?}");
}

/// A step flips twice what a question reads, and asks it then: the checker followed a view that no state has.
#[test]
fn what_is_disturbed_and_as_before_again_is_asked_anew() {
    let mut tally = Tally::default();
    one(123_966_849_176, &mut tally);
    assert!(tally.checked > 0, "{tally:?}");
}
