//! Finding a good sequence of reducers: after every merge the same sequence is applied.
//!
//! The paper measures the graphs of 2, 3 and 4 processes, `V = size4 * size2 / size3^2`, and goes from a sequence to its
//! best neighbour while V falls. (Its Table 15 compares the wrong way round.) V says how fast growth slows down, not how
//! large the graph is going to be: by the paper's own numbers it prefers a sequence that runs out of memory to one that does
//! not. [`best`] predicts the size at the number of processes asked for instead, and tries other orders of merging too.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use crate::{
    graphs::{self, GraphRefusal, MOST_NODES, Reducer, StateGraph},
    system::ProcessSystem,
};

/// What a sequence of reducers makes of 2, 3 and 4 processes.
#[derive(Clone, Debug, PartialEq)]
pub struct SequenceTrial {
    /// The processes in the order they are merged.
    pub order: Vec<usize>,
    /// The sequence, first reducer first.
    pub reducers: Vec<Reducer>,
    /// The sizes, where they were found.
    pub sizes: [usize; 3],
    /// How long the last took.
    pub time: Duration,
}

impl SequenceTrial {
    /// The paper's measure: how the ratio of sizes changes.
    pub fn slowing(&self) -> f64 {
        let [two, three, four] = self.sizes.map(|size| size as f64);
        four * two / (three * three)
    }

    /// The predicted binary logarithm of the size with so many processes.
    ///
    /// The logarithm of the ratio of two sizes in turn is constant if sizes grow exponentially, and falls like that of
    /// `n / (n - 1)` if they grow like a power of n. It is taken to fall like some power of that: the one that the two ratios
    /// that are known give. For the paper's best row (51, 148, 323) that predicts 2,300 for 8 processes; there are 2,368.
    pub fn predicted(&self, processes: usize) -> f64 {
        let [two, three, four] = self.sizes.map(|size| size as f64);
        let (before, last) = ((three / two).log2(), (four / three).log2());
        let growth = |n: f64| (n / (n - 1.0)).log2();
        let power = match before > 0.0 && last > 0.0 {
            true => ((last / before).ln() / (growth(4.0) / growth(3.0)).ln()).max(0.0),
            false => 1.0,
        };
        let more = (5..=processes).map(|n| last * (growth(n as f64) / growth(4.0)).powf(power));
        four.log2() + more.sum::<f64>()
    }
}

/// Merges the processes one after the other and reduces after each merge; tells of each graph.
pub fn fold(
    system: &ProcessSystem<'_>,
    reducers: &[Reducer],
    upto: usize,
    tell: &mut dyn FnMut(usize, &StateGraph),
) -> Result<StateGraph, GraphRefusal> {
    let order: Vec<usize> = (0..system.processes.len().min(upto)).collect();
    fold_in(system, &order, reducers, tell)
}

/// The same with the processes of a list, in its order.
pub fn fold_in(
    system: &ProcessSystem<'_>,
    order: &[usize],
    reducers: &[Reducer],
    tell: &mut dyn FnMut(usize, &StateGraph),
) -> Result<StateGraph, GraphRefusal> {
    let mut graph = graphs::base(system, order.first().copied().unwrap_or(0))?;
    for (before, process) in order.iter().enumerate().skip(1) {
        graph = graphs::merge(system, &graph, &graphs::base(system, *process)?)?;
        for reducer in reducers {
            graph = reducer.apply(system, &graph)?;
        }
        tell(before + 1, &graph);
    }
    Ok(graph)
}

/// The orders of merging that are tried: as the processes are numbered, and always the process next that shares the most with
/// those before it, above all variables that nobody else uses then.
fn orders(system: &ProcessSystem<'_>) -> Vec<Vec<usize>> {
    let numbered: Vec<usize> = (0..system.processes.len()).collect();
    let used: Vec<Vec<bool>> = numbered.iter().map(|process| cells_of(system, *process)).collect();
    let mut close = vec![0];
    while close.len() < numbered.len() {
        let merged = |cell: usize| close.iter().any(|process| used[*process][cell]);
        let closeness = |candidate: usize| -> usize {
            let shared = (0..system.cells.len()).filter(|cell| used[candidate][*cell] && merged(*cell));
            let outside = |cell: usize| {
                let mut others =
                    numbered.iter().filter(|other| **other != candidate && !close.contains(other));
                others.any(|other| used[*other][cell])
            };
            shared.map(|cell| if outside(cell) { 1 } else { 2 }).sum()
        };
        let left = numbered.iter().filter(|process| !close.contains(process));
        // Of equally close ones the first.
        let next = left.copied().min_by_key(|process| (usize::MAX - closeness(*process), *process));
        close.extend(next);
    }
    if close == numbered { vec![numbered] } else { vec![numbered, close] }
}

/// Which cells a process reads or writes.
fn cells_of(system: &ProcessSystem<'_>, process: usize) -> Vec<bool> {
    let mut used = vec![false; system.cells.len()];
    let process = &system.processes[process];
    for rule in &process.rules {
        rule.assigns.iter().for_each(|(cell, _)| used[*cell] = true);
        rule.guard.cells.iter().for_each(|(cell, _)| used[*cell] = true);
    }
    let invariants = process.invariant.iter().flatten().flat_map(|part| &part.cells);
    invariants.for_each(|(cell, _)| used[*cell] = true);
    used
}

/// A sequence that has been tried on three processes.
struct BegunSequence {
    order: Vec<usize>,
    reducers: Vec<Reducer>,
    graph: StateGraph,
    sizes: [usize; 2],
    time: Duration,
}

impl BegunSequence {
    fn new(system: &ProcessSystem<'_>, order: &[usize], reducers: &[Reducer]) -> Option<BegunSequence> {
        let began = Instant::now();
        let mut sizes = [0; 2];
        let three = order.get(..3)?;
        let graph =
            fold_in(system, three, reducers, &mut |processes, graph| sizes[processes - 2] = graph.size());
        let (order, reducers) = (order.to_vec(), reducers.to_vec());
        Some(BegunSequence { order, reducers, graph: graph.ok()?, sizes, time: began.elapsed() })
    }

    /// With a fourth process.
    fn finished(self, system: &ProcessSystem<'_>) -> Option<SequenceTrial> {
        let began = Instant::now();
        let fourth = graphs::base(system, *self.order.get(3)?).ok()?;
        let mut graph = graphs::merge(system, &self.graph, &fourth).ok()?;
        for reducer in &self.reducers {
            graph = reducer.apply(system, &graph).ok()?;
        }
        let [two, three] = self.sizes;
        let sizes = [two, three, graph.size()];
        let time = self.time + began.elapsed();
        sizes.iter().all(|size| *size > 0).then_some(SequenceTrial {
            order: self.order,
            reducers: self.reducers,
            sizes,
            time,
        })
    }
}

/// Tries sequences, each once.
struct Trials<'s, 'm> {
    system: &'s ProcessSystem<'m>,
    order: Vec<usize>,
    known: HashMap<Vec<Reducer>, Option<SequenceTrial>>,
}

impl Trials<'_, '_> {
    fn of(&mut self, reducers: &[Reducer]) -> Option<SequenceTrial> {
        if let Some(known) = self.known.get(reducers) {
            return known.clone();
        }
        let begun = BegunSequence::new(self.system, &self.order, reducers);
        let trial = begun.and_then(|begun| begun.finished(self.system));
        self.known.insert(reducers.to_vec(), trial.clone());
        trial
    }
}

/// The reducers that apply to a system at all.
fn applicable(system: &ProcessSystem<'_>) -> Vec<Reducer> {
    let two =
        graphs::base(system, 0).and_then(|left| graphs::merge(system, &left, &graphs::base(system, 1)?));
    // Bypassing keeps less than the others and is never chosen by itself.
    let candidates = Reducer::ALL.into_iter().filter(|reducer| *reducer != Reducer::Bypass);
    match two {
        Ok(two) => candidates.filter(|reducer| reducer.apply(system, &two).is_ok()).collect(),
        Err(_) => Vec::new(),
    }
}

/// The paper's search, with its comparison put right: from the first reducer alone to the best neighbour, as long as that
/// is better.
pub fn paper(system: &ProcessSystem<'_>) -> Option<SequenceTrial> {
    let reducers = applicable(system);
    let order = (0..system.processes.len()).collect();
    let mut trials = Trials { system, order, known: HashMap::new() };
    let key = |trial: &SequenceTrial| (trial.slowing(), trial.time);
    let mut here = trials.of(reducers.get(..1)?)?;
    loop {
        let mut near: Vec<Vec<Reducer>> = Vec::new();
        let now = here.reducers.clone();
        for (i, j) in (0..now.len()).flat_map(|i| (i + 1..now.len()).map(move |j| (i, j))) {
            let mut swapped = now.clone();
            swapped.swap(i, j);
            near.push(swapped);
        }
        for reducer in reducers.iter().filter(|reducer| !now.contains(reducer)) {
            near.push([now.as_slice(), &[*reducer]].concat());
        }
        if now.len() > 1 {
            near.push(now[..now.len() - 1].to_vec());
        }
        let tried: Vec<SequenceTrial> = near.iter().filter_map(|sequence| trials.of(sequence)).collect();
        let best =
            tried.into_iter().min_by(|a, b| key(a).partial_cmp(&key(b)).unwrap_or(std::cmp::Ordering::Equal));
        match best {
            Some(best) if best.slowing() < here.slowing() => here = best,
            _ => return Some(here),
        }
    }
}

/// The sequence and the order of merging with the least predicted size for all processes of a system: of all sequences, the
/// half that are smaller with three processes are tried with a fourth.
pub fn best(system: &ProcessSystem<'_>) -> Option<SequenceTrial> {
    let (reducers, processes) = (applicable(system), system.processes.len());
    let mut begun: Vec<BegunSequence> = Vec::new();
    for order in orders(system) {
        let tried = sequences(&reducers).into_iter();
        begun.extend(tried.filter_map(|sequence| BegunSequence::new(system, &order, &sequence)));
    }
    begun.sort_by_key(|begun| begun.sizes[1]);
    begun.truncate(begun.len().div_ceil(2));
    let trials = begun.into_iter().filter_map(|begun| begun.finished(system));
    let key = |trial: &SequenceTrial| (trial.predicted(processes), trial.time);
    let best = trials.reduce(|best, trial| if key(&trial) < key(&best) { trial } else { best });
    best.filter(|trial| trial.sizes[2] <= MOST_NODES)
}

/// All sequences of different reducers, short ones first. Facts come first, where they apply: without them the other
/// reducers see arcs that are not there.
fn sequences(reducers: &[Reducer]) -> Vec<Vec<Reducer>> {
    let mut all: Vec<Vec<Reducer>> = vec![Vec::new()];
    let mut at = 0;
    while at < all.len() {
        let now = all[at].clone();
        at += 1;
        for reducer in reducers.iter().filter(|reducer| !now.contains(reducer)) {
            let first = now.is_empty() && reducers.contains(&Reducer::ReadWrite);
            if !first || *reducer == Reducer::ReadWrite {
                all.push([now.as_slice(), &[*reducer]].concat());
            }
        }
    }
    all.split_off(1)
}
