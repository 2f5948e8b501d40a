//! How a run that has stopped goes on.

use shoal_model::{SortId, TypedId};

use crate::mutant::{self, Mutant};
use crate::{
    cell::ViewScalar,
    decision::{Decision, RunResult, Stop, UnknownQuestion},
    expand::Universe,
    system::OpenSystem,
    task::{RunGroup, RunTask},
};

/// What there is to be tried where a run has stopped.
pub(crate) fn branch(
    system: &OpenSystem<'_>,
    universe: &mut Universe<'_>,
    task: &RunTask,
    stop: Stop,
) -> RunResult<Vec<RunGroup>> {
    let assume = |decision: Decision| {
        let mut task = task.clone();
        task.decisions.push(decision);
        task
    };
    match stop {
        Stop::Choose(options) => {
            let is_tried = |value: &&ViewScalar| !task.screened || system.is_shown(value);
            Ok(options.iter().filter(is_tried).map(|value| RunGroup::One(task.choosing(*value))).collect())
        }
        Stop::Resolve(star) => {
            let Some((sort, _)) = star.as_star() else { return Ok(Vec::new()) };
            if !system.has_room(&task.node, sort) {
                return Err(no_room(system, sort));
            }
            Ok(vec![system.expand(universe, task.clone(), sort, Some(star))?])
        }
        Stop::Quantify(asked) => {
            let UnknownQuestion { key, sorts, may_assume, locals } = *asked;
            let site = key.site;
            let known = task.node.structure.known.as_slice().into();
            let mut groups = vec![RunGroup::One(assume(Decision::Nobody { key: key.clone(), known }))];
            for sort in sorts.into_iter().filter(|_| !mutant::is(Mutant::NobodyMatters)) {
                let key = key.clone();
                if system.has_room(&task.node, sort) {
                    let element = task.node.structure.known[sort];
                    let task = assume(Decision::Witness { key, sort, element });
                    groups.push(system.expand(universe, task, sort, None)?.deciding(site, locals.clone()));
                } else if may_assume {
                    groups.push(RunGroup::One(assume(Decision::Somebody { key })));
                } else {
                    return Err(no_room(system, sort));
                }
            }
            Ok(groups)
        }
        Stop::After(predicate) => {
            let sort = system.predicates[predicate].sort;
            let nobody = assume(Decision::NobodyAfter(predicate));
            // Who satisfied it before the step is there, and does so no more.
            let mut groups =
                vec![match system.has_room(&task.node, sort) && task.node.is_hidden(system, predicate) {
                    true => system.expand(universe, nobody, sort, None)?.satisfying(predicate),
                    false => RunGroup::One(nobody),
                }];
            if system.has_room(&task.node, sort) {
                let element = task.node.structure.known[sort];
                let task = assume(Decision::WitnessAfter { predicate, sort, element });
                groups.push(system.expand(universe, task, sort, None)?);
            } else {
                groups.push(RunGroup::One(assume(Decision::SomebodyAfter(predicate))));
            }
            Ok(groups)
        }
        Stop::Fault(_) | Stop::Dead | Stop::Contradiction | Stop::Lacking(_) => Err(stop),
    }
}

fn no_room(system: &OpenSystem<'_>, sort: usize) -> Stop {
    let sort = &system.model.sorts[SortId::from_index(sort)];
    Stop::lacking(
        format!(
            "a step in which more than {} elements of `{}` play a part",
            sort.fixed_size().unwrap_or(0),
            sort.name
        ),
        sort.span,
    )
}
