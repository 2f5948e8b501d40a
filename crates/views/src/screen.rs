//! Guards that are false whoever takes the step.
//!
//! `msg[p].cmd = Get & !busy` is false for everybody while `busy`, and then there is no use in asking who `p` could be. That
//! `msg[p].cmd` may fault before `busy` is read is seen where `p` is an element of the view: every element is in some view
//! of the same state, together with the other parameters that are read before, if there are no more of them than a view
//! shows. So where such a condition is false, only elements of the view are taken for parameters.

use shoal_model::{Domain, Expr, LocalId, Model, Rule, TypedId};

use crate::{
    cell::ViewScalar,
    machine::{Scratch, ViewMachine},
    structure::Structure,
    system::OpenSystem,
};

/// The conditions of a guard that depend on no element, as far as nothing before them asks for more than a view shows.
#[derive(Debug, Default)]
pub(crate) struct Screen<'m>(Vec<&'m Expr>);

impl<'m> OpenSystem<'m> {
    pub(crate) fn find_screens(&mut self) {
        let model: &'m Model = self.model;
        for rule in model.rules.iter() {
            let screen = self.screen(rule);
            if !screen.0.is_empty() {
                self.screens.insert(rule as *const Rule as usize, screen);
            }
        }
    }

    fn screen(&self, rule: &'m Rule) -> Screen<'m> {
        let mut screen = Screen::default();
        // What is evaluated before the guard may fault as well.
        let is_plain = rule.bindings.is_empty()
            && rule.params.iter().all(|param| matches!(param.domain, Domain::Type(_)));
        let (Some(guard), true) = (&rule.guard, is_plain) else { return screen };
        let mut met: Vec<LocalId> = Vec::new();
        for part in guard.conjuncts() {
            if self.is_closed(part, &|_| false, &mut Vec::new()) {
                screen.0.push(part);
                continue;
            }
            for param in &rule.params {
                let is_other = |local: LocalId| local != param.local;
                if !met.contains(&param.local) && !self.is_closed(part, &is_other, &mut Vec::new()) {
                    met.push(param.local);
                }
            }
            if !self.is_closed(part, &|local| met.contains(&local), &mut Vec::new()) || !self.fit(rule, &met)
            {
                break;
            }
        }
        screen
    }

    /// Whether a view can show all these parameters at once.
    fn fit(&self, rule: &Rule, met: &[LocalId]) -> bool {
        let of = |sort: usize| {
            let is_of = |local: &&LocalId| {
                let sorts = self.model.sorts_of(rule.code.locals[**local].ty);
                sorts.iter().any(|it| it.index() == sort)
            };
            met.iter().filter(is_of).count()
        };
        (0..self.any.len()).all(|sort| !self.any[sort] || of(sort) <= self.view[sort])
    }

    /// Whether the guard of a rule is false here for whoever is a parameter.
    pub(crate) fn is_screened(
        &self,
        scratch: &mut Scratch<'m>,
        rule: &'m Rule,
        structure: &Structure,
    ) -> bool {
        let Some(Screen(parts)) = self.screens.get(&(rule as *const Rule as usize)) else { return false };
        let room = std::mem::take(scratch);
        let mut machine = ViewMachine::new(self, room, structure, &structure.stars, &[], &[]);
        machine.push_blank(&rule.code.locals);
        // What comes after a part that stops is not reached.
        let decided = parts.iter().map(|part| machine.truth(part)).find(|truth| !matches!(truth, Ok(true)));
        *scratch = machine.into_scratch();
        matches!(decided, Some(Ok(false)))
    }

    /// Whether a parameter of a rule that is screened may be this one.
    pub(crate) fn is_shown(&self, value: &ViewScalar) -> bool {
        !matches!(value, ViewScalar::Star(sort, _) if self.view[sort.index()] > 0)
    }
}
