//! Which processes may go first: where the steps of a process and those of all others can be taken in any order.
//!
//! A step that touches only what no other process touches, or what others only read as it does, may go first always. One
//! that receives from a channel which nobody else receives from may, if the channel is not empty, and one that sends to a
//! channel which nobody else sends to may, if it is not full: what is sent and what is received meet in between. Whether a
//! channel that a variable holds is used by others is asked of the state, as far as what they hold cannot change.
//!
//! SPIN has the programmer promise such use (`xr`, `xs`); here it is found out. What is said of a location holds for all
//! steps at it, with all that an atomic sequence may do.

use std::collections::BTreeSet;

use shoal_model::{Agents, Condition, Expr, IndexVec, LocalKind, Location, Quantifier, RuleId};
use shoal_syntax::Span;

use super::{Home, Lowerer, Me, access::Accesses};
use crate::{
    ast::{self, ExprKind, Query, VarRef, VariableId},
    flow::{ElementId, ElementKind},
};

pub(super) use super::access::Touch;

/// What all processes do, all in all.
#[derive(Default)]
pub(super) struct Everybody {
    /// The proctypes that read and write each global variable.
    reads: Vec<BTreeSet<usize>>,
    writes: Vec<BTreeSet<usize>>,
    /// Variables that are written after the process began.
    written: BTreeSet<VariableId>,
    /// What is done to channels, and by whom.
    uses: Vec<(usize, VarRef, Touch)>,
    /// For each proctype, the locations from which a `run` can be reached.
    before_runs: Vec<Vec<ElementId>>,
    /// Whether somebody asks for the number of processes, or looks into others.
    counts: bool,
    looks: bool,
}

/// Everything that steps from a location may do.
struct Chain {
    /// The first steps.
    first: Vec<ElementId>,
    /// What an atomic sequence does after them.
    inner: Vec<ElementId>,
    /// Where the process may be afterwards.
    ends: Vec<ElementId>,
    /// Whether control may come to a place twice within a step.
    loops: bool,
}

impl Lowerer<'_> {
    /// Notes the rules of each location and when processes there may go first.
    pub(super) fn order(&mut self, rules: Vec<Vec<Vec<RuleId>>>) {
        let everybody = self.everybody();
        for (proc, rules) in rules.into_iter().enumerate() {
            // The first is where nobody runs.
            let mut locations = vec![Location::default()];
            let mut ways = Vec::new();
            let mut dead = self.dead_fields(proc).into_iter();
            for (position, rules) in rules.into_iter().enumerate() {
                let at = self.procs[proc].locations[position];
                let goes_first = self.goes_first(&everybody, proc, at);
                ways.push(match &goes_first {
                    Some((_, ends)) => ends.iter().map(|end| self.position(proc, *end)).collect(),
                    None => Vec::new(),
                });
                let goes_first = goes_first.map(|(condition, _)| condition);
                let dead = dead.next().unwrap_or_default();
                locations.push(Location { rules, goes_first, cuts_loops: false, dead });
            }
            for cut in cuts(&ways, |at| locations[at + 1].goes_first.is_some()) {
                locations[cut + 1].cuts_loops = true;
            }
            self.model.agents.push(Agents { var: self.procs[proc].var, field: 0, locations });
        }
    }

    /// What all processes do.
    fn everybody(&self) -> Everybody {
        let count = self.program.variables.len();
        let mut all = Everybody {
            reads: vec![BTreeSet::new(); count],
            writes: vec![BTreeSet::new(); count],
            ..Everybody::default()
        };
        // What first values read, they read when a process begins, whoever makes it.
        for variable in &self.program.variables {
            if let Some(ast::Init::Value(value)) = &variable.init {
                let mut accesses = Accesses::default();
                accesses.expr(value);
                accesses.reads.iter().for_each(|id| {
                    all.reads[*id].insert(usize::MAX);
                });
            }
        }
        all.uses.extend(self.channels_that_go());
        for proc in 0..self.procs.len() {
            let mut accesses = Accesses::default();
            self.program.proctypes[proc].provided.iter().for_each(|provided| accesses.expr(provided));
            let flow = &self.procs[proc].flow;
            for element in &flow.elements {
                if let ElementKind::Basic(kind) = &element.kind {
                    accesses.stmt(kind);
                }
            }
            accesses.reads.iter().for_each(|id| {
                all.reads[*id].insert(proc);
            });
            accesses.writes.iter().for_each(|id| {
                all.writes[*id].insert(proc);
            });
            all.written.extend(&accesses.writes);
            all.counts |= accesses.counts;
            all.looks |= accesses.looks;
            all.uses.extend(accesses.channels.into_iter().map(|(channel, touch)| (proc, channel, touch)));
            for element in self.tests(proc) {
                if let ElementKind::Basic(kind) = &flow.elements[element].kind {
                    let mut accesses = Accesses::default();
                    accesses.stmt(kind);
                    let channels = accesses.channels.into_iter();
                    all.uses.extend(channels.map(|(channel, _)| (proc, channel, Touch::Test)));
                }
            }
            all.before_runs.push(self.before_runs(proc));
        }
        all
    }

    /// The channels that go with their process, as if it did something to them then.
    fn channels_that_go(&self) -> Vec<(usize, VarRef, Touch)> {
        let mut all = Vec::new();
        for site in &self.channels.sites {
            let Some(owner) = site.owner.filter(|owner| self.procs[*owner].ends) else { continue };
            let variable = &self.program.variables[site.variable];
            let span = variable.name.span;
            for at in 0..variable.length.unwrap_or(1) {
                let at = ast::Expr { kind: ExprKind::Int(i64::from(at)), span };
                let index = variable.length.map(|_| Box::new(at));
                let channel = VarRef { variable: site.variable, index, fields: Vec::new(), span };
                all.push((owner, channel, Touch::Insert));
            }
        }
        all
    }

    /// The steps of a proctype whose executability decides what else happens: an `else`, an escape, the next option of a
    /// `d_step`, or the end of an atomic step.
    fn tests(&self, proc: usize) -> Vec<ElementId> {
        let flow = &self.procs[proc].flow;
        let mut all = Vec::new();
        let mut inside = Vec::new();
        for location in &self.procs[proc].locations {
            for step in flow.outgoing(*location) {
                if flow.is_atomic(step.element) {
                    inside.push(flow.target(step.element));
                }
                if let ElementKind::DStep(body, exit) = flow.elements[step.element].kind {
                    let nodes = self.d_step_nodes(proc, flow.hunt(body.first, false), exit);
                    all.extend(nodes.iter().flat_map(|node| flow.outgoing(*node)).map(|step| step.element));
                }
            }
        }
        for location in &self.procs[proc].locations {
            let steps = flow.outgoing(*location);
            let decides =
                |step: &crate::flow::Outgoing| !step.unless.is_empty() || self.is_else(proc, step.element);
            if inside.contains(location) || steps.iter().any(decides) {
                all.extend(steps.iter().map(|step| step.element));
            }
        }
        all
    }

    /// The locations inside a `d_step`.
    pub(super) fn d_step_nodes(&self, proc: usize, first: ElementId, exit: ElementId) -> Vec<ElementId> {
        let flow = &self.procs[proc].flow;
        let mut nodes = vec![first];
        let mut at = 0;
        while at < nodes.len() {
            for step in flow.outgoing(nodes[at]) {
                let target = flow.target(step.element);
                if target != exit && !nodes.contains(&target) {
                    nodes.push(target);
                }
            }
            at += 1;
        }
        nodes
    }

    /// The locations from which a `run` can be reached.
    fn before_runs(&self, proc: usize) -> Vec<ElementId> {
        let flow = &self.procs[proc].flow;
        let locations = &self.procs[proc].locations;
        let runs = |at: &ElementId| {
            flow.outgoing(*at).iter().any(|step| !self.run_targets(flow, step.element).is_empty())
        };
        let mut found: Vec<ElementId> = locations.iter().copied().filter(runs).collect();
        let mut at = 0;
        while at < found.len() {
            for location in locations {
                let leads = |step: &crate::flow::Outgoing| flow.target(step.element) == found[at];
                if !found.contains(location) && flow.outgoing(*location).iter().any(leads) {
                    found.push(*location);
                }
            }
            at += 1;
        }
        found
    }

    /// All that steps from a location may do.
    fn chain(&self, proc: usize, at: ElementId) -> Chain {
        let flow = &self.procs[proc].flow;
        let mut chain = Chain { first: Vec::new(), inner: Vec::new(), ends: Vec::new(), loops: false };
        let mut seen = vec![at];
        let mut next = 0;
        while next < seen.len() {
            for step in flow.outgoing(seen[next]) {
                match flow.elements[step.element].kind {
                    ElementKind::DStep(body, exit) => {
                        let nodes = self.d_step_nodes(proc, flow.hunt(body.first, false), exit);
                        let steps: Vec<_> = nodes.iter().flat_map(|node| flow.outgoing(*node)).collect();
                        // As many steps as places to come to: then control comes to each once.
                        chain.loops |= steps.len() > nodes.len();
                        chain.inner.extend(steps.iter().map(|step| step.element));
                    }
                    _ if next == 0 => chain.first.push(step.element),
                    _ => chain.inner.push(step.element),
                }
                if step.element == flow.end {
                    continue;
                }
                let target = flow.target(step.element);
                chain.ends.push(target);
                if flow.is_atomic(step.element) {
                    match seen.contains(&target) {
                        true => chain.loops = true,
                        false => seen.push(target),
                    }
                }
            }
            next += 1;
        }
        chain
    }

    /// When a process at a location may go first, and where it may be then.
    fn goes_first(
        &mut self,
        all: &Everybody,
        proc: usize,
        at: ElementId,
    ) -> Option<(Condition, Vec<ElementId>)> {
        if self.options.dynamic
            || self.last.is_some()
            || self.moved.is_some()
            || self.options.merge
            || all.looks
        {
            return None;
        }
        let span = self.procs[proc].flow.elements[at].span;
        self.locals = IndexVec::new();
        let several = self.procs[proc].capacity > 1;
        let entry = several.then(|| {
            let local = self.entry_local(proc, "i", LocalKind::Bound, span);
            self.read_local(local, span)
        });
        let me = Me { proc, entry };
        let chain = self.chain(proc, at);
        let mut accesses = Accesses::default();
        self.program.proctypes[proc].provided.iter().for_each(|provided| accesses.expr(provided));
        let mut parts = Vec::new();
        let mut ends = false;
        for (element, is_first) in
            chain.first.iter().map(|it| (it, true)).chain(chain.inner.iter().map(|it| (it, false)))
        {
            match &self.procs[proc].flow.elements[*element].kind {
                ElementKind::Basic(kind) => accesses.stmt_at(kind, is_first),
                ElementKind::End => ends = true,
                _ => {}
            }
        }
        if accesses.waits || accesses.runs || accesses.counts || !self.own_variables(all, &accesses, proc) {
            return None;
        }
        if ends {
            let owns = self.channels.sites.iter().any(|site| site.owner == Some(proc));
            if all.counts || owns {
                return None;
            }
            parts.extend(self.nobody_runs_more(all, span));
        }
        // What is asked of a channel beforehand is true of it once.
        if chain.loops && !accesses.channels.is_empty() {
            return None;
        }
        parts.extend(self.own_channels(all, &accesses, &me)?);
        let expr = self.and(parts, span);
        Some((Condition { locals: std::mem::take(&mut self.locals), expr }, chain.ends))
    }

    /// Whether another process than one of a proctype is among those of some proctypes.
    fn others(&self, who: &BTreeSet<usize>, proc: usize) -> bool {
        who.iter().any(|it| *it != proc || self.procs[proc].capacity > 1)
    }

    /// Whether nobody else writes what is read, or touches what is written.
    fn own_variables(&self, all: &Everybody, accesses: &Accesses, proc: usize) -> bool {
        let is_shared = |id: &VariableId| {
            self.program.variables[*id].is_global
                && !matches!(self.homes.get(id), Some(Home::Channel | Home::Nowhere))
        };
        let shared = |ids: &BTreeSet<VariableId>| -> Vec<VariableId> {
            ids.iter().copied().filter(is_shared).collect()
        };
        shared(&accesses.reads).iter().all(|id| !self.others(&all.writes[*id], proc))
            && shared(&accesses.writes)
                .iter()
                .all(|id| !self.others(&all.writes[*id], proc) && !self.others(&all.reads[*id], proc))
    }

    /// When nobody else uses the channels in a way that would matter. Nothing if that cannot be said.
    fn own_channels(&mut self, all: &Everybody, accesses: &Accesses, me: &Me) -> Option<Vec<Expr>> {
        let mut parts = Vec::new();
        let mut seen: Vec<BTreeSet<usize>> = Vec::new();
        for (at, (channel, touch)) in accesses.channels.iter().enumerate() {
            let sites = self.sites_of(channel);
            if sites.is_empty() || sites.iter().any(|site| self.channels.sites[*site].capacity == 0) {
                return None;
            }
            // Behind the first step the state has changed: the channel must be the same, and used once.
            if !accesses.is_first(at) {
                let again = seen.iter().any(|before| !before.is_disjoint(&sites));
                if again || *touch == Touch::Test || !self.is_settled(all, channel, me.proc) {
                    return None;
                }
            }
            seen.push(sites);
            let wanted = match touch {
                Touch::Send => Some(Query::NotFull),
                Touch::Take => Some(Query::NotEmpty),
                Touch::Test => None,
                Touch::Insert | Touch::Find => return None,
            };
            if let Some(query) = wanted {
                let kind = ExprKind::Query(query, channel.clone());
                parts.push(self.condition(&ast::Expr { kind, span: channel.span }, Some(me)).ok()?);
            }
            parts.extend(self.not_shared(all, channel, *touch, me)?);
        }
        Some(parts)
    }

    /// Whether what a channel variable holds never changes while its process runs.
    fn is_settled(&self, all: &Everybody, channel: &VarRef, proc: usize) -> bool {
        if !channel.fields.is_empty() {
            return false;
        }
        if self.channels.fixed(channel.variable).is_some() {
            return channel.index.as_ref().is_none_or(|index| self.is_constant(all, index, proc));
        }
        let own = self.program.proctypes[proc].variables.contains(&channel.variable);
        own && channel.index.is_none() && !self.channels.is_assigned(channel.variable)
    }

    /// Whether a value never changes while its process runs.
    fn is_constant(&self, all: &Everybody, expr: &ast::Expr, proc: usize) -> bool {
        match &expr.kind {
            ExprKind::Int(_) | ExprKind::Mtype(..) | ExprKind::Pid => true,
            ExprKind::Var(var) => {
                let own = self.program.proctypes[proc].variables.contains(&var.variable);
                own && var.index.is_none() && var.fields.is_empty() && !all.written.contains(&var.variable)
            }
            ExprKind::Binary(_, a, b) => self.is_constant(all, a, proc) && self.is_constant(all, b, proc),
            _ => false,
        }
    }

    /// That no other process does to the channel what would matter. Nothing if that cannot be said.
    fn not_shared(&mut self, all: &Everybody, channel: &VarRef, touch: Touch, me: &Me) -> Option<Vec<Expr>> {
        let sites = self.sites_of(channel);
        let mut parts: Vec<Expr> = Vec::new();
        for (proc, other, theirs) in &all.uses {
            let alone = *proc == me.proc && self.procs[*proc].capacity == 1;
            if alone || !touch.minds(*theirs) || self.sites_of(other).is_disjoint(&sites) {
                continue;
            }
            if !self.is_settled(all, other, *proc) {
                return None;
            }
            let part = self.another_channel(channel, me, other, *proc)?;
            if !parts.contains(&part) {
                parts.push(part);
            }
        }
        if !parts.is_empty() {
            // Who is still to be made could be given the same channel.
            parts.extend(self.nobody_runs_more(all, channel.span));
        }
        Some(parts)
    }

    /// That what a variable of all other processes of a proctype holds is another channel.
    fn another_channel(&mut self, mine: &VarRef, me: &Me, other: &VarRef, proc: usize) -> Option<Expr> {
        let span = mine.span;
        let held = self.channel_value(mine, Some(me)).ok()?;
        let differs = |lowerer: &mut Self, you: &Me| -> Option<Expr> {
            let theirs = lowerer.channel_value(other, Some(you)).ok()?;
            let differs = lowerer.not(lowerer.equal(held.clone(), theirs));
            Some(match (&me.entry, &you.entry) {
                (Some(mine), Some(yours)) if proc == me.proc => {
                    let same = lowerer.equal(mine.clone(), yours.clone());
                    lowerer.or(vec![same, differs], span)
                }
                _ => differs,
            })
        };
        self.for_all_of(proc, span, differs)
    }

    /// That something is true of all entries of a proctype, whether a process runs there or not.
    fn for_all_of(
        &mut self,
        proc: usize,
        span: Span,
        of: impl FnOnce(&mut Self, &Me) -> Option<Expr>,
    ) -> Option<Expr> {
        if self.procs[proc].capacity == 1 {
            return of(self, &Me { proc, entry: None });
        }
        let local = self.entry_local(proc, "j", LocalKind::Bound, span);
        let you = Me { proc, entry: Some(self.read_local(local, span)) };
        let body = Box::new(of(self, &you)?);
        let domain = self.all_entries(proc, span);
        let quantifier = Quantifier::Forall;
        let kind = shoal_model::ExprKind::Quantified { quantifier, local, domain, body };
        Some(Expr { kind, ty: self.boolean, span })
    }

    /// That no process can make others any more.
    fn nobody_runs_more(&mut self, all: &Everybody, span: Span) -> Vec<Expr> {
        let mut parts = Vec::new();
        for (proc, before) in all.before_runs.iter().enumerate() {
            if before.is_empty() {
                continue;
            }
            let past = |lowerer: &mut Self, you: &Me| {
                let parts = before.iter().map(|at| lowerer.not(lowerer.is_at(you, *at, span))).collect();
                Some(lowerer.and(parts, span))
            };
            parts.extend(self.for_all_of(proc, span, past));
        }
        parts
    }
}

/// Nodes without which there are no loops. Edges lead from nodes that count, and only to such.
fn cuts(edges: &[Vec<usize>], counts: impl Fn(usize) -> bool) -> Vec<usize> {
    #[derive(Clone, Copy, PartialEq)]
    enum Mark {
        New,
        Open,
        Done,
    }
    let mut marks = vec![Mark::New; edges.len()];
    let mut cuts = Vec::new();
    for root in 0..edges.len() {
        if marks[root] != Mark::New || !counts(root) {
            continue;
        }
        let mut path = vec![(root, 0)];
        marks[root] = Mark::Open;
        while let Some((node, next)) = path.last_mut() {
            let node = *node;
            let Some(target) = edges[node].get(*next).copied() else {
                marks[node] = Mark::Done;
                path.pop();
                continue;
            };
            *next += 1;
            match marks[target] {
                Mark::New if counts(target) => {
                    marks[target] = Mark::Open;
                    path.push((target, 0));
                }
                Mark::Open if !cuts.contains(&node) => cuts.push(node),
                _ => {}
            }
        }
    }
    cuts
}

#[cfg(test)]
mod tests {
    use super::cuts;

    #[test]
    fn every_loop_is_cut() {
        let edges = [vec![1, 2], vec![2], vec![0, 3], vec![3, 4], vec![]];
        assert_eq!(cuts(&edges, |_| true), [2, 3]);
        assert_eq!(cuts(&edges, |node| node != 2), [3]);
    }
}
