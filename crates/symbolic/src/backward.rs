//! Backwards: from what must not happen to what leads there, until a start is among it or nothing more leads there.
//!
//! Nothing is known of which states can be reached, so the sets may hold many that cannot. It pays where few steps lead to
//! what is wrong; it ends after as many rounds as the shortest trace has steps.

use shoal_model::{Failing, PropertyResult, Reason, StopReason, Verdict, Violation};

use crate::{
    dd::{Bdd, DdHalt, DdResult},
    decide::{BitRun, QuestionAnswer, QuestionDecider, Why},
    question::{PropertyQuestion, QuestionKind},
    system::TransitionSystem,
};

/// What lies behind a set of states.
struct Behind {
    /// The states from which so many steps lead into the set, and no fewer: the set itself first.
    rings: Vec<Bdd>,
    all: Bdd,
    /// The starts among the last ring.
    starts: Bdd,
}

impl QuestionDecider<'_, '_> {
    /// Decides questions about reachability, each from its end. `states` are those whose bits mean something.
    pub(crate) fn backward(
        &mut self,
        questions: &[PropertyQuestion],
        states: &Bdd,
    ) -> DdResult<QuestionAnswer> {
        let states = states.and(&self.system.keep)?;
        let (mut reached, mut depth, mut halted) = (self.system.dd.no(), 0, None);
        let mut results = Vec::new();
        for question in questions {
            let verdict = match &halted {
                Some(halt) => Ok(Verdict::Unknown(self.why(Some(halt)))),
                None => self.decide_backward(question, &states, &mut reached, &mut depth),
            };
            let verdict = match verdict {
                Ok(verdict) => verdict,
                Err(lacks @ DdHalt::Lacks { .. }) => return Err(lacks),
                Err(halt) => {
                    let verdict = Verdict::Unknown(self.why(Some(&halt)));
                    halted = Some(halt);
                    verdict
                }
            };
            results.push(PropertyResult { property: question.property, verdict });
        }
        // Where something wrong is shown nothing rests on it, and it may take longer than what was asked.
        let of_all = |result: &PropertyResult| match &result.verdict {
            Verdict::Holds => true,
            Verdict::Violated(violation) => violation.reason == Reason::NeverCovered,
            Verdict::Unknown(_) => false,
        };
        let failing = match results.iter().any(of_all) {
            true => self.failing_backward(&states),
            false => Failing::Nothing,
        };
        // Which states can be reached is not known even if every question is answered.
        Ok(QuestionAnswer { results, reached, complete: false, failing, depth: Some(depth) })
    }

    /// Whether a step fails that can be reached: a question of its own here.
    fn failing_backward(&mut self, states: &Bdd) -> Failing {
        if !self.failures.dropped.is_false() {
            let construct = "assumptions that may fault, in a search backwards";
            return Failing::Open(None, StopReason::Unsupported(construct.into()));
        }
        let goal = self.failures.steps.and(&self.system.dd, states);
        match goal.and_then(|goal| self.behind(goal, states)) {
            Ok(behind) if behind.starts.is_false() => Failing::Nothing,
            Ok(_) => Failing::Step,
            Err(halt) => Failing::Open(None, self.why(Some(&halt))),
        }
    }

    fn decide_backward(
        &mut self,
        question: &PropertyQuestion,
        states: &Bdd,
        reached: &mut Bdd,
        depth: &mut u64,
    ) -> DdResult<Verdict> {
        let dd = &self.system.dd;
        let lacks = |construct: &str| Err(DdHalt::Lacks { construct: construct.into(), span: None });
        let goal = match &question.ask {
            QuestionKind::Given => return Ok(Verdict::Holds),
            QuestionKind::Never(bad, dropped) if dropped.is_false() => bad.and(dd, states)?,
            QuestionKind::Never(..) => return lacks("assumptions that may fault, in a search backwards"),
            QuestionKind::Reached(goal) => goal.and(states)?,
            QuestionKind::Possible(..) | QuestionKind::Formula(..) => {
                return lacks("formulas of time, in a search backwards");
            }
        };
        let behind = self.behind(goal, states)?;
        *depth = (*depth).max(behind.rings.len() as u64 - 1);
        *reached = reached.or(&behind.all)?;
        let found = !behind.starts.is_false();
        match (&question.ask, found) {
            (QuestionKind::Reached(_), false) => {
                Ok(Verdict::Violated(Box::new(Violation { reason: Reason::NeverCovered, trace: None })))
            }
            (QuestionKind::Reached(_), true) | (_, false) => Ok(Verdict::Holds),
            (_, true) => {
                let run = forth(self.system, &behind)?;
                let violation = self.lift.violation(question.property, &run, Why::Bad)?;
                self.watch.tell(question.property, &violation);
                Ok(Verdict::Violated(Box::new(violation)))
            }
        }
    }

    /// Goes back from a set until a start is found, or nothing new.
    fn behind(&mut self, goal: Bdd, states: &Bdd) -> DdResult<Behind> {
        let mut behind =
            Behind { all: goal.clone(), starts: self.system.init.and(&goal)?, rings: vec![goal] };
        loop {
            let ring = &behind.rings[behind.rings.len() - 1];
            if ring.is_false() || !behind.starts.is_false() {
                return Ok(behind);
            }
            let mut new = self.system.dd.no();
            for relation in self.system.relations()? {
                self.watch.look(&self.system.dd)?;
                new = new.or(&relation.preimage(ring, states)?)?;
            }
            let new = new.minus(&behind.all)?;
            behind.starts = self.system.init.and(&new)?;
            behind.all = behind.all.or(&new)?;
            behind.rings.push(new);
        }
    }
}

/// From a start through the rings to the set.
fn forth(system: &TransitionSystem<'_>, behind: &Behind) -> DdResult<BitRun> {
    let mut states: Vec<Vec<bool>> = system.pick(&behind.starts).into_iter().collect();
    for ring in behind.rings[..behind.rings.len() - 1].iter().rev() {
        let Some(last) = states.last() else { break };
        let next = system.image(&system.state(last)?)?.and(ring)?;
        states.extend(system.pick(&next));
    }
    Ok(BitRun { states, loops_to: None })
}
