//! What is asked of a system: each property as sets of states.

use shoal_model::{Condition, DeadlockKind, Formula, Interval, Job, Logic, Model, PropertyId, PropertyKind};

use crate::{
    ctl::Ctl,
    dd::{Bdd, Dd, DdHalt, DdResult, lacks},
    encode::Trouble,
    sets::Sets,
    system::TransitionSystem,
    worlds::Worlds,
};

/// A property, and what must be found out to decide it.
pub struct PropertyQuestion {
    /// The property.
    pub property: PropertyId,
    /// What must be found out.
    pub ask: QuestionKind,
}

/// What must be found out.
pub enum QuestionKind {
    /// That none of these states is reached, and none of those either although assumptions drop them.
    Never(Sets, Bdd),
    /// That one of these is reached.
    Reached(Bdd),
    /// That one of these can be reached from everywhere; and where the condition for them faults.
    Possible(Bdd, Bdd),
    /// That a formula holds at the start; and where one of its conditions faults.
    Formula(Ctl, Bdd),
    /// Nothing.
    Given,
}

impl QuestionKind {
    /// Asks the same where some steps have states in their midst.
    fn skip(&mut self, midst: &Bdd) -> DdResult<()> {
        if midst.is_false() {
            return Ok(());
        }
        *self = match std::mem::replace(self, QuestionKind::Given) {
            QuestionKind::Never(bad, dropped) => {
                QuestionKind::Never(bad.minus(midst)?, dropped.minus(midst)?)
            }
            QuestionKind::Reached(goal) => QuestionKind::Reached(goal.minus(midst)?),
            QuestionKind::Possible(goal, faults) => {
                QuestionKind::Possible(goal.minus(midst)?, faults.minus(midst)?)
            }
            QuestionKind::Formula(formula, faults) => {
                QuestionKind::Formula(formula.serial(midst)?, faults.minus(midst)?)
            }
            QuestionKind::Given => QuestionKind::Given,
        };
        Ok(())
    }
}

/// Where a step fails, whatever is asked: nothing is seen of what is behind it.
pub struct Failures {
    /// The states with such a step.
    pub(crate) steps: Sets,
    /// The states that are dropped as an assumption faults.
    pub(crate) dropped: Bdd,
}

impl Failures {
    /// Those among trouble, before that has the faults of conditions.
    pub fn of(trouble: &Trouble, system: &TransitionSystem<'_>) -> DdResult<Failures> {
        let mut steps = Sets::default();
        trouble.faults.values().for_each(|of| steps.join(of));
        let mut dropped = system.dd.no();
        for of in trouble.dropped.values() {
            dropped = dropped.or(of)?;
        }
        // In the midst of a step nothing is asked.
        if !system.midst.is_false() {
            (steps, dropped) = (steps.minus(&system.midst)?, dropped.minus(&system.midst)?);
        }
        Ok(Failures { steps, dropped })
    }

    /// The states with a step that fails, and those that are dropped as an assumption faults.
    pub fn sets(&self, dd: &Dd) -> DdResult<(Bdd, Bdd)> {
        Ok((self.steps.whole(dd)?, self.dropped.clone()))
    }

    /// Whether there is one among some states, or the step into it.
    pub(crate) fn meet(&self, reached: &Bdd, system: &TransitionSystem<'_>) -> DdResult<bool> {
        if self.steps.meets(reached)? {
            return Ok(true);
        }
        match self.dropped.is_false() {
            true => Ok(false),
            false => self.dropped.meets(&system.image_all(reached)?.or(&system.refused)?),
        }
    }
}

/// The questions of a job. Faults in conditions are noted as trouble.
pub fn questions<'m>(
    worlds: &Worlds<'m>,
    model: &'m Model,
    system: &TransitionSystem<'_>,
    trouble: &mut Trouble,
    job: &Job,
) -> DdResult<Vec<PropertyQuestion>> {
    let everywhere = system.keep.minus(&system.midst)?;
    let mut asker = Asker { worlds, model, system, trouble, everywhere };
    let mut questions = Vec::new();
    for property in &job.properties {
        questions.push(PropertyQuestion { property: *property, ask: asker.ask(*property)? });
    }
    // Only now are all faults known.
    for question in &mut questions {
        let blamed = match model.properties[question.property].kind {
            PropertyKind::Assertion | PropertyKind::Bound => Some(question.property),
            PropertyKind::NoFaults => None,
            PropertyKind::Invariant(_)
            | PropertyKind::Deadlock(_)
            | PropertyKind::Assume(_)
            | PropertyKind::Cover(_)
            | PropertyKind::CoverDeadlock(_)
            | PropertyKind::AlwaysPossible(_)
            | PropertyKind::Temporal(..)
            | PropertyKind::Extreme(_)
            | PropertyKind::Unclear(_) => continue,
        };
        let faults = asker.trouble.faults.get(&blamed).cloned().unwrap_or_default();
        let dropped = asker.trouble.dropped.get(&blamed).cloned().unwrap_or_else(|| system.dd.no());
        question.ask = QuestionKind::Never(faults, dropped);
    }
    for question in &mut questions {
        question.ask.skip(&system.midst)?;
    }
    Ok(questions)
}

struct Asker<'q, 'm> {
    worlds: &'q Worlds<'m>,
    model: &'m Model,
    system: &'q TransitionSystem<'q>,
    trouble: &'q mut Trouble,
    /// The states of the model that no assumption drops.
    everywhere: Bdd,
}

impl<'m> Asker<'_, 'm> {
    fn ask(&mut self, id: PropertyId) -> DdResult<QuestionKind> {
        let property = &self.model.properties[id];
        let everywhere = self.everywhere.clone();
        Ok(match &property.kind {
            PropertyKind::Invariant(condition) => {
                let (holds, _) = self.condition(condition, &everywhere)?;
                // What cannot be evaluated does not hold.
                QuestionKind::Never(everywhere.minus(&holds)?.into(), self.system.dd.no())
            }
            PropertyKind::Deadlock(kind) => {
                let moving = match kind {
                    DeadlockKind::Stuttering => &self.system.changes,
                    DeadlockKind::Stuck | DeadlockKind::StuckUnless(_) => &self.system.progress,
                    DeadlockKind::Timelock => return lacks("timelocks", property.span),
                };
                let mut stuck = moving.taken_from(&everywhere)?.minus(&self.trouble.guards)?;
                if let DeadlockKind::StuckUnless(condition) = kind {
                    let (holds, _) = self.condition(condition, &stuck)?;
                    stuck = stuck.minus(&holds)?;
                }
                QuestionKind::Never(stuck.into(), self.system.dd.no())
            }
            PropertyKind::Cover(Some(condition)) => {
                QuestionKind::Reached(self.condition(condition, &everywhere)?.0)
            }
            PropertyKind::CoverDeadlock(condition) => {
                let stuck = self.system.progress.taken_from(&everywhere)?.minus(&self.trouble.guards)?;
                QuestionKind::Reached(self.condition(condition, &stuck)?.0)
            }
            PropertyKind::Cover(None) => {
                let covered = self.trouble.covered.get(&id).cloned();
                QuestionKind::Reached(covered.unwrap_or_else(|| self.system.dd.no()))
            }
            PropertyKind::AlwaysPossible(condition) => {
                let (holds, faults) = self.condition(condition, &everywhere)?;
                QuestionKind::Possible(holds, faults)
            }
            PropertyKind::Temporal(Logic::Ctl, formula) => {
                let mut faults = self.fairness_faults()?;
                let formula = self.formula(formula, &mut faults)?;
                QuestionKind::Formula(formula, faults)
            }
            PropertyKind::Extreme(_) => return lacks(property.kind.asks().words(), property.span),
            PropertyKind::Unclear(why) => return lacks(why.as_str(), property.span),
            PropertyKind::Temporal(Logic::Ltl, _) => return lacks("formulas of linear time", property.span),
            PropertyKind::Temporal(Logic::Tctl, _) => {
                return lacks("formulas with bounds on time", property.span);
            }
            PropertyKind::Assertion
            | PropertyKind::Bound
            | PropertyKind::NoFaults
            | PropertyKind::Assume(_) => QuestionKind::Given,
        })
    }

    /// Where a condition holds, and where it faults.
    fn condition(&mut self, condition: &'m Condition, within: &Bdd) -> DdResult<(Bdd, Bdd)> {
        let said = self.worlds.ask(condition, within)?;
        self.trouble.add(&said.faults, within)?;
        Ok((said.holds, said.dead))
    }

    /// Where a fairness constraint faults: which runs are fair is not known then, so every formula is violated there.
    fn fairness_faults(&mut self) -> DdResult<Bdd> {
        let mut faults = self.system.dd.no();
        for condition in &self.model.fairness {
            faults = faults.or(&self.worlds.ask(condition, &self.everywhere)?.dead)?;
        }
        Ok(faults)
    }

    /// The formula with sets of states for its conditions, and where those fault.
    fn formula(&mut self, formula: &'m Formula, faults: &mut Bdd) -> DdResult<Ctl> {
        let unbounded = |interval: &Interval| *interval == Interval::default();
        Ok(match formula {
            Formula::Atom(condition) => {
                let said = self.worlds.ask(condition, &self.everywhere)?;
                *faults = faults.or(&said.dead)?;
                Ctl::Atom(said.holds)
            }
            Formula::Not(of) => Ctl::Not(Box::new(self.formula(of, faults)?)),
            Formula::And(of) => {
                Ctl::And(of.iter().map(|of| self.formula(of, faults)).collect::<DdResult<_>>()?)
            }
            Formula::Or(of) => {
                Ctl::Or(of.iter().map(|of| self.formula(of, faults)).collect::<DdResult<_>>()?)
            }
            Formula::AllPaths(path) | Formula::SomePath(path) => {
                let all = matches!(formula, Formula::AllPaths(_));
                match path.as_ref() {
                    Formula::Next(of) => Ctl::next(all, self.formula(of, faults)?),
                    Formula::Always(interval, of) if unbounded(interval) => {
                        Ctl::always(all, self.formula(of, faults)?)
                    }
                    Formula::Eventually(interval, of) if unbounded(interval) => {
                        Ctl::eventually(all, self.formula(of, faults)?)
                    }
                    Formula::Until(interval, a, b) if unbounded(interval) => {
                        Ctl::until(all, self.formula(a, faults)?, self.formula(b, faults)?)
                    }
                    Formula::Release(interval, a, b) if unbounded(interval) => {
                        Ctl::release(all, self.formula(a, faults)?, self.formula(b, faults)?)
                    }
                    _ => return self.not_ctl(),
                }
            }
            _ => return self.not_ctl(),
        })
    }

    fn not_ctl<T>(&self) -> DdResult<T> {
        Err(DdHalt::Lacks { construct: "a formula that is not of branching time".into(), span: None })
    }
}
