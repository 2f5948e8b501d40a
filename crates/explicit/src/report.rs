//! From something wrong at a representative to a violation on concrete states.

use shoal_code::{Halt, Layout, Machine, Program, Stepper};
use shoal_model::{
    DeadlockKind, During, Fault, Model, PropertyId, PropertyKind, Reason, RuleId, TypedId, Violation,
    internal,
};

use crate::{
    canon::Canon,
    shards::History,
    store::NONE,
    trace::{ConcreteRun, FindFault, Replayer},
};

/// Where something is wrong.
#[derive(Clone, Debug)]
pub(crate) enum Where {
    /// At a state of the store.
    At(u32),
    /// At a state that was not stored: the state before (or none), the rule (or start) that led there, and its
    /// packed representative.
    Dropped(u32, usize, Vec<u64>),
    /// At a state at this distance from a start, in a search that does not keep where states were reached from.
    State(u32, Vec<u64>),
    /// At the end of a path of packed representatives.
    Along(Vec<Vec<u64>>),
    /// At the end of a path: rules (a start first) and the packed representatives they led to.
    Path(Vec<(usize, Vec<u64>)>),
}

/// What is wrong.
#[derive(Clone, Debug)]
pub(crate) enum Problem {
    /// A condition is false.
    False,
    /// Nothing moves.
    Deadlock,
    /// A goal is out of reach.
    NotPossible,
    /// The guard of a rule faults.
    Guard(usize, Fault),
    /// The body of a rule faults.
    Body(usize, Fault),
    /// A property faults.
    Property(PropertyId, Fault),
}

impl Problem {
    /// The fault, if it is one.
    pub(crate) fn fault(&self) -> Option<&Fault> {
        match self {
            Problem::Guard(_, fault) | Problem::Body(_, fault) | Problem::Property(_, fault) => Some(fault),
            Problem::False | Problem::Deadlock | Problem::NotPossible => None,
        }
    }
}

/// Makes violations.
pub(crate) struct Reporter<'s, 'm> {
    replayer: Replayer<'s, 'm>,
}

impl<'s, 'm> Reporter<'s, 'm> {
    pub(crate) fn new(
        model: &'m Model,
        layout: &'m Layout,
        program: &'m Program,
        store: &'s dyn History,
        canon: Option<&'s mut Canon>,
    ) -> Self {
        Reporter { replayer: Replayer { model, layout, program, store, canon } }
    }

    /// The violation: a shortest trace, and the reason for the trace's last state.
    pub(crate) fn violation(&mut self, place: Where, problem: Problem) -> Violation {
        let run = match place {
            Where::At(number) => self.replayer.run_to(number, None),
            Where::Path(path) => self.replayer.run_along(path),
            Where::Along(path) => self.replayer.run_through(path),
            Where::State(..) => internal!("the way to a state is found before it is told"),
            Where::Dropped(NONE, start, words) => self.replayer.run_of_start(start, words),
            Where::Dropped(parent, rule, words) => self.replayer.run_to(parent, Some((rule, words))),
        };
        let reason = self.reason(problem, run.as_ref());
        Violation { reason, trace: run.map(|run| run.trace) }
    }

    fn reason(&mut self, problem: Problem, run: Option<&ConcreteRun>) -> Reason {
        match problem {
            Problem::False => Reason::ConditionFalse,
            Problem::Deadlock => Reason::Deadlock,
            Problem::NotPossible => Reason::NotPossible,
            Problem::Guard(rule, fault) => {
                let (args, _, fault) = self.find(rule, false, fault, run);
                Reason::Fault(During::Guard(RuleId::from_index(rule), args), fault)
            }
            Problem::Body(rule, fault) => {
                let (args, choices, fault) = self.find(rule, true, fault, run);
                Reason::Fault(During::Body(RuleId::from_index(rule), args, choices), fault)
            }
            Problem::Property(property, fault) => {
                let fault = self.again(property, run).unwrap_or(fault);
                Reason::Fault(During::Property(property), fault)
            }
        }
    }

    /// The instance that faults in the last state of the run.
    fn find(
        &mut self,
        rule: usize,
        in_body: bool,
        fault: Fault,
        run: Option<&ConcreteRun>,
    ) -> (Vec<shoal_model::Value>, Vec<shoal_model::Value>, Fault) {
        let Replayer { model, layout, program, .. } = self.replayer;
        let mut find =
            FindFault::new(model, self.replayer.canon.as_deref_mut(), program, rule, in_body, fault.clone());
        if let Some(run) = run {
            let _ = Stepper::new(model, layout, program).expand(&run.cells, &mut find);
        }
        find.found.unwrap_or((Vec::new(), Vec::new(), fault))
    }

    /// The fault of a property in the last state of the run: which part faults first may differ from what it
    /// was in the representative.
    fn again(&self, property: PropertyId, run: Option<&ConcreteRun>) -> Option<Fault> {
        let Replayer { model, program, .. } = self.replayer;
        let mut machine = Machine::new(program);
        machine.state_mut().copy_from_slice(&run?.cells);
        debug_assert!(!matches!(
            model.properties[property].kind,
            PropertyKind::Deadlock(DeadlockKind::Stuck | DeadlockKind::Stuttering)
        ));
        match machine.holds(program.condition(property)?) {
            Err(Halt::Fault(fault)) => Some(fault),
            Ok(_) | Err(Halt::Stopped) => None,
        }
    }
}
