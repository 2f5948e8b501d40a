//! Does a boolean program refine a local/global machine? The obligations 1, 2 and 5 of Ball, Chaki and Rajamani.
//!
//! If every thread of a program does to the shared state only what the machine may do, then what holds of any number of
//! machines holds of any number of threads. "May do" is inclusion of traces: a trace is the sequence of the thread's shared
//! steps (steps that change the shared state) and of what the others do to the shared state in between; other steps are not
//! seen, and an atomic section is one step. The paper does not say what the others may do. Here they do what other machines
//! may do, as far as views of pairs tell; that is enough, by induction along a run: until the first thread leaves its
//! machine, all others have been machines. It is decided by following the program and, as a set of local states, all that
//! the machine may be in meanwhile; of two such sets in the same situation the smaller is harder, and it alone is kept.

mod program;
mod spec;

use std::{
    collections::{HashMap, VecDeque},
    rc::Rc,
};

use shoal_model::{Fault, Model, RuleId, State, Unsupported, Value, VarId};
use shoal_syntax::Span;

use crate::{
    build::{EarlyEnd, unsupported},
    meter::{Meter, MeterStop},
};
use program::{Next, Observable, RefinedProgram, ThreadCode};
use spec::{LocalSet, Spec};

/// What was found out.
#[derive(Clone, Debug)]
pub enum Refinement {
    /// The program refines the specification; so many situations were looked at.
    Refines(u64),
    /// It does not: the shortest way to show it.
    Fails(Box<Offence>),
}

/// How a program leaves its specification.
#[derive(Clone, Debug)]
pub struct Offence {
    /// Where a thread begins.
    pub start: State,
    /// What happens; the last step is the one that the specification does not have, unless the beginning is.
    pub steps: Vec<Happening>,
    /// The shared states of the specification that the last step leads from and to; an end without a number is one that
    /// is no shared state of it.
    pub shared: (Option<i64>, Option<i64>),
    /// The local states that the specification may be in before the last step.
    pub locals: Vec<i64>,
    /// The fault, if the last step fails.
    pub fault: Option<Fault>,
}

/// A step on the way.
#[derive(Clone, Debug)]
pub struct Happening {
    /// The thread's rule, with arguments and choices; without, the others have changed the shared state.
    pub rule: Option<(RuleId, Vec<Value>, Vec<Value>)>,
    /// The state after it; where the step fails, before it.
    pub state: State,
}

/// Decides whether a thread of the program refines the specification. `atomic` is a variable of the program that is true
/// while a thread is in an atomic section. The outer error is a construct that does not fit.
pub fn refine(
    program: &Model,
    atomic: Option<VarId>,
    spec: &Model,
    meter: &mut Meter<'_>,
) -> Result<Result<Refinement, MeterStop>, Unsupported> {
    match refinement(program, atomic, spec, meter) {
        Ok(refinement) => Ok(Ok(refinement)),
        Err(EarlyEnd::Unsupported(unsupported)) => Err(unsupported),
        Err(EarlyEnd::Stop(stop)) => Ok(Err(stop)),
    }
}

fn refinement(
    program: &Model,
    atomic: Option<VarId>,
    spec: &Model,
    meter: &mut Meter<'_>,
) -> Result<Refinement, EarlyEnd> {
    let spec = Spec::new(spec, meter)?;
    let code = ThreadCode::new(program)?;
    let program = RefinedProgram::new(&code, atomic, meter)?;
    let (known, greatest) = (program.values(), spec.values().max().unwrap_or(0));
    if known.is_some_and(|known| greatest >= 0 && greatest as u64 >= known) {
        let construct = format!(
            "a specification with the shared state {greatest}: the program's shared variables have {} values",
            known.unwrap_or_default()
        );
        return Err(unsupported(construct, Span::default()).into());
    }
    let search =
        RefinementSearch { program, spec, nodes: Vec::new(), known: HashMap::new(), queue: VecDeque::new() };
    Ok(search.run(meter)?)
}

/// A situation: a thread of the program in a shared and a local state.
struct Situation {
    shared: u32,
    local: u32,
    /// The shared state of the specification that was last seen.
    base: u32,
    /// Where the specification may be.
    set: Rc<LocalSet>,
    /// The situation before, and whether the thread itself led here.
    parent: Option<(u32, bool)>,
}

struct RefinementSearch<'c> {
    program: RefinedProgram<'c>,
    spec: Spec,
    nodes: Vec<Situation>,
    /// The situations of a thread in a shared state, by their sets.
    known: HashMap<(u32, u32, u32), Vec<Rc<LocalSet>>>,
    queue: VecDeque<u32>,
}

impl RefinementSearch<'_> {
    fn run(mut self, meter: &mut Meter<'_>) -> Result<Refinement, MeterStop> {
        let (base, first) = self.spec.initial.clone();
        let set = Rc::new(self.spec.closed(base, first));
        for (shared, local) in self.program.starts.clone() {
            let seen = self.program.seen(shared);
            if seen != Observable::Value(Some(self.spec.value(base))) {
                return Ok(Refinement::Fails(Box::new(self.strange_start(shared, local, base, seen))));
            }
            self.push(Situation { shared, local, base, set: Rc::clone(&set), parent: None });
        }
        while let Some(id) = self.queue.pop_front() {
            meter.tick()?;
            if let Some(offence) = self.expand(id, meter) {
                return Ok(Refinement::Fails(Box::new(offence)));
            }
        }
        Ok(Refinement::Refines(self.nodes.len() as u64))
    }

    fn push(&mut self, node: Situation) {
        let sets = self.known.entry((node.shared, node.local, node.base)).or_default();
        let below =
            |one: &LocalSet, other: &LocalSet| one.iter().zip(other).all(|(one, other)| one & !other == 0);
        if sets.iter().any(|known| below(known, &node.set)) {
            return;
        }
        sets.retain(|known| !below(&node.set, known));
        sets.push(Rc::clone(&node.set));
        self.queue.push_back(self.nodes.len() as u32);
        self.nodes.push(node);
    }

    fn expand(&mut self, id: u32, meter: &mut Meter<'_>) -> Option<Offence> {
        let Situation { shared, local, base, .. } = self.nodes[id as usize];
        let set = Rc::clone(&self.nodes[id as usize].set);
        meter.stored = self.nodes.len() as u64;
        meter.bytes = meter.stored * (80 + 8 * set.len() as u64);
        if self.program.seen(shared) != Observable::Hidden {
            for to in self.spec.others(base, &set) {
                // The specification has no more shared states than the program: this was looked at before.
                let Some(shared) = self.program.with_value(self.spec.value(to)) else { continue };
                let set = Rc::new(self.spec.closed(to, set.to_vec()));
                self.push(Situation { shared, local, base: to, set, parent: Some((id, false)) });
            }
        }
        let parent = Some((id, true));
        for next in self.program.next(shared, local).iter() {
            meter.steps += 1;
            let Next::To(shared, local) = *next else { return Some(self.offence(id, *next, None)) };
            let value = match self.program.seen(shared) {
                Observable::Hidden => {
                    self.push(Situation { shared, local, base, set: Rc::clone(&set), parent });
                    continue;
                }
                Observable::Value(value) => value,
            };
            if value == Some(self.spec.value(base)) {
                self.push(Situation { shared, local, base, set: Rc::clone(&set), parent });
                continue;
            }
            let to = value.and_then(|value| self.spec.find(value));
            let after = to.map(|to| (to, self.spec.step(base, &set, to)));
            match after {
                Some((to, set)) if set.iter().any(|word| *word != 0) => {
                    self.push(Situation { shared, local, base: to, set: Rc::new(set), parent });
                }
                _ => return Some(self.offence(id, *next, value)),
            }
        }
        None
    }

    fn strange_start(&self, shared: u32, local: u32, base: u32, seen: Observable) -> Offence {
        let to = match seen {
            Observable::Value(value) => value,
            Observable::Hidden => None,
        };
        Offence {
            start: self.program.state(shared, local),
            steps: Vec::new(),
            shared: (Some(self.spec.value(base)), to),
            locals: self.spec.names(&self.spec.initial.1),
            fault: None,
        }
    }

    /// The way to a situation and the step that goes wrong there.
    fn offence(&mut self, id: u32, last: Next, to: Option<i64>) -> Offence {
        let mut way = vec![id];
        while let Some((parent, _)) = self.nodes[way[way.len() - 1] as usize].parent {
            way.push(parent);
        }
        way.reverse();
        let first = &self.nodes[way[0] as usize];
        let start = self.program.state(first.shared, first.local);
        let mut steps = Vec::new();
        for pair in way.windows(2) {
            let (from, next) = (&self.nodes[pair[0] as usize], &self.nodes[pair[1] as usize]);
            let (own, state) = (next.parent.is_some_and(|parent| parent.1), (next.shared, next.local));
            let rule = match own {
                true => self.program.how(from.shared, from.local, Next::To(state.0, state.1)),
                false => None,
            };
            let rule = rule.map(|(rule, args, choices, _)| (rule, args, choices));
            steps.push(Happening { rule, state: self.program.state(state.0, state.1) });
        }
        let here = &self.nodes[id as usize];
        let after = match last {
            Next::To(shared, local) => (shared, local),
            Next::Fault => (here.shared, here.local),
        };
        let how = self.program.how(here.shared, here.local, last);
        let fault = how.as_ref().and_then(|how| how.3.clone());
        let rule = how.map(|(rule, args, choices, _)| (rule, args, choices));
        steps.push(Happening { rule, state: self.program.state(after.0, after.1) });
        let shared = (Some(self.spec.value(here.base)), to);
        Offence { start, steps, shared, locals: self.spec.names(&here.set), fault }
    }
}
