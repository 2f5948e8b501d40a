//! An evaluator of temporal formulas on all states, by another algorithm than the engine's: the tableau of Clarke,
//! Grumberg and Hamaguchi and the nested fixpoint of Emerson and Lei, without symmetry, on the interpreter's steps.

use std::collections::HashMap;

use shoal_interpret::{Firing, Interpreter};
use shoal_model::{Condition, DeadlockKind, Formula, Model, State};

/// Whether a formula is true of all fair runs. Nothing if there are too many states, or if a condition faults.
pub(crate) fn holds(model: &Model, formula: &Formula, most_states: usize) -> Option<bool> {
    let graph = Graph::new(model, most_states)?;
    let mut temporal = Vec::new();
    collect(formula, &mut temporal);
    if temporal.len() > 7 {
        return None;
    }
    let mut conditions = formula.atoms();
    conditions.extend(&model.fairness);
    let interpreter = Interpreter::new(model).ok()?;
    let mut truth: Vec<Vec<bool>> = Vec::new();
    for state in &graph.states {
        let values = conditions.iter().map(|condition| interpreter.holds(state, condition));
        truth.push(values.collect::<Result<_, _>>().ok()?);
    }
    let fairness = model.fairness.len();
    Some(Tableau { graph, temporal, conditions, truth, fairness }.all_satisfy(formula))
}

struct Graph {
    states: Vec<State>,
    initial: Vec<usize>,
    after: Vec<Vec<usize>>,
}

impl Graph {
    fn new(model: &Model, most_states: usize) -> Option<Graph> {
        let interpreter = Interpreter::new(model).ok()?;
        let mut graph = Graph { states: Vec::new(), initial: Vec::new(), after: Vec::new() };
        let mut index: HashMap<State, usize> = HashMap::new();
        let mut reach = |graph: &mut Graph, state: State| {
            if interpreter.dropped_by(&state) != Ok(None) {
                return None;
            }
            let next = graph.states.len();
            Some(*index.entry(state.clone()).or_insert_with(|| {
                graph.states.push(state);
                next
            }))
        };
        for (start, args) in interpreter.start_instances() {
            for branch in interpreter.run_start(start, &args) {
                if let Firing::State(state) = branch.result {
                    let state = reach(&mut graph, state);
                    graph.initial.extend(state);
                }
            }
        }
        while graph.after.len() < graph.states.len() {
            let number = graph.after.len();
            let state = graph.states[number].clone();
            let mut after = Vec::new();
            for (_, branch) in interpreter.steps(&state).branches {
                if let Firing::State(next) = branch.result {
                    after.extend(reach(&mut graph, next));
                }
            }
            if interpreter.is_deadlock(&state, &DeadlockKind::Stuck) == Ok(true) {
                after.push(number);
            }
            after.sort_unstable();
            after.dedup();
            graph.after.push(after);
            if graph.states.len() > most_states {
                return None;
            }
        }
        Some(graph)
    }
}

fn collect<'f>(formula: &'f Formula, found: &mut Vec<&'f Formula>) {
    match formula {
        Formula::Atom(_) | Formula::Never(_) => return,
        Formula::Not(of) | Formula::AllPaths(of) | Formula::SomePath(of) => return collect(of, found),
        Formula::And(of) | Formula::Or(of) => return of.iter().for_each(|of| collect(of, found)),
        Formula::Next(of) | Formula::Always(_, of) | Formula::Eventually(_, of) => collect(of, found),
        Formula::Until(_, a, b) | Formula::Release(_, a, b) => {
            collect(a, found);
            collect(b, found);
        }
    }
    if !found.contains(&formula) {
        found.push(formula);
    }
}

/// A node is a state and the truth of every temporal part of the formula in it.
struct Tableau<'f> {
    graph: Graph,
    temporal: Vec<&'f Formula>,
    conditions: Vec<&'f Condition>,
    /// For each state, the truth of each condition; those of fairness last.
    truth: Vec<Vec<bool>>,
    fairness: usize,
}

impl Tableau<'_> {
    fn all_satisfy(&self, formula: &Formula) -> bool {
        let width = 1 << self.temporal.len();
        let edges = self.edges(width);
        let fair = self.fair(width, &edges);
        let starts = self.graph.initial.iter();
        let mut nodes = starts.flat_map(|state| (0..width).map(move |guess| (*state, guess)));
        !nodes.any(|(state, guess)| fair[state * width + guess] && !self.value(formula, state, guess))
    }

    fn value(&self, formula: &Formula, state: usize, guess: usize) -> bool {
        match formula {
            Formula::Atom(condition) => {
                let at = self.conditions.iter().position(|it| *it == condition).unwrap();
                self.truth[state][at]
            }
            Formula::Not(of) => !self.value(of, state, guess),
            Formula::And(of) => of.iter().all(|of| self.value(of, state, guess)),
            Formula::Or(of) => of.iter().any(|of| self.value(of, state, guess)),
            temporal => {
                let at = self.temporal.iter().position(|it| *it == temporal).unwrap();
                guess >> at & 1 == 1
            }
        }
    }

    fn edges(&self, width: usize) -> Vec<Vec<usize>> {
        let mut edges = vec![Vec::new(); self.graph.states.len() * width];
        for (state, after) in self.graph.after.iter().enumerate() {
            for guess in 0..width {
                for next in after {
                    let fits = |other: &usize| self.fits(state, guess, *next, *other);
                    edges[state * width + guess].extend((0..width).filter(fits).map(|it| next * width + it));
                }
            }
        }
        edges
    }

    /// Whether what is guessed in a state goes together with what is guessed in the next.
    fn fits(&self, state: usize, guess: usize, next: usize, other: usize) -> bool {
        self.temporal.iter().enumerate().all(|(at, formula)| {
            let now = |formula: &Formula| self.value(formula, state, guess);
            let later = other >> at & 1 == 1;
            let value = match formula {
                Formula::Next(of) => self.value(of, next, other),
                Formula::Always(_, of) => now(of) && later,
                Formula::Eventually(_, of) => now(of) || later,
                Formula::Until(_, a, b) => now(b) || (now(a) && later),
                Formula::Release(_, a, b) => now(b) && (now(a) || later),
                _ => unreachable!(),
            };
            value == (guess >> at & 1 == 1)
        })
    }

    /// What must be true again and again so that no promise is put off for ever.
    fn constraints(&self, width: usize) -> Vec<Vec<bool>> {
        let nodes = || (0..self.graph.states.len()).flat_map(|s| (0..width).map(move |guess| (s, guess)));
        let of_formula = self.temporal.iter().enumerate().map(|(at, formula)| {
            nodes()
                .map(|(state, guess)| {
                    let guessed = guess >> at & 1 == 1;
                    match formula {
                        Formula::Eventually(_, of) => !guessed || self.value(of, state, guess),
                        Formula::Until(_, _, b) => !guessed || self.value(b, state, guess),
                        Formula::Always(_, of) => guessed || !self.value(of, state, guess),
                        Formula::Release(_, _, b) => guessed || !self.value(b, state, guess),
                        _ => true,
                    }
                })
                .collect()
        });
        let first = self.conditions.len() - self.fairness;
        let of_model = (first..self.conditions.len())
            .map(|at| nodes().map(|(state, _)| self.truth[state][at]).collect());
        of_formula.chain(of_model).collect()
    }

    /// The nodes from which a fair path begins: the greatest Z with Z = EX E[Z U (Z and c)] for all constraints c.
    fn fair(&self, width: usize, edges: &[Vec<usize>]) -> Vec<bool> {
        let constraints = self.constraints(width);
        let mut fair = vec![true; edges.len()];
        loop {
            let before = fair.clone();
            // With no constraint, what is left is that the path goes on.
            let always = vec![true; edges.len()];
            for constraint in constraints.iter().chain([&always]) {
                let mut reach: Vec<bool> = (0..edges.len()).map(|at| fair[at] && constraint[at]).collect();
                loop {
                    let mut grown = false;
                    for at in 0..edges.len() {
                        if fair[at] && !reach[at] && edges[at].iter().any(|to| reach[*to]) {
                            reach[at] = true;
                            grown = true;
                        }
                    }
                    if !grown {
                        break;
                    }
                }
                fair = (0..edges.len()).map(|at| fair[at] && edges[at].iter().any(|to| reach[*to])).collect();
            }
            if fair == before {
                return fair;
            }
        }
    }
}
