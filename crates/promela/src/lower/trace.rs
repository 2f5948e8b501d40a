//! `trace` and `notrace`: an automaton that moves with the messages that are sent to some channels, or received from them.
//!
//! Only those channels count that it names, and only what it names of them: sending or receiving. For a message that it does not
//! expect, a `trace` is violated; a `notrace` does not look any further then, and is violated if it comes to its end.

use std::collections::HashSet;

use shoal_model::{
    CheckKind, Expr, ExprKind as K, PropertyKind, Stmt, StmtKind, Type as ModelType, TypeId, Value, Var,
    VarId,
};
use shoal_syntax::Span;

use super::{Lowerer, OrReported, Reported};
use crate::{
    ast::{self, Pattern, Receive, Use},
    codes,
    flow::{ElementId, ElementKind, ProctypeFlow},
};

pub(super) struct TraceAutomaton {
    flow: ProctypeFlow,
    locations: Vec<ElementId>,
    is_negated: bool,
    span: Span,
    /// The messages that count: sent or received, and of which channel of which class.
    scope: Vec<(Use, usize, i64)>,
    /// Where it stands.
    var: Option<(VarId, TypeId)>,
}

impl Lowerer<'_> {
    /// Reads the trace, if there is one.
    pub(super) fn find_trace(&mut self) {
        let Some(ast::EventTrace { body, is_negated }) = &self.program.trace else { return };
        let flow = match crate::flow::flow(body, self.program, &HashSet::new()) {
            Ok(flow) => flow,
            Err(wrong) => return self.diagnostics.extend(wrong),
        };
        let (locations, span) = (flow.locations(), body.name.span);
        let mut scope = Vec::new();
        for location in &locations {
            for step in flow.outgoing(*location) {
                if step.element != flow.end {
                    let element = &flow.elements[step.element];
                    match self.event_of(&element.kind, element.span) {
                        Ok(event) if scope.contains(&event) => {}
                        Ok(event) => scope.push(event),
                        Err(Reported) => return,
                    }
                }
            }
        }
        let automaton = TraceAutomaton { flow, locations, is_negated: *is_negated, span, scope, var: None };
        self.trace = Some(automaton);
    }

    /// What an element of a trace speaks of.
    fn event_of(&mut self, kind: &ElementKind, span: Span) -> OrReported<(Use, usize, i64)> {
        let event = match kind {
            ElementKind::Basic(kind) => match &**kind {
                ast::StmtKind::Event(what, receive) => Some((*what, receive)),
                _ => None,
            },
            _ => None,
        };
        let Some((what, receive)) = event else {
            let message = "a trace is made of messages that are sent (`c!m`) and received (`c?m`)";
            return self.error(codes::MISPLACED, span, message);
        };
        if receive.parts.iter().any(|part| matches!(part, Pattern::Store(_))) {
            let message = "not supported: a variable in a trace; constants and `_` are";
            return self.error(codes::UNSUPPORTED, span, message);
        }
        let channel = &receive.channel;
        let site = self.channels.fixed(channel.variable).filter(|_| channel.fields.is_empty());
        let index = match channel.index.as_deref() {
            None => Some(0),
            Some(ast::Expr { kind: ast::ExprKind::Int(index), .. }) => Some(*index),
            Some(_) => None,
        };
        let (Some(site), Some(index)) = (site, index) else {
            let message = "not supported: a trace of other channels than global ones that are never assigned";
            return self.error(codes::UNSUPPORTED, span, message);
        };
        let site = &self.channels.sites[site];
        if site.capacity == 0 || site.owner.is_some() {
            let message = "not supported: a trace of rendezvous channels, or of channels of processes";
            return self.error(codes::UNSUPPORTED, span, message);
        }
        Ok((what, site.class, i64::from(site.offset) + index))
    }

    /// Makes room for where the trace stands.
    pub(super) fn declare_trace(&mut self) {
        let Some(trace) = &self.trace else { return };
        let span = trace.span;
        let name = |at: &ElementId| match *at == trace.flow.end {
            true => "end".to_string(),
            false => format!("line {}", self.line(trace.flow.elements[*at].span)),
        };
        let mut variants: Vec<String> = Vec::new();
        for mut name in trace.locations.iter().map(name) {
            let count = variants.iter().filter(|it| it.split(" (").next() == Some(&*name)).count();
            if count > 0 {
                name += &format!(" ({})", count + 1);
            }
            variants.push(name);
        }
        // Where a `notrace` goes that does not look any further, whether or not its end can be reached.
        if !trace.locations.contains(&trace.flow.end) {
            variants.push("end".into());
        }
        let ty = self.add_type(Some("trace location".into()), ModelType::Enum { variants });
        let var = self.model.vars.push(Var { name: "_event".into(), ty, span });
        self.trace_fails(span);
        if let Some(trace) = &mut self.trace {
            trace.var = Some((var, ty));
        }
    }

    /// Where the trace is at an element.
    fn trace_at(&self, element: ElementId, span: Span) -> Option<Expr> {
        let trace = self.trace.as_ref()?;
        let (_, ty) = trace.var?;
        let known = trace.locations.iter().position(|at| *at == element);
        let position = known.unwrap_or(trace.locations.len()) as u32;
        Some(Expr { kind: K::Const(Value::Enum(ty, position)), ty, span })
    }

    fn move_trace(&self, to: ElementId, span: Span) -> Option<Stmt> {
        let (var, _) = self.trace.as_ref()?.var?;
        Some(self.assign(self.var_place(var, span), self.trace_at(to, span)?))
    }

    pub(super) fn begin_trace(&self) -> Option<Stmt> {
        let trace = self.trace.as_ref()?;
        self.move_trace(trace.flow.start, trace.span)
    }

    /// Where everything may end, a trace is at its end, or at a label that begins with `end`.
    pub(super) fn trace_may_end(&self) -> Option<Expr> {
        let trace = self.trace.as_ref()?;
        let (var, _) = trace.var?;
        let at = || self.read(self.var_place(var, trace.span));
        let may_end = |it: &&ElementId| **it == trace.flow.end || trace.flow.is_marked(**it, "end");
        let mut ends: Vec<ElementId> = trace.locations.iter().filter(may_end).copied().collect();
        if !ends.contains(&trace.flow.end) {
            ends.push(trace.flow.end);
        }
        let here = |end: &ElementId| Some(self.equal(at(), self.trace_at(*end, trace.span)?));
        Some(self.or(ends.iter().filter_map(here).collect(), trace.span))
    }

    /// What a message that is sent or received does to the trace.
    pub(super) fn event(
        &mut self,
        what: Use,
        (class, index): (usize, Expr),
        values: &[Expr],
        out_of_order: bool,
        span: Span,
    ) -> OrReported<Vec<Stmt>> {
        let Some(trace) = &self.trace else { return Ok(Vec::new()) };
        let counts = |(of, at, _): &&(Use, usize, i64)| *of == what && *at == class;
        let channels: Vec<i64> = trace.scope.iter().filter(counts).map(|(.., channel)| *channel).collect();
        let Some((var, _)) = trace.var.filter(|_| !channels.is_empty()) else { return Ok(Vec::new()) };
        if out_of_order {
            let message = "not supported: `!!` and `??` of a channel that a trace speaks of";
            return self.error(codes::UNSUPPORTED, span, message);
        }
        let (locations, end) = (trace.locations.clone(), trace.flow.end);
        let at = self.read(self.var_place(var, span));
        let is_one = |channel: &i64| self.equal(index.clone(), self.int(*channel, span));
        let in_scope = self.or(channels.iter().map(is_one).collect(), span);
        let mut arms = Vec::new();
        for location in locations.into_iter().filter(|location| *location != end) {
            let here = self.trace_at(location, span).ok_or(Reported)?;
            let body = self.moves_at(location, what, (class, &index), values, span)?;
            arms.push((self.equal(at.clone(), here), body));
        }
        // At the end nothing is expected any more.
        let unexpected = self.unexpected_event(span)?;
        let moves = vec![Stmt { kind: StmtKind::If(arms, unexpected), span }];
        Ok(self.when(in_scope, moves, Vec::new()))
    }

    /// Where the trace goes from a location with a message.
    fn moves_at(
        &mut self,
        location: ElementId,
        what: Use,
        (class, index): (usize, &Expr),
        values: &[Expr],
        span: Span,
    ) -> OrReported<Vec<Stmt>> {
        let Some(trace) = &self.trace else { return Err(Reported) };
        let (end, is_negated) = (trace.flow.end, trace.is_negated);
        let steps: Vec<(ElementKind, Span, ElementId)> = trace
            .flow
            .outgoing(location)
            .into_iter()
            .filter(|step| step.element != end)
            .map(|step| {
                let element = &trace.flow.elements[step.element];
                (element.kind.clone(), element.span, trace.flow.target(step.element))
            })
            .collect();
        let mut fits: Vec<(Expr, ElementId)> = Vec::new();
        for (kind, at, target) in steps {
            let (of, its_class, channel) = self.event_of(&kind, at)?;
            let ElementKind::Basic(kind) = kind else { return Err(Reported) };
            let ast::StmtKind::Event(_, receive) = &*kind else { return Err(Reported) };
            if of == what && its_class == class {
                let receive: &Receive = receive;
                let parts = self.parts(class, receive, None)?;
                let same = self.equal(index.clone(), self.int(channel, at));
                let matches = self.matches(class, &parts, &|part| values[part].clone(), at);
                fits.push((self.and(vec![same, matches], at), target));
            }
        }
        let mut body = self.unexpected_event(span)?;
        let mut behind: Vec<Expr> = Vec::new();
        while let Some((fit, target)) = fits.pop() {
            let mut goes: Vec<Stmt> = self.fits_none_of(&behind, span).into_iter().collect();
            goes.extend(self.move_trace(target, span));
            if is_negated && target == end {
                goes.push(self.trace_fails(span));
            }
            body = self.when(fit.clone(), goes, body);
            behind.push(fit);
        }
        Ok(body)
    }

    /// That a message which one event fits is not fit by others.
    fn fits_none_of(&mut self, others: &[Expr], span: Span) -> Option<Stmt> {
        if others.is_empty() {
            return None;
        }
        let others = others.to_vec();
        let condition = Some(self.not(self.or(others, span)));
        let property = self.named_property("the trace is deterministic", PropertyKind::Assertion, span);
        Some(Stmt { kind: StmtKind::Check { kind: CheckKind::Assert, condition, property }, span })
    }

    /// A message that is not expected.
    fn unexpected_event(&mut self, span: Span) -> OrReported<Vec<Stmt>> {
        let Some(trace) = &self.trace else { return Err(Reported) };
        let end = trace.flow.end;
        match trace.is_negated {
            true => Ok(self.move_trace(end, span).into_iter().collect()),
            false => Ok(vec![self.trace_fails(span)]),
        }
    }

    fn trace_fails(&mut self, span: Span) -> Stmt {
        let (name, at) = match &self.trace {
            Some(trace) if trace.is_negated => ("notrace", trace.span),
            Some(trace) => ("trace", trace.span),
            None => ("trace", span),
        };
        let property = self.named_property(name, PropertyKind::Assertion, at);
        Stmt { kind: StmtKind::Check { kind: CheckKind::Assert, condition: None, property }, span }
    }
}
