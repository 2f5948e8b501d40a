//! What there is to see in a state: what it says of the properties, and where its steps lead. Any thread can look.

use shoal_dbm::{Constraint, Zone};
use shoal_model::{
    Condition, Fault, FaultKind, Job, Model, PropertyId, PropertyKind, RuleId, TypedId, Verdict,
};
use shoal_tctl::{TctlHalt, unsupported};

use super::{ZoneSearch, kept::ReachedZone};
use crate::{deadlock, state::ZoneState, steps::RunEnd, trace};

/// A step that faults: of which rule, the so many-th of those that do.
pub(crate) struct Faulting {
    pub(crate) rule: RuleId,
    pub(crate) nth: usize,
    pub(crate) kind: FaultKind,
}

/// Something that a state says of a property of the job: which, by its place.
pub(super) struct ZoneSight {
    pub(super) position: usize,
    pub(super) what: ZoneSightKind,
}

pub(super) enum ZoneSightKind {
    /// The condition is as it should not be, or as it should be for a cover, where these constraints hold.
    Way(Vec<Constraint>),
    /// The condition faults there.
    Fault(Fault, Vec<Constraint>),
    /// There is a deadlock.
    Deadlock(Zone),
    /// There is one that was asked for.
    CoversDeadlock,
}

/// The steps of a state.
#[derive(Default)]
pub(super) struct SeenSteps {
    /// How many of each rule.
    pub(super) fired: Vec<(RuleId, u64)>,
    /// Where they lead, as far as that was not known: with the numbers of the steps.
    pub(super) reached: Vec<(RuleId, usize, ReachedZone)>,
    pub(super) faults: Vec<Faulting>,
    /// Why there may be more of them.
    pub(super) halt: Option<TctlHalt>,
}

impl SeenSteps {
    /// About how much memory it takes.
    pub(super) fn bytes(&self) -> u64 {
        self.reached.iter().map(|(_, _, reached)| reached.bytes()).sum()
    }
}

/// A look at a state.
pub(super) struct ZoneLook {
    /// What it says of properties that were not decided then.
    pub(super) sights: Result<Vec<ZoneSight>, TctlHalt>,
    pub(super) seen: SeenSteps,
}

impl ZoneLook {
    /// Whether it is not complete.
    pub(super) fn is_cut(&self) -> bool {
        self.sights.is_err() || self.seen.halt.is_some()
    }
}

/// The place of the undecided property that a fault violates: its own if it is an assertion's, else that nothing faults.
pub(super) fn blamed(
    model: &Model,
    job: &Job,
    kind: &FaultKind,
    results: &[Option<Verdict>],
) -> Option<usize> {
    let answers = |id: &PropertyId| match kind {
        FaultKind::Assertion(property) => id == property,
        _ => model.properties[*id].kind == PropertyKind::NoFaults,
    };
    job.properties.iter().position(answers).filter(|position| results[*position].is_none())
}

/// Whether it is asked that nothing faults, and not decided.
fn asks_faults(model: &Model, job: &Job, results: &[Option<Verdict>]) -> bool {
    let asks = |id: &PropertyId| model.properties[*id].kind == PropertyKind::NoFaults;
    job.properties.iter().position(asks).is_some_and(|position| results[position].is_none())
}

impl ZoneSearch<'_> {
    /// Looks at a kept state.
    pub(super) fn look(&self, at: usize, job: &Job) -> ZoneLook {
        let mut look = ZoneLook { sights: self.sights(at, job), seen: SeenSteps::default() };
        self.see(at, &mut look.seen);
        look
    }

    /// What a kept state says of the properties.
    pub(super) fn sights(&self, at: usize, job: &Job) -> Result<Vec<ZoneSight>, TctlHalt> {
        let state = &self.kept[at].state;
        let mut sights = Vec::new();
        for (position, property) in job.properties.iter().enumerate() {
            let kind = &self.steps.model.properties[*property].kind;
            // What is decided may still fault.
            let faults_matter = matches!(kind, PropertyKind::Invariant(_) | PropertyKind::Cover(Some(_)))
                && asks_faults(self.steps.model, job, &self.results);
            if self.results[position].is_some() && !faults_matter {
                continue;
            }
            let what = match kind {
                PropertyKind::Invariant(condition) => self.in_state(state, condition, false)?,
                PropertyKind::Cover(Some(condition)) => self.in_state(state, condition, true)?,
                PropertyKind::Deadlock(kind) => {
                    let deadlock = deadlock::find(&self.steps, state, kind)?;
                    deadlock.into_iter().map(ZoneSightKind::Deadlock).collect()
                }
                PropertyKind::CoverDeadlock(condition) => {
                    let covers = deadlock::covers(&self.steps, state, condition)?;
                    covers.then_some(ZoneSightKind::CoversDeadlock).into_iter().collect()
                }
                PropertyKind::NoFaults
                | PropertyKind::Assertion
                | PropertyKind::Bound
                | PropertyKind::Assume(_) => continue,
                PropertyKind::Extreme(_)
                | PropertyKind::Unclear(_)
                | PropertyKind::Cover(None)
                | PropertyKind::AlwaysPossible(_)
                | PropertyKind::Temporal(..) => {
                    return unsupported("this property among those of single states", None);
                }
            };
            sights.extend(what.into_iter().map(|what| ZoneSight { position, what }));
        }
        Ok(sights)
    }

    /// Where in a state a condition is true, or false, and where it faults: the first of each.
    fn in_state(
        &self,
        state: &ZoneState,
        condition: &Condition,
        wanted: bool,
    ) -> Result<Vec<ZoneSightKind>, TctlHalt> {
        let judged = self.steps.judge(state, condition, wanted)?;
        let possible =
            |way: &[Constraint]| way.is_empty() || state.zone.clone().constrain_all(way.iter().copied());
        let way = judged.ways.into_iter().find(|way| possible(way)).map(ZoneSightKind::Way);
        let fault = judged.faults.into_iter().find(|(_, way)| possible(way));
        Ok(way.into_iter().chain(fault.map(|(fault, way)| ZoneSightKind::Fault(fault, way))).collect())
    }

    /// Takes all steps of a kept state.
    pub(super) fn see(&self, at: usize, seen: &mut SeenSteps) {
        let mut rules = self.steps.model.rules.ids();
        seen.halt = rules.find_map(|rule| self.see_rule(at, rule, seen).err());
    }

    /// Takes all steps of a rule.
    fn see_rule(&self, at: usize, rule: RuleId, seen: &mut SeenSteps) -> Result<(), TctlHalt> {
        let (mut steps, mut faults, mut ended) = (0, 0, Ok(()));
        self.steps.fire(&self.kept[at].state, rule, false, &mut |machine, end| match end {
            RunEnd::State if ended.is_ok() => match self.steps.settled(machine.state.take()) {
                Ok(state) => {
                    let reached = self.kept.look_up(state);
                    let step = trace::ordinal(rule.index(), steps);
                    seen.reached.extend(reached.map(|reached| (rule, step, reached)));
                    steps += 1;
                }
                Err(halt) => ended = Err(halt),
            },
            RunEnd::State => {}
            RunEnd::GuardFault(fault) | RunEnd::Fault(fault) => {
                seen.faults.push(Faulting { rule, nth: faults, kind: fault.kind });
                faults += 1;
            }
        })?;
        if steps > 0 {
            seen.fired.push((rule, steps as u64));
        }
        ended
    }
}
