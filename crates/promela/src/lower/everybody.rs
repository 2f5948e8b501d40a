//! What all processes do, and where: from which locations they can still come to do it.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Lowerer, Proc,
    access::{Accesses, Touch},
};
use crate::{
    ast::{self, ExprKind, VarRef, VariableId},
    flow::{ElementId, ElementKind, Outgoing},
};

/// What all processes do.
pub(super) struct Everybody {
    proctypes: Vec<ProctypeEffects>,
    /// Variables that are written after the process began.
    pub(super) written: BTreeSet<VariableId>,
    /// What first values read, when a process begins, whoever makes it.
    pub(super) first_reads: BTreeSet<VariableId>,
    /// The channels that go with their process, as if it did something to them then.
    pub(super) channels_that_go: Vec<(usize, VarRef)>,
    /// For each proctype, the locations from which a `run` can be reached, by position.
    pub(super) before_runs: Vec<Vec<bool>>,
    /// Whether somebody asks for the number of processes, or looks into others.
    pub(super) counts: bool,
    pub(super) looks: bool,
    /// Whether steps, or what is asked of states, depend on what other processes can do.
    pub(super) minds_others: bool,
}

/// What processes of a proctype do.
struct ProctypeEffects {
    /// What steps do at each location, by position.
    at: Vec<Accesses>,
    /// What is asked for each step.
    always: Accesses,
    /// The locations from which a step leads to each, by position.
    from: Vec<Vec<usize>>,
    /// For each variable, the locations from which a step can be reached that reads it, and one that writes it. Known once and for all,
    /// as it is asked of every step of every other process.
    before_reads: BTreeMap<VariableId, Vec<bool>>,
    before_writes: BTreeMap<VariableId, Vec<bool>>,
}

impl Everybody {
    /// The locations of a proctype from which what somebody reads can still be written, or what somebody writes read or written. Nothing
    /// if that is everywhere.
    pub(super) fn before_conflicts(
        &self,
        proc: usize,
        reads: &BTreeSet<VariableId>,
        writes: &BTreeSet<VariableId>,
    ) -> Option<Vec<bool>> {
        let ProctypeEffects { at, always, before_reads, before_writes, .. } = &self.proctypes[proc];
        let touched = |ids: &BTreeSet<VariableId>| !ids.is_disjoint(writes);
        if !always.writes.is_disjoint(reads) || touched(&always.writes) || touched(&always.reads) {
            return None;
        }
        let mut before = vec![false; at.len()];
        let written = reads.union(writes).filter_map(|id| before_writes.get(id));
        for places in written.chain(writes.iter().filter_map(|id| before_reads.get(id))) {
            before.iter_mut().zip(places).for_each(|(before, here)| *before |= here);
        }
        (!before.iter().all(|it| *it)).then_some(before)
    }

    /// What processes of a proctype do to channels, and where.
    pub(super) fn uses(&self, proc: usize) -> impl Iterator<Item = (usize, &VarRef, Touch)> {
        let at = self.proctypes[proc].at.iter().enumerate();
        at.flat_map(|(at, accesses)| {
            accesses.channels.iter().map(move |(channel, touch)| (at, channel, *touch))
        })
    }

    /// The locations of a proctype from which some of them can be reached.
    pub(super) fn before_these(&self, proc: usize, these: Vec<bool>) -> Vec<bool> {
        self.proctypes[proc].before(these)
    }
}

impl ProctypeEffects {
    fn new(at: Vec<Accesses>, always: Accesses, from: Vec<Vec<usize>>) -> ProctypeEffects {
        let none = BTreeMap::new;
        let mut effects = ProctypeEffects { at, always, from, before_reads: none(), before_writes: none() };
        effects.before_reads = effects.before_each(|accesses| &accesses.reads);
        effects.before_writes = effects.before_each(|accesses| &accesses.writes);
        effects
    }

    /// For each variable that steps have in a set, the locations from which one of them can be reached.
    fn before_each(
        &self,
        touched: impl Fn(&Accesses) -> &BTreeSet<VariableId>,
    ) -> BTreeMap<VariableId, Vec<bool>> {
        let mut places: BTreeMap<VariableId, Vec<bool>> = BTreeMap::new();
        for (position, accesses) in self.at.iter().enumerate() {
            for id in touched(accesses) {
                places.entry(*id).or_insert_with(|| vec![false; self.at.len()])[position] = true;
            }
        }
        places.into_iter().map(|(id, these)| (id, self.before(these))).collect()
    }

    /// The locations from which some can be reached.
    fn before(&self, mut found: Vec<bool>) -> Vec<bool> {
        let mut rest: Vec<usize> = (0..found.len()).filter(|at| found[*at]).collect();
        while let Some(at) = rest.pop() {
            for from in &self.from[at] {
                if !std::mem::replace(&mut found[*from], true) {
                    rest.push(*from);
                }
            }
        }
        found
    }
}

impl Lowerer<'_> {
    /// What all processes do.
    pub(super) fn everybody(&self) -> Everybody {
        let proctypes: Vec<ProctypeEffects> = (0..self.procs.len()).map(|proc| self.doing(proc)).collect();
        let mut first = Accesses::default();
        for variable in &self.program.variables {
            if let Some(ast::Init::Value(value)) = &variable.init {
                first.expr(value);
            }
        }
        let all = || proctypes.iter().flat_map(|doing| doing.at.iter().chain([&doing.always]));
        let written = all().flat_map(|accesses| &accesses.writes).copied().collect();
        let (counts, looks) = (all().any(|accesses| accesses.counts), all().any(|accesses| accesses.looks));
        let runs =
            |doing: &ProctypeEffects| doing.before(doing.at.iter().map(|accesses| accesses.runs).collect());
        Everybody {
            written,
            first_reads: first.reads,
            channels_that_go: self.channels_that_go(),
            before_runs: proctypes.iter().map(runs).collect(),
            counts,
            looks,
            minds_others: self.minds_others(),
            proctypes,
        }
    }

    /// The locations that a sequence passes.
    pub(super) fn inside_sequences(&self, proc: usize) -> BTreeSet<ElementId> {
        let Proc { flow, locations, .. } = &self.procs[proc];
        let steps = locations.iter().flat_map(|location| flow.outgoing(*location));
        steps.filter(|step| flow.is_atomic(step.element)).map(|step| flow.target(step.element)).collect()
    }

    /// What processes of a proctype do at each location.
    fn doing(&self, proc: usize) -> ProctypeEffects {
        let flow = &self.procs[proc].flow;
        let locations = &self.procs[proc].locations;
        let inside = self.inside_sequences(proc);
        let mut always = Accesses::default();
        self.program.proctypes[proc].provided.iter().for_each(|provided| always.expr(provided));
        let positions: BTreeMap<ElementId, usize> =
            locations.iter().enumerate().map(|(position, location)| (*location, position)).collect();
        let mut from = vec![Vec::new(); locations.len()];
        let mut at = Vec::new();
        for (position, location) in locations.iter().enumerate() {
            let steps = flow.outgoing(*location);
            let mut accesses = Accesses::default();
            let tests = inside.contains(location) || steps.iter().any(|step| self.decides(proc, step));
            for step in &steps {
                self.add_step(proc, step.element, tests, &mut accesses);
                for merged in flow.merged_with(step.element) {
                    self.add_step(proc, *merged, tests, &mut accesses);
                }
                if let ElementKind::DStep(body, exit) = flow.elements[step.element].kind {
                    for node in self.d_step_nodes(proc, flow.hunt(body.first, false), exit) {
                        for step in flow.outgoing(node) {
                            self.add_step(proc, step.element, true, &mut accesses);
                        }
                    }
                }
                if let Some(target) = positions.get(&flow.target(step.element)) {
                    from[*target].push(position);
                }
            }
            at.push(accesses);
        }
        // Calls lead into functions and back.
        if self.options.dynamic {
            from.iter_mut().for_each(|from| *from = (0..locations.len()).collect());
        }
        ProctypeEffects::new(at, always, from)
    }

    /// Whether it decides what else happens that a step, or another at the same location, can be taken: an `else`, or an
    /// escape. The same is true inside sequences, where it decides on the next option or the end of the step.
    fn decides(&self, proc: usize, step: &Outgoing) -> bool {
        !step.unless.is_empty() || self.is_else(proc, step.element)
    }

    /// Adds what a step does; its executability may be asked for besides.
    fn add_step(&self, proc: usize, element: ElementId, tests: bool, accesses: &mut Accesses) {
        let ElementKind::Basic(kind) = &self.procs[proc].flow.elements[element].kind else { return };
        let before = accesses.channels.len();
        accesses.stmt(kind);
        if tests {
            let tested: Vec<_> = accesses.channels[before..]
                .iter()
                .map(|(channel, _)| (channel.clone(), Touch::Test))
                .collect();
            accesses.channels.extend(tested);
        }
    }

    fn channels_that_go(&self) -> Vec<(usize, VarRef)> {
        let mut all = Vec::new();
        for site in &self.channels.sites {
            let Some(owner) = site.owner.filter(|owner| self.procs[*owner].ends) else { continue };
            let variable = &self.program.variables[site.variable];
            let span = variable.name.span;
            for at in 0..variable.length.unwrap_or(1) {
                let at = ast::Expr { kind: ExprKind::Int(i64::from(at)), span };
                let index = variable.length.map(|_| Box::new(at));
                all.push((owner, VarRef { variable: site.variable, index, fields: Vec::new(), span }));
            }
        }
        all
    }
}
