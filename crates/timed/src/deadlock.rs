//! States in which nothing can happen any more, however long one waits.
//!
//! Of like elements it is enough to look at states in which all clocks of a class are equal. Where elements read no clocks
//! but their own and global ones, a deadlock stays one if all members of a class get the clocks of the member that lets the
//! least time pass: that member cannot do anything, as long as time may pass stays the same, and so do all others.

use shoal_dbm::{Bound, Constraint, Zone, undone};
use shoal_model::{
    Condition, DeadlockKind, Expr, ExprKind, Model, Node, Place, Projection, Reason, Root, Type, Violation,
    walk_code, walk_expr,
};
use shoal_tctl::TctlHalt;

use super::{
    layout::ZoneLayout,
    machine::ZoneMachine,
    search::ZoneSearch,
    state::ZoneState,
    steps::{RunEnd, ZoneSteps},
    trace,
};

/// A deadlock among the states of a zone, if there is one: what is left of it when every valuation is taken away from which
/// some step can be taken, now or later.
pub(crate) fn find(
    steps: &ZoneSteps<'_>,
    state: &ZoneState,
    kind: &DeadlockKind,
) -> Result<Option<Zone>, TctlHalt> {
    let mut left = stuck(steps, state)?;
    if let DeadlockKind::StuckUnless(condition) = kind {
        for way in steps.judge(state, condition, true)?.ways {
            let mut zone = Zone::universe(state.zone.dim() - 1);
            if zone.constrain_all(way) {
                left = left.iter().flat_map(|part| part.minus(&zone)).collect();
            }
        }
    }
    Ok(left.into_iter().next())
}

/// Shows a deadlock that was found among the states of a zone.
pub(crate) fn shown(search: &ZoneSearch<'_>, at: usize, zone: &Zone) -> Result<Violation, TctlHalt> {
    if search.steps.folds() {
        return Ok(Violation { reason: Reason::Deadlock, trace: None });
    }
    let (trace, rest) = trace::rebuild(search, at, &zone.constraints().collect::<Vec<_>>(), true)?;
    Ok(Violation { reason: Reason::Deadlock.after(rest), trace: Some(trace) })
}

/// Whether a state has a deadlock in which a condition holds.
pub(crate) fn covers(
    steps: &ZoneSteps<'_>,
    state: &ZoneState,
    condition: &Condition,
) -> Result<bool, TctlHalt> {
    let left = stuck(steps, state)?;
    let meets =
        |way: &Vec<Constraint>| left.iter().any(|zone| zone.clone().constrain_all(way.iter().copied()));
    Ok(!left.is_empty() && steps.judge(state, condition, true)?.ways.iter().any(meets))
}

/// The parts of a state's zone from which nothing can happen any more.
fn stuck(steps: &ZoneSteps<'_>, state: &ZoneState) -> Result<Vec<Zone>, TctlHalt> {
    let waits = steps.may_wait(state)?;
    let mut left: Vec<Zone> = all_equal(&steps.layout, state).into_iter().collect();
    for rule in steps.model.rules.ids() {
        let mut able: Vec<Zone> = Vec::new();
        // A step that faults leads nowhere, unless only a check fails.
        steps.fire(state, rule, true, &mut |machine, end| {
            let leads_on = match end {
                RunEnd::State => true,
                RunEnd::GuardFault(fault) | RunEnd::Fault(fault) => fault.kind.goes_on(),
            };
            if leads_on {
                able.extend(before(machine, state, waits));
            }
        })?;
        for zone in able {
            left = left.iter().flat_map(|part| part.minus(&zone)).collect();
            if left.is_empty() {
                return Ok(left);
            }
        }
    }
    Ok(left)
}

/// The part of a state's zone in which the clocks of the members of every class are equal.
fn all_equal(layout: &ZoneLayout, state: &ZoneState) -> Option<Zone> {
    let mut zone = state.zone.clone();
    for class in (0..state.classes.len()).filter(|class| state.classes[*class].shown() == 2) {
        let (first, second) = (state.clock_of(layout, class, 0), state.clock_of(layout, class, 1));
        for at in 0..second - first {
            let (left, right) = (first + at, second + at);
            let equal = [(left, right), (right, left)].map(|(left, right)| Constraint {
                left,
                right,
                bound: Bound::ZERO,
            });
            if !zone.constrain_all(equal) {
                return None;
            }
        }
    }
    Some(zone)
}

/// The valuations of a state's clocks from which a step can be taken; after some time, if it may pass.
fn before(machine: &mut ZoneMachine<'_>, state: &ZoneState, waits: bool) -> Option<Zone> {
    let events = machine.events.clone().unwrap_or_default();
    let mut able = undone(&events, Zone::universe(machine.state.zone.dim() - 1))?;
    if waits {
        able.down();
    }
    // Back to the clocks before a member was taken out of its class.
    let origin = |clock: usize| match &machine.origins {
        Some(origins) if clock > 0 => origins[clock - 1],
        _ => clock,
    };
    let mut zone = Zone::universe(state.zone.dim() - 1);
    for Constraint { left, right, bound } in able.constraints() {
        let (left, right) = (origin(left), origin(right));
        let possible = match left == right {
            true => bound >= Bound::ZERO,
            false => zone.constrain(Constraint { left, right, bound }),
        };
        if !possible {
            return None;
        }
    }
    Some(zone)
}

/// Whether elements read no clocks but their own and global ones, so that like elements can be counted.
pub(crate) fn can_lump(model: &Model) -> bool {
    let mut plain = true;
    let is_clock = |expr: &Expr| *model.kind(expr.ty) == Type::Clock;
    let of_local = |place: &Place| {
        let by_local = |projection: &Projection| match projection {
            Projection::Index(index) => matches!(
                &index.kind,
                ExprKind::Read(Place { root: Root::Local(_), path, .. }) if path.is_empty()
            ),
            _ => true,
        };
        place.path.iter().all(by_local)
    };
    let mut look = |node: Node<'_>| match node {
        Node::Expr(expr) => match &expr.kind {
            ExprKind::Quantified { body, .. } => walk_expr(body, &mut |inner| {
                plain &= !matches!(inner, Node::Expr(inner) if is_clock(inner));
            }),
            ExprKind::Read(place) if is_clock(expr) => plain &= of_local(place),
            _ => {}
        },
        Node::Stmt(_) | Node::Place(_) => {}
    };
    for rule in model.rules.iter() {
        rule.guard.iter().for_each(|guard| walk_expr(guard, &mut look));
        walk_code(&rule.code, &mut look);
    }
    let functions_read = model.functions.iter().any(|function| {
        let mut reads = false;
        walk_code(&function.code, &mut |node| reads |= matches!(node, Node::Expr(expr) if is_clock(expr)));
        reads
    });
    // With several elements in one step, each has clocks of its own.
    plain && !functions_read && model.rules.iter().all(|rule| rule.params.len() <= 1)
}
