//! What the properties say of a state that is new.

use shoal_code::{Halt, Layout, Machine, Pc, Program};
use shoal_model::PropertyId;

use crate::{
    monitor::{Monitors, Watch},
    report::Problem,
};

/// The properties that look at new states.
pub(crate) struct Watched {
    all: Vec<(usize, Watch, PropertyId, bool)>,
    /// Their conditions, if there is nothing to be noticed of a state where they all hold.
    invariants: Option<Vec<Pc>>,
}

impl Watched {
    pub(crate) fn new(monitors: &Monitors) -> Watched {
        let watched = monitors.all.iter().enumerate().filter_map(|(at, monitor)| {
            // A property that is decided may still fault.
            let decided = monitor.verdict.is_some();
            let looks = matches!(monitor.watch, Watch::Invariant(_) | Watch::Cover(_) | Watch::Possible(..));
            let matters = looks && (!decided || monitors.faults_matter());
            matters.then_some((at, monitor.watch, monitor.property, decided))
        });
        let all: Vec<_> = watched.collect();
        let invariant = |(_, watch, ..): &(usize, Watch, PropertyId, bool)| match watch {
            Watch::Invariant(pc) => Some(*pc),
            _ => None,
        };
        Watched { invariants: all.iter().map(invariant).collect(), all }
    }
}

/// Something that concerns a property, by its position among the monitors.
pub(crate) enum Seen {
    /// A condition that should hold does not.
    False(usize),
    /// What is to be covered is.
    Covered(usize),
    /// A goal, by its own number, is reached.
    Goal(usize),
    /// A property faults.
    Fault(usize, Problem),
}

/// Whether an assumption drops a state.
pub(crate) enum Dropped {
    No,
    Quietly,
    /// An assumption faults, and that concerns a property.
    Fault(usize, Problem),
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
                    return match monitors.of_fault(&fault.kind) {
                        Some(at) => Dropped::Fault(at, Problem::Property(*property, fault)),
                        None => Dropped::Quietly,
                    };
                }
            }
        }
        Dropped::No
    }

    /// Looks at the properties of a new state.
    pub(crate) fn look_at(
        &mut self,
        monitors: &Monitors,
        watched: &Watched,
        state: &[u64],
        see: &mut dyn FnMut(Seen),
    ) {
        if watched.all.is_empty() {
            return;
        }
        let Judge { layout, machine } = self;
        if watched.invariants.as_ref().is_some_and(|it| machine.all_hold(layout, state, it)) {
            return;
        }
        machine.begin_conditions(layout, state);
        for (at, watch, property, decided) in &watched.all {
            let (Watch::Invariant(pc) | Watch::Cover(pc) | Watch::Possible(pc, _)) = *watch else { continue };
            match (self.machine.holds(pc), watch) {
                (Ok(_), _) if *decided => {}
                (Ok(false), Watch::Invariant(_)) => see(Seen::False(*at)),
                (Ok(true), Watch::Cover(_)) => see(Seen::Covered(*at)),
                (Ok(true), Watch::Possible(_, goal)) => see(Seen::Goal(*goal)),
                (Ok(_), _) => {}
                (Err(Halt::Stopped), _) => return,
                (Err(Halt::Fault(fault)), _) => {
                    if let Some(at) = monitors.of_fault(&fault.kind) {
                        see(Seen::Fault(at, Problem::Property(*property, fault)));
                    }
                }
            }
        }
    }
}
