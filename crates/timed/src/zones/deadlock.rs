//! States in which nothing can happen any more, however long one waits.

use shoal_model::{DeadlockKind, Reason, Unsupported, Violation};

use super::{
    layout::unsupported,
    machine::{Machine, undone},
    search::Search,
    steps::Trouble,
    trace,
};
use crate::dbm::Zone;

/// A deadlock among the states of a zone, if there is one: what is left of it when every valuation is taken away from which
/// some step can be taken, now or later. Nothing is lumped here, so that every clock keeps its place.
pub(crate) fn find(
    search: &Search<'_>,
    at: usize,
    kind: &DeadlockKind,
) -> Result<Option<Violation>, Unsupported> {
    let steps = &search.steps;
    let state = &search.kept[at].state;
    let mut left = vec![state.zone.clone()];
    for rule in steps.model.rules.ids() {
        let mut able: Vec<Zone> = Vec::new();
        let fired = steps.fire(state, rule, true, &mut |machine| {
            // Before the step: the constraints that had to hold up to the first reset, and what must hold after it.
            if let Some(zone) = before(machine) {
                able.push(zone);
            }
        });
        match fired {
            Ok(()) => {}
            Err(Trouble::Unsupported(unsupported)) => return Err(unsupported),
            Err(Trouble::Wrong(_)) => return Ok(None),
        }
        for zone in able {
            left = left.iter().flat_map(|part| part.minus(&zone)).collect();
            if left.is_empty() {
                return Ok(None);
            }
        }
    }
    if let DeadlockKind::StuckUnless(condition) = kind {
        let mut machine = Machine::new(steps.model, &steps.layout, steps.counting, state.clone(), Vec::new());
        let ways = match machine.condition(condition, true) {
            Ok(ways) => ways,
            Err(_) => return unsupported("the condition of this deadlock", Some(condition.expr.span)),
        };
        for way in ways {
            let mut zone = Zone::universe(state.zone.dim() - 1);
            if zone.constrain_all(way) {
                left = left.iter().flat_map(|part| part.minus(&zone)).collect();
            }
        }
    }
    let Some(zone) = left.first() else { return Ok(None) };
    let (trace, rest) = trace::rebuild(search, at, &zone.constraints().collect::<Vec<_>>())?;
    Ok(Some(Violation { reason: Reason::Deadlock.after(rest), trace: Some(trace) }))
}

/// The valuations of a zone from which, after some time, a step can be taken.
fn before(machine: &mut Machine<'_>) -> Option<Zone> {
    let events = machine.events.clone().unwrap_or_default();
    let mut able = undone(&events, Zone::universe(machine.state.zone.dim() - 1))?;
    able.down();
    Some(able)
}
