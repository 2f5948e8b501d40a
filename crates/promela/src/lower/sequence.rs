//! Sequences that are one step: `atomic` and `d_step`.
//!
//! A step into an atomic sequence goes on until the sequence ends or blocks; where several statements can be executed,
//! the step has an outcome for each. What has only one way in is written out behind it; everything else is in a
//! procedure of the proctype, which goes round until the sequence ends. A `d_step` is the same without choice.

use std::collections::{HashMap, HashSet};

use shoal_model::{
    Argument, CheckKind, Code, Expr, ExprKind, Function, IndexVec, LocalKind, Stmt, StmtKind, Value,
};
use shoal_syntax::Span;

use super::{
    Lowerer, Me, OrReported,
    code::{AtomicMode, StepWay},
};
use crate::{
    ast, codes,
    flow::{ElementId, ElementKind},
};

/// A location of a proctype.
type Whereabouts = (usize, ElementId);

impl Lowerer<'_> {
    /// How many steps lead to each location of a proctype.
    fn ways_in(&self, proc: usize) -> HashMap<ElementId, usize> {
        let flow = &self.procs[proc].flow;
        let mut count = HashMap::from([(flow.start, 2)]);
        for location in &self.procs[proc].locations {
            for step in flow.outgoing(*location) {
                *count.entry(flow.target(step.element)).or_insert(0) += 1;
            }
        }
        count
    }

    /// Whether what happens at a location of an atomic sequence is written out behind the only step that leads there.
    fn is_inline(&self, proc: usize, location: ElementId) -> bool {
        self.inline[proc].get(&location).is_some_and(|count| *count == 1)
    }

    /// Where atomic sequences hand over to each other by rendezvous, writing out what comes behind a step may come back to
    /// it. Then a location of each circle is left to the procedure of its process.
    fn break_circles(&mut self) {
        let inline = |lowerer: &Self, proc: usize| -> Vec<Whereabouts> {
            let all = lowerer.procs[proc].locations.iter();
            all.filter(|at| lowerer.is_inline(proc, **at)).map(|at| (proc, *at)).collect()
        };
        let nodes: Vec<_> = (0..self.procs.len()).flat_map(|proc| inline(self, proc)).collect();
        let mut done = HashSet::new();
        for node in nodes {
            // Each entry: a location on the way, and what is still to be written out behind it.
            let mut way: Vec<(Whereabouts, Vec<Whereabouts>)> = Vec::new();
            let mut on_way = HashSet::new();
            if done.insert(node) {
                on_way.insert(node);
                way.push((node, self.written_behind(node)));
            }
            while let Some((last, open)) = way.last_mut() {
                let Some(next) = open.pop() else {
                    on_way.remove(last);
                    way.pop();
                    continue;
                };
                if on_way.contains(&next) {
                    self.inline[next.0].insert(next.1, 2);
                } else if done.insert(next) {
                    on_way.insert(next);
                    way.push((next, self.written_behind(next)));
                }
            }
        }
    }

    /// The locations whose steps are written out behind those of a location: the next of the sequence, and where a receiver goes on.
    fn written_behind(&self, (proc, at): Whereabouts) -> Vec<Whereabouts> {
        let flow = &self.procs[proc].flow;
        let goes_on = |proc: usize, element: ElementId| {
            let flow = &self.procs[proc].flow;
            let target = flow.target(element);
            (flow.is_atomic(element) && self.is_inline(proc, target)).then_some((proc, target))
        };
        let mut behind = Vec::new();
        for step in flow.outgoing(at) {
            behind.extend(goes_on(proc, step.element));
            let ElementKind::Basic(kind) = &flow.elements[step.element].kind else { continue };
            let ast::StmtKind::Send { channel, .. } = &**kind else { continue };
            let mut classes: Vec<usize> =
                self.sites_of(channel).iter().map(|site| self.channels.sites[*site].class).collect();
            classes.dedup();
            for class in classes.into_iter().filter(|class| self.channels.classes[*class].capacity == 0) {
                let receivers = (0..self.procs.len()).flat_map(|other| self.receivers(other, class));
                behind.extend(receivers.filter_map(|receiver| goes_on(receiver.proc, receiver.element)));
            }
        }
        behind
    }

    /// Makes the procedures that atomic sequences need.
    pub(super) fn atomic_procedures(&mut self) {
        self.inline = (0..self.procs.len()).map(|proc| self.ways_in(proc)).collect();
        self.break_circles();
        let mut needed = Vec::new();
        for proc in 0..self.procs.len() {
            let flow = &self.procs[proc].flow;
            let mut rest: Vec<ElementId> = Vec::new();
            for location in &self.procs[proc].locations {
                for step in flow.outgoing(*location) {
                    let target = flow.target(step.element);
                    let inner = flow.is_atomic(step.element) && !self.is_inline(proc, target);
                    if inner && !rest.contains(&target) {
                        rest.push(target);
                    }
                }
            }
            if rest.is_empty() {
                continue;
            }
            let proctype = &self.program.proctypes[proc];
            let function = Function {
                name: format!("{}.atomic", proctype.name.node),
                params: Vec::new(),
                result: None,
                code: Code::default(),
                span: proctype.name.span,
            };
            self.procs[proc].atomic = Some(self.model.functions.push(function));
            needed.push((proc, rest));
        }
        for (proc, locations) in needed {
            self.atomic_procedure(proc, &locations);
        }
    }

    fn atomic_procedure(&mut self, proc: usize, locations: &[ElementId]) {
        let span = self.program.proctypes[proc].name.span;
        self.locals = IndexVec::new();
        let mut params = Vec::new();
        let mut entry = None;
        if self.procs[proc].capacity > 1 {
            let local = self.entry_local(proc, "i", LocalKind::Variable, span);
            params.push(local);
            entry = Some(self.read_local(local, span));
        }
        let me = Me { proc, entry };
        let mut arms = Vec::new();
        for location in locations {
            if let Ok(body) = self.proceed(&me, *location, AtomicMode::Procedure) {
                arms.push((self.is_at(&me, *location, span), body));
            }
        }
        let leave = vec![Stmt { kind: StmtKind::Return(None), span }];
        let round = vec![Stmt { kind: StmtKind::If(arms, leave), span }];
        let forever = self.truth(true, span);
        let limit = self.options.while_limit;
        let body = vec![Stmt { kind: StmtKind::While { condition: forever, body: round, limit }, span }];
        if let Some(id) = self.procs[proc].atomic {
            self.model.functions[id].params = params;
            self.model.functions[id].code = Code { locals: std::mem::take(&mut self.locals), body };
        }
    }

    /// Moves a process behind a step, and goes on where the step belongs to an atomic sequence.
    pub(super) fn go(&mut self, me: &Me, element: ElementId, mode: AtomicMode) -> OrReported<Vec<Stmt>> {
        let flow = &self.procs[me.proc].flow;
        let (target, atomic) = (flow.target(element), flow.is_atomic(element));
        let span = flow.elements[element].span;
        let mut body = Vec::new();
        for merged in flow.merged_with(element).to_vec() {
            body.extend(self.effect(me, merged)?);
        }
        if atomic && self.is_inline(me.proc, target) {
            body.extend(self.proceed(me, target, mode)?);
            return Ok(body);
        }
        body.push(self.stay(me, target, span));
        match (atomic, mode) {
            (true, AtomicMode::Rule) => body.extend(self.call_atomic(me, span)),
            (true, AtomicMode::Procedure) | (false, AtomicMode::Rule) => {}
            (false, AtomicMode::Procedure) => body.push(Stmt { kind: StmtKind::Return(None), span }),
        }
        Ok(body)
    }

    pub(super) fn stay(&self, me: &Me, location: ElementId, span: Span) -> Stmt {
        let location = self.location(me.proc, self.position(me.proc, location), span);
        self.assign(self.at(me, span), location)
    }

    fn call_atomic(&self, me: &Me, span: Span) -> Option<Stmt> {
        let function = self.procs[me.proc].atomic?;
        let arguments = me.entry.iter().map(|entry| Argument::Value(entry.clone())).collect();
        Some(Stmt { kind: StmtKind::Call(function, arguments), span })
    }

    /// What a process does at a location in the middle of an atomic sequence.
    fn proceed(&mut self, me: &Me, at: ElementId, mode: AtomicMode) -> OrReported<Vec<Stmt>> {
        let span = self.procs[me.proc].flow.elements[at].span;
        let outside = std::mem::replace(&mut self.in_sequence, true);
        let ways = self.all_ways(me, at, mode);
        self.in_sequence = outside;
        let mut ways = ways?;
        // Nobody waits for a timeout without letting the others go on.
        ways.retain(|way| !way.is_timeout);
        let mut blocked = vec![self.stay(me, at, span)];
        if mode == AtomicMode::Procedure {
            blocked.push(Stmt { kind: StmtKind::Return(None), span });
        }
        if let [first, other] = ways.as_slice()
            && other.is_else
            && first.params.is_empty()
        {
            return Ok(self.when(first.guard.clone(), first.body.clone(), other.body.clone()));
        }
        match ways.len() {
            0 => Ok(blocked),
            1 if ways[0].params.is_empty() => {
                let way = ways.swap_remove(0);
                Ok(self.when(way.guard, way.body, blocked))
            }
            _ => Ok(self.choose(ways, blocked, span)),
        }
    }

    fn all_ways(&mut self, me: &Me, at: ElementId, mode: AtomicMode) -> OrReported<Vec<StepWay>> {
        let mut ways = Vec::new();
        for step in self.procs[me.proc].flow.outgoing(at) {
            ways.extend(self.ways(me, at, &step, mode)?);
        }
        Ok(ways)
    }

    /// One of several ways, or none.
    fn choose(&mut self, ways: Vec<StepWay>, blocked: Vec<Stmt>, span: Span) -> Vec<Stmt> {
        let mut guards = Vec::new();
        for way in &ways {
            let mut guard = way.guard.clone();
            for (local, domain) in way.params.iter().rev() {
                guard = self.exists(*local, domain.clone(), guard);
            }
            guards.push(guard);
        }
        let sure = ways.iter().any(|way| way.is_else);
        let some = if sure { self.truth(true, span) } else { self.or(guards, span) };
        let which = self.bound("$way", span);
        let domain = self.range_domain(self.int(0, span), self.int(ways.len() as i64 - 1, span));
        let mut body = vec![Stmt { kind: StmtKind::Choose { local: which, domain }, span }];
        let property = self.assumption(span);
        let mut arms = Vec::new();
        for (position, way) in ways.into_iter().enumerate() {
            let mut steps = Vec::new();
            for (local, domain) in way.params {
                steps.push(Stmt { kind: StmtKind::Choose { local, domain }, span });
            }
            if way.guard.kind != ExprKind::Const(Value::Bool(true)) {
                let kind = StmtKind::Check { kind: CheckKind::Assume, condition: Some(way.guard), property };
                steps.push(Stmt { kind, span });
            }
            steps.extend(way.body);
            let chosen = self.equal(self.read_local(which, span), self.int(position as i64, span));
            arms.push((chosen, steps));
        }
        body.push(Stmt { kind: StmtKind::If(arms, Vec::new()), span });
        self.when(some, body, blocked)
    }

    /// A deterministic sequence from one of its locations to its end.
    pub(super) fn d_step(&mut self, me: &Me, first: ElementId, exit: ElementId) -> OrReported<Vec<Stmt>> {
        let span = self.procs[me.proc].flow.elements[first].span;
        let mut count: HashMap<ElementId, usize> = HashMap::from([(first, 1)]);
        let mut nodes = vec![first];
        let mut position = 0;
        while position < nodes.len() {
            for step in self.procs[me.proc].flow.outgoing(nodes[position]) {
                let target = self.procs[me.proc].flow.target(step.element);
                *count.entry(target).or_insert(0) += 1;
                if target != exit && !nodes.contains(&target) {
                    nodes.push(target);
                }
            }
            position += 1;
        }
        let heads: Vec<ElementId> = nodes.iter().copied().filter(|node| count[node] > 1).collect();
        self.refuse_meetings(me.proc, &nodes)?;
        if heads.is_empty() {
            return self.d_step_from(me, first, exit, &heads, None);
        }
        let at = self.new_local("$at", self.integer, LocalKind::Variable, span);
        let mut body = match heads.iter().position(|head| *head == first) {
            Some(position) => vec![self.bind(at, self.int(position as i64, span))],
            None => {
                let mut body = vec![self.bind(at, self.int(-1, span))];
                body.extend(self.d_step_from(me, first, exit, &heads, Some(at))?);
                body
            }
        };
        let mut arms = Vec::new();
        for (position, head) in heads.iter().enumerate() {
            let here = self.equal(self.read_local(at, span), self.int(position as i64, span));
            arms.push((here, self.d_step_from(me, *head, exit, &heads, Some(at))?));
        }
        let more = self.binary(shoal_model::BinaryOp::Ge, self.read_local(at, span), self.int(0, span));
        let round = vec![Stmt { kind: StmtKind::If(arms, Vec::new()), span }];
        let limit = self.options.while_limit;
        body.push(Stmt { kind: StmtKind::While { condition: more, body: round, limit }, span });
        Ok(body)
    }

    /// A rendezvous in the middle of a `d_step` would need another process to be ready.
    fn refuse_meetings(&mut self, proc: usize, nodes: &[ElementId]) -> OrReported<()> {
        for node in nodes {
            for step in self.procs[proc].flow.outgoing(*node) {
                let element = &self.procs[proc].flow.elements[step.element];
                let ElementKind::Basic(kind) = element.kind.clone() else { continue };
                let channel = match &*kind {
                    ast::StmtKind::Send { channel, .. } => channel,
                    ast::StmtKind::Receive(receive) if *node != nodes[0] => &receive.channel,
                    _ => continue,
                };
                let classes = self.classes(channel)?;
                if classes.iter().any(|class| self.channels.classes[*class].capacity == 0) {
                    let message =
                        "not supported: a rendezvous inside a `d_step`, but a receive at its beginning";
                    return self.error(codes::UNSUPPORTED, channel.span, message);
                }
            }
        }
        Ok(())
    }

    /// The steps from a location to the next place where ways meet.
    fn d_step_from(
        &mut self,
        me: &Me,
        node: ElementId,
        exit: ElementId,
        heads: &[ElementId],
        at: Option<shoal_model::LocalId>,
    ) -> OrReported<Vec<Stmt>> {
        let span = self.procs[me.proc].flow.elements[node].span;
        let property = self.assertions(span);
        let blocks = StmtKind::Check { kind: CheckKind::Assert, condition: None, property };
        let mut body = vec![Stmt { kind: blocks, span }];
        let mut arms: Vec<(Expr, Vec<Stmt>)> = Vec::new();
        for step in self.procs[me.proc].flow.outgoing(node) {
            let guard = match self.is_else(me.proc, step.element) {
                true => self.truth(true, span),
                false => self.step_guard(me, node, step.element)?,
            };
            let mut steps = self.effect(me, step.element)?;
            let target = self.procs[me.proc].flow.target(step.element);
            if let (Some(head), Some(at)) = (heads.iter().position(|head| *head == target), at) {
                steps.push(self.assign(self.local_place(at, span), self.int(head as i64, span)));
            } else if target == exit {
                if let Some(at) = at {
                    steps.push(self.assign(self.local_place(at, span), self.int(-1, span)));
                }
            } else {
                steps.extend(self.d_step_from(me, target, exit, heads, at)?);
            }
            // `else` is tried last, whatever its place.
            if self.is_else(me.proc, step.element) {
                body = steps;
            } else {
                arms.push((guard, steps));
            }
        }
        for (guard, steps) in arms.into_iter().rev() {
            body = self.when(guard, steps, body);
        }
        Ok(body)
    }
}
