//! Partial order reduction: when not all orders of independent steps are needed.
//!
//! Where an agent may go first, its steps are an ample set: whatever the others do meanwhile, they could as well do
//! afterwards. That keeps deadlocks, and faults in steps, as long as no step of the others is put off for ever. What
//! looks at states needs more: that the steps left for later go unseen.
//!
//! That nothing is put off for ever is seen to in one of two ways. Breadth first, the steps of one agent suffice if one of
//! them leads to a state that is still to be expanded: then the rest is put off to a state that comes later, and there is
//! a last one (Bosnacki and Holzmann, for safety). Otherwise, and for formulas, agents do not go first at locations that
//! cut all loops of such steps, so that every cycle has a state with all steps (Kurshan and others).
//!
//! A model without agents has only instances of rules. If it is asked for, an analysis finds out which of them are
//! independent of each other, and the steps of a stubborn set of them are taken, where one leads to a state that is still to
//! be expanded (ADR 13).

use std::collections::BTreeSet;

use shoal_analysis::{FieldPath, unseen};
use shoal_code::{Program, Steps};
use shoal_model::{
    Condition, DeadlockKind, Formula, Job, Model, Order, PartialOrder, Parts, PropertyId, PropertyKind,
    Reduction, Storage,
};

/// The parts of a model without agents among which stubborn sets are looked for, if that is asked for; or why there are
/// none. These slots may be undefined, or all.
pub(crate) fn parts(
    model: &Model,
    job: &Job,
    blank: Option<&BTreeSet<FieldPath>>,
) -> Option<Result<Parts, &'static str>> {
    let asked = job.strategy.partial_order == PartialOrder::Stubborn && model.agents.is_empty();
    asked.then(|| {
        if job.strategy.order != Order::BreadthFirst {
            return Err("the search is not breadth first");
        }
        if job.strategy.storage != Storage::Exact {
            return Err("states are not stored as they are");
        }
        shoal_analysis::parts(model, &seen_by(model, &job.properties, true)?, blank)
    })
}

/// Which steps are enough to decide the properties of a job that are not temporal.
/// Who searches with others, or on disk, cannot ask while it expands a state whether another was seen.
pub(crate) fn for_search(model: &Model, job: &Job, is_apart: bool, program: &mut Program) -> Steps {
    if program.has_parts() {
        return Steps::Stubborn;
    }
    let walks = matches!(job.strategy.order, Order::Walk { .. });
    if job.strategy.partial_order == PartialOrder::Off || walks || !program.has_order() {
        return Steps::All;
    }
    let Ok(conditions) = seen_by(model, &job.properties, false) else { return Steps::All };
    match restrict(model, &conditions, program) {
        false => Steps::All,
        true if is_apart => Steps::AmpleOutsideLoops,
        true if (job.strategy.order, job.strategy.storage) == (Order::BreadthFirst, Storage::Exact) => {
            Steps::Ample
        }
        true => Steps::AmpleOutsideLoops,
    }
}

/// Which steps are enough for formulas of linear time over some conditions.
pub(crate) fn for_formulas(
    model: &Model,
    job: &Job,
    conditions: &[Condition],
    formulas: &[&Formula],
    program: &mut Program,
) -> Steps {
    let stutters = formulas.iter().all(|formula| forgets_repetition(formula));
    let off = job.strategy.partial_order == PartialOrder::Off || !program.has_order();
    let off = off || !stutters || has_assumptions(model);
    let conditions: Vec<&Condition> = conditions.iter().collect();
    if off || !restrict(model, &conditions, program) { Steps::All } else { Steps::AmpleOutsideLoops }
}

/// What to say of it.
pub(crate) fn reduction(steps: Steps) -> Option<Reduction> {
    (steps != Steps::All).then_some(Reduction::PartialOrder)
}

/// Lets agents go first only where conditions do not notice. False if that is nowhere.
fn restrict(model: &Model, conditions: &[&Condition], program: &mut Program) -> bool {
    if !conditions.is_empty() {
        let unseen = unseen(model, conditions);
        program.keep_order(|family, location| unseen[family][location]);
    }
    program.has_order()
}

/// The conditions that are asked of every state, or why all orders are needed. `stuttering`: whether what leaves the state as
/// it is, is known for what it is.
fn seen_by<'m>(
    model: &'m Model,
    properties: &[PropertyId],
    stuttering: bool,
) -> Result<Vec<&'m Condition>, &'static str> {
    if has_assumptions(model) {
        return Err("an assumption drops states");
    }
    let mut conditions = Vec::new();
    for property in properties {
        match &model.properties[*property].kind {
            PropertyKind::Invariant(condition) | PropertyKind::Cover(Some(condition)) => {
                conditions.push(condition);
            }
            PropertyKind::Assertion
            | PropertyKind::NoFaults
            | PropertyKind::Bound
            | PropertyKind::Assume(_)
            | PropertyKind::Cover(None)
            | PropertyKind::CoverDeadlock(_)
            | PropertyKind::Deadlock(DeadlockKind::Stuck | DeadlockKind::StuckUnless(_)) => {}
            PropertyKind::Deadlock(DeadlockKind::Stuttering) if stuttering => {}
            PropertyKind::Deadlock(DeadlockKind::Stuttering) => {
                return Err("states that only lead to themselves are deadlocks");
            }
            PropertyKind::Deadlock(DeadlockKind::Timelock) => return Err("time passes"),
            PropertyKind::AlwaysPossible(_) => return Err("a property asks what is always possible"),
            PropertyKind::Temporal(..) => return Err("a property is a temporal formula"),
            PropertyKind::Extreme(_) => return Err("a property asks for a value"),
            PropertyKind::Unclear(_) => return Err("a property is not understood"),
        }
    }
    Ok(conditions)
}

/// Whether states are dropped that do not satisfy something.
fn has_assumptions(model: &Model) -> bool {
    model.properties.iter().any(|property| matches!(property.kind, PropertyKind::Assume(Some(_))))
}

/// Whether a formula cannot tell how often a state is repeated.
fn forgets_repetition(formula: &Formula) -> bool {
    match formula {
        Formula::Atom(_) => true,
        Formula::Not(of) | Formula::Always(_, of) | Formula::Eventually(_, of) => forgets_repetition(of),
        Formula::And(of) | Formula::Or(of) => of.iter().all(forgets_repetition),
        Formula::Until(_, a, b) | Formula::Release(_, a, b) => forgets_repetition(a) && forgets_repetition(b),
        Formula::Next(_) | Formula::Never(_) | Formula::AllPaths(_) | Formula::SomePath(_) => false,
    }
}
