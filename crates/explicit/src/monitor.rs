//! The properties of a job while the search runs.

use shoal_code::{Pc, Program};
use shoal_model::{DeadlockKind, FaultKind, Job, Model, PropertyId, PropertyKind, TypedId, Verdict};

/// A property that is to be decided.
pub(crate) struct Monitor {
    pub(crate) property: PropertyId,
    pub(crate) watch: MonitorKind,
    /// Whether it is a property that is to be decided; else it is [`Watch::Failing`].
    pub(crate) is_asked: bool,
    /// What is known already.
    pub(crate) verdict: Option<Verdict>,
}

/// What to look at.
#[derive(Clone, Copy, Debug)]
pub(crate) enum MonitorKind {
    /// A condition in every new state.
    Invariant(Pc),
    /// Faults of its own, or all others.
    Faults,
    /// States where nothing moves.
    Deadlock(Stuck),
    /// A condition in every new state, until it holds.
    Cover(Pc),
    /// A condition in every state where nothing can happen, until it holds.
    CoverDeadlock(Pc),
    /// Checks in steps.
    CoverCheck,
    /// A condition in every new state, and a pass over all steps in the end.
    Possible(Pc, usize),
    /// Steps and starts that fail, and assumptions that do, asked or not: decided once there is one. Nothing is done for its sake.
    Failing,
    /// Nothing: it is taken for granted.
    Given,
    /// Nothing, as it cannot be decided here: no verdict comes of it.
    Never,
}

/// When a state is a deadlock.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Stuck {
    /// Nothing can happen.
    Fully,
    /// Nothing that can happen changes the state.
    Stuttering,
    /// Nothing can happen and the condition does not hold.
    Unless(Pc),
}

/// All properties of a job, and last whether a step fails.
pub(crate) struct Monitors {
    pub(crate) all: Vec<Monitor>,
    /// The conditions of the model's assumptions.
    pub(crate) assumptions: Vec<(PropertyId, Pc)>,
    /// The property that faults violate, if it is asked for.
    no_faults: Option<usize>,
    /// How many properties want to know what can be reached from where.
    pub(crate) goals: usize,
}

impl Monitors {
    pub(crate) fn new(model: &Model, program: &Program, job: &Job) -> Monitors {
        let mut goals = 0;
        let mut watch = |property: PropertyId| {
            let condition = program.condition(property);
            match (&model.properties[property].kind, condition) {
                (PropertyKind::Invariant(_), Some(pc)) => MonitorKind::Invariant(pc),
                (PropertyKind::Assertion | PropertyKind::Bound | PropertyKind::NoFaults, _) => {
                    MonitorKind::Faults
                }
                (PropertyKind::Deadlock(DeadlockKind::Stuck), _) => MonitorKind::Deadlock(Stuck::Fully),
                (PropertyKind::Deadlock(DeadlockKind::Stuttering), _) => {
                    MonitorKind::Deadlock(Stuck::Stuttering)
                }
                (PropertyKind::Deadlock(DeadlockKind::StuckUnless(_)), Some(pc)) => {
                    MonitorKind::Deadlock(Stuck::Unless(pc))
                }
                (PropertyKind::Cover(Some(_)), Some(pc)) => MonitorKind::Cover(pc),
                (PropertyKind::CoverDeadlock(_), Some(pc)) => MonitorKind::CoverDeadlock(pc),
                (PropertyKind::Cover(_), _) => MonitorKind::CoverCheck,
                (PropertyKind::AlwaysPossible(_), Some(pc)) => {
                    goals += 1;
                    MonitorKind::Possible(pc, goals - 1)
                }
                (PropertyKind::Assume(_), _) => MonitorKind::Given,
                // Refused before (`support`), or without the condition that they are compiled to.
                (
                    PropertyKind::Invariant(_)
                    | PropertyKind::Deadlock(DeadlockKind::StuckUnless(_) | DeadlockKind::Timelock)
                    | PropertyKind::AlwaysPossible(_)
                    | PropertyKind::CoverDeadlock(_)
                    | PropertyKind::Temporal(..)
                    | PropertyKind::Extreme(_)
                    | PropertyKind::Unclear(_),
                    _,
                ) => MonitorKind::Never,
            }
        };
        let monitor = |property: &PropertyId| Monitor {
            property: *property,
            watch: watch(*property),
            is_asked: true,
            verdict: None,
        };
        let mut all: Vec<Monitor> = job.properties.iter().map(monitor).collect();
        // No property has this number.
        let property = PropertyId::from_index(model.properties.len());
        all.push(Monitor { property, watch: MonitorKind::Failing, is_asked: false, verdict: None });
        let assumptions = model.properties.enumerate().filter_map(|(id, property)| match property.kind {
            PropertyKind::Assume(Some(_)) => program.condition(id).map(|pc| (id, pc)),
            _ => None,
        });
        let no_faults = model.properties.enumerate().find(|(_, it)| it.kind == PropertyKind::NoFaults);
        let no_faults = no_faults.and_then(|(id, _)| all.iter().position(|it| it.property == id));
        Monitors { all, assumptions: assumptions.collect(), no_faults, goals }
    }

    /// The undecided property that a fault violates.
    pub(crate) fn of_fault(&self, kind: &FaultKind) -> Option<usize> {
        let at = match kind {
            // The search begins anew with more room, or ends without an answer.
            FaultKind::SortLimit => None,
            FaultKind::Assertion(property) => self.all.iter().position(|it| it.property == *property),
            _ => self.no_faults,
        };
        at.filter(|at| self.all[*at].verdict.is_none())
    }

    /// Where it is noted that a step fails, if that is not known yet.
    pub(crate) fn of_failing(&self, kind: &FaultKind) -> Option<usize> {
        // The search begins anew with more room, or ends without an answer.
        if *kind == FaultKind::SortLimit {
            return None;
        }
        let last = self.all.len() - 1;
        self.all[last].verdict.is_none().then_some(last)
    }

    /// Whether a step is known to fail.
    pub(crate) fn fails(&self) -> bool {
        self.all.iter().any(|it| matches!(it.watch, MonitorKind::Failing) && it.verdict.is_some())
    }

    /// Whether faults other than failed assertions are asked for and none was found yet.
    pub(crate) fn faults_matter(&self) -> bool {
        self.no_faults.is_some_and(|at| self.all[at].verdict.is_none())
    }

    /// Whether the search cannot tell anything any more. One of which nothing is asked goes on to its end.
    pub(crate) fn all_decided(&self) -> bool {
        self.asked().next().is_some() && self.nothing_is_open()
    }

    /// Whether all that is asked is decided.
    pub(crate) fn nothing_is_open(&self) -> bool {
        self.asked().all(|it| it.verdict.is_some())
    }

    fn asked(&self) -> impl Iterator<Item = &Monitor> {
        self.all.iter().filter(|it| it.is_asked && !matches!(it.watch, MonitorKind::Given))
    }
}
