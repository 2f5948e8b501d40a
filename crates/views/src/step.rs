//! One run: a rule that fires, or a claim that is asked.

use shoal_model::{Domain, Fault, FaultKind, GuardFaults, LocalId, LocalKind, Rule, TypedId};
use smallvec::SmallVec;

use crate::mutant::{self, Mutant};
use crate::{
    cell::ViewScalar,
    decision::{RunResult, Stop},
    machine::{Scratch, ViewMachine},
    system::{OpenSystem, ViewClaim},
    task::{RunTask, ViewNode},
};
use std::rc::Rc;

/// What a run is of.
#[derive(Clone, Copy)]
pub(crate) enum RunSubject<'s, 'm> {
    Rule(&'m Rule),
    Claim(&'s ViewClaim<'m>),
}

impl RunSubject<'_, '_> {
    pub(crate) fn is_rule(self) -> bool {
        matches!(self, RunSubject::Rule(_))
    }
}

/// How a run went. What the elements of the view look like then, and which cells of others were read, is in its scratch.
pub(crate) struct RunEnded {
    pub(crate) outcome: RunResult,
    /// Whether it matters which stars there are.
    pub(crate) stars: bool,
}

/// Whether nothing can change a local while it is in scope.
fn is_bound(rule: &Rule, local: LocalId) -> bool {
    rule.code.locals[local].kind == LocalKind::Bound
}

impl<'m> OpenSystem<'m> {
    /// The tasks to begin with: all values of the first parameter, if they can be told in advance. Others are chosen when
    /// they are needed: most guards are false before.
    pub(crate) fn openings(
        &self,
        scratch: &mut Scratch<'m>,
        step: RunSubject<'_, 'm>,
        node: &Rc<ViewNode>,
    ) -> Vec<RunTask> {
        let mut plain = RunTask::plain(node.clone());
        let RunSubject::Rule(rule) = step else { return vec![plain] };
        plain.screened = self.is_screened(scratch, rule, &node.structure);
        let Some(Domain::Type(ty)) = rule.params.first().map(|param| &param.domain) else {
            return vec![plain];
        };
        let options = self.values_to_choose(*ty, &node.structure.known, &plain.stars);
        let is_tried = |value: &ViewScalar| !plain.screened || self.is_shown(value);
        options.into_iter().filter(is_tried).map(|value| plain.choosing(value)).collect()
    }

    pub(crate) fn run<'s>(
        &'s self,
        scratch: &mut Scratch<'m>,
        step: RunSubject<'s, 'm>,
        task: &'s RunTask,
    ) -> RunEnded {
        let node = &*task.node;
        let mut machine = ViewMachine::new(
            self,
            std::mem::take(scratch),
            &node.structure,
            &task.stars,
            &task.script,
            &task.decisions,
        );
        let outcome = match step {
            RunSubject::Rule(rule) => self.rule(&mut machine, rule, node),
            RunSubject::Claim(claim) => self.claim(&mut machine, claim, task),
        };
        let stars = machine.counted_stars;
        *scratch = machine.into_scratch();
        RunEnded { outcome, stars }
    }

    fn rule(&self, machine: &mut ViewMachine<'_, 'm>, rule: &'m Rule, node: &ViewNode) -> RunResult {
        self.fire(machine, rule)?;
        machine.settle_bits()?;
        let satisfied = machine.satisfied(&node.satisfied)?;
        let bits = machine.bits | self.whole.forgotten(&satisfied);
        let mut drawing = std::mem::take(&mut machine.drawing);
        let drawn = self.draw(machine.now(), bits, &self.whole, &mut drawing);
        machine.drawing = drawing;
        drawn
    }

    pub(crate) fn fire(&self, machine: &mut ViewMachine<'_, 'm>, rule: &'m Rule) -> RunResult {
        let disables = self.model.guard_faults == GuardFaults::Disable;
        let disabled = |stop: Stop| match stop {
            Stop::Fault(_) if disables => Stop::Dead,
            stop => stop,
        };
        machine.phase(0);
        machine.push(&rule.code.locals, None);
        for (at, param) in rule.params.iter().enumerate() {
            match param.domain {
                // The first is chosen before anything is run: see `openings`.
                Domain::Type(ty) if at > 0 && is_bound(rule, param.local) => {
                    machine.leave_open(param.local, ty);
                }
                Domain::Type(_) | Domain::Range { .. } | Domain::Slots(_) => {
                    let value = match machine.chosen() {
                        Some(value) => value,
                        None => {
                            let options = machine.options(&param.domain).map_err(disabled)?;
                            machine.choose(|_| options)?
                        }
                    };
                    machine.set(param.local, value);
                }
            }
        }
        machine.bind(&rule.bindings).map_err(disabled)?;
        if let Some(guard) = &rule.guard
            && !machine.truth(guard).map_err(disabled)?
        {
            return Err(Stop::Dead);
        }
        let settled: SmallVec<[Option<ViewScalar>; 4]> =
            rule.params.iter().map(|param| machine.settled(param.local)).collect();
        machine.pop();
        machine.phase(1);
        machine.push(&rule.code.locals, None);
        for (param, value) in rule.params.iter().zip(settled) {
            match (value, &param.domain) {
                (Some(value), _) => machine.set(param.local, value),
                (None, Domain::Type(ty)) => machine.leave_open(param.local, *ty),
                (None, Domain::Range { .. } | Domain::Slots(_)) => {
                    let what = "internal error: a parameter without a value".into();
                    return Err(Stop::lacking(what, rule.span));
                }
            }
        }
        machine.bind(&rule.bindings)?;
        machine.body(&rule.code.body)?;
        machine.pop();
        Ok(())
    }

    /// Whether a claim holds for what the script chooses. Where nothing but the parameters can matter, those that are
    /// elements of the view come first: there is a view for every choice of them.
    fn claim(&self, machine: &mut ViewMachine<'_, 'm>, claim: &ViewClaim<'m>, task: &RunTask) -> RunResult {
        machine.phase(0);
        machine.push(claim.locals, None);
        let plain = claim.depth.iter().all(|depth| *depth == 0);
        for (at, (local, ty)) in claim.params.iter().enumerate() {
            let value = machine.choose(|machine| {
                let options = machine.values_to_choose(*ty);
                let before = &task.script[..at.min(task.script.len())];
                if plain { self.narrowed(options, before) } else { options }
            })?;
            machine.set(*local, value);
        }
        let holds = machine.truth(claim.body)? != claim.negated;
        machine.pop();
        if holds {
            Ok(())
        } else {
            Err(Stop::Fault(Box::new(Fault {
                kind: FaultKind::Assertion(claim.property),
                span: claim.body.span,
            })))
        }
    }

    /// Of these values, those that are needed after the values before: an element that is not in the view only if all
    /// that are have been taken.
    fn narrowed(&self, options: Vec<ViewScalar>, before: &[ViewScalar]) -> Vec<ViewScalar> {
        let is_needed = |value: &ViewScalar| match value {
            ViewScalar::Star(sort, _) => {
                let at = sort.index();
                !mutant::is(Mutant::ClaimsOfOneView)
                    && (0..self.view[at])
                        .all(|element| before.contains(&ViewScalar::Elem(*sort, element as u32)))
            }
            _ => true,
        };
        options.into_iter().filter(is_needed).collect()
    }
}
