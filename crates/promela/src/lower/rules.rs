//! One rule for each step of a proctype.

use shoal_model::{
    Code, Condition, IndexVec, LocalKind, Parameter, PropertyId, PropertyKind, Quantifier, Rule, RuleId,
};
use shoal_syntax::Span;

use super::{
    Lowerer, Me,
    code::{AtomicMode, StepWay},
};
use crate::flow::{ElementId, Outgoing};

impl Lowerer<'_> {
    pub(super) fn all_rules(&mut self) {
        self.atomic_procedures();
        let mut rules = Vec::new();
        for proc in 0..self.procs.len() {
            let mut of_proc = Vec::new();
            for location in self.procs[proc].locations.clone() {
                // What has to be done anew need not be finished.
                if self.needed != self.style {
                    return;
                }
                of_proc.push(self.rules_at(proc, location));
            }
            rules.push(of_proc);
        }
        self.order(rules);
    }

    /// The rules for all steps at a location.
    fn rules_at(&mut self, proc: usize, location: ElementId) -> Vec<RuleId> {
        let before = self.model.rules.len();
        for step in self.procs[proc].flow.outgoing(location) {
            self.rules_of(proc, location, &step);
        }
        self.model.rules.ids().skip(before).collect()
    }

    /// The rules for a step at a location: one, or one for each rendezvous.
    fn rules_of(&mut self, proc: usize, location: ElementId, step: &Outgoing) {
        let span = self.procs[proc].flow.elements[step.element].span;
        self.locals = IndexVec::new();
        let mut entry = None;
        let mut param = None;
        if self.procs[proc].capacity > 1 {
            let local = self.entry_local(proc, "i", LocalKind::Bound, span);
            entry = Some(self.read_local(local, span));
            param = Some(Parameter { local, domain: self.all_entries(proc, span) });
        }
        let me = Me { proc, entry };
        let Ok(ways) = self.ways(&me, location, step, AtomicMode::Rule) else { return };
        let here = self.is_at(&me, location, span);
        let locals = std::mem::take(&mut self.locals);
        for way in ways {
            let name = self.rule_name(proc, step.element, &way);
            let guard = self.and(vec![here.clone(), way.guard], span);
            let others = way.params.into_iter().map(|(local, domain)| Parameter { local, domain });
            let params = param.iter().cloned().chain(others).collect();
            let rule = Rule {
                name,
                params,
                bindings: Vec::new(),
                guard: Some(guard),
                code: Code { locals: locals.clone(), body: way.body },
                priority: i64::from(way.is_timeout),
                urgent: false,
                span,
            };
            self.model.rules.push(rule);
        }
    }

    fn rule_name(&self, proc: usize, element: ElementId, way: &StepWay) -> String {
        let text = |proc: usize, element: ElementId| {
            let flow = &self.procs[proc].flow;
            if element == flow.end {
                return "end".to_string();
            }
            let span = flow.elements[element].span;
            format!("{} (line {})", self.text_as_name(span), self.line(span))
        };
        let name = &self.program.proctypes[proc].name.node;
        match way.partner {
            None => format!("{name}: {}", text(proc, element)),
            Some((other, received)) => {
                let partner = &self.program.proctypes[other].name.node;
                format!("{name}: {} -> {partner}: {}", text(proc, element), text(other, received))
            }
        }
    }

    /// Whether every process is where it may end.
    pub(super) fn all_may_end(&mut self, span: Span) -> Condition {
        self.locals = IndexVec::new();
        let mut parts = Vec::new();
        for proc in 0..self.procs.len() {
            let flow = &self.procs[proc].flow;
            let ends: Vec<ElementId> = self.procs[proc]
                .locations
                .iter()
                .copied()
                .filter(|location| *location == flow.end || flow.is_marked(*location, "end"))
                .collect();
            parts.push(self.every_process(proc, &ends, span));
        }
        parts.extend(self.trace_may_end());
        let expr = self.and(parts, span);
        Condition { locals: std::mem::take(&mut self.locals), expr }
    }

    /// Whether every process of a proctype is at one of some locations.
    fn every_process(&mut self, proc: usize, locations: &[ElementId], span: Span) -> shoal_model::Expr {
        let several = self.procs[proc].capacity > 1;
        let local = several.then(|| self.entry_local(proc, "i", LocalKind::Bound, span));
        let who = Me { proc, entry: local.map(|local| self.read_local(local, span)) };
        let nowhere = self.nowhere(proc, span);
        let mut parts = vec![self.equal(self.read(self.at(&who, span)), nowhere)];
        parts.extend(locations.iter().map(|location| self.is_at(&who, *location, span)));
        let all = self.or(parts, span);
        let Some(local) = local else { return all };
        let domain = self.all_entries(proc, span);
        let kind = shoal_model::ExprKind::Quantified {
            quantifier: Quantifier::Forall,
            local,
            domain,
            body: Box::new(all),
        };
        shoal_model::Expr { kind, ty: self.boolean, span }
    }

    /// Whether some process is at a location whose label begins with `progress`.
    pub(super) fn progress(&mut self, span: Span) -> shoal_model::Expr {
        self.marked("progress", span)
    }

    /// Whether some process is at a location whose label begins so.
    pub(super) fn marked(&mut self, prefix: &str, span: Span) -> shoal_model::Expr {
        let mut parts = Vec::new();
        for proc in 0..self.procs.len() {
            let flow = &self.procs[proc].flow;
            let marked: Vec<ElementId> =
                self.procs[proc].locations.iter().copied().filter(|it| flow.is_marked(*it, prefix)).collect();
            for entry in 0..self.procs[proc].capacity {
                let who = Me { proc, entry: self.numbered_entry(proc, entry, span) };
                parts.extend(marked.iter().map(|location| self.is_at(&who, *location, span)));
            }
        }
        self.or(parts, span)
    }

    /// The property that no more processes are made than there is room for.
    pub(super) fn limit_property(&mut self, span: Span) -> PropertyId {
        let name = format!("at most {} processes of a proctype", self.options.processes);
        self.named_property(&name, PropertyKind::Bound, span)
    }
}
