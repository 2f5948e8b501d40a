//! What the properties say of a state that is new.

use shoal_code::{Halt, Layout, Machine, Pc, Program};
use shoal_model::PropertyId;

use crate::{
    kripke::ShardLabels,
    monitor::{MonitorKind, Monitors},
    report::Problem,
};

/// The properties that look at new states.
pub(crate) struct Watched {
    all: Vec<Watcher>,
    /// Their conditions, if there is nothing to be noticed of a state where they all hold.
    invariants: Option<Vec<Pc>>,
}

/// A property whose condition is evaluated in every new state.
struct Watcher {
    property: PropertyId,
    condition: Pc,
    /// Its place among the monitors and what it waits for, if it is not decided. One that is may still fault.
    open: Option<(usize, MonitorKind)>,
}

impl Watched {
    pub(crate) fn new(monitors: &Monitors) -> Watched {
        let faults_matter = monitors.faults_matter();
        let asked = monitors.all.iter().enumerate().filter_map(|(at, monitor)| {
            let (MonitorKind::Invariant(condition)
            | MonitorKind::Cover(condition)
            | MonitorKind::Possible(condition, _)) = monitor.watch
            else {
                return None;
            };
            let open = monitor.verdict.is_none().then_some((at, monitor.watch));
            let watcher = Watcher { property: monitor.property, condition, open };
            (open.is_some() || faults_matter).then_some(watcher)
        });
        let all: Vec<_> = asked.collect();
        let invariant = |watcher: &Watcher| match watcher.open {
            None | Some((_, MonitorKind::Invariant(_))) => Some(watcher.condition),
            Some(_) => None,
        };
        Watched { invariants: all.iter().map(invariant).collect(), all }
    }
}

/// Something that concerns a property, by its position among the monitors.
pub(crate) enum JudgedState {
    /// A condition that should hold does not, or cannot be evaluated.
    Wrong(usize, Problem),
    /// What is to be covered is.
    Covered(usize),
    /// A goal, by its own number, is reached.
    Goal(usize),
    /// A property faults, and that violates another: that nothing faults.
    Fault(usize, Problem),
}

/// Whether an assumption drops a state.
pub(crate) enum Dropped {
    No,
    Quietly,
    /// An assumption faults: the property that this concerns, if it is asked.
    Fault(Option<usize>, Problem),
}

/// Evaluates properties.
pub(crate) struct Judge<'m> {
    layout: &'m Layout,
    machine: Machine<'m>,
}

impl<'m> Judge<'m> {
    pub(crate) fn new(layout: &'m Layout, program: &'m Program) -> Judge<'m> {
        Judge { layout, machine: Machine::new(program) }
    }

    /// Whether an assumption drops a state.
    pub(crate) fn drops(&mut self, monitors: &Monitors, state: &[u64]) -> Dropped {
        if monitors.assumptions.is_empty() {
            return Dropped::No;
        }
        self.machine.begin_conditions(self.layout, state);
        for (property, pc) in &monitors.assumptions {
            match self.machine.holds(*pc) {
                Ok(true) => {}
                Ok(false) => return Dropped::Quietly,
                // What is not known to be dropped or not is not stored: the search ends.
                Err(Halt::Stopped) => return Dropped::Quietly,
                Err(Halt::Fault(fault)) => {
                    let at = monitors.of_fault(&fault.kind);
                    return Dropped::Fault(at, Problem::Property(*property, fault));
                }
            }
        }
        Dropped::No
    }

    /// Keeps which conditions hold in a new state, and which fault.
    pub(crate) fn label(&mut self, conditions: &[Pc], state: &[u64], number: u32, labels: &mut ShardLabels) {
        if conditions.is_empty() {
            return;
        }
        self.machine.begin_conditions(self.layout, state);
        for (at, pc) in conditions.iter().enumerate() {
            match self.machine.holds(*pc) {
                Ok(true) => labels.set(at),
                Ok(false) => {}
                Err(Halt::Fault(fault)) => labels.fault(at, number, fault),
                // The search ends, and from a state that is not expanded nothing is concluded.
                Err(Halt::Stopped) => return,
            }
        }
    }

    /// Looks at the properties of a new state.
    pub(crate) fn look_at(
        &mut self,
        monitors: &Monitors,
        watched: &Watched,
        state: &[u64],
        see: &mut dyn FnMut(JudgedState),
    ) {
        if watched.all.is_empty() {
            return;
        }
        let Judge { layout, machine } = self;
        if watched.invariants.as_ref().is_some_and(|it| machine.all_hold(layout, state, it)) {
            return;
        }
        machine.begin_conditions(layout, state);
        for Watcher { property, condition, open } in &watched.all {
            match (self.machine.holds(*condition), open) {
                (Ok(false), Some((at, MonitorKind::Invariant(_)))) => {
                    see(JudgedState::Wrong(*at, Problem::False))
                }
                (Ok(true), Some((at, MonitorKind::Cover(_)))) => see(JudgedState::Covered(*at)),
                (Ok(true), Some((_, MonitorKind::Possible(_, goal)))) => see(JudgedState::Goal(*goal)),
                (Ok(_), _) => {}
                (Err(Halt::Stopped), _) => return,
                (Err(Halt::Fault(fault)), open) => {
                    if let Some(at) = monitors.of_fault(&fault.kind) {
                        see(JudgedState::Fault(at, Problem::Property(*property, fault.clone())));
                    }
                    if let Some((at, MonitorKind::Invariant(_) | MonitorKind::Possible(..))) = open {
                        see(JudgedState::Wrong(*at, Problem::Property(*property, fault)));
                    }
                }
            }
        }
    }
}
