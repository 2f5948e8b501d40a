//! Which processes may go first: where the steps of a process and those of all others can be taken in any order.
//!
//! A step that touches only what no other process touches, or what others only read as it does, may go first always. One
//! that receives from a channel which nobody else receives from may, if the channel is not empty, and one that sends to a
//! channel which nobody else sends to may, if it is not full: what is sent and what is received meet in between. Whether a
//! channel that a variable holds is used by others is asked of the state, as far as what they hold cannot change.
//!
//! SPIN has the programmer promise such use (`xr`, `xs`); here it is found out. Only those others count who can still come
//! to do what would matter from where they are. What is said of a location holds for all steps at it, with all that an
//! atomic sequence may do, but for steps that cannot be taken because of something that others do not write.
//!
//! Objects are shared by all, so a step that looks into one or makes or deletes one does not go first; local variables may
//! refer to objects.

use std::collections::BTreeSet;

use shoal_model::{Agents, Condition, Expr, IndexVec, LocalKind, Location, Quantifier, RuleId};
use shoal_syntax::Span;

use super::{
    Home, Lowerer, Me,
    access::{Accesses, Touch},
    everybody::Everybody,
};
use crate::{
    ast::{self, ExprKind, Query, VarRef, VariableId},
    flow::{ElementId, ElementKind},
};

/// Everything that a step from a location may do.
struct Chain {
    /// The step, unless it is a `d_step`.
    first: Vec<ElementId>,
    /// What a sequence does after it.
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

    /// All that a step from a location may do.
    fn chain(&self, proc: usize, at: ElementId, step: ElementId) -> Chain {
        let flow = &self.procs[proc].flow;
        let mut chain = Chain { first: Vec::new(), inner: Vec::new(), ends: Vec::new(), loops: false };
        let mut seen = vec![at];
        let mut next = 0;
        while next < seen.len() {
            for it in flow.outgoing(seen[next]) {
                if next == 0 && it.element != step {
                    continue;
                }
                match flow.elements[it.element].kind {
                    ElementKind::DStep(body, exit) => {
                        let nodes = self.d_step_nodes(proc, flow.hunt(body.first, false), exit);
                        let steps: Vec<_> = nodes.iter().flat_map(|node| flow.outgoing(*node)).collect();
                        // As many steps as places to come to: then control comes to each once.
                        chain.loops |= steps.len() > nodes.len();
                        chain.inner.extend(steps.iter().map(|step| step.element));
                    }
                    _ if next == 0 => chain.first.push(it.element),
                    _ => chain.inner.push(it.element),
                }
                if it.element == flow.end {
                    continue;
                }
                let target = flow.target(it.element);
                chain.ends.push(target);
                if flow.is_atomic(it.element) {
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
        if self.last.is_some() || self.moved.is_some() || self.options.merge || all.looks {
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
        let (mut parts, mut ends) = (Vec::new(), Vec::new());
        for step in self.procs[proc].flow.outgoing(at) {
            let chain = self.chain(proc, at, step.element);
            let mut of_step = match self.step_goes_first(all, &me, &chain, span) {
                Some(of_step) => {
                    ends.extend(chain.ends);
                    of_step
                }
                None => self.stays_disabled(all, &me, step.element)?,
            };
            of_step.retain(|part| !parts.contains(part));
            parts.extend(of_step);
        }
        // Nothing can be done here without others.
        if ends.is_empty() && at != self.procs[proc].flow.end {
            return None;
        }
        let expr = self.and(parts, span);
        Some((Condition { locals: std::mem::take(&mut self.locals), expr }, ends))
    }

    /// When a step, whether it can be taken or not, and those of others do not notice each other.
    fn step_goes_first(&mut self, all: &Everybody, me: &Me, chain: &Chain, span: Span) -> Option<Vec<Expr>> {
        let proc = me.proc;
        let mut accesses = Accesses::default();
        self.program.proctypes[proc].provided.iter().for_each(|provided| accesses.expr(provided));
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
        if !self.is_plain(&accesses) {
            return None;
        }
        // That nothing leads to an object any more is an error in the step after which it is so.
        if self.options.leaks && accesses.writes.iter().any(|id| self.is_pointer(*id)) {
            return None;
        }
        let mut parts = self.own_variables(all, &accesses, me, span)?;
        if ends {
            let owns = self.channels.sites.iter().any(|site| site.owner == Some(proc));
            if all.counts || owns || self.options.dynamic {
                return None;
            }
            parts.extend(self.nobody_runs_more(all, span));
        }
        // What is asked of a channel beforehand is true of it once.
        if chain.loops && !accesses.channels.is_empty() {
            return None;
        }
        parts.extend(self.own_channels(all, &accesses, me)?);
        Some(parts)
    }

    /// Whether all that steps do is done to variables and channels.
    fn is_plain(&self, accesses: &Accesses) -> bool {
        let into_objects = self.options.dynamic && accesses.follows;
        !accesses.waits && !accesses.runs && !accesses.counts && !into_objects
    }

    fn is_pointer(&self, id: VariableId) -> bool {
        matches!(self.program.variables[id].ty, ast::Type::Pointer(_))
    }

    /// When a step cannot be taken, whatever others do: if what it asks first is false, and others do not write it.
    fn stays_disabled(&mut self, all: &Everybody, me: &Me, element: ElementId) -> Option<Vec<Expr>> {
        let flow = &self.procs[me.proc].flow;
        let (kind, span) = (flow.elements[element].kind.clone(), flow.elements[element].span);
        let mut parts = Vec::new();
        match kind {
            ElementKind::Basic(kind) => {
                let ast::StmtKind::Expr(expr) = &*kind else { return None };
                let mut accesses = Accesses::default();
                let mut own = Vec::new();
                // The rest is not evaluated then. It might fault otherwise.
                for conjunct in conjuncts(expr) {
                    accesses.expr(conjunct);
                    let plain = self.is_plain(&accesses) && accesses.channels.is_empty();
                    let here = self.own_variables(all, &accesses, me, span);
                    let (true, Some(here)) = (plain, here) else { break };
                    parts = here;
                    own.push(self.condition(conjunct, Some(me)).ok()?);
                }
                if own.is_empty() {
                    return None;
                }
                let holds = self.and(own, span);
                parts.push(self.not(holds));
            }
            ElementKind::DStep(body, _) => {
                let first = self.procs[me.proc].flow.hunt(body.first, false);
                for step in self.procs[me.proc].flow.outgoing(first) {
                    parts.extend(self.stays_disabled(all, me, step.element)?);
                }
            }
            _ => return None,
        }
        Some(parts)
    }

    /// When nobody else writes what is read, or touches what is written, from now on. Nothing if that cannot be said.
    fn own_variables(
        &mut self,
        all: &Everybody,
        accesses: &Accesses,
        me: &Me,
        span: Span,
    ) -> Option<Vec<Expr>> {
        let shared = |ids: &BTreeSet<VariableId>| -> BTreeSet<VariableId> {
            let is_shared = |id: &&VariableId| {
                self.program.variables[**id].is_global
                    && !matches!(self.homes.get(*id), Some(Home::Channel | Home::Nowhere))
            };
            ids.iter().filter(is_shared).copied().collect()
        };
        let (reads, writes) = (shared(&accesses.reads), shared(&accesses.writes));
        if reads.is_empty() && writes.is_empty() {
            return Some(Vec::new());
        }
        let minds = |theirs: &Accesses| {
            !theirs.writes.is_disjoint(&reads)
                || !theirs.writes.is_disjoint(&writes)
                || !theirs.reads.is_disjoint(&writes)
        };
        let mut parts = Vec::new();
        for proc in 0..self.procs.len() {
            if self.is_alone(proc, me) {
                continue;
            }
            let before = all.before(proc, minds)?;
            if before.contains(&true) {
                parts.extend(self.for_all_others(proc, me, span, |lowerer, you| {
                    Some(lowerer.is_past(you, &before, span))
                }));
            }
        }
        // Who is still to be made would begin at the beginning.
        if !parts.is_empty() || !all.first_reads.is_disjoint(&writes) {
            parts.extend(self.nobody_runs_more(all, span));
        }
        Some(parts)
    }

    /// Whether there are no other processes of a proctype.
    fn is_alone(&self, proc: usize, me: &Me) -> bool {
        proc == me.proc && self.procs[proc].capacity == 1
    }

    /// That a process is at none of some locations.
    fn is_past(&self, who: &Me, before: &[bool], span: Span) -> Expr {
        let at = |wanted: bool| -> Vec<Expr> {
            let positions = (0..before.len()).filter(|position| before[*position] == wanted);
            positions
                .map(|position| self.is_at(who, self.procs[who.proc].locations[position], span))
                .collect()
        };
        let after = before.iter().filter(|it| !**it).count();
        if after < before.len() - after {
            let nowhere = self.nowhere(who.proc, span);
            let mut places = vec![self.equal(self.read(self.at(who, span)), nowhere)];
            places.extend(at(false));
            return self.or(places, span);
        }
        let parts = at(true).into_iter().map(|here| self.not(here)).collect();
        self.and(parts, span)
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
        for proc in 0..self.procs.len() {
            if self.is_alone(proc, me) {
                continue;
            }
            for (other, before) in self.others_use(all, proc, touch, &sites) {
                let part = self.another_or_past(all, channel, me, &other, proc, &before)?;
                if !parts.contains(&part) {
                    parts.push(part);
                }
            }
        }
        if !parts.is_empty() {
            // Who is still to be made could be given the same channel.
            parts.extend(self.nobody_runs_more(all, channel.span));
        }
        Some(parts)
    }

    /// The variables by which processes of a proctype do to some channels what would matter, and the locations from which
    /// they can.
    fn others_use(
        &self,
        all: &Everybody,
        proc: usize,
        touch: Touch,
        sites: &BTreeSet<usize>,
    ) -> Vec<(VarRef, Vec<bool>)> {
        let count = self.procs[proc].locations.len();
        let mut found: Vec<(VarRef, Vec<bool>)> = Vec::new();
        for (at, other, theirs) in all.uses(proc) {
            if !touch.minds(theirs) || self.sites_of(other).is_disjoint(sites) {
                continue;
            }
            let is_plain = |it: &VarRef| it.index.is_none() && it.fields.is_empty();
            let same = |it: &VarRef| it.variable == other.variable && is_plain(it) && is_plain(other);
            match found.iter_mut().find(|(it, _)| same(it)) {
                Some((_, here)) => here[at] = true,
                None => found.push((other.clone(), (0..count).map(|it| it == at).collect())),
            }
        }
        for (_, here) in &mut found {
            *here = all.before_these(proc, std::mem::take(here));
        }
        let gone = all.channels_that_go.iter().filter(|(owner, other)| {
            *owner == proc && touch.minds(Touch::Insert) && !self.sites_of(other).is_disjoint(sites)
        });
        found.extend(gone.map(|(_, other)| (other.clone(), vec![true; count])));
        found
    }

    /// That what a variable of all other processes of a proctype holds is another channel, or that they are past its use.
    fn another_or_past(
        &mut self,
        all: &Everybody,
        mine: &VarRef,
        me: &Me,
        other: &VarRef,
        proc: usize,
        before: &[bool],
    ) -> Option<Expr> {
        let span = mine.span;
        let settled = self.is_settled(all, other, proc);
        let everywhere = before.iter().all(|it| *it);
        if !settled && everywhere {
            return None;
        }
        let held = self.channel_value(mine, Some(me)).ok()?;
        self.for_all_others(proc, me, span, |lowerer, you| {
            let mut ways = Vec::new();
            if !everywhere {
                ways.push(lowerer.is_past(you, before, span));
            }
            if settled {
                let theirs = lowerer.channel_value(other, Some(you)).ok()?;
                ways.push(lowerer.not(lowerer.equal(held, theirs)));
            }
            Some(lowerer.or(ways, span))
        })
    }

    /// That something is true of all entries of a proctype but one's own, whether a process runs there or not.
    fn for_all_others(
        &mut self,
        proc: usize,
        me: &Me,
        span: Span,
        of: impl FnOnce(&mut Self, &Me) -> Option<Expr>,
    ) -> Option<Expr> {
        self.for_all_of(proc, span, |lowerer, you| {
            let holds = of(lowerer, you)?;
            Some(match (&me.entry, &you.entry) {
                (Some(mine), Some(yours)) if proc == me.proc => {
                    let same = lowerer.equal(mine.clone(), yours.clone());
                    lowerer.or(vec![same, holds], span)
                }
                _ => holds,
            })
        })
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
            if before.contains(&true) {
                let past = |lowerer: &mut Self, you: &Me| Some(lowerer.is_past(you, before, span));
                parts.extend(self.for_all_of(proc, span, past));
            }
        }
        parts
    }
}

/// What is to be true together, in the order in which it is evaluated.
fn conjuncts(expr: &ast::Expr) -> Vec<&ast::Expr> {
    match &expr.kind {
        ExprKind::And(left, right) => {
            let mut all = conjuncts(left);
            all.extend(conjuncts(right));
            all
        }
        _ => vec![expr],
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
