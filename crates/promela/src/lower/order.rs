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

use shoal_model::{Agents, Condition, Expr, IndexVec, LocalKind, Location, RuleId};
use shoal_syntax::Span;

use super::{Lowerer, Me, access::Accesses, everybody::Everybody};
use crate::{
    ast::{self, ExprKind, VariableId},
    flow::{ElementId, ElementKind},
};

/// Everything that a step from a location may do.
struct StepEffects {
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
            let inside = self.inside_sequences(proc);
            for (position, rules) in rules.into_iter().enumerate() {
                let at = self.procs[proc].locations[position];
                let goes_first = self.goes_first(&everybody, proc, at);
                ways.push(match &goes_first {
                    Some((_, ends)) => ends.iter().map(|end| self.position(proc, *end)).collect(),
                    None => Vec::new(),
                });
                let goes_first = goes_first.map(|(condition, _)| condition);
                let dead = dead.next().unwrap_or_default();
                let passed = inside.contains(&at);
                locations.push(Location { rules, goes_first, cuts_loops: false, dead, passed });
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
    fn chain(&self, proc: usize, at: ElementId, step: ElementId) -> StepEffects {
        let flow = &self.procs[proc].flow;
        let mut chain = StepEffects { first: Vec::new(), inner: Vec::new(), ends: Vec::new(), loops: false };
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
                chain.inner.extend(flow.merged_with(it.element));
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
        if self.last.is_some() || self.moved.is_some() || all.looks || all.minds_others {
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
    fn step_goes_first(
        &mut self,
        all: &Everybody,
        me: &Me,
        chain: &StepEffects,
        span: Span,
    ) -> Option<Vec<Expr>> {
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
        parts.extend(self.promises_stay(all, me, !accesses.channels.is_empty(), ends, span)?);
        Some(parts)
    }

    /// Whether all that steps do is done to variables and channels.
    fn is_plain(&self, accesses: &Accesses) -> bool {
        let into_objects = self.options.dynamic && (accesses.follows || accesses.compares);
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
    enum VisitMark {
        New,
        Open,
        Done,
    }
    let mut marks = vec![VisitMark::New; edges.len()];
    let mut cuts = Vec::new();
    for root in 0..edges.len() {
        if marks[root] != VisitMark::New || !counts(root) {
            continue;
        }
        let mut path = vec![(root, 0)];
        marks[root] = VisitMark::Open;
        while let Some((node, next)) = path.last_mut() {
            let node = *node;
            let Some(target) = edges[node].get(*next).copied() else {
                marks[node] = VisitMark::Done;
                path.pop();
                continue;
            };
            *next += 1;
            match marks[target] {
                VisitMark::New if counts(target) => {
                    marks[target] = VisitMark::Open;
                    path.push((target, 0));
                }
                VisitMark::Open if !cuts.contains(&node) => cuts.push(node),
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
