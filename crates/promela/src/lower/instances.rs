//! How many processes of each proctype can run at a time, and which numbers they have.
//!
//! A `run` that control passes at most once makes one process for each process that passes it. Loops that make processes
//! are nearly always counted loops of one process, so the program of a single process is tried out: its own variables
//! have values, everything else is not known, and where a condition is not known both ways are taken.

use std::collections::{HashMap, HashSet};

use super::Lowerer;
use crate::{
    ast::{Expr, ExprKind, Init, StmtKind, VarRef, VariableId},
    flow::{ElementId, ElementKind, ProctypeFlow},
    walk::{SyntaxNode, walk_expr, walk_stmt},
};

/// So many steps a process is tried out for.
const MOST_STEPS: usize = 20_000;
/// SPIN's limit.
const MOST_PROCESSES: u32 = 255;

/// What trying out a process came to.
struct ProcessTrial {
    /// The most processes of each proctype that it makes.
    runs: Vec<u32>,
    /// The proctypes in the order they are run, if there is only one way.
    order: Option<Vec<usize>>,
    /// Whether others cannot move between the first `run` and the last.
    together: bool,
}

impl Lowerer<'_> {
    /// Sets capacities and, where they are known, process numbers.
    pub(super) fn count_processes(&mut self) {
        let count = self.procs.len();
        let active: Vec<u32> = self.program.proctypes.iter().map(|proctype| proctype.active).collect();
        let mut trials: HashMap<usize, ProcessTrial> = HashMap::new();
        let mut makers: Vec<Vec<(usize, bool)>> = vec![Vec::new(); count];
        for maker in 0..count {
            for (target, looped) in self.runs_of(maker) {
                makers[target].push((maker, looped));
            }
        }
        let mut state: Vec<Option<Option<u32>>> = vec![None; count];
        for proc in 0..count {
            self.capacity(proc, &makers, &active, &mut trials, &mut state);
        }
        for proc in 0..count {
            let known = state[proc].flatten();
            let most = known.unwrap_or(active[proc] + self.options.processes);
            self.procs[proc].guessed = known.is_none_or(|known| known > MOST_PROCESSES);
            self.procs[proc].capacity = most.clamp(1, MOST_PROCESSES);
        }
        self.number_processes(&active, &makers, &trials);
    }

    /// How many processes of a proctype can ever run; nothing if that is not known.
    fn capacity(
        &self,
        proc: usize,
        makers: &[Vec<(usize, bool)>],
        active: &[u32],
        trials: &mut HashMap<usize, ProcessTrial>,
        state: &mut Vec<Option<Option<u32>>>,
    ) -> Option<u32> {
        if let Some(known) = state[proc] {
            return known;
        }
        // Who runs itself again has no bound.
        state[proc] = Some(None);
        let mut total = active[proc];
        let mut tried = Vec::new();
        for (maker, looped) in &makers[proc] {
            let many = self.capacity(*maker, makers, active, trials, state)?;
            if many == 1 && !tried.contains(maker) {
                if !trials.contains_key(maker)
                    && let Some(trial) = self.try_out(*maker)
                {
                    trials.insert(*maker, trial);
                }
                if let Some(trial) = trials.get(maker) {
                    total += trial.runs[proc];
                    tried.push(*maker);
                    continue;
                }
            }
            if tried.contains(maker) {
                continue;
            }
            if *looped {
                return None;
            }
            total = total.saturating_add(many);
        }
        state[proc] = Some(Some(total));
        Some(total)
    }

    /// Each `run` of a proctype: what it runs, and whether control can pass it again.
    fn runs_of(&self, proc: usize) -> Vec<(usize, bool)> {
        let flow = &self.procs[proc].flow;
        let mut all = Vec::new();
        for location in &self.procs[proc].locations {
            for step in flow.outgoing(*location) {
                let targets = self.run_targets(flow, step.element);
                if targets.is_empty() {
                    continue;
                }
                let inner = matches!(flow.elements[step.element].kind, ElementKind::DStep(..));
                let looped = inner || reaches(flow, flow.target(step.element), *location);
                all.extend(targets.into_iter().map(|target| (target, looped)));
            }
        }
        all
    }

    /// The proctypes that a step runs.
    pub(super) fn run_targets(&self, flow: &ProctypeFlow, element: ElementId) -> Vec<usize> {
        let mut targets = Vec::new();
        let mut visit = |node: SyntaxNode<'_>| {
            if let SyntaxNode::Expr(Expr { kind: ExprKind::Run(name, ..), .. }) = node {
                targets.extend(self.program.proctypes.iter().position(|it| it.name.node == name.node));
            }
        };
        match &flow.elements[element].kind {
            ElementKind::Basic(kind) => walk_stmt(kind, &mut visit),
            ElementKind::DStep(body, exit) => {
                let mut seen = vec![flow.hunt(body.first, false)];
                let mut at = 0;
                while at < seen.len() {
                    for step in flow.outgoing(seen[at]) {
                        if let ElementKind::Basic(kind) = &flow.elements[step.element].kind {
                            walk_stmt(kind, &mut visit);
                        }
                        let next = flow.target(step.element);
                        if next != *exit && !seen.contains(&next) {
                            seen.push(next);
                        }
                    }
                    at += 1;
                }
            }
            _ => {}
        }
        targets
    }

    /// Process numbers are known if no process is made while another can have gone.
    fn number_processes(
        &mut self,
        active: &[u32],
        makers: &[Vec<(usize, bool)>],
        trials: &HashMap<usize, ProcessTrial>,
    ) {
        let mut order: Vec<usize> = Vec::new();
        for (proc, count) in active.iter().enumerate() {
            order.extend(std::iter::repeat_n(proc, *count as usize));
        }
        let mut who: Vec<usize> = makers.iter().flatten().map(|(maker, _)| *maker).collect();
        who.sort_unstable();
        who.dedup();
        match who.as_slice() {
            [] => {}
            [maker] => {
                let Some(trial) = trials.get(maker) else { return };
                let Some(runs) = &trial.order else { return };
                let stays = |proc: &usize| !self.procs[*proc].ends;
                let nobody_ends = (0..self.procs.len()).all(|proc| stays(&proc));
                // Who is younger than the maker can have gone before it makes anybody.
                let younger = order.iter().rev().take_while(|proc| *proc != maker);
                if !((trial.together && younger.into_iter().all(stays)) || nobody_ends) {
                    return;
                }
                order.extend(runs);
            }
            _ => return,
        }
        for proc in 0..self.procs.len() {
            let pids: Vec<u32> =
                (0..order.len()).filter(|at| order[*at] == proc).map(|at| at as u32).collect();
            if pids.len() == self.procs[proc].capacity as usize {
                self.procs[proc].pids = Some(pids);
            }
        }
    }

    /// Tries out a process of a proctype that runs alone, as far as it is concerned.
    fn try_out(&self, proc: usize) -> Option<ProcessTrial> {
        let mut known = HashMap::new();
        let written = self.written_elsewhere(proc);
        let own: HashSet<VariableId> = self.program.proctypes[proc].variables.iter().copied().collect();
        for (id, variable) in self.program.variables.iter().enumerate() {
            if (!own.contains(&id) && written.contains(&id)) || variable.is_param {
                continue;
            }
            for at in 0..variable.length.unwrap_or(1) {
                let value = match &variable.init {
                    None => Some(0),
                    Some(Init::Value(value)) => constant(value),
                    Some(Init::List(values)) => values.get(at as usize).map_or(Some(0), constant),
                    Some(Init::Channel { .. } | Init::New(_)) => None,
                };
                if let Some(value) = value {
                    known.insert((id, i64::from(at)), value);
                }
            }
        }
        let mut run = TryOut {
            lowerer: self,
            proc,
            steps: 0,
            trial: ProcessTrial { runs: vec![0; self.procs.len()], order: None, together: true },
            ways: 0,
        };
        let start = self.procs[proc].flow.start;
        run.walk(start, ConstantPath { known, runs: Vec::new(), gap: false, together: true })?;
        if run.ways != 1 {
            run.trial.order = None;
        }
        Some(run.trial)
    }

    /// The variables that other proctypes write, or other processes of this one.
    fn written_elsewhere(&self, proc: usize) -> HashSet<VariableId> {
        let mut written = HashSet::new();
        for (other, proctype) in self.program.proctypes.iter().enumerate() {
            if other == proc && proctype.active <= 1 {
                continue;
            }
            crate::walk::walk_block(&proctype.body, &mut |node| {
                let SyntaxNode::Stmt(stmt) = node else { return };
                match &stmt.kind {
                    StmtKind::Assign(Some(place), _) => {
                        written.insert(place.variable);
                    }
                    StmtKind::Receive(receive) => written.extend(receive.parts.iter().filter_map(stored)),
                    _ => {}
                }
            });
        }
        written
    }
}

/// The variable that a part of a message is stored in.
fn stored(part: &crate::ast::Pattern) -> Option<VariableId> {
    match part {
        crate::ast::Pattern::Store(place) => Some(place.variable),
        crate::ast::Pattern::Equal(_) | crate::ast::Pattern::Any => None,
    }
}

fn constant(expr: &Expr) -> Option<i64> {
    match &expr.kind {
        ExprKind::Int(value) => Some(*value),
        _ => None,
    }
}

/// Whether control can come from one location to another.
fn reaches(flow: &ProctypeFlow, from: ElementId, to: ElementId) -> bool {
    let mut seen = vec![from];
    let mut at = 0;
    while at < seen.len() {
        if seen[at] == to {
            return true;
        }
        for step in flow.outgoing(seen[at]) {
            let next = flow.target(step.element);
            if !seen.contains(&next) {
                seen.push(next);
            }
        }
        at += 1;
    }
    false
}

/// The values of variables, by variable and element.
type ConstantStore = HashMap<(VariableId, i64), i64>;

struct TryOut<'l, 'a> {
    lowerer: &'l Lowerer<'a>,
    proc: usize,
    steps: usize,
    trial: ProcessTrial,
    /// How many ways came to an end.
    ways: usize,
}

/// What happened on a way so far.
#[derive(Clone)]
struct ConstantPath {
    known: ConstantStore,
    runs: Vec<usize>,
    /// Whether others could move since the first `run`.
    gap: bool,
    together: bool,
}

impl TryOut<'_, '_> {
    /// Follows every way from a location, one after the other: depth first, and on a stack of its own, since ways can be as
    /// long as `MOST_STEPS`. Nothing if that takes too long.
    fn walk(&mut self, from: ElementId, way: ConstantPath) -> Option<()> {
        let flow = &self.lowerer.procs[self.proc].flow;
        let mut open = vec![(from, way)];
        while let Some((at, mut way)) = open.pop() {
            self.steps += 1;
            if self.steps > MOST_STEPS {
                return None;
            }
            let possible = self.possible(at, &way.known);
            if at == flow.end || possible.is_empty() {
                self.end(&way.runs, way.together);
                continue;
            }
            let others = open.len();
            for element in &possible[1..] {
                let mut way = way.clone();
                self.take(*element, &mut way)?;
                open.push((flow.target(*element), way));
            }
            open[others..].reverse();
            self.take(possible[0], &mut way)?;
            open.push((flow.target(possible[0]), way));
        }
        Some(())
    }

    /// The steps that can be taken, as far as is known; `else` where no other can surely be.
    fn possible(&self, at: ElementId, known: &ConstantStore) -> Vec<ElementId> {
        let flow = &self.lowerer.procs[self.proc].flow;
        let is_else = |element: ElementId| matches!(&flow.elements[element].kind, ElementKind::Basic(kind) if matches!(**kind, StmtKind::Else));
        let steps: Vec<ElementId> = flow.outgoing(at).into_iter().map(|step| step.element).collect();
        let holds = |element: &ElementId| self.holds(*element, known);
        let mut sure = false;
        let mut can = |step: &ElementId| {
            if is_else(*step) {
                return !std::mem::replace(&mut sure, true);
            }
            sure |= holds(step) == Some(true);
            holds(step) != Some(false)
        };
        steps.into_iter().filter(|step| can(step)).collect()
    }

    fn end(&mut self, runs: &[usize], together: bool) {
        for proc in 0..self.trial.runs.len() {
            let count = runs.iter().filter(|it| **it == proc).count() as u32;
            self.trial.runs[proc] = self.trial.runs[proc].max(count);
        }
        self.ways += 1;
        self.trial.order = Some(runs.to_vec());
        self.trial.together &= together;
    }

    /// Whether a step can be taken, if that is known.
    fn holds(&self, element: ElementId, known: &ConstantStore) -> Option<bool> {
        match &self.lowerer.procs[self.proc].flow.elements[element].kind {
            ElementKind::Basic(kind) => match &**kind {
                StmtKind::Expr(expr) => match &expr.kind {
                    ExprKind::Run(..) => Some(true),
                    _ => self.value(expr, known).map(|value| value != 0),
                },
                StmtKind::Send { .. } | StmtKind::Receive(_) => None,
                _ => Some(true),
            },
            ElementKind::DStep(..) => None,
            _ => Some(true),
        }
    }

    fn take(&mut self, element: ElementId, way: &mut ConstantPath) -> Option<()> {
        let flow = &self.lowerer.procs[self.proc].flow;
        if flow.calls().contains(&element) {
            // What a function does is not followed.
            return None;
        }
        let made = self.lowerer.run_targets(flow, element);
        match &flow.elements[element].kind {
            ElementKind::Basic(kind) => match &**kind {
                StmtKind::Assign(Some(place), value) => {
                    let value = self.value(value, &way.known);
                    self.assign(place, value, &mut way.known);
                }
                StmtKind::Receive(receive) => {
                    for part in &receive.parts {
                        if let crate::ast::Pattern::Store(place) = part {
                            self.assign(place, None, &mut way.known);
                        }
                    }
                }
                _ => {}
            },
            ElementKind::DStep(body, exit) => {
                if !made.is_empty() {
                    return None;
                }
                self.forget_written(body.first, *exit, &mut way.known);
            }
            _ => {}
        }
        // A process made before could have gone, unless nobody else could move since.
        way.together &= made.is_empty() || !way.gap;
        way.runs.extend(made);
        way.gap |= !way.runs.is_empty() && !flow.is_atomic(element);
        Some(())
    }

    /// What a `d_step` writes is not known after it.
    fn forget_written(&self, first: ElementId, exit: ElementId, known: &mut ConstantStore) {
        let flow = &self.lowerer.procs[self.proc].flow;
        let mut seen = vec![flow.hunt(first, false)];
        let mut at = 0;
        while at < seen.len() {
            for step in flow.outgoing(seen[at]) {
                if let ElementKind::Basic(kind) = &flow.elements[step.element].kind {
                    match &**kind {
                        StmtKind::Assign(Some(place), _) => known.retain(|(id, _), _| *id != place.variable),
                        StmtKind::Receive(receive) => {
                            for part in &receive.parts {
                                if let crate::ast::Pattern::Store(place) = part {
                                    known.retain(|(id, _), _| *id != place.variable);
                                }
                            }
                        }
                        _ => {}
                    }
                }
                let next = flow.target(step.element);
                if next != exit && !seen.contains(&next) {
                    seen.push(next);
                }
            }
            at += 1;
        }
    }

    fn assign(&self, place: &VarRef, value: Option<i64>, known: &mut ConstantStore) {
        let index = match &place.index {
            Some(index) => self.value(index, known),
            None => Some(0),
        };
        match (index, value, place.fields.is_empty()) {
            (Some(index), Some(value), true) if known.contains_key(&(place.variable, index)) => {
                known.insert((place.variable, index), value);
            }
            _ => known.retain(|(id, _), _| *id != place.variable),
        }
    }

    fn value(&self, expr: &Expr, known: &ConstantStore) -> Option<i64> {
        let mut side_effect = false;
        walk_expr(expr, &mut |node| {
            side_effect |= matches!(node, SyntaxNode::Expr(expr) if matches!(expr.kind, ExprKind::Run(..)));
        });
        if side_effect {
            return None;
        }
        let value = |of: &Expr| self.value(of, known);
        Some(match &expr.kind {
            ExprKind::Int(value) => *value,
            ExprKind::Mtype(_, number) => i64::from(*number),
            ExprKind::Var(var) if var.fields.is_empty() => {
                let index = match &var.index {
                    Some(index) => value(index)?,
                    None => 0,
                };
                *known.get(&(var.variable, index))?
            }
            ExprKind::Not(of) => i64::from(value(of)? == 0),
            ExprKind::Neg(of) => value(of)?.checked_neg()?,
            ExprKind::Equal(a, b) => i64::from(value(a)? == value(b)?),
            ExprKind::NotEqual(a, b) => i64::from(value(a)? != value(b)?),
            ExprKind::And(a, b) => match (value(a), value(b)) {
                (Some(0), _) | (_, Some(0)) => 0,
                (Some(_), Some(_)) => 1,
                _ => return None,
            },
            ExprKind::Or(a, b) => match (value(a), value(b)) {
                (Some(0), Some(0)) => 0,
                (Some(a), _) if a != 0 => 1,
                (_, Some(b)) if b != 0 => 1,
                _ => return None,
            },
            ExprKind::Binary(op, a, b) => match op.apply(value(a)?, value(b)?).ok()? {
                shoal_model::Value::Int(value) => value,
                shoal_model::Value::Bool(value) => i64::from(value),
                _ => return None,
            },
            _ => return None,
        })
    }
}
