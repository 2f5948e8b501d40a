//! From small instances and coarse views to larger and finer ones, until every property is decided or patience ends.

use std::{cell::OnceCell, collections::BTreeMap};

use shoal_analysis::is_data;
use shoal_model::{
    Model, PropertyId, PropertyKind, PropertyResult, Sort, SortId, SortSize, Type, TypedId, Verdict,
    Violation, Watch,
};

use shoal_syntax::Span;

use crate::{
    Abstraction, Budget, Failure, ViewConfig,
    search::{Attempt, GiveUp, Roomy, SearchHalt, ViewSearch, is_by_views},
    system::OpenSystem,
};

/// An instance that was searched.
pub struct Searched {
    /// What was found out.
    pub results: Vec<PropertyResult>,
    /// How many elements each sort has.
    pub sizes: Vec<u32>,
    /// Whether a step is known to fail in it.
    pub fails: bool,
}

/// The instances of a model with any number of elements, by one number.
pub trait Instances {
    /// Searches the instance with this number, if it has at most so many states. Nothing if there is none.
    fn search(&mut self, number: u32, states: u64, asked: &[PropertyId]) -> Option<Searched>;
    /// The same where nothing but data has any number, and whether larger instances do nothing else.
    fn search_data(&mut self, number: u32, states: u64, asked: &[PropertyId]) -> Option<(Searched, bool)>;
    /// Whether the number stands for all sizes at once, so that sizes do not vary independently.
    fn is_one_number(&self) -> bool;
    /// How many elements of a sort every instance has, at least.
    fn least(&self, sort: SortId) -> usize;
}

/// What is known of a property.
#[derive(Clone, Debug)]
pub enum Finding {
    /// It holds for any number of elements: the views that prove it, and up to which number instances were searched.
    Proved {
        /// Which of the proofs.
        proof: usize,
        /// The numbers that were searched instead, from 1.
        searched: u32,
    },
    /// It holds in the instance with this number, and those with another do nothing else.
    Alike(u32),
    /// The instance with this number satisfies it, and that is all that is asked.
    Covered(u32),
    /// It is violated in the instance with this number, and in none with a smaller one that was searched.
    Violated(u32, Box<Violation>),
    /// It holds up to this number; why it is not proved.
    Unknown(u32, ProofObstacle),
}

/// Why something is not proved.
#[derive(Clone, Debug, PartialEq)]
pub struct ProofObstacle {
    /// In words.
    pub why: String,
    /// Where it stands in the source, if it is one place.
    pub span: Option<Span>,
}

impl From<String> for ProofObstacle {
    fn from(why: String) -> ProofObstacle {
        ProofObstacle { why, span: None }
    }
}

/// What a climb comes to.
pub struct Climb {
    /// What is known of each property asked.
    pub findings: BTreeMap<PropertyId, Finding>,
    /// Views and runs of the last abstraction.
    pub views: usize,
    /// Runs in all.
    pub runs: u64,
    /// The abstractions that prove something.
    pub proofs: Vec<(ViewConfig, Abstraction)>,
    /// Whether a step is known to fail in some instance.
    pub fails: bool,
}

impl Climb {
    /// Whether a property is proved for any number.
    pub fn proves(&self, property: PropertyId) -> bool {
        matches!(self.findings.get(&property), Some(Finding::Proved { .. } | Finding::Alike(_)))
    }

    /// Whether something is violated that has to do with what views prove.
    pub fn is_wrong(&self, model: &Model) -> bool {
        is_wrong(model, &self.findings)
    }

    /// What is left if proofs of some properties rest on something that is not proved.
    #[must_use]
    pub fn without(mut self, doubted: impl Fn(PropertyId) -> bool, why: &str) -> Climb {
        for (_, finding) in self.findings.iter_mut().filter(|(property, _)| doubted(**property)) {
            if let Finding::Proved { searched, .. } = finding {
                *finding = Finding::Unknown(*searched, why.to_string().into());
            }
        }
        self
    }
}

/// Runs of views that take a fraction of a second.
const LITTLE: u64 = 100_000;
/// Runs that freedom from deadlock is worth where all else is decided.
const LITTLE_MORE: u64 = 300_000;

enum Rung {
    /// The instance with this number, if it has no more states than that.
    Size(u32, u64),
    /// All instances up to this number that were too large before.
    Sizes(u32, u64),
    /// Where nothing but data has any number, instances up to this number, until they do nothing else.
    Data(u32, u64),
    /// Views of so many elements, with bits or without, within so many runs.
    Views(usize, bool, u64, GiveUp),
    /// The same, with the order in which elements came to satisfy a predicate.
    Ordered(usize, usize, u64, GiveUp),
}

/// Decides what it can of the properties. `broken` says why the elements of a sort cannot be interchanged, where that is so:
/// then instances are searched and nothing is proved.
pub fn climb(
    model: &Model,
    asked: &[PropertyId],
    broken: Option<String>,
    instances: &mut dyn Instances,
    watch: &Watch,
) -> Climb {
    let mut state = LadderState {
        model,
        findings: BTreeMap::new(),
        up_to: BTreeMap::new(),
        tired: BTreeMap::new(),
        sizes: BTreeMap::new(),
        why: BTreeMap::new(),
        tried: Vec::new(),
        fails: false,
    };
    let mut climb = Climb { findings: BTreeMap::new(), views: 0, runs: 0, proofs: Vec::new(), fails: false };
    // Views that show too little allow far too much, and there are ever more of them: so what has to be finer anyway is
    // given up at once, and only then properties are proved one by one.
    use GiveUp::{AllFailed, OneFailed};
    let orders = useful_orders(model);
    let ordered = |count: usize, runs: u64, give_up: GiveUp| {
        orders.iter().map(move |order| Rung::Ordered(*order, count, runs, give_up)).collect::<Vec<_>>()
    };
    let coarse = vec![
        Rung::Size(1, 200_000),
        Rung::Size(2, 200_000),
        Rung::Views(1, false, 20_000, OneFailed),
        Rung::Views(1, true, 200_000, OneFailed),
        Rung::Data(8, 2_000_000),
        Rung::Size(3, 200_000),
    ];
    // With an order one element of other sorts has to do, so where there are several sorts there are fewer such views, and they
    // tell more of who can go on.
    let is_deadlock = |it: &PropertyId| matches!(model.properties[*it].kind, PropertyKind::Deadlock(_));
    let narrow = match asked.iter().any(is_deadlock) && is_of_several_sorts(model) {
        true => ordered(2, LITTLE_MORE, OneFailed),
        false => Vec::new(),
    };
    let wide = vec![Rung::Views(2, false, 1_000_000, OneFailed)];
    let longer = vec![
        Rung::Views(2, true, 50_000, OneFailed),
        Rung::Views(1, true, 500_000, OneFailed),
        Rung::Views(2, false, 2_000_000, OneFailed),
        Rung::Views(1, true, 2_000_000, OneFailed),
        Rung::Views(2, false, 12_000_000, OneFailed),
    ];
    let one_by_one = vec![
        Rung::Views(1, false, 20_000, AllFailed),
        Rung::Views(1, true, 200_000, AllFailed),
        Rung::Views(2, false, 2_000_000, AllFailed),
        Rung::Size(4, 50_000),
        Rung::Sizes(3, 1_000_000),
        Rung::Views(1, true, 6_000_000, OneFailed),
        Rung::Views(2, false, 20_000_000, OneFailed),
        Rung::Views(1, true, 20_000_000, OneFailed),
        Rung::Views(2, false, 40_000_000, OneFailed),
        Rung::Views(2, true, 20_000_000, OneFailed),
        Rung::Views(3, false, 5_000_000, OneFailed),
    ];
    let last = vec![
        Rung::Size(5, 50_000),
        Rung::Views(1, true, 20_000_000, AllFailed),
        Rung::Views(2, false, 40_000_000, AllFailed),
    ];
    let rungs: Vec<Rung> = [
        coarse,
        narrow,
        wide,
        ordered(1, LITTLE, OneFailed),
        longer,
        ordered(2, 3_000_000, OneFailed),
        one_by_one,
        ordered(2, 5_000_000, AllFailed),
        last,
    ]
    .into_iter()
    .flatten()
    .collect();
    let rooms: Vec<OnceCell<Roomy>> = rungs.iter().map(|_| OnceCell::new()).collect();
    let systems: Vec<OnceCell<OpenSystem<'_>>> = rungs.iter().map(|_| OnceCell::new()).collect();
    let stop = || watch.check().is_err();
    // Where a search was stopped or given up, a later rung goes on.
    let mut begun: Vec<Begun<'_>> = Vec::new();
    for (number, rung) in rungs.into_iter().enumerate() {
        let open: Vec<PropertyId> =
            asked.iter().copied().filter(|property| !state.findings.contains_key(property)).collect();
        if open.is_empty() || watch.check().is_err() {
            break;
        }
        match rung {
            Rung::Size(number, states) => {
                // What only instances can tell is not worth large ones.
                if number <= 3 || state.is_worth_views(&open) {
                    state.search(number, states, &open, instances);
                }
            }
            Rung::Sizes(last, states) => {
                if state.is_worth_views(&open) {
                    state.search_again(last, states, &open, instances);
                }
            }
            Rung::Data(last, states) => {
                if broken.is_none() && state.is_worth_views(&open) && is_all_data(model) {
                    state.search_data(last, states, &open, instances);
                }
            }
            Rung::Views(count, _, runs, give_up) | Rung::Ordered(_, count, runs, give_up) => {
                let (bits, order) = match rung {
                    Rung::Views(_, bits, ..) => (bits, None),
                    Rung::Ordered(order, ..) => (false, Some(order)),
                    Rung::Size(..) | Rung::Sizes(..) | Rung::Data(..) => (false, None),
                };
                if let Some(why) = &broken {
                    open.iter().for_each(|property| drop(state.why.insert(*property, why.clone().into())));
                    continue;
                }
                // In a model that is known to be wrong, what else holds of it is not worth much time.
                if state.is_wrong() && runs > LITTLE {
                    continue;
                }
                let Some(config) = state.config(count, bits, order, instances) else { continue };
                if !state.is_worth_trying(&config, &open, give_up) {
                    continue;
                }
                let runs = state.patience(&config, &open, runs);
                // Bounds that grow with one number are searched up to where they are large enough; with several numbers
                // that is not enough.
                if !model.open_bounds.is_empty() && !instances.is_one_number() {
                    let why = "a range ends with a number that is any, and so is another";
                    open.iter()
                        .for_each(|property| drop(state.why.insert(*property, why.to_string().into())));
                    continue;
                }
                // Evaluating an invariant may fault, whether or not it is decided already.
                let is_no_faults = |it: &PropertyId| model.properties[*it].kind == PropertyKind::NoFaults;
                let judged = if open.iter().any(is_no_faults) { asked } else { &open };
                let same = |it: &Begun<'_>| it.is(&config, &open, judged);
                let at = match begun.iter().position(same) {
                    Some(at) => Ok(at),
                    None => {
                        let place = (&rooms[number], &systems[number]);
                        Begun::new(model, place, &config, &open, judged, &stop).map(|new| {
                            begun.push(new);
                            begun.len() - 1
                        })
                    }
                };
                let attempt = match at {
                    Ok(at) => begun[at].attempt(runs, give_up, &mut climb.runs),
                    Err(halt) => Attempt::Failed(halt.into()),
                };
                match attempt {
                    Attempt::Closed(found) => {
                        climb.views = found.views;
                        state.tried.push((config.clone(), open.clone()));
                        if state.prove(&found, &config, &open, climb.proofs.len()) {
                            climb.proofs.push((config, *found));
                        }
                    }
                    Attempt::GivenUp(failed) => {
                        state.why.extend(failed.clone().into_iter().map(|(of, why)| (of, why.into())));
                        state.tried.push((config, failed.into_keys().collect()));
                    }
                    Attempt::Failed(Failure::Lacking(lacking)) => {
                        for property in &open {
                            let why = format!("the views engine does not support {}", lacking.what);
                            let span = Some(lacking.span).filter(|span| *span != Span::default());
                            state.why.insert(*property, ProofObstacle { why, span });
                        }
                        // More runs do not help.
                        state.tried.push((config, open));
                    }
                    Attempt::Failed(Failure::Stopped) => {
                        for property in &open {
                            let why = || "there are too many views for the time".to_string().into();
                            state.why.entry(*property).or_insert_with(why);
                        }
                    }
                }
            }
        }
    }
    for property in asked {
        let up_to = state.up_to.get(property).copied().unwrap_or(0);
        let why = state.why.remove(property).unwrap_or_else(|| match state.is_wrong() {
            true => "something else is violated; asked for alone, it may be proved".to_string().into(),
            false => "there was too little time".to_string().into(),
        });
        state.findings.entry(*property).or_insert(Finding::Unknown(up_to, why));
    }
    (climb.findings, climb.fails) = (state.findings, state.fails);
    climb
}

/// A search that has begun.
struct Begun<'a> {
    config: ViewConfig,
    asked: Vec<PropertyId>,
    judged: Vec<PropertyId>,
    roomy: &'a Roomy,
    search: ViewSearch<'a, 'a, 'a>,
}

impl<'a> Begun<'a> {
    /// `place` is where what the search looks at is to be kept.
    fn new(
        model: &Model,
        place: (&'a OnceCell<Roomy>, &'a OnceCell<OpenSystem<'a>>),
        config: &ViewConfig,
        asked: &[PropertyId],
        judged: &[PropertyId],
        stop: &'a dyn Fn() -> bool,
    ) -> Result<Begun<'a>, SearchHalt> {
        let made = Roomy::new(model, config)?;
        let roomy = place.0.get_or_init(|| made);
        let made = roomy.system(config, judged)?;
        let system = place.1.get_or_init(|| made);
        let search = ViewSearch::new(system, asked, config, Budget { runs: 0, stop });
        let (config, asked, judged) = (config.clone(), asked.to_vec(), judged.to_vec());
        Ok(Begun { config, asked, judged, roomy, search })
    }

    fn is(&self, config: &ViewConfig, asked: &[PropertyId], judged: &[PropertyId]) -> bool {
        self.config == *config && self.asked == asked && self.judged == judged
    }

    /// Goes on. `runs` is how many may be made in all, `sum` is what those of now are added to.
    fn attempt(&mut self, runs: u64, give_up: GiveUp, sum: &mut u64) -> Attempt {
        let before = self.search.runs();
        let attempt = self.search.attempt(self.roomy, &self.config, &self.asked, runs, give_up);
        *sum += self.search.runs() - before;
        attempt
    }
}

/// At most so many orders are tried.
const MOST_ORDERS: usize = 3;

/// The orders of elements that something refers to, then those of elements that refer to others: two that refer to the same one
/// may wait for each other as well. Where there is neither, who came first tells nothing.
fn useful_orders(model: &Model) -> Vec<usize> {
    let is_any = |sort: SortId| model.sorts[sort].size == SortSize::Any && !is_data(model, sort);
    let is_referred_to = |sort: SortId| {
        let is_element = |part: &Type| matches!(part, Type::Ref { sort: of, .. } if *of == sort);
        model.vars.iter().any(|var| model.type_contains(var.ty, &is_element))
    };
    let refers = |sort: SortId| {
        let is_element = |part: &Type| matches!(part, Type::Ref { sort: of, .. } if is_any(*of));
        let has_elements = |part: &Type| match part {
            Type::Array { index, element } => {
                matches!(model.kind(*index), Type::Ref { sort: of, .. } if *of == sort)
                    && model.type_contains(*element, &is_element)
            }
            _ => false,
        };
        model.vars.iter().any(|var| model.type_contains(var.ty, &has_elements))
    };
    let arrivals = shoal_analysis::arrivals(model);
    let (first, others): (Vec<usize>, Vec<usize>) =
        (0..arrivals.len()).partition(|at| is_referred_to(arrivals[*at].sort));
    let others = others.into_iter().filter(|at| refers(arrivals[*at].sort));
    first.into_iter().chain(others).take(MOST_ORDERS).collect()
}

/// Whether several sorts that are more than data have any number of elements.
fn is_of_several_sorts(model: &Model) -> bool {
    let is_any = |(id, sort): &(SortId, &Sort)| sort.size == SortSize::Any && !is_data(model, *id);
    model.sorts.enumerate().filter(is_any).count() > 1
}

/// Whether nothing but data has any number of elements.
fn is_all_data(model: &Model) -> bool {
    let mut any = model.sorts.enumerate().filter(|(_, sort)| sort.size == SortSize::Any);
    any.all(|(id, _)| is_data(model, id)) && model.open_bounds.is_empty()
}

fn is_wrong(model: &Model, findings: &BTreeMap<PropertyId, Finding>) -> bool {
    findings.iter().any(|(property, finding)| {
        matches!(finding, Finding::Violated(..)) && is_by_views(&model.properties[*property].kind)
    })
}

struct LadderState<'m> {
    model: &'m Model,
    findings: BTreeMap<PropertyId, Finding>,
    /// Up to which number each property is known to hold, from 1 on without a gap.
    up_to: BTreeMap<PropertyId, u32>,
    /// Properties of which a search did not come to its end.
    tired: BTreeMap<PropertyId, u32>,
    /// The sizes of the sorts by number; nothing where there is no such instance.
    sizes: BTreeMap<u32, Option<Vec<u32>>>,
    why: BTreeMap<PropertyId, ProofObstacle>,
    /// Views of which it is known that they do not prove these properties.
    tried: Vec<(ViewConfig, Vec<PropertyId>)>,
    fails: bool,
}

impl LadderState<'_> {
    fn search(&mut self, number: u32, states: u64, open: &[PropertyId], instances: &mut dyn Instances) {
        let open: Vec<PropertyId> =
            open.iter().copied().filter(|property| !self.tired.contains_key(property)).collect();
        if open.is_empty() {
            return;
        }
        let Some(searched) = instances.search(number, states, &open) else {
            self.sizes.insert(number, None);
            // What is not there cannot violate anything.
            self.up_to.extend(open.iter().map(|property| (*property, number)));
            return;
        };
        self.take(number, searched);
    }

    /// Searches instances once more that were too large, and larger ones, as long as each comes to its end.
    fn search_again(&mut self, last: u32, states: u64, open: &[PropertyId], instances: &mut dyn Instances) {
        for number in self.next(open)..=last {
            let Some(open) = self.untired(open) else { return };
            self.search(number, states, &open, instances);
            if self.is_tired(&open) {
                return;
            }
        }
    }

    /// Searches instances until larger ones do nothing else.
    fn search_data(&mut self, last: u32, states: u64, open: &[PropertyId], instances: &mut dyn Instances) {
        let of_states = |it: &PropertyId| is_by_views(&self.model.properties[*it].kind);
        let asked: Vec<PropertyId> = open.iter().copied().filter(of_states).collect();
        for number in self.next(&asked)..=last {
            let Some(open) = self.untired(&asked) else { return };
            let Some((searched, alike)) = instances.search_data(number, states, &open) else { return };
            self.take(number, searched);
            if self.is_tired(&open) {
                return;
            }
            if alike {
                let holds = |property: &&PropertyId| self.up_to.get(property) == Some(&number);
                let held: Vec<PropertyId> = open.iter().filter(holds).copied().collect();
                self.findings.extend(held.into_iter().map(|property| (property, Finding::Alike(number))));
                return;
            }
        }
    }

    /// The first number that is not known of all properties.
    fn next(&self, open: &[PropertyId]) -> u32 {
        open.iter().map(|property| self.up_to.get(property).copied().unwrap_or(0)).min().unwrap_or(0) + 1
    }

    /// Those that are open still, to be asked again; nothing if there are none.
    fn untired(&mut self, open: &[PropertyId]) -> Option<Vec<PropertyId>> {
        let open: Vec<PropertyId> =
            open.iter().copied().filter(|it| !self.findings.contains_key(it)).collect();
        self.tired.retain(|property, _| !open.contains(property));
        Some(open).filter(|open| !open.is_empty())
    }

    fn is_tired(&self, open: &[PropertyId]) -> bool {
        open.iter().any(|property| self.tired.contains_key(property))
    }

    /// Takes over what the search of an instance has found.
    fn take(&mut self, number: u32, searched: Searched) {
        self.sizes.insert(number, Some(searched.sizes));
        self.fails |= searched.fails;
        for result in searched.results {
            let covers = matches!(
                self.model.properties[result.property].kind,
                PropertyKind::Cover(_) | PropertyKind::CoverDeadlock(_)
            );
            match result.verdict {
                Verdict::Holds if covers => {
                    self.findings.insert(result.property, Finding::Covered(number));
                }
                Verdict::Holds => drop(self.up_to.insert(result.property, number)),
                Verdict::Violated(_) if covers => drop(self.up_to.insert(result.property, number)),
                Verdict::Violated(violation) => {
                    self.findings.insert(result.property, Finding::Violated(number, violation));
                }
                Verdict::Unknown(_) => drop(self.tired.insert(result.property, number)),
            }
        }
    }

    /// Whether something is violated that has to do with what views prove. That one element alone has nothing to do (a
    /// deadlock) says little about the rest.
    fn is_wrong(&self) -> bool {
        is_wrong(self.model, &self.findings)
    }

    /// Whether views may prove one of the properties.
    fn is_worth_views(&self, open: &[PropertyId]) -> bool {
        !self.is_wrong() && open.iter().any(|property| is_by_views(&self.model.properties[*property].kind))
    }

    /// How many runs are worth it: for an order, where nothing but freedom from deadlock is left, not many.
    fn patience(&self, config: &ViewConfig, open: &[PropertyId], runs: u64) -> u64 {
        if config.order.is_none() || self.is_worth_views(open) { runs } else { runs.min(LITTLE_MORE) }
    }

    /// Whether such views may prove one of the properties: no more in a model that is known to be wrong, once all coarse ones
    /// have been tried, and not for what they are known not to prove (nor, where all is to be proved, if they do not prove one).
    fn is_worth_trying(&self, config: &ViewConfig, open: &[PropertyId], give_up: GiveUp) -> bool {
        let tried = |property: &PropertyId| {
            self.tried.iter().any(|(of, failed)| of == config && failed.contains(property))
        };
        let fresh: Vec<PropertyId> = open.iter().copied().filter(|property| !tried(property)).collect();
        let by_views = |property: &&PropertyId| is_by_views(&self.model.properties[**property].kind);
        if give_up == GiveUp::OneFailed && open.iter().filter(by_views).any(tried) {
            return false;
        }
        // Who came first is who can go on.
        let is_deadlock = |property: &PropertyId| {
            matches!(self.model.properties[*property].kind, PropertyKind::Deadlock(_))
        };
        if config.order.is_some() && !self.is_wrong() && fresh.iter().any(is_deadlock) {
            return true;
        }
        // Others than those that views prove by being closed are looked at on the way, or with few elements.
        self.is_worth_views(&fresh)
            || (config.elements.iter().all(|count| *count <= 1) && !fresh.is_empty() && !self.gave_up(config))
    }

    /// Whether such views were tried and not closed.
    fn gave_up(&self, config: &ViewConfig) -> bool {
        self.tried.iter().any(|(of, _)| of == config)
    }

    /// Views of so many elements of each sort that is more than data. Where they show an order, of other sorts than that of the
    /// order one element has to do: an order of some elements tells what else would have to be seen of more.
    fn config(
        &self,
        count: usize,
        bits: bool,
        order: Option<usize>,
        instances: &dyn Instances,
    ) -> Option<ViewConfig> {
        let ordered = order.and_then(|at| Some(shoal_analysis::arrivals(self.model).get(at)?.sort));
        let elements: Vec<usize> = self
            .model
            .sorts
            .enumerate()
            .map(|(id, sort)| match sort.size {
                SortSize::Any if is_data(self.model, id) => 0,
                SortSize::Any if ordered.is_some_and(|ordered| ordered != id) => 1,
                SortSize::Any => count,
                SortSize::Fixed(_) | SortSize::Growing { .. } => 0,
            })
            .collect();
        // Small instances are searched one by one, and that covers all of them only if there is one number to count by.
        if count > 1 && !instances.is_one_number() {
            return None;
        }
        if elements.iter().all(|count| *count == 0) && count > 1 {
            return None;
        }
        let least = self.least(&elements, instances);
        Some(ViewConfig { elements, least, bits, order, more: if count == 1 { 3 } else { 4 } })
    }

    /// How many elements of each sort there are in the instances that such views are about: as many as the first one has that is
    /// not smaller than a view, as sizes do not shrink with the number.
    fn least(&self, elements: &[usize], instances: &dyn Instances) -> Vec<usize> {
        let last_small = self.last_small(elements);
        // Where an instance was left out, it may be the first.
        let is_whole = (1..=last_small).all(|number| self.sizes.contains_key(&number));
        let first = self.sizes.get(&(last_small + 1)).and_then(Option::as_ref);
        let first = first.filter(|_| is_whole && instances.is_one_number());
        let of_first = |id: SortId| first.and_then(|sizes| sizes.get(id.index())).copied().unwrap_or(0);
        self.model.sorts.ids().map(|id| instances.least(id).max(of_first(id) as usize)).collect()
    }

    /// The last number whose instance is smaller than a view, or is not there.
    fn last_small(&self, elements: &[usize]) -> u32 {
        let is_small =
            |sizes: &Vec<u32>| sizes.iter().zip(elements).any(|(size, count)| (*size as usize) < *count);
        let small = self.sizes.iter().filter(|(_, sizes)| sizes.as_ref().is_none_or(is_small));
        small.map(|(number, _)| *number).max().unwrap_or(0)
    }

    /// Takes over what views prove, if the instances with fewer elements than a view have been searched.
    /// Whether that is anything.
    fn prove(&mut self, found: &Abstraction, config: &ViewConfig, open: &[PropertyId], proof: usize) -> bool {
        let mut proves = false;
        let bounds = self.model.open_bounds.iter().map(|(_, from)| from - 1);
        let last_small = bounds.chain([self.last_small(&config.elements)]).max().unwrap_or(0);
        // Sizes do not shrink with the number, so one that is large enough must have been seen.
        let seen = self.sizes.iter().any(|(number, sizes)| *number > last_small && sizes.is_some());
        for property in open {
            let up_to = self.up_to.get(property).copied().unwrap_or(0);
            if found.proved.contains(property) && seen && up_to >= last_small {
                proves = true;
                self.findings.insert(*property, Finding::Proved { proof, searched: last_small });
            } else if found.proved.contains(property) {
                let why = "instances smaller than a view could not be searched".to_string();
                self.why.insert(*property, why.into());
            } else if let Some(why) = found.failed.get(property) {
                self.why.insert(*property, why.clone().into());
            }
        }
        proves
    }
}

impl ViewConfig {
    /// In words, such as `views of 1 client`.
    pub fn words(&self, model: &Model) -> String {
        let shown = self.elements.iter().enumerate().filter(|(_, count)| **count > 0);
        let parts: Vec<String> = shown
            .map(|(at, count)| {
                let name = &model.sorts[SortId::from_index(at)].name;
                format!("{count} {name}")
            })
            .collect();
        let of = if parts.is_empty() { "no element".to_string() } else { parts.join(" and ") };
        let others = if self.bits { " and what others satisfy" } else { "" };
        let order = self.order.and_then(|at| shoal_analysis::arrivals(model).into_iter().nth(at));
        let order = order.map_or(String::new(), |order| {
            let not = if order.negated { "not " } else { "" };
            let body = shoal_model::print_expr(model, &order.locals, &order.body);
            format!(" in the order in which they came to be {not}{body}")
        });
        format!("views of {of}{others}{order}")
    }
}
