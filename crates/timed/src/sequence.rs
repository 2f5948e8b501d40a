//! Finding a good sequence of reducers: after every merge the same sequence is applied.
//!
//! The paper measures the graphs of 2, 3 and 4 processes, `V = size4 * size2 / size3^2`, and goes from a sequence to its
//! best neighbour while V falls. (Its Table 15 compares the wrong way round.) V says how fast growth slows down, not how
//! large the graph is going to be: by the paper's own numbers it prefers a sequence that runs out of memory to one that does
//! not. [`best`] predicts the size at the number of processes asked for instead.

use std::{collections::HashMap, time::Duration};

use crate::{
    graphs::{self, Graph, MOST_NODES, Reducer, Refusal},
    system::System,
};

/// What a sequence of reducers makes of 2, 3 and 4 processes.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    /// The sequence, first reducer first.
    pub reducers: Vec<Reducer>,
    /// The sizes, where they were found.
    pub sizes: [usize; 3],
    /// How long the last took.
    pub time: Duration,
}

impl Trial {
    /// The paper's measure: how the ratio of sizes changes.
    pub fn slowing(&self) -> f64 {
        let [two, three, four] = self.sizes.map(|size| size as f64);
        four * two / (three * three)
    }

    /// The predicted logarithm of the size with so many processes: the last ratio goes on, and slows down as before.
    pub fn predicted(&self, processes: usize) -> f64 {
        let more = processes.saturating_sub(4) as f64;
        let [_, three, four] = self.sizes.map(|size| size as f64);
        four.log2()
            + more * (four / three).log2()
            + more * (more + 1.0) / 2.0 * self.slowing().min(1.0).log2()
    }
}

/// Merges the processes one after the other and reduces after each merge; tells of each graph.
pub fn fold(
    system: &System<'_>,
    reducers: &[Reducer],
    upto: usize,
    tell: &mut dyn FnMut(usize, &Graph),
) -> Result<Graph, Refusal> {
    let mut graph = graphs::base(system, 0)?;
    for process in 1..upto.min(system.processes.len()) {
        graph = graphs::merge(system, &graph, &graphs::base(system, process)?)?;
        for reducer in reducers {
            graph = reducer.apply(system, &graph)?;
        }
        tell(process + 1, &graph);
    }
    Ok(graph)
}

/// Tries sequences, each once.
struct Trials<'s, 'm> {
    system: &'s System<'m>,
    known: HashMap<Vec<Reducer>, Option<Trial>>,
}

impl Trials<'_, '_> {
    fn of(&mut self, reducers: &[Reducer]) -> Option<Trial> {
        if let Some(known) = self.known.get(reducers) {
            return known.clone();
        }
        let mut sizes = [0; 3];
        let began = std::time::Instant::now();
        let made =
            fold(self.system, reducers, 4, &mut |processes, graph| sizes[processes - 2] = graph.size());
        let trial = match made {
            Ok(_) if sizes.iter().all(|size| *size > 0) => {
                Some(Trial { reducers: reducers.to_vec(), sizes, time: began.elapsed() })
            }
            _ => None,
        };
        self.known.insert(reducers.to_vec(), trial.clone());
        trial
    }
}

/// The reducers that apply to a system at all.
fn applicable(system: &System<'_>) -> Vec<Reducer> {
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
pub fn paper(system: &System<'_>) -> Option<Trial> {
    let reducers = applicable(system);
    let mut trials = Trials { system, known: HashMap::new() };
    let key = |trial: &Trial| (trial.slowing(), trial.time);
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
        let tried: Vec<Trial> = near.iter().filter_map(|sequence| trials.of(sequence)).collect();
        let best =
            tried.into_iter().min_by(|a, b| key(a).partial_cmp(&key(b)).unwrap_or(std::cmp::Ordering::Equal));
        match best {
            Some(best) if best.slowing() < here.slowing() => here = best,
            _ => return Some(here),
        }
    }
}

/// The sequence with the least predicted size for all processes of a system, among those that can be tried in time:
/// every sequence that `read_write` begins, and if that does not apply, every sequence.
pub fn best(system: &System<'_>) -> Option<Trial> {
    let reducers = applicable(system);
    let mut trials = Trials { system, known: HashMap::new() };
    let mut best: Option<Trial> = None;
    let mut sequences: Vec<Vec<Reducer>> = vec![Vec::new()];
    let mut at = 0;
    while at < sequences.len() {
        let now = sequences[at].clone();
        at += 1;
        for reducer in reducers.iter().filter(|reducer| !now.contains(reducer)) {
            // Facts first: without them the other reducers see arcs that are not there.
            if now.is_empty() && reducers.contains(&Reducer::ReadWrite) && *reducer != Reducer::ReadWrite {
                continue;
            }
            sequences.push([now.as_slice(), &[*reducer]].concat());
        }
        if now.is_empty() {
            continue;
        }
        let Some(trial) = trials.of(&now) else { continue };
        let processes = system.processes.len();
        let better = best.as_ref().is_none_or(|best| {
            (trial.predicted(processes), trial.time) < (best.predicted(processes) - 1e-9, best.time)
                || trial.predicted(processes) < best.predicted(processes) - 1e-9
        });
        if better {
            best = Some(trial);
        }
    }
    best.filter(|trial| trial.sizes[2] <= MOST_NODES)
}
