//! Whether something can happen in every state.

use shoal_model::{DeadlockKind, PropertyId, PropertyKind, Rule, TypedId};

use crate::{
    branch::branch,
    cell::Scalar,
    decision::Stop,
    expand::Universe,
    machine::{Machine, Scratch},
    search::{Halt, Search, halt},
    structure::Structure,
    task::Task,
    words,
};

/// How often a structure is taken apart to see that something can happen in it.
const LIVELY_DEPTH: usize = 3;
/// In how many ways that is tried.
const LIVELY_WAYS: usize = 4;

/// A step that needs more to be known: the rule, what it was tried with, and where it stopped.
type Pending<'m> = (&'m Rule, Task, Stop);

impl<'m> Search<'_, 'm, '_> {
    /// Whether something can happen in every state, as far as each of its views tells by itself.
    pub(crate) fn deadlocks(&mut self, asked: &[PropertyId]) -> Result<(), Halt> {
        let system = self.system;
        for property in asked {
            let PropertyKind::Deadlock(kind) = &system.model.properties[*property].kind else { continue };
            let moves = match kind {
                DeadlockKind::Stuck | DeadlockKind::StuckUnless(_) => false,
                DeadlockKind::Stuttering => true,
                DeadlockKind::Timelock => {
                    self.failed.insert(*property, "time".into());
                    continue;
                }
            };
            let prioritised = system
                .model
                .rules
                .iter()
                .any(|rule| rule.priority != system.model.rules.as_slice()[0].priority);
            let assumes = system.model.properties.iter().any(|it| matches!(it.kind, PropertyKind::Assume(_)));
            for at in 0..self.store.leaders.len() {
                let view = self.store.views[self.store.leaders[at] as usize].clone();
                let structure = Structure::of_view(system, &view);
                let task = Task::plain(system.node(structure).map_err(halt)?);
                let lively = match prioritised || assumes {
                    true => false,
                    false => self.lively(&task, None, moves, LIVELY_DEPTH)?,
                };
                if !lively {
                    let shown = words::view(system, &view);
                    self.failed.insert(*property, format!("perhaps nothing can happen where {shown}"));
                    break;
                }
            }
        }
        Ok(())
    }

    /// Whether in every state that a structure is a part of some rule can fire (and, if asked, change something that is
    /// known). `begun` is a step that has been followed so far.
    fn lively(
        &mut self,
        task: &Task,
        begun: Option<(&'m Rule, Task)>,
        moves: bool,
        depth: usize,
    ) -> Result<bool, Halt> {
        let system = self.system;
        let mut pending: Vec<Pending<'m>> = Vec::new();
        let mut tries: Vec<(&'m Rule, Task)> = Vec::new();
        for rule in system.model.rules.iter().rev() {
            tries.push((rule, Task::plain(task.node.clone())));
        }
        tries.extend(begun);
        while let Some((rule, task)) = tries.pop() {
            self.tick()?;
            let structure = &task.node.structure;
            let scratch = Scratch::default();
            let mut machine =
                Machine::new(system, scratch, structure, &task.stars, &task.script, &task.decisions);
            match system.fire(&mut machine, rule) {
                Ok(()) if !moves || system.differ(machine.now(), &structure.cells) => return Ok(true),
                // There is no such state.
                Err(Stop::Contradiction) if !task.decisions.is_empty() => return Ok(true),
                // A fault is worse than a deadlock, and told by itself.
                Err(Stop::Fault(_)) => return Ok(true),
                Ok(()) | Err(Stop::Dead | Stop::Contradiction) => {}
                Err(Stop::Choose(options)) => {
                    for value in options {
                        // Whether there is an element that nothing refers to is not known.
                        let fresh =
                            matches!(value, Scalar::Star(sort, number) if number >= task.stars[sort.index()]);
                        if !fresh {
                            tries.push((rule, task.choosing(value)));
                        }
                    }
                }
                Err(stop @ (Stop::Resolve(_) | Stop::Quantify { .. })) => pending.push((rule, task, stop)),
                Err(Stop::After(_) | Stop::Lacking(..)) => {}
            }
        }
        if depth == 0 {
            return Ok(false);
        }
        for (rule, task, stop) in pending.into_iter().take(LIVELY_WAYS) {
            let mut universe = Universe::Views(&mut self.store, None);
            let Ok(groups) = branch(system, &mut universe, &task, stop) else { continue };
            let mut all = true;
            for next in groups.into_iter().flatten() {
                all = self.lively(&next, Some((rule, next.clone())), moves, depth - 1)?;
                if !all {
                    break;
                }
            }
            if all {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
